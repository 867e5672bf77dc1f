"""The speech channel: quotes with their time and their speaker."""

from __future__ import annotations

import pytest

from edgemem.answer.retrieve import Query
from edgemem.answer.retrievers.people import SpeechRetriever
from edgemem.clock import from_iso
from edgemem.records import US
from edgemem.remember.entries import NewDocument, NewEntity
from edgemem.remember.store import Store
from edgemem.remember.view import View

START_US = from_iso("2026-05-04T10:00:00Z")
TALK = (
    (0, "speaker 1", "Good morning, did you sleep well?"),
    (10, "speaker 2", "The printer on the second floor is broken again."),
    (20, "speaker 1", "I will call somebody about the printer tomorrow."),
    (30, "", "The train to Vienna leaves at nine."),
    (40, "speaker 2", "Keep the ladder until Friday."),
)


@pytest.fixture(scope="module")
def memory(tmp_path_factory):
    directory = tmp_path_factory.mktemp("talk") / "memory"
    with Store.open(directory) as store, store.transaction() as tx:
        for second, speaker, text in TALK:
            t_us = START_US + second * US
            speaker_id = tx.add_entity(NewEntity(kind="voice", name=speaker, known_us=t_us)) if speaker else None
            tx.add_document(
                NewDocument(
                    kind="utterance", text=text, stream="kitchen", t0_us=t_us, t1_us=t_us + 3 * US, offset_us=second * US,
                    known_us=t_us + 3 * US, origin="asr", speaker_id=speaker_id, confidence=0.9,
                )
            )  # fmt: skip
        tx.add_document(
            NewDocument(
                kind="event", text="printer, desk", stream="kitchen", t0_us=START_US, t1_us=START_US + US, offset_us=0,
                known_us=START_US, origin="caption",
            )
        )  # fmt: skip
        tomas = tx.add_entity(NewEntity(kind="person", name="Tomas Novak", known_us=START_US))
        tx.merge_entity(tx.add_entity(NewEntity(kind="voice", name="speaker 2", known_us=START_US)), tomas, START_US)
    return directory


def found(memory, text, as_of_us=None, **query):
    with View.open(memory, as_of_us) as view:
        hits = SpeechRetriever().retrieve(Query(text=text, **query), view, 5)
    assert all(evidence.channel == "speech" and evidence.id.startswith("d") for evidence in hits.evidence)
    return [(evidence.offset_us // US, evidence.text) for evidence in hits.evidence], hits.confidence


def test_a_quote_comes_with_its_speaker_and_time(memory):
    quotes, confidence = found(memory, "train to Vienna")
    assert quotes[0] == (30, "The train to Vienna leaves at nine.")
    assert confidence == 1.0


def test_only_what_was_said_is_found(memory):
    quotes, _ = found(memory, "printer")
    assert sorted(second for second, _ in quotes) == [10, 20]


def test_what_somebody_said_about_something(memory):
    assert found(memory, "what did Tomas say about the printer")[0] == [
        (10, "Tomas Novak: The printer on the second floor is broken again.")
    ]
    assert [second for second, _ in found(memory, "what did speaker 1 say about the printer")[0]] == [20]


def test_what_somebody_said_at_all_newest_first(memory):
    assert [second for second, _ in found(memory, "what did Tomas say?")[0]] == [40, 10]


def test_the_stretch_of_time_and_the_cut_off_hold(memory):
    assert [second for second, _ in found(memory, "printer", from_us=START_US + 15 * US)[0]] == [20]
    assert [second for second, _ in found(memory, "printer", START_US + 15 * US)[0]] == [10]
    assert found(memory, "printer", START_US + 5 * US) == ([], 0.0)


def test_what_nobody_said_is_not_found(memory):
    assert found(memory, "elephant") == ([], 0.0)
