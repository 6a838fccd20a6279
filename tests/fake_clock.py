"""A clock that tests move by hand."""


class FakeClock:
    """Starts at `utc_s`; its monotonic time starts at 0."""

    def __init__(self, utc_s: float = 1_770_000_000.0) -> None:
        self.now_utc_s = utc_s
        self.now_s = 0.0

    def utc_s(self) -> float:
        return self.now_utc_s

    def monotonic_s(self) -> float:
        return self.now_s

    def advance(self, seconds: float) -> None:
        self.now_utc_s += seconds
        self.now_s += seconds
