"""What the tests of attacks share: the truth and the secret of their memory, a watch on this process, digests of files."""

from __future__ import annotations

import difflib
import hashlib
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from edgemem.records import US

DAY_US = 86_400 * US
TRUTH = ("KEYS ON HOOK 4", "CAR ON LEVEL 2")
SECRET = "SECRET WORD IS MARZIPAN"


@dataclass(frozen=True)
class Attacked:
    """The memory, and when it was asked for the last time that it may know of."""

    directory: Path
    asked_us: int


_WATCHED = (
    "socket.connect",
    "socket.sendto",
    "subprocess.Popen",
    "os.system",
    "os.exec",
    "os.remove",
    "os.rename",
    "os.rmdir",
    "shutil.rmtree",
)
_seen: list[tuple[str, str]] = []
_watching: list[bool] = []


def _audit(event: str, arguments: tuple[object, ...]) -> None:
    if not _watching:
        return
    written = event == "open" and isinstance(arguments[1], str) and set(arguments[1]) & set("wax+")
    if written or event in _WATCHED:
        _seen.append((event, repr(arguments)[:200]))


sys.addaudithook(_audit)


@contextmanager
def watched() -> Iterator[list[tuple[str, str]]]:
    """Every connection, program, deletion and opened-for-writing file of this process within the block, as the interpreter reports it."""
    _seen.clear()
    _watching.append(True)
    try:
        yield _seen
    finally:
        _watching.clear()


def contents(directory: Path) -> dict[str, str]:
    """Digest of every file that holds anything; readers of SQLite make an empty log and shared memory, which holds no content."""
    return {
        p.name: hashlib.sha256(p.read_bytes()).hexdigest()
        for p in directory.rglob("*")
        if p.is_file() and p.stat().st_size and not p.name.endswith("-shm")
    }


def like(read: str, text: str) -> float:
    """How alike the letters and digits of two texts are, 0..1."""
    letters = [re.sub(r"[^a-z0-9]", "", t.casefold()) for t in (read, text)]
    return difflib.SequenceMatcher(None, *letters, autojunk=False).ratio()
