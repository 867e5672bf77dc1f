"""Voices and faces that come in with an import are others than those that have the same number here."""

from __future__ import annotations

import numpy as np
import pytest
import simplejpeg

from edgemem.errors import UsageError
from edgemem.infer.roles import Space
from edgemem.records import US, Box, Quote
from edgemem.remember.check import check_memory
from edgemem.remember.entries import NewEntity, NewMention, NewPart, NewPassage, NewRelation
from edgemem.remember.export import export
from edgemem.remember.imports import import_into
from edgemem.remember.store import Store
from edgemem.remember.view import View
from edgemem.see.entities import PartWriter
from edgemem.see.perceive import HeldSpace, Part

PICTURE = simplejpeg.encode_jpeg(np.zeros((8, 8, 3), np.uint8), 60, "BGR")
KNOWN = Space(name="known/8", dim=8, calibration={"same_entity": 0.9})


def remembered(directory, making, *names, first=1):
    """A memory in which voices that were named so say who they are, see a friend and are seen."""
    with Store.open(directory) as store:
        store.ensure_space(making.space)
        store.ensure_space(KNOWN, holds="entity")
        with store.transaction() as tx:
            other = tx.add_entity(NewEntity(kind="person", name="Carla", known_us=0))
            for number, name in enumerate(names, first):
                t_us = number * US
                voice = tx.add_entity(NewEntity(kind="voice", name=f"speaker {number}", known_us=t_us))
                tx.merge_entity(voice, tx.add_entity(NewEntity(kind="person", name=name, known_us=t_us)), t_us)
                said = making.document(
                    f"this is {name}", t_us, t_us, t_us, kind="utterance", origin="asr", speaker_id=voice, stream=directory.name
                )
                tx.add_document(said)
                edge = NewRelation(
                    type="TALKS_TO", source_id=voice, target_id=other, stream=directory.name, t0_us=t_us, t1_us=t_us, known_us=t_us
                )
                tx.add_relation(edge)
                moment = tx.add_moment(making.moment(t_us, stream=directory.name, jpeg=PICTURE))
                face = tx.add_entity(NewEntity(kind="face", name=f"face {number}", known_us=t_us))
                tx.set_entity_vector(face, KNOWN.name, making.unit(len(name), 8))
                tx.add_part(NewPart(kind="face", score=0.5, moment_id=moment, box=Box(0, 0, 1, 1), entity_id=face))
                tx.add_mention(NewMention(entity_id=face, known_us=t_us, moment_id=moment))
    return directory


def exported(directory):
    export(directory, directory.with_name(f"{directory.name} exported"))
    return directory.with_name(f"{directory.name} exported")


def told(directory):
    with View.open(directory) as view:
        said = sorted((spoken.document.text, spoken.speaker.name, *spoken.speaker.aliases) for spoken in view.utterances())
        talks = sorted((relation.source.name, relation.target.name) for relation in view.relations())
        seen = sorted((moment.stream, part.entity.name) for moment in view.moments() for part in view.parts(moment_id=moment.id))
        return said, talks, seen


def test_voices_and_faces_of_another_memory_stay_others(tmp_path, making):
    here = remembered(tmp_path / "here", making, "Anna", "Zoe")
    import_into(here, exported(remembered(tmp_path / "there", making, "Bob", "Anna")))
    said, talks, seen = told(here)
    assert said == [
        ("this is Anna", "Anna", "speaker 1", "speaker 4"),  # two voices of one person: both were named so by a person
        ("this is Anna", "Anna", "speaker 1", "speaker 4"),
        ("this is Bob", "Bob", "speaker 3"),
        ("this is Zoe", "Zoe", "speaker 2"),
    ]
    assert talks == [("Anna", "Carla"), ("Anna", "Carla"), ("Bob", "Carla"), ("Zoe", "Carla")]
    assert seen == [("here", "face 1"), ("here", "face 2"), ("there", "face 3"), ("there", "face 4")]
    with View.open(here) as view:
        assert [view.nearest_entities(KNOWN.name, making.unit(3, 8), 9)[0].entity.name] == ["face 2"]
    assert check_memory(here) == []


def test_what_was_written_names_the_voices_by_their_new_numbers_and_what_was_heard_stays(tmp_path, making):
    here, there = remembered(tmp_path / "here", making, "Anna"), remembered(tmp_path / "there", making, "Bob", "Dora")
    with Store.open(there) as store, store.transaction() as tx:
        for kind, text in (("fused", 'speaker 1 says "hi" to speaker 2; gate 1, speaker 1x'), ("utterance", "I am speaker 1")):
            passages = (NewPassage(kind="chunk", text=text[:15], vectors={}),)
            tx.add_document(making.document(text, 9 * US, 9 * US, 9 * US, kind=kind, stream="there", passages=passages))
    import_into(here, exported(there))
    with Store.open(here) as store, store.transaction() as tx:
        sql = "SELECT d.text, substr(d.text, p.start + 1, p.length) FROM document d JOIN passage p ON p.document_id = d.id"
        assert tx.connection.execute(f"{sql} ORDER BY d.id").fetchall() == [
            ('speaker 2 says "hi" to speaker 3; gate 1, speaker 1x', "speaker 2 says "),
            ("I am speaker 1", "I am speaker 1"),
        ]


