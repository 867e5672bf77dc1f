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
from tests.remember.test_forget import everything

ZOE = "Zo\u00eb O\u2019Neil"
OTHER_ZOE = unicodedata.normalize("NFD", ZOE)


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
            for name, text in (("speaker 1", "good morning"), ("speaker 12", "good night")):
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
        (("speaker 1", "speaker:1", "Speaker  1", "speaker-1"), "speaker 1", 0, "good morning"),
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


@pytest.fixture
def talk(directory, making):
    """Two voices, in two streams; the second is heard from 20 s on."""
    with Store.open(directory) as store, store.transaction() as tx:
        for number, stream in ((1, "hall"), (2, "yard")):
            voice = tx.add_entity(NewEntity(kind="voice", name=f"speaker {number}", known_us=number * 10 * US))
            for t_us in (number * 10 * US, number * 10 * US + US):
                said = making.document(f"line {t_us}", t_us, t_us, t_us, kind="utterance", origin="asr", speaker_id=voice, stream=stream)
                tx.add_document(said)
    return directory


def named(directory, number, name, known_us):
    """As `edgemem name` does it; "" takes the name back."""
    with Store.open(directory) as store, store.transaction() as tx:
        voice = tx.own_names(f"speaker {number}")[0][0]
        if name:
            tx.merge_entity(voice, tx.add_entity(NewEntity(kind="person", name=name, known_us=known_us)), known_us)
        else:
            tx.unmerge(tx.merge_of(voice), known_us)


def listed(directory, as_of_us=None):
    with View.open(directory, as_of_us) as view:
        found = [entity.name for entity in view.entities()]
        assert view.stats().entities == len(found)
        return found


NAMES = [("Berta Zyx",), ("Annabella", "Berta Zyx"), ("Annabella", "Berta Zyx", ""), ("Annabella", "", "Berta Zyx")]
"""One after the other; "" takes the name back."""
EVERYTHING = [Wanted(from_us=0, to_us=50 * US), Wanted(stream="hall"), Wanted(entity="speaker 1"), Wanted(entity="Berta Zyx")]


@pytest.mark.parametrize("wanted", EVERYTHING)
@pytest.mark.parametrize(
    "names", [("Berta Zyx",), ("Annabella", "Berta Zyx"), ("Annabella", "Berta Zyx", ""), ("Annabella", "", "Berta Zyx")]
)
def test_no_name_of_a_voice_outlives_it(talk, wanted, names):
    for number, name in enumerate(names):
        named(talk, 1, name, (60 + number) * US)
    if wanted.entity == "Berta Zyx" and not names[-1]:
        wanted = Wanted(entity="speaker 1")  # the name is not its name any more
    forget(talk, wanted)
    assert listed(talk) == ([] if wanted.from_us == 0 else ["speaker 2"])
    assert [name for name in (b"nnabella", b"erta") if name in everything(talk)] == []
    assert check_memory(talk) == []


def test_a_name_stays_while_a_voice_has_it(talk):
    named(talk, 1, "Anna", 60 * US)
    named(talk, 2, "Anna", 61 * US)
    named(talk, 1, "Berta", 62 * US)
    forget(talk, Wanted(from_us=10 * US, to_us=10 * US))  # one of two lines
    assert listed(talk) == ["Anna", "Berta"]
    assert listed(talk, 61 * US) == ["Anna"]  # what was known then is not changed
    forget(talk, Wanted(stream="hall"))
    assert listed(talk) == ["Anna"]
    forget(talk, Wanted(stream="yard"))
    assert listed(talk) == []


def test_a_name_stays_though_the_only_picture_that_tells_of_it_goes(talk, making):
    named(talk, 1, "Anna", 60 * US)
    with Store.open(talk) as store:
        store.ensure_space(making.space)
        with store.transaction() as tx:
            moment = tx.add_moment(making.moment(0))
            tx.add_mention(NewMention(entity_id=tx.own_names("Anna")[0][0], known_us=0, moment_id=moment))
    forget(talk, Wanted(evidence=(f"m{moment}",)))
    assert listed(talk) == ["speaker 2", "Anna"]


def test_a_voice_of_which_all_faded_goes_with_its_time_and_its_name(talk):
    named(talk, 1, "Anna", 60 * US)
    with Store.open(talk) as store, store.transaction() as tx:
        for (document_id,) in tx.connection.execute("SELECT id FROM document WHERE t0_us < ?", (15 * US,)).fetchall():
            tx.drop_document(document_id)
    forget(talk, Wanted(from_us=10 * US, to_us=11 * US))
    assert listed(talk) == ["speaker 2"]


@pytest.mark.parametrize("after", ["", "Berta"])
def test_a_name_that_was_taken_back_or_corrected_is_not_listed(talk, after):
    named(talk, 1, "Anna", 60 * US)
    named(talk, 1, after, 70 * US)
    assert sorted(listed(talk)) == sorted([after or "speaker 1", "speaker 2"])
    assert listed(talk, 65 * US) == ["speaker 2", "Anna"]
    named(talk, 1, "Anna", 80 * US)
    assert listed(talk) == ["speaker 2", "Anna"]
