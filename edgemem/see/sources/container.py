"""Opens files with pictures or sound, and recognises a file that was seen before."""

from __future__ import annotations

import ctypes
import hashlib
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from edgemem import files
from edgemem.records import MOST_PIXELS
from edgemem.secret import Secret, reveal

MOST_BLOCK_BYTES = 256 << 20
"""Largest piece of memory that FFmpeg may ask for at once, whatever a file says about its tables and pictures."""
_bounded: set[str] = set()


def open_container(url: str, *, options: dict[str, str] | None = None, **more: Any) -> Any:
    """`av.open` within bounds: of a path only a regular file, and nothing that it names in turn but files; bounded pictures and tables.

    It never stumbles over text in a file's metadata: before PyAV 19 that had to be asked for, since then it cannot be. Raises OSError for
    a pipe or a device, and what `av.open` raises.
    """
    import av

    _bound_blocks()
    options = {"max_pixels": str(MOST_PIXELS), **(options or {})}
    if more.get("format") is None and "://" not in url.removeprefix("file://"):
        path = Path(url.removeprefix("file://").removeprefix("file:"))
        files.require_file(path.stat(), path)
        url, options["protocol_whitelist"] = f"file:{path}", "file"
    if int(av.__version__.split(".")[0]) < 19:
        more["metadata_errors"] = "ignore"
    return av.open(reveal(url), options=options, **more)


def reason(error: Exception, url: str) -> str:
    """Why a container cannot be opened or read, without what is secret in its address."""
    why = str(getattr(error, "strerror", None) or error)
    return why.replace(reveal(url), str(url)) if reveal(url) else why


def _bound_blocks() -> None:
    """Tell every FFmpeg of this process (`av_max_alloc` of libavutil); nothing where none is found. PyAV and OpenCV bring one each."""
    try:
        lines = Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return
    for name in {line.split(maxsplit=5)[5] for line in lines if "/libavutil" in line} - _bounded:
        with suppress(OSError, AttributeError):
            ctypes.CDLL(name).av_max_alloc(ctypes.c_size_t(MOST_BLOCK_BYTES))
            _bounded.add(name)


def identity_of(path: str, length_us: int | None = None) -> str:
    """Size and hash of both ends: enough to know a file again without reading gigabytes. An address stands for itself, without what is
    secret in it: where that is all that tells two recordings apart, their lengths do.
    """
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - may be a URL
            size = os.fstat(file.fileno()).st_size
            digest = hashlib.sha256(file.read(65536))
            file.seek(max(0, size - 65536))
            digest.update(file.read(65536))
    except OSError:
        return f"{path} {length_us}" if isinstance(path, Secret) else path
    return f"{size}-{digest.hexdigest()[:16]}"
