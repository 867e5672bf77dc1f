"""A new voice gets a number that no voice of the memory has."""

from __future__ import annotations

import msgspec

from edgemem.hear.utterances import StreamHearing
from edgemem.hear.voices import VoicePrint, VoicesState, numbered_after
from edgemem.remember.entries import NewEntity
from edgemem.remember.store import Store


class Restored:
    """A track that notes what it was given."""

    def restore(self, _position_us, voices):
        self.voices = voices

    def start(self):
        pass


def test_numbers_go_on_after_the_highest_of_the_memory(tmp_path):
    """An import brings voices, and not the state of the recogniser that numbered them."""
    print_ = VoicePrint(number=2, seconds=3.0, heard=1, vector=bytes(8))
    with Store.open(tmp_path / "m") as store:
        for saved, highest in ((b"", 0), (b"", 7), (msgspec.msgpack.encode(VoicesState("s", 1, 2, [print_])), 7)):
            with store.transaction() as tx:
                tx.set_state("hear/script", saved)
                if highest:
                    tx.add_entity(NewEntity(kind="voice", name=f"speaker {highest}", known_us=0))
            track = Restored()
            StreamHearing("script", track, store, None, None).start(0)
            if not highest:
                assert track.voices == b""
                continue
            found = msgspec.msgpack.decode(track.voices, type=VoicesState)
            assert found.last == highest
            assert len(found.voices) == (1 if saved else 0)


def test_a_state_of_another_kind_is_left_alone():
    assert numbered_after(b"not a state", 3) == b"not a state"
    later = msgspec.msgpack.encode(VoicesState("s", 1, 9, []))
    assert numbered_after(later, 3) == later
