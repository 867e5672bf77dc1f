"""Forgetting, its wipe and compaction stay below the cap too, and the next process finishes what a crash interrupted."""

from __future__ import annotations

import os
import shutil
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from edgemem.records import US
from edgemem.remember.administration import compact
from edgemem.remember.check import check_memory
from edgemem.remember.forget import Wanted, finish_forgetting, forget
from edgemem.remember.store import Store
from edgemem.remember.view import View

CAP = 8 << 20
"""Below the minimum of the command line (conftest.py), so that it is soon full."""


def used(directory):
    total = 0
    for folder, _, names in os.walk(directory):  # it passes over a folder that goes while it looks
        for name in names:
            try:
                total += Path(folder, name).stat().st_size
            except FileNotFoundError:  # a copy that was just put in its place
                continue
    return total


class Watched:
    """The largest size of the directory: after every commit, and in between as often as a thread can check."""

    def __init__(self, directory, monkeypatch):
        self.directory, self.most, self._over = directory, 0, threading.Event()
        follow = Store._follow

        def followed(store, tx):
            self.look()
            follow(store, tx)
            self.look()

        monkeypatch.setattr(Store, "_follow", followed)
        self._thread = threading.Thread(target=self._watch)

    def look(self):
        self.most = max(self.most, used(self.directory))

    def _watch(self):
        while not self._over.is_set():
            self.look()
            time.sleep(0.001)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        self._thread.join()


def word(i):
    return "w" + "".join(chr(97 + (i * 7919 + 104729) // 26**k % 26) for k in range(7))


@pytest.fixture(scope="module")
def original(tmp_path_factory, making):
    """A memory at its cap: pictures that cannot be made smaller, and as many words."""
    directory = tmp_path_factory.mktemp("full") / "memory"
    with Store.open(directory, budget_bytes=CAP) as store:
        store.ensure_space(making.space)
        for number in range(900):
            with store.transaction() as tx:
                jpeg = np.random.default_rng(number).bytes(9000)
                seen = tuple(making.label(name, 0.5) for name in ("cat", f"only {word(number)}"))
                moment_id = tx.add_moment(making.moment(number * US, jpeg=jpeg, seen=seen))
                text = " ".join(word(1000 + number * 40 + i) for i in range(40))
                tx.add_document(making.document(text, number * US, number * US, number * US, kind="text", moment_id=moment_id))
    return directory


@pytest.fixture
def full(original, directory):
    shutil.copytree(original, directory)
    return directory


def test_forgetting_most_of_a_full_memory_stays_below_its_cap(full, monkeypatch):
    with View.open(full) as view:
        before = view.moments(from_us=100 * US, to_us=850 * US)
    with Watched(full, monkeypatch) as watched:
        receipt = forget(full, Wanted(from_us=100 * US, to_us=850 * US))
    assert 100 < receipt.moments <= len(before)  # a few may have faded to make room for the receipt
    assert watched.most <= CAP
    assert used(full) < CAP // 2
    assert check_memory(full) == []
    data = b"\0\0".join(path.read_bytes() for path in sorted(full.rglob("*")) if path.is_file())
    assert [n for n in range(100, 851) if word(1000 + n * 40 + n % 40).encode() in data] == []
    assert [m.id for m in before if np.random.default_rng(m.seq).bytes(9000)[64:128] in data] == []
    with View.open(full) as view:
        assert view.search_text(word(1000 + 880 * 40), 5)
        assert not view.search_text(word(1000 + 700 * 40), 5)


@pytest.mark.parametrize("pieces", [1, 3, 9])
@pytest.mark.parametrize("writer", [False, True])
def test_interrupted_it_is_ended_by_whoever_comes_next(full, monkeypatch, pieces, writer):
    commits = iter(range(1000))

    def stop(self, tx, follow=Store._follow):
        follow(self, tx)
        if tx.connection.execute("SELECT 1 FROM meta WHERE key = 'erase_due'").fetchone() and next(commits) >= pieces:
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Store, "_follow", stop)
        with pytest.raises(KeyboardInterrupt):
            forget(full, Wanted(from_us=100 * US, to_us=850 * US))
    assert any("compact" in line for line in check_memory(full))
    with Watched(full, monkeypatch) as watched:
        if writer:
            Store.open(full, budget_bytes=CAP).close()
        assert finish_forgetting(full) is not writer
    assert watched.most <= CAP
    assert check_memory(full) == []
    with View.open(full) as view:
        assert view.moments(from_us=100 * US, to_us=850 * US) == []
        assert not view.search_text(word(1000 + 700 * 40), 5)


def test_compacting_stays_below_the_cap(full, monkeypatch):
    with Watched(full, monkeypatch) as watched:
        compact(full)
    assert watched.most <= CAP
    assert check_memory(full) == []


def test_a_memory_that_outgrew_an_old_cap_does_not_fade_when_something_is_forgotten(full, making):
    with Store.open(full) as store:
        for number in range(1000, 1400):
            with store.transaction() as tx:
                tx.add_moment(making.moment(number * US, jpeg=np.random.default_rng(number).bytes(30_000)))
    assert used(full) > CAP
    with View.open(full) as view:
        before = len(view.moments())
    receipt = forget(full, Wanted(from_us=1000 * US, to_us=1001 * US))
    with View.open(full) as view:
        assert len(view.moments()) == before - receipt.moments == before - 2
