"""Segments within segments, and roles of moments: views show them from the time when they were known."""

from __future__ import annotations

import msgspec
import pytest

from edgemem.config import KeepRule
from edgemem.errors import MemoryDirError, UsageError
from edgemem.records import US
from edgemem.remember.check import check_memory
from edgemem.remember.entries import NewEntity, NewRelation
from edgemem.remember.forget import Wanted, forget
from edgemem.remember.rules import KeepRules
from edgemem.remember.view import View


@pytest.fixture
def scene(store, making):
    """Two clips of ten seconds and a scene over both, which closes last."""
    with store.transaction() as tx:
        ids = [tx.add_moment(making.moment(second * US)) for second in range(20)]
        clips = [
            tx.add_segment(making.segment(ids[:10], 0, 9 * US, ids[4])),
            tx.add_segment(making.segment(ids[10:], 10 * US, 19 * US, ids[14])),
        ]
        over = msgspec.structs.replace(making.segment(ids, 0, 19 * US), level=1, t1_us=25 * US)
        parent = tx.add_segment(over)
        tx.set_parent(clips, parent)
    return clips, parent, ids


def test_segments_are_found_by_level_and_by_the_segment_that_holds_them(store, scene):
    clips, parent, _ = scene
    with store.view() as view:
        assert [(s.id, s.level, s.parent_id) for s in view.segments()] == [(clips[0], 0, parent), (parent, 1, None), (clips[1], 0, parent)]
        assert [s.id for s in view.segments(level=0)] == clips
        assert [s.id for s in view.segments(level=1)] == [parent]
        assert [s.id for s in view.segments(parent_id=parent)] == clips
        assert view.segments(parent_id=clips[0]) == []
        assert view.segment(clips[0]).parent_id == parent


def test_a_view_does_not_see_a_parent_that_is_still_open(store, scene):
    clips, parent, _ = scene
    with store.view(24 * US) as view:
        assert [(s.id, s.parent_id) for s in view.segments()] == [(clips[0], None), (clips[1], None)]
        assert view.segments(parent_id=parent) == []
    with store.view(9 * US) as view:
        assert [s.id for s in view.segments(level=0)] == clips[:1]


def test_a_parent_is_of_a_higher_level(store, scene, making):
    clips, parent, _ = scene
    with store.transaction() as tx:
        for segment_id, over in ((clips[0], clips[1]), (parent, parent), (parent, clips[0]), (clips[0], 99)):
            with pytest.raises(UsageError, match="higher level"):
                tx.set_parent([segment_id], over)
        film = tx.add_segment(msgspec.structs.replace(making.segment((), 0, US), level=2))
        late = tx.add_segment(msgspec.structs.replace(making.segment((), 0, US), level=1, parent_id=film))
        tx.set_parent([parent], film)
    with store.view() as view:
        assert {s.id for s in view.segments(parent_id=film)} == {parent, late}
    assert check_memory(store.directory) == []


def test_segments_outlive_the_one_that_holds_them(store, scene):
    clips, parent, _ = scene
    with store.transaction() as tx:
        tx.drop_segment(parent)
    with store.view() as view:
        assert [(s.id, s.parent_id) for s in view.segments()] == [(clips[0], None), (clips[1], None)]


def test_forgetting_a_moment_takes_what_was_written_of_the_scene_around_its_clip(store, making):
    """Three clips in two scenes, which have no own moments, in one film."""
    with store.transaction() as tx:
        ids = [tx.add_moment(making.moment(second * US)) for second in range(9)]
        clips = [tx.add_segment(making.segment(ids[at : at + 3], at * US, (at + 2) * US, ids[at + 1])) for at in (0, 3, 6)]
        scene = msgspec.structs.replace(making.segment((), 0, 0), level=1)
        scenes = [
            tx.add_segment(msgspec.structs.replace(scene, t1_us=5 * US)),
            tx.add_segment(msgspec.structs.replace(scene, t1_us=8 * US)),
        ]
        film = tx.add_segment(msgspec.structs.replace(scene, level=2, t1_us=8 * US))
        tx.set_parent(clips[:2], scenes[0])
        tx.set_parent(clips[2:], scenes[1])
        tx.set_parent(scenes, film)
        for segment_id in (*clips, *scenes, film):
            tx.add_document(making.document(f"of {segment_id}", 50 * US, 51 * US, 51 * US, segment_id=segment_id))
    store.close()
    forget(store.directory, Wanted(evidence=(f"m{ids[0]}",)))
    with View.open(store.directory) as view:
        assert {d.segment_id for d in view.documents()} == {*clips[1:], scenes[1]}
        assert [(s.id, s.parent_id) for s in view.segments(level=0)] == [
            (clips[0], scenes[0]), (clips[1], scenes[0]), (clips[2], scenes[1]),
        ]  # fmt: skip
        assert (view.segment(clips[0]).t0_us, view.segment(scenes[0]).t1_us) == (US, 5 * US)
    forget(store.directory, Wanted(evidence=(f"s{clips[2]}",)))
    with View.open(store.directory) as view:
        assert {s.id for s in view.segments()} == {*clips[:2], scenes[0], film}  # nothing is left of the second scene
        assert {d.segment_id for d in view.documents()} == {clips[1]}
    assert check_memory(store.directory) == []


