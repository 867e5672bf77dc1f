"""Who does what with what, sentence by sentence: what is drawn, and what is not because it is no fact of now."""

from __future__ import annotations

import pytest
from edgemem_egagent.graph import Line
from edgemem_egagent.speech import read_speech
from edgemem_egagent.verbs import CLOTHES, is_form_of, lemmas

from edgemem.records import US

U, T = "USES", "INTERACTS_WITH"


def drawn(text: str, answer: str = "") -> set[tuple[str, str, str]]:
    lines = [Line(speaker="Anna", text=text, t0_us=0, t1_us=2 * US)]
    lines += [Line(speaker="Ben", text=answer, t0_us=3 * US, t1_us=4 * US)] if answer else []
    return {
        (e.source.name, e.type, e.target.name.split()[-1])
        for e in read_speech(lines).edges
        if e.type in {U, T} and e.target.kind != "location"
    }


@pytest.mark.parametrize(
    ("text", "edges"),
    [
        ("I'm sanding the shelf.", {("Anna", T, "shelf")}),
        ("I varnished the old wooden door.", {("Anna", T, "door")}),
        ("Tom is grilling the fish.", {("Tom", T, "fish")}),
        ("Tom's grilling the fish.", {("Tom", T, "fish")}),
        ("We're carrying the sofa.", {("Anna", T, "sofa")}),
        ("I have already washed the plates.", {("Anna", T, "plate")}),
        ("I've just oiled the bicycle.", {("Anna", T, "bicycle")}),
        ("I have been painting the fence.", {("Anna", T, "fence")}),
        ("I'm done watering the flowers.", {("Anna", T, "flower")}),
        ("I'm busy painting the fence.", {("Anna", T, "fence")}),
        ("Tom is a building engineer with the box.", set()),
        ("I'm done.", set()),
        ("I quickly grabbed my coat and opened the umbrella.", {("Anna", T, "coat"), ("Anna", T, "umbrella")}),
        ("I took the hammer, the saw and the rope.", {("Anna", T, "hammer"), ("Anna", T, "saw"), ("Anna", T, "rope")}),
        ("Let me open the bottle.", {("Anna", T, "bottle")}),
        ("I gave Mary the map.", {("Anna", T, "map")}),
        ("I handed him a towel.", {("Anna", T, "towel")}),
        ("Tom showed me Mary's camera.", {("Tom", T, "camera")}),
        ("I stopped the engine.", {("Anna", T, "engine")}),
        ("I'm working on the car.", {("Anna", T, "car")}),
        ("I helped Mary.", {("Anna", T, "Mary")}),
        ("I drank some coffee.", {("Anna", U, "coffee")}),
        ("I had a sandwich.", {("Anna", U, "sandwich")}),
        ("I have a sandwich.", set()),
        ("Mary wore a pale blue dress.", {("Mary", U, "dress")}),
        ("Mary had a blue coat on.", {("Mary", U, "coat")}),
        ("I put on my jacket.", {("Anna", U, "jacket")}),
        ("I put the jacket on the chair.", {("Anna", T, "jacket")}),
        ("I turned off the lamp.", {("Anna", U, "lamp")}),
        ("I turned the lamp off.", {("Anna", U, "lamp")}),
        ("I turned the page.", {("Anna", T, "page")}),
        ("We took the ferry.", {("Anna", U, "ferry")}),
        ("We crossed the lake by boat.", {("Anna", U, "boat")}),
        ("I got on the bus.", {("Anna", U, "bus")}),
        ("I sat on the bus.", set()),
        ("I cut the bread with the big knife.", {("Anna", T, "bread"), ("Anna", U, "knife")}),
        ("I read a letter on my phone.", {("Anna", U, "letter"), ("Anna", U, "phone")}),
        ("I left a letter on my phone.", {("Anna", T, "letter")}),
        ("I watched television.", {("Anna", U, "television")}),
        ("I watched the dog.", set()),
        ("Tom is on the phone.", {("Tom", U, "phone")}),
        ("Tom is on the table.", set()),
        ("I'm listening to the radio.", {("Anna", U, "radio")}),
        ("I drank water from the bottle.", {("Anna", U, "water"), ("Anna", U, "bottle")}),
        ("I took a bite of the apple.", {("Anna", T, "apple")}),
        ("I saw the drill and it was loud.", set()),
        ("I like the drill.", set()),
        ("I have the keys.", set()),
        ("I've got pliers in the box.", set()),
        ("I can open the box.", set()),
        ("I should've worn a coat.", set()),
        ("I would open the box.", set()),
        ("I'd like to open the box.", set()),
        ("I didn't open the box.", set()),
        ("I never open the box.", set()),
        ("I almost dropped the plate.", set()),
        ("I want to open the box.", set()),
        ("I need to water the flowers.", set()),
        ("If I open the box, it breaks.", set()),
        ("When Tom opens the box, wait.", set()),
        ("Did Tom open the box?", set()),
        ("Can you lend me the saw?", set()),
        ("Open the box.", set()),
        ("I opened the box yesterday.", set()),
        ("I always open the box.", set()),
        ("The box was opened.", set()),
        ("I was given a box.", set()),
        ("Tom's box was on the floor.", set()),
        ("I wrote down his phone number.", set()),
        ("I'll take the umbrella.", {("Anna", T, "umbrella")}),
        ("I think that Tom broke the lamp.", {("Tom", T, "lamp")}),
        ("I opened the very very very old box.", {("Anna", T, "box")}),
        ("I opened the very very very very old box.", set()),
        ("He made me open the box.", set()),
        ("Let's open the bottle.", {("Anna", T, "bottle")}),
        ("Let them open the box.", set()),
        ("This we let.", set()),
        ("Then I opened the box.", {("Anna", T, "box")}),
        ("I opened the box and then.", {("Anna", T, "box")}),
        ("I opened the box and left.", {("Anna", T, "box")}),
        ("I opened the box and quickly drank the milk.", {("Anna", T, "box"), ("Anna", U, "milk")}),
        ("I saw the box and cups with the spoon.", set()),
        ("I saw the box and cups over the spoon.", set()),
        ("I'd open the box.", set()),
        ("Yes, I do.", set()),
        ("I'm going to open the box.", set()),
        ("I'm going to the park by bus.", {("Anna", U, "bus")}),
        ("I drove to school by bus.", {("Anna", U, "bus")}),
        ("I drove to the school by bus.", {("Anna", U, "bus")}),
        ("I put the jacket on Tom.", {("Anna", T, "jacket")}),
        ("I took the hammer this morning the lamp broke.", {("Anna", T, "hammer")}),
        ("I took the hammer and the cup of tea.", {("Anna", T, "hammer"), ("Anna", T, "tea")}),
        ("I opened with the key.", {("Anna", U, "key")}),
        ("I cut the bread and Tom eats with the spoon.", {("Anna", T, "bread"), ("Tom", U, "spoon")}),
        ("I cut the bread she eats with the spoon.", {("Anna", T, "bread")}),
        ("I took water from the bottle.", {("Anna", T, "water")}),
        ("I walked to the radio.", set()),
        ("Tom is near the phone.", set()),
        ("Tom is on television.", {("Tom", U, "television")}),
        ("I do open the box.", {("Anna", T, "box")}),
        ("I did cups with the spoon.", set()),
        ("I helped to carry the box with the rope.", set()),
        ("I opened Mary's box.", {("Anna", T, "box")}),
        ("I drank a glass of water.", {("Anna", U, "water")}),
        ("I'm listening to the bread.", set()),
    ],
)  # fmt: skip
def test_what_a_sentence_states(text: str, edges: set[tuple[str, str, str]]) -> None:
    assert drawn(text) == edges


