"""What evidence is worth: which model judges it, what a picture can show, and from when on it is said; probabilities by numpy."""

from typing import Any

import msgspec
import numpy as np
import pytest

from edgemem.answer import weigh
from edgemem.answer.gather import Candidate, GatherTool, Lead, Meaning, background, held_shares, signs_of, statements
from edgemem.answer.gather import Gather as Look
from edgemem.answer.retrieve import Episode, Hits, Query
from edgemem.answer.retrievers.readings import TextRetriever
from edgemem.answer.understand import Parsed, understand
from edgemem.records import US, Evidence
from edgemem.remember.entries import NewDocument, NewPassage, embedded
from edgemem.remember.store import Store
from edgemem.remember.view import View
from tests.answer.conftest import START_US, remember, text
from tests.answer.test_gather import Engines, Trigrams
from tests.answer.test_limits import Fixed


def evidence(name: str = "m1", channel: Any = "text", words: str = "") -> Evidence:
    return Evidence(id=name, channel=channel, stream="s", t0_us=0, t1_us=0, offset_us=0, score=1.0, text=words)


def said(words: str, **more: Any) -> Candidate:
    return Candidate(channel="speech", text=words, evidence=(evidence(),), **more)


def oracle(model: weigh.Model, features: dict[str, float]) -> float:
    """The logistic function over a dot product, by numpy in 64 bits."""
    names = sorted(model.weights)
    x = np.array([features[name] for name in names]) @ np.array([model.weights[name] for name in names]) + model.constant
    return float(1 / (1 + np.exp(-x)))


@pytest.mark.parametrize(
    ("question", "one", "features", "model"),
    [
        ("Where is the key?", said("The key is in the hall.", held=0.5, cosine=0.6, above=4.0),
         {"held": 0.5, "cosine": 0.6, "above": 0.5, "misfits": 0, "told": 0.5, "channel": 0}, "words"),
        ("Where is the key?", said("The key is in the hall.", held=0.5, cosine=-0.3, above=-2.0),
         {"held": 0.5, "cosine": 0, "above": 0, "misfits": 0, "told": 0.5, "channel": 0}, "words"),
        ("What did Anna say about the key?", said("It is lost.", held=1.0, cosine=0.2, above=16.0),
         {"held": 1.0, "cosine": 0.2, "above": 1.0, "misfits": 0, "told": 1.0, "channel": 1}, "words"),
        ("What is the price of the tea?", said("The tea is hot.", held=0.8),
         {"held": 0.8, "cosine": 0, "above": 0, "misfits": 1, "told": 1.0, "channel": 0}, "letters"),
        ("Where did I see the key?", said("upstairs", held=0.4, cosine=0.1),
         {"held": 0.4, "cosine": 0.1, "above": 0, "misfits": 0, "told": 0.2, "channel": 0}, "words"),
    ],
)  # fmt: skip
def test_the_probability_of_words(question: str, one: Candidate, features: dict[str, float], model: str) -> None:
    """Without the meaning of words (no cosine) a model of its own judges by letters."""
    asked, judge = understand(question), getattr(weigh.weights(), model)
    assert weigh.word_features(asked, one) == features
    assert weigh.stated(asked, one) == pytest.approx(oracle(judge, features))
    assert weigh.is_likely(weigh.stated(asked, one), one) is (oracle(judge, features) >= judge.least)