def test_a_rule_for_a_place_takes_what_was_written_of_the_scene_around_it(store, making):
    with store.transaction() as tx:
        moment_id = tx.add_moment(making.moment(0, seen=(making.label("bath", 0.9),)))
        clip = tx.add_segment(making.segment([moment_id], 0, 0))
        scene = tx.add_segment(msgspec.structs.replace(making.segment((), 0, US), level=1))
        tx.set_parent([clip], scene)
        for segment_id in (clip, scene):
            tx.add_document(making.document(f"of {segment_id}", segment_id=segment_id))
        kept = tx.add_document(making.document("of neither"))
    KeepRules([KeepRule(place="bath", keep_days=1)]).apply(store, 3 * 86_400 * US)
    with store.view() as view:
        assert [d.id for d in view.documents()] == [kept]


def test_a_role_is_seen_from_when_it_was_given(store, scene):
    _, _, ids = scene
    with store.transaction() as tx:
        tx.set_role(ids[0], "key", 7 * US)
        tx.set_role(ids[1], "reservoir")
    roles = {}
    for as_of_us in (6, 7, 18, 19):
        with store.view(as_of_us * US) as view:
            roles[as_of_us] = [view.moment(moment_id).role for moment_id in ids[:2]]
    assert roles == {6: ["", ""], 7: ["key", ""], 18: ["key", ""], 19: ["key", "reservoir"]}
    with store.transaction() as tx:
        tx.set_role(ids[0], "", 8 * US)
        tx.protect(ids[1], "first")
    with store.view(6 * US) as view:
        assert [view.moment(moment_id).role for moment_id in ids[:2]] == ["", "first"]


def test_what_is_no_longer_protected_may_fade_but_not_what_stands_for_a_segment(store, scene):
    _, _, ids = scene
    with store.transaction() as tx:
        tx.protect(ids[2], "key")
    protected = {m.id for m in store.retainable(from_us=0, to_us=99 * US) if m.protected}
    assert protected == {ids[2], ids[4], ids[14]}
    with store.transaction() as tx:
        for moment_id in protected:
            tx.unprotect(moment_id)
    assert {m.id for m in store.retainable(from_us=0, to_us=99 * US) if m.protected} == {ids[4], ids[14]}
    with store.view() as view:
        assert view.moment(ids[2]).role == "key"


def test_a_role_moves_with_its_stream_when_the_clock_is_set_right(store, making):
    with store.transaction() as tx:
        first = tx.add_moment(msgspec.structs.replace(making.moment(10 * US), boot_id="b", mono_us=10 * US))
        tx.add_moment(msgspec.structs.replace(making.moment(20 * US), boot_id="b", mono_us=20 * US))
        tx.set_role(first, "key", 15 * US)
        tx.reanchor("cam", "b", 1000 * US)
    with store.view(1014 * US) as view:
        assert view.moment(first).role == ""
    with store.view(1015 * US) as view:
        assert view.moment(first).role == "key"


def test_a_text_that_was_retired_is_seen_by_views_before_that(store, making):
    with store.transaction() as tx:
        document_id = tx.add_document(making.document("a cat", known_us=10 * US))
        tx.retire_document(document_id, 20 * US)
        with pytest.raises(MemoryDirError, match="retired or replaced already"):
            tx.retire_document(document_id, 30 * US)
        early = tx.add_document(making.document("a dog", known_us=10 * US))
        tx.retire_document(early, 5 * US)  # before it was known: nobody ever sees it
        with pytest.raises(MemoryDirError, match="d99"):
            tx.retire_document(99, US)
    for as_of_us, seen in ((9, []), (10, [document_id]), (19, [document_id]), (20, [])):
        with store.view(as_of_us * US) as view:
            assert [d.id for d in view.documents()] == seen
            assert [hit.document.id for hit in view.search_text("cat dog", 9)] == seen
    assert check_memory(store.directory) == []


def test_a_relation_that_ended_before_it_was_known_is_never_seen(store):
    with store.transaction() as tx:
        a, b = (tx.add_entity(NewEntity(kind="person", name=name, known_us=0)) for name in "ab")
        edge = {"type": "TALKS_TO", "source_id": a, "target_id": b, "stream": "cam", "t0_us": 0, "t1_us": US}
        key = tx.add_relation(NewRelation(known_us=10 * US, **edge))
        tx.end_relation(key, 5 * US)
        with pytest.raises(MemoryDirError, match="ended or was replaced already"):
            tx.end_relation(key, 20 * US)
    for as_of_us in (7, 10, 30):
        with store.view(as_of_us * US) as view:
            assert view.relations() == []
