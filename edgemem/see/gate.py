"""Gates keep or drop a frame before any model gets it, and give a reason.

They run in the order of the recipe, the fastest first, until one drops the frame. A comparing gate compares a frame with the last frame
that passed all gates (VAM section 3.2.1, table 4), so slow changes add up until the frame passes. The first frame of a stream passes every
comparing gate.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import msgspec

from edgemem.records import US, Frame, Image, Record
from edgemem.see import pixels

if TYPE_CHECKING:
    from edgemem.see.pixels import Gray, Histogram

SMALL_PX = 320
"""Longer side of the copy that gates compare: 25 times less work than 1080p."""


_FROZEN = 0.1
"""Mean absolute difference (0..255) below which two copies count as the same picture; noise of sigma 1 at 1080p gives 0.4."""


class Verdict(Record, frozen=True):
    """What a gate decided, and why in one word: "blur", "black", "similar" ..."""

    keep: bool
    reason: str = ""


PASS = Verdict(keep=True)


class Look:
    """One frame and what gates compute from it; each value is computed at most once."""

    def __init__(self, image: Image, offset_us: int = 0, frame: Frame | None = None) -> None:
        self.image = image
        self.offset_us = offset_us
        self.frame = frame

    @classmethod
    def at(cls, frame: Frame) -> Look:
        """For a frame of a source."""
        return cls(frame.image, frame.offset_us, frame)

    @cached_property
    def small(self) -> Image:
        """The 320 px copy."""
        return pixels.shrink(self.image, SMALL_PX)

    @cached_property
    def gray(self) -> Gray:
        """Luma of the 320 px copy."""
        return pixels.to_gray(self.small)

    @cached_property
    def sharpness(self) -> float:
        """Variance of the Laplacian at full size."""
        return pixels.sharpness(self.image)

    @cached_property
    def sharpest_part(self) -> float:
        """The same of its sharpest tile."""
        return pixels.sharpest_part(self.image)

    @cached_property
    def brightness(self) -> tuple[float, float]:
        """Mean and standard deviation of luma."""
        return pixels.brightness(self.gray)

    @cached_property
    def thumbnail(self) -> Gray:
        """64 x 64 luma (VAM table 4)."""
        return pixels.thumbnail(self.gray, 64)

    @cached_property
    def histogram(self) -> Histogram:
        """Colour histogram of the 320 px copy."""
        return pixels.histogram(self.small)


class Gate(Protocol):
    """Hook `register_gates`."""

    name: str

    def judge(self, look: Look) -> Verdict:
        """Keep or drop this frame."""
        ...

    def accepted(self, look: Look) -> None:
        """Called when the frame passed all gates: later frames are compared with it."""
        ...


class BlurSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Thresholds for pictures without detail."""

    threshold: float = 20.0
    """Least variance of the Laplacian (VAM table 4)."""
    black_mean: float = 24.0
    """A picture with a lower mean luma than this, and a deviation of at most `black_deviation`, is called black."""
    black_deviation: float = 8.0
    part_threshold: float = 0.0
    """A picture passes if one part of it is that sharp: a thing before a plain wall. Of what is blurred as a whole no part reached 78, of
    29 things before something soft 18 did (dropped pictures of seven life logs). 0 = the whole picture counts (VAM)."""
    refresh_s: float = 0.0
    """After so long without a sharper one a blurred picture passes, as with a dirty lens; 0 = never (VAM)."""


class Blur:
    """Drops frames without detail: "black" (covered lens, no signal), "flat" (one colour) or "blur"."""

    name = "blur"

    def __init__(self, settings: BlurSettings | None = None) -> None:
        self._settings = settings or BlurSettings()
        self._sharp_us: int | None = None
        """When a picture was last sharp or accepted, or the first one came."""

    def judge(self, look: Look) -> Verdict:
        part = self._settings.part_threshold
        sharp = look.sharpness >= self._settings.threshold or 0 < part <= look.sharpest_part
        if sharp or self._sharp_us is None:
            self._sharp_us = look.offset_us
        if sharp:
            return PASS
        mean, deviation = look.brightness
        flat = deviation < self._settings.black_deviation
        if flat and mean < self._settings.black_mean:
            return Verdict(keep=False, reason="black")
        if deviation < 1.0:
            return Verdict(keep=False, reason="flat")
        waited_us = look.offset_us - self._sharp_us
        waits = self._settings.refresh_s <= 0 or 0 <= waited_us < self._settings.refresh_s * US
        return Verdict(keep=False, reason="blur") if waits else PASS

    def accepted(self, look: Look) -> None:
        self._sharp_us = look.offset_us