@pytest.mark.parametrize(
    ("fields", "shows"),
    [
        ({"kind": "what", "verb": "buy"}, False),
        ({"kind": "which", "verb": "buy"}, False),
        ({"kind": "what", "verb": "see"}, True),
        ({"kind": "what", "verb": "carry"}, True),
        ({"kind": "what"}, True),
        ({"kind": "what", "form": "code"}, False),
        ({"kind": "where", "verb": "buy", "form": "place"}, True),
        ({"kind": "where", "text": "where is it"}, True),
        ({"kind": "where", "hint": "said"}, False),
        ({"kind": "who"}, False),
        ({"kind": "when", "verb": "see"}, True),
        ({"kind": "when", "text": "when does it leave"}, False),
        ({"kind": "when", "text": "at what hour must i be there"}, False),
        ({"kind": "when", "text": "what time on saturday is the meeting"}, False),
        ({"kind": "when", "text": "what time on saturday was the meeting"}, True),
        ({"kind": "when", "text": "when did it leave"}, True),
        ({"kind": "when", "form": "topic"}, False),
        ({"kind": "when", "text": "can you tell me when i came across it"}, True),
        ({"kind": "when", "text": "can it tell me when it leaves"}, False),
        ({"kind": "what", "form": "colour", "text": "what color is it", "verb": "be"}, True),
        ({"kind": "what", "form": "", "text": "what is it", "verb": "buy"}, False),
        ({"kind": "how_many"}, True),
        ({"kind": "how_long", "form": "duration", "text": "how long did it take"}, True),
        ({"kind": "how_long", "form": "duration", "text": "how long has it been there"}, True),
        ({"kind": "how_long", "form": "duration", "text": "how long is the film"}, False),
    ],
)
def test_what_a_picture_can_show(fields: dict[str, Any], shows: bool) -> None:
    assert weigh.fits_pictures(Parsed(**fields)) is shows


@pytest.mark.parametrize(
    ("fields", "granted"),
    [
        ({"kind": "when"}, True),
        ({"kind": "how_many"}, True),
        ({"kind": "where", "text": "where is it"}, False),
        ({"kind": "where", "text": "where was it"}, True),
        ({"kind": "where", "text": "where do i see it", "verb": "see"}, True),
        ({"kind": "where", "text": "show me the cat"}, True),
        ({"kind": "where", "text": "skip to a cat"}, True),
        ({"kind": "where", "text": "find my cat"}, False),
        ({"kind": "yes_no", "text": "did i see it"}, False),
        ({"kind": "yes_no", "relation": "before", "anchors": ("cat",)}, True),
        ({"kind": "yes_no", "relation": "after", "anchors": ("cat",)}, True),
        ({"kind": "yes_no", "relation": "before"}, False),
        ({"kind": "yes_no", "relation": "while", "anchors": ("cat",)}, False),
    ],
)
def test_what_a_question_takes_for_granted(fields: dict[str, Any], granted: bool) -> None:
    asked = Parsed(**fields)
    assert weigh.takes_for_granted(asked) is granted
    seen = Episode(stream="s", t0_us=0, t1_us=0, offset_us=0, score=1.0, evidence=(evidence(channel="frame"),))
    for least, enough in ((weigh.weights().granted, granted), (weigh.weights().surely, True)):
        assert weigh.is_shown(asked, Lead(phrase="mug", confidence=least, episodes=(seen,))) is enough
        assert not weigh.is_shown(asked, Lead(phrase="mug", confidence=weigh.weights().granted - 0.01, episodes=(seen,)))


