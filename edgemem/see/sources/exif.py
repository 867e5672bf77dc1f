"""When a JPEG was taken, from its EXIF block. Nothing else of EXIF is read, so no place or name can enter the memory this way."""

from __future__ import annotations

import struct
from pathlib import Path

from edgemem.clock import from_iso
from edgemem.errors import UsageError

_EXIF_IFD, _TAKEN, _OFFSET = 0x8769, 0x9003, 0x9011  # pointer to the Exif IFD, DateTimeOriginal, OffsetTimeOriginal (Exif 2.31, 4.6.5)
_HEAD_BYTES = 128 * 1024
"""EXIF stands before the picture data and fits into 64 KiB; thumbnails of other blocks may come first."""


def taken_us(path: Path) -> int | None:
    """DateTimeOriginal as microseconds UTC, or None. A camera that tells no offset is taken to run on UTC."""
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
        tags = _tags(head)
        date, _, time = tags[_TAKEN].partition(" ")
        return from_iso(f"{date.replace(':', '-')}T{time}{tags.get(_OFFSET, '')}")
    except (OSError, KeyError, ValueError, struct.error, UsageError):
        return None


def _tags(head: bytes) -> dict[int, str]:
    """ASCII tags of the Exif IFD. Raises struct.error, KeyError or ValueError on anything else than a well-formed block."""
    start = head.index(b"Exif\0\0") + 6
    tiff = head[start:]
    order = {b"II": "<", b"MM": ">"}[tiff[:2]]
    (first,) = struct.unpack_from(order + "I", tiff, 4)
    pointers = {tag: value for tag, _, _, value in _entries(tiff, first, order)}
    texts = {}
    for tag, kind, count, value in _entries(tiff, pointers[_EXIF_IFD], order):
        if kind == 2 and count > 4:  # ASCII, too long to stand in the entry itself
            texts[tag] = tiff[value : value + count].split(b"\0")[0].decode("ascii")
    return texts


def _entries(tiff: bytes, at: int, order: str) -> list[tuple[int, int, int, int]]:
    (count,) = struct.unpack_from(order + "H", tiff, at)
    return [struct.unpack_from(order + "HHII", tiff, at + 2 + 12 * index) for index in range(count)]
