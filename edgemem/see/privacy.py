"""What may be stored: consent per stream, pause, masks, and places that are never kept. All are checked before anything is written."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from math import ceil, floor
from pathlib import Path

import msgspec

from edgemem import config
from edgemem.errors import UsageError
from edgemem.records import Frame, Observation
from edgemem.remember.disk.directory import is_paused, require_not_paused

PAUSED = "paused"


class Privacy:
    """The privacy settings of one memory and one stream."""

    def __init__(self, settings: config.PrivacySettings, rules: Sequence[config.KeepRule], directory: Path, stream: str) -> None:
        self._directory = directory
        self._consent = any(fnmatchcase(stream, pattern) for pattern in settings.streams)
        self._boxes = [box for pattern, boxes in settings.masks.items() if fnmatchcase(stream, pattern) for box in boxes]
        never = [rule for rule in rules if rule.keep_days == 0 and fnmatchcase(stream, rule.stream)]
        self._never = any(not rule.place for rule in never)
        self._places = {rule.place.casefold(): rule.min_score for rule in never if rule.place}
        self._stream = stream

    @property
    def paused(self) -> bool:
        """Whether the memory is paused now; it asks the file system (2 us)."""
        return is_paused(self._directory)

    def require(self) -> None:
        """Raises UsageError if nothing of this stream may be kept now. Called before anything is opened for writing."""
        self.require_consent()
        require_not_paused(self._directory)

    def require_consent(self) -> None:
        """Raises UsageError if the settings forbid to keep anything of this stream, whether the memory is paused or not."""
        if not self._consent:
            raise UsageError(f'stream "{self._stream}" has no consent: add it to privacy.streams in the settings')
        if self._never:
            raise UsageError(f'stream "{self._stream}" is never kept: a rule in retention says keep_days = 0')

    def masked(self, frame: Frame) -> Frame:
        """The frame with its masked rectangles black; the same frame if there are none."""
        if not self._boxes:
            return frame
        image = frame.image.copy()
        height, width = image.shape[:2]
        for x0, y0, x1, y1 in self._boxes:
            image[floor(y0 * height) : ceil(y1 * height), floor(x0 * width) : ceil(x1 * width)] = 0
        return msgspec.structs.replace(frame, image=image)

    def refuses(self, observations: Iterable[Observation]) -> bool:
        """Whether a picture shows a place that is never kept."""
        return any(seen.kind == "label" and seen.score >= self._places.get(seen.name.casefold(), 2.0) for seen in observations)
