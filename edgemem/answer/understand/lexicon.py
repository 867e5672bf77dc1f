"""Closed classes of English words: what the rules of `parse` split a question at. Open classes (things, names) are not listed."""

from __future__ import annotations

from edgemem.answer.understand.words import spelt

_IRREGULAR = (
    "be was been|have had had|do did done|go went gone|see saw seen|leave left left|put put put|keep kept kept|lose lost lost|buy bought"
    " bought|bring brought brought|think thought thought|take took taken|give gave given|get got got|make made made|come came come|say said"
    " said|tell told told|know knew known|find found found|eat ate eaten|drink drank drunk|drive drove driven|ride rode ridden|write wrote"
    " written|read read read|speak spoke spoken|wear wore worn|hold held held|sit sat sat|stand stood stood|sleep slept slept|run ran run"
    "|ring rang rung|sing sang sung|swim swam swum|begin began begun|break broke broken|steal stole stolen|hide hid hidden|stick stuck"
    " stuck"
    "|set set set|lay laid laid|lie lay lain|meet met met|feed fed fed|fall fell fallen|feel felt felt|send sent sent|spend spent spent|pay"
    " paid paid|sell sold sold|cut cut cut|hit hit hit|shut shut shut|hear heard heard|lend lent lent|build built built|catch caught"
    " caught|teach taught taught|throw threw thrown|grow grew grown|draw drew drawn|fly flew flown|forget forgot forgotten|wake woke woken"
    "|win won won|hang hung hung|light lit lit|cost cost cost|let let let|hurt hurt hurt|show showed shown|choose chose chosen|shake shook"
    " shaken|sew sewed sewn|bite bit bitten|blow blew blown|burn burnt burnt|spill spilt spilt|sweep swept swept|tear tore torn|burst burst"
    " burst|freeze froze frozen|lead led led|mean meant meant|rise rose risen|shine shone shone|shoot shot shot|smell smelt smelt|spread"
    " spread spread|swing swung swung|understand understood understood|leave left left"
)
_REGULAR = spelt(
    "open close lock unlock clean wash cook iron water fix repair mend paint climb walk talk chat call phone text mention ask answer reply"
    " arrive visit park drop place store stash misplace look watch spot notice view appear pass happen turn switch empty fill pour use play"
    " pick move carry touch check change charge help finish start stop work live wait stay order post mail pack unpack return borrow"
    " receive collect deliver sign print display announce advertise own belong want need like love hate prefer plan promise suggest agree"
    " decide remember recall report record film laugh smile cry shout whisper knock enter exit cross follow join mow rake dig plant"
    " bake boil"
    " fry peel chop stir taste smoke shower shave brush comb dress dry fold tidy dust vacuum mop scrub polish damage scratch bump crash"
    " injure attack bark chase jump land crawl dance travel board depart miss cancel book rent hire earn save count weigh measure press"
    " push"
    " pull lift lean pop emerge point wave nod kiss hug marry name cover wrap glue drill screw type swap exchange copy share"
    " download delete erase export blur show clap rain snow reckon say tip fetch feature"
)
_DOUBLED = frozenset(spelt("stop drop chop spot wrap mop nod hug swap plan ship grab tip pat dip clap pop"))


def _regular(verb: str) -> tuple[str, str, str]:
    stem = verb + verb[-1] if verb in _DOUBLED else verb.removesuffix("e")
    past = f"{verb[:-1]}ied" if verb[-1] == "y" and verb[-2] not in "aeiou" else f"{stem}ed"
    return verb, past, past


_FORMS = [*(tuple(one.split()) for one in _IRREGULAR.split("|")), *(_regular(verb) for verb in _REGULAR)]


def _every_form() -> dict[str, str]:
    found: dict[str, str] = {}
    for verb, past, participle in _FORMS:
        stem = verb + verb[-1] if verb in _DOUBLED or verb in _LAST_DOUBLED else verb[:-1] if verb.endswith("e") and verb != "be" else verb
        third = f"{verb[:-1]}ies" if verb[-1] == "y" and verb[-2] not in "aeiou" else f"{verb}{'es' if verb.endswith(_HISSING) else 's'}"
        for form in (verb, past, participle, f"{stem}ing", third):
            found.setdefault(form, verb)
    return found


_LAST_DOUBLED = frozenset(spelt("put get set sit run cut hit shut swim win begin forget let"))
_HISSING = ("s", "sh", "ch", "x", "o")
VERBS = _every_form()
"""Every form of a verb and its base: "bought" is "buy"."""
PARTICIPLES = {verb: participle for verb, _, participle in _FORMS}
"""Base of a verb and its past participle, by which an action is named: "buy" is "bought"."""

