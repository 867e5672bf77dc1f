"""Limits and formulas of answering, against numbers worked out by hand: plans are given the results of their actions."""

import math
from collections.abc import Callable, Generator
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from edgemem.answer import gather, local, weigh
from edgemem.answer.compose import distinct_readings
from edgemem.answer.gather import Candidate, Gather, Lead, Pool
from edgemem.answer.retrieve import Episode, Hits, Query, held
from edgemem.answer.retrievers.frames import _likely
from edgemem.answer.retrievers.match import Features
from edgemem.answer.retrievers.match import confidence as confidence_of
from edgemem.answer.retrievers.people import _speakers
from edgemem.answer.retrievers.readings import OcrReading
from edgemem.answer.say import base, choose, order, people, pictures, statements
from edgemem.answer.session import Session
from edgemem.answer.sights import SeenName
from edgemem.answer.tools import Inspect, Scene
from edgemem.answer.tools_graph import Row
from edgemem.answer.understand import Parsed, understand
from edgemem.answer.understand.forms import names
from edgemem.answer.understand.timespan import TimeSpan
from edgemem.infer.phrase import LabelQuery
from edgemem.records import US, Entity, Evidence, Question
from edgemem.remember.view import View

NOW_US = 1000 * US


def evidence(at_s: float, score: float = 1.0, text: str = "", channel: Any = "frame") -> Evidence:
    t_us = round(at_s * US)
    return Evidence(id=f"m{t_us}", channel=channel, stream="s", t0_us=t_us, t1_us=t_us, offset_us=t_us, score=score, text=text)


def episode(at_s: float, until_s: float | None = None, score: float = 0.9, stream: str = "s") -> Episode:
    t0, t1 = round(at_s * US), round((at_s if until_s is None else until_s) * US)
    seen = msgspec.structs.replace(evidence(at_s, score), stream=stream, t1_us=t1)
    return Episode(stream=stream, t0_us=t0, t1_us=t1, offset_us=t0, score=score, evidence=(seen,))


def lead(*episodes: Episode, confidence: float = 0.8, phrase: str = "mug") -> Lead:
    return Lead(phrase=phrase, confidence=confidence, episodes=episodes)


def session(options: tuple[str, ...] = (), **parsed: Any) -> Session:
    question = Question(text="?", asked_us=NOW_US, as_of_us=NOW_US, options=options)
    return Session(question, lambda: (Parsed(**parsed), TimeSpan()))


def run(plan: Generator[Any, Any, Any], result: Callable[[Any], Any]) -> tuple[Any, list[Any]]:
    """What a plan returns, and the actions that it took; `result` says what each action brings."""
    actions: list[Any] = []
    try:
        action = next(plan)
        while True:
            actions.append(action)
            action = plan.send(result(action))
    except StopIteration as stop:
        return stop.value, actions


def found(*leads: Lead) -> Callable[[Any], Any]:
    """Every look at things brings these leads, every inspection an empty scene."""
    return lambda action: Pool(leads=leads) if isinstance(action, Gather) else Scene()


@pytest.mark.parametrize(
    ("relation", "window"),
    [
        ("after", (60 * US + 1, 1000 * US)), ("before", (None, 50 * US - 1)), ("while", (50 * US, 60 * US)), ("side", (50 * US, 60 * US)),
    ],
)  # fmt: skip
def test_a_relation_is_a_window_up_to_its_anchor(relation: Any, window: Any) -> None:
    place, _ = run(order.relate(session(kind="what", relation=relation, anchors=("mug",))), found(lead(episode(50, 60))))
    assert (place.window, place.missing) == (window, None)


@pytest.mark.parametrize(
    ("relation", "clause", "window"),
    [
        ("after", "ten minutes after the mug", (600, 720)),
        ("before", "an hour before the mug", (3050 - 360 - 3600, 3050 + 360 - 3600)),
        ("before", "30 seconds before the mug", (3005, 3035)),
        ("after", "two hours after the mug", (3060 + 7200 - 720, 9000)),
        ("after", "once i was done with the mug", (3060, 9000)),
        ("before", "right before the mug", (None, 3050)),
    ],
)
def test_a_distance_before_or_after_is_a_window_around_it(relation: Any, clause: str, window: Any) -> None:
    asked = session(kind="what", relation=relation, anchors=("mug",), clause=clause)
    asked.question = msgspec.structs.replace(asked.question, as_of_us=9000 * US)
    start = 60 if clause.startswith("ten") else 3060
    place, _ = run(order.relate(asked), found(lead(episode(start - 10, start))))
    assert tuple(None if one is None else round(one / US) for one in place.window) == window


