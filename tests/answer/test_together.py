"""How things lie to each other in time: together, one during another, in order, next to words; plans are given what actions bring."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from edgemem.answer import local
from edgemem.answer.gather import Candidate, Gather, Lead, Pool
from edgemem.answer.retrieve import episode_of
from edgemem.answer.say import order, scenes, statements
from edgemem.answer.session import Session
from edgemem.answer.tools import Reply, Scene
from edgemem.answer.understand import followup, understand
from edgemem.answer.understand.timespan import TimeSpan
from edgemem.answer.weigh import shown
from edgemem.records import US, Question
from tests.answer.test_limits import episode, evidence, lead, run, session
from tests.answer.test_plans import by_name, heard
from tests.answer.test_replies import appeared

SURE = {"held": 1.0, "cosine": 0.9, "above": 8.0}


def read(text: str, at_s: float, **more: Any) -> Candidate:
    return Candidate(channel="text", text=text, evidence=(evidence(at_s, text=text, channel="text"),), **more)


def asked(text: str) -> Session:
    question = Question(text=text, asked_us=10_000 * US, as_of_us=10_000 * US)
    return Session(question, lambda: (understand(text), TimeSpan()))


def answer(text: str, brings: Callable[[Any], Any]) -> Reply:
    made: Reply = run(local.reply(asked(text)), brings)[0]
    return made


def told(*words: Candidate, seen: Callable[[Any], Any] | None = None) -> Callable[[Any], Any]:
    """Words where a look asks for them, pictures of things where it names them."""

    def brings(action: Any) -> Any:
        if not isinstance(action, Gather):
            return Scene()
        found = seen(action) if seen and action.things else Pool()
        return msgspec.structs.replace(found, candidates=words if action.question else ())

    return brings


def test_whether_two_things_were_there_together() -> None:
    """Five seconds apart is together; of several appearances the nearest two count."""
    hen = lead(episode(10), episode(100, 110), phrase="hen", confidence=0.9)
    for at_s, said, sure in ((115, "Yes: ", 0.7), (115.1, "No, not that I know: ", 0.35), (95, "Yes: ", 0.7), (105, "Yes: ", 0.7)):
        owl = lead(episode(at_s), phrase="owl", confidence=0.7)
        reply = answer("Were the hen and the owl there together?", by_name(hen, owl))
        assert reply.text.startswith(f"{said}I saw the hen at 00:01:40"), at_s
        assert (reply.status, reply.confidence) == ("answered", pytest.approx(sure)), at_s
        assert reply.evidence[0] == "m100000000"
    other = lead(episode(100, stream="other"), phrase="owl", confidence=0.7)
    assert answer("Did the hen and the owl show up at the same time?", by_name(hen, other)).text.startswith("No"), "by another camera"
    unsure = lead(episode(100), phrase="owl", confidence=0.1)
    missing = answer("Were the hen and the owl there together?", by_name(hen, unsure))
    assert (missing.status, "owl" in missing.text, "hen" in missing.text) == ("abstained", True, False)
    assert run(order.together(asked("Were the hen and the owl there together?")), lambda _: Pool())[0].status == "abstained"
    owl = lead(episode(105), phrase="owl", confidence=0.7)
    three = answer("Were the hen, the owl and the cat there together?", by_name(hen, owl))
    assert (three.status, three.unverified) == ("abstained", ("cat", "together")), "two of three are not all"
    alone = answer("Was the hen there together?", by_name(hen))
    assert (alone.unverified, alone.text.startswith("I saw the hen at ")) == (("together",), True), "one thing is no pair"


def test_whether_a_thing_was_there_during_another() -> None:
    seen = by_name(lead(episode(50, 60), phrase="hen", confidence=0.9), lead(episode(55), phrase="owl", confidence=0.7))

    def within(action: Any) -> Any:
        pool = seen(action)
        if not isinstance(action, Gather):
            return pool
        kept = [
            msgspec.structs.replace(
                one, episodes=tuple(e for e in one.episodes if (action.from_us or 0) <= e.t0_us <= (action.to_us or 10**12))
            )
            for one in pool.leads
        ]
        return msgspec.structs.replace(pool, leads=tuple(kept))

    reply = answer("Was the owl there while the hen was there?", within)
    assert reply.text.startswith("Yes: I saw the owl at 00:00:55")
    assert reply.confidence == 0.7, "as sure as the less sure of the two"
    seen = by_name(lead(episode(50, 60), phrase="hen"), lead(episode(90), phrase="owl"))
    reply = answer("Was the owl there while the hen was there?", within)
    assert (reply.status, reply.unverified, reply.confidence) == ("abstained", ("while the hen was there",), 0.2)
    assert reply.text.endswith("but not then that I know.")
    seen = by_name(lead(episode(50, 60), phrase="hen"))
    assert answer("Was the owl there while the hen was there?", within).text.endswith("I have not seen an owl in this memory.")
    seen = by_name(lead(episode(90), phrase="owl"))
    assert answer("Was the owl there while the hen was there?", within).text.endswith("I have not seen a hen in this memory.")


def test_words_take_part_in_an_order() -> None:
    """What no picture surely shows is where all of its words were said or read, nine tenths sure."""
    rain, price = heard("It might rain later.", 100, **SURE), read("COFFEE 5 EUR", 50, **SURE)

    def brings(action: Any) -> Any:
        if not isinstance(action, Gather):
            return Scene()
        leads = tuple(Lead(phrase=thing) for thing in action.things)
        words = {"rain": (rain,), "coffee price": (price,)}.get(action.question, ())
        return Pool(leads=leads, candidates=words)

    reply = answer("Did I hear about the rain before or after I read the coffee price?", brings)
    assert reply.text.startswith("After: the rain came after the coffee price, the rain at 00:01:40")
    assert reply.confidence == pytest.approx(0.9)


def test_what_pictures_show_is_in_order_as_they_show_it() -> None:
    owl = heard("An owl!", 5, **SURE)
    seen = by_name(lead(episode(50), phrase="hen"), lead(episode(100), phrase="owl"))
    reply = answer("Was the hen there before the owl?", told(owl, seen=seen))
    assert reply.text.startswith("Yes, the hen came before the owl, the hen at 00:00:50"), "whatever was said of them"


def test_what_a_thing_is_called_by_a_sign_is_found_without_words_for_its_form() -> None:
    _, actions = run(order.referred("coffee price", (None, 9 * US), spoken=True), lambda _: Pool())
    assert [one.words for one in actions if one.question] == [("coffee",)]
    _, actions = run(order.referred("price", (None, 9 * US), spoken=True), lambda _: Pool())
    assert [one.words for one in actions if one.question] == [("price",)], "but all of it where it has no other"


def test_whether_anything_was_said_then() -> None:
    seen = by_name(lead(episode(50, 60), phrase="elephant"))
    brings = told(heard("It might rain.", 55), seen=seen)
    assert answer("Did anyone say anything while the elephant was there?", brings).text.startswith('Yes: Somebody said "It might rain."')
    assert answer("Did anyone say anything while the elephant was there?", told(seen=seen)).text == "No, I heard nothing being said then."


def test_what_somebody_said_is_not_read_and_not_seen() -> None:
    gate = Lead(phrase="gate", confidence=0.9, episodes=(episode_of([evidence(10, text="GATE 83")]),), basis="text")
    assert shown(understand("Which gate did somebody say it goes from?"), gate) == 0.0
    assert shown(understand("Which gate did I read?"), gate) > 0
    clock = by_name(lead(episode(10), phrase="clock"))
    assert answer("What did my boss say after I looked at the clock?", clock).text.startswith("I have heard or read nothing")


def test_signs_next_to_something_are_not_all_signs() -> None:
    signs = Pool(candidates=(read("SALE 40% OFF", 10), read("GATE 83", 50), read("COFFEE 3 EUR", 90)))
    assert statements.signs(asked("What was the last sign before the shopping was mentioned?"), signs) is None
    for text, sign in (("What was the last sign I read?", "COFFEE 3 EUR"), ("What was the second sign I read?", "GATE 83")):
        reply = statements.signs(asked(text), signs)
        assert reply is not None
        assert reply.text.startswith(f'"{sign}"')


def test_who_said_what_names_no_thing_tells_a_time() -> None:
    parsed = understand("What came into view after somebody said it was really funny?")
    assert (parsed.relation, parsed.anchors) == ("after", ("somebody said it was really funny",))
    in_front = understand("When somebody said it was really funny, what was the next thing to come into view after that?")
    assert (in_front.relation, in_front.anchors) == ("after", ("when somebody said it was really funny",))
    assert answer("What came into view after somebody said it was really funny?", told()).text == "I have heard nothing of that."
    rain = heard("It might rain later.", 50, **SURE)
    bare = lambda action: told(rain)(action) if isinstance(action, Gather) else Scene(evidence=(evidence(52),))  # noqa: E731
    unnamed = answer("What came into view after somebody mentioned the rain?", bare)
    assert unnamed.text == "I know of nothing after the rain that I can name."


def test_one_of_a_pair_is_called_as_the_other() -> None:
    assert understand("How long was it between the bus sign and the flight one?").anchors == ("bus sign", "flight sign")


def test_what_is_next_to_an_answer_is_next_to_the_whole_appearance_that_it_told_of() -> None:
    """What was told of is one picture; the thing was there from 50 to 60. Of words that have no name nothing is looked for."""
    near = evidence(52)
    mug = by_name(lead(episode(10), episode(50, 60), episode(200), phrase="mug"))
    for anchor, from_s, looks in (("mug", 60, [("mug",)]), (followup.IT, 52, [])):
        s = session(kind="what", relation="after", anchors=(anchor,), anchor=near, near=near)
        place, actions = run(order.relate(s), mug)
        assert (place.window, [one.things for one in actions]) == ((from_s * US + 1, 1000 * US), looks), anchor
        assert place.anchors[0][0].basis == "frame"
    words = msgspec.structs.replace(near, channel="speech")
    s = session(kind="what", relation="after", anchors=("mug",), anchor=words, near=words)
    place, actions = run(order.relate(s), mug)
    assert (place.window[0], actions, place.anchors[0][0].basis) == (52 * US + 1, [], "text"), "words are told of the mug, no picture"
    s = session(kind="order", things=("mug",), anchors=("film",), near=near)
    film = lead(episode(100), phrase="film")
    both = by_name(lead(episode(10), episode(50, 60), episode(200), phrase="mug"), film)
    reply = run(order._ordered(s, ("mug", "film"), Pool()), both)[0]
    assert reply.text.startswith("Before: the mug came before the film, the mug at 00:00:50")


def test_between_two_things_that_were_spoken_of_has_both() -> None:
    """Words that tell of one of them are not all that is referred to."""
    meeting = heard("The meeting is on Monday.", 50, **SURE)
    bus = by_name(lead(episode(90), phrase="bus"))
    for more in ({"kind": "what"}, {"kind": "yes_no"}):
        s = session(relation="between", anchors=("meeting", "bus"), clause="between the meeting being mentioned and the bus", **more)

        def brings(action: Any) -> Any:
            return Pool(candidates=(meeting,) if "meeting" in action.question else (), leads=bus(action).leads)

        place, _ = run(order.relate(s), brings)
        assert place.window == (50 * US + 1, 90 * US - 1)


def test_what_is_next_to_an_answer_is_not_the_answer_itself() -> None:
    """The same sign in another picture is still the one that is referred to; other signs and other words are not."""
    told_of = read("GATE 83", 50).evidence[0]
    parsed = msgspec.structs.replace(understand("What did I read after that?"), relation="after", anchor=told_of)
    again, misread, other = read("GATE 83", 60), read("GATE B3", 60), read("COFFEE 3 EUR", 60)
    bread = msgspec.structs.replace(parsed, anchor=read("BREAD", 50).evidence[0])
    assert [order.is_anchor(bread, read(text, 60)) for text in ("BREWS", "BRAND", "BUSES")] == [True, True, False], "alike from .6 on"
    assert [order.is_anchor(parsed, one) for one in (again, misread, other, heard("Gate 83.", 60))] == [True, True, False, False]
    said = msgspec.structs.replace(parsed, anchor=heard("Gate 83.", 50).evidence[0])
    assert order.is_anchor(said, heard("Gate 83.", 50))
    assert not order.is_anchor(said, heard("Gate 83.", 60)), "said once more"
    assert not order.is_anchor(msgspec.structs.replace(parsed, anchor=None), other)


def test_how_many_signs_there_were_before_another() -> None:
    signs = (read("SALE 40% OFF", 10), read("GATE 83", 50), read("COFFEE 3 EUR", 90))
    seen = by_name(lead(episode(70), phrase="drum"))
    reply = answer("How many signs did I read before the drum?", told(*signs, seen=seen))
    assert reply.text.startswith('2 signs. "SALE 40% OFF"')
    assert len(reply.evidence) == 2
    assert answer("How many signs were there after the drum?", told(*signs, seen=seen)).text.startswith('1 sign. "COFFEE 3 EUR"')


def test_a_thing_during_words_that_name_none() -> None:
    rain = heard("It might rain later.", 50, **SURE)
    seen = by_name(lead(episode(52), phrase="elephant"))
    asked_of = "Was the elephant there when someone said it might rain?"
    assert answer(asked_of, told(rain, seen=seen)).text.startswith("Yes: I saw the elephant at 00:00:52")
    assert answer(asked_of, told(seen=seen)).text == "I have heard nothing of that."


@pytest.mark.parametrize("text", ["Which film did they say we're watching tonight?", "What film did she say we watch tonight?"])
def test_what_was_said_of_a_time_to_come_is_over(text: str) -> None:
    film = heard("Tonight we watch the film The Winter Forest.", 50, **SURE)
    to_come = TimeSpan(problem="That time has not come yet.", to_come=True)
    s = Session(asked(text).question, lambda: (understand(text), to_come))
    assert "Winter Forest" in run(local.reply(s), told(film))[0].text
    seen = "Which film did I see tonight?"
    s = Session(asked(seen).question, lambda: (understand(seen), to_come))
    assert run(local.reply(s), told(film))[0].text == "That time has not come yet."


def test_what_they_said_while_a_thing_was_there_is_no_picture() -> None:
    seen, question = by_name(lead(episode(50, 60), phrase="elephant")), "What did they say when the elephant was there?"
    assert answer(question, told(seen=seen)).text == "I heard nothing being said then."
    assert 'said "It might rain."' in answer(question, told(heard("It might rain.", 55), seen=seen)).text


def test_whether_it_was_said_or_read() -> None:
    car, gate = heard("The car is on level 3.", 50), read("GATE 83", 90)
    for text, begin in (
        ("level three, was that on a sign or did someone say it", 'It was said, not read that I know: Somebody said "The car'),
        ("Gate 83, did somebody say that or did I only read it?", 'It was read, not said that I know: "GATE 83"'),
    ):
        reply = answer(text, told(car, gate))
        assert reply.text.startswith(begin)
        assert reply.confidence == pytest.approx(0.6)
    both = answer("Gate 83, did somebody say that or did I only read it?", told(car, gate, heard("We leave from gate 83.", 20)))
    assert both.text.startswith("It was said and read: ")
    assert len(both.evidence) == 2
    for text in ("The tickets, did somebody say that or did I only read it?", "Did I hear of the car before or after I read the gate?"):
        assert "not read that I know" not in answer(text, told(car, gate)).text, text


def test_what_of_a_kind_came_next() -> None:
    """Of what appeared in the stretch of time behind it, or before it, the first or the last name of the kind."""
    sign = read("GATE 83", 50, **SURE)
    animal = Lead(phrase="animal", confidence=0.9, episodes=(episode_of([evidence(200, text="dog")]),))
    sights = (appeared("barn", 60, 61, 0.9), appeared("beaver", 70, 75, 0.4), appeared("otter", 90, 95, 0.9), appeared("hen", 65, 66, 0.19))
    asked_of: list[Any] = []

    def brings(action: Any) -> Any:
        if isinstance(action, Gather):
            gate = Lead(phrase="gate sign", confidence=0.9, episodes=(episode_of(sign.evidence),), basis="text")
            return Pool(
                leads=tuple(gate if thing == "gate sign" else msgspec.structs.replace(animal, phrase=thing) for thing in action.things)
            )
        asked_of.append((action.from_us, action.to_us))
        return Scene(evidence=(evidence(action.from_us // US if action.from_us == action.to_us else 60),), sights=sights)

    reply = answer("Which animal did I see after the gate sign?", brings)
    assert reply.text.startswith("Perhaps the beaver, at 00:01:10"), "the hen is not probable, the barn no animal"
    assert asked_of[0] == (50 * US + 1, 10_000 * US)
    assert reply.confidence == pytest.approx(0.77 * 0.4, abs=1e-4)
    assert answer("What animal did I see last before the gate sign?", brings).text.startswith("The otter, at 00:01:30")
    assert asked_of[-2] == (0, 50 * US - 1)
    for text in (
        "Which animal did I see in the garden after the gate sign?",
        "Which animals did I see after the gate sign?",
        "Which second animal did I see after the gate sign?",
    ):
        assert not answer(text, brings).text.startswith("Perhaps the beaver, at"), text
    first = answer("Which animal did I see first after the gate sign?", brings)
    assert first.text.startswith("Perhaps the beaver, at 00:01:10")
    gate: dict[str, Any] = {"kind": "which", "things": ("animal",), "anchors": ("gate sign", "bus sign")}
    for relation, anchors, asks in (
        ("after", 1, True),
        ("before", 1, True),
        ("between", 2, False),
        ("side", 1, False),
        ("after", 0, False),
    ):
        parsed = session(**gate, relation=relation).parsed
        assert scenes.asks_next(msgspec.structs.replace(parsed, anchors=parsed.anchors[:anchors]), animal) is asks, relation
    assert scenes.asks_next(session(**gate, relation="after", ordinal=1).parsed, animal)
    assert scenes.asks_next(session(**gate, relation="before", ordinal=-1).parsed, animal)
    sights = (appeared("beaver", 70, 75, 0.2),)
    assert answer("Which animal did I see after the gate sign?", brings).text.startswith("Perhaps the beaver"), "probable from .2 on"
    sights = (appeared("beaver", 70, 75, 0.5),)
    assert answer("Which animal did I see after the gate sign?", brings).text.startswith("The beaver, at 00:01:10"), "sure from .5 on"
    sights = (appeared("barn", 60, 61, 0.9),)
    assert not answer("Which animal did I see after the gate sign?", brings).text.startswith("Perhaps"), "none appeared"
