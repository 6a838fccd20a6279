"""An answer as JSON, the same from the command line and over HTTP."""

from runtime.answer import Answer
from runtime.clock import iso_utc


def answer_json(answer: Answer) -> dict[str, object]:
    """The answer as plain values; times are ISO 8601 in UTC. The whole trace is at `hearsight trace`."""
    return {
        "question": answer.question,
        "answer": answer.text,
        "abstained": answer.abstained,
        "method": answer.method,
        "confidence": answer.confidence,
        "persons": list(answer.persons),
        "evidence": [
            {
                "id": item.id,
                "clip": item.clip_id,
                "start": iso_utc(item.start_utc_s),
                "end": iso_utc(item.end_utc_s),
                "text": item.line,
                "score": item.score,
            }
            for item in answer.evidence
        ],
        "pictures": [
            {
                "id": picture.id,
                "file": picture.file,
                "sha256": picture.sha256,
                "time": iso_utc(picture.utc_s),
                "place": picture.place,
            }
            for picture in answer.pictures
        ],
        "rounds": len(answer.rounds),
        "model_calls": answer.model_calls,
        "duration_s": answer.duration_s,
        "trace": answer.trace_id,
        "notes": list(answer.notes),
    }