@pytest.mark.parametrize(
    ("text", "edges"),
    [
        ("I talked to Tom and washed the plates.", {("Anna", T, "plate")}),
        ("The man with Anna washed the plates.", set()),
        ("Of course Tom washed the plates.", {("Tom", T, "plate")}),
        ("I think that Mary opened the box.", {("Mary", T, "box")}),
        ("We got on the school bus.", {("Anna", U, "school bus")}),
        ("I got on the red city bus with the box.", {("Anna", U, "city bus"), ("Anna", U, "box")}),
        ("I used the school drill.", {("Anna", U, "school drill")}),
        ("I used the drill and the saw, but not the hammer.", {("Anna", U, "drill"), ("Anna", U, "saw")}),
        ("I cut the bread and quickly washed the plates.", {("Anna", T, "bread"), ("Anna", T, "plate")}),
        ("And then I washed the plates.", {("Anna", T, "plate")}),
        ("I washed the plates and.", {("Anna", T, "plate")}),
        ("I washed and dried the plates.", {("Anna", T, "plate")}),
        ("Let us open the bottle.", set()),
        ("Let me.", set()),
        ("I have broken the cup.", {("Anna", T, "cup")}),
        ("I'm taking the train to work with the bag.", {("Anna", U, "train"), ("Anna", U, "bag")}),
        ("Mary's wearing a coat.", {("Mary", U, "coat")}),
        ("Mary's coat is wet.", set()),
        ("I hung Mary's picture on the wall.", {("Anna", T, "picture")}),
        ("I poured a glass of water from the bottle.", {("Anna", T, "water")}),
        ("I ate a bowl of soup with the spoon.", {("Anna", U, "soup"), ("Anna", U, "spoon")}),
        ("Mary had a sandwich and Tom had the keys.", {("Mary", U, "sandwich")}),
        ("I listened to the radio on my phone.", {("Anna", U, "radio"), ("Anna", U, "phone")}),
        ("I listened to Tom.", set()),
        ("I put the phone on the radio.", {("Anna", T, "phone")}),
        ("I worked on the fence with the saw.", {("Anna", T, "fence"), ("Anna", T, "saw")}),
        ("I liked the bread with the butter.", set()),
        ("I drank from the cup.", {("Anna", U, "cup")}),
        ("I put the coat on and opened the umbrella.", {("Anna", U, "coat"), ("Anna", T, "umbrella")}),
        ("I picked up the box and the rope.", {("Anna", T, "box"), ("Anna", T, "rope")}),
        ("I put on the blue jacket.", {("Anna", U, "blue jacket")}),
        ("If I open the box, I take the saw.", {("Anna", T, "saw")}),
        ("When I open the box; Tom takes the saw.", {("Tom", T, "saw")}),
        ("Did I open the box?", set()),
        ("Have you used the drill?", set()),
        ("To me Tom opened the box.", {("Tom", T, "box")}),
        ("I brought him the old red coffee pot of my aunt.", {("Anna", T, "coffee pot")}),
        ("I did it with the drill.", {("Anna", U, "drill")}),
        ("I was washing the plates when the phone rang.", {("Anna", T, "plate")}),
        ("I was washed by the nurse.", set()),
        ("I had a bus ticket.", set()),
        ("I met Mary in the kitchen with the box.", {("Anna", T, "Mary"), ("Anna", U, "box")}),
        ("You should open the box and Tom opens the bag.", {("Tom", T, "bag")}),
        ("I apply the paint.", {("Anna", T, "paint")}),
        ("I shouldn't have used the drill.", set()),
    ],
)  # fmt: skip
def test_what_longer_sentences_state(text: str, edges: set[tuple[str, str, str]]) -> None:
    lines = [Line(speaker="Anna", text=text, t0_us=0, t1_us=2 * US)]
    found = [e for e in read_speech(lines).edges if e.type in {U, T} and e.target.kind != "location"]
    assert {(e.source.name, e.type, e.target.name) for e in found} == edges


