"""Opens files with pictures or sound, and recognises a file that was seen before."""

from __future__ import annotations

import hashlib
import os
from typing import Any


def open_container(url: str, **options: Any) -> Any:
    """`av.open` that does not fail on bad text in the metadata of a file. Before PyAV 19 this needs an argument; since then the argument
    does not exist.
    """
    import av

    if int(av.__version__.split(".")[0]) < 19:
        options["metadata_errors"] = "ignore"
    return av.open(url, **options)


def identity_of(path: str) -> str:
    """Size of the file and hash of its beginning and end: enough to recognise a file without reading all of it."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - may be a URL
            size = os.fstat(file.fileno()).st_size
            digest = hashlib.sha256(file.read(65536))
            file.seek(max(0, size - 65536))
            digest.update(file.read(65536))
    except OSError:
        return path
    return f"{size}-{digest.hexdigest()[:16]}"
