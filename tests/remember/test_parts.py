"""Parts of moments and documents, and entities that are recognised by a vector."""

from __future__ import annotations

import numpy as np
import pytest

from edgemem.errors import EngineError, MemoryDirError, UsageError
from edgemem.infer.roles import Space
from edgemem.records import US, Box
from edgemem.remember.check import check_memory
from edgemem.remember.entries import NewEntity, NewMention, NewPart
from edgemem.remember.forget import Wanted, forget
from edgemem.remember.store import Store
from edgemem.remember.view import View
from tests.remember.test_forget import everything

LOOKS = Space(name="face/looks", dim=8)
"""Of parts."""
KNOWN = Space(name="face/known", dim=8)
"""Of entities."""
BOX = Box(0.25, 0.1, 0.5, 1.0)


def axis(number):
    return np.eye(8, dtype=np.float32)[number]


def between(first, second, weight):
    vector = axis(first) * (1 - weight) + axis(second) * weight
    return vector / np.linalg.norm(vector)


def face(tx, name, known_us=0):
    return tx.add_entity(NewEntity(kind="face", name=name, known_us=known_us))


def part(moment_id, number, **changes):
    return NewPart(kind="face", score=0.5, moment_id=moment_id, box=BOX, vectors={LOOKS.name: axis(number)}, **changes)


@pytest.fixture
def faces(store):
    store.ensure_space(LOOKS, holds="part")
    store.ensure_space(KNOWN, holds="entity")
    return store


@pytest.fixture
def memory(faces, making):
    """Four moments ten seconds apart, the last two at the door; each shows a face of one of two people."""
    with faces.transaction() as tx:
        for number, name in enumerate(("face 1", "face 2", "face 1", "face 2")):
            entity_id = face(tx, name, number * 10 * US)
            moment_id = tx.add_moment(making.moment(number * 10 * US, stream="door" if number > 1 else "cam"))
            tx.add_part(part(moment_id, number, entity_id=entity_id))
            tx.add_mention(NewMention(entity_id=entity_id, known_us=number * 10 * US, moment_id=moment_id))
            tx.set_entity_vector(entity_id, KNOWN.name, axis(number % 2))
    faces.close()
    return faces.directory


def test_a_part_comes_back_as_it_was(faces, making):
    with faces.transaction() as tx:
        moment_id = tx.add_moment(making.moment(5 * US))
        entity_id = face(tx, "face 1")
        document_id = tx.add_document(making.document("hello", 6 * US, 9 * US, 9 * US))
        first = tx.add_part(part(moment_id, 1, entity_id=entity_id))
        voice = NewPart(kind="voice", score=0.25, document_id=document_id, t0_us=7 * US, t1_us=8 * US)
        second = tx.add_part(voice)
        third = tx.add_part(NewPart(kind="voice", score=0.25, document_id=document_id))
        tx.add_part(NewPart(kind="click", score=0.25, document_id=document_id, t0_us=7 * US, t1_us=7 * US))
    with faces.view() as view:
        (one,) = view.parts(moment_id=moment_id)
        assert (one.id, one.kind, one.moment_id, one.document_id, one.stream, one.score) == (first, "face", moment_id, None, "cam", 0.5)
        assert (one.t0_us, one.t1_us, one.entity.name) == (5 * US, 5 * US, "face 1")
        assert one.box == pytest.approx(BOX, abs=1e-4) if isinstance(BOX, tuple) else abs(one.box.x0 - 0.25) + abs(one.box.y1 - 1) < 1e-4
        assert [(p.t0_us, p.t1_us) for p in view.parts(kind="click")] == [(7 * US, 7 * US)]
        heard = view.parts(document_id=document_id, kind="voice")
        assert [(p.id, p.t0_us, p.t1_us, p.box, p.entity) for p in heard] == [
            (third, 6 * US, 9 * US, None, None), (second, 7 * US, 8 * US, None, None),
        ]  # fmt: skip
        assert [p.id for p in view.parts(entity_id=entity_id)] == [first]
        assert [p.id for p in view.parts(kind="voice")] == [third, second]
        assert [p.id for p in view.parts(from_us=8 * US + 1)] == [third]
        assert [p.id for p in view.parts(to_us=6 * US)] == [first, third]
        assert [p.id for p in view.parts(stream="cam", limit=1)] == [first]
        assert view.parts(stream="door") == []


