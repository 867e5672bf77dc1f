"""Commands of `torture.py` that are killed at a random moment: what each starts from, does, and must have left.

Every command works on a small memory whose exact content is known. It runs in a process of its own; after the kill whatever is there must
be the old, the new, or what the next start makes of it: whole in any case, sound for `edgemem memory check`, and closed to other users.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import stat
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Protocol

import msgspec
import numpy as np
import simplejpeg

from edgemem.config import RunSettings, RunSource, load
from edgemem.device.agent import Agent
from edgemem.errors import MemoryKeyError
from edgemem.extend.environment import Environment
from edgemem.infer.roles import Space
from edgemem.records import US, Observation
from edgemem.remember.administration import backup, compact
from edgemem.remember.check import check_memory
from edgemem.remember.disk import keys, rewrite
from edgemem.remember.disk.keys import Key
from edgemem.remember.export import export
from edgemem.remember.forget import Wanted, forget
from edgemem.remember.imports import import_into
from edgemem.remember.restore import restore
from edgemem.remember.store import NewDocument, NewMoment, NewSegment, Store
from edgemem.remember.view import View
from edgemem.serve.memory import Memory

MOMENTS = 48
SPACE = Space(name="torture", dim=16)
FORGOTTEN = range(10, 20)
KEY, OTHER_KEY = Key("6b" * 32, "torture"), Key("7c" * 32, "torture")
SECRET_WORD = "giraffeword"
_PATIENCE_S = 10.0
"""For the lock: what a killed command started may still be wiping."""
RECIPE = 'name = "plain"\nrate_fps = 10.0\nembed_text = false\n[segment]\nuse = "fixed_window"\nseconds = 1.0\n'
Content = tuple[object, ...]


class Command(Protocol):
    """One command that is killed."""

    def prepare(self, folder: Path) -> None:
        """Once: make in `folder` what each cycle gets a copy of."""
        ...

    def run(self, folder: Path) -> None:
        """In a process of its own, to be killed at any moment."""
        ...

    def verify(self, folder: Path, *, finished: bool) -> None:
        """Raise AssertionError if a promise is broken. `finished`: it ended before it was killed."""
        ...


def fill(directory: Path) -> None:
    """Moments with pictures, vectors, readings and documents; the words of every document are its own."""
    rng = np.random.default_rng(0)
    with Store.open(directory) as store:
        store.ensure_space(SPACE)
        with store.transaction() as tx:
            ids = []
            for number in range(MOMENTS):
                t_us, vector = number * US, rng.normal(size=SPACE.dim).astype(np.float32)
                jpeg = simplejpeg.encode_jpeg(rng.integers(0, 256, (40, 40, 3), np.uint8), 80, "BGR")
                word = f"{SECRET_WORD}{number:03}x"
                moment_id = tx.add_moment(
                    NewMoment(
                        stream="cam", seq=number, t_us=t_us, offset_us=t_us, width_px=40, height_px=40, sharpness=1.0, jpeg=jpeg,
                        vectors={SPACE.name: vector / np.linalg.norm(vector)}, observations=(Observation("text", word, 0.9),),
                    )
                )  # fmt: skip
                ids.append(moment_id)
                tx.add_document(
                    NewDocument(
                        kind="event", text=f"{word} was there", stream="cam", t0_us=t_us, t1_us=t_us, offset_us=t_us, known_us=t_us,
                        origin="system", moment_id=moment_id,
                    )
                )  # fmt: skip
                if number % 8 == 7:
                    tx.add_segment(
                        NewSegment(
                            stream="cam", segmenter="torture", t0_us=t_us - 7 * US, t1_us=t_us, offset_us=0, moment_ids=tuple(ids),
                            representative_id=ids[3],
                        )
                    )  # fmt: skip
                    ids = []


def content(directory: Path) -> Content:
    """All that a memory tells, but for ids."""
    with View.open(directory) as view:
        moments = view.moments()
        query = np.full(SPACE.dim, SPACE.dim**-0.5, np.float32)
        pictures = {one.id: hashlib.sha256(view.picture(one.id) or b"").hexdigest() for one in moments}
        return (
            tuple((one.seq, one.t_us, pictures[one.id]) for one in moments),
            tuple(sorted(document.text for document in view.documents())),
            tuple(pictures[key] for key, _ in view.vector_search(SPACE.name, query, 10**6)),
            tuple((segment.t0_us, segment.t1_us) for segment in view.segments()),
            tuple(sorted(view.names("text"))),
        )


def reopened(directory: Path) -> None:
    """Open it as the next writer does, which ends what was interrupted, and look for anything that is wrong."""
    Store.open(directory, create=False, patience_s=_PATIENCE_S).close()
    problems = check_memory(directory)
    assert not problems, problems
    for path in (directory, *directory.rglob("*")):
        assert not stat.S_IMODE(path.lstat().st_mode) & 0o077, f"{path} is open to others"


class Whole:
    """A command that changes a filled memory, whose content stays."""

    def __init__(self) -> None:
        self.before: Content = ()

    def prepare(self, folder: Path) -> None:
        fill(folder / "memory")
        self.before = content(folder / "memory")

    def run(self, folder: Path) -> None:
        raise NotImplementedError

    def verify(self, folder: Path, *, finished: bool) -> None:
        del finished
        reopened(folder / "memory")
        assert content(folder / "memory") == self.before


class Compact(Whole):
    """Free pages are given back; nothing else changes."""

    def prepare(self, folder: Path) -> None:
        fill(folder / "memory")
        with Store.open(folder / "memory") as store, store.transaction() as tx:
            for moment_id in range(20, MOMENTS):
                tx.drop_moment(moment_id)
        self.before = content(folder / "memory")

    def run(self, folder: Path) -> None:
        compact(folder / "memory")


class Forget(Whole):
    """All of it is forgotten, or nothing; and what is forgotten stands in no byte any more."""

    def run(self, folder: Path) -> None:
        forget(folder / "memory", Wanted(from_us=FORGOTTEN.start * US, to_us=(FORGOTTEN.stop - 1) * US))

    def verify(self, folder: Path, *, finished: bool) -> None:
        memory = folder / "memory"
        reopened(memory)
        with View.open(memory) as view:
            left = {one.seq for one in view.moments()}
        if left == set(range(MOMENTS)):
            assert not finished
            assert content(memory) == self.before
            return
        assert left == set(range(MOMENTS)) - set(FORGOTTEN), left
        compact(memory)
        everything = b"".join(path.read_bytes() for path in memory.rglob("*") if path.is_file())
        for number in FORGOTTEN:
            assert f"{SECRET_WORD}{number:03}x".encode() not in everything, f"{number} is still there"


class ForgetEncrypted(Forget):
    """The same where every byte is encrypted, and the file is written anew."""

    def prepare(self, folder: Path) -> None:
        with keys.using(KEY):
            super().prepare(folder)

    def run(self, folder: Path) -> None:
        with keys.using(KEY):
            super().run(folder)

    def verify(self, folder: Path, *, finished: bool) -> None:
        with keys.using(KEY):
            super().verify(folder, finished=finished)


class Rekey(Whole):
    """One of two keys opens it, never none and never both, and with a key nothing of it lies there plainly."""

    def __init__(self, old: Key | None, new: Key | None) -> None:
        super().__init__()
        self._old, self._new = old, new

    def prepare(self, folder: Path) -> None:
        with keys.using(self._old):
            super().prepare(folder)

    def run(self, folder: Path) -> None:
        rewrite.change_key(folder / "memory", self._old, self._new)

    def verify(self, folder: Path, *, finished: bool) -> None:
        opening = [key for key in (self._old, self._new) if self._opens(folder / "memory", key)]
        assert len(opening) == 1, "both keys open it" if opening else "no key opens it"
        assert not finished or opening[0] == self._new
        with keys.using(opening[0]):
            super().verify(folder, finished=finished)
        if opening[0] is not None:
            plain = [path.name for path in folder.rglob("*") if path.is_file() and SECRET_WORD.encode() in path.read_bytes()]
            assert not plain, plain

    @staticmethod
    def _opens(memory: Path, key: Key | None) -> bool:
        with keys.using(key):
            try:
                Store.open(memory, create=False, patience_s=_PATIENCE_S).close()
            except MemoryKeyError:
                return False
        return True


class Backup(Whole):
    """The memory stays as it is; the copy is whole, or there is none."""

    def run(self, folder: Path) -> None:
        backup(folder / "memory", folder / "copy.db")

    def verify(self, folder: Path, *, finished: bool) -> None:
        super().verify(folder, finished=finished)
        copy = folder / "copy.db"
        assert copy.exists() or not finished
        for left in folder.glob("copy.db.part*"):
            assert stat.S_IMODE(left.stat().st_mode) == 0o600
            left.unlink()
        if not copy.exists():
            backup(folder / "memory", copy)
        restore(copy, folder / "second")
        assert content(folder / "second") == self.before


class Restore(Whole):
    """A whole memory, or none; begun anew it ends."""

    def prepare(self, folder: Path) -> None:
        super().prepare(folder)
        backup(folder / "memory", folder / "copy.db")
        shutil.rmtree(folder / "memory")

    def run(self, folder: Path) -> None:
        restore(folder / "copy.db", folder / "memory")

    def verify(self, folder: Path, *, finished: bool) -> None:
        if not (folder / "memory" / "memory.db").exists():
            assert not finished
            restore(folder / "copy.db", folder / "memory")
        super().verify(folder, finished=finished)


class Export(Whole):
    """The memory stays as it is; the export is whole, or there is none."""

    def run(self, folder: Path) -> None:
        export(folder / "memory", folder / "plain")

    def verify(self, folder: Path, *, finished: bool) -> None:
        super().verify(folder, finished=finished)
        assert (folder / "plain").exists() or not finished
        if (folder / "plain").exists():
            import_into(folder / "second", folder / "plain")
            assert content(folder / "second") == self.before


class Import(Whole):
    """Taken in again it goes on where it was killed, and nothing is there twice."""

    def prepare(self, folder: Path) -> None:
        super().prepare(folder)
        export(folder / "memory", folder / "plain")
        shutil.rmtree(folder / "memory")

    def run(self, folder: Path) -> None:
        import_into(folder / "memory", folder / "plain")

    def verify(self, folder: Path, *, finished: bool) -> None:
        if (folder / "memory" / "memory.db").exists():
            reopened(folder / "memory")
        else:
            assert not finished
        if not finished and (not (folder / "memory" / "memory.db").exists() or content(folder / "memory") != self.before):
            import_into(folder / "memory", folder / "plain")  # killed after its last line it is whole, and would be taken in anew
        super().verify(folder, finished=True)


class Ingest:
    """Begun again it goes on where it was killed: every picture once, in order."""

    def __init__(self, pictures: int = 40) -> None:
        self._pictures = pictures
        self._environment = Environment(lambda: load(None))
        assert self._environment.plugins  # found once, not in every process

    def prepare(self, folder: Path) -> None:
        (folder / "plain.toml").write_text(RECIPE)
        (folder / "pictures").mkdir()
        rng = np.random.default_rng(1)
        for number in range(self._pictures):
            jpeg = simplejpeg.encode_jpeg(rng.integers(0, 256, (48, 64, 3), np.uint8), 80, "BGR")
            (folder / "pictures" / f"{number:03}.jpg").write_bytes(jpeg)

    def run(self, folder: Path) -> None:
        Memory(folder / "memory", self._environment, print).ingest(
            folder / "pictures", recipe=str(folder / "plain.toml"), start=1_780_000_000 * US
        )

    def verify(self, folder: Path, *, finished: bool) -> None:
        if (folder / "memory" / "memory.db").exists():
            self._sound(folder / "memory")
        if not finished:
            self.run(folder)
        assert self._sound(folder / "memory") == self._pictures

    @staticmethod
    def _sound(memory: Path) -> int:
        """How many pictures are there: the first so many, each once."""
        reopened(memory)
        with View.open(memory) as view:
            seqs = [one.seq for one in view.moments()]
        assert seqs == list(range(len(seqs))), seqs
        return len(seqs)


class Daemon(Ingest):
    """The agent with its socket, killed: what it saw is there, and the next one starts."""

    def run(self, folder: Path) -> None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        source = RunSource(source=str(folder / "pictures"), stream="pictures", recipe=str(folder / "plain.toml"))
        run = RunSettings(memory=str(folder / "memory"), sources=[source])
        Agent(Environment(lambda: msgspec.structs.replace(load(None), run=run)), lambda _, **_more: None).run()

    def verify(self, folder: Path, *, finished: bool) -> None:
        assert not finished, "the agent ended by itself"
        if (folder / "memory" / "memory.db").exists():
            self._sound(folder / "memory")
        Ingest.run(self, folder)
        assert self._sound(folder / "memory") == self._pictures


COMMANDS: dict[str, Callable[[], Command]] = {
    "ingest": Ingest,
    "forget": Forget,
    "encrypt": lambda: Rekey(None, KEY),
    "compact": Compact,
    "import": Import,
    "backup": Backup,
    "daemon": Daemon,
    "restore": Restore,
    "rekey": lambda: Rekey(KEY, OTHER_KEY),
    "export": Export,
    "forget-encrypted": ForgetEncrypted,
    "decrypt": lambda: Rekey(KEY, None),
}
"""By name; what users run most comes first."""


class Killed:
    """Cycles of one command."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name, self._folder = name, folder
        self._command = COMMANDS[name]()
        self._base = folder / f"{name}-base"
        self._base.mkdir(mode=0o700)
        self._command.prepare(self._base)
        self._usual_s = 0.1
        self.kills = self.finished = 0

    def cycle(self, rng: np.random.Generator) -> None:
        """One run, killed at a moment of its usual life, and a look at what it left."""
        work = self._folder / self.name
        shutil.copytree(self._base, work, symlinks=True)
        began = time.monotonic()
        finished = run_for(lambda: self._command.run(work), float(rng.uniform(0, 1.1 * self._usual_s)))
        if finished:
            self._usual_s = 0.7 * self._usual_s + 0.3 * (time.monotonic() - began)
            self.finished += 1
        else:
            self._usual_s = min(3.0, self._usual_s * 1.02)
            self.kills += 1
        self._command.verify(work, finished=finished)
        shutil.rmtree(work)


def run_for(body: Callable[[], object], seconds: float) -> bool:
    """Run `body` in a process of its own and kill it after so long; True if it ended before."""
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        code = 3
        try:
            body()
            code = 0
        except BaseException as error:  # noqa: BLE001 - the process ends here, and says why
            print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
        os._exit(code)
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            assert status == 0, f"it ended by itself with status {status}"
            return True
        time.sleep(0.001)
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    assert status == 0 or os.WIFSIGNALED(status), f"it ended by itself with status {status}"
    return status == 0
