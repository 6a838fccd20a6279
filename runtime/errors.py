"""The runtime's errors: each says what is wrong, with which value, and what to do."""


class HearsightError(Exception):
    """Base of everything the runtime raises on purpose; the command line prints it as one sentence."""


class ConfigError(HearsightError):
    """robot.yaml holds one or more faults; `faults` lists all of them."""

    def __init__(self, path: str, faults: list[str]) -> None:
        self.path = path
        self.faults = faults
        count = f"{len(faults)} mistake{'s' if len(faults) != 1 else ''}"
        super().__init__(f"{path} has {count}:\n" + "\n".join(f"  {fault}" for fault in faults))


class InstanceError(HearsightError):
    """Another process already runs on the same data directory."""


class ServiceFailed(HearsightError):
    """A service failed more often than its restart budget allows."""