def test_a_quote_that_was_written_names_the_voices_by_their_new_numbers_and_one_that_was_heard_stays(tmp_path, making):
    here, there = remembered(tmp_path / "here", making, "Anna"), remembered(tmp_path / "there", making, "Bob")
    quotes = tuple(Quote(text=f"speaker 1 is told by {origin}", origin=origin) for origin in ("caption", "asr", "ocr", "user"))
    with Store.open(there) as store, store.transaction() as tx:
        one = tx.add_entity(NewEntity(kind="person", name="Dora", known_us=0))
        edge = NewRelation(type="USES", source_id=one, target_id=one, stream="there", t0_us=0, t1_us=0, known_us=0, quotes=quotes)
        tx.add_relation(edge)
    import_into(here, exported(there))
    with View.open(here) as view:
        told_here = [quote.text for relation in view.relations() for quote in relation.quotes]
    assert told_here == [
        "speaker 2 is told by caption",
        "speaker 1 is told by asr",
        "speaker 1 is told by ocr",
        "speaker 2 is told by user",
    ]


def test_the_same_export_comes_in_twice_only_when_it_is_said(tmp_path, making):
    here, there = remembered(tmp_path / "here", making, "Anna"), exported(remembered(tmp_path / "there", making, "Bob"))
    other = exported(remembered(tmp_path / "other", making, "Carla"))
    import_into(here, there)
    once = told(here)
    with pytest.raises(UsageError, match=r"was imported into .* before: with --again"):
        import_into(here, there)
    assert told(here) == once
    assert import_into(here, other) == 1
    assert import_into(here, there, again=True) == 1
    assert [text for text, *_ in told(here)[0]] == ["this is Anna", "this is Bob", "this is Bob", "this is Carla"]


def test_an_export_that_comes_in_again_and_is_interrupted_goes_on_too(tmp_path, making, monkeypatch):
    there = exported(remembered(tmp_path / "there", making, "Bob", "Carla", "Dora"))
    monkeypatch.setattr("edgemem.remember.imports._BATCH", 1)
    import_into(tmp_path / "here", there)

    def interrupted(done, _total):
        if done == 8:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        import_into(tmp_path / "here", there, again=True, progress=interrupted)
    assert import_into(tmp_path / "here", there) == 3
    assert [text for text, *_ in told(tmp_path / "here")[0]] == [
        f"this is {name}" for name in ("Bob", "Bob", "Carla", "Carla", "Dora", "Dora")
    ]


def test_an_empty_memory_gets_every_number_as_it_was(tmp_path, making):
    there = remembered(tmp_path / "there", making, "Bob", "Anna", first=3)
    import_into(tmp_path / "new", exported(there))
    assert told(tmp_path / "new") == told(there)


def test_an_interrupted_import_goes_on_with_the_same_numbers(tmp_path, making, monkeypatch):
    here, there = remembered(tmp_path / "here", making, "Anna"), exported(remembered(tmp_path / "there", making, "Bob", "Carla", "Dora"))
    monkeypatch.setattr("edgemem.remember.imports._BATCH", 1)
    with Store.open(here) as store, store.transaction() as tx:
        tx.set_state("entities/face", b"5")  # faces 2 to 5 are forgotten: nobody gets their numbers

    def interrupted(done, _total):
        if done == 8:  # among the entities
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        import_into(here, there, progress=interrupted)
    with View.open(here) as view:
        assert 1 < view.highest_number("speaker") < 4
    import_into(here, there)
    said, _, seen = told(here)
    assert [names[1:] for names in said] == [("Anna", "speaker 1"), ("Bob", "speaker 2"), ("Carla", "speaker 3"), ("Dora", "speaker 4")]
    assert [name for _, name in seen] == ["face 1", "face 6", "face 7", "face 8"]


def test_a_new_face_after_an_import_has_a_new_number(tmp_path, making):
    import_into(tmp_path / "new", exported(remembered(tmp_path / "there", making, "Bob", "Anna")))
    held = HeldSpace(space=KNOWN, holds="entity")
    with Store.open(tmp_path / "new") as store:
        writer = PartWriter([held], store)
        with store.transaction() as tx:
            for seed in (50, 51):
                part = Part(kind="face", score=1.0, vectors={KNOWN.name: making.unit(seed, 8)}, entity="face")
                writer.write(tx, 1, US, [part])
        with store.view() as view:
            assert [entity.name for entity in view.entities(kind="face")] == ["face 1", "face 2", "face 3", "face 4"]


@pytest.mark.parametrize(
    ("name", "number"),
    [("speaker 3", 3), ("Speaker 4", 4), ("speaker 30x", 0), ("speaker 03", 0), ("speaker 1234567890", 0), ("speakers 3", 0)],
)
def test_the_highest_number_is_of_whole_names(store, name, number):
    with store.transaction() as tx:
        tx.add_entity(NewEntity(kind="person", name=name, known_us=9 * US))
    with store.view(0) as view:
        assert view.highest_number("speaker") == number