@pytest.mark.parametrize("years", ["9" * 12, "9" * 400])
@pytest.mark.parametrize("relation", ["before", "after"])
def test_no_distance_is_longer_than_a_database_can_hold(relation: Any, years: str) -> None:
    asked = session(kind="what", relation=relation, anchors=("mug",), clause=f"{years} years {relation} the mug")
    from_us, to_us = run(order.relate(asked), found(lead(episode(900))))[0].window
    assert -(2**63) <= from_us < 2**63
    assert -(2**63) <= to_us < 2**63


def test_what_was_seen_at_a_distance_is_all_of_that_window() -> None:
    asked = session(kind="what", relation="before", anchors=("mug",), clause="ten minutes before the mug")
    reply, actions = run(order.neighbours(asked), found(lead(episode(900))))
    assert [(one.from_us, one.to_us) for one in actions if isinstance(one, Inspect)] == [(240 * US, 360 * US)]
    assert reply.text == "Nothing was recorded then."
    plain = run(order.neighbours(session(kind="what", relation="before", anchors=("mug",))), found(lead(episode(900))))[0]
    assert plain.text.startswith("I know of nothing before")


def test_an_option_at_a_distance_is_looked_for_there() -> None:
    asked = session(("cat", "dog"), kind="what", relation="after", anchors=("mug",), clause="ten minutes after the mug")
    plan = choose.choose(asked, Pool(), [], iter(()), local.reply)
    gathers = [one for one in run(plan, found(lead(episode(50, 60)), lead()))[1] if isinstance(one, Gather) and one.things]
    assert (gathers[-1].from_us, gathers[-1].to_us) == (600 * US, 720 * US)


def test_between_is_what_lies_between_two_anchors_in_either_order() -> None:
    leads = {"cup": lead(episode(80, 90)), "mug": lead(episode(10, 20))}
    asked = session(kind="what", relation="between", anchors=("cup", "mug"))
    place, _ = run(order.relate(asked), lambda action: Pool(leads=(leads[action.things[0]],)))
    assert place.window == (20 * US + 1, 80 * US - 1)
    leads["cup"] = lead(episode(20, 90))
    place, _ = run(order.relate(asked), lambda action: Pool(leads=(leads[action.things[0]],)))
    assert place.window == (20 * US + 1, 20 * US + 1)


def test_what_came_next_is_looked_for_within_120_s_and_is_one_scene_of_5_s() -> None:
    def near(action: Any) -> Any:
        if isinstance(action, Gather):
            return Pool(leads=(lead(episode(50, 60)),))
        return (
            Scene(evidence=(evidence(100), evidence(104)), sights=(SeenName(kind="label", name="cat", score=1.0),))
            if action.to_us > 75 * US
            else Scene()
        )

    reply, actions = run(order.neighbours(session(kind="what", relation="after", anchors=("mug",))), near)
    spans = [(one.from_us, one.to_us) for one in actions if isinstance(one, Inspect)]
    assert spans == [(60 * US + 1, 180 * US + 1), (100 * US, 105 * US)]
    assert reply.text.startswith("Cat")
    reply, actions = run(order.neighbours(session(kind="what", relation="before", anchors=("mug",))), near)
    assert [(one.from_us, one.to_us) for one in actions if isinstance(one, Inspect)] == [(0, 50 * US - 1)]
    assert reply.status == "abstained"


def test_order_needs_two_things_that_were_seen() -> None:
    early, late, weak = lead(episode(10)), lead(episode(50), confidence=0.7), lead(episode(5), confidence=0.1)
    asked = session(kind="order")
    assert order.in_order(asked, (early, weak), ("a", "b"), Pool())[0].status == "abstained"
    reply, best = order.in_order(asked, (late, early), ("cup", "mug"), Pool())
    assert (reply.text.startswith("The mug came first, "), best) == (True, 1)
    assert reply.confidence == 0.7, "as sure as the least sure of them"
    assert reply.evidence == ("m10000000", "m50000000")
    assert order.in_order(session(kind="order", ordinal=-1), (late, early), ("cup", "mug"), Pool())[1] == 0
    asked = session(kind="order", things=("cup",), anchors=("mug",))
    assert order.in_order(asked, (late, early), ("cup", "mug"), Pool())[0].text.startswith("After: the cup came after the mug, ")
    assert order.in_order(asked, (early, late), ("cup", "mug"), Pool())[0].text.startswith("Before: the cup came before the mug, ")


def said(one: Lead, **parsed: Any) -> Any:
    return run(pictures.from_pictures(session(things=("mug",), **parsed), Pool(leads=(one,)), one), lambda _: Scene())[0]


