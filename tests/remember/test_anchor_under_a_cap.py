"""Correcting dates takes as many transactions as the budget needs: each keeps the order and the cap, and it may be interrupted after
any."""

from __future__ import annotations

import itertools
import shutil
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from edgemem.records import US, Observation
from edgemem.remember.check import check_memory
from edgemem.remember.disk.page_budget import log_bytes
from edgemem.remember.entries import NewEntity, NewMention, NewPassage, NewRelation, NewSession
from edgemem.remember.forget import Wanted, forget
from edgemem.remember.rows.reading import connect
from edgemem.remember.store import Store
from edgemem.remember.tiers import AgeTiers, AgeTiersSettings, TierRule
from edgemem.remember.view import View
from tests.remember.conftest import Making
from tests.remember.test_forget_under_a_cap import Watched, word

CAP = 8 << 20
"""Below the minimum of the command line (conftest.py), so that it is soon full."""
NOW = 1_790_000_000 * US
HOUR = 3600 * US
MAKING = Making()


def rows(directory):
    """Every table, without the notes about its creation."""
    with closing(connect(directory)) as connection:
        names = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE '%fts%' ORDER BY name").fetchall()
        found = {name: connection.execute(f"SELECT * FROM {name}").fetchall() for (name,) in names if name not in {"meta", "vec_space"}}
    del found["state"]
    return {name: sorted(map(repr, table)) for name, table in found.items()}


def unfinished(tx):
    return tx.connection.execute("SELECT 1 FROM meta WHERE key = 'redate_due'").fetchone() is not None


def after_each_piece(patched, act):
    """Call `act` with the store after each commit that leaves some of a boot at the wrong time."""
    follow = Store._follow

    def followed(store, tx):
        follow(store, tx)
        if unfinished(tx):
            act(store)

    patched.setattr(Store, "_follow", followed)


def stopping(pieces):
    """Interrupts the process after a number of commits."""
    commits = itertools.count(1)

    def stop(_store):
        if next(commits) == pieces:
            raise KeyboardInterrupt

    return stop


def remember_long(directory, *, until, start_us=0):
    """A boot with unknown time: names that occur again and names that do not, words, and very small pictures."""
    with Store.open(directory) as store:
        store.ensure_space(MAKING.space)
        for first in range(0, until, 100):
            with store.transaction() as tx:
                tx.trust_time(trusted=False)
                for number in range(first, min(first + 100, until)):
                    _remember_one(tx, number, start_us)
    Store.open(directory, budget_bytes=CAP).close()


def _remember_one(tx, number, start_us):
    mono_us = (number + 1) * US
    at_us = start_us + mono_us
    names = (f"thing {(number * 7 + i * 31) % 400}" for i in range(24))
    seen = tuple(Observation("label", name, (number * 37 + i * 11) % 97 / 97) for i, name in enumerate(names))
    new = MAKING.moment(at_us, seen=(*seen, MAKING.label(f"only {word(number)}", 0.5)))
    moment_id = tx.add_moment(msgspec.structs.replace(new, seq=number, mono_us=mono_us, boot_id="b"))
    text = " ".join(word(1000 + number * 20 + i) for i in range(20))
    tx.add_document(MAKING.document(text, at_us, at_us, at_us, kind="text", moment_id=moment_id))
    if number % 5 == 4:
        tx.add_segment(MAKING.segment([moment_id], at_us - 4 * US, at_us, moment_id))


@pytest.mark.parametrize(
    ("start_us", "ahead_us", "until"), [(0, NOW, 1700), (NOW, NOW - HOUR, 400)], ids=["from 1970, full", "an hour back"]
)
def test_a_memory_is_dated_anew_below_its_cap(directory, monkeypatch, start_us, ahead_us, until):
    remember_long(directory, until=until, start_us=start_us)
    pieces = []
    with Watched(directory, monkeypatch) as watched, Store.open(directory, budget_bytes=CAP) as store:
        assert not store.time_trusted
        after_each_piece(monkeypatch, lambda _: pieces.append((directory / "memory.db-wal").stat().st_size))
        with store.transaction() as tx:
            told = tx.reanchor("cam", "b", ahead_us)
            tx.trust_time(trusted=True)
        assert store.time_trusted
    assert watched.most <= CAP
    assert max(pieces) <= log_bytes(CAP)
    assert told > until // 2
    assert len(pieces) > 20
    assert check_memory(directory) == []
    with View.open(directory) as view:
        moments = {moment.id: moment for moment in view.moments()}
        assert moments
        assert all(moment.t_us == ahead_us + (moment.seq + 1) * US for moment in moments.values())
        postings = view.postings([f"thing {i}" for i in range(400)])
        assert postings
        assert all(posting.t_us == moments[posting.moment_id].t_us for posting in postings)
        assert all(document.t0_us == moments[document.moment_id].t_us for document in view.documents() if document.moment_id in moments)


