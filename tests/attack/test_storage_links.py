"""Nothing is read, written or removed through a link, and nothing is removed that edgemem did not make."""

from __future__ import annotations

import os
from contextlib import closing, nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
import simplejpeg
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from edgemem.errors import BudgetError, EdgememError, MemoryDirError, UsageError
from edgemem.infer.roles import Space
from edgemem.records import US
from edgemem.remember.administration import backup, compact
from edgemem.remember.check import check_memory
from edgemem.remember.disk import contents, keys, rewrite
from edgemem.remember.disk.directory import disk_bytes, set_paused
from edgemem.remember.disk.keys import Key
from edgemem.remember.disk.page_budget import MINIMUM_BYTES
from edgemem.remember.export import export
from edgemem.remember.forget import Wanted, forget
from edgemem.remember.imports import import_into
from edgemem.remember.restore import restore
from edgemem.remember.store import NewMoment, Store
from edgemem.remember.view import View
from edgemem.serve.messages import SOCKET

KEY = Key("5" * 64, "a test")
NAMES = (
    "memory.db", "memory.db-wal", "memory.db-shm", "memory.db-journal", "memory.db-part", "memory.db-part-journal", "lock", "pause",
    "vectors", "vectors/space.i8", "vectors/space.rows", "vectors/space.b1", "vectors/space.rows.new", "vectors/other.i8", "README",
)  # fmt: skip
JPEG = simplejpeg.encode_jpeg(np.zeros((16, 16, 3), np.uint8), 90, "BGR")
KINDS = ("to a file", "to nothing", "to a directory", "hard")


def fill(memory):
    with Store.open(memory) as store:
        store.ensure_space(Space(name="space", dim=8))
        with store.transaction() as tx:
            for number in range(6):
                tx.add_moment(
                    NewMoment(
                        stream="cam", seq=number, t_us=number * US, offset_us=number * US, width_px=1, height_px=1, sharpness=1.0,
                        jpeg=JPEG + bytes([number]), vectors={"space": np.eye(8, dtype=np.float32)[number]},
                    )
                )  # fmt: skip


def write(memory):
    with Store.open(memory) as store, store.transaction() as tx:
        tx.add_moment(
            NewMoment(
                stream="cam", seq=99, t_us=99 * US, offset_us=0, width_px=1, height_px=1, sharpness=1.0, jpeg=b"new",
                vectors={"space": np.eye(8, dtype=np.float32)[0]},
            )
        )  # fmt: skip


def ask(memory):
    with View.open(memory) as view:
        view.vector_search("space", np.eye(8, dtype=np.float32)[0], 5)


COMMANDS = {
    "write": write,
    "ask": ask,
    "forget": lambda memory: forget(memory, Wanted(from_us=0, to_us=2 * US)),
    "compact": compact,
    "check": check_memory,
    "encrypt": lambda memory: rewrite.change_key(memory, None, KEY),
    "backup": lambda memory: backup(memory, memory.parent / "copy.db"),
    "export": lambda memory: export(memory, memory.parent / "plain"),
    "import": lambda memory: import_into(memory, memory.parent / "exported"),
    "restore": lambda memory: restore(memory.parent / "backup.db", memory),
    "pause": lambda memory: set_paused(memory, paused=True),
    "resume": lambda memory: set_paused(memory, paused=False),
    "demo again": contents.remove_memory,
}


def snapshot(folder):
    return {
        str(path.relative_to(folder)): (path.read_bytes() if path.is_file() else b"", path.lstat().st_mode, path.lstat().st_nlink)
        for path in [folder, *folder.rglob("*")]
    }


def link(memory, outside, name, kind):
    """Put a link in the place of something in the memory."""
    path = memory / name
    path.parent.mkdir(exist_ok=True)
    data = path.read_bytes() if path.is_file() else b""
    if path.is_dir():
        (memory / name).rename(outside / "taken")
    else:
        path.unlink(missing_ok=True)
    target = outside / ("taken" if (outside / "taken").exists() else "target")
    if kind == "hard":
        (outside / "target").write_bytes(data or b"precious")
        path.hardlink_to(outside / "target")
        return
    if kind == "to a file":
        target = outside / "target"
        target.write_bytes(data or b"precious")
    elif kind == "to a directory":
        target.mkdir(exist_ok=True)
        (target / "space.i8").write_bytes(b"somebody's")
        (target / "thesis.txt").write_bytes(b"years of work")
    path.symlink_to(target)


@settings(max_examples=60, suppress_health_check=list(HealthCheck))
@given(name=st.sampled_from(NAMES), kind=st.sampled_from(KINDS), command=st.sampled_from(sorted(COMMANDS)))
def test_a_memory_with_a_link_is_refused_and_what_it_points_to_is_untouched(name, kind, command):
    if name == "README" and kind == "hard":
        return  # a foreign file may have as many names as it likes
    with TemporaryDirectory() as root:
        memory, outside = Path(root) / "memory", Path(root) / "outside"
        outside.mkdir()
        fill(memory)
        export(memory, Path(root) / "exported")
        backup(memory, Path(root) / "backup.db")
        link(memory, outside, name, kind)
        before = snapshot(outside)
        with pytest.raises(EdgememError) as refused:
            COMMANDS[command](memory)
        assert "\n" not in str(refused.value)
        assert snapshot(outside) == before
        assert not (Path(root) / "copy.db").exists()
        assert not (Path(root) / "plain").exists()
        assert os.path.lexists(memory / name)


