"""Naming a voice and removing its name."""

from __future__ import annotations

import json

import msgspec
import pytest

from edgemem.hear.voices import VoicePrint, VoicesState
from edgemem.records import US
from edgemem.remember.entries import NewDocument, NewEntity
from edgemem.remember.store import Store

T0_US = 1_777_881_600 * US


@pytest.fixture
def talk(tmp_path, home):
    directory = tmp_path / "talk"
    assert home.parent == tmp_path
    with Store.open(directory) as store, store.transaction() as tx:
        for number, speaker in enumerate(("speaker 1", "speaker 2", "speaker 1")):
            speaker_id = tx.add_entity(NewEntity(kind="voice", name=speaker, known_us=T0_US))
            tx.add_document(
                NewDocument(
                    kind="utterance", text=f"sentence {number}", stream="a", t0_us=T0_US + number * US, t1_us=T0_US + number * US,
                    offset_us=0, known_us=T0_US, origin="asr", speaker_id=speaker_id,
                )
            )  # fmt: skip
    return directory


def speakers(talk):
    with Store.open(talk) as store, store.view() as view:
        return [spoken.speaker.name for spoken in view.utterances()]


def test_a_name_stands_for_all_that_the_voice_said_until_it_is_taken_back(run, talk):
    code, out, _ = run("name", "speaker:1", "Tomas", "--memory", talk)
    assert code == 0
    assert "speaker 1 is Tomas: 2 utterances" in out
    assert "--undo" in out
    assert speakers(talk) == ["Tomas", "speaker 2", "Tomas"]
    assert run("name", "speaker:1", "Tomas", "--memory", talk)[0] == 0  # saying it twice changes nothing
    assert run("name", "speaker:2", "Tomas", "--memory", talk)[0] == 0
    assert speakers(talk) == ["Tomas"] * 3
    assert run("name", "speaker:1", "Anna Bell", "--memory", talk)[0] == 0
    assert speakers(talk) == ["Anna Bell", "Tomas", "Anna Bell"]
    code, out, _ = run("name", "speaker:1", "--undo", "--memory", talk, "--json")
    assert json.loads(out) == {"speaker": 1, "name": None, "utterances": 2}
    assert speakers(talk) == ["speaker 1", "Tomas", "speaker 1"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("speaker:9", "Tomas"), "has heard no"),
        (("Tomas", "Anna"), "write it like speaker:3"),
        (("speaker:1",), "give either a name"),
        (("speaker:1", "Tomas", "--undo"), "give either a name"),
        (("speaker:1", "   "), "1 to 100 characters"),
        (("speaker:1", "speaker 2"), "not itself a speaker's number"),
        (("speaker:1", "--undo"), "no name that could be removed"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(run, talk, arguments, says):
    code, _, err = run("name", *arguments, "--memory", talk)
    assert code == 2
    assert says in err
    assert err.count("\n") == 1
    assert speakers(talk) == ["speaker 1", "speaker 2", "speaker 1"]


def test_who_is_forgotten_is_not_known_by_voice_either(run, talk, recipe):
    def print_of(number):
        return VoicePrint(number=number, seconds=3.0, heard=number, vector=bytes(8))

    with Store.open(talk) as store, store.transaction() as tx:
        state = VoicesState(space="s", count=3, last=2, voices=[print_of(1), print_of(2)])
        tx.set_state("hear/whisper", msgspec.msgpack.encode(state))
        tx.set_state("hear/other", b"not understood")
    assert run("name", "speaker:2", "Tomas", "--memory", talk)[0] == 0
    code, _, err = run("forget", "--entity", "Tomas", "--memory", talk, "--recipe", recipe)
    assert code == 0, err
    with Store.open(talk) as store:
        left = msgspec.msgpack.decode(store.state("hear/whisper"), type=VoicesState)
        assert not store.state("hear/other")
    assert [voice.name for voice in left.voices] == ["speaker 1"]
    assert left.last == 2  # the next new voice is speaker 3
    assert run("forget", "--stream", "a", "--memory", talk, "--recipe", recipe)[0] == 0
    with Store.open(talk) as store:
        assert msgspec.msgpack.decode(store.state("hear/whisper"), type=VoicesState).voices == []
