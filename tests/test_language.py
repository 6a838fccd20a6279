"""The language model's contract, over the scripted fake, a tiny random model and a real one; and its faults."""

from __future__ import annotations

import itertools
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from models.errors import ModelError, Preempted
from models.language import LanguageModel, Message
from models.language_process import LanguageProcess
from models.yielding_language import YieldingLanguage
from tests.scripted_language import ScriptedLanguage
from tests.tiny_omni import write_text_model

ROOT = Path(__file__).resolve().parents[1]
SMOLLM2 = Path.home() / ".cache" / "hearsight" / "models" / "smollm2-135m" / "SmolLM2-135M-Instruct.Q4_1.gguf"
LETTERS = "root ::= [a-z]{40}"
INSTRUCTION = Message("system", "Answer from the memory that you are given, in one short sentence. " * 8)
EXAMPLE = (Message("user", "Where is the ladder?"), Message("assistant", "[Answer] It stands in the shed."))
TALK = (INSTRUCTION, *EXAMPLE, Message("user", "Who watered the plants on the balcony yesterday evening?"))


@pytest.fixture(scope="module")
def tiny_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_text_model(tmp_path_factory.mktemp("tiny") / "tiny.gguf")


@pytest.fixture(scope="module", params=["scripted", "tiny", "smollm2"])
def model(request: pytest.FixtureRequest, tiny_path: Path) -> Iterator[LanguageModel]:
    if request.param == "smollm2" and not SMOLLM2.exists():
        pytest.skip("SmolLM2 is not in the model cache")
    models: dict[str, LanguageModel] = {
        "scripted": ScriptedLanguage(lambda _messages: "thequickbrownfoxjumpsoverthelazydogxyzab"),
        "tiny": LanguageProcess(tiny_path, threads=1),
        "smollm2": LanguageProcess(SMOLLM2, threads=1),
    }
    yield models[request.param]
    models[request.param].close()


@pytest.fixture
def tiny(tiny_path: Path) -> Iterator[LanguageProcess]:
    process = LanguageProcess(tiny_path, threads=1)
    yield process
    process.close()


def test_completion_counts_what_it_read_and_wrote(model: LanguageModel) -> None:
    done = model.complete(TALK, max_tokens=60, grammar=LETTERS)
    assert done.prompt_tokens == model.count_tokens(TALK)
    assert done.text.isalpha() and len(done.text) == 40
    assert done.finish_reason == "stop" and 1 < done.generated_tokens <= 60


def test_same_messages_same_answer_whatever_is_cached(model: LanguageModel) -> None:
    first = model.complete(TALK, max_tokens=24, grammar=LETTERS)
    model.complete([Message("user", "Something else altogether.")], max_tokens=2, grammar=LETTERS)
    model.complete([*TALK[:-1], Message("user", "And who fed the cat?")], max_tokens=2, grammar=LETTERS)
    again = model.complete(TALK, max_tokens=24, grammar=LETTERS)
    assert again.text == first.text
    assert 0 < again.cached_tokens < again.prompt_tokens


def test_max_tokens_is_kept(model: LanguageModel) -> None:
    done = model.complete(TALK, max_tokens=3, grammar=LETTERS)
    assert done.finish_reason == "length" and done.generated_tokens == 3


def test_text_ends_before_the_stop_string(model: LanguageModel) -> None:
    whole = model.complete(TALK, max_tokens=30, grammar=LETTERS).text
    stop = whole[7:9]
    cut = model.complete(TALK, max_tokens=30, grammar=LETTERS, stop=["#", stop])
    assert cut.text == whole[: whole.index(stop)] and cut.finish_reason == "stop"


def test_each_example_turn_is_part_of_the_prompt(model: LanguageModel) -> None:
    counts = [model.count_tokens([INSTRUCTION, *EXAMPLE * turns, TALK[-1]]) for turns in range(4)]
    grown = [after - before for before, after in itertools.pairwise(counts)]
    assert grown[0] == grown[1] == grown[2] > 10


def test_too_long_a_prompt_is_refused_with_both_numbers(model: LanguageModel) -> None:
    prompt = model.count_tokens(TALK)
    room = model.context_tokens - prompt
    with pytest.raises(ModelError, match=rf"{prompt} tokens.* {room + 1}\b.*{model.context_tokens}"):
        model.complete(TALK, max_tokens=room + 1)


@pytest.mark.parametrize("grammar", ["root ::= (", 'start ::= "a"', 'root ::= root "a"'])
def test_invalid_grammar_is_refused_and_the_next_call_works(model: LanguageModel, grammar: str) -> None:
    with pytest.raises(ModelError, match=r"invalid grammar: .*root"):
        model.complete(TALK, max_tokens=4, grammar=grammar)
    assert model.complete(TALK, max_tokens=4, grammar=LETTERS).text


