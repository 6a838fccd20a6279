# Two commands for newcomers: `make demo` and `make test`. Everything they need is set up on the way.
# Whoever trains has a third, `make test-training`, in an environment of its own.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
export HEARSIGHT_CACHE ?= $(HOME)/.cache/hearsight
WHEELS := $(HEARSIGHT_CACHE)/wheels
LLAMA := llama-cpp-python==0.3.36
# A native build dies with SIGILL on virtual machines that trap AMX; a portable one runs everywhere.
LLAMA_CMAKE_ARGS ?= -DGGML_NATIVE=OFF -DLLAMA_OPENSSL=OFF
VENV := .venv
BIN := $(VENV)/bin
TRAINING := .venv-training
# What the tests of training start from; nobody needs it to run the robot.
TRAINED_FROM := smollm2-135m

SCENE := $(HEARSIGHT_CACHE)/demo/scene.mp4

.PHONY: demo test test-training check format setup setup-training models scene soak bench lock clean

demo: scene
	$(BIN)/python -m offline_tools.demo

test: scene check
	$(BIN)/pytest -q

test-training: setup-training
	$(BIN)/hearsight models fetch $(TRAINED_FROM)
	$(TRAINING)/bin/python -m offline_tools.export source
	$(TRAINING)/bin/pytest -q -m training tests/training

check: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: setup
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

models: setup
	$(BIN)/hearsight models fetch

scene: models
	@$(MAKE) --no-print-directory $(SCENE)

$(SCENE): $(wildcard offline_tools/demo_*.py) offline_tools/media_writer.py
	$(BIN)/python -m offline_tools.demo_scene --out $@

soak: scene
	$(BIN)/pytest -q -m soak

bench: models
	$(BIN)/python -m offline_tools.bench visitors

setup: $(VENV)/.ready

$(VENV)/.ready: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info[:2] < (3, 11))' || \
		{ echo "Hearsight needs Python 3.11 or newer: make PYTHON=/path/to/python3.11"; exit 1; }
	@command -v cc >/dev/null && command -v c++ >/dev/null || \
		{ echo "Hearsight needs a C and C++ compiler (Debian, Ubuntu: apt-get install build-essential)"; exit 1; }
	@$(PYTHON) -m venv $(VENV) || \
		{ echo "Python's venv module is missing (Debian, Ubuntu: apt-get install python3-venv)"; exit 1; }
	@ls $(WHEELS)/llama_cpp_python-0.3.36-*.whl >/dev/null 2>&1 || { \
		echo "Building llama.cpp once, 5 to 15 minutes; kept in $(WHEELS)"; \
		CMAKE_ARGS="$(LLAMA_CMAKE_ARGS)" $(BIN)/pip wheel -q --no-deps "$(LLAMA)" -w $(WHEELS); }
	$(BIN)/pip install -q --require-hashes -r requirements.lock
	$(BIN)/pip install -q --no-deps --no-index --find-links $(WHEELS) "$(LLAMA)"
	$(BIN)/pip install -q --no-deps --no-build-isolation -e .
	@touch $@

setup-training: $(TRAINING)/.ready

# The robot's own packages with their hashes, and on top of them what training needs.
$(TRAINING)/.ready: requirements.lock requirements-training.lock pyproject.toml | $(VENV)/.ready
	@$(PYTHON) -m venv $(TRAINING)
	$(TRAINING)/bin/pip install -q --require-hashes -r requirements.lock
	$(TRAINING)/bin/pip install -q -r requirements-training.lock
	$(TRAINING)/bin/pip install -q --no-deps --no-index --find-links $(WHEELS) "$(LLAMA)"
	$(TRAINING)/bin/pip install -q --no-deps --no-build-isolation -e .
	@touch $@

LOCK := $(BIN)/uv pip compile -q pyproject.toml --universal --python-version 3.11 --no-emit-package llama-cpp-python \
	--no-header --no-emit-index-url

lock:
	$(BIN)/pip install -q uv
	$(LOCK) --group dev --generate-hashes -o requirements.lock
	@mkdir -p build && sed -n 's/ \\$$//p' requirements.lock >build/locked
	@{ sed '/^[^#]/,$$d' requirements-training.lock; \
		$(LOCK) --group dev --extra train -c requirements.lock --no-annotate \
		| grep -vxFf build/locked | grep -vE '^(cuda-|nvidia-|triton)'; } >build/training
	@mv build/training requirements-training.lock

clean:
	rm -rf $(VENV) $(TRAINING) build dist .mypy_cache .ruff_cache .pytest_cache
