"""What of a text asks, and what is only said around it."""

from __future__ import annotations

import msgspec
import pytest

from edgemem.answer import local
from edgemem.answer.gather import Candidate, Gather, Lead, Pool
from edgemem.answer.retrieve import Episode
from edgemem.answer.session import Session
from edgemem.answer.understand import Parsed, understand
from edgemem.answer.understand.asking import _is_begun, main_clause, mentioned, story_of, without_lead
from edgemem.answer.understand.timespan import TimeSpan
from edgemem.records import Evidence, Question
from tests.answer.test_limits import run


@pytest.mark.parametrize(
    ("text", "topic", "asked"),
    [
        ("my nephew wants it tomorrow, so where did i see the ladder", "", "where did i see the ladder"),
        ("when did i see the goat? he keeps on asking me about it", "", "when did i see the goat"),
        ("when did i see the goat? the kids will want to know", "", "when did i see the goat"),
        ("when did i see the goat, since i'm writing a list", "", "when did i see the goat"),
        ("when did i see the goat, in case he asks", "", "when did i see the goat"),
        ("my knee is hurting. did i see a plaster", "", "did i see a plaster"),
        ("if he calls, where did i put the ladder", "", "where did i put the ladder"),
        ("it's for the neighbours, when did i see the goat", "", "when did i see the goat"),
        ("when was the goose there, i was half asleep", "", "when was the goose there"),
        ("the goose, find it for me, when was it there", "the goose", "when was it there"),
        ("i don't care about the price, when did i see the goat", "", "when did i see the goat"),
        ("the goat, mate, when was it there", "the goat", "when was it there"),
    ],
)
def test_why_it_is_asked_is_set_apart(text: str, topic: str, asked: str) -> None:
    assert main_clause(text) == (topic, asked)


@pytest.mark.parametrize(
    ("text", "topic", "asked"),
    [
        ("i need the ladder, where is it", "i need the ladder", "where is it"),
        ("my son has a kite, when was one there", "my son has a kite", "when was one there"),
        ("i'm baking bread, what time exactly", "i'm baking bread", "what time exactly"),
        ("our bike is behind the shed, what colour is the shed", "our bike is behind the shed", "what colour is the shed"),
        ("my aunt says it was blue, what did the sign say", "my aunt says it was blue", "what did the sign say"),
        ("i had it by the pond, where is the goose", "i had it by the pond", "where is the goose"),
        ("where is the goose, i had it by the pond", "", "where is the goose, i had it by the pond"),
        ("while i was cooking, did the phone ring", "", "did the phone ring while i was cooking"),
        ("gaffer tape, where is it", "gaffer tape", "where is it"),
        ("i was by the pond, when was the goose there", "i was by the pond", "when was the goose there"),
        ("i am hungry", "", "i am hungry"),
    ],
)
def test_what_the_question_points_at_and_what_was_so_stays(text: str, topic: str, asked: str) -> None:
    assert main_clause(text) == (topic, asked)


@pytest.mark.parametrize(
    ("text", "kind", "thing"),
    [
        ("I lost count of how often the heron turned up.", "how_many", "heron"),
        ("Nobody believes I saw a lynx unless I can tell them when.", "when", "lynx"),
        ("My cousins say I never saw a heron and I would love to hear when that was.", "when", "heron"),
        ("There was a heron, take me back to it.", "where", "heron"),
        ("A lynx was there, tell me which time it was.", "when", "lynx"),
        ("It would help me to know at what point the heron turned up.", "when", "heron"),
        ("Somebody should log when the tram came along.", "when", "tram"),
        ("What I'd love to know is when I had the heron in front of me.", "when", "heron"),
        ("Can I see that goat again?", "where", "goat"),
        ("heron tally for today?", "how_many", "heron"),
        ("The heron. What is the actual figure?", "how_many", "heron"),
        ("Herons: number of sightings, please.", "how_many", "herons"),
        ("Cut my hand, find me the plaster.", "where", "plaster"),
        ("At which minute did I most recently see a potato?", "when", "potato"),
        ("I saw a heron.", "when", "heron"),
        ("Whether I saw a heron I do not know.", "yes_no", "heron"),
        ("I was crying over that kite tonight, what time was it there?", "when", "kite"),
        ("I'd like a pear. The last one I saw, when was that?", "when", "pear"),
        ("I need scissors. Any idea where I came across a pair?", "where", "scissors"),
        ("When I left I had that kettle. The most recent sighting of it?", "when", "kettle"),
    ],
)
def test_a_request_of_any_form_is_read(text: str, kind: str, thing: str) -> None:
    parsed = understand(text)
    assert (parsed.kind, thing in parsed.things) == (kind, True)