@pytest.mark.parametrize("kind", ["fifo", "directory"])
@pytest.mark.parametrize("name", ["lock", "memory.db-wal", "vectors", "pause", "vectors/space.i8"])
def test_what_is_no_file_in_the_place_of_one_is_refused_and_not_waited_for(tmp_path, name, kind):
    memory = tmp_path / "memory"
    fill(memory)
    if (memory / name).is_dir():
        (memory / name).rename(tmp_path / "elsewhere")
    (memory / name).unlink(missing_ok=True)
    if name == "vectors" and kind == "directory":
        return
    os.mkfifo(memory / name) if kind == "fifo" else (memory / name).mkdir()
    with pytest.raises(MemoryDirError, match="did not make"):
        Store.open(memory)
    with pytest.raises(MemoryDirError, match="did not make"):
        View.open(memory)


def test_the_memory_itself_may_be_named_by_a_link(tmp_path):
    fill(tmp_path / "memory")
    (tmp_path / "named").symlink_to(tmp_path / "memory")
    write(tmp_path / "named")
    ask(tmp_path / "named")
    assert check_memory(tmp_path / "named") == []


FOREIGN = {"thesis.txt": b"years of work", "vectors/notes.txt": b"x" * 500, "album/cat.jpg": b"y" * 70_000, "memory.db.bak": b"old",
           "vectors/deep/er/one": b"z"}  # fmt: skip


def litter(memory):
    for name, data in FOREIGN.items():
        (memory / name).parent.mkdir(parents=True, exist_ok=True)
        (memory / name).write_bytes(data)


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_what_is_foreign_stays_whatever_is_done(tmp_path, command):
    memory = tmp_path / "memory"
    fill(memory)
    export(memory, tmp_path / "exported")
    backup(memory, tmp_path / "backup.db")
    litter(memory)
    with nullcontext() if command not in {"restore", "demo again"} else pytest.raises(UsageError):
        COMMANDS[command](memory)
    with keys.using(KEY if command == "encrypt" else None):
        Store.open(memory).close()
    for name, data in FOREIGN.items():
        assert (memory / name).read_bytes() == data


def test_what_is_foreign_counts_and_is_said(tmp_path, caplog):
    memory = tmp_path / "memory"
    fill(memory)
    with View.open(memory) as view:
        before = view.stats()
    litter(memory)
    with View.open(memory) as view:
        stats = view.stats()
    weight = sum(map(len, FOREIGN.values()))
    assert (before.foreign_files, before.foreign_bytes) == (0, 0)
    assert (stats.foreign_files, stats.foreign_bytes) == (5, weight)
    assert disk_bytes(memory) == stats.disk_bytes == before.disk_bytes + weight
    problems = check_memory(memory)
    assert len(problems) == 5
    assert all("not edgemem's" in line for line in problems)
    contents._said.clear()
    for _ in range(2):
        Store.open(memory, budget_bytes=MINIMUM_BYTES).close()
    assert [record.getMessage() for record in caplog.records if "not edgemem's" in record.getMessage()] == [
        f"memory {memory}: album, memory.db.bak, thesis.txt ... is not edgemem's and counts in budget.disk: move it away"
    ]


def test_the_cap_holds_with_what_is_foreign(tmp_path):
    memory, cap = tmp_path / "memory", MINIMUM_BYTES + (8 << 20)
    with Store.open(memory, budget_bytes=cap) as store:
        most = store._granted_pages
    (memory / "film.mp4").write_bytes(bytes(6 << 20))
    with Store.open(memory, budget_bytes=cap) as store:
        assert most - store._granted_pages == (6 << 20) // 4096
    (memory / "film.mp4").write_bytes(bytes(26 << 20))
    with pytest.raises(BudgetError, match=r"film\.mp4 is not edgemem's"):
        Store.open(memory, budget_bytes=cap)


def test_a_backup_touches_no_file_of_somebody_else(tmp_path):
    fill(tmp_path / "memory")
    (tmp_path / "copy.db.part").write_bytes(b"a download")
    with pytest.raises(UsageError, match="interrupted"):
        backup(tmp_path / "memory", tmp_path / "copy.db")
    assert (tmp_path / "copy.db.part").read_bytes() == b"a download"
    (tmp_path / "other.db").symlink_to(tmp_path / "nowhere")
    with pytest.raises(UsageError, match="exists"):
        backup(tmp_path / "memory", tmp_path / "other.db")


def test_the_names_of_a_memory_are_those_that_its_parts_use(tmp_path):
    """The list of what edgemem makes is the only one: whatever it makes besides would count as foreign."""
    assert contents.SOCKET == SOCKET
    memory = tmp_path / "memory"
    fill(memory)
    set_paused(memory, paused=True)
    with Store.open(memory) as store, closing(View.open(memory)):
        store.ensure_stream("other", 0)
        assert contents.survey(memory).foreign == ()
        assert {path.name for path in memory.iterdir()} == {"memory.db", "memory.db-wal", "memory.db-shm", "lock", "pause", "vectors"}
