"""Who did what with what: merges that can be taken back, and searches from strict to relaxed."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgemem.errors import MemoryDirError
from edgemem.records import US
from edgemem.remember.entries import NewEntity, NewRelation

TIMES = st.integers(0, 20)


def entity(tx, name, kind="person", known_us=0):
    return tx.add_entity(NewEntity(kind=kind, name=name, known_us=known_us))


def relation(tx, source, kind, target, t0_us=0, t1_us=None, known_us=None, **more):
    t1_us = t0_us if t1_us is None else t1_us
    known_us = t1_us if known_us is None else known_us
    new = NewRelation(type=kind, source_id=source, target_id=target, stream="cam", t0_us=t0_us, t1_us=t1_us, known_us=known_us, **more)
    return tx.add_relation(new)


def test_two_names_of_one_person_become_one_and_two_again(store):
    with store.transaction() as tx:
        jake, full, cup = entity(tx, "Jake"), entity(tx, "Jake Smith"), entity(tx, "cup", "object")
        tx.add_alias(jake, "J.", 0)
        old, new = relation(tx, jake, "USES", cup), relation(tx, full, "USES", cup, US)
    with store.view() as view:
        assert [e.name for e in view.entities()] == ["Jake", "Jake Smith", "cup"]
    with store.transaction() as tx:
        merge = tx.merge_entity(full, jake, 5 * US)
        assert tx.merge_entity(full, jake, 6 * US) == tx.merge_entity(jake, full, 7 * US) == merge
    with store.view() as view:
        one = view.entity(full)
        assert (one.id, one.name, one.aliases) == (jake, "Jake Smith", ("Jake", "J."))
        assert view.entities() == [one, view.entity(cup)]
        assert view.entities(name="jake") == view.entities(name="JAKE SMITH") == view.entities(name="j.") == [one]
        assert [r.id for r in view.relations(entity_id=full)] == [r.id for r in view.relations(entity_id=jake)] == [old, new]
        assert {r.source for r in view.relations()} == {one}
        assert view.stats().entities == 2
    with store.view(4 * US) as earlier:
        assert [e.name for e in earlier.entities()] == ["Jake", "Jake Smith", "cup"]
    with store.transaction() as tx:
        tx.unmerge(merge, 9 * US)
        with pytest.raises(MemoryDirError):
            tx.unmerge(merge, 9 * US)
    with store.view() as view, store.view(8 * US) as earlier:
        assert [r.source.name for r in view.relations()] == ["Jake", "Jake Smith"]
        assert [r.source.name for r in earlier.relations()] == ["Jake Smith", "Jake Smith"]


def test_a_number_is_no_complete_name(store):
    with store.transaction() as tx:
        number, tomas = entity(tx, "speaker 3 of the hall"), entity(tx, "Tomas")
        tx.merge_entity(tomas, number, 0)
        other = entity(tx, "voice of a man", "voice")
        tx.merge_entity(other, number, 0)
    with store.view() as view:
        assert view.entity(other).name == "Tomas"


def test_a_view_that_stays_open_sees_a_merge_that_is_made_meanwhile(store):
    with store.transaction() as tx:
        a, b = entity(tx, "a"), entity(tx, "b")
    with store.view() as view:
        assert len(view.entities()) == 2
        with store.transaction() as tx:
            tx.merge_entity(a, b, 0)
        assert len(view.entities()) == 1


@given(merges=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), TIMES, TIMES), max_size=8), cut=TIMES)
@settings(max_examples=60, deadline=None)
def test_any_history_of_merges_leaves_every_relation_with_two_known_ends(making, merges, cut):
    with making.store() as store:
        with store.transaction() as tx:
            since = [0, 3, 6, 9, 12]
            ids = [entity(tx, f"name {chr(97 + i)}", known_us=known) for i, known in enumerate(since)]
            edges = {relation(tx, a, "TALKS_TO", b, known_us=0): (i, j) for i, a in enumerate(ids) for j, b in enumerate(ids) if i != j}
            for a, b, known_us, until_us in merges:
                if a != b:
                    merge = tx.merge_entity(ids[a], ids[b], known_us)
                    if (
                        until_us > known_us
                        and tx.connection.execute("SELECT 1 FROM entity_merge WHERE id = ? AND until_us IS NULL", (merge,)).fetchone()
                    ):
                        tx.unmerge(merge, until_us)
        with store.view(cut) as view:
            known = {e.id for e in view.entities()}
            assert known <= {key for key, start in zip(ids, since, strict=True) if start <= cut}
            assert bool(known)
            assert {r.id for r in view.relations()} == {key for key, ends in edges.items() if all(since[i] <= cut for i in ends)}
            for r in view.relations():
                assert {r.source.id, r.target.id} <= known
                names = {name for e in view.entities() for name in (e.name, *e.aliases)}
                assert {r.source.name, r.target.name} <= names
            for e in view.entities():
                assert all(view.entities(name=name) == [e] for name in (e.name, *e.aliases))
            assert view.stats().entities == len(known)
