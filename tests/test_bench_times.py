"""The benchmark of times in natural words: how a reader's span is judged against the table."""

from datetime import datetime

import pytest

from offline_tools.bench.time_readers import Span
from offline_tools.bench.times import TABLE, _is_right, main

NOW = datetime(2026, 11, 25, 15, 20)
TUESDAY = ["2026-11-24T00:00", "2026-11-25T00:00"]


@pytest.mark.parametrize(
    ("found", "expected", "right"),
    [
        ((datetime(2026, 11, 24), datetime(2026, 11, 25)), TUESDAY, True),
        ((datetime(2026, 11, 24), datetime(2026, 11, 26)), TUESDAY, False),
        ((datetime(2026, 11, 24, 12), datetime(2026, 11, 24, 12)), TUESDAY, False),
        ((datetime(2026, 11, 24, 15), datetime(2026, 11, 24, 15)), ["2026-11-24T14:55", "2026-11-24T15:05"], True),
        ((None, datetime(2026, 11, 24)), ["ever", "2026-11-24T00:00"], True),
        ((datetime(2026, 11, 24), NOW), ["2026-11-24T00:00", "now"], True),
        ((NOW, None), TUESDAY, False),
        (None, TUESDAY, False),
        (None, ["none"], True),
        ((NOW, NOW), ["none"], False),
    ],
)  # fmt: skip
def test_a_span_is_right_or_wrong(found: Span | None, expected: list[str], right: bool) -> None:
    assert _is_right(found, expected, NOW) == right


def test_the_benchmark_reads_the_whole_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert TABLE.is_file() and main([]) == 0
    assert '"bench": "times"' in capsys.readouterr().out