def test_a_stay_is_told_from_two_seconds_on() -> None:
    assert " for 2 s" in said(lead(episode(10, 12)), kind="when").text
    assert " for " not in said(lead(episode(10, 11.9)), kind="when").text


def test_what_no_picture_shows_is_answered_by_a_reading_that_has_its_form() -> None:
    price = Parsed(kind="what", form="price")
    for text, basis, sure in (("TEA 3 EUR", "text", 0.8), ("BAKERY", "text", 0.0), ("TEA 3 EUR", "frame", 0.0)):
        track = episode(10)
        read = msgspec.structs.replace(track, evidence=(msgspec.structs.replace(track.evidence[0], text=text),))
        assert weigh.shown(price, msgspec.structs.replace(lead(read), basis=basis)) == sure


def test_an_answer_that_says_more_than_when_is_less_sure() -> None:
    twice = lead(episode(10), episode(100), confidence=0.9)
    shares = (("when", 0, 1.0), ("when", 1, 0.77), ("when", -1, 0.77), ("how_many", 0, 0.5), ("how_long", 0, 0.6), ("yes_no", 0, 1.0))
    for kind, ordinal, share in shares:
        assert said(twice, kind=kind, ordinal=ordinal).confidence == pytest.approx(0.9 * share), (kind, ordinal)


def test_how_long_is_at_least_a_second_and_summed_over_appearances() -> None:
    assert said(lead(episode(10, 10.5)), kind="how_long").text.startswith("At least 1 s: a mug")
    both = said(lead(episode(10, 20), episode(100, 130)), kind="how_long", text="how long was the mug there")
    assert "40 s in all 2 appearances" in both.text
    assert both.confidence == pytest.approx(0.6 * 0.8)


def test_a_count_is_half_as_sure_as_the_thing() -> None:
    alone = said(lead(episode(10), episode(100)), kind="how_many", counts="times")
    assert (alone.text.split(":")[0], alone.confidence) == ("2 times", 0.4)
    many = said(lead(*(episode(100 * n) for n in range(7))), kind="how_many")
    assert many.text.startswith("7 times")
    assert many.text.endswith(" and later.")


def test_where_it_is_now_is_the_last_appearance_that_counts() -> None:
    for score, second in ((0.46, 100), (0.44, 10)):  # .5 * .9 = .45
        assert said(lead(episode(10), episode(100, score=score)), kind="where", verb="be").evidence[0] == f"m{second * US}"


def test_what_was_there_is_what_is_a_second_away_and_signs_are_read_there_as_well() -> None:
    one = lead(episode(50, 60))
    _, actions = run(pictures.from_pictures(session(kind="where", verb="see", things=("mug",)), Pool(leads=(one,)), one), lambda _: Scene())
    assert [(a.from_us, a.to_us) for a in actions if isinstance(a, Inspect)] == [(49 * US, 61 * US)]


def test_the_third_time_of_two_is_not_known() -> None:
    reply = said(lead(episode(10), episode(100)), kind="when", ordinal=3)
    assert (reply.status, reply.text, reply.confidence) == ("abstained", "I saw the mug only 2 times.", 0.25)
    assert said(lead(episode(10)), kind="when", ordinal=2).text.endswith("only 1 time.")


def test_other_times_are_listed_up_to_four() -> None:
    six = [episode(100 * n) for n in range(6)]
    assert base.others_text(six, six[0], "UTC").endswith(" and 1 more times.")
    assert "more times" not in base.others_text(six[:5], six[0], "UTC")


def test_of_one_appearance_only_sightings_at_other_times_are_cited() -> None:
    one = Episode(stream="s", t0_us=0, t1_us=0, offset_us=0, score=1.0, evidence=tuple(evidence(s) for s in (0, 10, 10.5, 30, 60)))
    assert base.cite([one], [evidence(5)]) == ("m0", "m5000000", "m10500000", "m30000000")


def test_an_option_is_as_sure_as_its_share_of_the_evidence() -> None:
    leads = (lead(episode(10, score=0.6), confidence=0.6), lead(episode(50, score=0.3), confidence=0.3))
    reply = choose._best_option(session(("cup", "mug"), kind="which"), leads, [(0.6, leads[0].episodes[0]), (0.3, leads[1].episodes[0])])
    assert (reply.option, reply.confidence) == (0, pytest.approx(0.6 / 0.95 * (0.5 + 0.5 * 0.6), abs=1e-4))
    assert reply.alternatives == ("m50000000",)
    assert choose._best_option(session(("cup", "mug"), kind="which"), leads, [(0.0, None), (0.0, None)]).status == "abstained"