@pytest.mark.parametrize(
    ("text", "things"),
    [
        ("When did I see the wasp, no wait, I mean the hornet?", ("hornet",)),
        ("Where is the wasp, no wait, I mean hornet?", ("hornet",)),
        ("Where did I leave my keys - scratch that, my wallet?", ("wallet",)),
        ("How often did I see the bus, or rather the tram?", ("tram",)),
        ("Was it the lynx, no, the fox that was there?", ("fox",)),
        ("Did I see an old grey goose, sorry, a swan?", ("swan",)),
        ("I lost the kite, sorry, the kids were loud. Where is it?", ("kite",)),
        ("Which number had the tram that left, I mean the one with a lamp?", ("tram",)),
        ("Where did I park the car, no, the red one?", ("car", "red one")),
        ("Did I see the bus or the tram?", ("bus", "tram")),
        ("How many times have I have I seen a bus?", ("bus",)),
        ("last seen wallet", ("wallet",)),
        ("Where are the field glasses, the binoculars I mean?", ("field glasses", "binoculars")),
    ],
)
def test_what_somebody_corrects_is_not_asked_for(text: str, things: tuple[str, ...]) -> None:
    assert understand(text).things == things


@pytest.mark.parametrize(
    ("text", "thing", "counts"),
    [
        ("Number of separate sightings of the heron?", "heron", "times"),
        ("A tally of all the appearances of the heron, please.", "heron", "times"),
        ("How many distinct encounters with the heron did I have?", "heron", "times"),
        ("Tally up the herons, each time one was there.", "herons", "times"),
        ("Nobody sees a heron more than once in a day. How many times did I?", "heron", "times"),
        ("How many herons were there at once?", "herons", "at_once"),
        ("How many herons were there at those times?", "herons", "at_once"),
        ("How many different herons did I see?", "herons", "at_once"),
        ("How many herons were there? Different ones.", "herons", "at_once"),
    ],
)
def test_counted_is_how_often_or_how_many_at_once(text: str, thing: str, counts: str) -> None:
    parsed = understand(text)
    assert (parsed.kind, parsed.things, parsed.counts, parsed.time) == ("how_many", (thing,), counts, None)


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("I cannot for the life of me remember the name of the vet.", "name"),
        ("The code for the gate has slipped my mind.", "code"),
        ("It is the doctor's name that I have mislaid.", "name"),
        ("They own a shop and I'm blanking on its name.", "name"),
        ("film tonight name", "name"),
        ("The tram is on what platform?", "number"),
        ("His boots, his size is what?", "number"),
    ],
)
def test_an_attribute_is_asked_for_in_any_form(text: str, form: str) -> None:
    parsed = understand(text)
    assert (parsed.kind, parsed.form) == ("what", form)


def test_the_core_is_given_where_something_was_left_out() -> None:
    assert understand("Where is the mug?").core == ""
    assert understand("Where is the mug?").question == "where is the mug?"
    left = understand("My son needs it, so where is the mug?")
    assert (left.core, left.question, left.text) == ("where is the mug?", "where is the mug?", "my son needs it, so where is the mug?")
    assert Parsed(kind="what", text="whole").question == "whole"


def test_the_place_in_a_row_is_that_of_the_question() -> None:
    assert understand("I don't care about the first one. I want the latest time the heron was there.").ordinal == -1
    assert understand("There was more than one heron and I only care about the first. When was that?").ordinal == 1
    assert understand("I'm filling in the first-aid log, at what point was the heron there?").ordinal == 0
    assert understand("There was a heron and a goat. Which came second?").ordinal == -1


@pytest.mark.parametrize(
    ("text", "choices"),
    [
        ("There was a heron and a goat. Which came second?", ("heron", "goat")),
        ("who goes at the start, the heron or the goat", ("heron", "goat")),
        ("heron, goat, whichever came up earlier", ("heron", "goat")),
        ("is the heron or the goat bigger", ("heron", "goat")),
    ],
)
def test_two_things_are_put_in_order_however_they_are_named(text: str, choices: tuple[str, ...]) -> None:
    parsed = understand(text)
    assert parsed.choices == choices
    assert (parsed.kind == "order") is (bool(choices) and "bigger" not in text)


def test_the_part_that_tells_of_meeting_is_the_story() -> None:
    assert story_of("i cut my hand , i saw a plaster , i was sad") == "i saw a plaster"
    assert story_of("nobody believes that i saw a plaster") == "i saw a plaster"
    assert story_of("the mug") == ""


