"""Fakes for the tests of plugins."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from edgemem.errors import EngineError
from edgemem.infer.roles import Crop, ImageAnalysis, Space
from edgemem.records import US, Box, Frame, Image, Matrix, Observation, Vector
from edgemem.see.sources.base import BaseSource

if TYPE_CHECKING:
    from edgemem.infer.roles import Arrays

T0_US = 1_777_881_600 * US
"""2026-05-04T08:00:00Z, the first frame of the synthetic camera."""


class SyntheticCamera(BaseSource):
    """A source of deterministic pictures: scenes of `scene_s` seconds, each with its own pattern, a moving square and sensor noise."""

    identity = "synthetic"

    def __init__(
        self,
        seconds: float = 30.0,
        rate_fps: float = 1.0,
        *,
        scene_s: float = 10.0,
        side_px: int = 240,
        seed: int = 0,
        stream: str = "synthetic",
    ) -> None:
        self.name = stream
        self.t0_us = T0_US
        self.duration_us: int | None = round(seconds * US)
        self.dropped: dict[str, int] = {}
        self.set_rate(rate_fps)
        self._scene_us = round(scene_s * US)
        self._side_px = side_px
        self._seed = seed
        self._from_us = -1

    def skip_to(self, offset_us: int) -> None:
        """Begin with the first frame later than `offset_us`."""
        self._from_us = offset_us

    def set_rate(self, rate_fps: float) -> None:
        self._period_us = round(US / rate_fps)

    def frames(self) -> Iterator[Frame]:
        """The frames in time order. The same arguments always give the same pixels."""
        seq = offset_us = 0
        while offset_us < (self.duration_us or 0):
            if offset_us > self._from_us:
                yield Frame(
                    stream=self.name,
                    seq=seq,
                    t_us=T0_US + offset_us,
                    offset_us=offset_us,
                    mono_us=offset_us,
                    image=self._picture(seq, offset_us),
                )
            seq, offset_us = seq + 1, offset_us + self._period_us

    def _picture(self, seq: int, offset_us: int) -> Image:
        scene = np.random.default_rng([self._seed, offset_us // self._scene_us])
        coarse = scene.integers(30, 225, (6, 8, 3))
        height, width = self._side_px * 3 // 4, self._side_px
        picture = np.repeat(np.repeat(coarse, -(-height // 6), axis=0), -(-width // 8), axis=1)[:height, :width]
        left = seq * 7 % (width - 20)
        picture[height // 3 : height // 3 + 20, left : left + 20] = scene.integers(0, 255, 3)
        noise = np.random.default_rng([self._seed, seq, 1]).normal(0, 3, picture.shape)
        return np.clip(picture + noise, 0, 255).astype(np.uint8)


class FakeClock:
    """The clocks of a board, set by a test: `wall`, `mono` and `kernel` are arguments of `clock.SteadyClock`."""

    def __init__(self, wall_us: int, mono_us: int = 0) -> None:
        self._wall_us, self._mono_us = wall_us, mono_us
        self.error_us: int | None = None
        """Error bound of a time server; None = not synchronised."""

    def wall(self) -> int:
        """Wall time in microseconds."""
        return self._wall_us

    def mono(self) -> int:
        """Monotonic time in microseconds."""
        return self._mono_us

    def kernel(self) -> int | None:
        """The kernel's error bound."""
        return self.error_us

    def tick(self, seconds: float) -> None:
        """Let time pass."""
        self._wall_us += round(seconds * US)
        self._mono_us += round(seconds * US)

    def jump(self, seconds: float) -> None:
        """Set the wall clock forward or back."""
        self._wall_us += round(seconds * US)


class FakeEngine:
    """An engine without a model: `answer(arrays)` returns the outputs. For tests of decoders."""

    def __init__(self, answer: Callable[[Arrays], dict[str, Any]]) -> None:
        self._answer = answer
        self.calls = 0
        self.closed = False

    def infer(self, arrays: Arrays) -> dict[str, Any]:
        """Count the call and return the scripted outputs."""
        assert not self.closed, "infer after close"
        self.calls += 1
        return self._answer(arrays)

    def close(self) -> None:
        """Twice is allowed."""
        self.closed = True


class FakeJointEmbedder:
    """Embeds pictures by their colours and texts by their letters: a joint space of 64 dimensions without weights, for tests only."""

    space = Space(name="fake-colours", dim=64)
    crop_space = None

    def glance(self, images: Sequence[Image]) -> Matrix:
        """Colour histograms of 4 x 4 x 4 bins, unit length."""
        return np.stack([_unit(np.histogramdd(image.reshape(-1, 3), bins=(4, 4, 4), range=[(0, 256)] * 3)[0].ravel()) for image in images])

    @property
    def local(self) -> FakeJointEmbedder:
        """Itself."""
        return self

    def embed_images(self, images: Sequence[Image]) -> Matrix:
        """The same as `glance`."""
        return self.glance(images)

    def look(self, image: Image) -> ImageAnalysis:
        """The same vector, and the picture's brightness as its only label."""
        name = "bright" if float(image.mean()) > 127 else "dark"
        return ImageAnalysis(vector=self.glance([image])[0], observations=(Observation(kind="label", name=name, score=0.9),))

    def crops(self, image: Image, boxes: Sequence[Box] = ()) -> tuple[Crop, ...]:
        """It has no space for them."""
        del image, boxes
        raise EngineError("no vectors of parts of pictures")

    def embed_text(self, texts: Sequence[str]) -> Matrix:
        """Bags of letters, unit length."""
        return np.stack([_unit(np.bincount([ord(c) % 64 for c in text.lower()] or [0], minlength=64)) for text in texts])


def _unit(values: np.ndarray[Any, np.dtype[Any]]) -> Vector:
    vector = values.astype(np.float32)
    return vector / max(float(np.linalg.norm(vector)), 1e-9)
