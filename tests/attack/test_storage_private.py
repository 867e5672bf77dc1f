"""A memory, and all that is made of it, is its owner's alone: whatever the umask, and also what an earlier version left open."""

from __future__ import annotations

import ast
import fcntl
import logging
import os
import stat
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest

from edgemem.errors import MemoryDirError
from edgemem.infer.roles import Space
from edgemem.records import US
from edgemem.remember.administration import backup, compact
from edgemem.remember.check import check_memory
from edgemem.remember.disk import contents
from edgemem.remember.disk.directory import WriterLock, set_paused
from edgemem.remember.export import export
from edgemem.remember.imports import import_into
from edgemem.remember.restore import restore
from edgemem.remember.store import NewDocument, NewMoment, Store
from edgemem.remember.view import View

ROOT = Path(__file__).parents[2]
NOBODY = 65534
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as another user")

MAKES_FILES = {
    "edgemem/files.py": "the place for it",
    "edgemem/remember/disk/database.py": "SQLite, on a file that `files` made",
    "edgemem/remember/forgetting/wipe.py": "opens memory.db read-only to list its pages, and changes bytes of it in place",
    "edgemem/remember/vectors/sidecar.py": "appends to files that `files` made, without a link",
    "edgemem/remember/disk/keys.py": "a key file, with mode 0600",
    "edgemem/device/cameras.py": "opens a camera to ask what it can do",
    "edgemem/device/findings.py": "SQLite in RAM",
    "edgemem/cli/film.py": "FFmpeg writes into a file that `files` made",
    "edgemem/infer/fetch.py": "weights: public, and shared by the users of a machine",
    "edgemem/infer/fetch_kinds.py": "weights",
    "plugins/convert/edgemem_convert/repair.py": "weights",
    "plugins/convert/edgemem_convert/graph.py": "weights",
    "plugins/convert/edgemem_convert/bert.py": "weights",
    "plugins/convert/edgemem_convert/join.py": "weights",
    "plugins/convert/edgemem_convert/ctranslate.py": "weights",
    "plugins/openai/edgemem_openai/ledger.py": "SQLite, on a file that it makes with mode 0600",
    "edgemem/remember/restore.py": "copies a backup into a file that `files` made",
    "edgemem/extend/testing/models.py": "what plugins' tests need, in a directory that is gone after",
    "edgemem/remember/export.py": "one directory that must be new, with mode 0700",
}
"""Files that may open something for writing, and why that is private, or public on purpose."""
WRITERS = {"write_text", "write_bytes", "mkdir", "makedirs", "touch", "mkstemp", "mkdtemp", "copyfile", "copy", "copy2", "copytree",
           "copyfileobj", "symlink", "symlink_to", "link", "hardlink_to", "mkfifo", "mknod", "NamedTemporaryFile", "imwrite", "tofile",
           "savez", "savez_compressed", "memmap", "FileHandler", "RotatingFileHandler"}  # fmt: skip
OWN = {"make_directory", "create", "create_text", "overwrite", "change", "write_file"}