AMBIGUOUS = frozenset(spelt(
    "phone call light watch drink park book water iron post mail cover ring stop sign draw walk dress smoke paint change answer text show"
    " record film view plan type plant dust brush plug tear shower dance paint cut hit comb pack rent fold step name work use order charge"
    " glue cook can train lift point tip"
))  # fmt: skip
"""Verbs whose base form is a noun as well: verbs only behind who does it."""
SEEING = frozenset(
    spelt(
        "see look watch spot notice view appear pop emerge show pass happen catch"
        " meet observe witness encounter film record remember recall find"
    )
)
"""What a camera does: these deeds are checked by the picture itself."""
HAVING = frozenset(
    spelt("be have get do come go stand sit sleep lie hang run walk fly drive turn stay land crawl lean hold carry last wave")
)
"""Being and moving about: seen with the thing, or not worth a doubt."""
PLACING = frozenset(spelt("leave put keep lose place drop park set lay stick store stash hide misplace forget"))
"""What ends with the thing lying somewhere: its last sighting answers where."""
SAYING = frozenset(spelt("say tell mention talk speak ask answer explain promise suggest call name announce shout whisper reckon agree"))

STATES = frozenset(spelt("open closed locked unlocked full empty flat off dry wet broken clean dirty ready hot cold asleep awake alive"
    " dead busy free late"
    " early sick ill hurt happy sad angry tired lost stolen missing gone damaged cracked torn rusty burnt spilt plugged unplugged charged"
    " finished done vegan raw fresh rotten sharp blunt loose tight straight bent taller shorter bigger smaller older younger nearer longer"
    " heavier lighter same different soaking still own"))  # fmt: skip
"""What may be claimed of a thing and no label shows."""

PERSONS = frozenset(spelt("bloke guy man woman lady girl boy kid child baby person mum mom mother dad father son daughter wife husband"
    " brother sister uncle aunt"
    " cousin grandma grandpa gran granny nan friend friends neighbour neighbor nurse doctor dentist teacher plumber postman postie builder"
    " driver waiter waitress boss colleague landlord landlady tenant chef cook cleaner electrician mechanic vet visitor guest bro mate"
    " partner boyfriend girlfriend niece nephew gardener carer courier policeman"))  # fmt: skip
PRONOUNS = frozenset(
    spelt("i me we us you he him she her they them it y'all someone somebody anyone anybody everyone everybody nobody one")
)
DETERMINERS = frozenset(spelt("the a an my your our his her their its this that these those some any no every each all both either"
    " another other what which whose"
    " much many more most few several such same own whole very enough"))  # fmt: skip
AUXILIARIES = frozenset(spelt("did do does have has had was were is are am be been being can could will would shall should may might"
    " must 'd 'll 've 're 's"
    " didn't don't doesn't haven't hasn't hadn't wasn't weren't isn't aren't can't couldn't won't wouldn't shouldn't gonna gotta ain't"
    " got supposed"))  # fmt: skip
PLACE_WORDS = frozenset(
    spelt(
        "in on at from under underneath behind beside near above below inside outside into between against beneath opposite within"
        " onto upon"
    )
)
PREPOSITIONS = PLACE_WORDS | frozenset(spelt("of to from for with without by about over through across along around up down off out"
    " past during regarding towards toward like per"
    " as than since until till among aloud loud"))  # fmt: skip
FILLER = frozenset(spelt("please just really actually also too then now again ever never already still yet only even maybe perhaps"
    " quite very so well there here"
    " somewhere anywhere everywhere else exactly not how why when where who whom whose if whether because that which and or but as it's"
    " kind sort type bit lot heck hell earth blinking bloody damn thing things stuff item object anything something nothing everything time"
    " times moment point occasion occasions appearance sighting glimpse view sight picture photo video recording stream today's"
    " ok okay"
    " hey hi hello cheers thanks uh um y'know know think guess mean recently often home round away together number happen total right"
    " got get gets"
    " getting whereabouts whenabouts much many more first last earliest latest next previous following earlier later sooner before after"
    " visible present nearby immediately directly shortly suddenly eventually far shown once twice yesterday today tonight tomorrow ago"
    " no yes none"))  # fmt: skip
"""Words that are never part of the name of a thing."""
STOP = PRONOUNS | DETERMINERS | AUXILIARIES | PREPOSITIONS | FILLER

MISSPELT = {
    "wen": "when", "wher": "where", "whre": "where", "wich": "which", "whitch": "which", "wat": "what", "waht": "what",
    "wot": "what", "whta": "what", "hwo": "who", "howmany": "how many", "teh": "the", "hte": "the", "frist": "first", "fisrt": "first",
    "yesterdy": "yesterday", "yestarday": "yesterday", "tommorow": "tomorrow", "tomorow": "tomorrow", "befor": "before", "beofre": "before",
    "arter": "after", "aftr": "after", "whats": "what's", "wheres": "where's", "whos": "who's", "whens": "when's", "hows": "how's",
    "didnt": "didn't", "dont": "don't", "havent": "haven't", "wasnt": "wasn't", "isnt": "isn't", "doesnt": "doesn't", "hasnt": "hasn't",
    "im": "i'm", "ive": "i've", "u": "you", "ur": "your", "pls": "please", "plz": "please", "lok": "lock", "seing": "seeing", "sed": "said",
    "whn": "when", "whree": "where", "wehn": "when", "wehre": "where", "whcih": "which", "dose": "does", "seeen": "seen", "sine": "sign",
    "metting": "meeting", "lasst": "last", "manny": "many", "meny": "many", "mny": "many", "wht": "what", "hom": "home",
    "yall": "y'all", "leav": "leave",
}  # fmt: skip
"""Slips in the words that decide what a question is; names of things are compared letter by letter later."""