@pytest.mark.parametrize(
    ("fields", "seen"),
    [
        ({"kind": "yes_no", "predicate": "locked", "verb": "lock"}, False),
        ({"kind": "yes_no", "predicate": "missing"}, False),
        ({"kind": "what", "form": "colour", "predicate": "colour"}, True),
        ({"kind": "yes_no", "predicate": "sat", "verb": "sit"}, True),
        ({"kind": "when", "predicate": "bought", "verb": "buy", "text": "when did i buy it"}, False),
        ({"kind": "when", "predicate": "bought", "verb": "buy", "text": "when we just bought it"}, False),
        ({"kind": "how_many", "predicate": "bought", "verb": "buy", "text": "how often have i actually bought it"}, False),
        ({"kind": "when", "predicate": "bought", "verb": "buy", "text": "i bought it, when was it there"}, True),
        ({"kind": "when", "predicate": "cried", "verb": "cry", "text": "when did the baby cry for it"}, True),
        ({"kind": "when", "predicate": "bought", "verb": "buy", "text": "the dog was bought", "hint": "said"}, False),
        ({"kind": "when", "predicate": "started arrive", "verb": "start"}, True),
        ({"kind": "how_many", "predicate": "crop up", "verb": "crop"}, True),
        ({"kind": "yes_no", "predicate": "arrived", "verb": "arrive"}, False),
        ({"kind": "when", "predicate": "started ironing", "verb": "start", "text": "when did i start ironing"}, False),
        ({"kind": "when", "predicate": "tall", "verb": ""}, True),
        ({"kind": "how_long", "predicate": "tall", "verb": ""}, False),
        ({"kind": "what", "predicate": "number", "verb": "see"}, True),
        ({"kind": "which", "predicate": "left", "verb": ""}, True),
        ({"kind": "which", "predicate": "tall", "verb": ""}, False),
        ({"kind": "yes_no"}, True),
        ({"kind": "yes_no", "verb": "lose"}, False),
        ({"kind": "yes_no", "verb": "lose", "place": "in the hall"}, True),
        ({"kind": "how_long", "verb": "keep"}, False),
        ({"kind": "how_long", "verb": "keep", "place": "in the hall"}, True),
        ({"kind": "how_long", "verb": "see"}, True),
    ],
)
def test_claims_that_pictures_show(fields: dict[str, Any], seen: bool) -> None:
    assert weigh.is_seen(Parsed(**fields)) is seen


@pytest.mark.parametrize(
    ("fields", "prior"),
    [
        ({"kind": "yes_no", "verb": "see", "hint": "said"}, 0.0), ({"kind": "what", "verb": "see", "hint": "read"}, 1.0),
        ({"kind": "order", "text": "did it come first"}, 0.0), ({"kind": "how_long", "text": "how long was it"}, 0.0),
        ({"kind": "how_many", "text": "how many were there"}, 0.0), ({"kind": "how_many", "text": "how many are there"}, 0.2),
        ({"kind": "who"}, 0.9), ({"kind": "what", "form": "price"}, 0.9), ({"kind": "where", "text": "where will it be"}, 0.5),
        ({"kind": "what", "text": "what is it"}, 0.7), ({"kind": "what", "person": "Anna"}, 0.7), ({"kind": "what"}, 0.2),
        ({"kind": "which", "verb": "see"}, 0.2), ({"kind": "yes_no", "text": "is there a cat"}, 0.2),
        ({"kind": "when", "text": "what time is the film"}, 0.8),
        ({"kind": "when", "verb": "see", "text": "when do i see robert"}, 0.8),
        ({"kind": "when", "verb": "see", "text": "when did i see robert"}, 0.0),
        ({"kind": "when", "verb": "take", "text": "ba599 takes off at what hour?"}, 0.8),
        ({"kind": "when", "verb": "open", "text": "the shop opens when exactly?"}, 0.8),
        ({"kind": "when", "verb": "walk", "text": "the dog walks by at what time?"}, 0.0),
        ({"kind": "when", "verb": "be", "text": "the dog was at what time?"}, 0.0),
        ({"kind": "when", "text": "the keys at what time?"}, 0.0), ({"kind": "when", "verb": "shut", "text": "shut it when?"}, 0.0),
        ({"kind": "when", "things": ("dog",), "verb": "turn", "text": "the dog turns up when?"}, 0.0),
        ({"kind": "where", "text": "where should we go"}, 0.8), ({"kind": "where", "text": "where can i find it"}, 0.5),
        ({"kind": "where", "text": "where was the fire engine heading off to"}, 0.8),
        ({"kind": "where", "text": "where was it off to?"}, 0.8), ({"kind": "where", "text": "where has it got to?"}, 0.2),
        ({"kind": "where", "text": "where was the bird flying when i saw it"}, 0.2),
        ({"kind": "when", "text": "what time the film starts"}, 0.8), ({"kind": "when", "text": "when bus 66 leaves"}, 0.8),
        ({"kind": "when", "text": "when did it start, and when i left the leaves"}, 0.0),
        ({"kind": "when", "text": "when the dog barks"}, 0.0),
        ({"kind": "when", "things": ("flight lh1",), "text": "the departure time of flight lh1"}, 0.8),
        ({"kind": "when", "things": ("owl",), "text": "the sighting time of the owl"}, 0.0),
        ({"kind": "where", "text": "where am i going"}, 0.8), ({"kind": "where", "text": "where are they not going"}, 0.8),
        ({"kind": "where", "text": "where was i going"}, 0.2), ({"kind": "which", "text": "which things were we supposed to get"}, 0.8),
        ({"kind": "list", "text": "stuff we have to buy"}, 0.8), ({"kind": "which", "text": "which bits was i told to bring"}, 0.8),
        ({"kind": "which", "text": "which one was i meant to see"}, 0.2),
        ({"kind": "which", "text": "i meant to go, which cat was it"}, 0.2),
        ({"kind": "where", "text": "where was the van rushing off to"}, 0.8), ({"kind": "where", "text": "where does bus 44 go"}, 0.8),
        ({"kind": "where", "text": "where was the van off to"}, 0.8), ({"kind": "what", "text": "what was it for tonight"}, 0.8),
        ({"kind": "what", "text": "what was it for"}, 0.2), ({"kind": "what", "text": "what had i got to fetch"}, 0.8),
        ({"kind": "where", "text": "where did bus 44 go"}, 0.2), ({"kind": "where", "text": "where was the dog sleeping"}, 0.2),
        ({"kind": "when", "things": ("moth",), "text": "the moth, when is that"}, 0.5), ({"kind": "when", "text": "when is that"}, 0.8),
        ({"kind": "when", "things": ("film",), "text": "when is that film"}, 0.8),
        ({"kind": "where", "things": ("number 60 bus",), "text": "where was it"}, 0.8),
        ({"kind": "where", "things": ("3 mugs",), "text": "where was it"}, 0.2),
        ({"kind": "yes_no", "things": ("flight lh1",), "text": "was it delayed"}, 0.2),
    ],
)  # fmt: skip
def test_more_wordings_that_point_at_words_or_pictures(fields: dict[str, Any], prior: float) -> None:
    assert weigh.stated_prior(Parsed(**fields)) == prior


