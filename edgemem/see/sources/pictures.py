"""A folder of pictures, or one picture, as a recorded stream."""

from __future__ import annotations

import hashlib
import re
import warnings
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from edgemem import files
from edgemem.clock import from_iso, now_us
from edgemem.errors import SourceError, UsageError
from edgemem.records import US, Frame
from edgemem.see import pixels
from edgemem.see.sources.base import SIDE_PX, BaseSource
from edgemem.see.sources.spec import PICTURES

MOST_BYTES = 64 << 20
"""Largest file that is read."""
MOST_PICTURES = 100_000
"""In one folder: a frame a second for a day has 86,400."""
_FORMATS = ("JPEG", "PNG", "WEBP", "TIFF", "BMP")


class Pictures(BaseSource):
    """The pictures of a folder in natural order (`img2` before `img10`), without its sub-folders.

    Time: if every picture has the time at which it was taken (EXIF) and no start is given, these times are used, also for the order. Else
    the pictures follow each other with one period of the rate. File dates are never used, because copying changes them.
    """

    duration_us: int | None

    def __init__(self, path: Path, *, rate_fps: float, stream: str, start_us: int | None = None, side_px: int = SIDE_PX) -> None:
        self.name = stream
        self.dropped: dict[str, int] = {}
        self._path = path
        self._side_px = side_px
        self._after_us = -1
        self._closed = False
        paths = _listed(path)
        period_us = max(1, round(US / rate_fps))
        taken = {} if start_us is not None else {picture: taken_us(picture) for picture in paths}
        times = [t_us for t_us in taken.values() if t_us is not None]
        if times and len(times) == len(paths):
            self.t0_us = min(times)
            self._files = sorted(
                ((t_us - self.t0_us, picture) for picture, t_us in taken.items() if t_us is not None), key=lambda pair: pair[0]
            )
        else:
            self._files = [(index * period_us, picture) for index, picture in enumerate(paths)]
            self.t0_us = start_us if start_us is not None else now_us() - len(paths) * period_us
        self.duration_us = self._files[-1][0] + period_us
        self.identity = hashlib.sha256("\n".join(f"{p.name} {p.stat().st_size}" for p in paths).encode()).hexdigest()[:16]

    def skip_to(self, offset_us: int) -> None:
        self._after_us = offset_us

    def frames(self) -> Iterator[Frame]:
        found, why = False, "it was not looked at"
        last_us = -1
        for seq, (nominal_us, path) in enumerate(self._files):
            if self._closed:
                return
            offset_us = max(nominal_us, last_us + 1)  # pictures of a burst have the same EXIF second: keep the order of names
            last_us = offset_us
            if offset_us <= self._after_us:
                continue
            try:
                image = pixels.decode(files.read_file(path, MOST_BYTES), self._side_px)
            except (SourceError, OSError) as error:
                why = (error.strerror if isinstance(error, OSError) else None) or str(error)
                reason = "too large" if isinstance(error, pixels.TooManyPixelsError) or "more than" in why else "unreadable"
                self.dropped[reason] = self.dropped.get(reason, 0) + 1
                continue
            found = True
            yield Frame(stream=self.name, seq=seq, t_us=self.t0_us + offset_us, offset_us=offset_us, image=image)
        if not found and self._after_us < 0:
            which = "it cannot be read" if self._path.is_file() else f"none of its {len(self._files)} pictures can be read"
            raise SourceError(f"{self._path}: {which}: {why}")

    def close(self) -> None:
        self._closed = True


def _listed(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    try:
        visible = (entry for entry in path.iterdir() if not entry.name.startswith(".") and entry.suffix.lower() in PICTURES)
        paths = list(islice((entry for entry in visible if entry.is_file()), MOST_PICTURES + 1))
    except OSError as error:
        raise SourceError(f"{path}: cannot be listed ({error.strerror})") from None
    if len(paths) > MOST_PICTURES:
        raise SourceError(f"{path}: holds more than {MOST_PICTURES} pictures; take them in several folders")
    if not paths:
        raise SourceError(f"{path}: contains no pictures ({', '.join(sorted(PICTURES))})")
    return sorted(paths, key=lambda entry: _natural(entry.name))


def _natural(name: str) -> list[tuple[int, int | str]]:
    """`img10` -> [("img"), 10]: numbers are compared as numbers."""
    return [(0, int(part)) if part.isdecimal() else (1, part.lower()) for part in re.split(r"(\d+)", name)]


def taken_us(path: Path) -> int | None:
    """When a picture was taken, in microseconds UTC: DateTimeOriginal and OffsetTimeOriginal of EXIF 2.31 (section 4.6.5), else None.

    A time without offset is read as UTC. Nothing else of EXIF is read, so no place or name enters the memory this way.
    """
    from PIL import ExifTags, Image

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)  # only the header is read
            with Image.open(path, formats=_FORMATS) as picture:
                tags = picture.getexif().get_ifd(ExifTags.IFD.Exif)
        date, _, time = str(tags[ExifTags.Base.DateTimeOriginal]).partition(" ")
        return from_iso(f"{date.replace(':', '-')}T{time}{tags.get(ExifTags.Base.OffsetTimeOriginal, '')}")
    except (OSError, KeyError, ValueError, SyntaxError, UsageError, Image.DecompressionBombError):
        return None
