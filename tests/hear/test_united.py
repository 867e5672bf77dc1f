"""Voices that turn out to be one, in the memory."""

from __future__ import annotations

import pytest

from edgemem.hear.listen import Heard
from edgemem.hear.utterances import StreamHearing
from edgemem.records import AFTER_END_US, US
from edgemem.remember.entries import NewEntity
from edgemem.remember.store import Store

T0_US = 1_777_881_600 * US


class Script:
    """A track that gives what it was made of at once."""

    notes = ()
    voices = b""
    heard_until_us = position_us = AFTER_END_US

    def __init__(self, heard):
        self._heard = heard

    def take(self):
        heard, self._heard = self._heard, []
        return heard


class Stamps:
    stream = "a"

    def stamp(self, t_us, offset_us):
        return t_us, offset_us


def said(number, speaker, united=()):
    t_us = T0_US + number * US
    return Heard(t0_us=t_us, t1_us=t_us + US, offset_us=number * US, text=f"line {number}", speaker=speaker, united=united)


def speakers(directory, heard, before=lambda _tx: None):
    with Store.open(directory) as store:
        store.ensure_stream("a", T0_US)
        with store.transaction() as tx:
            before(tx)
            StreamHearing("script", Script(heard), store, Stamps(), None).write(tx, lambda _spoken: None)
        with store.view() as view:
            return [one.speaker.name for one in view.utterances()]


LINES = [said(0, "speaker 1"), said(2, "speaker 2"), said(4, "speaker 1", (("speaker 2", "speaker 1"),))]


def named(tx, voice, name):
    ids = [tx.add_entity(NewEntity(kind=kind, name=one, known_us=T0_US)) for kind, one in (("voice", voice), ("person", name))]
    return tx.merge_entity(*ids, T0_US)


def test_what_both_said_is_one_voices(tmp_path):
    assert speakers(tmp_path / "m", LINES) == ["speaker 1"] * 3


@pytest.mark.parametrize("voice", ["speaker 1", "speaker 2"])
def test_a_name_that_one_of_them_has_holds_for_both(tmp_path, voice):
    assert speakers(tmp_path / "m", LINES, lambda tx: named(tx, voice, "Anna")) == ["Anna"] * 3


def test_two_who_have_names_stay_two(tmp_path):
    def name_both(tx):
        named(tx, "speaker 1", "Anna")
        named(tx, "speaker 2", "Ben")

    assert speakers(tmp_path / "m", LINES, name_both) == ["Anna", "Ben", "Anna"]


def test_what_a_person_parted_stays_two(tmp_path):
    def part(tx):
        ids = [tx.add_entity(NewEntity(kind="voice", name=name, known_us=T0_US)) for name in ("speaker 2", "speaker 1")]
        tx.unmerge(tx.merge_entity(*ids, T0_US), T0_US)

    assert speakers(tmp_path / "m", LINES, part) == ["speaker 1", "speaker 2", "speaker 1"]