def lead_of(phrase: str = "gate", words: str = "GATE 18", **fields: Any) -> Lead:
    """A lead of .8 with one appearance."""
    seen = Episode(stream="s", t0_us=0, t1_us=0, offset_us=0, score=1.0, evidence=(evidence(words=words),))
    return Lead(**{"phrase": phrase, "confidence": 0.8, "episodes": (seen,), **fields})


@pytest.mark.parametrize(
    ("fields", "basis", "share"),
    [
        ({"kind": "what"}, "text", 0.0),  # that its name was read is no answer
        ({"kind": "what"}, "frame", 0.8),
        ({"kind": "where"}, "text", 0.8),
        ({"kind": "what", "things": ("gate",)}, "text", 0.8),
        ({"kind": "what", "quote": "gate"}, "text", 0.8),
        ({"kind": "what", "form": "number"}, "text", 0.8),
        ({"kind": "what", "form": "phone"}, "text", 0.0),
        ({"kind": "what", "form": "number"}, "frame", 0.0),
        ({"kind": "yes_no", "hint": "said", "things": ("gate",)}, "text", 0.0),  # that it was read is not what was said
        ({"kind": "where", "hint": "said", "verb": "mention", "things": ("gate",)}, "text", 0.0),
        ({"kind": "where", "hint": "said", "verb": "see", "things": ("gate",)}, "text", 0.8),
        ({"kind": "where", "verb": "mention", "things": ("gate",)}, "text", 0.8),
        ({"kind": "yes_no", "hint": "said", "verb": "see", "things": ("gate",)}, "frame", 0.8),
    ],
)
def test_when_what_was_seen_or_read_is_an_answer(fields: dict[str, Any], basis: Any, share: float) -> None:
    assert weigh.shown(Parsed(**fields), lead_of(basis=basis)) == share