def test_none_of_these_is_chosen_where_nothing_was_surely_seen() -> None:
    leads = (lead(episode(10), confidence=0.1), Lead(phrase="none"))
    found_ = [(0.1, leads[0].episodes[0]), (0.0, None)]
    assert choose._best_option(session(("cup", "none of these"), kind="which"), leads, found_).option == 1
    leads = (lead(episode(10), confidence=0.9), Lead(phrase="none"))
    assert choose._best_option(session(("cup", "none of these"), kind="which"), leads, found_).option == 0


def test_the_anchor_was_where_it_was_seen_best() -> None:
    """Weights 1 and .3^2 / .9^2; each option is sqrt(.64) x the greatest weighted exp(-gap / 15 s)."""
    leads = {
        "anchor": lead(episode(0, score=0.3), episode(100, score=0.9)), "cup": lead(episode(115), confidence=0.64),
        "cat": lead(episode(15), confidence=0.64),
    }  # fmt: skip
    asked = session(("cat", "cup"), kind="which", relation="after", anchors=("anchor",))
    reply, _ = run(choose._beside(asked), lambda action: Pool(leads=tuple(leads[thing] for thing in action.things)))
    cup, cat = 0.8 * math.exp(-1), 0.8 / 9 * math.exp(-1)
    assert (reply.option, reply.evidence[0]) == (1, "m115000000")
    assert reply.confidence == pytest.approx(cup / (cup + cat + 0.05) * (0.5 + 0.5 * 0.64), abs=1e-4)


def test_between_two_is_beside_both_of_them() -> None:
    """Weights 1 and .3^2 / .9^2; of each option sqrt(.64) x the greatest weighted exp(-mean gap / 15 s)."""
    leads = {
        "a": lead(episode(0, score=0.3), episode(100, score=0.9)), "b": lead(episode(140, 150, score=0.8)),
        "cup": lead(episode(110, 120), confidence=0.64), "cat": lead(episode(30), confidence=0.64),
        "dog": lead(episode(160), confidence=0.64),
    }  # fmt: skip

    def chosen(*anchors: str) -> Any:
        asked = session(("cat", "cup", "dog"), kind="which", relation="between", anchors=anchors)
        return run(
            choose.choose(asked, Pool(), (), iter(()), local.reply),
            lambda action: Pool(leads=tuple(leads[thing] for thing in action.things)),
        )[0]

    cup, cat = 0.8 * math.exp(-(10 + 20) / 2 / 15), 0.8 / 9 * math.exp(-(30 + 110) / 2 / 15)
    for reply in (chosen("a", "b"), chosen("b", "a")):
        assert (reply.option, reply.evidence[0]) == (1, "m110000000")
        assert reply.confidence == pytest.approx(cup / (cup + cat + 0.05) * (0.5 + 0.5 * 0.64), abs=1e-4)
    leads["b"] = Lead(phrase="b")
    assert chosen("a", "b").text.endswith("I have not seen a b in this memory."), "an anchor that was never seen"


def test_an_option_is_meant_where_three_quarters_of_its_letters_stand() -> None:
    asked = session(("room 384", "room 999"), kind="what")
    reply = choose._from_words(asked, [(0.2, words("ROOM 384")), (0.1, words("ROOM 999"))])
    assert reply is not None
    assert (reply.option, reply.confidence) == (0, 0.3)
    assert choose._from_words(asked, [(0.2, words("EXIT"))]) is None


def words(text: str, held: float = 0.0, at_s: float = 0.0, **more: Any) -> Candidate:
    return Candidate(channel="text", text=text, evidence=(evidence(at_s, text=text, channel="text"),), held=held, **more)


def test_a_second_reading_is_told_from_85_of_100_of_the_first_on() -> None:
    one, two = words("OPEN 9-5"), words("GATE 18", at_s=5)
    assert "may also be" in statements.tell(session(kind="what"), [(0.8, one), (0.69, two)]).text
    assert "may also be" not in statements.tell(session(kind="what"), [(0.8, one), (0.67, two)]).text


@pytest.mark.parametrize(("other", "alike"), [("TRACK", True), ("BRAIN", True), ("TRUCK", False)])
def test_words_are_alike_from_60_of_100_on(other: str, alike: bool) -> None:
    """Three letters of five are the same in TRAIN and TRACK, two in TRUCK."""
    one, two = words("TRAIN"), words(other, at_s=5)
    assert ("may also be" in statements.tell(session(kind="what"), [(0.8, one), (0.79, two)]).text) is not alike
    assert (len(statements.versions(Parsed(kind="what"), [(0.8, one), (0.1, two)])) == 2) is alike
    s = session(kind="what")
    s.__dict__["_read"] = (understand("Which signs did I see?"), s.span)
    told = statements.signs(s, Pool(candidates=(one, two)))
    assert told is not None
    assert (len(told.evidence) == 1) is alike


