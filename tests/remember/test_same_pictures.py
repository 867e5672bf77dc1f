"""Equal pictures are stored once and counted once, whatever happens to their moments."""

from __future__ import annotations

import shutil
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
import simplejpeg
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from edgemem.errors import BudgetError
from edgemem.records import US
from edgemem.remember.check import check_memory
from edgemem.remember.rows import ledger
from edgemem.remember.store import Store
from edgemem.remember.tiers import AgeTiers

SMALL_CAP = 8 << 20
"""Below the minimum of the command line (conftest.py), so that it is soon full."""


def picture(seed, side):
    """Noise in blocks of four by four: 100 KB at 800 pixels."""
    noise = np.random.default_rng(seed).integers(0, 256, (side * 3 // 16, side // 4, 3), np.uint8)
    return simplejpeg.encode_jpeg(noise.repeat(4, 0).repeat(4, 1), 80, "BGR")


PICTURES = [picture(seed, side) for seed, side in enumerate((560, 520, 480, 400, 320, 240, 160, 80))]
"""None is larger than a quarter of a transaction under the small cap."""


def used(directory):
    return sum(path.stat().st_size for path in Path(directory).rglob("*") if path.is_file())


@contextmanager
def memory(making, cap):
    """A memory under a cap, in RAM if possible."""
    fast = "/dev/shm" if Path("/dev/shm").is_dir() else None
    with TemporaryDirectory(dir=fast) as name, Store.open(Path(name) / "memory", budget_bytes=cap) as store:
        store.ensure_space(making.space)
        yield store


def counted(store):
    """The sums kept with every change are those that counting all pictures gives."""
    assert +store.ledger == +type(store.ledger)(ledger.count(store._connection))


OPERATIONS = st.one_of(
    st.tuples(st.just("add"), st.integers(0, 7), st.integers(1, 40)),
    st.tuples(st.just("pin"), st.integers(0, 200), st.booleans()),
    st.tuples(st.sampled_from(["drop", "stub", "fail"]), st.integers(0, 200), st.just(0)),
    st.tuples(st.just("recode"), st.integers(0, 200), st.integers(0, 7)),
    st.tuples(st.sampled_from(["age", "reopen", "crash"]), st.just(0), st.just(0)),
)


def operate(store, making, number, what, which, how):
    """One operation on a moment that exists or not; the number of the next moment."""
    with suppress(BudgetError), store.transaction() as tx:
        if what == "pin":
            tx.pin(which, pinned=how)
        elif what in ("drop", "fail"):
            tx.drop_moment(which)
        elif what == "stub":
            tx.stub_moment(which)
        elif what == "recode":
            tx.recode_moment(which, PICTURES[how], "long", width_px=1, height_px=1, generation=2)
        if what == "fail":
            raise BudgetError("nothing of this is kept")
    for _ in range(how if what == "add" else 0):
        with store.transaction() as tx:
            tx.add_moment(making.moment(number * 100 * US, jpeg=PICTURES[which]))
        number += 1
    return number


@given(operations=st.lists(OPERATIONS, min_size=3, max_size=40))
@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
def test_whatever_happens_each_picture_counts_once(making, operations):
    with memory(making, SMALL_CAP) as first:
        store, number, directory = first, 0, first.directory
        for i, (what, which, how) in enumerate(operations):
            if what == "age":
                while not AgeTiers().apply(store).done:
                    assert used(directory) <= SMALL_CAP
            elif what == "reopen":
                store.close()
                store = Store.open(directory, budget_bytes=SMALL_CAP)
            elif what == "crash":  # the files as a kill would leave them
                after = first.directory.with_name(f"after {i}")
                shutil.copytree(directory, after)
                store.close()
                directory, store = after, Store.open(after, budget_bytes=SMALL_CAP)
            else:
                number = operate(store, making, number, what, which, how)
            counted(store)
            assert used(directory) <= SMALL_CAP
        store.close()
        assert check_memory(directory) == []


@pytest.mark.parametrize("kinds", [1, 7, 1000])
def test_a_stream_of_equal_pictures_is_never_told_that_the_disk_is_full(making, kinds):
    """Each picture is shown again and again: shrinking it for one moment frees nothing while the next one has it."""
    distinct = [picture(seed, 480) for seed in range(min(kinds, 200))]
    with memory(making, SMALL_CAP) as store:
        for number in range(600):
            with store.transaction() as tx:
                moment_id = tx.add_moment(making.moment(number * US, jpeg=distinct[number * 7919 % len(distinct)]))
                if number % 40 == 0:
                    tx.add_segment(making.segment([moment_id], number * US, number * US, representative_id=moment_id))
            assert used(store.directory) <= SMALL_CAP
        counted(store)
        with store.view() as view:
            moments = view.moments()
            assert all(view.picture(moment.id) for moment in (moments[0], moments[-1]))
            assert kinds > 7 or len(moments) == 600  # what is stored a few times need not fade at all


def test_a_picture_shrinks_for_all_that_show_it_once_the_last_of_them_fades(making):
    shared = picture(1, 800)
    with memory(making, SMALL_CAP) as store:
        for number in range(140):
            jpeg = shared if number < 100 else picture(number, 800)
            with store.transaction() as tx:
                tx.add_moment(making.moment(number * US, jpeg=jpeg))
        with store.view() as view:
            shown = [view.picture(m.id) for m in view.moments(to_us=99 * US) if m.tier != "stub"]
        assert len(set(shown)) == 1
        assert len(shown[0]) < len(shared)
        counted(store)


def test_sums_of_an_older_memory_are_counted_anew(making, tmp_path: Path) -> None:
    with Store.open(tmp_path / "memory") as store:
        store.ensure_space(making.space)
        for number in range(4):
            with store.transaction() as tx:
                tx.add_moment(making.moment(number * US, jpeg=b"x" * 1000))
        store._connection.execute("DELETE FROM state WHERE key LIKE 'ledger%'")
    with Store.open(tmp_path / "memory") as store:
        assert store.ledger["recent"] == 1000
