"""Which of several options is chosen, and how surely: plans are given what their actions bring."""

import math
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from edgemem.answer.gather import Candidate, Gather, Lead, Pool
from edgemem.answer.planner import AnswerKit, ask
from edgemem.answer.say import base, choose
from edgemem.answer.say import options as of_options
from edgemem.answer.say.base import Plan
from edgemem.answer.session import Session, Step
from edgemem.answer.tools import Reply
from edgemem.answer.understand import understand
from edgemem.answer.understand.timespan import TimeSpan
from edgemem.answer.weigh import weights
from edgemem.records import US, Answer, Question
from edgemem.remember.view import View
from tests.answer.conftest import START_US
from tests.answer.test_limits import episode, evidence, lead, run, session
from tests.answer.test_plans import by_name, heard


def nothing(_: Any) -> Any:
    return Pool()


def chosen(
    options: tuple[str, ...], brings: Callable[[Any], Any] = nothing, told: Any = (), reply: Reply | None = None, **parsed: Any
) -> Reply:
    made: Reply = run(choosing(session(options, **parsed), told, reply), brings)[0]
    return made


def choosing(s: Session, told: Any = (), reply: Reply | None = None) -> Plan:
    """The plan of choosing, given what the question is answered with where it has no options."""
    return choose.choose(s, Pool(), told, free(reply or base.abstain("nothing")), unasked)


def free(reply: Reply) -> Plan:
    yield from ()
    return reply


def unasked(s: Session) -> Plan:
    yield from ()
    raise AssertionError(f"{s.question.text} is not to be asked")


def test_words_choose_where_they_are_asked_for_and_where_pictures_show_nothing() -> None:
    options, told = ("the hall", "the kitchen"), [(0.8, heard("It is in the kitchen."))]
    seen = by_name(lead(episode(10), phrase="hall"), lead(episode(10), phrase="key"), lead(phrase="kitchen", confidence=0.0))
    assert chosen(options, seen, told, kind="where", text="where is it", things=("key",), verb="be").option == 1, "a prior of .5"
    assert chosen(options, seen, told, kind="where", text="where was it", things=("key",)).option == 1, "they are likely"
    unlikely = [(0.05, told[0][1])]
    assert chosen(options, seen, unlikely, kind="where", text="where is it", things=("key",), verb="be").option == 1, "however unlikely"
    assert chosen(options, seen, unlikely, kind="where", text="where was it", things=("key",)).option == 0
    for sure, option in ((0.3, 1), (0.29, 0)):
        edge = [(sure, told[0][1])]
        assert chosen(options, seen, edge, kind="where", text="where was it", things=("key",)).option == option, "likely from .3 on"
    assert chosen(options, seen, told, kind="where", text="where was it", things=("key",), hint="seen").option == 0
    assert chosen(options, nothing, unlikely, kind="where", text="where was it", things=("key",)).option == 1
    assert chosen(options, nothing, (), kind="where", text="where was it", things=("key",)).status == "abstained"
    beside = {"kind": "who", "relation": "before", "anchors": ("key",)}
    after = by_name(lead(episode(10), phrase="hall"), lead(episode(15), phrase="key"))
    assert chosen(options, after, told, **beside).option == 0, "what came before is shown by pictures"


def test_an_option_in_words_is_as_sure_as_they_are_and_three_tenths_at_least() -> None:
    """Ranked by probability x (.5 + share of the words that tell it from the others)."""
    s = session(("4 seats", "7 seats"), kind="how_many")
    reply = choose._from_words(s, [(0.5, heard("There are 7 seats.")), (0.4, heard("4 seats", 5))])
    assert reply is not None
    assert (reply.option, reply.confidence) == (1, 0.5)
    assert reply.text == '7 seats: Somebody said "There are 7 seats." at 00:00:00 on Thursday 1970-01-01.'
    weak = choose._from_words(s, [(0.2, heard("There are 7 seats."))])
    assert weak is not None
    assert (weak.option, weak.confidence) == (1, 0.3)
    s = session(("maple street", "oak"), kind="where")
    near = choose._from_words(s, [(0.50, heard("It is in maple streat.")), (0.475, heard("the oak", 5))])
    assert near is not None
    assert near.option == 1, ".50 x 1.46 < .475 x 1.5"
    s = session(("maple corner", "oak"), kind="where", hint="said")
    part = choose._from_words(s, [(0.5, heard("It is in maple.")), (0.3, heard("the oak", 5))])
    assert part is not None
    assert part.option == 0, ".5 x 1 > .3 x 1.5"
    close = choose._from_words(s, [(0.5, heard("It is in maple.")), (0.32, heard("the oak", 5))])
    assert close is not None
    assert close.option == 0, ".5 x 1 > .32 x 1.5"
    now = choose._from_words(session(("maple corner", "oak"), kind="where", text="where is it"), [(0.49, heard("It is in maple."))])
    assert now is not None
    assert now.option == 0, "half of its words, as words tell where things are to be as well as pictures"
    long = session(("oak", "small red brick corner house"), kind="where", hint="said")
    edge = choose._from_words(long, [(0.49, heard("It is in the red house."))])
    assert edge is not None
    assert edge.option == 1, "two of five words are enough"
    unhinted = session(("maple corner", "oak"), kind="where", text="where was it")
    assert choose._from_words(unhinted, [(0.5, heard("It is in maple."))]) is None, "half of its words are too few where none are asked for"
    assert choose._from_words(s, [(0.9, heard("It is in the birch."))]) is None


