"""Adaptive deduplication with endpoint commit (VAM section 3.2.3, eq. 2 and 3)."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from edgemem.records import US
from edgemem.see import pixels
from edgemem.see.select import BaseSelector, Candidate, Decision, Keep
from edgemem_vam.otsu import HISTORY, bimodal, distance, otsu

if TYPE_CHECKING:
    from edgemem.see.pixels import Gray


class DedupSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When a frame shows nothing new. Distances are 1 - cosine, 0..2."""

    fallback: float | None = None
    """Threshold under 8 distances or without two modes; default: `dedup_fallback` of the vector space, else 0.12 (VAM: 1 - 0.88)."""
    floor: float | None = None
    """Least threshold: the space's own jitter between pictures of one still scene; default: the space's `dedup_floor`, else 0.02."""
    local_change: float = 0.0
    """A block of the 320 px copy that differs so much (0..255) from the reference makes a frame new; 0 = off (VAM).
    A whole-picture vector hardly moves for a small thing on a still background."""
    local_gap_s: float = 2.0
    """Frames that only changed locally are kept at most this often."""
    keep_every_s: float = 0.0
    """A frame is kept at least this often even if nothing changes, as long as frames come; 0 = off (VAM)."""


class _State(msgspec.Struct):
    """What survives a restart."""

    history: list[float]
    reference: bytes = b""
    small: bytes = b""
    kept_us: int = 0


class AdaptiveDedup(BaseSelector):
    """Keeps the first and the last frame of every stretch that looks alike.

    A frame within the threshold of the reference replaces the pending one. A frame beyond it commits the pending endpoint, then itself,
    and becomes the reference. The threshold is Otsu's over the last 256 distances, trusted only where they have two modes, else the
    fallback; never under the floor. The first frame is kept; at the end of the stream the pending endpoint is, if there is one.

    VAM's code holds the pending picture in memory. So does this; its saved state has no picture, so that none is written at every commit.
    After a crash the pending frame is taken from the recording again (`held`, `give_back`): what is kept is the same. Of a live camera
    the endpoint that was pending at a crash is lost, as it is in VAM's code.
    """

    name = "adaptive_dedup"

    def __init__(self, settings: DedupSettings | None = None, calibration: Mapping[str, float] | None = None) -> None:
        self._settings = settings = settings or DedupSettings()
        own = calibration or {}
        self._fallback = settings.fallback if settings.fallback is not None else own.get("dedup_fallback", 0.12)
        self._floor = settings.floor if settings.floor is not None else own.get("dedup_floor", 0.02)
        self._history: deque[float] = deque(maxlen=HISTORY)
        self._reference: np.ndarray[tuple[int], np.dtype[np.float32]] | None = None
        self._small: Gray | None = None
        self._kept_us = 0
        self._pending: Candidate | None = None

    @property
    def held(self) -> tuple[Candidate, ...]:
        """The pending endpoint."""
        return (self._pending,) if self._pending is not None else ()

    def observe(self, candidate: Candidate) -> list[Decision]:
        if self._reference is None:
            return self._keep(candidate)
        if self._reference.size != candidate.vector.size:  # another engine since the last run
            self._history.clear()
            return [*self._endpoint(), *self._keep(candidate)]
        apart = distance(candidate.vector, self._reference)
        self._history.append(apart)
        if apart > self.threshold():
            return [*self._endpoint(), *self._keep(candidate)]
        waited_us = candidate.frame.offset_us - self._kept_us
        if waited_us >= self._settings.local_gap_s * US and self._changed_locally(candidate):
            since_us = self._pending.frame.offset_us - self._kept_us if self._pending else 0
            endpoint = self._endpoint() if since_us >= self._settings.local_gap_s * US else []
            return [*endpoint, *self._keep(candidate)]
        if self._settings.keep_every_s and waited_us >= self._settings.keep_every_s * US:
            return self._keep(candidate, reference=False)
        self._pending = candidate
        return []

    def threshold(self) -> float:
        """The distance beyond which a frame is new, by what was seen so far."""
        chosen = self._fallback
        if len(self._history) >= 8:
            split, separability = otsu(self._history)
            if bimodal(separability, len(self._history)):
                chosen = split
        return min(2.0, max(self._floor, chosen))

    def flush(self) -> list[Decision]:
        return self._endpoint()

    def _keep(self, candidate: Candidate, *, reference: bool = True) -> list[Decision]:
        self._pending = None
        self._kept_us = candidate.frame.offset_us
        if reference:
            self._reference = candidate.vector
            self._small = pixels.to_gray(candidate.small)
        return [Keep(candidate=candidate)]

    def _endpoint(self) -> list[Decision]:
        pending, self._pending = self._pending, None
        return [Keep(candidate=pending, role="endpoint")] if pending is not None else []

    def _changed_locally(self, candidate: Candidate) -> bool:
        if not self._settings.local_change or self._small is None:
            return False
        gray = pixels.to_gray(candidate.small)
        return gray.shape != self._small.shape or float(pixels.block_difference(self._small, gray, 16).max()) >= self._settings.local_change

    def state(self) -> bytes:
        return msgspec.msgpack.encode(
            _State(
                history=list(self._history),
                reference=b"" if self._reference is None else self._reference.astype(np.float32).tobytes(),
                small=b"" if self._small is None else pixels.encode_png(self._small),
                kept_us=self._kept_us,
            )
        )

    def restore(self, state: bytes) -> None:
        saved = msgspec.msgpack.decode(state, type=_State)
        self._history = deque(saved.history, maxlen=HISTORY)
        self._reference = np.frombuffer(saved.reference, np.float32) if saved.small else None
        self._small = pixels.decode_gray(saved.small) if saved.small else None
        self._kept_us = saved.kept_us
        self._pending = None

    def give_back(self, candidate: Candidate) -> None:
        """The pending endpoint of before the restart."""
        self._pending = candidate