@pytest.mark.parametrize(
    ("fields", "there"),
    [
        ({}, True), ({"named": False}, False), ({"episodes": ()}, False), ({"phrase": "address"}, False), ({"phrase": "place"}, False),
        ({"phrase": "address", "basis": "text"}, True), ({"phrase": "place", "basis": "text"}, True),
        ({"confidence": weigh.weights().granted}, True), ({"confidence": weigh.weights().granted - 1e-9}, False),
    ],
)  # fmt: skip
def test_what_a_question_refers_to_was_there(fields: dict[str, Any], there: bool) -> None:
    assert weigh.is_there(lead_of(**fields)) is there


@pytest.mark.parametrize(
    ("fields", "least"),
    [
        ({"kind": "when", "ordinal": -1}, "ordinal"), ({"kind": "where", "verb": "see", "ordinal": 1}, "ordinal"),
        ({"kind": "when"}, "granted"), ({"kind": "how_many", "ordinal": 1}, "granted"),
        ({"kind": "when", "ordinal": 1, "anchors": ("mug",)}, "granted"),
        ({"kind": "where", "text": "where is it", "ordinal": 1}, "surely"),
    ],
)  # fmt: skip
def test_more_is_asked_of_the_picture_of_a_first_or_last_time(fields: dict[str, Any], least: str) -> None:
    confidence = getattr(weigh.weights(), least)
    for less, enough in ((0.0, True), (1e-9, False)):
        assert weigh.is_shown(Parsed(**fields), lead_of(confidence=confidence - less)) is enough


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"kind": "who", "person": "Robert", "text": "who is Robert", "verb": "be"}, set()),
        ({"kind": "who", "person": "he", "text": "who is he"}, {"who", "is", "he"}),
        ({"kind": "who", "person": "Robert", "text": "who hit Robert", "verb": "hit"}, {"who", "hit", "robert", "Robert"}),
        ({"kind": "who", "person": "Robert", "things": ("dog",), "text": "who is Robert"}, {"who", "is", "robert", "Robert"}),
        ({"kind": "where", "person": "Robert", "text": "where is Robert"}, {"where", "is", "robert", "Robert"}),
        ({"kind": "which", "choices": ("the cat",), "text": "cat or dog"}, {"or", "dog"}),
    ],
)
def test_words_of_a_question_that_are_no_answer_to_it(fields: dict[str, Any], said: set[str]) -> None:
    assert weigh.asked_already(Parsed(**fields)) == said


# ---------------------------------------------------------------------------------------------------------------- what is gathered


def test_meaning_is_measured_against_unrelated_questions() -> None:
    """(cosine - mean over the bank) / (standard deviation + .02), by numpy."""
    trigrams, question, texts = Trigrams(), ["where is the boarding pass"], ["the boarding pass is in my jacket", "it may rain"]
    own, asked, bank = (trigrams.embed_text(some) for some in (texts, question, background()))
    chance = own @ bank.T
    cosines, above = Meaning(Engines(embed_text=trigrams)).near(question, texts)
    assert cosines == pytest.approx((own @ asked.T)[:, 0])
    assert above == pytest.approx(((own @ asked.T)[:, 0] - chance.mean(1)) / (chance.std(1) + 0.02))
    assert len(background()) == 40
    assert all(one.endswith("?") for one in background())


@pytest.mark.parametrize(
    ("heard", "told"),
    [
        ("You said nine?", []),
        ("is it late. It is nine.", ["It is nine."]),
        ("should call my mother.", ["should call my mother."]),
        ("Yes", []),
        ("Fine", ["Fine"]),
        ("Ben called! And he is late. Anna is here.", ["Ben called!", "And he is late.", "Anna is here.", "Ben called! And he is late."]),
        ("Did Ben call? He is late.", ["He is late."]),
    ],
)
def test_what_is_a_statement(heard: str, told: list[str]) -> None:
    assert statements(heard) == told


def test_letters_that_stand_in_another_word_do_not_count() -> None:
    assert held_shares(["cat"], ["a cart"], [""]) == [0.0]
    assert held_shares(["door"], ["the doors"], [""]) == held_shares(["12"], ["ROOM B12"], [""]) == [1.0]
    assert held_shares(["123"], ["1234"], [""]) == [0.0]
    assert held_shares(["platform"], ["platfrom two"], [""])[0] == pytest.approx(0.875)


