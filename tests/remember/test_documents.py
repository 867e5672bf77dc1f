"""Passages are found by vector and utterances by speaker, as they were known at the cut-off."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgemem.errors import EngineError
from edgemem.infer.roles import Space
from edgemem.records import US
from edgemem.remember.check import check_memory
from edgemem.remember.entries import NewEntity, NewPassage
from edgemem.remember.store import Store

TIMES = st.integers(-5, 30)
WORDS = Space(name="words/8", dim=8)


def passage(making, seed, text="a cat", kind="document"):
    return NewPassage(kind=kind, text=text, vectors={WORDS.name: making.unit(seed, 8)})


@pytest.fixture
def store(store):
    store.ensure_space(WORDS, holds="passage")
    return store


@given(
    documents=st.lists(st.tuples(TIMES, TIMES, TIMES, TIMES, st.booleans()), max_size=8),
    dropped=st.sets(st.integers(0, 7), max_size=3),
    cut=TIMES,
    span=st.tuples(TIMES, TIMES),
)
@settings(max_examples=50)
def test_no_passage_and_no_word_of_later_is_ever_returned(making, documents, dropped, cut, span):
    with making.store() as store:
        store.ensure_space(WORDS, holds="passage")
        spans = {}
        with store.transaction() as tx:
            tx.add_moment(making.moment(0))  # ids of moments and passages overlap
            for i, (t0_us, t1_us, known_us, until_us, spoken) in enumerate(documents):
                given = {"kind": "utterance" if spoken else "event", "t0_us": min(t0_us, t1_us), "t1_us": max(t0_us, t1_us)}
                speaker = tx.add_entity(NewEntity(kind="voice", name=f"speaker {i}", known_us=until_us)) if spoken else None
                parts = tuple(passage(making, 10 * i + n, f"cat {n}") for n in range(i % 3 + 1))
                first = tx.add_document(making.document("cat 0 cat 1", known_us=known_us, passages=parts, speaker_id=speaker, **given))
                spans[first] = (known_us, until_us if until_us > known_us else None, given)
                if until_us > known_us:
                    new = making.document("a dog", known_us=until_us, passages=parts[:1], speaker_id=speaker, **given)
                    spans[tx.replace_document(first, new)] = (until_us, None, given)
        with store.transaction() as tx:
            for i, document_id in enumerate(list(spans)):
                if i in dropped:
                    tx.drop_document(document_id)
                    del spans[document_id]
        known = {i for i, (start, end, _) in spans.items() if start <= cut and (end is None or end > cut)}
        low, high = min(span), max(span)
        inside = {i for i in known if spans[i][2]["t0_us"] <= high and spans[i][2]["t1_us"] >= low}
        with store.view(cut) as view:
            hits = view.search_passages(WORDS.name, making.unit(3, 8), 99)
            assert {hit.document.id for hit in hits} == known
            assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
            for hit in hits:
                assert view.document(hit.document.id) == hit.document
            best = view.search_passages(WORDS.name, making.unit(3, 8), 2)
            assert [hit.document.id for hit in best] == [hit.document.id for hit in hits[:2]]
            best_scores = pytest.approx([hit.score for hit in hits[:2]], abs=1e-6)  # the last bits of a product of matrices differ
            assert [hit.score for hit in best] == best_scores
            ranged = view.search_passages(WORDS.name, making.unit(3, 8), 99, from_us=low, to_us=high, kinds=["event"], stream="cam")
            assert {hit.document.id for hit in ranged} == {i for i in inside if spans[i][2]["kind"] == "event"}
            said = view.utterances(from_us=low, to_us=high)
            assert {spoken.document.id for spoken in said} == {i for i in inside if spans[i][2]["kind"] == "utterance"}
            assert {spoken.speaker.id for spoken in said if spoken.speaker} <= {entity.id for entity in view.entities()}
            assert view.vector_search(WORDS.name, making.unit(3, 8), 99) == []
        assert check_memory(store.directory) == []


def test_a_passage_tells_its_part_and_its_document(store, making):
    text = "Anna came in. She drank tea.\0 She left."
    parts = (
        passage(making, 1, text),
        passage(making, 2, "She drank tea.", "chunk"),
        passage(making, 3, "people: Anna", "field"),
        passage(making, 4, " She left.", "chunk"),
    )
    with store.transaction() as tx:
        tx.add_document(making.document(text, passages=parts))
    with store.view() as view:
        for seed, (kind, said) in enumerate(
            (("document", text), ("chunk", "She drank tea."), ("field", "people: Anna"), ("chunk", " She left.")), 1
        ):
            hit = view.search_passages(WORDS.name, making.unit(seed, 8), 1)[0]
            assert (hit.passage_kind, hit.text, hit.document.text) == (kind, said, text)
            assert hit.score == pytest.approx(1, abs=1e-3)
        assert view.search_passages("nowhere", making.unit(1, 8), 5) == []
        assert view.search_passages(making.space.name, making.unit(1), 5) == []


def test_few_that_fit_are_found_among_many_that_do_not(store, making):
    with store.transaction() as tx:
        for i in range(300):
            kind = "summary" if i in (7, 70) else "event"
            tx.add_document(making.document(f"{i}", i * US, i * US, kind=kind, passages=(passage(making, 0 if kind == "event" else i),)))
    with store.view() as view:
        hits = view.search_passages(WORDS.name, making.unit(0, 8), 2, kinds=["summary"])
        assert {hit.document.text for hit in hits} == {"7", "70"}
        assert [h.document.t0_us for h in view.search_passages(WORDS.name, making.unit(0, 8), 3, from_us=298 * US)] == [298 * US, 299 * US]


def test_a_space_has_vectors_of_one_kind(store, making):
    with pytest.raises(EngineError, match="another name"):
        store.ensure_space(WORDS)
    wrong = NewPassage(kind="chunk", text="x", vectors={making.space.name: making.unit(1)})
    with pytest.raises(EngineError, match="has moment vectors, no passage vectors"), store.transaction() as tx:
        tx.add_document(making.document("x", passages=(wrong,)))
    with store.view() as view:
        assert view.documents() == []


def test_passages_survive_a_lost_file_and_redating(directory, making):
    with Store.open(directory) as store:
        store.ensure_space(WORDS, holds="passage")
        with store.transaction() as tx:
            for i in range(5):
                tx.add_document(making.document(f"{i}", i, i, passages=(passage(making, i),)))
    for path in (directory / "vectors").glob("words*"):
        path.unlink()
    with Store.open(directory) as store, store.view() as view:
        assert [hit.document.text for hit in view.search_passages(WORDS.name, making.unit(3, 8), 1)] == ["3"]
    assert check_memory(directory) == []


def test_what_was_said_is_found_by_its_words_and_its_speaker(store, making):
    with store.transaction() as tx:
        tomas, speaker = (tx.add_entity(NewEntity(kind=k, name=n, known_us=0)) for k, n in (("person", "Tomas"), ("voice", "speaker 3")))
        for i, who in enumerate((tomas, speaker, None)):
            said = making.document(
                f"the keys are here {i}", i * US, i * US, i * US, kind="utterance", origin="asr", speaker_id=who, confidence=0.5
            )
            tx.add_document(said)
        tx.add_document(making.document("the keys were seen"))
    with store.view() as view:
        assert [s.speaker and s.speaker.name for s in view.utterances()] == ["Tomas", "speaker 3", None]
        assert {hit.document.text[-1] for hit in view.search_text("keys", 9, kinds=("utterance",))} == set("012")
        assert [s.document.t0_us for s in view.utterances(newest_first=True, limit=2)] == [2 * US, 1 * US]
        assert [s.confidence for s in view.utterances(speaker_id=tomas)] == [0.5]
        assert view.utterances(stream="door") == []
    with store.transaction() as tx:
        merged = tx.merge_entity(speaker, tomas, 5 * US)
    with store.view() as view:
        assert [s.speaker and s.speaker.name for s in view.utterances()] == ["Tomas", "Tomas", None]
        assert len(view.utterances(speaker_id=tomas)) == len(view.utterances(speaker_id=speaker)) == 2
    with store.transaction() as tx:
        tx.unmerge(merged, 9 * US)
    with store.view() as view:
        assert len(view.utterances(speaker_id=tomas)) == 1
