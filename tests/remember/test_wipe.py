"""The unused parts of pages are empty, and the used ones unchanged."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing

import pytest

from edgemem.records import US
from edgemem.remember.check import check_memory
from edgemem.remember.forget import Wanted, forget
from edgemem.remember.forgetting.wipe import wipe_pages
from edgemem.remember.store import Store


def test_words_that_moved_between_pages_before_they_were_deleted_are_gone(tmp_path):
    path, chance = tmp_path / "words.db", random.Random(1)
    words = ["".join(chance.choices("abcdefghijklmnop", k=chance.randint(15, 40))) for _ in range(8_000)]
    deleted = set(chance.sample(range(8_000), 4_000))
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.executescript("PRAGMA auto_vacuum=INCREMENTAL; PRAGMA journal_mode=WAL; PRAGMA secure_delete=ON")
        connection.execute("CREATE TABLE term (id INTEGER PRIMARY KEY, name TEXT UNIQUE)")
        connection.execute("CREATE TABLE posting (name TEXT, id INTEGER, PRIMARY KEY (name, id)) WITHOUT ROWID")
        for start in range(0, 8_000, 500):
            connection.execute("BEGIN")
            for i in range(start, start + 500):
                connection.execute("INSERT INTO term VALUES (?, ?)", (i, words[i]))
                connection.execute("INSERT INTO posting VALUES (?, ?)", (words[i], i))
            connection.execute("COMMIT")
        connection.execute("BEGIN")
        for i in deleted:
            connection.execute("DELETE FROM term WHERE id = ?", (i,))
            connection.execute("DELETE FROM posting WHERE name = ?", (words[i],))
        connection.execute("COMMIT")
        connection.executescript("PRAGMA incremental_vacuum")
    changed = wipe_pages(path)
    data = path.read_bytes()
    assert changed > 0
    assert wipe_pages(path) == 0
    assert [words[i] for i in deleted if words[i].encode() in data] == []
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert dict(connection.execute("SELECT id, name FROM term")) == {i: words[i] for i in range(8_000) if i not in deleted}
        assert connection.execute("SELECT count(*) FROM posting").fetchone() == (4_000,)


def test_the_next_writer_ends_a_wipe_that_was_interrupted(directory, making, monkeypatch):
    with Store.open(directory) as store:
        store.ensure_space(making.space)
        for i in range(5):
            with store.transaction() as tx:
                tx.add_moment(making.moment(i * US))
    with monkeypatch.context() as patched:
        patched.setattr("edgemem.remember.forgetting.finish.wipe", interrupted)
        with pytest.raises(KeyboardInterrupt):
            forget(directory, Wanted(from_us=0, to_us=US))
    assert any("not wiped" in line for line in check_memory(directory))
    Store.open(directory).close()
    assert check_memory(directory) == []


def interrupted(_):
    raise KeyboardInterrupt
