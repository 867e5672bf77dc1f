"""Files with pictures or sound in them: opened, and known again."""

from __future__ import annotations

import hashlib
import os
from typing import Any

from edgemem.secret import Secret, reveal


def open_container(url: str, **options: Any) -> Any:
    """`av.open` that never stumbles over text in a file's metadata: before PyAV 19 that had to be asked for, since then it cannot be."""
    import av

    if int(av.__version__.split(".")[0]) < 19:
        options["metadata_errors"] = "ignore"
    return av.open(reveal(url), **options)


def reason(error: Exception, url: str) -> str:
    """Why a container cannot be opened or read, without what is secret in its address."""
    why = str(getattr(error, "strerror", None) or error)
    return why.replace(reveal(url), str(url)) if reveal(url) else why


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
