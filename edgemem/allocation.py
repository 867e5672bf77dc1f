"""How the C library hands out memory: a process that looks at pictures for days must not grow by what it has freed."""

from __future__ import annotations

import ctypes
import sys
import time
from functools import lru_cache

_ARENA_MAX = -8
"""Parameter of `mallopt` (malloc.h of the GNU C library)."""
_ARENAS = 2
"""Each thread that allocates gets an arena of its own otherwise, up to eight for each core, and each keeps the most that it ever held."""
_EVERY_S = 5.0
_given_back_s = [0.0]


def bound_heap() -> None:
    """Few arenas for this process, best before its first thread; nothing where the C library is another one."""
    library = _c_library()
    if library is not None:
        library.mallopt(_ARENA_MAX, _ARENAS)


def give_back() -> None:
    """Return to the system what was freed, every few seconds at most: it takes some milliseconds."""
    now_s = time.monotonic()
    library = _c_library()
    if library is None or now_s - _given_back_s[0] < _EVERY_S:
        return
    _given_back_s[0] = now_s
    library.malloc_trim(ctypes.c_size_t(0))


@lru_cache(maxsize=1)
def _c_library() -> ctypes.CDLL | None:
    """The GNU C library; None where there is another one."""
    if not sys.platform.startswith("linux"):
        return None
    library = ctypes.CDLL(None)
    try:
        assert library.mallopt
        assert library.malloc_trim
    except AttributeError:
        return None
    return library
