"""What is said, word by word, with its confidence, its proof and what else it might be: plans are given what their actions bring."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from edgemem.answer import local
from edgemem.answer.gather import Candidate, Gather, Lead, Pool
from edgemem.answer.retrievers.readings import OcrReading
from edgemem.answer.say import base, choose, order
from edgemem.answer.say.left_out import leave_out
from edgemem.answer.sights import SeenName
from edgemem.answer.tools import Refused, Reply, Scene
from edgemem.answer.tools_graph import Related, Row
from edgemem.records import US
from tests.answer.test_limits import episode, evidence, lead, run, session
from tests.answer.test_limits import words as read


def by_name(*leads: Lead) -> Callable[[Any], Any]:
    """What a look for things finds of each by its name, nothing of others; of a stretch an empty scene."""
    known = {one.phrase: one for one in leads}
    return lambda action: (
        Pool(leads=tuple(known.get(thing, Lead(phrase=thing)) for thing in action.things)) if isinstance(action, Gather) else Scene()
    )


def heard(words: str, at_s: float = 0.0, **more: Any) -> Candidate:
    return Candidate(channel="speech", text=words, evidence=(evidence(at_s, text=words, channel="speech"),), **more)


# --------------------------------------------------------------------------------------------------------------------- what is shared


def test_what_is_longer_than_an_action_takes_is_cut() -> None:
    _, (action,) = run(base.gather(["x" * 1000, ""], (None, 9), "q" * 1000), lambda _: Pool())
    assert (action.question, action.things) == ("q" * 400, ("x" * 400,))
    assert choose._phrases(session(("a " + "x" * 1000,), kind="which")) == ["x" * 400]
    assert choose._phrases(session(("Red",), kind="what", form="colour", things=("mug",))) == ["red mug"]
    assert choose._phrases(session(("the", "The Red Mug"), kind="which")) == ["the", "red mug"]


def test_a_look_for_nothing_is_no_look() -> None:
    assert run(base.gather(["", ""], (None, 9)), lambda _: Pool())[1] == []
    assert run(base.look_for("cup", (None, 9)), lambda _: Pool())[0] == Lead(phrase="cup")


def test_tracks_join_what_is_beside_the_last_one() -> None:
    def spans(*episodes: Any) -> list[tuple[int, int]]:
        return [(one.t0_us // US, one.t1_us // US) for one in base.strong(lead(*episodes))]

    assert spans(episode(0), episode(100), episode(110), episode(145)) == [(0, 0), (100, 110), (145, 145)]
    assert spans(episode(0, score=1.0), episode(20, score=0.5), episode(40, score=1.0)) == [(0, 40)], "half of the best is enough"
    assert spans(episode(0), episode(29.9), episode(59.9)) == [(0, 29), (59, 59)], "less than 30 s apart"
    assert spans(episode(0, score=0.0), episode(50, score=0.0)) == [(0, 0), (50, 50)], "nothing is better than the rest"


def test_the_best_and_the_n_th_appearance() -> None:
    some = [episode(10, score=0.5), episode(50, score=0.9), episode(90, score=0.7)]
    assert base.picked(lead(*some)) == some[1]
    assert [(one := base.pick(some, n)) and one.t0_us // US for n in (0, 1, 2, 3, 4, -1, -2, -3, -4)] == [
        50,
        10,
        50,
        90,
        None,
        90,
        50,
        10,
        None,
    ]
    assert base.picked(lead(*some), 7) is some[1]
    assert base.pick([], 0) is None
    assert [one.t0_us // US for one in base.by_score(some)] == [50, 90, 10]


def test_the_appearance_that_the_answer_before_told_of_and_its_neighbours() -> None:
    some = [episode(10, 20), episode(50), episode(90)]

    def near(at_s: float, step: int = 0) -> int | None:
        found = base.at_near(session(near=evidence(at_s), step=step, kind="when").parsed, some)
        return None if found is None else found.t0_us // US

    assert [near(at_s) for at_s in (10, 15, 52, 89, 119.9, 120)] == [10, 10, 50, 90, 90, None], "less than 30 s away"
    assert [near(52, step) for step in (-2, -1, 1, 2)] == [None, 10, 90, None]
    assert near(12, 2) == 90
    assert base.at_near(session(kind="when").parsed, some) is None
    assert base.at_near(session(near=evidence(1), kind="when").parsed, []) is None


def test_sightings_at_another_time_prove_it_too() -> None:
    one = base.Episode(stream="s", t0_us=0, t1_us=0, offset_us=0, score=1.0, evidence=tuple(evidence(s) for s in (100, 105, 111, 89, 300)))
    assert base.cite([one]) == ("m100000000", "m111000000", "m89000000"), "of four, those more than 10 s away"


def test_what_else_it_might_be() -> None:
    """Appearances of the first thing, best first, and words that hold something of the question or are near it, in turns; five at most."""
    mug = lead(episode(10, score=0.5), episode(20.5, 20.6, score=0.9), episode(31, score=0.7), episode(30, score=0.6))
    told = (read("a", held=0.01, at_s=1), read("b", cosine=0.31, at_s=2), read("c", cosine=0.3, at_s=3), read("d", held=1.0, at_s=4))
    pool = Pool(leads=(mug, lead(episode(40))), candidates=told)
    seconds = [int(name[1:]) // US for name in base.others(pool)]
    assert seconds == [20, 1, 31, 2, 30], "only the three words that are nearest"
    names = base.others(pool, mug.episodes[1], told[0].evidence[0])
    assert [int(name[1:]) // US for name in names] == [31, 10, 2], "neither what was shown nor what is seen within 10 s of it"
    many = Pool(leads=(lead(*(episode(n) for n in range(9))),))
    assert len(base.others(many)) == 5


def test_an_answer_is_cut_and_its_confidence_a_probability() -> None:
    reply = base.answered("x" * 9000, 1.5, tuple(f"m{n}" for n in range(30)))
    assert (len(reply.text), reply.confidence, len(reply.evidence)) == (4000, 1.0, 10)
    assert base.answered("x", -0.2, ()).confidence == 0.0
    assert base.answered("x", 0.123456, ()).confidence == 0.1235


def test_what_was_not_seen_is_said_in_its_words() -> None:
    s, mug = session(kind="when"), lead(episode(10), confidence=0.19)
    assert base.not_seen(s, Lead(phrase="")).text == "I have not seen that in this memory."
    reply = base.not_seen(s, mug)
    assert (reply.text, reply.confidence, reply.evidence, reply.unverified) == (
        "I have not seen a mug in this memory.", 0.19, ("m10000000",), ("mug",),
    )  # fmt: skip
    strange = Lead(phrase="blicket", firing=0.05)
    assert base.not_seen(s, strange).text == "I cannot recognise a blicket. I have not seen a blicket in this memory."
    alike = Lead(phrase="hammock", confidence=0.3, firing=0.05, episodes=(episode(10),))
    assert base.not_seen(s, alike).text == "I cannot recognise a hammock. I have not seen a hammock in this memory."
    many = lead(*(episode(n, score=1 - n / 100) for n in range(6)))
    assert len(base.not_seen(s, many).evidence) == 3


@pytest.mark.parametrize(
    ("fields", "known"),
    [
        ({"firing": 0.1}, True), ({"firing": 0.09}, False), ({"firing": 0.15}, True), ({"named": False}, False),
        ({"basis": "text", "firing": 0.0, "named": False}, True),
    ],
)  # fmt: skip
def test_whether_the_vocabulary_has_a_word_for_it(fields: dict[str, Any], known: bool) -> None:
    assert Lead(phrase="mug", **fields).recognised is known


def test_other_times_are_told_by_their_number() -> None:
    assert base.others_text([episode(10)], episode(20), "UTC").startswith(" Also at 00:00:10 on Thursday 1970-01-01")
    one = episode(10)
    assert base.others_text([one], one, "UTC") == ""


# ------------------------------------------------------------------------------------------------------------- while something was said


def while_told(told: Candidate | None, *frames: float) -> Callable[[Any], Any]:
    """The words that a look brings, and the pictures (with a cup) in any stretch of time."""
    scene = Scene(evidence=tuple(map(evidence, frames)), sights=(SeenName(name="cup", kind="label", score=0.8),) if frames else ())
    return lambda action: Pool(candidates=(told,) if told else ()) if isinstance(action, Gather) else scene


def test_what_was_seen_while_something_was_said_is_what_pictures_of_that_time_show() -> None:
    asked = {"kind": "what", "relation": "while", "hint": "seen", "clause": "while the tent was mentioned", "words": ("tent",)}
    told = heard("The tent is red.", 50, held=1.0, cosine=0.5, above=4.0)
    told = msgspec.structs.replace(told, evidence=(msgspec.structs.replace(told.evidence[0], t1_us=54 * US),))
    reply, (look, near) = run(order.while_said(session(**asked)), while_told(told, 51, 53))
    assert (look.question, look.words, look.things) == ("while the tent was mentioned", ("tent",), ())
    assert (near.from_us, near.to_us, near.stream) == (50 * US, 54 * US, "s")
    assert reply.text == 'Cup, at 00:00:51 on Thursday 1970-01-01 (51 s into "s").'
    assert reply.evidence == ("m51000000", "m53000000", "m50000000"), "the pictures, then what was said"
    # 2.692 x 1 + 3.504 x .5 + 3.778 x 4 / 8 + .58 x .2 - 6.596 = -.147; six tenths of 1 / (1 + e^.147)
    assert reply.confidence == pytest.approx(0.6 * 0.4633 * 0.8, abs=2e-4)
    dark = run(order.while_said(session(**asked)), while_told(told))[0]
    assert (dark.status, dark.text, dark.evidence) == ("abstained", "I saw nothing while that was said.", ("m50000000",))
    for other in (None, heard("It rains."), Candidate(channel="text", text="tent", evidence=(evidence(50),), held=1.0, cosine=0.9)):
        unheard = run(order.while_said(session(**asked)), while_told(other, 51))[0]
        assert (unheard.status, unheard.text) == ("abstained", "I have heard nothing of that.")
        assert unheard.unverified == ("while the tent was mentioned",)


def test_a_colour_that_was_said_outweighs_pictures_that_are_unsure_of_it() -> None:
    """The words answer at .463 (worked out above); pictures deserve .7 of their confidence in the thing where its colour is asked."""
    told = heard("The pillar is red.", 50, held=1.0, cosine=0.5, above=4.0)

    def answer(confidence: float, **asked: Any) -> str:
        pillar = lead(episode(90, score=0.8), phrase="pillar", confidence=confidence)
        pool = Pool(candidates=(told,), leads=(pillar,))
        s = session(**{"kind": "what", "form": "colour", "things": ("pillar",), "words": ("pillar",), "verb": "be", **asked})
        made: Reply = run(local.reply(s), lambda action: pool if isinstance(action, Gather) else Scene())[0]
        return made.text

    assert answer(0.65).startswith("Red: ")
    assert not answer(0.67).startswith("Red: ")
    assert answer(0.55, kind="how_many", form="", counts="times").startswith("Probably 1 time")
    assert answer(0.65, kind="when", form="").startswith("I saw the pillar")


def test_many_pictures_leave_room_for_what_was_said() -> None:
    told = heard("The tent is red.", 50, held=1.0, cosine=0.9, above=8.0)
    asked = {"kind": "what", "relation": "while", "clause": "while the tent was mentioned"}
    reply = run(order.while_said(session(**asked)), while_told(told, *range(0, 600, 20)))[0]
    assert (len(reply.evidence), reply.evidence[-1]) == (10, "m50000000")


def test_only_a_clause_of_saying_leads_to_what_was_said() -> None:
    asked = {"kind": "what", "relation": "while", "anchors": ("tent",), "hint": "seen", "words": ("tent",)}
    brings = while_told(heard("The tent is red.", 50, held=1.0, cosine=0.9, above=8.0), 51)

    def told(**more: Any) -> Reply:
        made: Reply = run(local.reply(session(**{**asked, **more})), brings)[0]
        return made

    def text(**more: Any) -> str:
        return told(**more).text

    assert text(clause="while the tent was mentioned").startswith("Cup, at 00:00:51")
    assert text(clause="while the tent was mentioned", hint="none").startswith("Cup")
    said = "what was said while the tent was mentioned"
    assert text(clause="while the tent was mentioned", hint="said", text=said).startswith('Somebody said "The tent is red."')
    assert not text(clause="while the tent was mentioned", things=("dog",)).startswith("Cup")
    assert text(clause="while the tent was mentioned", things=("animal",), verb="stare").startswith("Cup")
    assert text(clause="while the tent was mentioned", things=("animal",), kind="which").startswith("Cup")
    assert text(clause="while the tent was mentioned", hint="none", kind="what", verb="go").startswith("Cup"), "no thing is named"
    assert not text(clause="while the tent fell").startswith("Cup")
    then, after = (told(clause=f"{word} the tent was mentioned", relation=word).evidence for word in ("while", "after"))
    assert ("m50000000" in then, "m50000000" in after) == (True, False), "what was said is no proof of what came after it"


def test_words_that_no_slot_took_are_not_answered_with_a_scene() -> None:
    def status(**asked: Any) -> str:
        made: Reply = run(local.reply(session(**asked)), while_told(None, 51))[0]
        return made.status

    assert status(kind="where", words=("show",)) == "answered"
    assert status(kind="where", words=("flipper",)) == "abstained"
    assert status(kind="what", words=("camera",)) == "answered"


def test_near_what_place_it_was_is_a_look_for_the_place() -> None:
    for kind, things in (("yes_no", ("river",)), ("when", ("river",)), ("where", ())):
        _, actions = run(local.reply(session(kind=kind, text="?", place="near the river", words=("river",))), while_told(None))
        assert actions[0].things == things


def test_a_sign_next_to_a_thing_is_read_where_the_thing_was() -> None:
    asked = {"kind": "what", "hint": "read", "place": "next to the lion", "things": ("sign",), "words": ("sign", "lion"), "text": "x"}
    lion = lead(episode(50, 60, score=0.8), episode(90, score=0.7), phrase="lion", confidence=0.7)
    sign = OcrReading(evidence=evidence(52, text="BAKERY", channel="text"), lines=("BAKERY",))
    gate = OcrReading(evidence=evidence(57, text="GATE 4", channel="text"), lines=("GATE 4",))

    def read_there(*signs: OcrReading, thing: Lead = lion, **more: Any) -> tuple[Reply, list[Any]]:
        def brings(action: Any) -> Any:
            if not isinstance(action, Gather):
                return Scene(readings=signs)
            return Pool(leads=tuple(thing for name in action.things if name == "lion"))

        return run(local.reply(session(**{**asked, **more})), brings)

    reply, actions = read_there(sign)
    assert (actions[-1].from_us, actions[-1].to_us, actions[-1].stream) == (45 * US, 65 * US, "s")
    assert reply.text == '"BAKERY", read at 00:00:52 on Thursday 1970-01-01 (52 s into "s"), near the lion.'
    assert (reply.confidence, reply.evidence) == (0.7, ("m52000000", "m50000000"))
    both = read_there(sign, gate)[0]
    assert both.text.startswith('"BAKERY" and "GATE 4", read at 00:00:52')
    assert both.confidence == 0.35, "one of two is meant"
    assert read_there(sign, ordinal=-1)[1][-1].from_us == 85 * US
    assert read_there()[0].status == "abstained"
    for unsure in (lead(episode(50), phrase="lion", confidence=0.19), msgspec.structs.replace(lion, named=False)):
        assert read_there(sign, thing=unsure)[0].status == "abstained"
    assert read_there(sign, thing=lead(episode(50, 60), phrase="lion", confidence=0.21))[0].status == "answered"
    assert not read_there(sign, hint="none")[0].text.startswith('"BAKERY"')
    for more, status in ((("red", "written"), "answered"), (("maximum", "speed"), "abstained")):
        assert read_there(gate, words=("sign", "lion", *more))[0].status == status


def test_of_a_word_that_no_dictionary_has_only_the_word_itself_tells() -> None:
    def status(word: str, share: float) -> str:
        sign = msgspec.structs.replace(heard("The tent is red.", 50, held=share, cosine=0.9, above=8.0), channel="text")
        asked = session(kind="where", things=(word,), words=(word,) if word else (), text=f"where is my {word}")
        made: Reply = run(local.reply(asked), while_told(sign))[0]
        return made.status

    assert (status("xandi", 0.0), status("xandi", 0.1)) == ("abstained", "answered")
    assert status("tent", 0.0) == "answered"
    assert status("", 0.5) == "abstained", "nothing that a text could hold is asked"


# ------------------------------------------------------------------------------------------------------------------ what is left out


def left_out(result: Any, *without: str, kind: str = "which", hint: str = "said", option: int | None = None) -> tuple[Any, Reply]:
    """What a plan is sent of a result, and what is told in the end."""
    sent: list[Any] = []

    def plan() -> Any:
        sent.append((yield Gather(question="?")))
        return Reply(text="That.", option=option)

    return sent, run(leave_out(session(kind=kind, hint=hint, without=without), plan()), lambda _: result)[0]


def test_of_a_thing_the_other_appearances_are_left_and_are_less_sure() -> None:
    dog, otter = evidence(10, 0.8, text="Pekinese"), evidence(50, 0.2, text="otter")
    both = msgspec.structs.replace(episode(10), evidence=(dog, otter), score=0.8)
    alone = msgspec.structs.replace(episode(90), evidence=(msgspec.structs.replace(dog, id="m9"),), score=0.8)
    (sent,), told = left_out(Pool(leads=(lead(both, alone, confidence=0.6, phrase="animal"),)), "dogs")
    (left,) = sent.leads
    assert [[one.text for one in track.evidence] for track in left.episodes] == [["otter"]]
    assert (left.episodes[0].score, round(left.confidence, 6)) == (0.2, 0.15), ".6 x .2 / .8"
    assert told.text == "Apart from the dogs: That."
    (sent,), told = left_out(Pool(leads=(lead(both, phrase="animal"), Lead(phrase="cup", confidence=0.3))), "zebra", "dogs and otters")
    assert (len(sent.leads[0].episodes[0].evidence), sent.leads[1].confidence) == (2, 0.0)
    assert told.text == "That. I know of no zebra and no dogs and otters to leave out."


def test_of_words_and_scenes_what_names_it_is_left_out() -> None:
    words = (heard("Robert comes on Friday."), heard("Anna comes."), read("BUS 71 to Paris", 2), read("BUSY", 3))
    assert [one.text for one in left_out(Pool(candidates=words), "robert", "bus sign")[0][0].candidates] == ["Anna comes.", "BUSY"]
    assert left_out(Pool(candidates=words), "robert", kind="who")[0][0].candidates == words, "who else is asked of all of them"
    (sent,), told = left_out(Pool(candidates=words), "robert", hint="none")
    assert (sent.candidates, told.text) == (words, "Apart from the robert: That."), "words may tell more than what they name"
    sights = tuple(SeenName(kind="label", name=name, score=0.9) for name in ("Pekinese", "sofa"))
    signs = tuple(OcrReading(lines=(text,), evidence=evidence(1, text=text)) for text in ("DOG FOOD", "EXIT"))
    (sent,), _ = left_out(Scene(sights=sights, readings=signs), "dog")
    assert ([one.name for one in sent.sights], [one.text for one in sent.readings]) == (["sofa"], ["EXIT"])
    pairs = (("Anna", "hello", "Ben"), ("Ben", "hello", "Anna"), ("Ben", "Anna is late", ""), ("Ben", "hello", "Eve"))
    rows = tuple(Row(source=s, t0_us=0, t1_us=0, confidence=1.0, quote=q, evidence=evidence(1), target=t) for s, q, t in pairs)
    (sent,), _ = left_out(Related(rows=rows), "anna")
    assert sent.rows == rows[3:]
    assert left_out(Refused(why="no"), "dog")[0] == [Refused(why="no")]


def test_what_is_left_out_is_called_as_in_the_question() -> None:
    for asked, said in (
        ("What did they say besides Robert?", "Robert"), ("What is there apart from all robert?", "all robert"),
        ("And besides my Robert?", "the robert"), ("What else?", "the robert"), ("Apart from Roberta?", "the robert"),
    ):  # fmt: skip
        s = session(kind="which", without=("robert",))
        s.question = msgspec.structs.replace(s.question, text=asked)

        def plan() -> Any:
            yield Gather(question="?")
            return Reply(text="That.")

        told = run(leave_out(s, plan()), lambda _: Pool(candidates=(heard("Robert comes."),)))[0]
        assert told.text == f"Apart from {said}: That."


def test_an_option_is_told_as_it_stands() -> None:
    assert left_out(Pool(), "dog", option=1)[1].text == "That."
    assert left_out(Pool())[1].text == "That."