@pytest.mark.parametrize(("asked", "all_of_them"), [("did I walk past", True), ("have I read", True), ("about parking did I see", False)])
def test_signs_about_something_are_not_all_signs(asked: str, all_of_them: bool) -> None:
    s = session(kind="what")
    s.__dict__["_read"] = (understand(f"What signs {asked}?"), s.span)
    assert (statements.signs(s, Pool(candidates=(words("NO PARKING"), words("TOOLS", at_s=5)))) is not None) is all_of_them


def test_words_that_were_hardly_heard_are_told_as_such() -> None:
    """-.28 + 1.55 ln(c / (1.001 - c)): of .5 the odds are .754, of .65 1.962, of .66 2.103."""
    one = msgspec.structs.replace(words("The cat is called Asco."), channel="speech")
    for clarity, sure, doubt in ((0.5, 0.3438, True), (0.65, 0.5300, True), (0.66, 0.5422, False), (1.0, 0.8, False)):
        told = statements.tell(session(kind="what"), [(0.8, msgspec.structs.replace(one, clarity=clarity))])
        assert told.confidence == pytest.approx(sure, abs=2e-4)
        assert told.text.endswith(" I did not hear it clearly.") is doubt
    assert statements.tell(session(kind="what"), [(0.8, msgspec.structs.replace(words("BAKERY"), clarity=0.6))]).confidence == 0.8
    assert weigh.heard_right(msgspec.structs.replace(one, clarity=0.0)) == pytest.approx(6.08e-4, rel=0.005), "no less than a hundredth"
    more, whole = (weigh.heard_right(msgspec.structs.replace(one, clarity=clarity)) for clarity in (1.5, 1.0))
    assert more == whole > 0.9999
    for text, sure in (("The cat is called Asco.", 0.48), ("The cat is called Oscar.", 0.8), ("The film is called The Winter.", 0.8)):
        told = statements.tell(session(kind="what", form="name"), [(0.8, msgspec.structs.replace(one, text=text))])
        assert told.confidence == pytest.approx(sure, abs=1e-3), "a name that nobody has was misheard"
        assert told.text.endswith(" I did not hear it clearly.") is (sure < 0.5)
    assert statements.tell(session(kind="what", form="name"), [(0.8, words("ASCO BAKERY"))]).confidence == 0.8, "a sign is read"
    assert statements.tell(session(kind="what", predicate="called"), [(0.8, one)]).confidence == pytest.approx(0.48, abs=1e-3)


def test_a_sign_with_its_name_does_not_count_how_often_a_thing_came() -> None:
    sign, told = words("25 ft TAPE MEASURE", 1.0), msgspec.structs.replace(words("I used it three times", 1.0), channel="speech")
    asked = Parsed(kind="how_many", counts="times", text="how often did the tape measure appear?")
    assert not statements.may_tell(asked, sign)
    assert statements.may_tell(asked, told), "somebody may have counted"
    assert statements.may_tell(msgspec.structs.replace(asked, text="how often does the bus go?"), words("BUS 7 every hour"))
    assert not statements.may_tell(msgspec.structs.replace(asked, text="how often does bus 7 go?"), words("BUS 7 to Paris, room 8"))
    assert statements.may_tell(msgspec.structs.replace(asked, hint="read"), sign)
    assert statements.may_tell(msgspec.structs.replace(asked, counts=""), sign)


def test_where_something_goes_is_told_by_words_for_a_place() -> None:
    for asked in (
        "Where's KL12 flying to, what did the board say?", "where is flight KL12 going?", "What was the destination of KL12?",
        "where does bus 8 go", "Which city does bus 8 go to?", "whereabouts is the bus heading?",
    ):  # fmt: skip
        assert not statements.may_tell(understand(asked), words("FLIGHT KL12 BUS 8 ON TIME")), asked
        assert statements.may_tell(understand(asked), words("FLIGHT KL12 BUS 8 TO OSLO")), asked
    assert statements.may_tell(understand("where did I see KL12?"), words("FLIGHT KL12 ON TIME"))


def test_the_title_of_a_film_is_nobody() -> None:
    told = {
        "The film called The Edge of Night": False, "A song is called Lost in Rome.": False, "The film is called Gone, Anna": True,
        "We play the game with Anna": True, "The cat is called Tom": True,
    }  # fmt: skip
    for text, somebody in told.items():
        assert names(text, (), persons=True) is somebody, text
    assert names("The film called The Edge of Night", ())