@pytest.mark.parametrize("pieces", [1, 2, 7, 20])
def test_interrupted_it_is_ended_by_whoever_comes_next_and_meanwhile_nothing_ages(tmp_path, directory, monkeypatch, pieces):
    remember_long(directory, until=120)
    whole = tmp_path / "whole"
    shutil.copytree(directory, whole)
    with Store.open(whole, budget_bytes=CAP) as store, store.transaction() as tx:
        tx.reanchor("cam", "b", NOW)
    before = rows(directory)
    eager = AgeTiers(AgeTiersSettings(tiers=(TierRule("recent", 1), TierRule("long", None, gap_s=600))))

    with monkeypatch.context() as patched, Store.open(directory, budget_bytes=CAP) as store:
        after_each_piece(patched, stopping(pieces))
        with store.transaction() as tx:
            tx.trust_time(trusted=True)
        with pytest.raises(KeyboardInterrupt), store.transaction() as tx:
            tx.reanchor("cam", "b", NOW)
        assert not store.time_trusted
        assert eager.apply(store).dropped == 0
    assert any("are not corrected yet" in line for line in check_memory(directory))
    assert len(rows(directory)["moment"]) == len(before["moment"])
    assert (rows(directory) == before) == (pieces == 1)
    Store.open(directory, budget_bytes=CAP).close()
    assert rows(directory) == rows(whole)
    assert check_memory(directory) == []
    with Store.open(directory, budget_bytes=CAP) as store, store.transaction() as tx:
        assert tx.reanchor("cam", "b", NOW) == 0
    assert rows(directory) == rows(whole)


def test_forgetting_by_time_means_the_right_time_where_dating_anew_was_interrupted(directory, monkeypatch):
    remember_long(directory, until=60)
    with monkeypatch.context() as patched, Store.open(directory, budget_bytes=CAP) as store:
        after_each_piece(patched, stopping(12))
        with pytest.raises(KeyboardInterrupt), store.transaction() as tx:
            tx.reanchor("cam", "b", NOW)
    assert forget(directory, Wanted(from_us=0, to_us=NOW + 10 * US)).moments == 10
    with View.open(directory) as view:
        assert [moment.seq for moment in view.moments()] == list(range(10, 60))
    assert check_memory(directory) == []


def test_after_an_error_the_next_write_comes_after_what_was_left(directory, monkeypatch):
    remember_long(directory, until=60)
    with Store.open(directory, budget_bytes=CAP) as store:
        with monkeypatch.context() as patched:
            after_each_piece(patched, lambda _: (_ for _ in ()).throw(OSError(28, "No space left on device")))
            with pytest.raises(OSError, match="No space"), store.transaction() as tx:
                tx.reanchor("cam", "b", NOW)
        with store.transaction() as tx:
            assert tx.connection.execute("SELECT min(t_us) FROM moment").fetchone()[0] == NOW + US
            tx.add_moment(MAKING.moment(NOW + HOUR))
        with store.view() as view:
            query = MAKING.unit(1)
            assert len(view.vector_search(MAKING.space.name, query, 100)) == 61
    assert check_memory(directory) == []


STRETCH = st.lists(st.integers(1, 40), min_size=1, max_size=12)
"""Tenths of seconds between moments."""


@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    earlier=st.lists(st.integers(1, 40), max_size=3),
    stretches=st.lists(st.tuples(STRETCH, st.sampled_from([0, 0, 5, 3600])), min_size=1, max_size=3),
    off_us=st.sampled_from([-NOW, -HOUR, -3 * US, 2 * US, HOUR, 10 * 365 * 24 * HOUR]),
    jitter=st.integers(0, 900),
    things=st.lists(st.tuples(st.floats(-0.1, 1.1), st.integers(0, 60), st.integers(0, 60), st.integers(0, 9)), max_size=30),
)
def test_in_pieces_it_comes_to_the_same_as_at_once_and_what_is_shown_keeps_its_order(earlier, stretches, off_us, jitter, things):
    with TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patched:
        whole, small = Path(name, "whole"), Path(name, "small")
        right = _remember(whole, earlier, stretches, off_us, jitter, things)
        shutil.copytree(whole, small)
        with Store.open(whole) as store, store.transaction() as tx:
            told = tx.reanchor("cam", "b", NOW)
        shown = set(_begins(small, "moment").values())
        orders = {}
        for table in ("moment", "segment", "document", "relation"):
            begins = {key: us for key, us in _begins(small, table).items() if us in shown}
            orders[table] = sorted(begins, key=begins.__getitem__)
        known = _known(small)

        def look(store):
            assert not store.time_trusted
            assert _known(small) == known
            for table, order in orders.items():
                begins = _begins(small, table)
                assert sorted(order, key=begins.__getitem__) == order
            _look_back(small, right)

        after_each_piece(patched, look)
        with Store.open(small, budget_bytes=CAP) as store, store.transaction() as tx:
            assert tx.reanchor("cam", "b", NOW) == told
        assert rows(small) == rows(whole)
        assert check_memory(small) == check_memory(whole) == []
        with View.open(small) as view:
            times = {moment.id: moment.t_us for moment in view.moments(stream="cam")}
            assert all(abs(times[key] - right[key]) <= 1000 for key in right)
            assert all(posting.t_us == times[posting.moment_id] for posting in view.postings(["cat", "dog"], stream="cam"))
        with Store.open(small, budget_bytes=CAP) as store, store.transaction() as tx:
            assert tx.reanchor("cam", "b", NOW) == 0