def test_words_that_answer_come_first_but_where_things_are_in_a_row() -> None:
    told = [(0.8, heard("It is in the kitchen."))]
    seen = by_name(lead(episode(10), phrase="hall"), lead(episode(50), phrase="kitchen"))
    for kind, option in (("where", 1), ("when", 1), ("which", 0), ("what", 0)):
        assert chosen(("hall", "kitchen"), seen, told, kind=kind, ordinal=1, text="where was it first").option == option, kind
    beside: dict[str, Any] = {"kind": "what", "relation": "after", "anchors": ("hall",), "text": "what came after the hall"}
    assert chosen(("hall", "kitchen"), by_name(lead(episode(10), phrase="hall")), told, **beside).option == 1, "where pictures show none"
    near = by_name(lead(episode(10), phrase="hall"), lead(episode(20), phrase="owl"), lead(episode(90), phrase="kitchen"))
    assert chosen(("owl", "kitchen"), near, told, **beside).option == 0


def test_an_answer_tells_the_time_of_what_it_cites_first() -> None:
    s = session(("1:30", "10:00"), kind="when", things=("owl",))
    s.steps.append(Step(action=Gather(), result=Pool(evidence=(evidence(95), evidence(600))), ms=0))
    told = base.answered("I saw the owl.", 0.8, ("m95000000", "m600000000"))
    assert [one.t0_us for one in of_options.cited(s, told)] == [95 * US]
    assert of_options.with_option(s, told).option == 0
    assert of_options.cited(s, base.answered("I saw the owl.", 0.8, ("m1",))) == ()
    pool, unsure = Pool(leads=(lead(episode(300), phrase="owl"),)), base.abstain("I am not sure.", evidence=("m95000000",))
    leads = (lead(episode(5), phrase="cat", confidence=0.3), *pool.leads)
    assert choose._sightings(s, Pool(leads=leads), [], unsure).episodes[0].t0_us == 300 * US, "the thing that was seen best"
    assert [choose._sightings(s, pool, [], one).episodes[0].t0_us // US for one in (told, unsure)] == [95, 300], "an abstention tells none"


def test_words_that_all_options_have_tell_nothing_apart() -> None:
    levels = ("On level six, beside the red pillar", "On level three, beside the green pillar", "On level five, beside the green pillar")
    s = session(levels, kind="where", text="where is the car", words=("car",))
    told = choose._from_words(s, [(0.8, heard("The car is parked on level 3 next to the green pillar."))])
    assert told is not None
    assert told.option == 1
    assert of_options.fits(s, levels, ["level pillar"]) == [[0.0], [0.0], [0.0]]
    assert of_options.fits(s, ("?!", "tree"), ["a tree", "an owl"]) == [[0.0, 0.0], [1.0, 0.0]], "no words are nowhere"
    assert of_options.fits(s, ("tree", "owl"), []) == [[], []]
    assert of_options.fits(session(("a cat", "cats"), kind="which"), ("a cat", "a cat"), ["cat"]) == [[1.0], [1.0]], "all that they are"
    assert of_options.fits(s, ["the red car"], ["red", "car"]) == [[1.0, 0.0]], "one alone is told by what the question does not say"


def test_a_name_that_was_misheard_is_that_which_it_is_most_like() -> None:
    """Six tenths alike, where words surely answer: of "asco" and "oscar" 2 x 2 / 9 by letters, 2 x 2 / 5 by consonants."""
    assert choose._alike("Oscar", "called Asco") == pytest.approx((4 / 9 + 4 / 5) / 2)
    assert choose._alike("Oscar", "?!") == 0.0, "no word"
    names, told = ("Robert", "Novak", "Oscar"), heard("Their cat is called Asco.")
    s = session(names, kind="what", form="name", text="what is the name of the cat")
    reply = choose._from_words(s, [(0.8, told), (0.1, heard("Novak is here.", 5))])
    assert reply is not None
    assert (reply.option, reply.confidence, reply.evidence) == (1, 0.3, ("m5000000",)), "a name that was heard comes first"
    reply = choose._from_words(s, [(0.5, told)])
    assert reply is not None
    assert (reply.option, reply.confidence) == (2, 0.3), "six tenths of .5, as nobody is known to be called so"
    assert choose._from_words(s, [(0.49, told)]) is None
    chloe = choose._from_words(session(("Robert", "Clara"), kind="what", form="name", text="what name"), [(0.9, heard("called Chloe"))])
    assert choose._alike("Clara", "called Chloe") == pytest.approx((2 * 2 / 10 + 2 * 2 / 5) / 2), "just as alike as it must be"
    assert chloe is not None
    assert chloe.option == 1
    assert choose._from_words(session(("Robert", "Novak"), kind="what", form="name", text="what name"), [(0.9, told)]) is None
    odd = session(names, kind="which", form="name", text="which name was not said")
    assert choose._from_words(odd, [(0.9, told)]) is None


def test_a_time_that_was_told_is_chosen_before_that_of_the_telling() -> None:
    meeting = [(0.6, heard("The meeting is on Monday at 10.", 95))]
    times = ("Sunday at ten", "Monday at ten", "Monday at six")
    for sure, option in ((0.6, 1), (0.5, 1), (0.4, None)):
        s = session(times, kind="when", text="when did i hear of the meeting", things=("meeting",))
        told = [(sure, meeting[0][1])]
        assert run(choose.choose(s, Pool(), told, free(base.abstain("nothing")), unasked), nothing)[0].option == option, sure


def test_what_words_do_not_hold_is_chosen_where_that_is_asked() -> None:
    shopping = [(0.8, heard("We need to buy honey, candles and flour.")), (0.1, heard("Sugar is sweet."))]
    asked: dict[str, Any] = {"kind": "which", "text": "which of these is not to be bought", "verb": "buy"}
    reply = chosen(("honey", "flour", "candles", "sugar"), nothing, shopping, **asked)
    assert (reply.option, reply.text[:11]) == (3, "sugar: Some")
    assert chosen(("honey", "flour", "soap", "sugar"), nothing, shopping, **asked).option is None, "two of them are not told"
    shop = [*shopping[:1], (0.4, heard("Honey, flour, candles and sugar are in the shop."))]
    assert chosen(("honey", "flour", "candles", "sugar"), nothing, shop, **asked).option == 3, "3 x (.5 + .8) > 4 x (.5 + .4)"
    for text in (
        "which of these did i see on Sunday but not on Monday",
        "which did i not only see but hear",
        "which was here and not again",
    ):
        assert not of_options.is_odd(session(kind="which", text=text)), text
    for text in ("which did i never see", "which of these isn't there", "all of these were seen except", "which of these is false"):
        assert of_options.is_odd(session(kind="which", text=text)), text


def test_where_alone_looks_for_the_thing_before_its_places() -> None:
    for kind, looks in (("which", [("cat", "dog")]), ("where", [("mug",), ("cat", "dog")])):
        s = session(("cat", "dog"), kind=kind, things=("mug",), hint="seen")
        assert [a.things for a in run(choose._seen(s), by_name(lead(episode(10))))[1]] == looks


def test_options_are_looked_for_where_the_question_puts_them() -> None:
    """Beside a thing the weight of a sighting falls to 1/e at 5 s from where it was; at a distance they are looked for there."""
    phone = lead(episode(50, 60, score=1.0), phrase="phone", confidence=1.0)
    near, far = lead(episode(62, score=0.5), phrase="cat", confidence=0.25), lead(episode(70, score=1.0), phrase="dog", confidence=1.0)
    for relation in ("while", "side"):
        reply = chosen(("dog", "cat"), by_name(phone, near, far), kind="which", relation=relation, anchors=("phone",), hint="seen")
        cat, dog = 0.5 * math.exp(-2 / 5), math.exp(-10 / 5)
        assert (reply.option, reply.evidence[0]) == (1, "m62000000")
        assert reply.confidence == pytest.approx(cat / (cat + dog + 0.05) * (0.5 + 0.5 * 0.25), abs=1e-4)
    again = by_name(phone, lead(episode(500), episode(62), phrase="cat"))
    reply = chosen(("dog", "cat"), again, kind="which", relation="while", anchors=("phone",), hint="seen")
    assert reply.evidence[0] == "m62000000", "of two appearances the nearest"
    inside = chosen(("dog", "cat"), by_name(phone, lead(episode(55), phrase="cat")), kind="which", relation="while", anchors=("phone",))
    assert inside.option == 1
    _, actions = run(choosing(session(("cat", "dog"), kind="which", hint="seen")), by_name())
    assert (actions[-1].from_us, actions[-1].to_us) == (None, 1000 * US)


def test_what_was_there_while_something_was_said_is_nearest_to_those_words() -> None:
    asked: dict[str, Any] = {
        "kind": "what",
        "relation": "while",
        "anchors": ("tent",),
        "hint": "seen",
        "clause": "while they said it is a tent",
    }
    told = heard("It is a tent.", 50, held=1.0, cosine=0.9, above=8.0)
    cat, dog = lead(episode(51), phrase="cat"), lead(episode(90), phrase="dog")

    def brings(action: Any) -> Any:
        return Pool(candidates=(told,)) if action.question else by_name(cat, dog, lead(episode(91), phrase="tent"))(action)

    assert chosen(("dog", "cat"), brings, **asked).option == 1
    assert chosen(("dog", "cat"), by_name(cat, dog, lead(episode(91), phrase="tent")), **asked).option == 0, (
        "nobody said it: the thing itself"
    )


def speech(*told: Any) -> Callable[[Any], Any]:
    """What a look for words finds of what was said, nothing of pictures."""
    return lambda action: Pool(candidates=tuple(told)) if action.question else by_name()(action)


def test_options_that_tell_what_was_said_are_found_in_those_words() -> None:
    film, car = heard("Tonight we watch the film.", 20), heard("The car is parked on level 3.", 80)
    asked: dict[str, Any] = {"kind": "which", "relation": "before", "anchors": ("garlic",)}
    options = ("Somebody told where the car is parked", "Somebody named the film to watch tonight")

    def brings(action: Any) -> Any:
        return by_name(lead(episode(50), phrase="garlic"))(action) if action.things else Pool(candidates=(film, car))

    assert chosen(options, brings, **asked).option == 1
    assert chosen(options, brings, **{**asked, "relation": "after"}).option == 0
    assert chosen(("the film", "the car"), brings, **asked).option is None, "a name that was said is no sight of the thing"
    assert chosen(("the film tonight", "the car"), brings, **asked).option is None, "nor is one of two words"
    assert chosen(("we watch the film tonight", "the car"), brings, **asked).option == 0, "three words are more than a name"
    assert chosen(("the film", "the car"), brings, **asked, hint="said").option == 0, "unless words are asked for"
    assert chosen(("the film", "the car"), brings, **asked, hint="read").option is None, "of signs nothing was said"
    seen = by_name(lead(episode(60), phrase="film", confidence=0.9), lead(episode(70), phrase="car"))

    def both(action: Any) -> Any:
        return seen(action) if action.things else Pool(candidates=(car,))

    plain: dict[str, Any] = {"kind": "what", "things": ("rose",)}
    for text in ("what came up before the rose", "what did i see with the door key", "tell me what came after the rose"):
        assert chosen(("the film", "the car"), both, text=text, **plain).option == 0, text
    assert chosen(("the film", "the car"), both, text="what did they say of it", hint="said", **plain).option == 1, "pictures do not count"
    assert chosen(("the film", "the car"), both, text="which of these signs was there", kind="which", things=("signs",)).option == 1
    assert chosen(("the film", "the car"), seen, text="what did they say of it", hint="said", **plain).option == 0, (
        "but where words tell none"
    )


def test_pictures_that_are_as_sure_as_words_show_it() -> None:
    """Two of five words are enough where words are asked for."""
    whole, part = "we watch the film tonight", "small red brick corner house"
    told = heard("Tonight we watch the film in the red house.", 20)
    told = msgspec.structs.replace(told, evidence=(*told.evidence, evidence(30)))
    other = msgspec.structs.replace(told, text="Good morning.", evidence=(evidence(40),))

    def basis(said: str, sure: float, *words: Candidate, **parsed: Any) -> str:
        seen = by_name(lead(episode(50), phrase="it", confidence=sure))
        s = session((said,), kind="which", **parsed)
        found = run(
            choose._leads(s, ["it"], (None, 99 * US), [said]),
            lambda action: seen(action) if action.things else Pool(candidates=(told, *words)),
        )[0]
        return str(found[0].basis)

    sign = msgspec.structs.replace(lead(episode(50), phrase="it"), basis="text")
    s = session(("it", part), kind="which", hint="said")
    kept = run(
        choose._leads(s, ["it", "house"], (None, 99 * US), ["it", part]),
        lambda action: by_name(sign)(action) if action.things else Pool(candidates=(told,)),
    )[0]
    assert [len(one.episodes) for one in kept] == [1, 1], "what was read stands beside what was said"
    assert [one.id for one in kept[1].episodes[0].evidence] == ["m20000000"], "the first that proves it"
    assert (basis(whole, 1.0), basis(whole, 0.99)) == ("frame", "text")
    assert basis("roof and cellar of the film house tonight", 0.59, other) == "text", "three of five are enough where they are not"
    assert (basis(part, 0.5, hint="said"), basis(f"{part} window", 0.5, hint="said")) == ("text", "frame")


def test_of_rows_the_one_with_the_most_pairs_in_their_order_is_chosen() -> None:
    cat, dog, owl = (lead(episode(at_s), phrase=name) for at_s, name in ((10, "cat"), (50, "dog"), (90, "owl")))
    rows = ("the owl, then the dog, then the cat", "the cat, then the owl, then the dog", "the cat, then the dog, then the owl")
    reply = chosen(rows, by_name(cat, dog, owl), kind="order")
    assert (reply.option, reply.confidence, reply.evidence) == (2, 0.8, ("m10000000", "m50000000", "m90000000"))
    assert reply.text.startswith("the cat, then the dog, then the owl: the cat at 00:00:10")
    some = chosen(rows[:2], by_name(cat, dog, owl), kind="order")
    assert (some.option, some.confidence) == (1, pytest.approx(0.8 * 2 / 3, abs=1e-4)), "two of three pairs"
    half = chosen(rows, by_name(cat, owl), kind="order")
    assert (half.option, half.confidence) == (1, pytest.approx(0.8 / 3, abs=1e-4)), "the first that has the one known pair right"
    once = msgspec.structs.replace(dog, episodes=cat.episodes)
    assert chosen(("cat, then dog", "dog, then cat"), by_name(cat, once), kind="order").confidence == 0, "neither came first"
    alone = chosen(rows, by_name(cat), kind="order")
    assert (alone.status, alone.text) == ("abstained", "I have not seen an owl in this memory.")
    assert of_options.rows_of(("cat -> dog", "dog -> cat")) == [["cat", "dog"], ["dog", "cat"]]
    unsure = msgspec.structs.replace(owl, confidence=0.5)
    assert chosen(rows, by_name(cat, dog, unsure), kind="order").confidence == 0.5, "as sure as the least sure of them"
    for none in (("cat, dog", "cat, owl"), ("cat", "dog"), ("cat", "cat"), ("cat, dog",), ("sugar and soap", "soap and sugar")):
        assert of_options.rows_of(none) == [], none


def test_of_rows_of_what_was_talked_about_words_tell_when() -> None:
    keys, film = heard("The keys are on the piano.", 80), heard("We watch the film.", 20)
    asked: dict[str, Any] = {"kind": "order", "text": "in which order was this talked about"}
    reply = chosen(("keys, then film", "film, then keys"), speech(keys, film), **asked)
    assert (reply.option, reply.confidence) == (1, 1.0), "the one pair is in order"


def test_an_option_that_is_a_place_in_time_is_where_the_thing_was() -> None:
    camel, drum = lead(episode(20), phrase="camel"), lead(episode(60), phrase="drum")
    pool = Pool(leads=(lead(episode(50, score=0.3), phrase="owl", confidence=0.5),))
    places = ("Before the camel", "Between the camel and the drum", "Right after the drum", "after the sofa")
    s = session(places, kind="when", things=("owl",))
    reply = run(choose.choose(s, pool, (), free(base.abstain("nothing")), unasked), by_name(camel, drum))[0]
    assert (reply.option, reply.evidence) == (1, ("m50000000",))
    # .5 x the only option that fits: sqrt(.5) x .3 x exp(-(30 + 10) / 2 / 15) / .3, and .05 for none
    fit = 0.5**0.5 * math.exp(-20 / 15)
    assert reply.confidence == pytest.approx(0.5 * fit / (fit + 0.05), abs=1e-4)
    late = Pool(leads=(lead(episode(61), phrase="owl"),))
    assert run(choose.choose(s, late, (), free(base.abstain("nothing")), unasked), by_name(camel, drum))[0].option == 2
    assert run(choose.choose(s, pool, (), free(base.abstain("nothing")), unasked), by_name())[0].status == "abstained"
    assert of_options.places_of(("the cat after the dog", "while it rained", "after that", "Before the cat.", "")) == [("before", ("cat",))]


def test_a_time_is_that_at_which_the_thing_was_surely_seen() -> None:
    """The weight of a sighting falls to 1/e at 30 s from the time of the option."""
    pool = Pool(leads=(lead(episode(95, score=0.2), episode(600, score=0.4), phrase="owl", confidence=0.5),))
    s = session(("around 1:30", "10:30", "5:00"), kind="when", things=("owl",))
    reply = run(choose.choose(s, pool, (), free(base.abstain("nothing")), unasked), nothing)[0]
    early, late = 0.2 * math.exp(-5 / 30), 0.4 * math.exp(-1)
    assert (reply.option, reply.evidence) == (0, ("m95000000",))
    assert reply.confidence == pytest.approx(0.5 * early / (early + late + 0.4 * math.exp(-10) + 0.2 * 0 + 0.05), abs=1e-3)
    said = [(0.7, heard("The owl is here.", 300))]
    spoken = session(("around 1:30", "10:30", "5:00"), kind="when", hint="said", text="when did she mention it")
    assert run(choose.choose(spoken, pool, said, free(base.abstain("nothing")), unasked), nothing)[0].option == 2
    twice = [(0.7, msgspec.structs.replace(said[0][1], evidence=(evidence(300), evidence(340))))]
    reply = run(choose.choose(spoken, pool, twice, free(base.abstain("nothing")), unasked), nothing)[0]
    assert (reply.option, reply.evidence) == (2, ("m300000000",)), "the first that proves it"
    for text in ("when is the owl", "a moth or an owl, when is that"):
        coming = session(("around 1:30", "10:30", "5:00"), kind="when", text=text, things=("owl",))
        reply = run(choose.choose(coming, pool, said, free(base.abstain("nothing")), unasked), nothing)[0]
        assert reply.option == 2, "of what is to come words tell, not pictures"
    seen = session(("around 1:30", "10:30", "5:00"), kind="when", text="when was the owl there", things=("owl",))
    for leads, option in ((pool, 0), (Pool(), 2)):
        reply = run(choose.choose(seen, leads, said, free(base.abstain("nothing")), unasked), nothing)[0]
        assert reply.option == option, "of what was seen words tell only where no picture does"
    meeting = [(0.9, heard("The meeting is at 11:30.", 95))]
    to_come = session(("1:30", "11:30"), kind="when", form="time", text="when is the meeting", words=("meeting",))
    assert run(choose.choose(to_come, Pool(), meeting, free(base.abstain("nothing")), unasked), nothing)[0].option == 1
    for text in ("when is the meeting", "a meeting or a party, when is that"):
        hardly = session(("1:30", "11:30"), kind="when", form="time", text=text, things=("meeting",), words=("meeting",))
        told = [(0.4, meeting[0][1])]
        reply = run(choose.choose(hardly, pool, told, free(base.abstain("nothing")), unasked), nothing)[0]
        assert reply.option == 1, "not that of the telling, however unsure the words are"


def test_how_far_an_appearance_is_from_a_time_of_day_or_of_the_stream() -> None:
    s = session(kind="when")
    late = msgspec.structs.replace(episode(15 * 3600 + 95), offset_us=5 * US)
    assert of_options.gaps_s(s, "3 pm", [late]) == [95]
    assert of_options.gaps_s(s, "15:01", [late]) == [35]
    assert of_options.gaps_s(s, "0:10", [late]) == [5]
    assert of_options.gaps_s(s, "the mug", [late]) == [math.inf]
    for span in (TimeSpan(from_us=0), TimeSpan(from_us=0, to_us=9 * US, problem="Nothing was recorded then.")):
        s.reads = lambda text, _, span=span: (understand(text), span)
        assert of_options.gaps_s(s, "at 0:10", [late]) == [5], "no stretch of this memory"
    s.reads = lambda text, _: (understand(text), TimeSpan(from_us=120 * US, to_us=180 * US))
    within = of_options.gaps_s(s, "between two and three minutes in", [episode(150), episode(170), episode(100), episode(190)])
    assert within == [0, 0.02, 20.05, 10.04], "how far outside, and a thousandth of how far from the middle"


@pytest.mark.parametrize(
    ("option", "time"),
    [("Saturday morning", True), ("around 8:03", True), ("about nine and a half minutes", True), ("on Monday", True), ("today", True),
     ("a mouse", False), ("Sunday at the market", False), ("room 8", False), ("In the first minute", True), ("8 tonight", True)],
)  # fmt: skip
def test_an_option_that_is_a_time_and_nothing_else(option: str, time: bool) -> None:
    assert of_options.is_time(option) is time


def test_how_often_is_guessed_where_the_answer_is_unsure() -> None:
    pool = Pool(leads=(lead(episode(10), episode(100), episode(200), phrase="owl", confidence=0.3),))
    s = session(("once", "three times", "five times"), kind="how_many", counts="times", things=("owl",))
    reply = run(choose.choose(s, pool, (), free(base.abstain("not sure")), unasked), nothing)[0]
    assert (reply.option, reply.confidence, reply.text) == (1, 0.15, "3 times, as far as I can tell.")


def test_the_one_that_was_there_as_often_as_asked() -> None:
    cat, dog = lead(episode(10), episode(100), episode(200), phrase="cat"), lead(episode(50), phrase="dog", confidence=0.6)
    owl = lead(episode(20), episode(300), phrase="owl")
    for text, right in (
        ("which did i see most often", 0), ("which did i see least often", 1), ("which did i see only once", 1),
        ("which of these was there exactly three times", 0), ("which did i see just twice", 2), ("which was there repeatedly", 0),
    ):  # fmt: skip
        reply = chosen(("cat", "dog", "owl"), by_name(cat, dog, owl), kind="which", text=text, hint="seen")
        assert reply.option == right, text
        assert (reply.confidence, reply.text.partition(". ")[2]) == (0.3, "I saw cat 3 times, dog 1 time and owl 2 times.")
    often = lead(*(episode(100 * n) for n in range(1, 8)), phrase="cat")
    reply = chosen(("cat", "dog"), by_name(often, dog), kind="which", text="which did i see most often", hint="seen")
    assert reply.evidence == ("m100000000", "m200000000", "m300000000"), "the first three of seven are shown"
    assert chosen(("cat", "dog"), by_name(), kind="which", text="which did i see most often", hint="seen").status == "abstained"


def test_the_thing_that_was_never_there_is_the_one_of_which_least_was_found() -> None:
    cat, dog = lead(episode(10), phrase="cat", confidence=0.9), lead(episode(50), phrase="dog", confidence=0.7)
    owl = lead(episode(70, score=0.1), phrase="owl", confidence=0.2)
    asked: dict[str, Any] = {"kind": "which", "text": "which of these did i never see", "hint": "seen", "negated": True}
    reply = chosen(("cat", "owl", "dog"), by_name(cat, dog, owl), **asked)
    assert (reply.option, reply.confidence, reply.evidence) == (1, pytest.approx(0.7 * 0.8), ("m10000000", "m50000000"))
    assert reply.text.startswith("owl. The others: cat at 00:00:10")
    only = chosen(("cat", "owl", "fox"), by_name(cat), **asked)
    assert (only.option, only.confidence) == (1, pytest.approx(0.9 / 2)), "one of the two others was seen"
    assert chosen(("cat", "owl"), by_name(), **asked).status == "abstained"


def test_that_nothing_is_known_is_an_option() -> None:
    told = [(0.04, heard("Their cat is called Oscar."))]
    asked: dict[str, Any] = {"kind": "what", "form": "name", "text": "what is the name of the dog", "words": ("dog",)}
    options = ("Oscar", "Rex", "It was not mentioned")
    assert chosen(options, nothing, told, **asked).option == 2
    assert chosen(options, nothing, told, base.answered("Rex: ...", 0.3, ("m1",)), **asked).option != 2
    hardly = chosen(options, nothing, told, base.answered("Oscar: ...", 0.29, ("m1",)), **asked)
    assert (hardly.option, hardly.confidence) == (2, 0.5), "hardly an answer"
    often = [(0.04, heard("Their cat is called Oscar.", n)) for n in range(5)]
    assert chosen(options, nothing, often, **asked).evidence == ("m0", "m1000000", "m2000000"), "three of five are shown"
    assert chosen(options, nothing, (), **asked).status == "abstained", "without a proof"
    seen = by_name(lead(episode(10), phrase="cat", confidence=0.6))
    assert chosen(("a cat", "a dog", "none of these"), seen, kind="which", hint="seen").option == 0
    edge = by_name(lead(episode(10), phrase="cat", confidence=weights().surely))
    assert chosen(("a cat", "a dog", "none of these"), edge, kind="which", hint="seen").option == 0, "sure from there on"
    unsure = by_name(lead(episode(10), phrase="cat", confidence=0.58))
    assert chosen(("a cat", "a dog", "none of these"), unsure, kind="which", hint="seen").option == 2


def claims(**replies: Reply) -> Callable[[Session], Plan]:
    def answer(s: Session) -> Plan:
        yield from ()
        assert (s.question.options, s.question.text[:16]) == ((), "is it true that ")
        return replies[s.question.text.removeprefix("is it true that ").partition(" ")[0]]

    return answer


def test_of_claims_the_one_that_holds_is_chosen_and_of_false_ones_that_which_does_not() -> None:
    yes, no = base.answered("Yes: I saw the owl.", 0.6, ("m1",)), base.answered("No: it was a cat.", 0.4, ("m2",))
    asked = claims(owls=yes, cats=no, dogs=base.abstain("I cannot tell.", evidence=("m3",)))
    options = ("cats were there.", "owls were there.", "dogs were there.")
    for text, right, sure in (("which of these statements is true", 1, 0.8 - 0.5), ("which statement is false", 0, 0.7 - 0.5)):
        s = session(options, kind="which", text=text)
        reply = run(choose.choose(s, Pool(), (), free(base.abstain("")), asked), nothing)[0]
        assert (reply.option, reply.confidence) == (right, pytest.approx(sure)), text
        assert reply.text.startswith(options[right])
    assert chosen(("cats were there.",), kind="which", text="which statement is true").status == "abstained", "one claim is no choice"
    unknown = session(("dogs were there.", "dogs ran."), kind="which", text="which claim is true")
    assert run(choose.choose(unknown, Pool(), (), free(base.abstain("")), asked), nothing)[0].status == "abstained"


def test_a_claim_with_another_number_than_what_was_read_is_false() -> None:
    gate = base.answered('82: "GATE 82", read at 08:03:17.', 0.8, ("m1",))
    asked = claims(gate=gate, bus=base.abstain("I have read nothing.", evidence=("m2",)), coffee=base.abstain("nothing"))
    s = session(("gate 54 was called", "bus went to Vienna", "gate 82 was called"), kind="which", text="which statement is true")
    reply = run(choose.choose(s, Pool(), (), free(base.abstain("")), asked), nothing)[0]
    assert (reply.option, reply.confidence) == (2, pytest.approx(0.4)), ".5 + .5 x .8 against .5 of the bus, that of which nothing is known"
    false = session(("gate 54 was called", "bus went to Vienna"), kind="which", text="which statement is false")
    reply = run(choose.choose(false, Pool(), (), free(base.abstain("")), asked), nothing)[0]
    assert (reply.option, reply.confidence) == (0, pytest.approx(0.4)), ".5 - .5 x .8 against .5"
    part = session(("small red bus goes to Vienna", "coffee was free"), kind="which", text="which statement is true")
    asks = claims(small=base.abstain("nothing", evidence=("m2",)), coffee=base.abstain("nothing"))
    both = speech(heard("The bus goes to Vienna.", 5), heard("It is late.", 9))
    reply = run(choose.choose(part, Pool(), (), free(base.abstain("")), asks), both)[0]
    assert (reply.option, reply.confidence) == (0, pytest.approx(0.5 * 0.6)), "three of its five words were said"
    told = speech(heard("The bus goes to Vienna.", 5), heard("It is late.", 9))
    s = session(("gate 54 was called", "bus goes to Vienna", "coffee was free"), kind="which", text="which statement is true")
    reply = run(choose.choose(s, Pool(), (), free(base.abstain("")), asked), told)[0]
    assert (reply.option, reply.confidence) == (1, pytest.approx(0.5)), "all of its words were said"


def test_the_best_seen_option_is_chosen() -> None:
    """The higher of its best score and its confidence, as a share of all and .05."""
    cat, dog = (
        lead(episode(10, score=0.4), confidence=0.8, phrase="cat"),
        lead(episode(50, score=0.7), episode(90, score=0.6), confidence=0.6, phrase="dog"),
    )
    reply = chosen(("a cat", "a dog", "a fox"), by_name(cat, dog), kind="which")
    assert reply.option == 0
    assert reply.confidence == pytest.approx(0.8 / (0.8 + 0.7 + 0.05) * 0.9, abs=1e-4)
    assert reply.text == 'a cat: at 00:00:10 on Thursday 1970-01-01 (10 s into "s").'
    assert (reply.evidence, reply.alternatives) == (("m10000000",), ("m50000000",))
    assert chosen(("a fox", "a dog"), by_name(dog), kind="which").evidence == ("m50000000", "m90000000"), "and when else it was there"
    weak = chosen(("a cat", "a dog"), by_name(Lead(phrase="cat", confidence=0.01), Lead(phrase="dog", confidence=0.02)), kind="which")
    assert (weak.status, weak.text) == ("abstained", "I have not seen any of these in this memory.")


def test_only_the_first_word_of_an_option_says_all() -> None:
    said = {
        "Earlier": "before",
        "sooner or later": "before",
        "later": "after",
        "No, never": "no",
        "not before": "",
        "it was later": "",
        "": "",
    }
    assert {text: of_options.says(text) for text in said} == said


def test_none_is_chosen_with_what_was_seen_instead() -> None:
    cat = lead(*(episode(100 * n, score=0.2 + n / 100) for n in range(5)), confidence=0.1, phrase="cat")
    reply = chosen(("a cat", "none of these"), by_name(cat), kind="which")
    assert (reply.option, reply.text, reply.confidence) == (1, "none of these", 0.5)
    assert reply.evidence == ("m400000000",), "what was seen best"
    four = [lead(episode(10 * n), confidence=0.1, phrase=name) for n, name in enumerate(("cat", "dog", "owl", "hen"))]
    reply = chosen(("cat", "dog", "owl", "hen", "none of these"), by_name(*four), kind="which")
    assert (reply.option, reply.evidence) == (4, ("m0", "m10000000", "m20000000")), "three of them are shown"
    assert chosen(("none of these",), kind="which").status == "abstained"


def test_beside_an_anchor_that_was_not_seen_nothing_is_chosen() -> None:
    asked = {"kind": "what", "relation": "after", "anchors": ("mug",)}
    cat, mug = lead(episode(15), phrase="cat"), lead(episode(10), phrase="mug")
    assert chosen(("cat", "dog"), by_name(cat), **asked).text == "I have not seen a mug in this memory."
    assert chosen(("cat", "dog"), by_name(mug), **asked).text == "I have not seen any of these in this memory."
    reply = chosen(("dog", "cat"), by_name(cat, mug), **asked)
    assert (reply.option, reply.evidence) == (1, ("m15000000",))
    gap = 0.8**0.5 * math.exp(-5 / 15)
    assert reply.confidence == pytest.approx(gap / (gap + 0.05) * (0.5 + 0.5 * 0.8), abs=1e-4)
    nearer = by_name(lead(episode(100), phrase="mug"), lead(episode(99, score=0.8), phrase="cat"), lead(episode(70), phrase="dog"))
    reply = chosen(("dog", "cat"), nearer, kind="what", relation="before", anchors=("mug",))
    assert (reply.option, reply.evidence) == (1, ("m99000000",)), "right before it, not what was seen best before it"
    both = lead(episode(10, score=0.6), episode(100, score=0.9), phrase="mug")
    for at_s, option in ((3610, 1), (3610.1, None)):
        late = lead(episode(10, score=0.6), episode(at_s), phrase="mug")
        assert chosen(("dog", "cat"), by_name(cat, late), **asked).option == option, "an appearance on the same occasion"
    twice = lead(episode(15), episode(103), phrase="cat")
    assert chosen(("dog", "cat"), by_name(twice, both), **asked).evidence[0] == "m103000000"
    assert chosen(("dog", "cat"), by_name(twice, both), kind="what", relation="after", anchors=("first mug",)).evidence[0] == "m15000000"


def test_where_a_thing_was_and_in_which_colour() -> None:
    key = lead(episode(50), confidence=0.9, phrase="key")
    hall, shed = lead(episode(49, score=0.6), confidence=0.3, phrase="hall"), lead(episode(50, score=0.3), confidence=0.3, phrase="shed")

    def places(action: Any) -> Any:
        if isinstance(action, Gather) and action.things == ("hall", "shed"):
            assert (action.from_us, action.to_us) == (45 * US, 55 * US)
        return by_name(key, hall, shed)(action)

    asked: dict[str, Any] = {"kind": "where", "text": "where was the key", "things": ("key",), "form": "place"}
    reply = chosen(("the hall", "the shed"), places, **asked)
    assert (reply.option, reply.text) == (0, 'the hall: at 00:00:49 on Thursday 1970-01-01 (49 s into "s").')
    assert reply.confidence == pytest.approx(0.6 / (0.9 + 0.05) * (0.5 + 0.5 * 0.3), abs=1e-4)
    assert chosen(("the hall", "the shed"), by_name(key), **asked).text == "I have not seen any of these in this memory."
    assert chosen(("the hall", "the shed"), by_name(hall, shed), **asked).option == 0, "it was at one of them"
    assert chosen(("the shed", "the key"), by_name(key, shed), **asked).option == 1, "the options are not places of it"
    red = lead(episode(50, score=0.7), confidence=0.3, phrase="red key")
    blue = lead(episode(50, score=0.8), confidence=0.3, phrase="blue key")
    coloured: dict[str, Any] = {"kind": "what", "form": "colour", "things": ("key",), "text": "what colour was the key"}
    reply = chosen(("red", "blue"), by_name(key, red, blue), **coloured)
    assert (reply.option, reply.confidence) == (1, pytest.approx(0.8 / 1.55 * 0.65, abs=1e-4))
    assert chosen(("red", "blue"), by_name(key), **coloured).status == "abstained"


def test_which_of_the_options_came_first() -> None:
    cat, dog = lead(episode(10), phrase="cat"), lead(episode(50), phrase="dog")
    assert chosen(("the dog", "the cat"), by_name(cat, dog), kind="order").option == 1
    assert chosen(("the dog", "the cat"), by_name(cat, dog), kind="order", ordinal=-1).option == 0
    assert chosen(("the dog", "the cat"), by_name(cat, dog), kind="which", ordinal=1).option == 1
    assert chosen(("the fox", "the cat"), by_name(cat), kind="order").option == 1, "only one was seen"


def test_before_or_after_is_taken_from_the_free_answer() -> None:
    asked: dict[str, Any] = {"kind": "order", "things": ("cat",), "anchors": ("dog",)}
    after = base.answered("After: the cat came after the dog", 0.5, ("m1",))
    for options, right in ((("before", "after"), 1), (("After it", "Before it"), 0)):
        assert chosen(options, reply=after, **asked).option == right
    unseen = chosen(("before", "after"), reply=base.abstain("I have not seen a dog in this memory."), **asked)
    assert (unseen.status, unseen.option) == ("abstained", None)


def test_no_is_meant_where_nothing_was_seen() -> None:
    no = base.abstain("No, I have not seen a fox in this memory.", confidence=0.1, evidence=("m1",))
    reply = chosen(("yes", "no"), reply=no, kind="yes_no")
    assert (reply.status, reply.option, reply.confidence, reply.evidence) == ("answered", 1, 0.9, ("m1",))
    assert chosen(("yes", "no"), reply=base.abstain("No, I have not.", confidence=0.1), kind="yes_no").option is None, "without a proof"
    assert chosen(("yes", "no"), reply=base.abstain("I cannot tell.", evidence=("m1",)), kind="yes_no").option is None
    assert chosen(("yes",), reply=no, kind="yes_no").option is None
    assert chosen(("No, never", "Yes, once"), reply=base.answered("Yes: it was.", 0.7, ("m1",)), kind="yes_no").option == 1
    assert chosen(("no", "yes"), reply=base.answered("No: never.", 0.7, ("m1",)), kind="yes_no").option == 0


def test_numbers_and_times_are_compared_with_the_free_answer() -> None:
    three = base.answered("3 times: I saw the cat.", 0.7, ("m1",))
    assert chosen(("one", "four", "9"), reply=three, kind="how_many").option == 1, "the nearest"
    assert chosen(("twice", "often"), reply=three, kind="how_many").option == 0, "half of them are numbers"
    assert chosen(("twice", "often", "never"), reply=three, kind="how_many").option is None
    long = base.answered("2 min 16 s: the owl at 08:08:01 (8 min 1 s into it).", 0.7, ("m1",))
    assert chosen(("half a minute", "two minutes", "eight minutes"), reply=long, kind="how_long").option == 1


@pytest.mark.parametrize(
    ("option", "seconds"),
    [("at 10:05", [36_300, 605]), ("10:05:07", [36_307, 36_307]), ("at 3 pm", [54_000]), ("11am", [39_600]), ("in 90 seconds", [90]),
     ("2 min 5 s", [125]),
     ("42:10", [2530]), ("0:00", [0, 0]), ("soon", []), ("in room B", []), ("12 mice", []), ("an hour", [3600]),
     ("Sunday", []), ("25:70", [])],
)  # fmt: skip
def test_the_time_in_an_option(option: str, seconds: list[float]) -> None:
    assert of_options.values(session(kind="when"), option) == seconds


def test_the_number_in_an_option() -> None:
    assert of_options.values(session(kind="how_many"), "2 hours") == [2], "how many hours"
    assert of_options.values(session(kind="how_long"), "2 hours") == [7200]
    assert of_options.values(session(kind="how_long"), "5") == [5]
    assert of_options.values(session(kind="how_many"), "often") == []


def put(view: View, kit: AnswerKit, text: str, *options: str) -> Answer:
    now_us = START_US + 300 * US
    return ask(view, Question(text=text, asked_us=now_us, as_of_us=now_us, options=options), kit)[0]


def test_a_time_of_day_and_a_place_in_the_stream_are_both_understood(view: View, kit: AnswerKit) -> None:
    for options, right in ((("10:01:50", "10:02:30"), 0), (("1:50", "2:30"), 0), (("0:30", "1:59"), 1), (("10 am", "11 am"), 0)):
        assert put(view, kit, "When did I see the rocket?", *options).option == right