class _Comparing(ABC):
    """Base of gates that compare with the last accepted frame. They drop a frame as "similar", or as "frozen" when both copies are the same
    up to compression. A live picture always has sensor noise, so many "frozen" frames mean a camera that hangs or a still picture.
    """

    def __init__(self) -> None:
        self._last: Look | None = None

    def judge(self, look: Look) -> Verdict:
        if self._last is None or self._last.gray.shape != look.gray.shape or self.differs(self._last, look):
            return PASS
        frozen = pixels.mean_difference(self._last.gray, look.gray) < _FROZEN
        return Verdict(keep=False, reason="frozen" if frozen else "similar")

    def accepted(self, look: Look) -> None:
        self._last = Look(look.small, look.offset_us)  # only the small copy: the full picture has 6 MB at 1080p

    @abstractmethod
    def differs(self, last: Look, look: Look) -> bool:
        """Whether the frame shows something new."""


class DifferenceSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of `Difference`."""

    threshold: float = 20.0
    """Least mean absolute difference of luma, 0..255 (VAM table 4)."""


class Difference(_Comparing):
    """Drops frames that hardly differ on average from the last accepted one."""

    name = "difference"

    def __init__(self, settings: DifferenceSettings | None = None) -> None:
        super().__init__()
        self._threshold = (settings or DifferenceSettings()).threshold

    def differs(self, last: Look, look: Look) -> bool:
        return pixels.mean_difference(last.gray, look.gray) >= self._threshold


class LocalDifferenceSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of `LocalDifference`: the difference of the block that changed most."""

    threshold: float = 12.0
    """Least mean absolute difference of luma within one block, 0..255. Sensor noise of sigma 8 alone gives about 9."""
    block_px: int = 16
    """Side of a block on the 320 px copy: a twentieth of the picture."""
    refresh_s: float = 4.0
    """After this time a frame passes even without a change, so that the end of a still scene is known to this precision."""


class LocalDifference(_Comparing):
    """Drops frames in which no block differs from the last accepted frame.

    Unlike a mean over the whole picture, it notices a small object on a still background.
    """

    name = "local_difference"

    def __init__(self, settings: LocalDifferenceSettings | None = None) -> None:
        super().__init__()
        self._settings = settings or LocalDifferenceSettings()

    def differs(self, last: Look, look: Look) -> bool:
        waited_us = look.offset_us - last.offset_us
        if not 0 <= waited_us < self._settings.refresh_s * US:
            return True
        return float(pixels.block_difference(last.gray, look.gray, self._settings.block_px).max()) >= self._settings.threshold


class HistogramSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of `HistogramGate`."""

    threshold: float = 0.0
    """Frames that correlate more than this with the last accepted one are dropped; 0 = off (VAM table 4)."""


class HistogramGate(_Comparing):
    """Drops frames with the same distribution of colours as the last accepted one."""

    name = "histogram"

    def __init__(self, settings: HistogramSettings | None = None) -> None:
        super().__init__()
        self._threshold = (settings or HistogramSettings()).threshold

    def differs(self, last: Look, look: Look) -> bool:
        return self._threshold <= 0 or pixels.histogram_correlation(last.histogram, look.histogram) <= self._threshold


class SsimSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of `Ssim`."""

    threshold: float = 0.92
    """Frames more similar than this to the last accepted one are dropped (VAM table 4)."""


class Ssim(_Comparing):
    """Drops frames that at 64 x 64 have the structure of the last accepted one."""

    name = "ssim"

    def __init__(self, settings: SsimSettings | None = None) -> None:
        super().__init__()
        self._threshold = (settings or SsimSettings()).threshold

    def differs(self, last: Look, look: Look) -> bool:
        return pixels.ssim(last.thumbnail, look.thumbnail) <= self._threshold
