"""A name that is written in another way forgets the same; no name outlives the last thing that tells of it."""

from __future__ import annotations

import unicodedata

import pytest

from edgemem.errors import UsageError
from edgemem.records import US
from edgemem.remember.check import check_memory
from edgemem.remember.entries import NewEntity, NewMention, NewSession
from edgemem.remember.forget import Wanted, forget
from edgemem.remember.names import plain_name
from edgemem.remember.store import Store
from edgemem.remember.view import View

ZOE = "Zo\u00eb O\u2019Neil"
OTHER_ZOE = unicodedata.normalize("NFD", ZOE)


def everything(directory):
    return b"\0\0".join(path.read_bytes() for path in sorted(directory.rglob("*")) if path.is_file())


@pytest.fixture
def memory(directory, making):
    """Seen and told of: a voice, keys that were taught, a label, a person; and what has names that are nearly the same."""
    with Store.open(directory) as store:
        store.ensure_space(making.space)
        with store.transaction() as tx:
            for number, label in enumerate(("keyboard", "street sign", "street signal", "", "")):
                tx.add_moment(making.moment(number * US, seen=(making.label(label, 0.9),) if label else ()))
            kinds = {"keys": "object", "keyboard": "object", ZOE: "person", "speaker 1": "voice", "speaker 12": "voice"}
            things = {name: tx.add_entity(NewEntity(kind=kind, name=name, known_us=0)) for name, kind in kinds.items()}
            tx.add_alias(things["keys"], "my keys", 0)
            tx.add_mention(NewMention(entity_id=things["keys"], known_us=0, moment_id=4))
            tx.add_mention(NewMention(entity_id=things["keyboard"], known_us=0, moment_id=1))
            tx.add_mention(NewMention(entity_id=things[ZOE], known_us=0, moment_id=5))
            for name in ("speaker 1", "speaker 12"):
                text = f"it is {name} who talks"
                tx.add_document(making.document(text, 0, US, US, kind="utterance", origin="asr", speaker_id=things[name], stream="other"))
            tx.add_document(making.document(f"{OTHER_ZOE} came in", 0, US, US, stream="other"))
            asked = NewSession(
                question=f"who is {OTHER_ZOE}?", recipe="r", planner="p", asked_us=0, as_of_us=0, status="answered",
                answer="", confidence=0.5,
            )  # fmt: skip
            tx.add_session(asked)
            tx.add_job("w", "other", f"ask about {OTHER_ZOE}".encode(), 0)
    return directory


def left(directory):
    with View.open(directory) as view:
        seen = {moment.id for moment in view.moments()}
        return {entity.name for entity in view.entities()}, seen, {document.text for document in view.documents()}, len(view.sessions())


@pytest.mark.parametrize(
    ("names", "entity", "moment", "text"),
    [
        (("speaker 1", "speaker:1", "Speaker  1", "speaker-1"), "speaker 1", 0, "it is speaker 1 who talks"),
        (("keys", "my keys", "the keys", "Your\tKEYS", "their  keys"), "keys", 4, ""),
        (("street sign", "street-sign", "the Street  Sign"), "", 2, ""),
        ((ZOE, OTHER_ZOE, "ZO\u00cb O'NEIL", "zo\u00eb  o neil"), ZOE, 5, f"{OTHER_ZOE} came in"),
    ],
)
def test_however_a_name_is_written_the_same_is_forgotten(memory, names, entity, moment, text):
    before = left(memory)
    receipts = [forget(memory, Wanted(entity=name), dry_run=True) for name in names]
    assert receipts == receipts[:1] * len(names)
    forget(memory, Wanted(entity=names[-1]))
    expected = [gone - {key} for gone, key in zip(before[:3], (entity, moment, text), strict=True)]
    assert left(memory) == (*expected, 0 if entity == ZOE else 1)
    assert check_memory(memory) == []
    if entity == ZOE:
        assert b"neil" not in everything(memory).lower()
    with pytest.raises(UsageError, match="nothing called"):
        forget(memory, Wanted(entity=names[0]))


@pytest.mark.parametrize("name", ["key", "board", "street", "speaker 2", "Zoe O'Neil", "sign street"])
def test_a_part_of_a_name_is_another_name(memory, name):
    with pytest.raises(UsageError, match="nothing called"):
        forget(memory, Wanted(entity=name), dry_run=True)


def test_a_name_that_is_only_an_article_stays_a_name():
    assert [plain_name(name) for name in ("The", "a", "The The", "?!")] == ["the", "a", "the", ""]