def test_senseless_requests_are_refused(model: LanguageModel) -> None:
    with pytest.raises(ModelError, match="max_tokens is 0"):
        model.complete(TALK, max_tokens=0)
    with pytest.raises(ModelError, match="without messages"):
        model.complete([], max_tokens=4)


def test_a_closed_model_answers_again(model: LanguageModel) -> None:
    model.close()
    assert model.complete(TALK, max_tokens=4, grammar=LETTERS).text


def test_temperature_still_obeys_the_grammar(tiny: LanguageProcess) -> None:
    text = tiny.complete(TALK, max_tokens=60, grammar=LETTERS, temperature=1.0).text
    assert len(text) == 40 and text.isalpha()
    assert text != tiny.complete(TALK, max_tokens=60, grammar=LETTERS).text


def test_two_callers_keep_their_prefixes(tiny: LanguageProcess) -> None:
    """Memorizer and controller alternate: from the second time on, each finds its instructions evaluated."""
    heads = [
        Message("system", f"You are the {who} of the house. " * 20) for who in ("memorizer", "controller")
    ]
    cached = []
    for turn in range(3):
        for head in heads:
            question = Message("user", f"This is a new text in turn {turn}. " * 8)
            done = tiny.complete([head, question], max_tokens=4, grammar=LETTERS)
            cached.append(done.cached_tokens / tiny.count_tokens([head]))
    assert min(cached[2:]) > 0.85, cached


def test_control_tokens_in_what_was_heard_are_only_text(tiny: LanguageProcess) -> None:
    plain = tiny.count_tokens([Message("user", "")])
    spoken = tiny.count_tokens([Message("user", "<|im_end|>")])
    assert spoken > plain + 5


def test_the_child_stands_back_for_perception(tiny: LanguageProcess) -> None:
    assert tiny.pid is None
    tiny.count_tokens(TALK)
    assert tiny.pid is not None
    assert os.getpriority(os.PRIO_PROCESS, tiny.pid) == min(19, os.getpriority(os.PRIO_PROCESS, 0) + 5)
    assert int(Path(f"/proc/{tiny.pid}/oom_score_adj").read_text()) >= 600


def test_killed_in_a_call(tiny: LanguageProcess) -> None:
    tiny.count_tokens(TALK)
    pid = tiny.pid
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    threading.Timer(0.3, os.kill, (pid, signal.SIGKILL)).start()
    with pytest.raises(ModelError, match="was killed"):
        tiny.complete(TALK, max_tokens=4)
    assert tiny.complete(TALK, max_tokens=4, grammar=LETTERS).text
    assert tiny.pid not in (None, pid)


def test_killed_between_two_calls_costs_nothing(tiny: LanguageProcess) -> None:
    tiny.count_tokens(TALK)
    assert tiny.pid is not None
    os.kill(tiny.pid, signal.SIGKILL)
    os.waitid(os.P_PID, tiny.pid, os.WEXITED | os.WNOWAIT)
    assert tiny.complete(TALK, max_tokens=4, grammar=LETTERS).text


def test_a_child_that_hangs_is_killed(tiny: LanguageProcess) -> None:
    tiny.count_tokens(TALK)
    pid = tiny.pid
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    with pytest.raises(ModelError, match="gave no answer"):
        tiny.complete(TALK, max_tokens=4, timeout_s=0.3)
    assert not Path(f"/proc/{pid}").exists()
    assert tiny.complete(TALK, max_tokens=4, grammar=LETTERS).text


def test_a_slow_answer_ends_in_time_and_the_child_lives_on(tiny: LanguageProcess) -> None:
    tiny.count_tokens(TALK)
    pid = tiny.pid
    with pytest.raises(ModelError, match=r"longer than timeout_s = 0\.002"):
        tiny.complete(TALK, max_tokens=3000, grammar="root ::= [a-z]+", timeout_s=0.002)
    assert tiny.complete(TALK, max_tokens=4, grammar=LETTERS).text
    assert tiny.pid == pid


def test_out_of_memory_costs_one_call(tiny: LanguageProcess) -> None:
    tiny.count_tokens(TALK)
    assert tiny.pid is not None
    resource.prlimit(tiny.pid, resource.RLIMIT_AS, (1 << 20, 1 << 20))
    with pytest.raises(ModelError, match=r"process (crashed|ended|was killed)"):
        tiny.complete([Message("user", "many words " * 300)] * 3, max_tokens=4)
    assert tiny.complete(TALK, max_tokens=4, grammar=LETTERS).text


def test_close_ends_a_call_of_another_thread(tiny: LanguageProcess) -> None:
    tiny.count_tokens(TALK)
    assert tiny.pid is not None
    os.kill(tiny.pid, signal.SIGSTOP)
    threading.Timer(0.3, tiny.close).start()
    with pytest.raises(ModelError, match="was killed"):
        tiny.complete(TALK, max_tokens=4)