def test_a_part_belongs_to_one_thing_that_is_there(faces, making):
    with faces.transaction() as tx:
        moment_id = tx.add_moment(making.moment(5 * US))
        with pytest.raises(UsageError, match="one moment or to one document"):
            tx.add_part(NewPart(kind="face", score=1.0))
        with pytest.raises(UsageError, match="one moment or to one document"):
            tx.add_part(NewPart(kind="face", score=1.0, moment_id=moment_id, document_id=1))
        with pytest.raises(MemoryDirError, match="m99"):
            tx.add_part(part(99, 1))
        with pytest.raises(MemoryDirError, match="d99"):
            tx.add_part(NewPart(kind="voice", score=1.0, document_id=99))
        with pytest.raises(UsageError, match="before it begins"):
            tx.add_part(NewPart(kind="face", score=1.0, moment_id=moment_id, t0_us=9 * US, t1_us=8 * US))
        with pytest.raises(EngineError, match="has entity vectors, no part vectors"):
            tx.add_part(NewPart(kind="face", score=1.0, moment_id=moment_id, vectors={KNOWN.name: axis(1)}))
        with pytest.raises(MemoryDirError, match="entity 99"):
            tx.set_entity_vector(99, KNOWN.name, axis(1))


def test_a_view_sees_no_part_of_what_it_does_not_know(faces, making):
    with faces.transaction() as tx:
        moment_id = tx.add_moment(making.moment(5 * US))
        late = face(tx, "face 1", known_us=20 * US)
        whole = tx.add_part(part(moment_id, 1, entity_id=late))
        stretch = tx.add_part(part(moment_id, 2, t0_us=5 * US, t1_us=8 * US))
        document_id = tx.add_document(making.document("hello", 0, 3 * US, known_us=9 * US))
        said = tx.add_part(NewPart(kind="voice", score=1.0, document_id=document_id, vectors={LOOKS.name: axis(3)}))
        tx.retire_document(document_id, 15 * US)
        tx.set_entity_vector(late, KNOWN.name, axis(1))
    for as_of_us, seen in ((4, []), (5, [whole]), (8, [whole, stretch]), (9, [said, whole, stretch]), (15, [whole, stretch])):
        with faces.view(as_of_us * US) as view:
            assert [p.id for p in view.parts()] == seen
            assert sorted(hit.part.id for hit in view.nearest_parts(LOOKS.name, axis(1), 9)) == sorted(seen)
            assert [p.entity for p in view.parts()] == [None] * len(seen)
            assert view.nearest_entities(KNOWN.name, axis(1), 9) == []
    with faces.view(20 * US) as view:
        assert [p.entity and p.entity.name for p in view.parts()] == ["face 1", None]
        assert [hit.entity.name for hit in view.nearest_entities(KNOWN.name, axis(1), 9)] == ["face 1"]


def test_a_sample_of_parts_is_from_all_over_what_is_known(faces, making):
    with faces.transaction() as tx:
        for second in range(1, 11):
            tx.add_part(part(tx.add_moment(making.moment(second * US)), second % 3))
        tx.add_part(NewPart(kind="voice", score=1.0, moment_id=5, vectors={LOOKS.name: axis(2)}))

    def sampled(view, most):
        parts, rows = view.part_sample(LOOKS.name, "face", most)
        assert [row.tolist() for row in rows] == [axis(p.moment_id % 3).tolist() for p in parts]
        return [p.moment_id for p in parts]

    with faces.view() as view:
        assert sampled(view, 4) == [1, 4, 7, 10]
        assert sampled(view, 99) == list(range(1, 11))
        assert view.part_sample("unknown", "face", 4)[0] == []
    with faces.view(6 * US) as view:
        assert sampled(view, 3) == [1, 3, 6]


def test_an_empty_memory_has_no_sample_of_parts(faces):
    with faces.view() as view:
        assert view.part_sample(LOOKS.name, "face", 4)[0] == []


