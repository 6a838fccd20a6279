"""Messages to the text of a prompt, through the chat template that the model's file carries."""

from __future__ import annotations

from collections.abc import Sequence

import jinja2
from llama_cpp.llama_chat_format import Jinja2ChatFormatter

from models.control_texts import ControlTexts
from models.errors import ModelError
from models.language import Message


class ChatPrompt:
    """Renders messages. Control tokens written out in a message (heard, read or typed) lose their power."""

    def __init__(self, template: str | None, *, bos: str, eos: str, control_texts: Sequence[str]) -> None:
        if not template:
            raise ModelError(
                "the model's file has no chat template (tokenizer.chat_template): take an instruct model"
            )
        try:
            self._formatter = Jinja2ChatFormatter(template=template, eos_token=eos, bos_token=bos)
        except jinja2.TemplateError as error:
            raise ModelError(f"the model's chat template is faulty: {error}") from error
        self._control = ControlTexts(control_texts)

    def harmless(self, text: str) -> str:
        """See ControlTexts."""
        return self._control.harmless(text)

    def render(self, messages: Sequence[Message], marker: str = "") -> str:
        """The prompt up to where the assistant speaks; a marker stands for each picture and sound."""
        if not messages:
            raise ModelError("a language model was called without messages: give at least one")
        turns = [
            {
                "role": message.role,
                "content": marker * (len(message.images) + len(message.audio))
                + self.harmless(message.content),
            }
            for message in messages
        ]
        try:
            return str(self._formatter(messages=turns).prompt)  # type: ignore[arg-type, unused-ignore]
        except (jinja2.TemplateError, ValueError) as error:
            raise ModelError(f"the model's chat template refused the messages: {error}") from error