def test_an_object_is_surer_than_what_stands_behind_a_preposition_and_that_than_a_pronoun() -> None:
    def drawn_of(*texts: str) -> list[tuple[str, str, float]]:
        lines = [Line(speaker="Anna", text=text, t0_us=4 * i * US, t1_us=(4 * i + 2) * US) for i, text in enumerate(texts)]
        return sorted((e.type, e.target.name, e.confidence) for e in read_speech(lines).edges if e.type in {U, T})

    assert drawn_of("I cut the bread with the knife.") == [(T, "bread", 0.8), (U, "knife", 0.75)]
    assert drawn_of("The drill is here.", "I used it.") == [(U, "drill", 0.6)]


def test_you_is_who_is_spoken_to_and_it_is_what_was_named_last() -> None:
    assert drawn("You're wearing my jacket.", "Sorry.") == {("Ben", U, "jacket")}
    assert drawn("Because of you opened the box.", "Sorry.") == set()
    assert drawn("The drill is here. I'm using it now.") == {("Anna", U, "drill")}
    assert drawn("The drill is here. I switched it off.") == {("Anna", U, "drill")}
    assert drawn("The drill is here. I like it.") == set()
    assert drawn("The drill is here. I'm using that box.") == {("Anna", U, "box")}


@pytest.mark.parametrize(
    ("word", "verb"),
    [("carries", "carry"), ("carried", "carry"), ("washes", "wash"), ("used", "use"), ("using", "use"), ("grabbed", "grab"),
     ("grabbing", "grab"), ("wore", "wear"), ("driving", "drive"), ("putting", "put"), ("eaten", "eat"),
     ("plays", "play"), ("shining", "shine"), ("ate", "eat")],
)  # fmt: skip
def test_forms_lead_to_their_verb(word: str, verb: str) -> None:
    assert is_form_of(word, frozenset((verb,)))


def test_a_form_leads_to_no_other_verb() -> None:
    assert lemmas("left") == ("leave",)
    assert lemmas("driving") == ("drive",)
    assert lemmas("walked") == ("walked", "walk", "walke")
    assert lemmas("stopped") == ("stopped", "stopp", "stoppe", "stop")
    assert lemmas("grinding") == ("grind",)
    assert lemmas("tries") == ("tries", "try")
    assert lemmas("boxes") == ("boxes", "box", "boxe")
    assert (lemmas("king"), lemmas("bed"), lemmas("wing")) == (("king",), ("bed",), ("wing",))
    assert lemmas("axes") == ("axes", "ax", "axe")
    assert not is_form_of("sing", frozenset(("s",)))
    assert not is_form_of("read", frozenset(("re",)))
    assert "dress" in CLOTHES