def test_parts_are_found_by_their_vectors(memory):
    with View.open(memory) as view:
        hits = view.nearest_parts(LOOKS.name, between(1, 2, 0.3), 2)
        assert [(hit.part.moment_id, round(hit.score, 3)) for hit in hits] == [(2, 0.919), (3, 0.394)]
        assert [hit.part.moment_id for hit in view.nearest_parts(LOOKS.name, axis(1), 1, stream="door")] == [3]
        assert [hit.part.moment_id for hit in view.nearest_parts(LOOKS.name, axis(1), 9, from_us=5 * US, to_us=20 * US)] == [2, 3]
        assert view.nearest_parts(LOOKS.name, axis(1), 9, kind="voice") == []
        assert view.nearest_parts(KNOWN.name, axis(1), 9) == view.nearest_parts("unknown", axis(1), 9) == []
        assert view.nearest_parts(LOOKS.name, axis(1), 0) == view.nearest_entities(KNOWN.name, axis(1), 0) == []
        assert view.nearest_entities(LOOKS.name, axis(1), 9) == []


def test_a_search_goes_on_until_it_has_enough_parts_of_the_kind(faces, making):
    with faces.transaction() as tx:
        moment_id = tx.add_moment(making.moment(0))
        for _ in range(150):
            tx.add_part(part(moment_id, 1))
        last = tx.add_part(NewPart(kind="voice", score=1.0, moment_id=moment_id, vectors={LOOKS.name: axis(2)}))
    with faces.view() as view:
        assert [hit.part.id for hit in view.nearest_parts(LOOKS.name, axis(1), 1, kind="voice")] == [last]


def test_the_latest_vector_of_an_entity_counts_wherever_it_is_looked_for(faces):
    with faces.view() as before, faces.transaction() as tx:
        old, new = face(tx, "old"), face(tx, "new")
        tx.set_entity_vector(new, KNOWN.name, axis(1))
        assert before.nearest_entities(KNOWN.name, axis(1), 9) == []
    with faces.view() as view:
        assert [(h.entity.name, h.score) for h in view.nearest_entities(KNOWN.name, axis(1), 9)] == [("new", 1.0)]
        with faces.transaction() as tx:  # the older id gets its first vector later, the newer one another
            tx.set_entity_vector(old, KNOWN.name, axis(2))
            tx.set_entity_vector(new, KNOWN.name, axis(5))
            tx.set_entity_vector(new, KNOWN.name, axis(3))
        for seen in (view, faces.view()):
            assert [(h.entity.name, h.score) for h in seen.nearest_entities(KNOWN.name, axis(2), 1)] == [("old", 1.0)]
            assert sorted(h.score for h in seen.nearest_entities(KNOWN.name, axis(3), 9)) == [0.0, 1.0]
            assert [h.score for h in seen.nearest_entities(KNOWN.name, axis(1), 9)] == [0.0, 0.0]
        seen.close()
        with faces.transaction() as tx:
            tx.drop_entity_vectors(new)
        assert [h.entity.name for h in view.nearest_entities(KNOWN.name, axis(3), 9)] == ["old"]
    faces.close()
    assert check_memory(faces.directory) == []


def test_entities_that_were_merged_are_found_once_by_the_nearer_of_their_vectors(memory):
    with Store.open(memory) as store:
        with store.transaction() as tx:
            merge_id = tx.merge_entity(2, 1, 40 * US)
        with store.view() as view:
            assert [(h.entity.id, h.score) for h in view.nearest_entities(KNOWN.name, axis(1), 9)] == [(1, 1.0)]
            assert [p.moment_id for p in view.parts(entity_id=2)] == [1, 2, 3, 4]
        with store.view(39 * US) as earlier:
            assert [(h.entity.id, h.score) for h in earlier.nearest_entities(KNOWN.name, axis(1), 9)] == [(2, 1.0), (1, 0.0)]
        with store.transaction() as tx:
            tx.unmerge(merge_id, 50 * US)
        with store.view() as view:
            assert [p.moment_id for p in view.parts(entity_id=2)] == [2, 4]


