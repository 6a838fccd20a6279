"""Answers for tests of what carries them."""

from runtime.answer import Answer, Evidence


def plain_answer(text: str) -> Answer:
    """An answer that says `text` and rests on one memory."""
    evidence = Evidence(
        7, 1, "episodic", 0.0, 5.0, "<voice_3> says: hm", "Anna says: hm", 0.5, 0.9, ("text",)
    )
    return Answer(
        question=text, language="en", text=text, evidence=(evidence,), persons=("Anna",), method="computed",
        abstained=False, confidence=1.0, first_search=None, rounds=(), notes=(), time_range=None, asker=None,
        model_calls=0, duration_s=0.01, asked_utc_s=0.0, trace_id=1,
    )  # fmt: skip
