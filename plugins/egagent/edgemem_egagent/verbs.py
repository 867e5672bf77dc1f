"""Verbs: which of them say that something is handled or used, and which say no such thing.

English has thousands of verbs for handling things, and few for the rest: for seeing, thinking, feeling, speaking, having and wanting. So
the few are listed, and every other verb with a thing as its object is taken for handling it.
"""

from __future__ import annotations

from functools import lru_cache

from edgemem_egagent.lexicon import word_set

# fmt: off
_IRREGULAR = """
be am is are was were been being|have has had having|do does did done|go goes went gone|take took taken|make made|get got gotten|give gave
given|put|cut|hit|let|set|shut|read|come came|see saw seen|know knew known|think thought|say said|tell told|find found|leave left|feel felt
|keep kept|hold held|bring brought|buy bought|catch caught|teach taught|seek sought|fight fought|begin began begun|drink drank drunk|ring
rang rung|sing sang sung|sink sank sunk|swim swam swum|run ran|drive drove driven|ride rode ridden|write wrote written|break broke broken
|speak spoke spoken|steal stole stolen|wake woke woken|choose chose chosen|wear wore worn|tear tore torn|bear bore borne|swear swore sworn
|eat ate eaten|fall fell fallen|throw threw thrown|grow grew grown|blow blew blown|draw drew drawn|fly flew flown|show showed shown|sew
sewed sewn|lose lost|sell sold|send sent|spend spent|lend lent|bend bent|build built|pay paid|lay laid|lie lay lain|sit sat|stand stood
|understand understood|meet met|feed fed|lead led|bleed bled|sleep slept|sweep swept|weep wept|dig dug|stick stuck|hang hung|swing swung
|spin spun|win won|wind wound|bind bound|grind ground|light lit|slide slid|hide hid hidden|bite bit bitten|shake shook shaken|forget forgot
forgotten|freeze froze frozen|burn burnt|learn learnt|spill spilt|spread|hurt|split|shoot shot|mean meant|hear heard|become became
"""
_NOT_HANDLING = """
be have do see watch hear listen feel smell taste notice observe spot recognize recognise look seem appear sound stare glance
know think believe guess suppose assume remember forget recall understand learn study realize realise doubt wonder imagine dream consider
decide plan intend expect hope wish want need require prefer like love hate dislike enjoy mind fear admire
appreciate trust miss
say tell ask speak talk mention describe explain discuss promise suggest recommend announce claim argue complain answer reply call name
shout whisper mean agree refuse deny thank apologize greet warn remind swear pray pronounce translate spell
own owe belong contain include involve lack deserve cost weigh resemble matter depend concern suit fit equal become remain stay stand live
keep happen exist die sleep wait go come arrive return happen work walk run sit lie fall last try fail manage attempt hesitate afford
teach let cause seek compare count earn face hope join lead owe prove reach win lose stop start begin finish continue quit avoid
can could may might must shall should will would
"""
_USES = """
use wear drink eat sip swallow chew devour taste read play ride drive fly pilot operate smoke type print steer pedal row sail board charter
consume finish browse scan photograph film
"""
# fmt: on
NOT_HANDLING = word_set(_NOT_HANDLING)
USES_ITS_OBJECT = word_set(_USES)
MOVING = word_set("go come travel cross leave arrive return commute move ride drive fly get head cycle")
"""With a vehicle after "by", "on" or "in" these use it."""
SWITCHING = word_set("turn switch plug power")
"""With "on", "off", "up", "down" or "in" these use what they switch."""
DRESSING = word_set("put try slip pull have")
"""With "on" and clothing these use it."""
STOPPING = word_set("stop start")
"""What is stopped or started by somebody is handled; what stops by itself has no object."""
TRANSFER = word_set("give hand pass lend show send bring throw offer sell buy make get fetch pick pour")
"""Between these and their object who gets it may stand."""
MEETING = word_set("meet help hug visit call kiss greet join comfort carry hold wash feed drive dance play travel work walk eat cook train")
"""With a person as the object, or after "with", these do something with the person."""
WORKING = word_set("work play fiddle tinker deal")
"""With "on" or "with" these handle what follows."""
TAKING = word_set("take catch rent")
"""With a vehicle as the object these use it."""
PLACING = word_set("put place set leave find see sit")
"""With "on" and a device these do not use it."""
WATCHING, LISTENING, DRINKING = word_set("watch"), word_set("listen"), word_set("drink eat")
VEHICLES = word_set(
    "bus train tram car lift elevator taxi cab bike bicycle ferry metro subway boat ship plane truck van motorcycle scooter"
)
DEVICES = word_set(
    "phone telephone computer laptop tablet tv television radio keyboard piano guitar violin stove oven grill machine printer"
)
"""With "on" or "with" one uses these."""
CLOTHES = word_set(
    "dress shirt coat jacket hat cap tie shoe shoes boot boots glove gloves glasses sweater skirt trousers jeans scarf sock socks ring"
    " watch belt suit apron uniform helmet mask necklace earring earrings sunglasses"
)
PARTICLES = word_set("up down on off out in over away back together apart aside around through")


def _irregular() -> dict[str, str]:
    found: dict[str, str] = {}
    for group in _IRREGULAR.replace("\n", " ").split("|"):
        lemma, *forms = group.split()
        found.update((form, lemma) for form in (lemma, *forms))
    return found


_LEMMAS = _irregular()


@lru_cache(maxsize=20_000)
def lemmas(word: str) -> tuple[str, ...]:
    """What the form of a verb may be a form of: irregular ones by table, others by their ending."""
    if word in _LEMMAS:
        return (_LEMMAS[word],)
    found = [word]
    for ending, others in (("ies", ("y",)), ("es", ("", "e")), ("s", ("",)), ("ied", ("y",)), ("ed", ("", "e")), ("ing", ("", "e"))):
        stem = word.removesuffix(ending)
        if stem == word or len(stem) < 2:
            continue
        found += [stem + other for other in others]
        if ending in {"ed", "ing"} and stem[-1] == stem[-2]:
            found.append(stem[:-1])
        if ending == "ing" and stem in _LEMMAS:
            return (_LEMMAS[stem],)
        if ending == "ing" and f"{stem}e" in _LEMMAS:
            return (_LEMMAS[f"{stem}e"],)
        break
    return tuple(found)


def is_form_of(word: str, some: frozenset[str]) -> bool:
    """The word may be a form of one of these verbs."""
    return not some.isdisjoint(lemmas(word))