def test_vector_files_of_parts_and_entities_are_made_anew(memory):
    found = []
    for path in [None, *sorted((memory / "vectors").glob("*face*"))]:
        if path is not None:
            path.write_bytes(path.read_bytes()[:-1] + b"\x55")
        with View.open(memory) as view:  # reads the truth beside what is wrong
            parts = [(h.part.id, h.score) for h in view.nearest_parts(LOOKS.name, axis(1), 9)]
            found.append((parts, [(h.entity.id, h.score) for h in view.nearest_entities(KNOWN.name, axis(0), 9)]))
        if path is not None:
            assert any("damaged" in line for line in check_memory(memory))
            Store.open(memory).close()
        assert check_memory(memory) == []
    assert len(found) == 7
    assert all(one == found[0] for one in found)


def test_forgetting_a_moment_takes_its_parts_and_what_was_learnt_from_them(memory):
    as_stored = axis(2).astype(np.float16).tobytes()
    assert as_stored in everything(memory)
    receipt = forget(memory, Wanted(evidence=("m3",)))
    assert receipt.bytes > 0
    assert check_memory(memory) == []
    assert as_stored not in everything(memory)
    with View.open(memory) as view:
        assert [p.moment_id for p in view.parts()] == [1, 2, 4]
        assert [e.name for e in view.entities()] == ["face 1", "face 2"]  # m1 shows the one still
        assert [h.entity.name for h in view.nearest_entities(KNOWN.name, axis(0), 9)] == ["face 2"]


def test_an_entity_that_only_a_part_shows_goes_with_it(faces, making):
    with faces.transaction() as tx:
        entity_id = face(tx, "face 1")
        moment_id = tx.add_moment(making.moment(0))
        tx.add_part(part(moment_id, 1, entity_id=entity_id))
        tx.set_entity_vector(entity_id, KNOWN.name, axis(6))
        tx.add_moment(making.moment(10 * US))
    faces.close()
    forget(faces.directory, Wanted(from_us=0, to_us=US))
    with View.open(faces.directory) as view:
        assert view.entities() == []
        assert len(view.moments()) == 1
    assert check_memory(faces.directory) == []
    assert axis(6).astype(np.float16).tobytes() not in everything(faces.directory)


def test_forgetting_an_entity_takes_the_moments_whose_parts_show_it(faces, making):
    with faces.transaction() as tx:
        ids = [tx.add_moment(making.moment(number * 10 * US)) for number in range(3)]
        entity_id = face(tx, "Anna")
        tx.add_part(part(ids[1], 1, entity_id=entity_id))
        tx.set_entity_vector(entity_id, KNOWN.name, axis(6))
    faces.close()
    forget(faces.directory, Wanted(entity="anna"))
    with View.open(faces.directory) as view:
        assert [m.id for m in view.moments()] == [ids[0], ids[2]]
        assert view.parts() == []
    assert check_memory(faces.directory) == []


def test_what_fades_takes_its_parts_along_and_leaves_what_was_learnt(memory):
    with Store.open(memory) as store:
        with store.transaction() as tx:
            tx.drop_moment(1)
        with store.view() as view:
            assert [p.moment_id for p in view.parts()] == [2, 3, 4]
            assert len(view.nearest_entities(KNOWN.name, axis(0), 9)) == 2
            assert len(view.nearest_parts(LOOKS.name, axis(0), 9)) == 3
        with store.transaction() as tx:
            tx.drop_entity(1)
        with store.view() as view:
            assert [h.entity.id for h in view.nearest_entities(KNOWN.name, axis(0), 9)] == [2]
            assert [p.entity and p.entity.id for p in view.parts()] == [2, None, 2]
    assert check_memory(memory) == []


def test_the_moments_of_a_stretch_are_counted(faces, making):
    with faces.transaction() as tx:
        for second in (1, 5, 9):
            tx.add_moment(making.moment(second * US))
    with faces.view() as view:
        assert [view.moments_in(low, high) for low, high in ((None, None), (5 * US, None), (None, 5 * US), (2 * US, 4 * US))] == [
            3,
            2,
            2,
            0,
        ]
    with faces.view(6 * US) as view:
        assert view.moments_in(None, None) == 2