def test_what_is_mentioned_can_be_seen_and_is_no_person() -> None:
    assert mentioned("my sister needs the ladder, and the moment with the heron") == ("ladder", "heron")
    assert mentioned("a toucan tally, a bulb of garlic") == ("toucan", "bulb of garlic")
    assert mentioned("my tall sister needs the ladder") == ("ladder",)
    assert mentioned("a sign with a number on it") == ("sign",)
    assert mentioned("other elephants were there, several other drums") == ("elephants", "drums")
    assert [_is_begun(one) for one in ("frying pan", "frying an egg", "washing machine", "walking home")] == [False, True, False, True]
    assert mentioned("may I ask about the heron. the ladder?") == ("heron", "ladder")
    assert mentioned("why?") == ()


def test_a_request_is_no_part_of_what_it_requests() -> None:
    assert without_lead("it would help me to know when the tram came") == "when the tram came"
    assert without_lead("need to log where the tram stopped") == "where the tram stopped"
    assert without_lead("did tom tell me when the tram came") == "did tom tell me when the tram came"


# ------------------------------------------------------------------------------------------------------------ what is gathered


def lead(phrase: str, confidence: float, firing: float) -> Lead:
    evidence = Evidence(
        id=phrase, channel="frame", stream="s", t0_us=1_000_000, t1_us=1_000_000, offset_us=1_000_000, score=confidence, text=""
    )
    episode = Episode(stream="s", t0_us=1, t1_us=1, offset_us=1, score=confidence, evidence=(evidence,))
    return Lead(phrase=phrase, confidence=confidence, firing=firing, named=firing > 0, episodes=(episode,) if confidence else ())


def heard(text: str, held: float, cosine: float) -> Candidate:
    evidence = Evidence(id="u1", channel="speech", stream="s", t0_us=1, t1_us=2, offset_us=1, score=1.0, text=text)
    return Candidate(channel="speech", text=text, evidence=(evidence,), held=held, cosine=cosine)


def test_words_are_taken_as_the_likelier_of_two_readings_has_them() -> None:
    p = understand("My son needs a kite for Friday, so where is the mug?")
    core = Pool(candidates=(heard("the kite is red", 0.9, 0.6), heard("it rains", 0.0, 0.1)))
    whole = Pool(candidates=(heard("the kite is red", 0.2, 0.2), heard("it rains", 0.8, 0.5)))
    got, _ = run(local._either(p, (), (None, None), ()), lambda action: core if action.question == p.question else whole)
    assert [(one.text, one.held) for one in got.candidates] == [("the kite is red", 0.9), ("it rains", 0.8)]


def test_the_whole_text_is_gathered_where_the_question_is_a_part_of_it() -> None:
    window = (None, 5)
    parted = understand("My son needs a kite for Friday, so where is the mug?")
    _, (_, *actions) = run(local._either(parted, ("mug",), window, ()), lambda _: Pool())
    assert [(one.question, set(one.words) >= {"kite", "mug"}) for one in actions] == [(parted.text, True)]
    assert len(run(local._either(understand("Where is the mug?"), ("mug",), window, ()), lambda _: Pool())[1]) == 1


@pytest.mark.parametrize(
    ("first", "other", "found"),
    [
        (lead("recipe", 0.1, 0.01), lead("garlic", 0.9, 0.9), "garlic"),
        (lead("recipe", 0.1, 0.01), lead("garlic", 0.5, 0.9), ""),
        (lead("recipe", 0.1, 0.5), lead("garlic", 0.9, 0.9), ""),
    ],
)
def test_what_else_is_named_is_looked_for_where_the_first_means_nothing(first: Lead, other: Lead, found: str) -> None:
    parsed = msgspec.structs.replace(understand("The recipe calls for garlic, do say when there was some."), kind="when")
    session = Session(Question(text=parsed.text, asked_us=5, as_of_us=5), lambda: (parsed, TimeSpan()))

    def answer(action: Gather) -> Pool:
        assert "recipe" not in action.things
        return Pool(leads=(other,))

    got, _ = run(local._mentioned(session, Pool(leads=(first,))), answer)
    assert (found in got.text) if found else got is None


def test_nothing_else_is_looked_for_where_pictures_cannot_answer() -> None:
    parsed = msgspec.structs.replace(understand("The recipe calls for garlic, do say when there was some."), kind="when", form="number")
    session = Session(Question(text=parsed.text, asked_us=5, as_of_us=5), lambda: (parsed, TimeSpan()))
    assert run(local._mentioned(session, Pool(leads=(lead("train", 0.1, 0.01),))), lambda _: Pool()) == (None, [])


