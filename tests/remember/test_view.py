"""A view shows what was known at its cut-off, and nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgemem.errors import MemoryDirError
from edgemem.records import US, Quote
from edgemem.remember.entries import NewEntity, NewRelation

TIMES = st.integers(-5, 30)


@given(
    moments=st.lists(TIMES, min_size=1, max_size=12),
    segments=st.lists(st.tuples(TIMES, TIMES), max_size=4),
    documents=st.lists(st.tuples(TIMES, TIMES), max_size=6),
    cut=TIMES,
)
@settings(max_examples=60)
def test_nothing_that_became_known_later_is_ever_returned(making, moments, segments, documents, cut):
    with making.store() as store:
        times = {}
        with store.transaction() as tx:
            for t_us in moments:
                times[tx.add_moment(making.moment(t_us, seen=(making.label("cat", 0.5),)))] = t_us
            closed = {}
            for ends in segments:
                t0, t1 = sorted(ends)
                inside = [i for i, t_us in times.items() if t0 <= t_us <= t1]
                closed[tx.add_segment(making.segment(inside, t0, t1, inside[-1] if inside else None))] = t1
            spans = {}
            for known_us, until_us in documents:
                first = tx.add_document(making.document("cat", 0, 5, known_us=known_us))
                spans[first] = (known_us, until_us if until_us > known_us else None)
                if until_us > known_us:
                    second = tx.replace_document(first, making.document("cat and dog", 0, 5, known_us=until_us))
                    spans[second] = (until_us, None)
        seen = {i for i, t_us in times.items() if t_us <= cut}
        known = {i for i, (start, end) in spans.items() if start <= cut and (end is None or end > cut)}
        with store.view(cut) as view:
            assert {m.id for m in view.moments()} == seen
            assert {m.id for m in view.moments(to_us=1000)} == seen
            assert {i for i in times if view.moment(i)} == seen
            assert set(view.observations(times)) == seen
            assert {p.moment_id for p in view.postings(["cat"], to_us=1000)} == seen
            assert sum(view.names("label").values()) == len(seen)
            assert {i for i, _ in view.vector_search(making.space.name, making.unit(0), 99, to_us=1000)} == seen
            assert {m.id for t_us in range(-5, 31) if (m := view.nearest(t_us))} <= seen
            assert {s.id for s in view.segments()} == {i for i, t1 in closed.items() if t1 <= cut}
            assert {m.segment_id for m in view.moments()} - {None} <= {i for i, t1 in closed.items() if t1 <= cut}
            assert {m.id for i in closed for m in view.segment_moments(i)} <= seen
            assert {m.id for m in view.moments() if m.role} == {s.representative_id for s in view.segments()} - {None}
            assert {d.id for d in view.documents()} == known
            assert {i for i in spans if view.document(i)} == known
            assert {hit.document.id for hit in view.search_text("cat", 99)} == known
            assert view.stats().moments == len(seen)
            assert view.stats().documents == len(known)
            assert sum(stream.moments for stream in view.streams()) == len(seen)
            assert (view.bounds() or (cut, cut))[1] <= cut
            for moment_id in set(times) - seen:
                with pytest.raises(MemoryDirError):
                    view.picture(moment_id)
                with pytest.raises(MemoryDirError):
                    view.vectors(making.space.name, [moment_id])


@given(
    edges=st.lists(st.tuples(TIMES, TIMES, TIMES, st.sampled_from("abc"), st.sampled_from("abc")), min_size=1, max_size=8),
    aliases=st.lists(st.tuples(st.sampled_from("abc"), TIMES, TIMES), max_size=4),
    cut=TIMES,
)
@settings(max_examples=60)
def test_no_relation_entity_alias_or_quote_of_later_is_ever_returned(making, edges, aliases, cut):
    with making.store() as store:
        spans, since, names = {}, {}, {}

        def entity(tx, name, known_us):
            since[name] = min(known_us, since.get(name, known_us))
            names[name] = tx.add_entity(NewEntity(kind="person", name=name, known_us=known_us))
            return names[name]

        with store.transaction() as tx:
            for known_us, until_us, seen_us, *ends in edges:
                moment_id = tx.add_moment(making.moment(seen_us))
                document_id = tx.add_document(making.document("they met", 0, 5, known_us=known_us))
                source, target = (entity(tx, name, known_us) for name in ends)
                quotes = (Quote(text="they met", origin="asr", document_id=document_id, moment_id=moment_id),)
                new = {"type": "TALKS_TO", "source_id": source, "target_id": target, "stream": "cam", "t0_us": 0, "t1_us": 5}
                first = tx.add_relation(NewRelation(known_us=known_us, quotes=quotes, **new))
                spans[first] = (known_us, until_us if until_us > known_us else None)
                if until_us > known_us:
                    spans[tx.replace_relation(first, NewRelation(known_us=until_us, quotes=quotes, **new))] = (until_us, None)
            called = []
            for name, known_us, until_us in aliases:
                alias_id = tx.add_alias(entity(tx, name, known_us), f"the {name}", known_us)
                if until_us > known_us:
                    tx.retract_alias(alias_id, until_us)
                if known_us <= cut and not known_us < until_us <= cut:
                    called.append(name)
        known = {i for i, (start, end) in spans.items() if start <= cut and (end is None or end > cut)}
        with store.view(cut) as view:
            assert {r.id for r in view.relations()} == known == {i for i in spans if view.relation(i)}
            assert {r.id for i in names.values() for r in view.relations(entity_id=i, type="TALKS_TO", to_us=1000)} == known
            assert view.relations(type="USES") == view.relations(from_us=6) == []
            assert {e.name for e in view.entities()} == {name for name, start in since.items() if start <= cut}
            assert {e.name for name in "abc" for e in view.entities(name=f"THE {name}")} == set(called)
            assert sorted(alias for e in view.entities() for alias in e.aliases) == sorted(f"the {name}" for name in called)
            assert view.stats().relations == len(known)
            assert view.stats().entities == len(view.entities())
            for relation in view.relations():
                assert relation.known_us <= cut
                assert all(view.document(q.document_id) for q in relation.quotes if q.document_id)
                assert all(view.moment(q.moment_id) for q in relation.quotes if q.moment_id)


@pytest.fixture
def two_streams(store, making):
    with store.transaction() as tx:
        for i in range(10):
            tx.add_moment(making.moment(i * US, seen=(making.label("cat", i / 10), making.label("dog", 0.5))))
            tx.add_moment(making.moment(i * US + 100, stream="door", seen=(making.label("cat", 0.95, kind="object", colour="red"),)))
    with store.view() as view:
        yield view


def test_moments_by_range_stream_and_order(two_streams):
    assert [m.t_us for m in two_streams.moments(stream="cam", from_us=2 * US, to_us=4 * US)] == [2 * US, 3 * US, 4 * US]
    assert [m.t_us for m in two_streams.moments(newest_first=True, limit=2)] == [9 * US + 100, 9 * US]
    assert two_streams.moments(stream="nowhere") == []
    assert {s.name: s.moments for s in two_streams.streams()} == {"cam": 10, "door": 10}
    assert two_streams.bounds() == (0, 9 * US + 100)


def test_the_nearest_moment(two_streams):
    assert two_streams.nearest(4 * US + 40).t_us == 4 * US
    assert two_streams.nearest(4 * US + 60).t_us == 4 * US + 100
    assert two_streams.nearest(4 * US + 60, stream="cam").t_us == 4 * US
    assert two_streams.nearest(-(10**12)).t_us == 0
    assert two_streams.nearest(10**12).t_us == 9 * US + 100


def test_postings_come_best_first_with_filters(two_streams):
    cats = two_streams.postings(["cat", "dog", "unknown"], kinds=["label"])
    assert [p.score for p in cats if p.name == "cat"] == [i / 10 for i in range(9, -1, -1)]
    assert len([p for p in cats if p.name == "dog"]) == 10
    assert {p.colour for p in two_streams.postings(["cat"], kinds=["object"])} == {"red"}
    assert two_streams.postings(["red"]) == []
    top = two_streams.postings(["cat"], limit_per_name=1)
    assert sorted((p.kind, p.score) for p in top) == [("label", 0.9), ("object", 0.95)]
    assert {p.t_us for p in two_streams.postings(["cat"], from_us=3 * US, to_us=3 * US + 100)} == {3 * US, 3 * US + 100}
    assert {p.kind for p in two_streams.postings(["cat"], stream="door")} == {"object"}
    assert two_streams.names("label") == {"cat": 10, "dog": 10}


@pytest.fixture
def library(store, making):
    texts = [
        ("system", "Two cats sleeping on a red sofa"),
        ("ocr", "EXITC\nGate 12"),
        ("ocr", "EXIT C and platform"),
        ("system", "A man is running with dogs"),
        ("caption", "Someone parked a car near the café"),
        ("ocr", "NOPARKINGHERE"),
        ("system", "carpets in a shop"),
    ]
    with store.transaction() as tx:
        for i, (origin, text) in enumerate(texts):
            tx.add_document(
                making.document(text, i * US, i * US + 1, known_us=i, origin=origin, kind="text" if origin == "ocr" else "event")
            )
    with store.view() as view:
        yield view


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("Did I ever see a cat?", "Two cats sleeping on a red sofa"),
        ("who runs with a dog", "A man is running with dogs"),
        ("where is exit c", "EXIT C and platform"),
        ("exitc", "EXITC\nGate 12"),
        ("what is at gate 12?", "EXITC\nGate 12"),
        ("no parking", "NOPARKINGHERE"),
        ("cafe", "Someone parked a car near the café"),
        ("carpe", "carpets in a shop"),
        ('"unbalanced AND (NEAR * cat', "Two cats sleeping on a red sofa"),
    ],
)
def test_free_questions_find_text_by_stem_beginning_and_squeezed(library, query, first):
    assert library.search_text(query, 5)[0].document.text == first


def test_squeezed_text_is_found_in_either_spelling(library):
    for query in ("exit c", "exitc", "EXIT-C"):
        assert {hit.document.text for hit in library.search_text(query, 5)} >= {"EXITC\nGate 12", "EXIT C and platform"}


def test_what_is_not_there_is_not_found(library):
    assert library.search_text("xylophone", 5) == []
    assert library.search_text("?!", 5) == []
    assert [hit.document.text for hit in library.search_text("car", 5)] == ["Someone parked a car near the café"]


def test_text_filters(library):
    assert {hit.document.kind for hit in library.search_text("exit gate cat", 9, kinds=["text"])} == {"text"}
    assert library.search_text("exit", 9, kinds=[]) == []
    assert [hit.document.t0_us for hit in library.search_text("exit", 9, from_us=2 * US)] == [2 * US]
    assert library.search_text("exit", 9, stream="door") == []
    assert len(library.search_text("exit", 1)) == 1


def test_a_very_long_question_is_bounded(library):
    assert library.search_text("cat " + "word " * 2000, 5)[0].document.text.startswith("Two cats")


def test_snippets_show_the_words(store, making):
    with store.transaction() as tx:
        tx.add_document(making.document(" ".join(["filler"] * 60 + ["a", "violin", "appears"] + ["more"] * 60)))
    with store.view() as view:
        snippet = view.search_text("violins", 1)[0].snippet
    assert "violin" in snippet
    assert len(snippet.split()) < 30


def test_documents_and_segments_by_overlap(store, making):
    with store.transaction() as tx:
        ids = [tx.add_segment(making.segment([], i * 10, i * 10 + 9)) for i in range(5)]
        docs = [tx.add_document(making.document("x", i * 10, i * 10 + 9)) for i in range(5)]
    with store.view() as view:
        assert [s.id for s in view.segments(from_us=15, to_us=30)] == ids[1:4]
        assert [d.id for d in view.documents(from_us=15, to_us=30)] == docs[1:4]
        assert [d.id for d in view.documents(limit=2, newest_first=True)] == docs[:-3:-1]
        assert [s.id for s in view.segments(limit=1, newest_first=True)] == ids[-1:]
        assert view.segments(segmenter="other") == []
