"""All dates of a wrong clock are corrected, and no others."""

from __future__ import annotations

import msgspec
import pytest

from edgemem.infer.roles import Space
from edgemem.records import US
from edgemem.remember.check import check_memory
from edgemem.remember.entries import NewEntity, NewMention, NewPassage, NewRelation, NewSession
from edgemem.remember.store import Store
from edgemem.remember.view import View

NOW = 1_790_000_000 * US
"""The correct time when the wrong clock was 0."""
WORDS = Space(name="words/8", dim=8)


@pytest.fixture
def memory(directory, making):
    """Seen at 1970 and ten to fifty seconds, then after the clock was set; heard and known in both."""
    with Store.open(directory) as store:
        store.ensure_space(making.space)
        store.ensure_space(WORDS, holds="passage")
        with store.transaction() as tx:
            tx.add_moment(making.moment(NOW - 1000 * US, stream="hall"))
            moments = [
                tx.add_moment(msgspec.structs.replace(making.moment(s * US), mono_us=s * US, boot_id="b")) for s in range(10, 60, 10)
            ]

            def say(text, t_us, who, **more):
                vectors = {WORDS.name: making.unit(len(text), 8)}
                spoken = {
                    "kind": "utterance",
                    "origin": "asr",
                    "speaker_id": who,
                    "passages": (NewPassage(kind="chunk", text=text, vectors=vectors),),
                }
                return making.document(text, t_us, t_us + US, t_us + US, **spoken, **more)

            tomas = tx.add_entity(NewEntity(kind="person", name="Tomas", known_us=21 * US))
            voice = tx.add_entity(NewEntity(kind="voice", name="speaker 3", known_us=20 * US))
            other = tx.add_entity(NewEntity(kind="person", name="Anna", known_us=25 * US))  # of another stream
            first = tx.add_document(say("hello", 20 * US, voice))
            tx.replace_document(first, msgspec.structs.replace(say("hello there", 20 * US, voice), known_us=30 * US))
            tx.add_document(say("still here", 55 * US, voice))  # after the last picture
            tx.add_document(say("before all", 5 * US, voice))  # before the first
            alias = tx.add_alias(tomas, "Tom", 22 * US)
            tx.retract_alias(alias, 26 * US)
            merge = tx.merge_entity(voice, tomas, 23 * US)
            tx.unmerge(merge, 27 * US)
            tx.add_mention(NewMention(entity_id=tomas, known_us=21 * US, document_id=first))
            edge = {"type": "TALKS_TO", "source_id": tomas, "target_id": voice, "stream": "cam", "t0_us": 20 * US, "t1_us": 21 * US}
            old = tx.add_relation(NewRelation(known_us=21 * US, **edge))
            tx.replace_relation(old, NewRelation(known_us=31 * US, **edge))
            tx.add_document(making.document("in the hall", NOW, NOW, NOW, stream="hall"))
            answer = {"question": "who?", "recipe": "r", "planner": "p", "status": "answered", "answer": "Tomas", "confidence": 1.0}
            tx.add_session(NewSession(asked_us=33 * US, as_of_us=33 * US, evidence=(f"m{moments[0]}",), **answer))
            tx.add_session(NewSession(asked_us=NOW + 70 * US, as_of_us=NOW + 70 * US, evidence=(f"m{moments[0]}",), **answer))
    return directory, other


def told(directory, as_of_us):
    with View.open(directory, as_of_us) as view:
        return [
            [(d.text, d.known_us - d.t0_us) for d in view.documents(stream="cam")],
            [(e.name, e.aliases) for e in view.entities() if e.name != "Anna"],
            [(s.document.text, s.speaker and s.speaker.name) for s in view.utterances()],
            [(r.source.name, r.target.name, r.known_us - r.t0_us) for r in view.relations()],
            [len(view.segments()), [m.offset_us for m in view.moments(stream="cam")]],
            [hit.document.text for hit in view.search_passages(WORDS.name, [1.0] * 8, 9)],
            [head.id for head in view.sessions()],
        ]


def test_at_every_second_the_same_is_known_as_before(memory):
    directory, other = memory
    seconds = [0, 7, 15, 20, 21, 22, 23, 24, 26, 27, 29, 30, 31, 33, 56, 60]
    before = [told(directory, s * US) for s in seconds]
    assert len({str(known) for known in before}) > 10
    with Store.open(directory) as store, store.transaction() as tx:
        assert tx.reanchor("cam", "b", NOW) == 5
    assert [told(directory, NOW + s * US) for s in seconds] == before
    with View.open(directory, 100 * US) as early:
        assert [e.id for e in early.entities()] == [other]
        assert early.documents() == early.relations() == early.sessions() == []
    with Store.open(directory) as store, store.transaction() as tx:
        assert tx.reanchor("cam", "b", NOW) == 0
    assert [told(directory, NOW + s * US) for s in seconds] == before
    with View.open(directory) as view:
        assert [s.asked_us for s in view.sessions()] == [NOW + 70 * US, NOW + 33 * US]
        assert [d.t0_us for d in view.documents(stream="hall")] == [NOW]
    assert check_memory(directory) == []


def test_clocks_read_one_after_the_other_move_nothing_apart(directory, making):
    with Store.open(directory) as store:
        store.ensure_space(making.space)
        with store.transaction() as tx:
            for s in range(1, 30):
                at_us = s * US + s * 37 % 11  # between the readings of two clocks some microseconds pass, now more, now fewer
                moment_id = tx.add_moment(msgspec.structs.replace(making.moment(at_us), mono_us=s * US, boot_id="b"))
                tx.add_document(making.document("EXIT", at_us, at_us, at_us, kind="text", moment_id=moment_id))
        with store.transaction() as tx:
            assert tx.reanchor("cam", "b", NOW) == 29
        with store.view() as view:
            times = [moment.t_us for moment in view.moments()]
            assert [(d.t0_us, d.known_us) for d in view.documents()] == [(t_us, t_us) for t_us in times]
            assert all(abs(t_us - NOW - s * US) < 20 for s, t_us in enumerate(times, 1))
        with store.transaction() as tx:
            assert tx.reanchor("cam", "b", NOW + 5) == 0


@pytest.mark.parametrize("off_us", [-3 * US, 3 * US, NOW])
def test_what_is_said_in_a_still_scene_moves_with_the_last_picture(directory, making, off_us):
    with Store.open(directory) as store:
        with store.transaction() as tx:
            new = msgspec.structs.replace(making.moment(NOW + off_us), mono_us=0, boot_id="b", vectors={})
            tx.add_moment(new)
            for s in (20, 250):
                tx.add_document(making.document("still here", *[NOW + off_us + s * US] * 3))
        with store.transaction() as tx:
            assert tx.reanchor("cam", "b", NOW) == 1
        with store.view() as view:
            assert [(d.t0_us - NOW, d.known_us - NOW) for d in view.documents()] == [(20 * US, 20 * US), (250 * US, 250 * US)]