def test_what_is_counted_is_no_other_thing_that_is_named() -> None:
    parsed = understand("how many pieces were left in the packet of plasters?")
    session = Session(Question(text=parsed.text, asked_us=5, as_of_us=5), lambda: (parsed, TimeSpan()))
    assert run(local._mentioned(session, Pool(leads=(lead("pieces", 0.1, 0.01),))), lambda _: Pool(leads=(lead("packet", 0.9, 0.9),))) == (
        None,
        [],
    )


@pytest.mark.parametrize(
    ("asked", "mine"),
    [
        ("What does the camera wearer see?", "What do I see?"),
        ("What did the wearer come across?", "What did I come across?"),
        ("What was in front of the wearer?", "What was in front of me?"),
        ("What crossed the wearer's view?", "What crossed my view?"),
        ("What is the wearer supposed to buy?", "What am I supposed to buy?"),
        ("What did they remind the wearer of?", "What did they remind me of?"),
        ("What did the person wearing the glasses read?", "What did I read?"),
        ("Which of the following was there?", "Which of these was there?"),
        ("Which of the following three animals was there?", "Which of these animals was there?"),
        ("What is visible after the owl?", "What was visible after the owl?"),
        ("Which of these is never shown?", "Which of these was never shown?"),
        ("What does the speaker say about the car?", "What did somebody say about the car?"),
        ("What was shown while the speaker talks about the car?", "What was shown while somebody talks about the car?"),
        ("At what clock time did I see it?", "At what time did I see it?"),
        ("Did I see it on two separate occasions?", "Did I see it two times?"),
        ("How many different kinds of bird appear?", "How many kinds of bird appeared?"),
        ("How many distinct birds did I see?", "How many kinds of birds did I see?"),
        ("How many different times did I see it?", "How many times did I see it?"),
        ("How many tools turn up?", "How many tools appeared?"),
        ("What must I not forget?", "What must I remember?"),
        ("What was between the cat and the dog's third appearance?", "What was between the cat and the third dog?"),
        ("How long after the cat did the owl appear?", "How long was it between the cat and the owl?"),
        ("How much time passes between the cat and the owl?", "How long was it between the cat and the owl?"),
        (
            "How much time lies between the first and the second sighting of the cat?",
            "How long was it between the first and the second cat?",
        ),
    ],
)
def test_how_benchmarks_ask_is_how_users_ask(asked: str, mine: str) -> None:
    assert understand(asked).text.rstrip("?") == understand(mine).text.rstrip("?")


@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        ("What was the last thing that was said?", "What was said last?"),
        ("Which remark was heard while the cat was there?", "What was said while the cat was there?"),
        ("What is planned for this evening?", "What are we doing tonight?"),
        ("What did I see before the mailbox comes into view?", "What did I see before the mailbox?"),
        ("What did I see when the cat appears?", "What did I see while the cat was there?"),
        ("What was I told about the car?", "What did they tell me about the car?"),
        ("What have I been told?", "What did they tell me?"),
        ("What did I get told?", "What did they tell me?"),
        ("What was I reminded of?", "What did they tell me to remember?"),
        ("What did I see most often all morning?", "What did I see most often?"),
        ("What did she remind me about?", "What did she tell me to remember?"),
        ("What is the last thing to be seen?", "What is the last thing I saw?"),
        ("once the very first time a camel showed up", "when was the very first time a camel showed up"),
    ],
)
def test_several_ways_to_ask_for_what_was_said_or_seen(asked: str, meant: str) -> None:
    assert understand(asked).text.rstrip("?") == understand(meant).text.rstrip("?")


def test_who_was_told_did_not_say_it() -> None:
    asked = understand("What was I told about the car?").asked
    assert asked is not None
    assert (asked.source, asked.about) == ("", "car")


def test_how_long_after_dinner_is_no_time_between_two_things() -> None:
    assert understand("How long after dinner did we leave?").relation == "after"
    assert understand("How long after the first plaster did the next one come?").anchors == ("first plaster", "second plaster")


def test_a_name_is_asked_for_whatever_is_told_about_whom() -> None:
    assert understand("What is the name of the cat somebody talked about?").form == "name"
    assert understand("What did they talk about?").form == "topic"


def test_before_today_is_a_time() -> None:
    time = understand("Before today, when did I last see the donkey?").time
    assert time is not None
    assert (time.day, time.relation) == ("today", "before")
