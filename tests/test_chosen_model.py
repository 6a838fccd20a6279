"""The model a tool was told to use: addresses, files and names, and what each wrong choice is told."""

from pathlib import Path

import pytest

from models.language import Message
from offline_tools.chosen_model import has_senses, open_model
from offline_tools.errors import OfflineToolError
from tests.chat_server import Reply, chat_server, said


def test_an_address_with_a_model_is_an_endpoint_with_the_key_of_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("JUDGE_KEY", "sesame")
    with chat_server(lambda body: said("yes")) as server:
        model = open_model(f"{server.url}#small", key_variable="JUDGE_KEY")
        assert model.complete([Message("user", "Is it?")], max_tokens=3).text == "yes"
    _, headers, body = server.requests[0]
    assert headers["Authorization"] == "Bearer sesame" and body["model"] == model.name == "small"


def test_the_only_model_of_an_address_needs_no_name() -> None:
    with chat_server(lambda body: Reply(body=b'{"data": [{"id": "only"}]}')) as server:
        assert open_model(server.url).name == "only"


def test_one_of_several_must_be_named() -> None:
    with (
        chat_server(lambda body: Reply(body=b'{"data": [{"id": "a"}, {"id": "b"}]}')) as server,
        pytest.raises(OfflineToolError, match=r"serves 2 models \(a, b\): name one"),
    ):
        open_model(server.url)


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ("gone.gguf", "no file gone.gguf"),
        ("nobody-7b", "nobody-7b"),
        ("campplus-zh-en", "no usable model|not for language"),
        ("", "no usable model"),
        ("http://127.0.0.1:9/v1", "name the model as"),
    ],
)
def test_a_choice_that_means_nothing(choice: str, expected: str) -> None:
    with pytest.raises(OfflineToolError, match=expected):
        open_model(choice)


def test_a_file_is_a_process_that_is_not_started_yet(tmp_path: Path) -> None:
    (tmp_path / "m.gguf").write_bytes(b"GGUF")
    (tmp_path / "p.gguf").write_bytes(b"GGUF")
    model = open_model(f"{tmp_path / 'm.gguf'},{tmp_path / 'p.gguf'}", context_tokens=2048)
    assert (model.name, model.context_tokens) == ("m", 2048)
    model.close()


def test_what_takes_pictures() -> None:
    assert has_senses("http://x/v1#m") and has_senses("a.gguf,b.gguf")
    assert not has_senses("a.gguf") and not has_senses("qwen2.5-coder-0.5b")
