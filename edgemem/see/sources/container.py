"""Opens files with pictures or sound, and recognises a file that was seen before."""

from __future__ import annotations

import hashlib
import os
from typing import Any

from edgemem.secret import Secret, reveal


def open_container(url: str, **options: Any) -> Any:
    """`av.open` that does not fail on bad text in the metadata of a file. Before PyAV 19 this needs an argument; since then the argument
    does not exist.
    """
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
