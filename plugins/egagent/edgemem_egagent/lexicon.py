"""The closed word lists behind the local extractor: first names, places, and words that only look like one of them."""

from __future__ import annotations

import re
from functools import cache, lru_cache

from edgemem.infer.labels import Nouns
from edgemem.words import singulars


def word_set(text: str) -> frozenset[str]:
    """The words of a list."""
    return frozenset(text.split())


# fmt: off
FIRST_NAMES = word_set("""
adam adrian ahmed aiko alan albert alejandro alex alexander alexandra ali alice alina amanda amelia amir amy ana anders andre andrea
andreas andrei andrew andy angela anita anja ann anna anne annie anthony antonio arjun arthur astrid audrey barbara beatrice ben benjamin
bernd beth betty bianca bob boris brandon brenda brian bruno camila carla carlos carmen caroline catherine cecilia charles charlotte chen
chiara chloe chris christian christina christine claire clara claudia daniel daniela dave david deborah deepa denis dennis diana diego
dieter dmitri dominik donald donna dorothy edward elena eli elias elif elijah elisa elizabeth ella ellen emil emily emma eric erik erika
esther ethan eva evelyn fatima felix fernando finn fiona florian fran frances francesca francis frank frederik gabriel gary george georgia
gerald giulia gordon greg greta gregory hana hanna hannah hans harold harry hasan hassan heather heidi helen helena henri henrik henry
hugo ian ibrahim ida igor ines ingrid irene isaac isabel isabella ivan jack jacob jake james jamie jan jana jane janet jasmine jason
javier jeff jeffrey jennifer jenny jeremy jessica jill jim joan joanna joe joel johan johanna john jonas jonathan jordi jorge jose joseph
joshua juan judith judy julia julian julie karen karim karin karl kate katharina katherine kathy katrina katie kelly ken kenji kevin kim
klara klaus kristin kyle lara larry laura lauren lea leah lena leo leon leonard leonie lily linda lisa liu liz louis louise lucas lucia
lucy luis luke lukas magda maja manuel marc marco margaret maria marie marina mario marlene marta martha martin martina mary matt matteo
matthew matthias mehmet mei mia michael michelle miguel mike mila miriam mohamed mohammed monica monika nadia nancy naomi natalia natalie
nathan nicholas nick nico nicole nikolai nils nina nora oleg olga oliver olivia omar oscar otto pablo pamela patricia patrick paul paula
paulo pavel pedro peter petra phil philip pierre priya rachel rafael rahul raj ralph ramona raul rebecca renate ricardo richard rita rob
robert roberta robin roger roland ronald rosa ruth ryan sabine sally sam samantha samir samuel sandra sara sarah satoshi scott sean
sebastian selma sergei shannon sharon shure simon sofia sonia sophia sophie stefan stefanie stella stephanie stephen steve steven susan
svetlana sven sylvia takashi tanja tara tasha tatiana ted teresa theo theresa thomas tim timothy tina tobias todd tom tomas tommy tony
tyler ulrich ursula valentina vera veronica victor victoria viktor vincent violet vivian vladimir walter wei wendy wolfgang xavier yan
yara yasmin yuki yusuf zachary zara zoe
""")
"""Common first names that are not everyday words as well (Mark, Will, Rose and May need another sign that they are names)."""
PLACES = word_set("""
airport attic backyard balcony bakery bank bar basement bathroom beach bedroom bookshop bridge cafe cafeteria campus canteen castle cellar
church cinema city classroom clinic corridor courtyard dentist downtown elevator entrance exit factory farm field forest garage garden gym
hall hallway harbour hospital hostel hotel house island kitchen lab laboratory lake library lift lobby market mall mountain museum office
park pharmacy platform playground pool port pub reception restaurant restroom river road roof room salon school sea shop square stairs
staircase station store street studio supermarket terminal terrace theater theatre toilet tower town university village workshop yard zoo
""")
"""Nouns that name somewhere one can be."""
_VAGUE = word_set("""
area back base block bottom call case change check clean corner cover cut day deal design edge end face fall feel field form front game
glad good ground group half hand head heart help hold home hot inside job kind lead left level life light like line list look lot love
mark matter mean middle minute moment move much name need nice note number order outside own part piece place plan point press problem put
right roll round rest run set shape share show side sign size sort sound space spot stand start stay step stop story stuff surface talk
thing time top touch track turn type use view wait walk way while word work world year one two second third bit couple few pair rest
minutes hours days try break drop catch trip stuff something nothing everything anything someone person man woman guy girl boy baby kid
child friend mother father brother sister doctor boss people hands eyes head arm leg body foot finger fingers mouth hair hand well fire
sharp last short long cold dry wet flat square clear open dark heavy slow fast new old big small little next past free main own ready fine
great morning evening noon night today will can may might must yes no okay please thanks bye hi hello hey oh wow um uh
""")
"""WordNet knows each as a thing, but in speech they seldom name one."""
NOT_NAMES = word_set("""
i i'm i'll i've i'd ok okay yes no yeah yep nope well hey hi hello oh ah um uh so and but or the a an my your our his her their its it we
you he she they what where when who why how which that this these those there here now then please thanks thank sorry sure good great nice
fine maybe just let can could will would should do does did is are was were am have has had not if as at by for from in of on to with
without monday tuesday wednesday thursday friday saturday sunday january february march april may june july august september october
november december english german french spanish italian chinese japanese russian dutch american british european christmas easter god
internet google wifi tv dvd usb ai pdf mr mrs ms dr right wait look listen come go stop morning evening afternoon tonight today tomorrow
yesterday bye welcome hold try take give pass hand bring put open close turn use get make see watch check next first second last everyone
everybody somebody someone nobody anybody mom mum dad grandma grandpa cheers exactly actually really perfect alright coming got careful
only after before because also another all one two three four five six seven eight nine ten ask tell call meet help say said show send
leave keep start stop wash clean cook add remember don't
""")
"""Words that a sentence may write with a capital and that name nobody."""
EXTRA_THINGS = word_set("""
tv ticket receipt recipe email list money report message invoice passport document letter medicine pill song music newspaper wifi password
code
""")
"""Things that are not in the table of what can be touched, and are asked for."""
MODIFIERS = word_set("living dining waiting meeting washing sewing cutting swimming parking shopping sleeping frying")
"""First words of names such as "living room"."""
STOP = word_set("""
a an the my your our his her their its this that these those some any no another each every i you he she it we they me him us them and or
but nor so because if when while as than then of in on at to for from by with without into onto over under near behind beside between
through around about after before during until is are was were be been being am do does did done have has had having will would can could
should may might must shall not never just again now please here there very too also only still already always often really quite away
back down up off out together today tomorrow yesterday tonight first later soon who what where when why how which whose
""")
"""A noun phrase ends before these."""
# fmt: on
HANDHELD = word_set(
    "bottle cup fork knife spoon bowl book scissors remote toothbrush mouse keyboard laptop phone wrench hammer screwdriver pen camera mug"
) | {"cell phone", "wine glass", "hair drier", "tennis racket", "cellular telephone", "hand-held computer", "coffee mug", "remote control"}
"""Detected things that are held when one uses them."""
EVERYDAY = {
    "cell phone": "phone",
    "cellular telephone": "phone",
    "remote": "remote control",
    "coffee mug": "mug",
    "hair drier": "hair dryer",
}
"""What people call what detectors name otherwise."""