def writes(call: ast.Call) -> bool:
    """Whether this call may make or change a file."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else call.func.id if isinstance(call.func, ast.Name) else ""
    of = call.func.value.id if isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name) else ""
    words = [arg.value for arg in (*call.args, *(k.value for k in call.keywords)) if isinstance(arg, ast.Constant)]
    if name == "open" and of == "os":
        return any(flag in ast.dump(call) for flag in ("O_WRONLY", "O_RDWR", "O_CREAT"))
    if name in {"open", "fdopen", "open_container"}:
        return any(isinstance(word, str) and set(word) & set("wax+") and not set(word) - set("rwaxbt+") for word in words)
    known = {
        "connect": of in {"sqlite3", "dbapi2", "apsw"},
        "save": of == "np" and [arg.id for arg in call.args[:1] if isinstance(arg, ast.Name)] != ["packed"],
        "copy": of == "shutil",
    }
    return known.get(name, name in WRITERS) and not (of == "files" and name in OWN)


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("path.open('w')", True), ("path.open()", False), ("open(path, 'rb')", False), ("open(path, mode='a+b')", True),
        ("os.open(path, os.O_RDWR)", True), ("os.open(path, os.O_RDONLY)", False), ("files.write_file(path, b'')", False),
        ("path.write_bytes(b'')", True), ("sqlite3.connect(path)", True), ("shutil.copy(a, b)", True), ("struct.copy()", False),
        ("av.open(str(out), 'w')", True), ("np.save(part, x)", True),
    ],
)  # fmt: skip
def test_calls_that_write_are_recognised(code, found):
    assert writes(ast.parse(code).body[0].value) is found


def test_files_are_made_in_one_place():
    """Every other way of opening something for writing is named above, with its reason."""
    found = set()
    for path in sorted([*(ROOT / "edgemem").rglob("*.py"), *(ROOT / "plugins").glob("*/edgemem_*/**/*.py")]):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        if any(isinstance(node, ast.Call) and writes(node) for node in ast.walk(tree)):
            found.add(path.relative_to(ROOT).as_posix())
    assert found == set(MAKES_FILES)


def fill(directory, budget_bytes=None):
    """A small memory with everything that makes files: pictures, vectors, text."""
    with Store.open(directory, budget_bytes=budget_bytes) as store:
        store.ensure_space(Space(name="looks like/α", dim=8))
        with store.transaction() as tx:
            for number in range(6):
                moment_id = tx.add_moment(
                    NewMoment(
                        stream="cam", seq=number, t_us=number * US, offset_us=number * US, width_px=4, height_px=4, sharpness=1.0,
                        jpeg=jpeg(number), vectors={"looks like/α": np.eye(8, dtype=np.float32)[number]},
                    )
                )  # fmt: skip
                tx.add_document(
                    NewDocument(
                        kind="event", text=f"number{number}", stream="cam", t0_us=number, t1_us=number, offset_us=0, known_us=0,
                        origin="system", moment_id=moment_id,
                    )
                )  # fmt: skip


def jpeg(number):
    import simplejpeg

    return simplejpeg.encode_jpeg(np.full((16, 16, 3), number * 30, np.uint8), 90, "BGR")


def opened(*roots):
    """What below these others may read, write or enter."""
    paths = [path for root in roots for path in (root, *(root.rglob("*") if root.is_dir() else ()))]
    return [str(path) for path in paths if stat.S_IMODE(path.lstat().st_mode) & 0o077 and not path.is_socket()]


@pytest.mark.parametrize("umask", [0o000, 0o002, 0o022, 0o027, 0o077])
def test_whatever_the_umask(tmp_path, umask):
    before = os.umask(umask)
    try:
        memory, plain, copy, second, third = (tmp_path / "new" / name for name in ("memory", "plain", "copy.db", "second", "third"))
        fill(memory)
        export(memory, plain)
        backup(memory, copy)
        import_into(second, plain)
        restore(copy, third)
        set_paused(memory, paused=True)
        set_paused(memory, paused=False)
        compact(memory)
        with Store.open(memory) as store:  # while the log and its shared memory are there
            store.ensure_stream("other", 0)
            set_paused(memory, paused=True)
            assert opened(tmp_path / "new") == []
    finally:
        os.umask(before)
    assert opened(tmp_path / "new") == []
    assert check_memory(third) == []


@pytest.mark.parametrize("command", ["show", "sheet"])
def test_proof_pictures_are_private(tmp_path, command):
    fill(tmp_path / "memory")
    out = tmp_path / "proof.jpg"
    if command == "sheet":
        from edgemem.cli.sheet import draw_sheet

        draw_sheet(tmp_path / "memory", (), out)
    else:
        from edgemem.cli.main import main

        with pytest.raises(SystemExit) as ended:
            main(["show", "m1", "--memory", str(tmp_path / "memory"), "--out", str(out)])
        assert ended.value.code == 0
    assert stat.S_IMODE(out.stat().st_mode) == 0o600


@pytest.mark.parametrize("target", ["link", "fifo"])
def test_a_proof_picture_goes_into_nothing_but_a_file(tmp_path, target):
    from edgemem.cli.main import main

    fill(tmp_path / "memory")
    out, precious = tmp_path / "proof.jpg", tmp_path / "precious"
    precious.write_bytes(b"years of work")
    out.symlink_to(precious) if target == "link" else os.mkfifo(out)
    with pytest.raises(SystemExit) as ended:
        main(["show", "m1", "--memory", str(tmp_path / "memory"), "--out", str(out)])
    assert ended.value.code == 2
    assert precious.read_bytes() == b"years of work"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["memory", "precious", "proof.jpg"]


def open_up(memory):
    """As earlier versions left it under a common umask."""
    memory.chmod(0o755)
    for path in memory.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)


@pytest.mark.parametrize("opener", ["reader", "writer"])
def test_what_an_earlier_version_left_open_is_closed_and_said_once(tmp_path, caplog, opener):
    memory = tmp_path / "memory"
    fill(memory)
    open_up(memory)
    (memory / "vectors" / "notes.txt").write_text("not ours: its mode stays")
    (memory / "vectors" / "notes.txt").chmod(0o644)
    contents._said.clear()
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            (View.open(memory) if opener == "reader" else Store.open(memory)).close()
    assert opened(memory) == [str(memory / "vectors" / "notes.txt")]
    said = "other users could read it: from now on only its owner can"
    assert [record.getMessage() for record in caplog.records] == [f"memory {memory}: {said}"]


BECOME_NOBODY = f"""
import fcntl, os, sys
sys.path[:0] = sys.argv[2:]
import edgemem.remember.store
os.setgroups([])
os.setgid({NOBODY})
os.setuid({NOBODY})
"""
"""What another user may not read, such as this checkout, is imported before."""


def as_nobody(code, path):
    """Run Python code as another user; what it printed."""
    command = [sys.executable, "-c", BECOME_NOBODY + textwrap.dedent(code), str(path), *filter(None, sys.path)]
    run = subprocess.run(command, capture_output=True, text=True, check=False, cwd="/", timeout=60)
    assert run.returncode == 0, run.stderr
    return run.stdout


@pytest.fixture
def reachable():
    """A place that every user may enter. Not below pytest's own: each session takes the rights of its root from all others."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@needs_root
