"""Every problem of the directory is reported in one line, and nothing is lost."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from edgemem.errors import MemoryDirError
from edgemem.records import US
from edgemem.remember.store import Store
from edgemem.remember.view import View


def complaint(action):
    with pytest.raises(MemoryDirError) as caught:
        action()
    assert "\n" not in str(caught.value)
    return str(caught.value)


def fill(store, making, count=3):
    with store.transaction() as tx:
        for i in range(count):
            tx.add_moment(making.moment(i * US, jpeg=bytes([i]) * 50_000))


def test_missing(tmp_path):
    assert "edgemem ingest" in complaint(lambda: View.open(tmp_path / "nowhere"))
    assert "edgemem ingest" in complaint(lambda: Store.open(tmp_path / "nowhere", create=False))
    assert not (tmp_path / "nowhere").exists()


def test_a_directory_with_other_things_in_it_is_left_alone(tmp_path):
    (tmp_path / "thesis.txt").write_text("years of work")
    assert "not a memory" in complaint(lambda: Store.open(tmp_path))
    assert "not a memory" in complaint(lambda: View.open(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_a_file_is_not_a_memory(tmp_path):
    path = tmp_path / "movie.mp4"
    path.write_bytes(b"mp4")
    assert "not a memory" in complaint(lambda: Store.open(path))
    assert "not a memory" in complaint(lambda: View.open(path))


def test_the_database_of_another_program(directory):
    directory.mkdir()
    connection = sqlite3.connect(directory / "memory.db")
    connection.execute("CREATE TABLE accounts (name)")
    connection.close()
    before = (directory / "memory.db").read_bytes()
    assert "another program" in complaint(lambda: Store.open(directory))
    assert "another program" in complaint(lambda: View.open(directory))
    assert (directory / "memory.db").read_bytes() == before


def test_what_is_no_database_at_all(directory):
    directory.mkdir()
    (directory / "memory.db").write_bytes(b"no database" * 1000)
    assert "damaged" in complaint(lambda: Store.open(directory))
    assert "damaged" in complaint(lambda: View.open(directory))


def test_written_by_a_newer_version(store):
    directory = store.directory
    store.close()
    connection = sqlite3.connect(directory / "memory.db")
    connection.execute("PRAGMA user_version=99")
    connection.close()
    for opener in (Store, View):
        assert "newer edgemem (schema 99" in complaint(lambda opener=opener: opener.open(directory))


def test_a_second_writer_is_told_who_writes(store, making):
    code = f"from pathlib import Path; from edgemem.remember.store import Store; Store.open(Path({str(store.directory)!r}))"
    second = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert f"written by process {os.getpid()}" in second.stderr.splitlines()[-1]
    assert f"written by process {os.getpid()}" in complaint(lambda: Store.open(store.directory))
    fill(store, making)
    with View.open(store.directory) as view:
        assert len(view.moments()) == 3


def test_of_many_writers_that_start_at_once_one_wins(directory):
    def attempt(_):
        try:
            return Store.open(directory)
        except MemoryDirError:
            return None

    with ThreadPoolExecutor(8) as pool:
        opened = [store for store in pool.map(attempt, range(8)) if store]
    assert len(opened) == 1
    opened[0].close()


@pytest.fixture
def read_only(directory, making):
    """A closed memory in a directory that cannot be written."""
    with Store.open(directory) as store:
        store.ensure_space(making.space)
        fill(store, making)
    paths = [directory, *directory.rglob("*")]
    for path in paths:
        path.chmod(path.stat().st_mode & ~(stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH))
    yield directory
    for path in paths:
        path.chmod(path.stat().st_mode | stat.S_IWUSR)


def as_user(code, directory):
    """Run in a process that permissions bind: as root, give up root first."""
    drop = "import os\nif os.getuid() == 0:\n    os.setgid(65534); os.setuid(65534)\n"
    imports = "import sys\nfrom pathlib import Path\nfrom edgemem.remember.store import Store\nfrom edgemem.remember.view import View\n"
    return subprocess.run(
        [sys.executable, "-c", f"{imports}directory = Path({str(directory)!r})\n{drop}{code}"],
        capture_output=True,
        text=True,
        check=False,
    )


def open_the_way(directory):
    for parent in directory.parents:
        if str(parent).startswith("/tmp/pytest"):
            parent.chmod(0o755)


def test_a_read_only_directory_can_be_read_and_says_so_when_written(read_only):
    open_the_way(read_only)
    before = sorted(path.name for path in read_only.iterdir())
    asked = as_user("view = View.open(directory)\nprint(len(view.moments()), len(view.picture(1)))\nview.close()", read_only)
    assert asked.stdout.split() == ["3", "50000"], asked.stderr
    assert sorted(path.name for path in read_only.iterdir()) == before
    written = as_user("Store.open(directory)", read_only)
    last = written.stderr.splitlines()[-1]
    assert "MemoryDirError" in last
    assert "permissions" in last


def test_a_database_that_refuses_writes_says_so(store, making):
    store._connection.execute("PRAGMA query_only=ON")
    assert "read-only" in complaint(lambda: fill(store, making))


def test_a_full_disk_loses_nothing_that_was_acknowledged(store, making):
    fill(store, making)
    pages = store._connection.execute("PRAGMA page_count").fetchone()[0]
    store._connection.execute(f"PRAGMA max_page_count={pages + 5}")
    assert "disk is full" in complaint(lambda: fill(store, making, count=9))
    with store.view() as view:
        assert len(view.moments()) == 3
        assert view.vector_search(making.space.name, making.unit(0), 9)[0][0] == 1
    store._connection.execute("PRAGMA max_page_count=1000000")
    fill(store, making)


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("mount"), reason="needs root to mount a small file system")
def test_a_file_system_that_runs_full_or_turns_read_only(tmp_path, making):
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", disk], check=False, capture_output=True)
    if mounted.returncode:
        pytest.skip("mounting is not allowed here")
    try:
        with Store.open(disk / "memory") as store:
            store.ensure_space(making.space)
            fill(store, making)
            assert "disk is full" in complaint(lambda: [fill(store, making, count=count) for count in range(4, 200)])
            with store.view() as view:
                kept = len(view.moments())
                assert kept >= 3
                assert len(view.vector_search(making.space.name, making.unit(0), 1000)) == kept
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        assert "read-only" in complaint(lambda: Store.open(disk / "memory"))
        with View.open(disk / "memory") as view:
            assert len(view.moments()) == kept
    finally:
        subprocess.run(["umount", "-l", disk], check=False)
