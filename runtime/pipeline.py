"""The built services of one run: the table of what runs, how they end one after the other, and what they counted."""

from __future__ import annotations

from dataclasses import dataclass, field

from drivers.media import DriverError
from memory_store.errors import MemoryStoreError
from runtime.capture import Capture, FrameItem, SoundItem
from runtime.channel import Channel
from runtime.describe_service import DescribeService
from runtime.errors import HearsightError
from runtime.memorize_service import MemorizeService
from runtime.perceive import HearService, SeeService
from runtime.serving import Serving
from runtime.supervisor import Service
from runtime.talking import Talking

# OSError: no restart makes the system give a file, space, or a reader of the output.
FATAL = (HearsightError, DriverError, MemoryStoreError, OSError)


@dataclass(frozen=True)
class Report:
    """What one run did. Seconds of stages are summed over the clips; they overlap on several cores."""

    clips: int
    already_known: int
    media_s: float
    wall_s: float
    stage_s: dict[str, float]
    dropped: dict[str, int]
    restarts: dict[str, int]
    providers: dict[str, str]
    description: dict[str, int] = field(default_factory=dict)

    @property
    def real_time_factor(self) -> float:
        """Wall seconds for each second of media; 0 where nothing was read."""
        return self.wall_s / self.media_s if self.media_s else 0.0


@dataclass(frozen=True)
class Pipeline:
    """The built services, and what they count."""

    capture: Capture
    see: SeeService
    hear: HearService
    memorize: MemorizeService
    describe: DescribeService | None
    serving: Serving | None
    talking: Talking | None
    media_channels: tuple[Channel[FrameItem], Channel[SoundItem]]
    providers: dict[str, str]

    def table(self) -> list[Service]:
        """What runs."""
        rows = [
            Service("capture", self.capture.run, FATAL),
            Service("see", self.see.run, FATAL),
            Service("hear", self.hear.run, FATAL),
            Service("memorize", self._memorize_to_the_end, FATAL),
        ]
        if self.describe is not None:
            rows.append(Service("describe", self._describe_to_the_end, FATAL))
        if self.serving is not None:
            rows += self.serving.table(FATAL)
        if self.talking is not None:
            rows += self.talking.table(FATAL)
        return rows

    async def _memorize_to_the_end(self) -> None:
        await self.memorize.run()
        if self.describe is not None:
            self.describe.no_more_clips()
        else:
            await self._stop_answering()

    async def _describe_to_the_end(self) -> None:
        assert self.describe is not None
        await self.describe.run()
        await self._stop_answering()

    async def _stop_answering(self) -> None:
        if self.talking is not None:
            await self.talking.stop()
        if self.serving is not None:
            self.serving.stop()

    def report(self, wall_s: float, restarts: dict[str, int]) -> Report:
        """What was done."""
        stages = self.memorize.times.as_dict()
        if self.describe is not None:
            stages["describe"] = self.describe.language_s
        return Report(
            clips=self.memorize.memorized,
            already_known=self.memorize.already_known + self.capture.skipped_clips,
            media_s=self.memorize.media_s,
            wall_s=wall_s,
            stage_s=stages,
            dropped={channel.name: channel.dropped for channel in self.media_channels},
            restarts=restarts,
            providers=self.providers,
            description=dict(self.describe.counts) if self.describe is not None else {},
        )