def _begins(directory, table):
    """When what is on the stream begins, by id."""
    with closing(connect(directory)) as connection:
        return dict(connection.execute(f"SELECT id, {'t_us' if table == 'moment' else 't0_us'} FROM {table} WHERE stream_id = 1"))


def _known(directory):
    """What a question about now may use, of any time."""
    with View.open(directory) as view:
        found = view.documents(), view.relations(), view.entities(), view.segments(), view.sessions(), view.moments()
        return [sorted(one.id for one in kind) for kind in found], sorted(name for one in found[2] for name in one.aliases)


def _look_back(directory, right):
    """Nothing with a date after a cut-off is found before it, in any way."""
    with View.open(directory) as view:
        times = {moment.id: moment.t_us for moment in view.moments()}
    for as_of_us in {min(times.values()), sorted(times.values())[len(times) // 2], NOW}:
        with View.open(directory, as_of_us) as view:
            known = {key for key, t_us in times.items() if t_us <= as_of_us}
            assert {key for key, _ in view.vector_search(MAKING.space.name, MAKING.unit(5), 100)} == known
            assert {posting.moment_id for posting in view.postings(["cat", "dog"])} <= known | {
                key for key in right if right[key] <= as_of_us
            }


def _remember(directory, earlier, stretches, off_us, jitter, things):
    """Boot a knew the time; b was wrong by `off_us`, and by some seconds less after each pause. By id the right times of b's moments."""
    right = {}
    with Store.open(directory) as store:
        store.ensure_space(MAKING.space)
    with Store.open(directory) as store, store.transaction() as tx:
        seq = itertools.count()

        def see(t_us, mono_us, boot):
            seen = (MAKING.label("cat" if mono_us % 3 else "dog", 0.5), MAKING.label("room", mono_us % 7 / 7))
            new = MAKING.moment(t_us, seen=seen)
            return tx.add_moment(msgspec.structs.replace(new, seq=next(seq), mono_us=mono_us, boot_id=boot))

        at_us = min(NOW, NOW + off_us) - 400 * US
        for gap in earlier:
            at_us += gap * US // 10
            see(at_us, at_us, "a")
        tx.add_moment(MAKING.moment(NOW, stream="hall"))
        mono_us = told_us = 100 * US
        times = []
        for gaps, paused_s in stretches:
            mono_us += paused_s * US
            told_us += paused_s * US + min(paused_s, 3) * US
            for gap in gaps:
                mono_us, told_us = mono_us + gap * US // 10, told_us + gap * US // 10
                times.append(NOW + off_us + told_us + mono_us % (jitter + 1))
                right[see(times[-1], mono_us, "b")] = NOW + mono_us
        _write_about(tx, things, times, sorted(right))
    return right


def _write_about(tx, things, times, ids):
    """Documents and their data, anywhere in the time range and a little outside it."""
    span_us = times[-1] - times[0] + US
    here, there = (tx.add_entity(NewEntity(kind="person", name=name, known_us=times[0])) for name in ("Anna", "Tomas"))
    for place, lasts, later, kind in things:
        t0_us = times[0] + round(place * span_us)
        t0_us = min(times, key=lambda us: abs(us - t0_us)) if kind % 2 else t0_us
        t1_us, known_us = t0_us + lasts * US // 10, t0_us + (lasts + later) * US // 10
        moment_id = ids[min(range(len(ids)), key=lambda i: abs(times[i] - t0_us))]
        told = MAKING.document(
            f"something {place} {kind}", t0_us, t1_us, known_us, passages=(NewPassage(kind="document", text="x", vectors={}),)
        )
        document_id = tx.add_document(told)
        edge = NewRelation(type="NEAR", source_id=here, target_id=there, stream="cam", t0_us=t0_us, t1_us=t1_us, known_us=known_us)
        if kind % 2:
            tx.replace_document(document_id, msgspec.structs.replace(told, text="something else", known_us=known_us + US))
        if kind % 3 == 0:
            relation_id = tx.add_relation(edge)
            if kind % 2:
                tx.replace_relation(relation_id, msgspec.structs.replace(edge, known_us=known_us + US))
        if kind % 4 == 0:
            tx.add_segment(MAKING.segment([moment_id], t0_us, t1_us, moment_id))
        if kind % 5 == 0:
            alias_id = tx.add_alias(here, f"A{place}", known_us)
            tx.retract_alias(alias_id, known_us + US)
            tx.add_mention(NewMention(entity_id=there, known_us=known_us, document_id=document_id if kind else None, moment_id=moment_id))
        if kind == 7:
            answer = {"question": "who?", "recipe": "r", "planner": "p", "status": "answered", "answer": "Tomas", "confidence": 1.0}
            tx.add_session(NewSession(asked_us=known_us, as_of_us=known_us, evidence=(f"m{moment_id}", f"d{document_id}"), **answer))
