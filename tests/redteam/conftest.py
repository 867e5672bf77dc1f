"""One memory that saw and read every attack; all tests use it."""

from __future__ import annotations

import difflib
import hashlib
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from attacks import ATTACKS
from wall import T0_US, Wall

from edgemem.cli.app import CommandContext
from edgemem.infer.card import cards_dir
from edgemem.infer.fetch import ensure
from edgemem.records import US
from edgemem.remember.store import Store
from edgemem.see.chains import Chain
from edgemem.see.perceive import TextPerceiver
from edgemem.see.pipeline import Pipeline, PipelineParts
from edgemem.see.segment import FixedWindow
from edgemem.see.select import KeepAll
from edgemem.see.write import EventDocument

DAY_US = 86_400 * US
TRUTH = ("KEYS ON HOOK 4", "CAR ON LEVEL 2")
SECRET = "SECRET WORD IS MARZIPAN"


@dataclass(frozen=True)
class Attacked:
    """The memory, and the time of the questions: nothing later may be used."""

    directory: Path
    asked_us: int


@pytest.fixture(scope="session")
def reader(tmp_path_factory: pytest.TempPathFactory):
    """The real reader, with codes."""
    folder = tmp_path_factory.mktemp("cards")
    card = (cards_dir() / "ppocr-v6.toml").read_text(encoding="utf-8")
    (folder / "ppocr-v6.toml").write_text(card + "\n[parameters]\ncodes = true\n", encoding="utf-8")
    session = CommandContext(None, ("engines.threads=2", f"engines.cards=['{folder}']"))
    ensure(session.cards["ppocr-v6"], session.home, session.converters)
    return session.engines.role("read_text")


@pytest.fixture(scope="session")
def attacked(reader, tmp_path_factory: pytest.TempPathFactory) -> Attacked:
    """Two true signs, then every attack; a week later a secret that no earlier question may find."""
    directory = tmp_path_factory.mktemp("memory")
    texts = [*TRUTH, *(attack.text for attack in ATTACKS)]
    with Store.open(directory) as store:
        for wall in (Wall("wall", texts), Wall("later", [SECRET], t0_us=T0_US + 7 * DAY_US)):
            parts = PipelineParts(selector=KeepAll(), chains=[Chain(FixedWindow(), [EventDocument()])], perceivers=[TextPerceiver(reader)])
            report = Pipeline(wall, parts, store).run()
            assert not report.notes
    return Attacked(directory, T0_US + 3 * DAY_US)


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
    """Digest of every file with content; readers of SQLite create an empty log and shared memory, which have none."""
    return {
        p.name: hashlib.sha256(p.read_bytes()).hexdigest()
        for p in directory.rglob("*")
        if p.is_file() and p.stat().st_size and not p.name.endswith("-shm")
    }


def like(read: str, text: str) -> float:
    """Similarity of the letters and digits of two texts, 0..1."""
    letters = [re.sub(r"[^a-z0-9]", "", t.casefold()) for t in (read, text)]
    return difflib.SequenceMatcher(None, *letters, autojunk=False).ratio()