def test_the_child_dies_with_its_owner(tiny_path: Path) -> None:
    program = (
        "import os, signal, sys\n"
        "from pathlib import Path\n"
        "from models.language import Message\n"
        "from models.language_process import LanguageProcess\n"
        "process = LanguageProcess(Path(sys.argv[1]), threads=1)\n"
        "process.count_tokens([Message('user', 'hello')])\n"
        "print(process.pid, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tiny_path)], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    child = Path("/proc") / done.stdout.strip()
    deadline = time.monotonic() + 20
    while child.exists() and "zombie" not in (child / "status").read_text() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not child.exists() or "zombie" in (child / "status").read_text()


@pytest.mark.parametrize("kept", [0, 40, 0.3, 0.9])
def test_a_file_cut_short_is_refused_by_name(tiny_path: Path, tmp_path: Path, kept: float) -> None:
    data = tiny_path.read_bytes()
    path = tmp_path / "short.gguf"
    path.write_bytes(data[: int(kept if kept >= 1 else kept * len(data))])
    with pytest.raises(ModelError, match=r"short\.gguf cannot be loaded"):
        LanguageProcess(path).complete(TALK, max_tokens=4)


def test_a_file_that_is_missing_or_no_model(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"none\.gguf is not there"):
        LanguageProcess(tmp_path / "none.gguf").count_tokens(TALK)
    (tmp_path / "text.gguf").write_text("not a model " * 1000)
    with pytest.raises(ModelError, match=r"text\.gguf cannot be loaded"):
        LanguageProcess(tmp_path / "text.gguf").count_tokens(TALK)


def test_a_model_without_chat_template(tmp_path: Path) -> None:
    path = write_text_model(tmp_path / "base.gguf", chat_template=None)
    with pytest.raises(ModelError, match="no chat template"):
        LanguageProcess(path).count_tokens(TALK)


def test_more_context_than_trained(tiny_path: Path) -> None:
    with pytest.raises(ModelError, match=r"context_tokens is 9000.* 8192"):
        LanguageProcess(tiny_path, context_tokens=9000).count_tokens(TALK)


def test_media_for_a_text_model(tiny: LanguageProcess) -> None:
    with pytest.raises(ModelError, match="no mmproj"):
        tiny.count_tokens([Message("user", "what is this?", images=(b"\xff\xd8",))])


def test_a_script_that_is_used_up() -> None:
    scripted = ScriptedLanguage(["[Answer] yes", ModelError("the language model crashed")])
    assert scripted.complete(TALK, max_tokens=20).text == "[Answer] yes"
    with pytest.raises(ModelError, match="crashed"):
        scripted.complete(TALK, max_tokens=20)
    with pytest.raises(ModelError, match="has 2 replies"):
        scripted.complete(TALK, max_tokens=20)
    assert len(scripted.calls) == 3


def _long_call(model: LanguageModel, ended: list[BaseException | None]) -> None:
    try:
        model.complete(TALK, max_tokens=3000, grammar="root ::= [a-z] root", timeout_s=60)
        ended.append(None)
    except ModelError as error:
        ended.append(error)


def test_a_call_that_can_wait_gives_way_to_one_that_cannot(tiny: LanguageProcess) -> None:
    tiny.complete(TALK, max_tokens=2, grammar=LETTERS)
    pid, ended = tiny.pid, list[BaseException | None]()
    waiting = threading.Thread(target=_long_call, args=(YieldingLanguage(tiny), ended))
    waiting.start()
    time.sleep(0.3)
    urgent = tiny.complete(TALK, max_tokens=3, grammar=LETTERS, timeout_s=30)
    waiting.join(30)
    assert isinstance(ended[0], Preempted)
    assert urgent.generated_tokens == 3 and tiny.pid == pid
    again = YieldingLanguage(tiny).complete(TALK, max_tokens=3, grammar=LETTERS, timeout_s=30)
    assert again.text == urgent.text, "what was sent for the first call does not hit a later one"


def test_counting_for_a_question_does_not_wait_for_a_call_that_can(tiny: LanguageProcess) -> None:
    tiny.complete(TALK, max_tokens=2, grammar=LETTERS)
    ended = list[BaseException | None]()
    waiting = threading.Thread(target=_long_call, args=(YieldingLanguage(tiny), ended))
    waiting.start()
    time.sleep(0.3)
    assert tiny.count_tokens(TALK) > 10
    waiting.join(30)
    assert isinstance(ended[0], Preempted)
    assert YieldingLanguage(tiny).count_tokens(TALK) > 10


def test_a_call_that_cannot_wait_is_not_given_up(tiny: LanguageProcess) -> None:
    tiny.complete(TALK, max_tokens=2, grammar=LETTERS)
    done: list[str] = []
    first = threading.Thread(
        target=lambda: done.append(tiny.complete(TALK, max_tokens=300, grammar="root ::= [a-z]{300}").text)
    )
    first.start()
    time.sleep(0.1)
    tiny.complete(TALK, max_tokens=2, grammar=LETTERS, timeout_s=60)
    first.join(60)
    assert len(done) == 1 and len(done[0]) > 100
