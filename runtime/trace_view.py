"""A stored trace as lines that people read: the question, what was resolved, every search and round, the answer.

Traces of older versions lack some keys; memories that were forgotten since are named by their number alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from memory_store.errors import UnknownId
from memory_store.records import Trace
from memory_store.store import MemoryStore
from runtime.pictures import picture_words

HOW = {"computed": "from the timeline", "model": "with the language model", "extractive": "by quotation"}
_RESULTS = {
    "search": "it searches",
    "answer": "the answer was taken",
    "unreadable": "it cannot be read",
    "failed": "the language model failed",
}


@dataclass(frozen=True)
class TraceView:
    """Words for traces; memories and persons are told as the store knows them now."""

    store: MemoryStore
    zone: ZoneInfo

    def summary(self, trace: Trace) -> str:
        """One line of a list."""
        how = "no answer" if trace.trace.get("abstained") else str(trace.trace.get("method", ""))
        return f"{trace.id:>5}  {self._time(trace.created_utc_s)}  {how:<10}  {trace.question}  →  {trace.answer}"

    def lines(self, trace: Trace) -> Iterator[str]:
        """The whole way of an answer."""
        told = trace.trace
        yield f"trace {trace.id}, asked {self._time(told.get('asked_utc_s', trace.created_utc_s))}"
        yield f"question  {trace.question}"
        if told.get("asker") is not None:
            yield f"asker     {self._person(told['asker'])}"
        if told.get("before_clip") is not None:
            yield f"memory    as it was before clip {told['before_clip']}"
        if told.get("about"):
            yield f"persons   {', '.join(self._person(person) for person in told['about'])}"
        if told.get("time_range"):
            start, end, phrase = told["time_range"]
            yield f"time      {phrase}: {self._time(start)} to {self._time(end)}"
        yield from (f"note      {note}" for note in told.get("notes", ()))
        yield from self._first_search(told)
        for one in told.get("rounds", ()):
            yield from self._round(one)
        yield from self._end(trace)

    def _first_search(self, told: Mapping[str, Any]) -> Iterator[str]:
        first = told.get("first_search")
        yield ""
        if first is None:
            yield (
                "round 0   answered by code, without a search"
                if told.get("method") == "computed"
                else ("round 0   no search")
            )
        else:
            yield from self._search("round 0", first)

    def _search(self, head: str, search: Mapping[str, Any]) -> Iterator[str]:
        wider = ", widened to everybody" if search["widened"] else ""
        yield f"{head:<8}  search {search['query']!r} (filters: {search['filters']}{wider})"
        if not search["found"]:
            yield "          nothing found"
        for node_id, score in zip(search["found"], search["scores"], strict=True):
            yield f"          {self._memory(node_id, f'{score:6.3f}')}"

    def _round(self, one: Mapping[str, Any]) -> Iterator[str]:
        yield ""
        head = f"round {one['number']}"
        cost = f"prompt {one['prompt_tokens']} tokens, {one['cached_tokens']} of them kept"
        yield f"{head:<8}  {cost}; {one['generated_tokens']} generated; {one['duration_s']:.1f} s"
        if one["hint"]:
            yield f"  hint    {one['hint']}"
        for node_id in one["left_out"]:
            yield f"  no room {self._memory(node_id)}"
        for line in (one["raw"] or one["content"]).splitlines():
            yield f"  model   {line}"
        if one["cited"]:
            yield f"  cites   {', '.join(map(str, one['cited']))}"
        result = f"not taken: {one['rejected']}" if one["rejected"] else _RESULTS[one["action"]]
        yield f"  result  {result}"
        if one["search"] is not None:
            yield from self._search("  then", one["search"])

    def _end(self, trace: Trace) -> Iterator[str]:
        told = trace.trace
        yield ""
        yield f"answer    {trace.answer}"
        sure = "abstained" if told.get("abstained") else f"confidence {told.get('confidence', 0.0):.2f}"
        seconds, calls = told.get("duration_s", 0.0), told.get("model_calls", 0)
        yield f"          {HOW.get(told.get('method', ''), '?')}, {sure}, {calls} model calls, {seconds:.1f} s"
        for item in told.get("evidence", ()):
            yield f"  proof   {self._memory(item['id'])}"
        for picture in told.get("pictures", ()):
            yield f"  picture {picture['file']}"

    def _memory(self, node_id: int, score: str = "") -> str:
        head = f"[{node_id}] {score} ".replace("  ", " ")
        try:
            node = self.store.node(node_id)
        except UnknownId:
            return f"{head}(forgotten since)"
        return f"{head}{self._time(node.start_utc_s)}  {self.store.render(node.text) or picture_words(node.provenance)}"

    def _person(self, person_id: int) -> str:
        try:
            return self.store.person(person_id).label
        except UnknownId:
            return f"person_{person_id} (forgotten since)"

    def _time(self, utc_s: float) -> str:
        return datetime.fromtimestamp(utc_s, self.zone).strftime("%Y-%m-%d %H:%M:%S")


def last_prompt(trace: Trace) -> str | None:
    """The whole prompt of the last round; None where no model was asked."""
    rounds = trace.trace.get("rounds")
    return str(rounds[-1]["prompt"]) if rounds else None