_FOOD = (21265, 7555863)
"""WordNet 3.0: food, solid food."""
_SOLID = frozenset({21939, 21265, 7555863, 17222, 15388, 19128, 19613})
"""WordNet 3.0: artifact, food, solid food, plant, animal, natural object, substance."""


@cache
def _nouns() -> tuple[Nouns, frozenset[int]]:
    nouns = Nouns()
    return nouns, frozenset(row for synset in _SOLID if (row := nouns.row(synset)) >= 0)


@lru_cache(maxsize=20_000)
def is_thing(word: str) -> bool:
    """The word's first or second sense in WordNet is a thing that can be touched; vague ones ("side", "way") do not count."""
    if word in EXTRA_THINGS:
        return True
    if word in _VAGUE or len(word) < 3 or not re.fullmatch(r"[a-z][a-z-]+", word):
        return False
    nouns, solid = _nouns()
    for lemma in singulars(word):
        if lemma in _VAGUE:
            return False
        if lemma in EXTRA_THINGS:
            return True
        if senses := nouns.senses(lemma):
            return any(nouns.above(row) & solid for row, _ in senses[:2])
    return False


@lru_cache(maxsize=20_000)
def is_food(word: str) -> bool:
    """The word's first or second sense in WordNet is eaten or drunk."""
    nouns, _ = _nouns()
    foods = {row for synset in _FOOD if (row := nouns.row(synset)) >= 0}
    senses = next((found for lemma in singulars(word) if (found := nouns.senses(lemma))), ())
    return any(nouns.above(row) & foods for row, _ in senses[:2])


def is_place(word: str) -> bool:
    """The noun names somewhere one can be."""
    return any(lemma in PLACES for lemma in singulars(word))


def one_of(word: str) -> str:
    """The singular under which a thing is kept: "knives" and "knife" are one node; "glasses" and "scissors" stay as they are."""
    if word in {"glasses", "scissors", "trousers", "jeans", "headphones", "news", "series", "keys", "stairs", "gas", "bus", "pliers"}:
        return word
    nouns, _ = _nouns()
    return next((lemma for lemma in reversed(singulars(word)) if lemma in PLACES | EXTRA_THINGS or nouns.senses(lemma)), word)