def test_another_user_reads_nothing_and_holds_no_lock(reachable):
    memory = reachable / "memory"
    fill(memory)
    names = "\n".join(str(path) for path in (memory, *memory.rglob("*")))
    said = as_nobody(
        """
        for name in sys.argv[1].splitlines():
            for flags in (os.O_RDONLY, os.O_WRONLY):
                try:
                    os.open(name, flags)
                    print("opened", name, flags)
                except (PermissionError, IsADirectoryError):
                    pass
        print("tried")
        """,
        names,
    )
    assert said == "tried\n"


HOLDER = """
descriptor = os.open(sys.argv[1], os.O_RDONLY)
fcntl.flock(descriptor, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""


def holding(lock, *, stranger):
    code = (BECOME_NOBODY if stranger else "import fcntl, os, sys\n") + HOLDER
    command = [sys.executable, "-c", code, str(lock), *filter(None, sys.path)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd="/")
    assert process.stdout.readline() == "held\n"
    return process


def end(process):
    process.stdin.close()
    process.wait()
    process.stdout.close()


@needs_root
def test_a_lock_that_a_stranger_took_while_it_was_open_keeps_nobody_out(reachable):
    memory = reachable / "memory"
    fill(memory)
    open_up(memory)
    stranger = holding(memory / "lock", stranger=True)
    try:
        began = time.monotonic()
        with Store.open(memory) as store:
            store.ensure_stream("written", 0)
            with pytest.raises(MemoryDirError, match="being written"):
                WriterLock(memory, patience_s=0.0)
        assert time.monotonic() - began < 5
        assert (memory / "lock").stat().st_mode & 0o077 == 0
    finally:
        end(stranger)


def test_a_lock_that_its_owner_holds_is_respected(tmp_path):
    memory = tmp_path / "memory"
    fill(memory)
    owner = holding(memory / "lock", stranger=False)
    try:
        inode = (memory / "lock").stat().st_ino
        with pytest.raises(MemoryDirError, match="being written"):
            Store.open(memory, patience_s=0.1)
        assert (memory / "lock").stat().st_ino == inode
    finally:
        end(owner)
    Store.open(memory).close()


def test_a_lock_file_that_was_replaced_is_noticed(tmp_path):
    """A process that waited for the old file does not write beside the one that holds the new."""
    memory = tmp_path / "memory"
    fill(memory)
    first = WriterLock(memory)
    (memory / "lock").unlink()
    second = WriterLock(memory)
    first.close()
    with pytest.raises(MemoryDirError):
        WriterLock(memory, patience_s=0.0)
    second.close()
    descriptor = os.open(memory / "lock", os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.close(descriptor)


@needs_root
def test_a_directory_of_another_user_does_not_become_a_memory(reachable):
    theirs = reachable / "theirs"
    theirs.mkdir()
    theirs.chmod(0o777)
    said = as_nobody(
        """
        from pathlib import Path
        try:
            edgemem.remember.store.Store.open(Path(sys.argv[1]))
        except edgemem.errors.MemoryDirError as error:
            print(error)
        """,
        theirs,
    )
    assert "another user" in said
    assert list(theirs.iterdir()) == []