def test_who_asks_for_a_name_or_an_amount_is_told_one() -> None:
    def said(text: str) -> Candidate:
        return msgspec.structs.replace(words(text), channel="speech")

    for predicate in ("named", "name", "surname", "called"):
        named = Parsed(kind="what", predicate=predicate, words=("brother",))
        assert not statements.may_tell(named, said("My brother's shoe size is 44")), predicate
        assert statements.may_tell(named, said("My brother is called Tom"))
        assert statements.may_tell(named, words("BAKERY")), "signs are in capitals"
    assert statements.may_tell(understand("Where are the tools?"), words("TOOLS")), "that says where they are"
    tools = understand("What tools did I see?")
    assert not statements.may_tell(tools, words("TOOLS")), "it says no more than the question"
    assert statements.may_tell(tools, words("HAND TOOLS"))
    assert statements.may_tell(tools, said("tools"))
    assert statements.may_tell(understand("What does the tools sign say?"), words("TOOLS"))
    assert statements.may_tell(Parsed(kind="what", predicate="title"), said("we watch a film"))
    cat = "Their cat is called"
    for predicate, text, may in (
        ("breed", "Rocky.", False),
        ("", "Rocky.", True),
        ("breed", "Rocky, a Siamese.", True),
        ("breed", "Tom.", True),
    ):
        asked = Parsed(kind="what", text="what breed is rocky?", predicate=predicate)
        assert statements.may_tell(asked, said(f"{cat} {text}")) is may, text


def test_a_sign_may_say_the_state_of_what_it_names_but_not_what_i_did() -> None:
    sign = lead(msgspec.structs.replace(episode(10), evidence=(evidence(10, text="KL383 ON TIME", channel="text"),)), phrase="kl383")
    sign = msgspec.structs.replace(sign, basis="text")

    def said(text: str, thing: Lead = sign, **more: Any) -> Any:
        asked = session(**{"kind": "yes_no", "things": ("kl383",), "predicate": "delayed", "text": text, **more})
        return run(pictures.from_pictures(asked, Pool(leads=(thing,)), thing), found(thing))[0]

    reply = said("is kl383 delayed")
    assert (reply.status, reply.unverified, reply.evidence) == ("answered", ("delayed",), ("m10000000",))
    assert reply.text == 'No: I read "KL383 ON TIME" at 00:00:10 on Thursday 1970-01-01 (10 s into "s").'
    assert reply.confidence == 0.4, "half of .8"
    assert said("is kl383 good", predicate="good", verb="be").status == "abstained", "it says nothing of that state"
    assert said("is kl383 never delayed", negated=True).status == "abstained"
    stop = said("does kl383 stop in rome", predicate="stopped", verb="stop", place="in rome")
    assert (stop.status, stop.text[:22]) == ("answered", 'I read "KL383 ON TIME"'), "what stands there of it, and no yes"
    for other in ("did i delay kl383", "have we delayed kl383"):
        assert said(other).status == "abstained"
    assert said("is kl383 delayed", msgspec.structs.replace(sign, basis="frame")).status == "abstained"


def test_the_model_is_logistic_and_its_features_are_bounded() -> None:
    model = weigh.Model(constant=-1.0, weights={"held": 2.0}, least=0.5)
    assert model.probability({"held": 0.75}) == pytest.approx(1 / (1 + math.exp(-0.5)))
    features = weigh.word_features(Parsed(kind="what", form="price"), words("no figure", held=0.4, cosine=-0.2, above=12.0))
    assert features == {"held": 0.4, "cosine": 0.0, "above": 1.0, "misfits": 1.0, "told": 0.9, "channel": 0.0}
    who = [weigh.word_features(Parsed(kind="who", form="name"), words(text))["misfits"] for text in ("my brother did", "the bus did")]
    assert who == [0.0, 1.0], "a person may be who it is"
    assert weigh.word_features(Parsed(kind="what", hint="read"), words("x", above=4.0))["above"] == 0.5
    assert weigh.word_features(Parsed(kind="what", hint="read"), words("x"))["channel"] == 1.0


