"""What researchers turn off in the control loop to measure what it is worth; the robot has all of it on."""

from dataclasses import dataclass, replace

from runtime.prompts import Example, Prompt


@dataclass(frozen=True)
class ControlSwitches:
    """The parts of the loop that can be left out (the ablations of M3-Agent, and round 0, which it has not).

    instruction: what to write is said again in every round, and the last one is called the last. reasoning: a line
    of reasoning before each action. semantic: conclusions and facts are searched, and answered from. equivalences:
    a face and a voice may be one person. round_zero: the question's people and times are resolved, its plain forms
    answered by code, and it is searched before the model is asked.
    """

    instruction: bool = True
    reasoning: bool = True
    semantic: bool = True
    equivalences: bool = True
    round_zero: bool = True


def switched(prompt: Prompt, switches: ControlSwitches) -> Prompt:
    """The control prompt, in its system text, examples and frame, without what is turned off."""
    form = prompt.sentences["form" if switches.reasoning else "form_bare"]
    prompt = replace(prompt, system=prompt.system.format(form=form))
    sentences = dict(prompt.sentences)
    examples = list(prompt.examples)
    if not switches.reasoning:
        examples = [Example(one.user, _without_first_line(one.assistant)) for one in examples]
        sentences["reasoning"] = ""
    if not switches.instruction:
        said = (sentences.pop("instruction"), sentences.pop("last"))
        examples = [Example(_without(one.user, said), one.assistant) for one in examples]
        sentences |= {"instruction": "", "last": ""}
    return replace(prompt, examples=tuple(examples), sentences=sentences)


def _without_first_line(text: str) -> str:
    return text.partition("\n")[2]


def _without(text: str, lines: tuple[str, ...]) -> str:
    return "\n".join(line for line in text.splitlines() if line not in lines)
