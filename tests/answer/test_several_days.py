"""A memory of several days: what was told or seen again counts as it was last, or on the day that is asked about."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from edgemem.answer import local
from edgemem.answer.gather import Candidate, Gather, Pool
from edgemem.answer.planner import AnswerKit, ask
from edgemem.answer.say import base, choose, order, pictures, statements
from edgemem.answer.session import Session, Turn
from edgemem.answer.tools import Reply, Scene
from edgemem.answer.understand import Parsed, understand
from edgemem.answer.understand.timespan import TimeSpan, resolve
from edgemem.clock import from_iso
from edgemem.records import US, Answer, Question
from edgemem.remember.entries import NewDocument
from edgemem.remember.store import Store
from edgemem.remember.view import View
from tests.answer.conftest import remember, text
from tests.answer.test_limits import episode, lead, run, session
from tests.answer.test_plans import by_name, heard
from tests.answer.test_time import FakeView, span, us

DAY_S = 86_400
SURE = {"held": 1.0, "cosine": 0.8, "above": 8.0}


def asked(question: str, before: str = "", **told: Any) -> Session:
    """A question with its stretch of time as it is given, and what it goes on about."""
    s = session(kind="other")
    follows = understand(question, understand(before) if before else None)
    s.__dict__["_read"] = (follows, TimeSpan(**told))
    s.before, s.reads = (Turn(question=before),) if before else (), lambda asked_text, *_: (understand(asked_text), TimeSpan())
    return s


def answer(question: str, *words: Candidate, before: str = "", **told: Any) -> Reply:
    pool = Pool(candidates=words, evidence=tuple(e for one in words for e in one.evidence))
    s = asked(question, before, **told)

    def brings(action: Any) -> Any:
        result = pool if isinstance(action, Gather) else Scene()
        s.evidence = lambda: {e.id: e for e in pool.evidence}  # type: ignore[method-assign]
        return result

    made: Reply = run(local.reply(s), brings)[0]
    return made


LEVELS = tuple(heard(f"The car is parked on level {n}.", n * DAY_S, **SURE) for n in (3, 4, 5))


def test_what_it_was_before_goes_on_about_words() -> None:
    assert answer("Where is the car parked?", *LEVELS).text.startswith("On level 5")
    for follow in ("And before that?", "where was it before?", "and earlier?"):
        assert answer(follow, *LEVELS, before="Where is the car parked?").text.startswith("On level 4"), follow
    only = answer("And before that?", LEVELS[0], before="Where is the car parked?")
    assert (only.status, only.text) == ("abstained", "I know of nothing that was told before that.")
    assert answer("where was the car parked before", *LEVELS).text.startswith("On level 4")
    assert answer("what was the previous level", *LEVELS).text.startswith("4: somebody")


def test_who_said_it_and_when_is_told_without_the_short_answer() -> None:
    for follow in (
        "Who said it?", "when did I hear that", "What time was it?", "And who told me?", "when was that said?", "when?",
        "What time did I read it?", "What did it say exactly?", "When was I standing at that sign?",
    ):  # fmt: skip
        again = answer(follow, LEVELS[0], before="Which level is the car on?")
        assert again.text.startswith('Somebody said "The car is parked on level 3." at '), follow
    asked = answer("What day is it?", LEVELS[0], before="Which level is the car on?")
    assert not asked.text.startswith("Somebody said"), "that asks for more"


def test_what_was_told_last_is_read_with_what_was_asked_before_it() -> None:
    s, read = asked("And before that?", "Where is the car parked?"), []
    s.before = (Turn(question="Where is the cat?"), Turn(question="Where is the car parked?"))

    def reads(text: str, turns: Sequence[Turn]) -> tuple[Parsed, TimeSpan]:
        read.append((text, [turn.question for turn in turns]))
        return understand(text), TimeSpan()

    s.reads = reads
    run(local._again_in_words(s), lambda _: Pool())
    assert read == [("Where is the car parked?", ["Where is the cat?"])]


def test_what_it_was_before_it_was_that() -> None:
    cats = [
        heard(f"The cat is called {name}.", day * DAY_S, **SURE) for day, name in ((1, "Oscar"), (2, "Charlie"), (3, "Daisy"), (4, "Daisy"))
    ]
    assert answer("what was the cat called before Daisy", *cats).text.startswith("Charlie")
    assert answer("what was the cat called before Charlie", *cats).text.startswith("Oscar")
    assert answer("what is the cat called", *cats).text.startswith("Daisy")
    assert answer("what was the cat called after Charlie", *cats).text.startswith("Daisy")
    asleep = heard("Daisy sleeps in the hall.", 3 * DAY_S, held=0.3, cosine=0.3, above=3.0)
    assert answer("what was the cat called before Daisy", *cats[:2], asleep).text.startswith("Charlie"), (
        "no telling of its name: the newest"
    )


def test_what_is_another_telling_of_the_same() -> None:
    """Nearly the same words, or others that are 85 of 100 as likely and likely enough to be told (.25 where meaning is not compared)."""
    p, first = understand("What was said about the flight?"), heard("Flight LH239, on time", 1)
    alike, unlike = heard("Flight LH238, on time", DAY_S), heard("AF821 is a flight", DAY_S)
    for sure, other, share, same in (
        (1.0, unlike, 0.85, True), (1.0, unlike, 0.849, False), (0.28, unlike, 0.24, False), (0.28, unlike, 0.25, True),
        (1.0, alike, 0.05, True),
    ):  # fmt: skip
        assert (len(statements.versions(p, [(sure, first), (share, other)])) == 2) is same, (sure, other.text, share)


@pytest.mark.parametrize(
    ("question", "from_day", "says", "and_says"),
    [
        ("Has the level of the car changed?", None, "Yes: now Somebody", 'Then Somebody said "The car is parked on level 4."'),
        ("Has the level of the car changed since then?", 2, "Yes: now Somebody", 'Then Somebody said "The car is parked on level 3."'),
        ("Has the level of the car changed since then?", 5, "Yes: now Somebody", 'Then Somebody said "The car is parked on level 4."'),
    ],
)
def test_whether_it_changed(question: str, from_day: int | None, says: str, and_says: str) -> None:
    told = answer(question, *LEVELS, **({} if from_day is None else {"from_us": from_day * DAY_S * US}))
    assert told.text.startswith(says)
    assert 'level 5."' in told.text
    assert and_says in told.text
    assert told.confidence < 0.5


def test_whether_it_changed_is_as_sure_as_what_was_heard_less_clearly() -> None:
    for unclear in (1, 2):
        told = tuple(msgspec.structs.replace(one, clarity=0.66 if i == unclear else 1.0) for i, one in enumerate(LEVELS))
        right = statements.heard_right(told[unclear])  # .5422 / .8 in `test_limits`
        assert right == pytest.approx(0.678, abs=1e-3)
        sure = statements.ranked(asked("Where is the car parked?"), Pool(candidates=told))[0][0]
        assert answer("Has the level of the car changed?", *told).confidence == pytest.approx(0.5 * sure * right, abs=0.01)


def test_whether_it_changed_on_one_day_is_asked_of_that_day() -> None:
    day = {"from_us": 4 * DAY_S * US - 1, "to_us": 4 * DAY_S * US + 1}
    told = answer("Did the level of the car change that day?", *LEVELS, **day)
    assert told.text.startswith('Yes: now Somebody said "The car is parked on level 4."')
    assert told.text.endswith('Then Somebody said "The car is parked on level 3." at 00:00:00 on Sunday 1970-01-04.')


def test_what_is_told_the_same_did_not_change() -> None:
    gates = tuple(heard(words, day * DAY_S, **SURE) for day, words in ((1, "We leave from gate 83."), (2, "We leave from gate 83")))
    assert answer("Did the gate change?", *gates).text.startswith("No: now")
    assert answer("Did the gate change?", gates[0]).text.startswith("I know only this: ")
    prices = tuple(heard(f"The coffee costs {n} euros.", n * DAY_S, **SURE) for n in (3, 7))
    for asks, says in (("any cheaper", "No: now"), ("more expensive", "Yes: now"), ("up", "Yes: now"), ("better", "Now")):
        found = answer(f"did the coffee get {asks} since then", *prices, from_us=0).text
        assert found.startswith(f'{says} Somebody said "The coffee costs 7 euros."'), asks
        assert found.endswith('Then Somebody said "The coffee costs 3 euros." at 00:00:00 on Sunday 1970-01-04.')
    flat = tuple(
        heard(words, day * DAY_S, **SURE) for day, words in ((1, "The coffee costs 3 euros."), (2, "The coffee costs 3 euros now."))
    )
    assert answer("did the coffee get cheaper", *flat).text.startswith("No: now"), "neither less nor more"
    assert answer("did the coffee get dearer", *flat).text.startswith("No: now")
    assert answer("Is the gate still the same?", *gates).text.startswith("Yes: now")
    assert answer("Is the gate the same as before?", gates[0], heard("We leave from gate 9.", 3 * DAY_S, **SURE)).text.startswith("No: now")
    assert not answer("Did the gate change?").text.startswith(("Yes", "No", "I know"))
    misheard = tuple(heard(f"The meeting is with {name}.", day * DAY_S, **SURE) for day, name in ((1, "Sarah"), (2, "Sara")))
    assert answer("Was the meeting moved?", *misheard).text.startswith("No: now"), "a slip of one letter"


def test_each_time_that_it_was_said_is_counted_once() -> None:
    keys = [heard("The keys are in the kitchen.", day * DAY_S, **SURE) for day in (1, 2)]
    twice = msgspec.structs.replace(keys[1], text="The keys are in the kitchen. They are fine.")
    other = heard("The keys are in the hall.", 3 * DAY_S, held=0.5, cosine=0.7)
    told = answer("How often did I say that the keys are in the kitchen?", *keys, twice, other)
    assert told.text.startswith("2 times: Somebody said")
    assert told.evidence == tuple(one.evidence[0].id for one in keys)
    assert told.confidence == pytest.approx(0.5 * min(map(statements.heard_right, keys)), abs=1e-4)
    unclear = msgspec.structs.replace(keys[1], clarity=0.66)
    less = answer("How often did I say that the keys are in the kitchen?", keys[0], unclear)
    assert less.confidence == pytest.approx(0.5 * statements.heard_right(unclear), abs=1e-4), "as sure as what was heard least clearly"
    for question in ("How often did I see the keys?", "When did I say that the keys are here?", "How many keys did I say there are?"):
        assert statements.how_often(asked(question), Pool(candidates=tuple(keys))) is None, question
    assert statements.how_often(asked("How often did I say that the keys are here?"), Pool(candidates=(other,))) is None
    for held, counted in ((0.99, False), (1.0, True)):
        said = msgspec.structs.replace(keys[0], held=held)
        assert bool(statements.how_often(asked("How often did I say it?"), Pool(candidates=(said,)))) is counted, "all of its words"


def test_several_are_told_in_a_row() -> None:
    gates = tuple(heard(f"We leave from gate {n}.", day * DAY_S, **SURE) for day, n in ((1, 18), (2, 64), (3, 64), (4, 83)))
    told = answer("Which gates did we leave from?", *gates)
    assert [told.text.count(f"gate {n}") for n in (18, 64, 83)] == [1, 1, 1]
    assert told.text.index("gate 18") < told.text.index("gate 64") < told.text.index("gate 83")
    assert told.evidence == tuple(one.evidence[0].id for one in (gates[0], gates[1], gates[3]))
    assert answer("Which gates did we leave from?", *gates[:2]).evidence == (gates[0].evidence[0].id, gates[1].evidence[0].id)
    then = answer("Which gates did we leave from?", *gates, from_us=2 * DAY_S * US)
    assert "gate 18" not in then.text
    assert "gate 18" not in answer("Which gate do we leave from?", *gates).text
    assert "gate 18" not in answer("Which gates did we leave from last?", *gates).text
    many = tuple(heard(f"We leave from gate {n}.", n * DAY_S, **SURE) for n in range(10, 22))
    assert answer("Which gates did we leave from?", *many).text.endswith("And 2 more.")
    assert not answer("Which gates did we leave from?", *many[:10]).text.endswith("more.")
    alone = answer("Which gates did we leave from?", msgspec.structs.replace(gates[0], clarity=0.5))
    assert alone.text.endswith(" I did not hear it clearly."), "one is told as any other words"
    sure = answer("Which gates did we leave from?", *gates).confidence
    unclear = msgspec.structs.replace(gates[1], clarity=0.66)
    less = answer("Which gates did we leave from?", gates[0], unclear, gates[3]).confidence
    assert less == pytest.approx(sure * statements.heard_right(unclear) / statements.heard_right(gates[0]), abs=1e-3), "the least sure"


def test_a_figure_of_the_question_may_have_been_replaced() -> None:
    sizes = (
        heard("My brother's shoe size is 43.", DAY_S, held=1.0, cosine=0.8, above=8.0),
        heard("My brother's shoe size is 46.", 2 * DAY_S, held=0.7, cosine=0.7, above=7.0),
    )
    assert answer("what shoe size does my brother have, a 43?", *sizes).text.startswith("46")
    meetings = (
        heard("The meeting with David is on Saturday.", DAY_S, **SURE),
        heard("The meeting with Sarah is on Tuesday.", 2 * DAY_S, held=0.6, cosine=0.7, above=7.0),
    )
    assert "David" in answer("When is the meeting with David?", *meetings).text, "another person's is no later telling of it"
    buses = (heard("Bus 87 leaves at nine.", DAY_S, **SURE), heard("Bus 14 leaves at ten.", 2 * DAY_S, **{**SURE, "held": 0.9}))
    assert answer("When does bus 87 leave?", *buses).text.startswith('At 9: somebody said "Bus 87'), "another bus is no later telling of it"
    doors = (heard("The shop opens at nine.", DAY_S, **SURE), heard("The shop closes at six.", 2 * DAY_S, **{**SURE, "held": 0.9}))
    assert "opens at nine" in answer("When does the shop open?", *doors).text, "nor is what it does else"


def test_a_weekday_may_be_what_was_told() -> None:
    meetings = [
        heard(f"The meeting with {name} is on {day}.", at * DAY_S, **SURE)
        for at, name, day in ((1, "David", "Saturday"), (2, "Anna", "Friday"))
    ]
    assert "David" in answer("who is the meeting with on Saturday", *meetings, from_us=2 * DAY_S * US, to_us=3 * DAY_S * US).text


def test_what_was_said_at_another_time_is_told_as_such() -> None:
    rain = heard("It might rain.", DAY_S, **SURE)
    later = {"from_us": 2 * DAY_S * US, "to_us": 3 * DAY_S * US}
    told = answer("Did anybody mention rain this morning?", rain, **later)
    assert told.status == "abstained"
    assert told.text.startswith("I have heard or read nothing of that this morning. At another time: ")
    assert told.confidence == 0.4
    assert answer("Did anybody mention rain this morning?", rain, from_us=0, to_us=2 * DAY_S * US).status == "answered"
    assert answer("Did anybody mention rain?", rain).status == "answered"
    for question in ("Was there any rain this morning?", "Who says that it rains this morning?"):
        assert answer(question, rain, **later).text.startswith("I have heard or read nothing of that this morning."), question
    assert (
        answer("What is on the shopping list today?", heard("We need to buy rice: the shopping list.", DAY_S, **SURE), **later).status
        == "answered"
    )


def test_nothing_was_recorded_on_a_day_that_is_over() -> None:
    keys, none = heard("I put the keys in the hall.", DAY_S, **SURE), {"problem": "Nothing was recorded yesterday."}
    for day in ("yesterday", "two days ago", "last Monday", "the day before yesterday"):
        told = answer(f"Where did I say that I put the keys {day}?", keys, **none)
        assert told.text == "Nothing was recorded yesterday.", day
    film = heard("We watch the film called The Garden.", DAY_S, **SURE)
    for question, to_come, answered in (
        ("What film did we watch on Tuesday?", False, False),
        ("Which film did they say we watch today?", False, False),
        ("Which film did they say we watch today?", True, True),
        ("Which film did they say we watch on Tuesday?", False, True),
    ):
        told = answer(question, film, problem="Nothing was recorded then.", to_come=to_come)
        assert (told.status == "answered", told.text == "Nothing was recorded then.") == (answered, not answered), question
    assert answer(
        "give me Tuesday", heard("We meet on Tuesday.", DAY_S, **SURE), problem="Nothing was recorded on Tuesday."
    ).text.startswith("Nothing")
    assert (
        answer("Who did he say that we meet on Tuesday?", heard("We meet Anna on Tuesday.", DAY_S, **SURE), problem="Nothing.").status
        == "answered"
    )


# ----------------------------------------------------------------------------------------------------------------------- pictures


def test_a_thing_of_several_days_is_meant_as_it_was_last() -> None:
    old, new, newer = episode(10, score=0.6), episode(2 * DAY_S, score=0.55), episode(2 * DAY_S + 3600, score=0.5)
    assert base.pick([old, new, newer], 0) is new, "within an hour of the last one"
    assert base.pick([old, new, episode(2 * DAY_S + 3601, score=0.5)], 0) is not new
    assert base.pick([old, episode(2 * DAY_S, score=0.48)], 0) is not old, "eight tenths of the best"
    assert base.pick([old, episode(2 * DAY_S, score=0.47)], 0) is old
    assert base.pick([old, new, newer], 1) is old
    assert base.pick([], 0) is None


def test_on_how_many_days() -> None:
    mugs = lead(episode(100), episode(200), episode(DAY_S + 100), episode(3 * DAY_S))
    for question in ("On how many days did I see the mug?", "the mug, which days", "On which days was the mug there?"):
        s = asked(question)
        told: Reply = run(pictures.from_pictures(s, Pool(leads=(mugs,)), mugs), lambda _: Scene())[0]
        assert told.text == "3 days: I saw the mug on Thursday 1970-01-01, Friday 1970-01-02 and Sunday 1970-01-04.", question
    s = asked("On which days was the mug there?")
    once = lead(episode(100))
    assert run(pictures.from_pictures(s, Pool(leads=(once,)), once), lambda _: Scene())[0].text.startswith("1 day: ")
    twice = lead(episode(100), episode(DAY_S))
    assert run(pictures.from_pictures(s, Pool(leads=(twice,)), twice), lambda _: Scene())[0].text.startswith("2 days: ")


def test_before_or_after_is_asked_of_the_last_occasion_that_had_both() -> None:
    rose, drum = lead(episode(10), episode(DAY_S + 900), phrase="rose"), lead(episode(50), episode(DAY_S + 100), phrase="drum")
    s = asked("Was the rose before or after the drum?")
    told, _ = order.in_order(s, (rose, drum), ("rose", "drum"), Pool())
    assert told.text.startswith("After: "), "on the second day, though both came first on the first"
    apart = lead(episode(10), phrase="rose"), lead(episode(DAY_S), phrase="drum")
    assert order.in_order(s, apart, ("rose", "drum"), Pool())[0].text.startswith("Before: ")
    in_time = asked("Was the rose before or after the drum this week?")
    assert order.in_order(in_time, (rose, drum), ("rose", "drum"), Pool())[0].text.startswith("Before: "), (
        "in all of the time that is named"
    )


def test_what_came_next_to_it_came_on_the_last_occasion() -> None:
    found = by_name(
        lead(episode(100), episode(DAY_S + 100), phrase="cup"),
        lead(episode(110), phrase="owl"),
        lead(episode(DAY_S + 110, score=0.5), phrase="saw"),
    )
    s = asked("What did I see right after the cup?")
    s.question = msgspec.structs.replace(s.question, options=("owl", "saw"))
    assert run(choose._beside(s), found)[0].option == 1


def test_what_was_said_then_is_what_was_said_last() -> None:
    said = [heard("We watch the film.", day * DAY_S, **SURE) for day in (1, 2)]
    s = asked("What did I look at while they said that we watch the film?")
    found = run(order.said_then(s), lambda _: Pool(candidates=tuple(said)))[0]
    assert found is said[1]
    assert run(order.said_then(s), lambda _: Pool())[0] is None


# ------------------------------------------------------------------------------------------------------------------ days in questions

WEEK = FakeView(
    ("sunday", "2026-03-01T08:00:00Z", 720), ("monday", "2026-03-02T08:00:00Z", 720), ("noon", "2026-03-02T13:00:00Z", 720),
    ("evening", "2026-03-02T19:30:00Z", 720), ("wednesday", "2026-03-04T08:00:00Z", 720),
)  # fmt: skip
NOW = "2026-03-04T09:12:00Z"


def of(question: str, before: str = "") -> TimeSpan:
    parsed, now = understand(question, understand(before) if before else None), from_iso(NOW)
    return resolve(parsed.time, Question(text=question, asked_us=now, as_of_us=now), WEEK)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("question", "before", "start", "end"),
    [
        ("has the gate changed since Monday evening", "", "2026-03-02T17:00:00Z", "2026-03-04T23:59:59.999999Z"),
        ("what was there before Monday afternoon", "", "2026-03-01T00:00:00Z", "2026-03-02T11:59:59.999999Z"),
        ("what was the last thing at the very end on Sunday", "", "2026-03-01T08:11:30Z", "2026-03-01T08:12:00Z"),
        ("On Monday I went out. What was there at half past seven?", "", "2026-03-02T19:29:50Z", "2026-03-02T19:31:10Z"),
        ("what was there on Monday at 1305", "", "2026-03-02T13:04:50Z", "2026-03-02T13:06:10Z"),
        ("signs around 8 05 on Sunday", "", "2026-03-01T08:04:50Z", "2026-03-01T08:06:10Z"),
        ("and the evening one", "which bus was there on Monday morning", "2026-03-02T17:00:00Z", "2026-03-02T22:59:59.999999Z"),
        (
            "and that same day around lunchtime?",
            "which gate was there on Monday morning",
            "2026-03-02T11:00:00Z",
            "2026-03-02T13:59:59.999999Z",
        ),
        ("There was a rose on Sunday. What came after it?", "", "2026-03-01T00:00:00Z", "2026-03-01T23:59:59.999999Z"),
        ("what did I see between Sunday and Monday", "", "2026-03-01T00:00:00Z", "2026-03-02T23:59:59.999999Z"),
        ("what was said from Tuesday to Sunday", "", "2026-02-24T00:00:00Z", "2026-03-01T23:59:59.999999Z"),
        ("how many cats from Sunday until today", "", "2026-03-01T00:00:00Z", "2026-03-04T23:59:59.999999Z"),
        ("which signs were there on the first of March", "", "2026-03-01T00:00:00Z", "2026-03-01T23:59:59.999999Z"),
        ("what was there on March the second", "", "2026-03-02T00:00:00Z", "2026-03-02T23:59:59.999999Z"),
        ("sum up Monday night", "", "2026-03-02T18:00:00Z", "2026-03-03T04:59:59.999999Z"),
        ("and what was right before that", "when was the mug there on Sunday", "2026-03-01T00:00:00Z", "2026-03-01T23:59:59.999999Z"),
        ("And one day later, in the evening?", "where were the keys on Sunday", "2026-03-02T17:00:00Z", "2026-03-02T22:59:59.999999Z"),
    ],
)
def test_the_day_that_a_question_names(question: str, before: str, start: str, end: str) -> None:
    found = of(question, before)
    assert (found.problem, found.from_us, found.to_us) == ("", us(start), us(end))


def test_the_times_of_stories_that_are_no_time_of_the_question() -> None:
    for question in (
        "I am cooking for Friday's lunch. What did it look like?", "I was supposed to see her on Sunday. Was it put off?",
        "I lost my keys on Sunday. Where are the scissors?", "I meet him on Sunday. When will it be?",
    ):  # fmt: skip
        assert understand(question).time is None, question


def test_what_a_follow_up_about_a_day_keeps() -> None:
    friday = understand("what about Friday?", understand("what room did Dr Novak have on Monday"))
    assert (friday.form, friday.time and friday.time.day) == ("number", "friday")
    second = understand("Which doctor was there on Monday, and what room?")
    assert second.second == "what room"
    of_it = asked("Which doctor was there on Monday, and what room?", from_us=1, to_us=2).about("what room")
    assert (of_it.parsed.time and of_it.parsed.time.day, of_it.span.from_us) == ("monday", 1)
    assert asked("Which doctor was there on Monday, and did I lock the door?", from_us=1).about("did I lock the door").parsed.time is None


def test_an_offset_is_of_a_stream_of_its_day() -> None:
    assert of("what was there in the first minute on Sunday").from_us == us("2026-03-01T08:00:00Z")
    assert of("what was there in the first minute").from_us == us("2026-03-04T08:00:00Z")
    assert of("what was there in the first minute on Tuesday").from_us == us("2026-03-04T08:00:00Z"), "none that day: the newest"
    assert span("in the first minute", WEEK, NOW).from_us == us("2026-03-04T08:00:00Z")


@pytest.mark.parametrize(
    ("question", "ordinal"),
    [
        ("flight number last Thursday", 0), ("what was the last thing", -1), ("what happened last year", 0),
        ("where was the car before", -2),
        ("what was the previous gate", -2), ("what was the price previously", -2), ("what did I see before", 0), ("who came before", 0),
        ("what was there the previous day", 0), ("when was the car there before", 0), ("what did the coffee use to cost", -2),
    ],
)  # fmt: skip
def test_places_in_a_row(question: str, ordinal: int) -> None:
    assert understand(question).ordinal == ordinal


def test_counted_days_are_no_thing() -> None:
    parsed: Parsed = understand("On how many different days did I see the mug?")
    assert (parsed.kind, parsed.counts, parsed.things) == ("how_many", "times", ("mug",))
    assert understand("how many days is the trip").counts == "at_once"


# --------------------------------------------------------------------------------------------------------------------- a real memory


def put(memory: Path, kit: AnswerKit, question: str) -> Answer:
    now = from_iso("2026-03-04T12:00:00Z")
    with View.open(memory) as view:
        return ask(view, Question(text=question, asked_us=now, as_of_us=now), kit)[0]


@pytest.fixture
def week(tmp_path: Path) -> Path:
    path = tmp_path / "week"
    with Store.open(path) as store:
        for day, level in (("01", 3), ("02", 4), ("03", 5)):
            begun = from_iso(f"2026-03-{day}T08:00:00Z")
            remember(store, f"walk-{day}", begun, {0: (text(f"GATE {10 * level}"),), 600: ()})
            words = f"The car is parked on level {level}."
            with store.transaction() as tx:
                tx.add_document(
                    NewDocument(
                        kind="utterance", text=words, stream=f"walk-{day}", t0_us=begun + US, t1_us=begun + 3 * US, offset_us=US,
                        known_us=begun + 3 * US, origin="speech",
                    )
                )  # fmt: skip
    return path


def test_the_recordings_of_a_day_are_counted(week: Path, kit: AnswerKit) -> None:
    told = put(week, kit, "How many times was this thing recording?")
    days = ("Sunday 2026-03-01", "Monday 2026-03-02", "Tuesday 2026-03-03")
    each = "; ".join(f"from 08:00:00 on {day} to 08:10:00 on {day}" for day in days)
    assert told.answer == f"I recorded 3 times on 3 days, {each}, 30 min 0 s in all."
    monday = put(week, kit, "When did you start recording on Monday?").answer
    assert monday == f"I remember from 08:00:00 on {days[1]} to 08:10:00 on {days[1]}, 10 min 0 s."
    assert put(week, kit, "On which days was I wearing you since Monday?").answer.startswith("I recorded 2 times on 2 days, from")
    assert put(week, kit, "How often was this thing recording yesterday?").status == "answered"
    assert put(week, kit, "The day before yesterday, how many times I had the glasses on, and when?").answer == monday
    assert put(week, kit, "How often was this thing recording last year?").status == "abstained"


def test_a_list_is_of_its_day(week: Path, kit: AnswerKit) -> None:
    monday = put(week, kit, "Which signs did I see on Monday?").answer or ""
    assert ("GATE 40" in monday, "GATE 30" in monday, "GATE 50" in monday) == (True, False, False)


def test_the_newest_telling_and_that_of_a_day(week: Path, kit: AnswerKit) -> None:
    for question, level in (
        ("Where is the car parked?", 5),
        ("Where was the car parked on Monday?", 4),
        ("Where was the car parked yesterday?", 5),
    ):
        assert f"level {level}." in (put(week, kit, question).answer or "").partition("Before that")[0], question


@pytest.mark.parametrize(
    ("question", "first", "second", "kind"),
    [
        ("Did I see more mugs on Sunday or on Monday?", "on sunday", "and on monday", "how_many"),
        ("more cats this week than last week", "this week", "and last week", "how_many"),
        ("coffee price today and three days ago", "today", "and three days ago", "what"),
        ("was the owl there on Sunday or on Monday", "on sunday on monday", "", "which"),
        ("what did I see between Sunday and Monday", "between sunday and monday", "", "what"),
        ("what did I see on Sunday and on Sunday morning", "on sunday", "", "what"),
        ("who did I meet on Monday and what did she say on Sunday", "on monday", "what did she say on sunday", "who"),
    ],
)
def test_a_question_about_two_days_is_two(question: str, first: str, second: str, kind: str) -> None:
    parsed = understand(question)
    assert (parsed.time and parsed.time.said, parsed.second, parsed.kind) == (first, second, kind)


def test_last_monday_is_not_today() -> None:
    now = from_iso("2026-03-02T20:00:00Z")
    for said, day in (
        ("on Monday", "2026-03-02"),
        ("last Sunday", "2026-03-01"),
        ("last Monday", "2026-02-23"),
        ("since last Monday", "2026-02-23"),
    ):
        time = understand(f"what was there {said}").time
        found = resolve(time, Question(text=said, asked_us=now, as_of_us=now), FakeView(("all", "2026-02-20T08:00:00Z", 12 * DAY_S)))  # type: ignore[arg-type]
        assert found.from_us == us(f"{day}T00:00:00Z"), said


@pytest.mark.parametrize(
    ("follow", "start"),
    [
        ("And where had I left them the day before that?", "2026-03-01T00:00:00Z"), ("and the previous day?", "2026-03-01T00:00:00Z"),
        ("and the next day?", "2026-03-03T00:00:00Z"), ("and the day before yesterday?", "2026-03-02T00:00:00Z"),
    ],
)  # fmt: skip
def test_the_day_before_and_after_one_that_was_asked_about(follow: str, start: str) -> None:
    before = understand("Where did I put the keys on Monday?")
    parsed, now = understand(follow, before), from_iso(NOW)
    always = FakeView(("all", "2026-02-20T08:00:00Z", 14 * DAY_S))
    found = resolve(parsed.time, Question(text=follow, asked_us=now, as_of_us=now), always)  # type: ignore[arg-type]
    assert (parsed.things, parsed.relation, found.from_us) == (("keys",), "", us(start))


@pytest.mark.parametrize(
    ("question", "said", "day"),
    [
        ("Last Thursday, which bus goes to Chicago?", "last thursday", "last thursday"),
        ("Saturday, what was there?", "saturday", "saturday"),
        ("Saturday, roughly nine minutes past eight. What was going on?", "saturday roughly nine minutes past eight", "saturday"),
        ("what was the first of the signs?", "", ""),
        ("who was first, may the second one come", "", ""),
        ("which film did we watch on the 28th?", "on the 28th", "0000-00-28"), ("which shop was on the 2nd floor?", "", ""),
        ("what happened on the 32nd?", "", ""),
    ],
)  # fmt: skip
def test_days_that_stand_anywhere(question: str, said: str, day: str) -> None:
    time = understand(question).time
    assert (time.said if time else "", time.day if time else "") == (said, day)


def test_a_stretch_of_days_without_a_recording_is_named() -> None:
    for said in ("before last sunday", "since tuesday", "from friday to saturday"):
        view = WEEK if said != "since tuesday" else FakeView(("one", "2026-03-01T08:00:00Z", 60))
        assert span(said, view, NOW).problem == f"Nothing was recorded {said}.", said
    assert span("on Tuesday", WEEK, NOW).problem == "Nothing was recorded on Tuesday 2026-03-03."
    assert span("yesterday", WEEK, NOW).problem == "Nothing was recorded yesterday."


def test_a_day_of_a_month_is_the_last_such_day() -> None:
    always = FakeView(("all", "2026-01-01T00:00:00Z", 70 * DAY_S))
    for said, start in (
        ("on the 28th", "2026-02-28"),
        ("on the 4th", "2026-03-04"),
        ("on the 5th", "2026-02-05"),
        ("on the 31st", "2026-01-31"),
    ):
        assert span(said, always, NOW).from_us == us(f"{start}T00:00:00Z"), said


def test_what_it_was_on_another_day_goes_on_about_it() -> None:
    before = understand("What is my brother's shoe size?")
    for follow in ("what was it on Saturday?", "lol what was it on saturday then"):
        found = understand(follow, before)
        assert (found.words, found.form, found.follows, found.time and found.time.day) == (
            ("brother", "shoe", "size"),
            "number",
            False,
            "saturday",
        )
    assert understand("what was it on Saturday?").follows
    number = understand("And on Monday in the evening, which number was it?", understand("What gate did you read today?"))
    assert (number.things, number.form, number.time and number.time.part) == (("gate",), "number", "evening")
    assert not understand("what did I see on Saturday?").follows


def test_words_differ_where_each_has_one_that_the_other_has_not() -> None:
    gate = heard("We leave from gate 64.")
    for other, differs in (("We leave from gate 64 today.", False), ("We leave from gate", False), ("We leave from gate 83.", True)):
        assert statements._differ(gate, heard(other)) is statements._differ(heard(other), gate) is differs, other


def test_pictures_that_are_surer_than_words_are_told_unless_those_tell_several_things() -> None:
    mugs, red, blue = lead(episode(10), phrase="mugs"), heard("I saw the red mugs.", 5), heard("I saw the blue mugs.", 9)
    for words, told in (([red], "I saw the mugs"), ([red, blue], "Somebody said")):
        plan = local._of_thing(asked("Which mugs did I see?"), Pool(leads=(mugs,)), [(0.5, one) for one in words])
        assert run(plan, by_name(mugs))[0].text.startswith(told)


def test_a_number_that_names_the_thing_is_kept() -> None:
    buses = tuple(heard(f"Bus {n} goes to {town}.", day * DAY_S, **SURE) for day, n, town in ((1, 87, "Vienna"), (2, 83, "Dublin")))
    assert "Vienna" in answer("Where does bus 87 go?", *buses).text
    assert "Dublin" in answer("Where does the bus go?", *buses).text
    gates = msgspec.structs.replace(lead(episode(10, score=0.9), episode(DAY_S, score=0.6), phrase="gate 18"), basis="text")
    assert base.picked(gates).t0_us == 10 * US
    assert [track.t0_us for track in base.strong(gates)] == [10 * US], "a sign with another number is no second one"


def test_what_it_was_before_is_another_value() -> None:
    gates = tuple(heard(f"We leave from gate {n}.", day * DAY_S, **SURE) for day, n in ((1, 18), (2, 64), (3, 83), (4, 83)))
    assert "gate 64" in answer("what was the previous gate we left from", *gates).text.partition("Before that")[0]
    assert answer("what was the previous gate we left from", *gates[2:]).status == "abstained", "it was always that"
    assert answer("what was the previous gate we left from", gates[0]).status == "abstained"


def test_a_claim_is_compared_with_what_was_told_last() -> None:
    prices = tuple(heard(f"The coffee costs {n} euros.", n * DAY_S, **SURE) for n in (3, 7))
    assert not answer("Is the coffee still 7 euros?", *prices).text.startswith("No")
    assert not answer("Is the coffee still 3 euros?", *prices).text.startswith("Yes")
    assert statements.replaced(understand("What does the coffee cost?"), [(0.9, prices[1]), (0.9, prices[0])]) == [prices[0]]
    for after_s, told_before in ((3600, 0), (3601, 1)):
        soon = heard("The coffee costs 9 euros.", 7 * DAY_S + after_s, **SURE)
        found = statements.replaced(understand("What does the coffee cost?"), [(0.9, soon), (0.9, prices[1])])
        assert len(found) == told_before, "what is told within an hour is told on one occasion"


def test_an_option_is_chosen_by_what_was_told_last() -> None:
    s = asked("Which gate do we leave from?")
    s.question = msgspec.structs.replace(s.question, options=("gate 18", "gate 64"))
    gates = [heard(f"We leave from gate {n}.", day * DAY_S, **SURE) for day, n in ((1, 18), (2, 64))]
    found = choose._from_words(s, statements.ranked(s, Pool(candidates=tuple(gates))))
    assert found is not None
    assert found.option == 1


@pytest.mark.parametrize("question", ["and yesterday?", "what was it two days ago?", "how often was it said on Tuesday?"])
def test_a_day_without_a_recording_is_no_other_day(question: str) -> None:
    told = answer(question, *LEVELS, before="Where is the car parked?", problem="Nothing was recorded then.")
    assert told.text == "Nothing was recorded then."


@pytest.mark.parametrize(
    ("question", "before", "second", "said"),
    [
        ("Was the coffee more expensive on Monday than on Sunday?", "", "", "on monday on sunday"),
        ("and the day after?", "What did I see last month?", "", "last month"), ("what was said since March 1?", "", "", "since march 1"),
        ("what was there before the 28th", "", "", "before the 28th"), ("What did I see on March the first?", "", "", "on march the first"),
    ],
)  # fmt: skip
def test_what_days_mean_in_a_sentence(question: str, before: str, second: str, said: str) -> None:
    parsed = understand(question, understand(before) if before else None)
    assert (parsed.second, parsed.time and parsed.time.said, parsed.ordinal) == (second, said, 0)


def test_a_stream_that_begins_later_is_not_there_yet() -> None:
    assert span("at the very end", WEEK, "2026-03-02T10:00:00Z").from_us == us("2026-03-02T08:11:30Z")
    assert span("at the start", FakeView(("later", "2026-03-05T08:00:00Z", 60)), NOW).problem
    assert of("what was there since March 2").from_us == us("2026-03-02T00:00:00Z")


def test_how_many_recordings_there_are(week: Path, kit: AnswerKit) -> None:
    for question in ("How many recordings are there?", "On how many days did I record?", "how many days were recorded"):
        assert put(week, kit, question).answer.startswith("I recorded 3 times on 3 days"), question