@pytest.mark.parametrize(
    ("parsed", "prior"),
    [
        ({"kind": "when", "verb": "see", "hint": "said"}, 0.0), ({"kind": "what", "hint": "said"}, 1.0),
        ({"kind": "what", "quote": "x"}, 1.0),
        ({"kind": "what", "hint": "seen"}, 0.2), ({"kind": "which", "form": "colour"}, 0.2),
        ({"kind": "when", "text": "when does it leave"}, 0.8), ({"kind": "when", "text": "when did it leave"}, 0.0), ({"kind": "who"}, 0.9),
        ({"kind": "how_why"}, 0.2), ({"kind": "where", "text": "where is it"}, 0.5), ({"kind": "where", "text": "where did i put it"}, 0.2),
        ({"kind": "what", "verb": "cost"}, 0.7), ({"kind": "what", "verb": "see"}, 0.2), ({"kind": "yes_no", "text": "is he coming"}, 0.5),
        ({"kind": "other"}, 0.2), ({"kind": "what", "verb": "see", "text": "what's the last thing i saw"}, 0.2),
        ({"kind": "what", "verb": "", "text": "what's the last stop"}, 0.7),
        ({"kind": "what", "verb": "have", "text": "what does he have"}, 0.7),
    ],
)  # fmt: skip
def test_how_much_a_wording_points_at_words(parsed: dict[str, Any], prior: float) -> None:
    assert weigh.stated_prior(Parsed(**parsed)) == prior


def test_rare_words_count_more() -> None:
    """Weights log(1 + n / (.5 + texts that hold the word))."""
    rare, common = math.log(1 + 2 / 1.5), math.log(1 + 2 / 2.5)
    shares = gather.held_shares(["key", "red"], ["the red key", "a red cup"], ["", ""])
    assert shares == pytest.approx([1.0, common / (rare + common)])


def reading(*lines: str, at_s: float = 0.0) -> OcrReading:
    return OcrReading(evidence=evidence(at_s, text=" ".join(lines), channel="text"), lines=lines)


def test_readings_within_12_s_that_share_a_line_are_one_sign() -> None:
    assert gather._same_sign(reading("GATE 18"), reading("GATE 18", "EXIT", at_s=12))
    assert not gather._same_sign(reading("GATE 18"), reading("GATE 18", at_s=12.1))
    assert not gather._same_sign(reading("GATE 18"), reading("BAKERY", at_s=1))


def test_a_run_of_readings_is_told_apart_into_20_signs_at_most() -> None:
    def told(pages: int) -> list[str]:
        return [one.text for one in gather._signs([reading("RICE", f"PAGE {n}", at_s=n) for n in range(pages) for _ in "ab"])]

    assert told(3) == ["RICE\nPAGE 0", "RICE\nPAGE 1", "RICE\nPAGE 2"]
    assert len(told(25)) == 20


def test_a_line_that_was_read_once_is_no_sign_of_its_own_and_a_misread_page_is_the_first() -> None:
    first, other = reading("RICE", "SALE"), reading("R1SE 0N", at_s=2)
    signs = gather._signs([first, reading("RICE", "XX", at_s=1), other])
    assert [(one.text, len(one.evidence)) for one in signs] == [("RICE\nSALE", 3)]
    signs = gather._signs([first, first, reading("RICE", "EXIT"), reading("RICE", "EXIT"), other])
    assert [(one.text, len(one.evidence)) for one in signs] == [("RICE\nSALE", 5), ("RICE\nEXIT", 2)]


class Fixed:
    """A channel that always finds the same."""

    def __init__(self, name: Any, confidence: float, text: str = "", **more: Any) -> None:
        self.name = name
        self._hits = Hits(evidence=(evidence(10, text=text, channel=name),), confidence=confidence, **more)

    def retrieve(self, _query: Query, _view: View, _k: int) -> Hits:
        return self._hits


def lead_of(view: View, phrase: str, *channels: Fixed) -> Lead:
    return gather.GatherTool(channels).run(Gather(things=(phrase,)), view).leads[0]


@pytest.mark.parametrize(
    ("phrase", "read", "shown", "basis"),
    [
        ("room 214", 0.8, 0.69, "text"), ("room 214", 0.8, 0.7, "frame"), ("room 214", 0.79, 0.1, "frame"), ('"room"', 0.8, 0.9, "text"),
        ("bakery", 0.9, 0.1, "frame"), ("marlow bakery", 0.9, 0.1, "text"),
    ],
)  # fmt: skip
def test_a_reading_is_the_thing_where_the_words_are_a_name(view: View, phrase: str, read: float, shown: float, basis: str) -> None:
    text = "ROOM 214" if "room" in phrase else "MARLOW BAKERY OPEN"
    lead = lead_of(view, phrase, Fixed("frame", shown), Fixed("text", read, text))
    assert (lead.basis, lead.confidence) == (basis, pytest.approx(0.9 * read if basis == "text" else shown))