def test_a_word_around_a_reading_is_held_and_is_no_misreading() -> None:
    around = ["wall sign"]
    assert held_shares(["wallet"], ["EXIT"], around) == [0.0]
    assert held_shares(["signs"], ["EXIT"], around) == [1.0]
    assert held_shares(["doctor"], ["Dr. Wu"], around) == [1.0]


def test_a_word_that_no_text_holds_weighs_as_much_as_one_that_a_single_text_holds() -> None:
    assert held_shares(["works", "room", "214"], ["ROOM 214", "PLATFORM 4"], ["", ""]) == [pytest.approx(2 / 3), 0.0]


def memory_of(path: Any, seen: dict[int, Any], told: tuple[str, ...] = ()) -> Any:
    with Store.open(path) as store:
        store.ensure_stream("hall", START_US)
        remember(store, "hall", START_US, seen)
        with store.transaction() as tx:
            for number, words in enumerate(told):
                t_us = START_US + (100 + number) * US
                tx.add_document(
                    NewDocument(
                        kind="utterance", text=words, stream="hall", t0_us=t_us, t1_us=t_us, offset_us=t_us - START_US, known_us=t_us,
                        origin="asr",
                    )
                )  # fmt: skip
    return path


def test_which_readings_are_one_sign(tmp_path: Any) -> None:
    """Nearly the same letters, or one line in common however much else stands there; single letters are none."""
    seen = {
        10: (text("MARLOW BAKERY"),), 12: (text("MARL0W BAKERV"),), 40: (text("GATE 18"),),
        44: (text("GATE 18"), text("ALL PASSENGERS PLEASE HAVE THEIR PAPERS READY")), 70: (text("X"),), 100: (text("abcd"),),
        103: (text("abxy"),), 130: (text("OK"),),
    }  # fmt: skip
    with View.open(memory_of(tmp_path / "memory", seen)) as view:
        signs = signs_of(view, Query(text=""))
    assert [[one.offset_us // US for one in sorted(sign.evidence, key=lambda e: e.t0_us)] for sign in signs] == [
        [10, 12], [40, 44], [100], [103], [130],
    ]  # fmt: skip


def test_of_words_that_fit_as_well_the_newer_come_first(tmp_path: Any) -> None:
    told = ("The key is here.", "The key is there.", "The door is shut.")
    with View.open(memory_of(tmp_path / "memory", {}, told)) as view:
        found = GatherTool(()).run(Look(question="where is the key", words=("key",)), view).candidates
    assert [one.text for one in found] == [told[1], told[0], told[2]]


@pytest.mark.parametrize(
    ("phrase", "read", "is_it"),
    [
        ("bus", "BUS", True), ("tv", "TV", False), ("12", "12", False), ("b12", "ROOM B12 SECOND FLOOR", True),
        ("open", "MARLOW BAKERY OPEN", False), ("gate", "GATEEXIT", True), ("gate", "GATEEXITS", False),
        ("blue gate", "THE LONG BLUE GATE", True), ("blue gate", "THE VERY LONG BLUE GATE OF ROME", True),
    ],
)  # fmt: skip
def test_when_a_reading_is_the_thing_itself(view: View, phrase: str, read: str, is_it: bool) -> None:
    channels = (Fixed("frame", 0.1), Fixed("text", 0.8, read))
    lead = GatherTool(channels).run(Look(things=(phrase,)), view).leads[0]
    assert (lead.basis == "text") is is_it


def test_why_pictures_were_not_searched_or_in_another_way_is_said(view: View) -> None:
    for fields in ({"silent": "no engine"}, {"note": "the server is away"}):
        frame = Fixed("frame", 0.0)
        frame._hits = Hits(**fields)
        assert GatherTool((frame,)).run(Look(things=("mug", "cup")), view).notes == tuple(fields.values())


def test_a_thing_that_was_taught_is_shown_by_its_pictures_alone(view: View) -> None:
    taught = Fixed("frame", 0.4, taught="what looks like the keys you showed me", firing=0.0)
    lead = GatherTool((taught, Fixed("text", 1.0, "blicket"))).run(Look(things=("blicket",)), view).leads[0]
    assert (lead.phrase, lead.basis, lead.named, lead.confidence) == ("what looks like the keys you showed me", "frame", True, 0.4)


def test_people_are_looked_for_as_persons(view: View) -> None:
    asked: list[str] = []

    class Listening(Fixed):
        def retrieve(self, query: Query, view: View, k: int) -> Hits:
            asked.append(query.text)
            return super().retrieve(query, view, k)

    GatherTool((Listening("frame", 0.5), Listening("text", 0.1))).run(Look(things=("children", "mugs")), view)
    assert asked == ["person", "children", "mugs", "mugs"]


def test_words_of_a_sign_in_its_colour(tmp_path: Any) -> None:
    seen = {10: (text("EXIT", "red"),), 60: (text("EXIT", "blue"),)}
    with View.open(memory_of(tmp_path / "memory", seen)) as view:
        tool = GatherTool((TextRetriever(),))
        found = tool.run(Look(question="what does the blue sign say"), view).candidates
    assert [(one.evidence[0].offset_us // US, one.held) for one in found] == [(60, 1.0), (10, pytest.approx(found[1].held))]
    assert found[1].held < 1.0
    assert msgspec.structs.replace(found[0], held=0.0).text == "EXIT"


def test_a_chain_of_readings_is_one_sign_and_words_have_their_quote(tmp_path: Any) -> None:
    seen = {at_s: (text("GATE 18"),) for at_s in (10, 20, 30)}
    told = ("The key is here.",)
    with View.open(memory_of(tmp_path / "memory", seen, told)) as view:
        assert [len(sign.evidence) for sign in signs_of(view, Query(text=""))] == [3]
        heard = GatherTool(()).run(Look(question="where is the key", words=("key",)), view).candidates[0]
        assert (heard.evidence[0].score, heard.evidence[0].text) == (1.0, "The key is here.")
        deaf = GatherTool((Fixed("frame", 0.5),)).run(Look(question="gate 18"), view).candidates
        assert {one.channel for one in deaf} == {"speech"}, "signs are not read where that channel is off"


class Strange(Trigrams):
    """A query has another vector than the same words in a document."""

    def embed_query(self, texts: Any) -> Any:
        return self.embed_text([one[::-1] for one in texts])


def test_passages_are_searched_with_the_vector_of_a_query(tmp_path: Any) -> None:
    strange = Strange()
    with Store.open(tmp_path / "memory") as store:
        store.ensure_stream("talk", START_US)
        store.ensure_space(strange.space, holds="passage")
        for number, words in enumerate(("dlrow olleh", "hello world")):
            utterance = NewDocument(
                kind="utterance", text=words, stream="talk", t0_us=START_US + number, t1_us=START_US + number, offset_us=0,
                known_us=START_US + number, origin="asr", passages=(NewPassage(kind="document", text=words, vectors={}),),
            )  # fmt: skip
            with store.transaction() as tx:
                tx.add_document(embedded(utterance, strange))
    with View.open(tmp_path / "memory") as view:
        ids = Meaning(Engines(embed_text=strange)).passages(view, Query(text="hello world"))
        assert [view.document(one).text for one in ids] == ["dlrow olleh", "hello world"]  # type: ignore[union-attr]
        assert Meaning(None).passages(view, Query(text="hello world")) == []


def test_words_are_an_answer_from_the_least_probability_on(monkeypatch: pytest.MonkeyPatch) -> None:
    one, least = said("The key is in the hall.", cosine=0.5), weigh.weights().words.least
    for sure, enough in ((least, True), (least - 1e-9, False)):
        monkeypatch.setattr(weigh, "stated", lambda *_, sure=sure: sure)
        assert weigh.is_likely(weigh.stated(Parsed(kind="where"), one), one) is enough
