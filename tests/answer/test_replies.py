"""What is said of pictures, of order, of people and of words, word by word: plans are given what their actions bring."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from edgemem.answer import local, weigh
from edgemem.answer.compose import apart
from edgemem.answer.gather import Candidate, Gather, Lead, Pool
from edgemem.answer.retrieve import Episode
from edgemem.answer.say import base, order, people, pictures, scenes, statements
from edgemem.answer.session import Session
from edgemem.answer.sights import SeenName
from edgemem.answer.tools import Count, Inspect, Refused, Reply, Scene, Tally
from edgemem.answer.tools_graph import Hear, Relate, Related, Row
from edgemem.answer.understand import Parsed, understand
from edgemem.answer.understand.people import Asked
from edgemem.answer.understand.timeref import TimeRef
from edgemem.answer.weigh import weights
from edgemem.records import US, Box
from tests.answer import test_limits
from tests.answer.test_limits import episode, evidence, lead, reading, run
from tests.answer.test_plans import by_name, heard

TODAY = TimeRef(said="today", day="today")


def session(options: tuple[str, ...] = (), **parsed: Any) -> Session:
    return test_limits.session(options, **{"kind": "other", **parsed})


def clock(at_s: int) -> str:
    return f"00:{at_s // 60:02}:{at_s % 60:02} on Thursday 1970-01-01"


def at(at_s: int, offset: str = "") -> str:
    return f'at {clock(at_s)} ({offset or f"{at_s} s"} into "s")'


# -------------------------------------------------------------------------------------------------------------------------- pictures


def label(name: str, score: float = 0.8, kind: str = "label", colour: str = "") -> SeenName:
    return SeenName(kind=kind, name=name, score=score, colour=colour)


def shown(one: Lead, brings: Callable[[Any], Any] = lambda _: Scene(), **parsed: Any) -> Reply:
    plan = pictures.from_pictures(session(**{"things": ("mug",), **parsed}), Pool(leads=(one,)), one)
    made: Reply = run(plan, lambda action: brings(action) or (Pool() if isinstance(action, Gather) else Scene()))[0]
    return made


def test_when_it_was_seen() -> None:
    two = lead(episode(10), episode(50, 53, score=0.91))
    found = shown(two, kind="when")
    assert (found.text, found.confidence) == (f"I saw the mug {at(50)} for 3 s. Also {at(10)}.", 0.8)
    assert found.evidence == ("m50000000", "m10000000")
    assert shown(two, kind="when", ordinal=1).text == f"I first saw the mug {at(10)}."
    assert shown(two, kind="when", ordinal=-1).text == f"I last saw the mug {at(50)} for 3 s."
    assert shown(two, kind="when", near=evidence(10)).text == f"I saw the mug {at(10)}. Also {at(50)}.", "the one told of before"
    assert shown(two, kind="when", near=evidence(10), ordinal=-1).text == f"I last saw the mug {at(50)} for 3 s."
    ago = shown(two, kind="when", text="how long ago did i see the mug")
    assert "That is 15 min 47 s before the question." in ago.text, "asked at 1000 s, last seen at 53 s"
    named = [
        msgspec.structs.replace(episode(10), evidence=(evidence(10, 0.8, text="hen"),)),
        msgspec.structs.replace(episode(50), evidence=(evidence(50, 0.9, text="owl"),)),
    ]
    birds = lead(*named, phrase="birds")
    listed = f"I saw the birds: what looked like a hen {at(10)} and an owl {at(50)}."
    assert shown(birds, kind="list").text == listed, "in their order, each where it was seen best"
    assert shown(birds, kind="list").confidence == 0.4, "of several half as sure"
    assert shown(birds, kind="which", ordinal=1).text.endswith("It looked like a hen.")
    assert shown(birds, kind="which", ordinal=2).text.endswith("It looked like an owl.")
    alone = shown(lead(named[0], phrase="birds"), kind="list")
    assert (alone.text, alone.confidence) == (f"I saw the birds {at(10)}. It looked like a hen.", pytest.approx(0.8 * 0.8 / 0.9, abs=1e-4))
    assert "looked like" not in shown(birds, kind="when").text
    assert shown(lead(*named[:1], phrase="hens"), kind="list").text.endswith('into "s").'), "the same name says nothing"
    read = msgspec.structs.replace(lead(episode(10)), basis="text")
    assert "looked like" not in shown(msgspec.structs.replace(birds, basis="text"), kind="list").text
    assert shown(read, kind="when").text == f'I read "" {at(10)}.'


def test_what_came_after_or_before_something_is_what_came_next_to_it() -> None:
    three = lead(episode(10), episode(50, score=0.91), episode(99), phrase="animals")
    for relation, came in (("after", at(10)), ("before", at(99, "1 min 39 s"))):
        found = shown(three, kind="what", things=("animals",), relation=relation, anchors=("dog",))
        assert found.text.startswith(f"I saw the animals {came}"), relation
    assert shown(three, kind="what", things=("animals",), relation="after").text.startswith(f"I saw the animals {at(50)}"), "after nothing"
    beside = shown(three, kind="what", things=("animals",), relation="side", anchors=("dog",))
    assert beside.text.startswith(f"I saw the animals {at(50)}"), "neither before nor after it"


def test_where_it_was_is_what_was_there() -> None:
    near = Scene(
        sights=tuple(label(name, 0.9 - n / 20) for n, name in enumerate(("sofa", "lamp", "shelf", "table", "chair", "door", "mug")))
    )

    def brings(action: Any) -> Any:
        return msgspec.structs.replace(near, readings=(reading("GATE 18", at_s=11),)) if isinstance(action, Inspect) else None

    found = shown(lead(episode(10)), brings, kind="where")
    assert found.text == f'I last saw the mug {at(10)}, with sofa, lamp, shelf, table and chair; near the text "GATE 18".'
    assert found.confidence == 0.8
    assert shown(lead(episode(10)), kind="where", ordinal=1).text == f"I first saw the mug {at(10)}."
    three = Scene(readings=tuple(reading(words, at_s=n) for n, words in enumerate(("EXIT", "bread " * 15, "xyzzyx", "SECOND FLOOR"))))
    text = shown(lead(episode(10)), lambda action: three if isinstance(action, Inspect) else None, kind="where").text
    assert text.endswith(f'near the text "{("bread " * 15)[:79]}…" and "SECOND FLOOR".'), "the two longest words, of 80 letters at most"


def test_yes_and_how_many_and_how_long() -> None:
    two = lead(episode(10), episode(100, score=0.6), episode(200, score=0.3))
    assert shown(two, kind="yes_no").text == f"Yes: I saw the mug {at(10)}. Also {at(100, '1 min 40 s')}."
    assert shown(two, kind="yes_no").confidence == 0.8
    counted = shown(two, kind="how_many", counts="times")
    assert counted.text == f"2 times: I saw the mug {at(10)} and {at(100, '1 min 40 s')}."
    assert counted.confidence == pytest.approx(0.8 * 0.5)
    assert shown(lead(episode(10)), kind="how_many").text == f"1 time: I saw the mug {at(10)}."
    six = shown(lead(*(episode(50 * n) for n in range(6))), kind="how_many").text
    assert six.count("into") == 6
    assert not six.endswith("later.")
    assert shown(lead(*(episode(50 * n) for n in range(7))), kind="how_many").text.count("into") == 6
    assert shown(lead(episode(10, 15)), kind="how_long", text="how long was it there").text == f"At least 5 s: a mug {at(10)}."


def test_what_is_not_sure_is_said_so() -> None:
    unsure = lead(episode(10, score=0.5), episode(100, score=0.5), confidence=0.5)
    assert shown(unsure, kind="when", ordinal=-1).text == f"I think I last saw the mug {at(100, '1 min 40 s')}."
    assert shown(unsure, kind="where").text == f"I think I last saw the mug {at(100, '1 min 40 s')}."
    assert shown(unsure, kind="how_many").text == f"Probably 2 times: I saw the mug {at(10)} and {at(100, '1 min 40 s')}."
    doubted = msgspec.structs.replace(unsure, confidence=0.43)
    assert shown(doubted, kind="where").text == f"I may last have seen the mug {at(100, '1 min 40 s')}."
    assert shown(msgspec.structs.replace(unsure, confidence=0.44), kind="where").text.startswith("I think I last saw the mug")
    for confidence, begin in ((weights().ordinal, "I think I first saw"), (weights().ordinal - 0.001, "I may first have seen")):
        assert shown(msgspec.structs.replace(unsure, confidence=confidence), kind="list", ordinal=1).text.startswith(begin)
    sure = msgspec.structs.replace(unsure, confidence=weights().surely)
    assert shown(sure, kind="how_many").text.startswith("2 times: ")
    read = msgspec.structs.replace(unsure, basis="text")
    assert shown(read, kind="when", ordinal=1).text.startswith('I first read ""'), "what was read is quoted"


def test_things_in_one_picture_are_counted_near_the_point() -> None:
    asked: list[tuple[int, int]] = []

    def count(action: Any) -> Any:
        if isinstance(action, Count):
            asked.append((action.from_us, action.to_us))
            assert action.name == "mug"
            return Tally(count=3, confidence=0.5, evidence=(evidence(51),))
        return None

    s = session(kind="how_many", counts="at_once", things=("mug",))
    s.__dict__["_read"] = (s.parsed, msgspec.structs.replace(s.span, at_us=50 * US, from_us=40 * US, to_us=90 * US))
    one = lead(episode(60))
    found = run(pictures.from_pictures(s, Pool(leads=(one,)), one), count)[0]
    assert asked == [(48 * US, 52 * US)]
    assert (found.text, found.confidence, found.evidence) == (f"3 mug at once, {at(51)}.", 0.3, ("m51000000",))
    single = shown(lead(episode(10)), lambda _: Tally(count=1, confidence=0.9, evidence=(evidence(70),)), kind="how_many", counts="at_once")
    assert single.text.startswith("1 time"), "one box is no count"
    two = shown(lead(episode(10)), lambda _: Tally(count=2, confidence=0.9, evidence=(evidence(70),)), kind="how_many", counts="at_once")
    assert two.text.startswith("2 mug at once, "), "two are several"
    refused = shown(lead(episode(10)), lambda _: Refused(why="no"), kind="how_many", counts="at_once")
    assert refused.text.startswith("1 time")
    name = run(pictures._tally(session(), "x" * 300), lambda _: Tally())[1][0].name
    assert name == "x" * 100


def test_its_colour_is_the_one_that_fits() -> None:
    mug = Lead(
        phrase="mug",
        confidence=0.8,
        episodes=(episode(10, 12),),
    )
    fits = {"blue mug": 0.9, "green mug": 0.1, "red mug": 0.8}

    def brings(action: Any) -> Any:
        assert (action.from_us, action.to_us) == (10 * US, 12 * US)
        return Pool(leads=tuple(lead(episode(10, score=fits[t]), phrase=t) if t in fits else Lead(phrase=t) for t in action.things))

    found = shown(mug, brings, kind="what", form="colour")
    assert (found.text, found.confidence) == (f'Blue: the mug at {clock(10)} (10 s into "s").', pytest.approx(0.56))
    fits.clear()
    none = shown(mug, brings, kind="what", form="colour")
    assert (none.status, none.unverified) == ("abstained", ("colour",))
    assert none.text.endswith('about "colour" I cannot tell.')
    assert shown(mug, lambda _: Refused(why="no"), kind="what", form="colour").status == "abstained"


def test_what_pictures_do_not_show_is_left_open() -> None:
    two = lead(episode(10), episode(50, score=0.95))
    locked = shown(two, kind="yes_no", predicate="locked", verb="lock")
    assert (locked.text, locked.confidence) == (f'I saw the mug {at(50)}; about "locked" I cannot tell.', 0.2)
    assert (locked.evidence, locked.unverified) == (("m50000000", "m10000000"), ("locked",))
    assert shown(two, kind="yes_no", predicate="locked", verb="lock", ordinal=1).evidence[0] == "m10000000"
    assert shown(two, kind="yes_no", predicate="locked", verb="lock", ordinal=5).evidence[0] == "m50000000"
    owner = shown(two, kind="yes_no", predicate="locked", verb="lock", place="in the hall", person="Anna")
    assert owner.unverified == ("locked", "in the hall", "Anna")
    two_things = run(
        pictures.from_pictures(session(kind="yes_no", things=("mug", "cup")), Pool(leads=(two, Lead(phrase="cup"))), two), by_name()
    )[0]
    assert (two_things.text, two_things.confidence) == (f'I saw the mug {at(50)}; about "cup" I cannot tell.', 0.2)
    assert two_things.unverified == ("cup",)


@pytest.mark.parametrize(
    ("phrase", "words"),
    [
        ("broken guitar", ["broken"]), ("plastic banana", ["plastic"]), ("metal mug", ["metal"]), ("big yellow bus", ["big", "yellow"]),
        ("polar bear", []), ("hot air balloon", []), ("electric guitar", []), ("coffee mug", []), ("tractor wheel", []), ("mug", []),
        ("yamaha trumpet", ["yamaha"]), ("sister's bike", ["sister's"]), ("oldest animal", ["oldest"]),
        ("black and white cow", ["black", "white"]),
        ("xandi", []), ("house with the red door", ["with the red door"]), ("old mug with two handles", ["old", "with two handles"]),
    ],
)  # fmt: skip
def test_what_tells_how_a_thing_is(phrase: str, words: list[str]) -> None:
    assert base.qualities(phrase) == words


def test_what_was_seen_is_told_without_what_was_not_but_by_some_name() -> None:
    assert pictures._without("old broken mug", ["broken", "old"]) == "mug"
    assert pictures._without("broken", ["broken"]) == "broken"


def test_yes_is_said_only_where_the_words_before_the_thing_were_seen() -> None:
    def asked(phrase: str, looked: str = "mug", kind: Any = "yes_no", text: str = "", **more: Any) -> Reply:
        one = msgspec.structs.replace(episode(10), evidence=(evidence(10, 0.9, text=looked),))
        more.setdefault("things", (phrase,))
        return shown(lead(one, phrase=phrase), kind=kind, text=text or f"did i see the {phrase}", **more)

    broken = asked("broken mug")
    assert (broken.status, broken.text, broken.unverified) == (
        "abstained",
        f'I saw the mug {at(10)}; about "broken" I cannot tell.',
        ("broken",),
    )
    assert asked("red mug", "red mug").text.startswith("Yes: I saw the red mug")
    assert asked("crimson mug", "red mug").status == "answered"
    assert asked("red mug", "blue mug").unverified == asked("red mug").unverified == ("red",)
    assert asked("big red mug", "red mug").unverified == ("big",)
    assert asked("black and white mug", "white mug").status == "answered"
    assert asked("siamese cat", "Siamese cat").status == "answered", "the label says it"
    assert asked("siamese cat", "tabby").unverified == ("siamese",)
    assert asked("mugs", text="did i see two mugs").unverified == ("two",)
    assert asked("mugs", text="were there 2 mugs").unverified == ("2",)
    for text, how in (
        ("did i see the mug twice", "twice"),
        ("was there only one mug", "only one"),
        ("was there just one mug", "just one"),
        ("did the mug come exactly once", "exactly once"),
        ("was the mug there all the time", "all the time"),
        ("did i see the mug eight times", "eight times"),
        ("did i see every mug", "every"),
        ("did i see the mug clearly", "clearly"),
        ("did i see the mug from behind?", "from behind"),
        ("was the mug there because of me?", "because of me"),
        ("was the mug there without a lid", "without a lid"),
        ("was the mug the very first thing there", "very first thing"),
        ("was there a pair of mugs", "pair of"),
        ("was there a photo of a mug", "a photo of"),
        ("did i see the picture of a mug", "the picture of"),
        ("was the mug there as often as me", "as often as"),
        ("were all mugs there", "all mugs"),
        ("were both mugs there", "both"),
    ):
        assert asked("mug", text=text).unverified == (how,)
    assert asked("mug", text="did i see the mug at the times building").status == "answered"
    assert asked("mug", text="was the mug there again", kind="when").status == "answered"
    for text in ("did i really see a mug", "do you have a picture of a mug", "was the mug there at the first house"):
        assert asked("mug", text=text).status == "answered", text
    for verb, seen in (("wave", False), ("stand", True), ("turn up", True)):
        deed = asked("mug", text="did the mug", predicate=verb, verb=verb.split()[0])
        assert deed.status == ("answered" if seen else "abstained"), verb
    lost = asked("mug", text="did i lose the mug", verb="lose")
    assert (lost.status, lost.unverified) == ("abstained", ("lose",))
    for text in ("did i see one mug", "did i see 1 mug", "did i see the mug"):
        assert asked("mug", text=text).text == f"Yes: I saw the mug {at(10)}."
    assert asked("mug", person="Anna").unverified == ("Anna",)
    assert asked("anna", things=(), person="Anna").status == "answered", "the person is what was looked for"
    assert asked("broken mug", things=("mug",)).status == "answered", "a taught thing has a name of its own"
    when = asked("broken mug", kind="when")
    assert (when.text, when.unverified) == (f"I saw the mug {at(10)}.", ("broken",))
    ran = asked("mug", kind="when", predicate="run away", verb="run")
    assert (ran.status, ran.unverified) == ("answered", ("run away",))
    assert asked("mug", kind="when", predicate="turned up", verb="turn").unverified == ()
    read = run(
        pictures.from_pictures(
            session(kind="yes_no", things=("broken mug",), text="is the broken mug there", hint="read"), Pool(),
            msgspec.structs.replace(lead(episode(10), phrase="broken mug"), basis="text"),
        ), by_name(),
    )[0]  # fmt: skip
    assert read.unverified == ()


def test_each_of_several_things_is_told_and_checked() -> None:
    mug, cup = lead(episode(10), phrase="mug", confidence=0.9), lead(episode(50), phrase="cup", confidence=0.7)

    def asked(*leads: Lead, things: tuple[str, ...] = ("mug", "cup"), **more: Any) -> Reply:
        parsed = session(**{"kind": "yes_no", "things": things, "text": "did i see both the mug and the cup", **more})
        made: Reply = run(pictures.from_pictures(parsed, Pool(leads=leads), leads[0]), by_name())[0]
        return made

    both = asked(mug, cup)
    assert (both.text, both.confidence) == (f"Yes: I saw the mug {at(10)} and I saw the cup {at(50)}.", 0.7)
    assert both.evidence == ("m10000000", "m50000000")
    assert asked(mug, cup, negated=True).text.startswith(f"No, you have: I saw the mug {at(10)}.")
    assert asked(mug, cup, kind="what").text.startswith(f"I saw the mug {at(10)}.")
    oldest = asked(mug, msgspec.structs.replace(cup, phrase="oldest cup"), things=("mug", "oldest cup"))
    assert (oldest.status, oldest.unverified) == ("abstained", ("oldest",))
    sign = msgspec.structs.replace(cup, phrase="sign")
    assert asked(mug, sign, things=("mug", "sign")).text == f"Yes: I saw the mug {at(10)}.", "what carries it is no second thing"


def test_whether_it_was_the_first_time_is_said_of_what_was_surely_seen() -> None:
    asked = session(kind="yes_no", ordinal=1, things=("mug",), near=evidence(10), text="was that the first time")
    for sure, says in ((0.9, f"Yes: I saw the mug {at(10)}."), (0.05, "No, I have not seen a mug in this memory.")):
        mug = lead(episode(10), episode(100), confidence=sure)
        assert run(local._of_thing(asked, Pool(leads=(mug,)), []), by_name(mug))[0].text == says


def test_only_a_question_for_the_place_in_a_row_is_answered_with_it() -> None:
    mug = lead(episode(10), episode(100))
    asks: dict[str, Any] = {"things": ("mug",), "near": evidence(10), "text": "was that the first time"}
    assert pictures.whether_nth(session(kind="yes_no", ordinal=1, **asks), mug) is not None
    others: tuple[dict[str, Any], ...] = (
        {"kind": "when", "ordinal": 1}, {"kind": "yes_no"}, {"kind": "yes_no", "ordinal": 1, "near": None},
        {"kind": "yes_no", "ordinal": 1, "text": "was the mug first"}, {"kind": "yes_no", "ordinal": 3},
    )  # fmt: skip
    for other in others:
        assert pictures.whether_nth(session(**{**asks, **other}), mug) is None, other


def test_more_than_once_is_proved_by_two_appearances() -> None:
    def asked(text: str, *at_s: int, **more: Any) -> Reply:
        return shown(lead(*(episode(one) for one in at_s), phrase="mug", confidence=0.8), kind="yes_no", text=text, **more)

    twice = asked("did i see the mug more than once", 10, 100, predicate="more")
    assert (twice.status, twice.confidence, twice.unverified) == ("answered", 0.4, ())
    assert twice.text == f"Yes: I saw the mug {at(10)}. Also {at(100, '1 min 40 s')}."
    assert asked("did i see the mug more than once", 10, predicate="more").unverified == ("more than once",)
    assert asked("did i see the mug at least twice", 10, 100, place="at least").unverified == ()
    assert asked("was the mug there several times", 10, 100).status == "answered"
    assert asked("did i see the mug at least three times", 10, 100).unverified == ("three times",)
    assert asked("did i see the mug at least three times", 10, 100, 200).status == "answered"
    assert asked("did i see the mug at least once", 10).status == "answered"
    assert asked("did i see the mug twice", 10, 100).unverified == ("twice",), "it may have been there a third time"


def test_what_was_read_proves_what_stands_in_it() -> None:
    seen = msgspec.structs.replace(episode(10), evidence=(evidence(10, 0.9, text="BUS 60 to Madrid"),))
    bus = msgspec.structs.replace(lead(seen, phrase="bus 60", confidence=0.9), basis="text")
    yes = shown(bus, kind="yes_no", things=("bus 60",), person="Madrid", text="did i see bus 60 to madrid")
    assert (yes.status, yes.text, yes.unverified) == ("answered", f'Yes: I read "BUS 60 to Madrid" {at(10)}.', ())
    other = shown(bus, kind="yes_no", things=("bus 60",), person="Vienna", text="did i see bus 60 to vienna")
    assert (other.status, other.unverified) == ("abstained", ("Vienna",))
    quoted = shown(bus, kind="yes_no", things=("bus 60",), place="to vienna", predicate="gone", verb="go", text="does bus 60 go to vienna")
    assert (quoted.text, quoted.confidence, quoted.unverified) == (f'I read "BUS 60 to Madrid" {at(10)}.', 0.45, ("to vienna",))
    state = shown(bus, kind="yes_no", things=("bus 60",), predicate="clean", text="was bus 60 clean")
    assert (state.status, state.text) == ("abstained", f'I read "BUS 60 to Madrid" {at(10)}; about "clean" I cannot tell.')


def test_no_picture_tells_how_or_why() -> None:
    one = lead(episode(10))
    why = shown(one, kind="how_why", predicate="run off", verb="run", text="what made the mug run off")
    assert (why.status, why.unverified) == ("abstained", ("run off",))
    assert shown(one, kind="how_why", text="how was the mug").unverified == ("how",)
    parsed = session(kind="how_why", place="to the mug", text="how did i get to the mug")
    assert run(local._free(parsed, Pool()), by_name())[0].status == "abstained"


def test_what_cannot_be_told_apart_is_not_denied() -> None:
    for phrase, denied in (("mug", True), ("red mug", True), ("broken mug", False), ("metal mug", False)):
        asked = session(kind="yes_no", things=(phrase,), text=f"did i see a {phrase}")
        said = local._unknown(asked, Pool(), lead(episode(10), phrase=phrase, confidence=0.1))
        assert said.text.startswith("No, ") is denied
    locked = session(kind="yes_no", things=("door",), text="did i lock the door", predicate="locked", verb="lock")
    assert local._unknown(locked, Pool(), lead(phrase="door")).text == "I have not seen a door in this memory."


def test_what_is_likely_and_not_sure_is_not_denied() -> None:
    asked, granted = session(kind="yes_no", things=("mug",), text="did i see a mug"), weights().granted
    two = (episode(10, score=granted), episode(50, score=granted / 2))
    likely = local._unknown(asked, Pool(), lead(*two, phrase="mug", confidence=granted))
    assert (likely.status, likely.text) == ("abstained", f"I am not sure that I saw a mug; it may have been {at(10)}.")
    assert likely.confidence == granted < 0.25
    likely = local._unknown(asked, Pool(), lead(*two, phrase="mug", confidence=0.3))
    assert (likely.confidence, likely.unverified, likely.evidence[0]) == (0.25, ("mug",), "m10000000")
    hardly = local._unknown(asked, Pool(), lead(*two, phrase="mug", confidence=granted - 0.01))
    assert hardly.text == "No, I have not seen a mug in this memory."
    unknown = msgspec.structs.replace(lead(*two, phrase="xandi", confidence=0.5), named=False)
    assert local._unknown(asked, Pool(), unknown).text.startswith("I cannot recognise a xandi. I have not seen")
    assert local._unknown(asked, Pool(), Lead(phrase="mug", confidence=0.5, basis="text")).text.startswith("No, I have not seen")


def test_a_place_is_looked_for_beside_each_of_eight_appearances() -> None:
    """Where the place was seen within 5 s; another kind of question is answered without it, and that is said."""
    hall = lead(episode(100), confidence=0.9, phrase="hall")
    many = lead(*(episode(100 * n) for n in range(1, 11)))
    s = session(kind="when", things=("mug",), place="in the hall")
    looks: list[int] = []

    def brings(action: Any) -> Any:
        if isinstance(action, Gather):
            assert action.things == ("hall",)
            looks.append(action.from_us)
            return Pool(leads=(hall if action.from_us == 295 * US else Lead(phrase="hall"),))
        return Scene()

    found = run(pictures.from_pictures(s, Pool(), many), brings)[0]
    assert looks == [(100 * n - 5) * US for n in range(1, 9)]
    assert (found.evidence[0], found.unverified) == ("m300000000", ())
    elsewhere = run(pictures.from_pictures(s, Pool(), many), by_name())[0]
    assert (elsewhere.unverified, elsewhere.confidence) == (("in the hall",), 0.4), "half as sure"
    by = run(pictures.from_pictures(session(kind="when", things=("mug",), place="in the hall", person="Laura"), Pool(), many), by_name())[0]
    assert (by.unverified, by.confidence) == (("in the hall", "Laura"), pytest.approx(0.8 / 3, abs=1e-4))
    assert elsewhere.text.endswith(" Whether in the hall, I cannot tell.")
    for sure, there in ((weights().surely, True), (weights().surely - 0.001, False)):
        place = msgspec.structs.replace(hall, confidence=sure)
        assert bool(run(pictures.from_pictures(s, Pool(), many), by_name(place))[0].unverified) is not there
    assert shown(many, kind="when").unverified == ()


def test_all_that_was_there_at_a_time_first_or_last() -> None:
    scene = Scene(evidence=(evidence(10), evidence(20)), sights=(label("cat", 0.7), label("sofa", 0.95)))

    def told(sights: Any = scene.sights, **parsed: Any) -> tuple[Any, list[tuple[int, int, int]]]:
        one = msgspec.structs.replace(scene, sights=tuple(sights))
        found, actions = run(scenes.describe(session(kind="what", **parsed)), lambda _: one)
        return found, [(a.from_us // US, a.to_us // US, a.max_moments) for a in actions]

    found, looks = told()
    assert (found.text, found.confidence, looks) == (f"Cat and sofa, {at(10)}.", 0.7425, [(0, 1000, 32)])
    assert told([label("cat", 0.7)])[0].confidence == 0.63
    assert told([label("cat", 0.7)], ordinal=1)[0].confidence == pytest.approx(0.6 * 0.7)
    nameless = told([])[0]
    assert (nameless.text, nameless.confidence) == (f"Something that I cannot name, {at(10)}.", 0.18)
    assert told(ordinal=1)[1] == [(0, 1000, 2), (10, 20, 64), (10, 15, 16)], "nothing probable appeared: the first pictures"
    assert told(ordinal=-1)[1] == [(0, 1000, 2), (10, 20, 64), (15, 20, 16)]
    empty = run(scenes.describe(session(kind="what", ordinal=1)), lambda _: Scene())[0]
    assert empty.text == "Nothing was recorded then."
    last = scenes.scene_reply(session(), scene, 0.5, last=True)
    assert last.evidence == ("m20000000", "m10000000")
    assert scenes.scene_reply(session(), scene, 0.5).evidence == ("m10000000", "m20000000")


# ----------------------------------------------------------------------------------------------------------------------------- order


def before(thing: Lead, anchor: Lead, relation: Any = "before") -> Reply:
    s = session(kind="yes_no", relation=relation, anchors=("cat",), things=("mug",))
    return order.in_order(s, (thing, anchor), ("mug", "cat"), Pool())[0]


def test_three_in_a_row_are_told_in_their_order() -> None:
    three = (lead(episode(50)), lead(episode(10), phrase="cat"), lead(episode(30), phrase="dog"))
    told = order.in_order(session(kind="order"), three, ("mug", "cat", "dog"), Pool())[0].text
    assert told == f"The cat came first, the cat {at(10)}, the dog {at(30)} and the mug {at(50)}."


def test_whether_it_was_there_before() -> None:
    mug, cat = lead(episode(10), confidence=0.9), lead(episode(50), phrase="cat")
    found = before(mug, cat)
    assert (found.text, found.confidence) == (f"Yes, the mug came before the cat, the mug {at(10)} and the cat {at(50)}.", 0.8)
    assert found.evidence == ("m10000000", "m50000000")
    assert before(mug, cat, "after").text.startswith("No, the mug came before the cat")
    assert before(lead(episode(50)), cat).text.startswith("No, the mug came after the cat"), "at the same time is not before"
    assert before(lead(episode(10), episode(90)), cat, "after").text.startswith(
        f"Yes, the mug came after the cat, the mug {at(90, '1 min 30 s')}"
    )
    assert before(lead(episode(10), episode(90)), cat).text.startswith("Yes, the mug came before the cat")
    assert before(lead(episode(10), confidence=0.1), cat).text == "I have not seen a mug in this memory."
    assert before(mug, Lead(phrase="cat")).text == "I have not seen a cat in this memory."


def test_what_options_name_was_there() -> None:
    weak, sure = lead(episode(10), confidence=0.1), lead(episode(50), confidence=0.9)
    assert order.in_order(session(("mug", "cat"), kind="order"), (weak, sure), ("mug", "cat"), Pool())[1] == 0
    last = order.in_order(session(("mug", "cat"), kind="order", ordinal=-1), (weak, sure), ("mug", "cat"), Pool())
    assert (last[1], last[0].confidence, last[0].evidence) == (1, 0.1, ("m50000000", "m10000000"))
    assert order.in_order(session(kind="order"), (), (), Pool())[0].text == "I have not seen that in this memory."


def appeared(name: str, begun_s: int, ended_s: int, score: float) -> SeenName:
    return SeenName(kind="label", name=name, score=score, t0_us=begun_s * US, t1_us=ended_s * US, best_us=begun_s * US)


def test_a_stretch_is_told_by_what_probably_appeared_in_it_and_when() -> None:
    sights = (appeared("owl", 60, 70, 0.8), appeared("cat", 10, 20, 0.6), appeared("pear", 30, 31, 0.3), appeared("barn", 5, 6, 0.29))
    scene = Scene(evidence=(evidence(5), evidence(70)), sights=sights)
    found = run(scenes.describe(session(kind="what")), lambda _: scene)[0]
    when = 'from 00:00:05 on Thursday 1970-01-01 (5 s into "s") to 00:01:10 on Thursday 1970-01-01'
    assert found.text == f"Cat (00:00:10), perhaps pear (00:00:30) and owl (00:01:00), {when}."
    assert found.confidence == pytest.approx(0.9 * (0.6 + 0.3 + 0.8) / 3)
    nightly = msgspec.structs.replace(scene, sights=(sights[0], appeared("cat", 86_410, 86_420, 0.6)))
    found = run(scenes.describe(session(kind="what")), lambda _: nightly)[0]
    assert found.text.startswith("Owl (00:01:00 on Thursday 1970-01-01) and cat (00:00:10 on Friday 1970-01-02), from")
    short = msgspec.structs.replace(scene, evidence=(evidence(5), evidence(20)))
    found = run(scenes.describe(session(kind="what")), lambda _: short)[0]
    assert found.text == f"Cat, pear and owl, {at(5)}.", "15 s are told at once"


def test_next_is_what_appeared_next_and_not_what_was_there_all_along() -> None:
    """After the mug (it ended at 60 s) the barn is still there, the street began, then 8 s later the owl, and 1 s too late the pear."""
    sights = (
        appeared("owl", 70, 80, 0.7), appeared("barn", 40, 90, 0.6), appeared("pear", 71, 75, 0.5), appeared("street", 62, 99, 0.2),
        appeared("fog", 61, 65, 0.19),
    )  # fmt: skip
    far = Scene(evidence=(evidence(61), evidence(99)), sights=sights)
    near = Scene(evidence=(evidence(70), evidence(74)), sights=(label("barn"),))

    def told(relation: Any, scene: Scene = far) -> tuple[Reply, list[tuple[int, int]]]:
        def brings(action: Any) -> Any:
            wide = isinstance(action, Inspect) and action.max_moments == 64
            return by_name(lead(episode(50, 60), confidence=0.5))(action) if isinstance(action, Gather) else scene if wide else near

        made, actions = run(order.neighbours(session(kind="what", relation=relation, anchors=("mug",))), brings)
        return made, [(a.from_us // US, a.to_us // US) for a in actions if isinstance(a, Inspect)]

    found, looks = told("after")
    assert (found.text, looks) == (f"Owl and street, {at(70, '1 min 10 s')}.", [(60, 180), (70, 80)])
    assert found.evidence == ("m70000000", "m74000000")
    assert found.confidence == pytest.approx(0.6 * 0.5 * (0.7 + 0.2) / 2)
    past = (
        appeared("owl", 10, 30, 0.7), appeared("barn", 20, 55, 0.6), appeared("street", 20, 37, 0.2), appeared("pear", 1, 28, 0.5),
    )  # fmt: skip
    found, looks = told("before", msgspec.structs.replace(far, sights=past))
    assert (found.text, looks) == (f"Owl and street, {at(74, '1 min 14 s')}.", [(0, 49), (15, 30)]), "the last 15 s of it"


def test_what_was_beside_an_anchor() -> None:
    mug, cat = lead(episode(50, 60), confidence=0.5), lead(episode(100), confidence=0.9, phrase="cat")
    scene = Scene(evidence=(evidence(70), evidence(74)), sights=(label("sofa"), label("mug")))

    def told(relation: Any, *anchors: str, one: Scene = scene) -> tuple[Reply, list[Any]]:
        plan = order.neighbours(session(kind="what", relation=relation, anchors=anchors))
        made, actions = run(plan, lambda action: by_name(mug, cat)(action) if isinstance(action, Gather) else one)
        return made, [a for a in actions if isinstance(a, Inspect)]

    found, looks = told("after", "mug")
    assert (found.text, found.confidence) == (f"Sofa, {at(70, '1 min 10 s')}.", pytest.approx(0.24))
    assert [(a.from_us, a.to_us, a.stream, a.max_moments) for a in looks] == [
        (60 * US + 1, 180 * US + 1, "", 64), (70 * US, 75 * US, "s", 16),
    ]  # fmt: skip
    found, looks = told("before", "cat")
    assert found.evidence[0] == "m74000000"
    assert [(a.from_us, a.to_us) for a in looks] == [(0, 100 * US - 1), (69 * US, 74 * US)]
    late = Scene(evidence=(evidence(1),), sights=(label("sofa"),))
    assert [(a.from_us, a.to_us) for a in told("before", "cat", one=late)[1]][1] == (0, 1 * US)
    found, looks = told("between", "cat", "mug")
    assert found.confidence == pytest.approx(0.24)
    assert [(a.from_us, a.to_us, a.stream) for a in looks] == [(60 * US + 1, 100 * US - 1, "")]
    there = msgspec.structs.replace(scene, sights=(appeared("mug rack", 62, 63, 0.9), appeared("fog", 65, 66, 0.1)))
    assert told("between", "cat", "mug", one=there)[0].text == f"Fog, {at(70, '1 min 10 s')}.", "the best one that is no anchor"
    assert [(a.from_us, a.to_us, a.stream) for a in told("side", "mug")[1]] == [(50 * US, 60 * US, "s")]
    alone = told("side", "mug", one=Scene(evidence=(evidence(55),), sights=(label("mug"),)))[0]
    assert (alone.status, alone.text) == ("abstained", "I know of nothing beside the mug that I can name.")
    assert told("after", "fox")[0].text == "I have not seen a fox in this memory."
    only, once = lead(episode(50), confidence=0.5), session(kind="how_long", relation="between", anchors=("first mug", "second mug"))
    same = run(order.neighbours(once), lambda _: Pool(leads=(only,)))[0]
    assert (same.status, same.evidence) == ("abstained", ("m50000000",)), "it came once"
    assert same.text.startswith("I know of one time only: the ")
    seen = msgspec.structs.replace(episode(50), evidence=(evidence(50, 0.9, text="cornet"),))
    horn = lead(seen, phrase="trumpet", confidence=0.5)
    plan = order.neighbours(session(kind="what", relation="side", anchors=("trumpet",)))
    both = Scene(evidence=(evidence(50),), sights=(label("cornet"), label("sofa")))
    beside = run(plan, lambda action: by_name(horn)(action) if isinstance(action, Gather) else both)[0]
    assert beside.text == f"Sofa, {at(50)}.", "the cornet is the trumpet itself"
    part, weak = msgspec.structs.replace(label("flute"), box=Box(0.2, 0.2, 0.4, 0.4)), label("fog", 0.29)
    own = msgspec.structs.replace(label("cornet", 0.9), box=Box(0.1, 0.1, 0.9, 0.9))
    for sights, seen in (((own, part, label("sofa")), "Sofa"), ((own, label("sofa", 0.3), weak), "Sofa"), ((own, part, weak), "I know of")):
        both = msgspec.structs.replace(both, sights=sights)
        plan = order.neighbours(session(kind="what", relation="side", anchors=("trumpet",)))
        made = run(plan, lambda action, both=both: by_name(horn)(action) if isinstance(action, Gather) else both)[0]
        assert made.text.startswith(seen), sights


def test_a_lesser_label_of_a_part_of_a_thing_is_the_thing() -> None:
    own = msgspec.structs.replace(label("otter", 0.6), box=Box(0.0, 0.0, 0.5, 1.0))
    for other, left in (
        (msgspec.structs.replace(label("bear", 0.6), box=Box(0.1, 0.2, 0.5, 1.0)), False),
        (msgspec.structs.replace(label("bear", 0.61), box=Box(0.1, 0.2, 0.5, 1.0)), True),
        (msgspec.structs.replace(label("bear", 0.5), box=Box(0.1, 0.0, 0.6, 1.0)), False),
        (msgspec.structs.replace(label("bear", 0.5), box=Box(0.1, 0.0, 0.61, 1.0)), True),
        (msgspec.structs.replace(label("bear", 0.5, kind="object"), box=Box(0.1, 0.2, 0.5, 1.0)), True),
        (label("bear", 0.5), True),
    ):
        assert (other in apart((own, other), ("otter",))) is left, other
    part = msgspec.structs.replace(label("bear", 0.5), box=Box(0.1, 0.2, 0.5, 1.0))
    for span_us, stream, left in (
        ((9, 10), "s", False),
        ((8, 9), "s", True),
        ((20, 30), "s", False),
        ((21, 30), "s", True),
        ((12, 13), "t", True),
    ):
        other = msgspec.structs.replace(part, t0_us=span_us[0], t1_us=span_us[1], stream=stream)
        assert (other in apart((msgspec.structs.replace(own, t0_us=10, t1_us=20, stream="s"), other), ("otter",))) is left, other


# ---------------------------------------------------------------------------------------------------------------------------- people


def utterance(at_s: int, speaker: str = "Ben", text: str = "", score: float = 1.0) -> Row:
    words = text or f"words {at_s}"
    return Row(source=speaker, quote=words, t0_us=at_s * US, t1_us=at_s * US, confidence=score, evidence=evidence(at_s, channel="speech"))


def deed(
    at_s: int, source: str = "me", type_: str = "USES", target: str = "drill", confidence: float = 0.8, quote: str = "q", **more: Any
) -> Row:
    return Row(
        source=source, type=type_, target=target, target_kind=more.get("kind", "object"), t0_us=at_s * US, t1_us=at_s * US,
        confidence=confidence, quote=quote, evidence=evidence(at_s, channel="speech"),
    )  # fmt: skip


def known(rows: Any = (), said: Any = (), leads: Any = (), *, kept: bool = True) -> Callable[[Any], Any]:
    """What a memory brings: rows of the graph, utterances and things that were seen."""

    def brings(action: Any) -> Any:
        if isinstance(action, Hear):
            return Related(rows=tuple(sorted(said, key=lambda row: row.t0_us)))
        if isinstance(action, Relate):
            wanted = [row for row in rows if action.type in {"", row.type}]
            return Related(rows=tuple(wanted), known=kept)
        return by_name(*leads)(action)

    return brings


def of_people(asked: Asked, brings: Callable[[Any], Any], options: tuple[str, ...] = (), **parsed: Any) -> Any:
    return run(people.relation(session(options, asked=asked, **parsed)), brings)[0]


def test_what_was_said_is_quoted_the_newest_four_in_order() -> None:
    six = [utterance(100 * n) for n in (3, 1, 2, 4, 6, 5)]
    found = of_people(Asked(wanted="said", about="rent"), known(said=six))
    assert found.text == " ".join(f'Ben said "words {s}" at {clock(s)}.' for s in (300, 400, 500, 600)) + " 2 other times."
    assert found.confidence == 0.9
    assert found.evidence == tuple(f"m{s}000000" for s in (300, 400, 500, 600, 200, 100))
    assert of_people(Asked(wanted="said", about="rent"), known(said=six[:5]), time=TODAY).text.endswith(" 1 other time today.")
    assert of_people(Asked(wanted="said", about="rent", ordinal=1), known(said=six)).text == f'Ben said "words 100" at {clock(100)}.'
    assert of_people(Asked(wanted="said", about="rent", ordinal=-1), known(said=six)).text == f'Ben said "words 600" at {clock(600)}.'
    assert of_people(Asked(wanted="did", about="rent"), known(said=six[:1])).text == f'Yes: Ben said "words 300" at {clock(300)}.'
    long = of_people(Asked(wanted="said", about="rent"), known(said=[utterance(1, "me", "x" * 300)]))
    assert long.text == f'You said "{"x" * 199}…" at {clock(1)}.'


def test_sayings_that_hold_every_word_are_told_alone() -> None:
    part, whole = utterance(1, score=0.5), utterance(2, score=0.99)
    found = of_people(Asked(wanted="said", about="rent"), known(said=[part, whole]))
    assert (found.text, found.confidence) == (f'Ben said "words 2" at {clock(2)}.', pytest.approx(0.891))
    assert of_people(Asked(wanted="said", about="rent"), known(said=[part])).confidence == 0.45
    both = of_people(Asked(wanted="said", about="rent"), known(said=[whole, utterance(3)]))
    assert both.confidence == 0.9, "as sure as the surest"


def test_how_often_lists_six_times() -> None:
    seven = [utterance(10 * n) for n in range(1, 8)]
    times = ", ".join(clock(10 * n) for n in range(1, 6)) + f" and {clock(60)}"
    assert of_people(Asked(wanted="how_often", about="rent"), known(said=seven)).text == f"7 times: {times}."
    assert of_people(Asked(wanted="how_often", about="rent"), known(said=seven[:1])).text == f"1 time: {clock(10)}."
    jobs = [deed(0), deed(590), deed(1900)]
    used = of_people(Asked(wanted="how_often", types=("USES",), source="me", target="drill"), known(jobs), time=TODAY)
    assert used.text == f"2 times today: {clock(0)} and {clock(1900)}."
    assert used.confidence == 0.8


def test_when_something_was_done() -> None:
    asked, jobs = (
        Asked(wanted="when", types=("USES",), source="me", target="drill"),
        [deed(0, quote="x" * 200), deed(590), deed(1900, quote="")],
    )
    assert of_people(asked, known(jobs)).text == f"You used the drill at {clock(1900)}. 1 other time."
    first = of_people(msgspec.structs.replace(asked, ordinal=1), known(jobs))
    assert first.text == f'You used the drill at {clock(0)}: "{"x" * 159}…".'
    assert first.evidence == ("m0", "m1900000000", "m590000000")
    assert of_people(msgspec.structs.replace(asked, ordinal=-1), known(jobs)).text == f"You used the drill at {clock(1900)}."
    assert of_people(msgspec.structs.replace(asked, verb="drink"), known([deed(5, quote="I drank it")])).notes == ()
    other = of_people(msgspec.structs.replace(asked, verb="drink"), known([deed(5)]))
    assert other.notes == ('nothing was said of "drink"; this is when it was used or handled',)
    did = msgspec.structs.replace(asked, wanted="did", verb="drink")
    assert of_people(did, known([deed(5)])) is None, "that it was used says nothing of whether it was drunk"
    assert of_people(did, known([deed(5, quote="I drank it")])).text.startswith("Yes: you used the drill")
    both = of_people(msgspec.structs.replace(asked, verb="drink"), known([deed(5, quote="I drank it"), deed(1800)]))
    assert both.text.startswith(f"You used the drill at {clock(5)}")
    assert of_people(asked, known([deed(5, confidence=0.24)])) is None
    assert of_people(asked, known([deed(5, confidence=0.25)])).confidence == 0.25


def test_who_it_was() -> None:
    """The most occasions first; six at most."""
    rows = [deed(0, "Ben"), deed(10, "Anna"), deed(1000, "Anna"), deed(1010, "someone")]
    found = of_people(Asked(wanted="who", types=("USES",), target="drill"), known(rows))
    assert found.text == f"Anna (2 times, last at {clock(1000)}) and Ben (at {clock(0)})."
    assert found.evidence == ("m1000000000", "m0")
    seven = [deed(n, f"Person{n}") for n in range(7)]
    assert of_people(Asked(wanted="who", types=("USES",), target="drill"), known(seven)).text.count("(at") == 6
    what = of_people(Asked(wanted="what", types=("USES",), source="me"), known([deed(0), deed(9, target="saw")]))
    assert what.text == f"Drill (at {clock(0)}) and saw (at {clock(9)})."
    talk = [deed(0, "me", "TALKS_TO", "Ben", kind="person"), deed(5, "Anna", "TALKS_TO", "me", kind="person")]
    to = of_people(Asked(wanted="who", types=("TALKS_TO",), source="me"), known(talk))
    assert to.text == f"Ben (at {clock(0)}) and Anna (at {clock(5)})."
    from_ = of_people(Asked(wanted="who", types=("TALKS_TO",), target="Clara"), known([deed(0, "Ben", "TALKS_TO", "Clara")]))
    assert from_.text == f"Ben (at {clock(0)})."
    with_me = Asked(wanted="who", types=("TALKS_TO",), source="Anna")
    assert of_people(with_me, known([deed(0, "Anna", "TALKS_TO", "me", kind="person")])).text == f"You (at {clock(0)})."
    assert of_people(Asked(wanted="who", types=("USES",), target="drill"), known([deed(0)])).text == f"You (at {clock(0)})."
    spoke = of_people(Asked(wanted="who", about="rent"), known(said=[utterance(3, "me", "x" * 300), utterance(9, "Anna")]))
    assert spoke.text.startswith(f'You (at {clock(3)}) and Anna (at {clock(9)}): "{"x" * 199}…".')
    nobody = of_people(Asked(wanted="who", types=("USES",), target="drill"), known([deed(0, "someone", quote="a"), deed(9, "", quote="b")]))
    assert (nobody.status, nobody.text) == ("abstained", 'Somebody did, but I do not know who: "b".')
    assert nobody.evidence == ("m9000000", "m0")


def test_what_nobody_is_known_to_have_done() -> None:
    """Pictures and words are asked then; of talk nothing else is known."""
    assert of_people(Asked(wanted="when", types=("USES",), source="me", target="mug"), known()) is None
    talked = Asked(wanted="did", types=("TALKS_TO",), source="me", target="clara")
    assert of_people(talked, known()).text == "I know of no talk with Clara."
    nobody = of_people(Asked(wanted="who", types=("TALKS_TO",), source="me"), known(), time=TODAY)
    assert (nobody.status, nobody.text) == ("abstained", "I know of no talk today.")


def test_what_nobody_is_known_to_have_said() -> None:
    asked = Asked(wanted="said", source="anna", about="rent")

    def but(*said: Row) -> Callable[[Any], Any]:
        return lambda action: Related(rows=() if action.speaker else said)

    found = of_people(asked, but(utterance(5, "Ben"), utterance(9, "speaker 2", score=0.99), utterance(7, "Ben", score=0.8)))
    assert found.text == f'I know of nothing that Anna said about that; speaker 2 said "words 9" at {clock(9)}.'
    assert found.evidence == ("m9000000", "m5000000")
    assert found.notes == ('if that was Anna, say so: edgemem name speaker:2 "Anna" --memory DIR',)
    assert of_people(asked, but(utterance(5, "Ben"))).notes == ()
    assert of_people(asked, but(utterance(5, "Ben", score=0.8))) is None
    for other in ({"source": "me"}, {"source": ""}, {"wanted": "when"}):
        assert of_people(msgspec.structs.replace(asked, **other), lambda _: Related()) is None
    for other in ({"source": "me"}, {"wanted": "when"}):
        assert of_people(msgspec.structs.replace(asked, **other), but(utterance(5, "Ben"))) is None
    quiet = of_people(Asked(wanted="said"), lambda _: Related(), time=TODAY)
    assert (quiet.status, quiet.text) == ("abstained", "I heard nothing being said today.")
    assert of_people(Asked(wanted="said", source="anna"), lambda _: Related()).text == "I heard nothing being said by Anna."


def test_who_was_there() -> None:
    """Spoke, was spoken to or was seen within two minutes of the last time that it went on."""
    looks: list[tuple[int, int]] = []
    times = [utterance(1000 * n, "Tom") for n in range(1, 6)]
    talk = [
        deed(0, "Ben", "TALKS_TO", "Clara", kind="person"),
        deed(1, "me", "MENTIONS", "Dora", kind="person"),
        deed(2, "Ben", kind="object"),
    ]

    def brings(action: Any) -> Any:
        if isinstance(action, Relate):
            looks.append((action.from_us, action.to_us))
            return Related(rows=tuple(talk), known=True)
        if isinstance(action, Hear):
            return Related(rows=tuple(times) if action.about else ())
        return by_name()(action)

    found = of_people(Asked(wanted="with", about="the party"), brings)
    assert looks == [(4880 * US, 5120 * US)]
    assert found.text == "Ben and Clara were there at 01:23:20 on Thursday 1970-01-01."
    assert (found.evidence, found.confidence) == (("m0", "m5000000000"), 0.8)
    talk[:] = [deed(0, "Ben", confidence=0.5)]
    assert of_people(Asked(wanted="with", about="the party"), brings).text == "Ben was there at 01:23:20 on Thursday 1970-01-01."
    talk[:] = [deed(n, f"Person{n}") for n in range(9)]
    assert of_people(Asked(wanted="with", about="the party"), brings).text.count("Person") == 6
    assert len(of_people(Asked(wanted="with", about="the party"), brings).evidence) == 10
    talk.clear()
    alone = of_people(Asked(wanted="with", about="the party"), brings, time=TODAY)
    assert (alone.status, alone.text) == ("abstained", "I know of nobody who was there at 01:23:20 on Thursday 1970-01-01.")
    assert alone.evidence == ("m5000000000",)
    times.clear()
    assert of_people(Asked(wanted="with", about="the party"), brings) is None
    assert of_people(Asked(wanted="with"), brings) is None, "no time and nothing that went on"
    mug = lead(episode(5), episode(50), confidence=0.7, phrase="mug")
    seen = of_people(Asked(wanted="with", about="the mug"), known([deed(40, "Ben")], leads=[mug]))
    assert (seen.text, seen.confidence) == (f"Ben was there at {clock(50)}.", 0.7)


def test_who_was_heard_where_nobody_is_known() -> None:
    two = [utterance(5, "Ben"), utterance(9, ""), utterance(12, "someone"), utterance(15, "me")]
    asked = Asked(wanted="who", types=("TALKS_TO",), source="me")
    found = of_people(asked, known(said=two, kept=False))
    assert found.text == f"Ben (at {clock(5)})."
    assert found.notes == ("I do not know which voice is yours; this was said near you",)
    known_voice = [deed(900, "me", "TALKS_TO", "Ben", kind="person")]
    assert of_people(asked, lambda a: Related(rows=tuple(known_voice) if a.from_us is None and a.target == "" else ())).status == "answered"
    absent = lambda a: Related(rows=tuple(two)) if isinstance(a, Hear) else Related(rows=tuple(known_voice) if not a.target else ())  # noqa: E731
    assert of_people(msgspec.structs.replace(asked, target="anna"), absent).text == "I know of no talk with Anna.", "your voice is known"
    often = of_people(msgspec.structs.replace(asked, wanted="how_often", target="Ben"), known(said=two[:1]))
    assert often.text == f"1 time: {clock(5)}."


def test_who_was_there_at_the_last_of_several_deeds() -> None:
    """Around the last time that the drill was used, by the surest of what tells that somebody was there."""
    jobs = [deed(100), deed(900, confidence=0.9)]
    talk = [deed(910, "Ben", "TALKS_TO", "Clara", 0.5, kind="person"), deed(920, "Ben", "TALKS_TO", "Dora", 0.7, kind="person")]

    def brings(action: Any) -> Any:
        if not isinstance(action, Relate):
            return known()(action)
        rows = [row for row in (*jobs, *talk) if action.type in {"", row.type}]
        return Related(rows=tuple(row for row in rows if (action.from_us or 0) <= row.t0_us <= action.to_us), known=True)

    found = of_people(Asked(wanted="with", about="i used the drill"), brings)
    assert found.text == "Ben, Dora and Clara were there at 00:15:00 on Thursday 1970-01-01."
    assert found.confidence == 0.7


def test_what_was_said_around_a_deed_is_no_talk_with_anybody() -> None:
    near = known(said=[utterance(5, "Ben")])
    assert of_people(Asked(wanted="when", types=("USES",), source="me", target="mug"), near) is None
    others = of_people(Asked(wanted="did", types=("TALKS_TO",), source="anna", target="ben"), near)
    assert (others.status, others.text) == ("abstained", "I know of no talk with Anna.")


def test_people_are_looked_for_in_the_time_that_is_asked_about_and_talk_in_both_directions() -> None:
    _, (hear,) = run(people._heard((5, 9), "rent"), lambda _: Related())
    assert (hear.from_us, hear.to_us) == (5, 9)
    for type_, either in (("TALKS_TO", True), ("USES", False)):
        _, (relate,) = run(people._related((5, 9), "me", "Ben", type_), lambda _: Related())
        assert (relate.from_us, relate.to_us, relate.either) == (5, 9, either)


def test_the_option_is_the_one_who_did_it_or_what_was_said() -> None:
    jobs = [deed(0, "Ben", quote="Anna"), deed(10, "Ben", quote="Anna")]
    assert of_people(Asked(wanted="who", types=("USES",), target="drill"), known(jobs), ("Anna", "Ben")).option == 1
    said = [utterance(3, text="The rent is due.")]
    assert of_people(Asked(wanted="said", about="rent"), known(said=said), ("it is paid", "the rent is due")).option == 1
    assert of_people(Asked(wanted="when", types=("USES",), source="me"), known(jobs[:1]), ("Anna", "Ben")).option is None


def test_an_occasion_lasts_as_long_as_the_longest_of_its_rows() -> None:
    long = msgspec.structs.replace(deed(0), t1_us=1000 * US)
    for at_s, often in ((1600, "1 time"), (1601, "2 times")):
        rows = known([long, deed(10), deed(at_s)])
        told = of_people(Asked(wanted="how_often", types=("USES",), source="me", target="drill"), rows)
        assert told.text.startswith(f"{often}: "), at_s


def test_names_that_are_longer_than_an_action_takes_are_cut() -> None:
    long = "x" * 500
    _, actions = run(people._heard((None, None), long, long), lambda _: Related())
    assert (actions[0].about, actions[0].speaker) == ("x" * 400, "x" * 100)
    _, actions = run(people._related((None, None), long, long), lambda _: Related())
    assert (actions[0].source, actions[0].target) == ("x" * 100, "x" * 100)


# ------------------------------------------------------------------------------------------------------------- words, and which of them


def asked(question: str, **span: Any) -> Session:
    s = session()
    s.__dict__["_read"] = (understand(question), msgspec.structs.replace(s.span, **span))
    return s


def put(question: str, pool: Pool, brings: Callable[[Any], Any] = lambda _: Scene(), **span: Any) -> Reply:
    s = asked(question, **span)
    gathered = lambda action: pool if isinstance(action, Gather) else brings(action)  # noqa: E731
    made: Reply = run(local.reply(s), gathered)[0]
    return made


SURE, VAGUE = {"held": 1.0, "cosine": 0.8, "above": 8.0}, {"held": 0.2, "cosine": 0.1, "above": 0.1}


def test_words_or_pictures_whichever_is_likelier() -> None:
    mug = lead(episode(10), confidence=0.6)
    told = heard("The mug is in the hall.", 5, **SURE)
    assert put("Where is the mug?", Pool(candidates=(told,), leads=(mug,))).text.startswith("In the hall: somebody said")
    assert put("Where is the mug?", Pool(candidates=(heard("The mug is in the hall.", **VAGUE),), leads=(mug,))).text.startswith(
        "I last saw"
    )
    assert put("Where is the mug?", Pool(candidates=(told,))).text.startswith("In the hall: somebody said")


def test_yes_needs_every_word() -> None:
    part = heard("The plumber comes on Tuesday.", 5, **{**SURE, "held": 0.9})
    found = put("Is the plumber coming on Tuesday morning?", Pool(candidates=(part,)))
    assert found.status == "abstained"
    assert found.text.startswith('I cannot tell. The nearest that I know: Somebody said "The plumber comes on Tuesday."')
    assert found.confidence == 0.4
    whole = put("Is the plumber coming?", Pool(candidates=(heard("The plumber comes.", 5, **SURE),)))
    assert (whole.status, whole.text) == ("answered", f'Somebody said "The plumber comes." at {clock(5)}.')


@pytest.mark.parametrize(
    ("question", "begin"),
    [
        ("Is the cat called Tom Smith?", "I cannot tell. The nearest that I know: Somebody said"),
        ("The cat is called Tom Smith, isn't it?", "I cannot tell. The nearest that I know: Somebody said"),
        ("No, what is the cat called?", "Tom: somebody said"),
        ("I have forgotten the name of the cat", "Tom: somebody said"),
        ("I think the cat is called Tom Smith", "Somebody said"),
    ],
)
def test_words_that_hold_a_part_answer_what_does_not_ask_whether(question: str, begin: str) -> None:
    part = heard("The cat is called Tom.", 5, **{**SURE, "held": 0.5})
    assert put(question, Pool(candidates=(part,))).text.startswith(begin)


@pytest.mark.parametrize(("held", "all_of_it"), [(0.99, False), (1.0, True)])
def test_words_hold_all_of_a_question_above_99_of_100(held: float, all_of_it: bool) -> None:
    comes = put("Is the plumber coming?", Pool(candidates=(heard("The plumber comes.", 5, **{**SURE, "held": held}),)))
    assert (comes.status == "answered", comes.text.startswith("I cannot tell.")) == (all_of_it, not all_of_it)
    level, car = heard("The car is parked on level 2.", 5, held=held, cosine=0.4, above=3.0), lead(episode(10), phrase="car")
    assert put("Where is our car?", Pool(candidates=(level,), leads=(car,))).text.startswith("On level 2: ") is all_of_it


@pytest.mark.parametrize(
    ("question", "seen", "settled"),
    [
        ("Is the flight on time?", 0.05, True),
        ("Is the flight on time?", 0.8, False),
        ("Is the flight not on time?", 0.05, False),
        ("Was the flight on time before the meeting?", 0.05, False),
        ("When is the flight on time?", 0.05, False),
        ("Is the flight late?", 0.05, False),
    ],
)
def test_unlikely_words_settle_a_plain_claim_that_no_picture_shows(question: str, seen: float, settled: bool) -> None:
    words, flight = heard("The flight is delayed.", 5), lead(episode(10), phrase="flight", confidence=seen)
    told = local._settled(asked(question), Pool(leads=(flight,)), [(0.1, words)])
    assert (told and (told.text.partition(":")[0], told.confidence)) == (("No", 0.45) if settled else None)


def test_what_was_seen_most_often_may_have_been_said_of_a_kind() -> None:
    said, cow = heard("The animal that you saw most often is the cow.", 5, **SURE), Scene(evidence=(evidence(10),), sights=(label("cow"),))
    of_kind = put("Which animal did I see most often?", Pool(candidates=(said,), leads=(Lead(phrase="animal"),)), lambda _: cow)
    assert of_kind.evidence == ("m5000000",)
    assert put("What did I see most often?", Pool(candidates=(said,)), lambda _: cow).evidence == ("m10000000",)


def test_what_was_said_most_often_is_told_in_words() -> None:
    said = heard("He says hello most often.", 5, **SURE)
    assert put("What did he say most often?", Pool(candidates=(said,))).evidence == ("m5000000",)


def test_of_words_those_are_weighed_that_lie_where_the_relation_puts_them() -> None:
    before, after = heard("It may rain soon.", 20), heard("It may rain hard.", 70)
    plan = local._unweighed(asked("What did he say about the rain after the cat?"), Pool(candidates=(before, after)))
    told, left = run(plan, within(lead(episode(50), phrase="cat", confidence=0.9)))[0]
    assert (told, left.candidates) == (None, (after,))


def test_whether_it_was_said_or_read_is_not_known_of_nothing() -> None:
    asks = "Level three, was that on a sign or did somebody say it?"
    assert put(asks, Pool()).text == "I have heard or read nothing that answers this."
    level = heard("We are on level three.", 5, held=1.0)
    assert put(asks, Pool(candidates=(level,))).text.startswith("It was said, not read that I know: ")
    nothing = asked("Was that on a sign or did somebody say it?")
    assert statements.said_or_read(nothing, Pool(candidates=(level,))) is None, "it names no words"
    assert statements.said_or_read(asked(asks), Pool(candidates=(heard("It is late.", 5),))) is None, "nothing holds half of it"
    half = heard("The level is low.", 5, held=1.0)
    assert put(asks, Pool(candidates=(half,))).text.startswith("It was said, not read that I know: "), "one of two words"


def test_how_many_counts_the_thing_that_it_names() -> None:
    hen, eggs = lead(episode(10), phrase="hen", confidence=0.9), lead(episode(50), episode(90), phrase="eggs", confidence=0.6)
    assert put("How many eggs has the hen laid?", Pool(leads=(hen, eggs))).text.startswith("2 times: I saw the eggs")
    assert put("When did the hen lay eggs?", Pool(leads=(hen, eggs))).text.startswith(f"I saw the hen {at(10)}")


def test_a_summary_is_of_a_time_or_of_the_thing_that_it_names() -> None:
    def told(question: str, one: Lead) -> str:
        return put(question, Pool(leads=(one,)), lambda _: Scene(evidence=(evidence(10),), sights=(label("sofa"),))).text

    mug, strange = lead(episode(10)), Lead(phrase="xylomat", firing=0.0)
    assert told("Sum up the mug.", mug) == f"I saw the mug {at(10)}."
    assert told("Sum up my day, the mug", mug) == f"I saw the mug {at(10)}."
    assert told("Sum up 10:01 to 10:03, my memory is like sawdust", strange) == f"Sofa, {at(10)}."
    assert told("Where was the xylomat at 10:02, please?", strange).startswith("I cannot recognise a xylomat.")


def test_words_that_are_as_sure_as_pictures_are_told() -> None:
    mug, words = lead(episode(10), confidence=0.6), heard("I saw the mug in the hall.", 5)
    for share, begin in ((0.6, "In the hall: somebody said"), (0.599, "I last saw the mug")):
        plan = local._of_thing(asked("Where did I see the mug?"), Pool(leads=(mug,)), [(share, words)])
        assert run(plan, by_name(mug))[0].text.startswith(begin), share


def test_a_thing_beside_the_question_is_told_where_it_was_surely_seen() -> None:
    s = session(kind="when", text="the mug was there, when was that")
    sure = run(local._mentioned(s, Pool()), by_name(lead(episode(10), confidence=weights().surely)))[0]
    assert (sure.text, sure.confidence) == (f"I saw the mug {at(10)}.", 0.5 * weights().surely), "half as surely"
    assert run(local._mentioned(s, Pool()), by_name(lead(episode(10), confidence=weights().surely - 0.001)))[0] is None


@pytest.mark.parametrize(
    ("fields", "looked_for", "text"),
    [
        ({}, Pool(), "I saw the mug"),
        ({"kind": "how_many"}, Pool(), "2 times: I saw the mug"),
        ({"kind": "where"}, Pool(), "I last saw the mug"),
        ({}, Pool(leads=(Lead(phrase="cup", firing=0.0),)), "I saw the mug"),
        ({"kind": "how_many", "counts": "at_once"}, Pool(), ""),
        ({"kind": "what"}, Pool(), ""),
        ({"form": "name"}, Pool(), ""),
        ({}, Pool(leads=(Lead(phrase="cup"),)), ""),
        ({}, Pool(leads=(Lead(phrase="mug", firing=0.0),)), ""),
    ],
)
def test_when_another_thing_of_the_text_is_told(fields: dict[str, Any], looked_for: Pool, text: str) -> None:
    """Where it is asked when, where or how often something was, and what was looked for means nothing in pictures."""
    s, mug = (
        session(**{"kind": "when", "text": "the mug was there, when was that", **fields}),
        lead(episode(10), episode(50), confidence=0.9),
    )
    told = run(local._mentioned(s, looked_for), by_name(mug))[0]
    assert (told.text[: len(text)] if told else "") == text
    assert run(local._mentioned(s, looked_for), by_name(msgspec.structs.replace(mug, basis="text")))[0] is None, "it was only read"


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Which xylomat lay by the mug, and how many times was it there?", "2 times: I saw the mug"),
        ("Why was the mug broken and when was it there?", "I saw the mug"),
        ("What did he say about the mug, and when?", ""),
        ("My mug fell and broke, tell me when", ""),
        ("What did the mug say?", ""),
        ("Was there a broken mug with a number on it?", ""),
    ],
)
def test_what_a_text_asks_for_somewhere_is_a_second_reading(question: str, text: str) -> None:
    s = asked(question)
    s.question = msgspec.structs.replace(s.question, text=question)
    told = run(local._again(s), by_name(lead(episode(10), episode(50), confidence=0.9)))[0]
    assert (told.text[: len(text)] if told else "") == text


def test_why_nothing_is_said() -> None:
    fox = Lead(phrase="fox")
    assert put("Did I see a fox?", Pool(leads=(fox,))).text == "No, I have not seen a fox in this memory."
    assert put("Have I never seen a fox?", Pool(leads=(fox,))).text == "I have not seen a fox in this memory."
    for question in ("Will the fox come?", "Is a fox coming?"):
        assert put(question, Pool(leads=(fox,))).text == "I have heard or read nothing that answers this.", (
            "no picture shows what is to come"
        )
    strange = Lead(phrase="blicket", firing=0.01)
    assert put("Did I see a blicket?", Pool(leads=(strange,))).text.startswith("I cannot recognise a blicket.")
    who = put("Who is the man?", Pool(candidates=(heard("A man came.", 5, **{**VAGUE, "cosine": 0.0, "above": 0.0}),)))
    assert who.text == "I have heard or read nothing that answers this. I do not put names to faces."
    assert (who.confidence, who.evidence, who.alternatives) == (0.1, (), ("m5000000",))
    assert put("What is the code?", Pool()).text == "I have heard or read nothing that answers this."
    assert put("Did I see it?", Pool()).text == "I have heard or read nothing that answers this."
    assert put("What did I promise?", Pool()).text == "I have heard or read nothing that answers this."
    past = put(
        "Where was the mug yesterday?", Pool(candidates=(heard("The mug is in the hall.", **SURE),)), problem="Nothing was recorded."
    )
    assert past.text == "Nothing was recorded."
    soon = put("When does the plumber come tomorrow?", Pool(candidates=(heard("He comes at nine.", 5, **SURE),)), problem="Not yet.")
    assert soon.status == "answered"
    assert put("When does the plumber come tomorrow?", Pool(), problem="Not yet.").text == "Not yet."
    film = heard("Tonight we watch the film called The Last Garden.", 5, **SURE)
    for asked, answered in (
        ("What was the film tonight?", True),
        ("What did I see tonight?", False),
        ("Where was the film tonight?", False),
    ):
        assert (put(asked, Pool(candidates=(film,)), problem="Not yet.", to_come=True).status == "answered") is answered
    assert put("What was the film tonight?", Pool(candidates=(film,)), problem="Nothing was recorded.").status == "abstained"
    met = heard("The meeting with Laura is on Saturday at ten.", 5, **SURE)
    for asked, answered in (("Laura and me, what time on Saturday?", True), ("What time was Laura there on Saturday?", False)):
        assert (put(asked, Pool(candidates=(met,)), problem="Not yet.").status == "answered") is answered


def test_words_are_told_where_the_thing_was_not_seen_or_no_picture_answers() -> None:
    told = heard("The mug is in the hall.", 5, held=0.5, cosine=0.5, above=4.0)
    weak = put("Where is the mug?", Pool(candidates=(told,), leads=(lead(episode(10), confidence=0.5),)))
    assert weak.text.startswith("In the hall: somebody said"), "half sure that it was seen is less than sure, and the words are likely"
    sign = Episode(stream="s", t0_us=0, t1_us=0, offset_us=0, score=0.9, evidence=(evidence(0, text="AF906 ON TIME"),))
    flight = msgspec.structs.replace(lead(sign, phrase="af906", confidence=0.9), basis="text")
    read = put("AF906, is it delayed or fine?", Pool(leads=(flight,)))
    assert (read.status, '"AF906 ON TIME"' in read.text) == ("answered", True)
    assert put("When does AF906 take off?", Pool(leads=(flight,))).status == "abstained", "it names no time"
    assert put("AF906, is it delayed or fine?", Pool(leads=(msgspec.structs.replace(flight, basis="frame"),))).status == "abstained"
    car = lead(episode(10), phrase="car")
    asked = put("What mileage has the car got?", Pool(leads=(lead(phrase="mileage", confidence=0.1), car)))
    assert (asked.status, asked.unverified[0]) == ("abstained", "mileage")


def test_what_was_said_of_where_a_thing_is_outweighs_a_picture_of_one_of_its_kind() -> None:
    said, car = {"held": 1.0, "cosine": 0.4, "above": 3.0}, lead(episode(10), phrase="car", confidence=0.8)
    level = heard("The car is parked on level 2.", 5, **said)

    def told(question: str, *words: Candidate) -> str:
        return put(question, Pool(candidates=words, leads=(car,))).text

    assert told("Where is our car?", level).startswith("On level 2: somebody said")
    assert told("Where did we leave the car?", level).startswith("On level 2: somebody said")
    assert told("Where did I last see the car?", level).startswith("I last saw the car")
    assert told("When was the car there?", level).startswith("I saw the car")
    assert told("Where is our car?", heard("The car is red.", 5, **said)).startswith("I last saw the car")
    assert told("Where is our car?", heard("The car is parked on level 2.", 5, **{**said, "held": 0.9})).startswith("I last saw the car")
    assert told("Where is our car?", heard("A car is parked on level 2.", 5, **said)).startswith("I last saw the car")
    sign = msgspec.structs.replace(level, channel="text")
    assert told("Where is our car?", sign).startswith("I last saw the car"), "of any car"


def test_a_question_without_a_word_of_its_own_is_about_what_is_seen() -> None:
    left = heard("Let us turn left here.", 5, held=0.3, cosine=0.4, above=4.0)
    assert "turn left" not in put("Where are we?", Pool(candidates=(left,))).text
    assert "turn left" in put("What was said?", Pool(candidates=(left,))).text


def test_a_figure_that_the_question_says_is_not_the_one_it_asks_for() -> None:
    def tells(question: str, text: str) -> bool:
        return statements.may_tell(understand(question), msgspec.structs.replace(heard(text, 5), channel="text"))

    assert not tells("How often does the 96 run?", "BUS 96 to London")
    assert tells("How often does the 96 run?", "BUS 96 to London, 4 an hour")
    assert not tells("When does bus 96 leave?", "BUS 96 to London")
    assert tells("Which platform number has the 96?", "BUS 96 to London"), "the form may be guessed wrong: it weighs less, that is all"
    asked = understand("What is the name of the star of The Last Garden?")
    film = heard("We watch the film called The Last Garden.", 5, **SURE)
    assert weigh.word_features(asked, film)["misfits"] == 1.0
    assert weigh.word_features(asked, heard("The star is called Anna Reid.", 5, **SURE))["misfits"] == 0.0
    flight = msgspec.structs.replace(lead(episode(10), phrase="kl325"), basis="text")
    seen = msgspec.structs.replace(flight, episodes=(msgspec.structs.replace(episode(10), evidence=(evidence(10, text="FLIGHT KL325"),)),))
    assert weigh.shown(understand("What is the booking reference of KL325?"), seen) == 0.0


def test_which_of_two_was_seen_more_often() -> None:
    cats, dogs = lead(episode(10), episode(100), phrase="cats"), lead(episode(50), phrase="dogs", confidence=0.6)

    def told(question: str, *leads: Lead) -> tuple[str, str]:
        found = put(question, Pool(leads=leads))
        return found.status, found.text

    counted = "I saw the cats 2 times and the dogs 1 time."
    assert told("Did I see more cats than dogs?", cats, dogs) == ("answered", f"Yes: {counted}")
    assert told("Did I see fewer cats than dogs?", cats, dogs) == ("answered", f"No: {counted}")
    fewer = "Yes: I saw the dogs 1 time and the cats 2 times."
    assert told("Did I see fewer dogs than cats?", dogs, cats) == ("answered", fewer)
    assert told("Did I see more cats or more dogs?", cats, dogs) == ("answered", f"The cats: {counted}")
    assert told("Did I see fewer cats or fewer dogs?", cats, dogs) == ("answered", f"The dogs: {counted}")
    same = lead(episode(10), episode(100), phrase="dogs")
    assert told("Did I see more cats or more dogs?", cats, same)[1].startswith("Neither: I saw the cats 2 times")
    assert told("Did I see more cats than dogs?", cats, same)[1].startswith("No: ")
    assert told("Did I see fewer cats than dogs?", cats, same)[1].startswith("No: ")
    found = put("Did I see more cats than dogs?", Pool(leads=(cats, dogs)))
    assert (found.confidence, found.evidence) == (0.3, ("m10000000", "m100000000", "m50000000"))
    none = put("Did I see more cats than dogs?", Pool(leads=(cats, lead(phrase="dogs"))))
    assert (none.status, none.text, none.unverified) == ("abstained", "I saw the cats 2 times and the dogs 0 times.", ("more",))
    many = lead(*(episode(100 * n) for n in range(5)), phrase="cats")
    unseen = put("Did I see more cats than dogs?", Pool(leads=(many, lead(phrase="dogs"))))
    assert (unseen.confidence, unseen.evidence) == (0.2, ("m0", "m100000000", "m200000000")), "three of five are shown"


def test_the_signs_themselves_in_their_order() -> None:
    def sign(at_s: int, words: str) -> Candidate:
        return Candidate(channel="text", text=words, evidence=(evidence(at_s, text=words),))

    every = (sign(90, "GATE 84"), sign(30, "COFFEE 5 EUR"), sign(60, "29"), sign(95, "GATE 84."), sign(120, "EXIT"), heard("a sign", 5))

    def told(question: str) -> Reply:
        return put(question, Pool(candidates=every))

    assert told("What did the first sign say?").text == f'"COFFEE 5 EUR", read {at(30)}.'
    assert told("What did the first sign say?").confidence == 0.5
    assert told("What did the last sign say?").evidence == ("m120000000",)
    assert told("What numbers were on the signs?").evidence == ("m30000000", "m60000000", "m90000000")
    assert told("What was the third sign I saw?").evidence == ("m120000000",)
    assert told("What is the last notice?").evidence == ("m120000000",)
    all_of_them = ("m30000000", "m90000000", "m120000000")
    assert told("Which notices did I pass?").evidence == all_of_them, "the same sign again is one, and a number is none"
    assert told("How many signs did I see?").text.startswith('3 signs. "COFFEE 5 EUR", read')
    assert told("List everything I read, in order.").evidence == all_of_them
    assert told("Which writing did I walk past?").evidence == all_of_them
    assert told("What was written on the signs?").evidence == all_of_them
    for more in (
        "Which walks did I see?",
        "When did I read the text?",
        "Who wrote the text?",
        "How many texts did I get?",
        "List everything he read",
    ):
        assert told(more).evidence != all_of_them, more
    were_any = told("Were there any signs?")
    assert (were_any.evidence, were_any.text[:5]) == (all_of_them, "Yes: ")
    for less in ("Were there any signs in the kitchen?", "Did I not see any signs?", "Did Anna see any signs?", "Were the signs in view?"):
        assert told(less).evidence != all_of_them, less
    words = ["GATE", "COFFEE", "EXIT", "HOTEL", "BAKERY", "PLUMBING", "MUSEUM", "STATION", "PHARMACY", "CINEMA", "JEWELLER"]
    many = put("Which notices did I pass?", Pool(candidates=tuple(sign(30 * n, word) for n, word in enumerate(words))))
    assert [word for word in words if word in many.text] == words[:10], "of eleven ten are told"
    assert many.text.endswith(" And 1 more.")
    ten = put("Which notices did I pass?", Pool(candidates=tuple(sign(30 * n, word) for n, word in enumerate(words[:10]))))
    assert not ten.text.endswith("more.")
    assert told("What did the tenth sign say?").evidence != ("m30000000",)
    assert told("Which signs forbid dogs?").evidence != all_of_them, "more is asked than which signs there were"
    s = session()
    s.__dict__["_read"] = (understand("What signs did I see after eight?"), msgspec.structs.replace(s.span, from_us=60 * US))
    early = statements.signs(s, Pool(candidates=every))
    assert early is not None
    assert early.evidence == ("m90000000", "m120000000")


@pytest.mark.parametrize(
    ("question", "read"),
    [
        ("What did I read?", (30, 90, 120)),
        ("Did I see any writing?", (30, 90, 120)),
        ("Which text did I read?", (30, 90, 120)),
        ("What numbers did I read?", (30, 60, 90)),
        ("Which numbers did I see?", (30, 60, 90)),
        ("Were there any numbers?", (30, 60, 90)),
        ("List the figures that I read", (30, 60, 90)),
        ("Which signs had a number on them?", (30, 60, 90)),
        ("What numbers did they say?", ()),
        ("How many numbers did I see?", ()),
        ("What did I write?", ()),
        ("What did I read in the kitchen?", ()),
        ("What did Anna read?", ()),
        ("Did I read anything?", ()),
        ("Were there any signs about parking?", ()),
        ("What signs did I see after the dog?", ()),
    ],
)
def test_which_questions_ask_for_all_that_was_read_or_for_its_figures(question: str, read: tuple[int, ...]) -> None:
    signs = ((90, "GATE 84"), (30, "COFFEE 5 EUR"), (60, "29"), (120, "EXIT"))
    every = tuple(Candidate(channel="text", text=words, evidence=(evidence(at_s, text=words),)) for at_s, words in signs)
    told = statements.signs(asked(question), Pool(candidates=(*every, heard("it was gate 3", 5))))
    assert (told.evidence if told else ()) == tuple(f"m{at_s}000000" for at_s in read)


def test_half_a_question_goes_on_about_nothing() -> None:
    s = session()
    for question, said in (("and before that?", True), ("and him?", True), ("and the mug?", False), ("and Tom?", False)):
        s.__dict__["_read"] = (understand(question), s.span)
        assert bool(local.LocalPlanner().refuse(s)) is said


def test_the_whole_memory_is_searched_for_words_and_the_stretch_for_pictures() -> None:
    def looks(question: str, **span: Any) -> list[tuple[str, tuple[str, ...], Any, Any]]:
        s = session()
        s.__dict__["_read"] = (understand(question), msgspec.structs.replace(s.span, **span))
        return [(a.question, a.things, a.from_us, a.to_us) for a in run(local.everything(s), lambda _: Pool())[1]]

    assert len(looks("Which mug was it?", from_us=5, to_us=9)) == 1, "rather a picture: what was told then"
    assert looks("Where did I see the mug?", from_us=5, to_us=9) == [("where did i see the mug?", ("mug",), 5, 9)]
    assert looks("Where is the mug?", from_us=5, to_us=9) == [("where is the mug?", (), None, 1000 * US), ("", ("mug",), 5, 9)]
    assert looks("Where did I see the mug?", from_us=5, to_us=9, problem="none") == [("where did i see the mug?", (), None, 1000 * US)]
    assert looks('Did I see the word "EXIT"?')[0][1] == ('"exit"',)
    assert looks("Who is Tom?")[1][1] == ("tom",)
    assert looks("Have I been near a ferret?")[0][1] == ("ferret",)
    then = looks("What is the plan on Friday?", from_us=5, to_us=9)
    in_day = [(bool(question), from_us) for question, _, from_us, _ in then]
    assert in_day == [(True, None), (True, 5), (False, 5)], "words of all times and of that day, pictures of that day"


def test_two_sayings_are_told_where_they_differ() -> None:
    s, one = session(kind="where", form="place"), heard("The key is under the mat.", 1, **SURE)
    two, same = heard("The key hangs in the kitchen.", 2, **SURE), heard("The key is under the mat!", 3, **SURE)
    assert "may also" not in statements.tell(s, [(0.8, one), (0.79, same)]).text
    assert "may also" in statements.tell(s, [(1.0, one), (0.85, two)]).text, "from 85 of 100 on"
    three = statements.tell(s, [(0.8, one), (0.79, same), (0.78, two), (0.7, heard("x", 4)), (0.6, heard("y", 5))], ("m9",))
    assert three.alternatives == ("m3000000", "m2000000", "m4000000", "m9")
    assert three.evidence == ("m1000000", "m2000000")
    sign = Candidate(channel="text", text="EXIT", evidence=tuple(evidence(n, text="EXIT") for n in range(1, 6)))
    assert statements.tell(session(), [(0.8, sign)]).evidence == ("m1000000", "m2000000", "m3000000")
    sign = Candidate(channel="text", text="a  cat", evidence=(evidence(7),))
    assert statements.tell(session(), [(0.8, sign)]).text == f'"a cat", read {at(7)}.'
    me = msgspec.structs.replace(one, speaker="me")
    assert statements.tell(session(), [(0.8, me)]).text.startswith('You said "The key')


def test_words_are_ranked_and_of_two_alike_the_newer_first() -> None:
    old, new, weak = heard("the key", 1, **SURE), heard("the key", 9, **SURE), heard("a key", 5, **VAGUE)
    assert [one.t0_us // US for _, one in statements.ranked(asked("What did Anna say?"), Pool(candidates=(weak, old, new)))] == [9, 1, 5]


def test_what_was_told_again_counts_as_it_was_told_last_or_in_the_time_that_is_asked() -> None:
    told = ((3, 1, 0.9), (4, 4000, 0.8), (5, 9000, 0.8))
    cars = [heard(f"The car is on level {level}.", at_s, **{**SURE, "cosine": cosine}) for level, at_s, cosine in told]
    others = (
        heard("A van is on level 7.", 9500, **{**SURE, "held": 0.9}),
        heard("The car, they say, was sold by Hanna years ago.", 9700, **{**SURE, "cosine": 0.2}),
        msgspec.structs.replace(heard("The car is on level 6.", 9900, **SURE), channel="text"),
    )
    pool = Pool(candidates=(*cars, *others))

    def first(question: str, **span: Any) -> str:
        return statements.ranked(asked(question, **span), pool)[0][1].text.removeprefix("The car is on ")

    assert first("Where is the car?") == "level 5."
    assert first("Where was the car?", from_us=0, to_us=3 * US) == "level 3."
    assert first("Where was the car?", from_us=3000 * US, to_us=5000 * US) == "level 4."
    assert first("Where was the car?", from_us=5000 * US, to_us=6000 * US) == "level 5.", "told at no such time"
    assert first("Where was the car first?") == "level 3."
    assert first("Where was the car last?") == "level 5."
    assert first("Where was the car the second time?") == "level 4."
    assert first("Where was the car the fifth time?") == "level 3.", "not told so often: the likeliest"
    told = put("Where is the car?", pool)
    assert told.text.startswith('On level 5: somebody said "The car is on level 5."')
    assert told.text.endswith(
        f'Before that: On level 4: somebody said "The car is on level 4." at {clock(4000)[0:0]}01:06:40 on Thursday 1970-01-01.'
    )
    assert "Before that" not in put("Where was the car today?", pool, from_us=0).text, "as it was then"
    soon = Pool(candidates=(heard("The car is on level 3.", 100, **SURE), heard("The car is on level 4.", 3700, **SURE)))
    assert "Before that" not in put("Where is the car?", soon).text, "within an hour"
    same = Pool(candidates=(heard("The car is on level 3.", 100, **SURE), heard("the car is on level 3", 9000, **SURE)))
    assert "Before that" not in put("Where is the car?", same).text, "the same words"


def test_which_there_were_of_a_kind_is_told_by_their_names() -> None:
    owl = SeenName(kind="label", name="owl", score=0.9, t0_us=10 * US, t1_us=20 * US, best_us=10 * US)
    birds = lead(msgspec.structs.replace(episode(10), evidence=(evidence(10, 0.8, text="owl"),)), phrase="birds")
    told = put("Which birds did I see?", Pool(leads=(birds,)), lambda _: Scene(evidence=(evidence(10),), sights=(owl,)))
    assert told.text == "I saw the birds: owl (00:00:10)."
    nameless, words = Scene(evidence=(evidence(10),)), heard("The birds were owls.", 5, **SURE)
    unsure = put("Which birds did I see?", Pool(leads=(birds,)), lambda _: nameless)
    assert (unsure.status, unsure.text) == ("abstained", f"I am not sure that I saw birds; it may have been {at(10)}.")
    assert put("Which birds did I see?", Pool(leads=(birds,), candidates=(words,)), lambda _: nameless).evidence == ("m5000000",)


def test_a_name_that_was_read_is_no_answer_to_what_is_asked_of_it() -> None:
    gate = msgspec.structs.replace(lead(episode(10)), basis="text")
    assert weigh.shown(Parsed(kind="what", things=("gate",)), gate) == 0.8
    assert weigh.shown(Parsed(kind="what", quote="gate"), gate) == 0.8
    assert weigh.shown(Parsed(kind="what"), gate) == 0.0


def test_as_likely_words_that_are_not_alike_are_told_newest_first() -> None:
    unlike = heard("Flight LH239, on time", 1, **SURE), heard("AF821 is a flight", 9000, **SURE)
    assert [one.t0_us // US for _, one in statements.ranked(asked("Which flight?"), Pool(candidates=unlike))] == [9000, 1]


@pytest.mark.parametrize(
    ("question", "words", "speaker", "tells"),
    [
        ("What did Anna say about the key?", "it is here", "Ben", False),
        ("What did Anna say about the key?", "Anna has the key", "Ben", True),
        ("What did Anna say?", "it is here", "Anna Lee", True),
        ("What did Anna say?", "it is here", "", True),
        ("What is the price of the tea?", "it is hot", "Ben", False),
        ("What does a ticket on bus 96 cost?", "I have a ticket on bus 96.", "Ben", False),
        ("What does a ticket on bus 96 cost?", "A ticket on bus 96 is 3 euros.", "Ben", True),
        ("What is the price of the tea?", "it is 2.80", "Ben", True),
        ("Did I see the key?", "I saw the key", "Ben", False),
        ("What price did they mention?", "it is hot", "Ben", False),
        ("What price did they mention?", "it is 3 euros", "Ben", True),
        ("Where is the meeting?", "The meeting is on Monday.", "Ben", False),
        ("Where is the meeting?", "The meeting is in the hall.", "Ben", True),
        ("How many guests are coming?", "Guests are coming.", "Ben", False),
        ("How many guests are coming?", "Twelve guests are coming.", "Ben", True),
        ("Which film do we watch?", "We watch it at home.", "Ben", True),
        ("Who called?", "It was late.", "Ben", False),
        ("What did I see at the door?", "a key", "Ben", True),
        ("Where can I see the giraffe?", "You can see the giraffe in the zoo.", "Ben", True),
        ("Where did I see the giraffe?", "I saw the giraffe in the zoo.", "Ben", False),
        ("Who will be there?", "It is on Friday at eight.", "Ben", False),
        ("Who will be there?", "My brother comes at eight.", "Ben", True),
        ("Besides Robert, who else will be there?", "We meet Robert on Friday.", "Ben", False),
        ("Who stars in The Winter Forest?", "We watch The Winter Forest.", "Ben", False),
        ("Who said that it rains?", "it rains", "Ben", True),
        ("Who is Robert?", "Robert comes on Friday.", "Ben", True),
        ("Which room is Dr. Patel in?", "Dr. Keller is in room 3", "Ben", False),
        ("Which room is Dr. Patel in?", "Dr. Patell is in room 3", "Ben", True),
        ("Which room is Dr. Patel in?", "the doctor is in room 3", "Ben", True),
        ("When is the meeting with Emma?", "a meeting with Daniel is on Monday", "Ben", False),
        ("When does my brother come?", "Daniel comes on Monday", "Ben", True),
        ("What is my sister's shoe size?", "My brother's shoe size is 44", "Ben", False),
        ("What is my brother's shoe size?", "My brother's shoe size is 44", "Ben", True),
        ("What is my brother's shoe size?", "His shoe size is 44", "Ben", True),
        ("What size does my bro take?", "My brother's shoe size is 44", "Ben", True),
        ("And my sister, what does she take in shoes?", "My brother's shoe size is 44", "Ben", False),
        ("What is my mum's shoe size?", "My mother's shoe size is 44", "Ben", True),
        ("What is my brother's name?", "I should call my mother Anna more often", "Ben", False),
        ("Who should I call?", "I should call my mother more often", "Ben", True),
        ("What size does my sister take?", "Tell my brother to come", "Ben", False),
        ("What does my sister like?", "I should call my brother", "Ben", False),
        ("What does my sister like?", "My sister likes tea", "Ben", True),
        ("What was David wearing?", "The meeting with David is on Sunday", "Ben", False),
        ("What was David wearing?", "David wears a red hat", "Ben", True),
        ("Which size of shoes does my brother wear?", "My brother's shoe size is 44", "Ben", True),
        ("Where does David wear his hat?", "David comes on Sunday", "Ben", False),
        ("Where does David wear his hat?", "David wears it on Sunday at home", "Ben", True),
        ("Where is David's hat?", "Ben has David's hat", "Ben", False),
        ("Where is David's hat?", "Ben has his hat", "Ben", True),
    ],
)
def test_whose_words_may_tell_it(question: str, words: str, speaker: str, tells: bool) -> None:
    assert statements.may_tell(understand(question), heard(words, speaker=speaker)) is tells


@pytest.mark.parametrize(
    ("question", "text", "tells"),
    [
        ("Where is the bus?", "BUS 14", True),
        ("Is the shop open?", "SHOP OPEN TODAY", True),
        ("What is it called?", "it is red", True),
        ("How many signs were there?", "BUS 14", True),
        ("How often did the bus come?", "BUS 14", False),
        ("What did he hold?", "BUS 14", False),
    ],
)
def test_which_signs_may_tell_it(question: str, text: str, tells: bool) -> None:
    assert statements.may_tell(understand(question), msgspec.structs.replace(heard(text), channel="text")) is tells


def test_a_sign_does_not_tell_what_was_said() -> None:
    sign = Candidate(channel="text", text="29", evidence=(evidence(1),), held=1.0)
    for question, tells in (("Did anyone say my name?", False), ("Did the sign say my name?", True), ("What did anyone say?", False)):
        assert statements.may_tell(understand(question), sign) is tells


def test_a_sign_tells_the_price_of_what_stands_on_it() -> None:
    sign = Candidate(channel="text", text="COFFEE 7 EUR", evidence=(evidence(1),), held=1.0)
    for question, tells in (
        ("How much was a tea?", False), ("How much was the coffee?", True), ("How much was a cofee?", True),
        ("What was the price on the board?", True), ("How much was it?", True), ("What stood there about the tea?", True),
    ):  # fmt: skip
        assert statements.may_tell(understand(question), sign) is tells, question


def test_the_option_that_words_mean() -> None:
    s = session(("the red door", "the blue gate"))
    assert statements.option_of(s, ["nothing", "by the blue gate"]) == 1
    assert statements.option_of(s, ["nothing"]) is None
    assert statements.option_of(session(), ["by the blue gate"]) is None
    assert statements.option_of(session(("abcd efgh",)), ["abcd"]) == 0, "half of its letters"
    assert statements.option_of(session(("abcd efghij",)), ["abcd"]) is None, "four in ten"


@pytest.mark.parametrize(
    ("command", "does"), [("forget", "edgemem forget"), ("turn off", "edgemem pause"), ("save", "edgemem name"), ("call", "")]
)
def test_a_command_is_told_how_it_is_done(command: str, does: str) -> None:
    found = statements.refuse(session(command=command))
    assert (found.status, found.unverified) == ("abstained", (command,))
    assert does in found.text
    assert ("only answer" in found.text) is not bool(does)
    assert Parsed(kind="command", command=command).command == command


def within(*leads: Lead) -> Callable[[Any], Any]:
    """A look for things brings of each what was seen of it in the stretch that is looked at."""
    known = {one.phrase: one for one in leads}

    def brings(action: Any) -> Any:
        if not isinstance(action, Gather):
            return Scene(evidence=(evidence(7),), sights=(label("sofa"),))
        found = []
        for thing in action.things:
            one = known.get(thing, Lead(phrase=thing))
            low, high = action.from_us or 0, 10**12 if action.to_us is None else action.to_us
            some = tuple(e for e in one.episodes if low <= e.t0_us <= high)
            found.append(msgspec.structs.replace(one, episodes=some, confidence=one.confidence if some else 0.0))
        return Pool(leads=tuple(found))

    return brings


def answer(question: str, brings: Callable[[Any], Any], options: tuple[str, ...] = (), **span: Any) -> Reply:
    s = session(options)
    s.__dict__["_read"] = (understand(question), msgspec.structs.replace(s.span, **span))
    made: Reply = run(local.reply(s), brings)[0]
    return made


def test_a_word_for_the_form_of_the_answer_is_none_that_the_words_must_hold() -> None:
    def wanted(question: str) -> set[tuple[str, ...]]:
        asked = set[tuple[str, ...]]()

        def brings(action: Any) -> Any:
            if isinstance(action, Gather) and action.question:
                asked.add(action.words)
            return Pool() if isinstance(action, Gather) else Scene()

        answer(question, brings)
        return asked

    assert wanted("What colour is the pillar?") == wanted("Which color has the pillar?") == {("pillar",)}
    assert wanted("What's the title of the film?") == {("film",)}
    assert wanted("What does a coffee cost?") == {("coffee",)}
    assert wanted("What hour is the meeting?") == {("meeting",)}
    assert wanted("Did they talk about the cost of a coffee?") == {("talk", "cost", "coffee")}


def test_where_a_relation_puts_the_thing() -> None:
    mug, cat = lead(episode(10, score=0.95), episode(90)), lead(episode(50), phrase="cat")
    assert answer("When did I see the mug after the cat?", within(mug, cat)).evidence == ("m90000000",)
    assert answer("When did I see the mug before the cat?", within(mug, cat)).evidence == ("m10000000",)
    assert answer("When did I see the mug?", within(mug, cat)).evidence[0] == "m10000000"
    assert answer("When did I see the mug after the fox?", within(mug, cat)).text == "I have not seen a fox in this memory."
    assert answer("Did I see the mug before the cat?", within(mug, cat)).text.startswith("Yes, the mug came before the cat")
    assert answer("Did I see the mug before the fox?", within(mug, cat)).text == "I have not seen a fox in this memory."
    assert answer("What did I see after the cat?", within(mug, cat)).text.startswith("Sofa, at")
    assert answer("Did I see anything after the cat?", within(mug, cat)).text.startswith("Sofa, at")
    assert answer("When I saw the cat, was it hungry?", within(mug, cat)).status == "abstained"
    assert answer("Which came first, the mug or the cat?", within(mug, cat)).text.startswith("The mug came first")
    assert answer("Did I see the mug first or the cat?", within(mug, cat)).text.startswith("The mug came first")
    assert answer("Did I see the cat and the mug?", within(mug, cat)).text.startswith("Yes: I saw the cat")


def test_all_that_was_there_where_no_thing_is_named() -> None:
    for question in ("Did I see it yesterday?", "What did I see?"):
        assert answer(question, within()).text.startswith("Sofa, at"), question
    for question in ("What did I promise yesterday?", "When was it?", "How long was it?", "Who was it?", "Did I see it?"):
        assert answer(question, within()).status == "abstained", question


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("What was I doing at 10:02?", "Sofa, at"),
        ("What was I doing?", "I have heard or read nothing that answers this."),
        ("What did I drink at 10:02?", "I have heard or read nothing that answers this."),
        ("How was it?", "I have heard or read nothing that answers this."),
        ("Was it there at 10:02?", "Sofa, at"),
        ("Was I there?", "I have heard or read nothing that answers this."),
        ("Where was I?", "Sofa, at"),
        ("What happened?", "Sofa, at"),
        ("What did I see after the cat?", "Sofa, at"),
        ("Did it rain after the cat?", "I have heard or read nothing that answers this."),
        ("Where is the xqzw?", "I have not seen a xqzw in this memory."),
    ],
)
def test_a_scene_is_told_where_no_more_is_asked_than_what_was_there(question: str, told: str) -> None:
    said = answer(question, within(lead(episode(50), phrase="cat", confidence=0.9)))
    assert said.text.startswith(told)
    assert said.text.endswith("What was done I cannot tell.") is ("doing at" in question)


def test_which_kind_of_nothing_it_is() -> None:
    assert answer("Where is the fox?", within()).text == "I have not seen a fox in this memory."
    code = answer("What is the code of the fox?", within())
    assert (code.text, code.confidence) == ("I have heard or read nothing that answers this.", 0.1)
    told = [heard(f"code 10{n}", n, held=0.01) for n in range(1, 6)]
    asked = put("What is the code of the fox?", Pool(candidates=tuple(told)))
    assert (asked.status, len(asked.alternatives)) == ("abstained", 3)


def test_in_which_place_a_thing_was_is_no_sight_of_it() -> None:
    pool = Pool(leads=(lead(phrase="drawer", confidence=0.1), lead(episode(10), phrase="pliers", confidence=0.9)))
    which = put("Which drawer did I see the pliers in?", pool)
    assert (which.status, which.unverified, which.evidence) == ("abstained", ("which drawer",), ("m10000000",))
    assert put("Where did I see the pliers?", Pool(leads=pool.leads[1:])).status == "answered"
    doubted = Pool(leads=(lead(episode(10), phrase="pliers", confidence=0.3),))
    assert put("Which drawer did I see the pliers in?", doubted).text.startswith("I may have seen the pliers at")


def test_the_name_of_a_form_is_no_word_to_be_held() -> None:
    def words(question: str, problem: str = "") -> tuple[str, ...]:
        s = session()
        s.__dict__["_read"] = (understand(question), msgspec.structs.replace(s.span, problem=problem))
        found: tuple[str, ...] = run(local.everything(s), lambda _: Pool())[1][0].words
        return found

    assert "day" not in words("Which day do I see Robert?")
    assert words("What is the name?") == ("name",), "nothing else is asked"
    assert words("What is the plan on Friday?") == ("plan",)
    assert words("What did I see on Friday?") == ()
    assert words("What is the plan on Friday?", "none") == ("plan", "friday"), "a day without records may have been spoken of"
    assert words("What did I see on Friday?", "none") == ()
    assert words("Have I read that the shop shows the tea?") == ("shop", "tea"), "what is done with words is none of them"
    assert "stamp" in words("When did I stamp the ticket?"), "nothing is read"


def test_the_option_that_people_are_told_with() -> None:
    s = session(("yes", "no"), asked=Asked(wanted="did", about="rent"), kind="yes_no", text="was rent mentioned")
    found = run(local.reply(s), lambda a: Pool(people=True) if isinstance(a, Gather) else Related(rows=(utterance(5),)))[0]
    assert (found.option, found.text.startswith("Yes: Ben said")) == (0, True)
    s = session(asked=Asked(wanted="did", about="rent"), kind="yes_no", text="was rent mentioned")
    found = run(local.reply(s), lambda a: Pool(people=True) if isinstance(a, Gather) else Related(rows=(utterance(5),)))[0]
    assert found.option is None


def test_words_that_are_told_are_no_alternative() -> None:
    one, two = heard("The mug is in the hall.", 5, **SURE), heard("A mug is somewhere.", 9, **{**VAGUE, "held": 0.5})
    found = put("Where is the mug?", Pool(candidates=(one, two), leads=(lead(episode(30), confidence=0.3),)))
    assert (found.evidence, found.alternatives) == (("m5000000",), ("m9000000", "m30000000"))


def test_short_answers_stand_before_the_quote_unless_they_are_all_of_it() -> None:
    s = session(form="number")
    assert statements._statement(s, heard("Gate 18", 5, speaker="speaker 2")) == f'18: speaker 2 said "Gate 18" at {clock(5)}.'
    assert statements._statement(s, heard("18", 5, speaker="speaker 2")) == f'Speaker 2 said "18" at {clock(5)}.'
    assert statements.may_tell(understand("What did Anna say?"), heard("Anna", speaker="Ben"))
    of_key, pool = asked("What is the key?"), Pool(candidates=(heard("a", 1, held=0.5, cosine=0.5), heard("b", 9, held=0.4999, cosine=0.5)))
    assert [one.text for _, one in statements.ranked(of_key, pool)] == ["b", "a"], "as likely to a thousandth: the newer"
    pool = Pool(candidates=(heard("a", 1, held=0.5, cosine=0.5), heard("b", 9, held=0.48, cosine=0.5)))
    assert [one.text for _, one in statements.ranked(of_key, pool)] == ["a", "b"]


def test_when_it_was_in_view_the_longest() -> None:
    mug = lead(episode(10, 14), episode(50, 70), episode(100, 101), confidence=0.9)
    longest = shown(mug, kind="when", text="when did i see the mug the longest")
    assert (longest.text, longest.confidence) == (f"I saw the mug {at(50)} for 20 s.", pytest.approx(0.54))
    assert shown(mug, kind="when", text="when did i see the mug for the shortest time").text == f"I saw the mug {at(100, '1 min 40 s')}."
    assert shown(mug, kind="how_many", text="how many times did i see the longest mug").text.startswith("3 times")
    two = lead(episode(10, 14), episode(50, 52))
    assert shown(two, kind="when", text="when did i see the mug the longest").text == f"I saw the mug {at(10)} for 4 s."
    once = shown(lead(episode(10, 14), confidence=0.9), kind="when", text="when did i see the mug the longest")
    assert once.confidence == pytest.approx(0.9), "of one time nothing is compared"