def test_an_event_counts_only_where_pictures_could_not_be_searched(view: View) -> None:
    assert lead_of(view, "mug", Fixed("event", 1.0)).confidence == pytest.approx(0.6)
    blind, empty = Fixed("frame", 0.0), Fixed("frame", 0.0)
    blind._hits, empty._hits = Hits(silent="no engine"), Hits()
    assert lead_of(view, "mug", blind, Fixed("event", 1.0)).confidence == pytest.approx(0.6)
    assert lead_of(view, "mug", empty, Fixed("event", 1.0)) == Lead(phrase="mug")


def test_a_word_means_something_where_a_label_fires_for_it_or_the_dictionary_has_it(view: View) -> None:
    assert [lead_of(view, "blicket", Fixed("frame", 0.5, firing=firing)).named for firing in (0.1, 0.09)] == [True, False]
    assert lead_of(view, "ladle", Fixed("frame", 0.5, firing=0.0)).named


def row(at_s: float, confidence: float = 0.8) -> Row:
    return Row(
        source="Anna", type="USES", target="drill", target_kind="object", t0_us=round(at_s * US),
        t1_us=round(at_s * US), confidence=confidence, quote="words", evidence=evidence(at_s, channel="speech"),
    )  # fmt: skip


def test_ten_minutes_apart_is_another_occasion() -> None:
    assert [len(one) for one in people._occasions([row(1200), row(0), row(600)])] == [3]
    assert [len(one) for one in people._occasions([row(0), row(601)])] == [1, 1]
    assert [len(one) for one in people._occasions([row(0), row(700), row(1250)])] == [1, 2], "since the last of them"


def test_what_was_not_seen_is_doubted_by_a_quarter_at_most() -> None:
    for confidence, doubt in ((0.4, 0.25), (0.2, 0.2)):
        assert base.not_seen(session(kind="when"), lead(episode(10), confidence=confidence)).confidence == doubt


def test_a_reading_that_stands_in_a_longer_one_is_not_told_again() -> None:
    long, part, other = reading("GATE 18 TERMINAL TWO DEPARTURES"), reading("GATE 18", at_s=5), reading("EXIT", at_s=9)
    assert distinct_readings([part, other, long]) == [long, other]
    assert distinct_readings([reading("MARLOW BAKERY"), reading("MARL0W BAKERV")]) == [reading("MARLOW BAKERY")], "nearly the same"


@pytest.mark.parametrize(("words", "names"), [("what of al", []), ("al gore", ["Al Gore"]), ("ann", ["Ann Lee"]), ("a speaker", [])])
def test_a_first_name_has_three_letters(words: str, names: list[str]) -> None:
    known = [Entity(id=n, kind=kind, name=name) for n, (kind, name) in enumerate(_KNOWN)]
    assert [one.name for one in _speakers(words, SimpleNamespace(entities=lambda: known))] == names  # type: ignore[arg-type]


_KNOWN = (("person", "Al Gore"), ("person", "Ann Lee"), ("voice", "speaker 3"), ("object", "ann"), ("person", "!?"))


def test_a_firing_under_one_in_a_thousand_counts_as_that() -> None:
    """1 / (1 + exp(-(2.62 + .7 log(.001) + .53 log(.51) + .08)))."""
    rare = Features(firing=0.0001, support=0.0001, again=0.5, likeness=1.0)
    known = 2.62 + 0.7 * math.log(0.001) + 2.07 * 0.0001 * math.log(0.0101) + 0.53 * math.log(0.51) + 0.08
    assert confidence_of(rare) == pytest.approx(1 / (1 + math.exp(-known)))


def test_words_of_five_letters_match_by_their_beginning() -> None:
    assert held(["bakery"], "the baker") == 1.0
    assert held(["bakery"], "the bank") == 0.0


def test_in_a_large_memory_the_20_likeliest_names_are_searched() -> None:
    names = {f"name {n}": 0.9 - n / 1000 for n in range(30)}
    assert _likely(LabelQuery(labels=names, objects={})) == list(names)[:20]
    assert _likely(LabelQuery(labels={"cup": 0.8, "vase": 0.03}, objects={})) == ["cup"], "less than a twentieth as likely"


def test_until_when_a_thing_was_seen_is_proved_by_its_latest_clear_sighting() -> None:
    seen = tuple(evidence(at_s, score) for at_s, score in ((10, 1.0), (20, 0.5), (30, 0.49)))  # half of the best is clear
    track = Episode(stream="s", t0_us=10 * US, t1_us=30 * US, offset_us=0, score=1.0, evidence=seen)
    last, first = base.pick([track], -1), base.pick([track], 1)
    assert last is not None
    assert first is not None
    assert [one.t0_us // US for one in last.evidence] == [20, 10, 30]
    assert [one.t0_us // US for one in first.evidence] == [10, 20, 30]
