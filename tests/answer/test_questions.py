"""Questions in many voices and what they mean: slips, words as they are spoken, relative clauses, comparisons, commands."""

import pytest

from edgemem.answer.understand import lexicon
from edgemem.answer.understand import understand as parse
from edgemem.answer.understand.lexicon import VERBS
from edgemem.answer.understand.normal import normalise
from edgemem.answer.understand.spelling import _cost, base_meant, repaired


def check(text: str, meant: dict[str, object]) -> None:
    parsed = parse(text)
    assert {name: getattr(parsed, name) for name in meant} == meant


@pytest.mark.parametrize(
    ("slip", "meant"),
    [
        ("trun", "turn"),  # swapped
        ("moove", "move"),  # doubled
        ("walet", "wallet"),  # not doubled
        ("docter", "doctor"),  # a vowel for a vowel
        ("gardn", "garden"),  # a vowel left out
        ("enviroment", "environment"),  # a consonant left out
        ("nife", "knife"),  # as it is heard
        ("headfones", "headphones"),
        ("baterys", "batteries"),
        ("kall", "call"),  # the first letter sounds alike
        ("didnt", "didn't"),
        ("wendsday", "wednesday"),  # a rare word of the films, but one of the calendar
        ("phonecharger", "phone charger"),  # run together
        ("noticebord", "noticeboard"),
    ],
)
def test_a_slip_is_read_as_the_word_that_was_probably_meant(slip: str, meant: str) -> None:
    assert repaired(slip) == meant


@pytest.mark.parametrize(
    "word",
    ["ewer", "secateurs", "brambling", "toucan", "zorbo", "snerd", "wug", "moxel", "freeb", "lh319", "tv", "grifta", "pragle", "busdriver"],
)
def test_a_word_of_the_dictionary_or_one_too_far_from_any_stays(word: str) -> None:
    assert repaired(word) == word


def test_what_a_slip_costs() -> None:
    costs = {
        ("cat", "cat"): 0.0, ("kat", "cat"): 0.9, ("cet", "cat"): 0.9, ("cbt", "cat"): 1.7, ("bat", "cat"): 2.7, ("act", "cat"): 0.8,
        ("ct", "cat"): 0.9, ("ca", "cat"): 1.2, ("at", "cat"): 2.5, ("leter", "letter"): 0.6, ("lettter", "letter"): 0.6,
        ("catt", "cat"): 0.6, ("caet", "cat"): 1.1, ("cabt", "cat"): 1.6, ("bcat", "cat"): 2.5, ("eat", "oat"): 1.9,
    }  # fmt: skip
    assert {pair: pytest.approx(_cost(*pair)) for pair in costs} == costs


def test_verbs_in_y_change_their_ending_behind_a_consonant() -> None:
    assert (VERBS["carries"], VERBS["carried"], VERBS["plays"], VERBS["played"]) == ("carry", "carry", "play", "play")
    assert not {"plaies", "plaied", "carrys", "carryed"} & VERBS.keys()
    assert (VERBS["dying"], VERBS["tying"]) == ("die", "tie")


def test_long_words_are_read_too_and_no_letter_is_cut_off() -> None:
    assert repaired("responsibilitties") == "responsibilities"
    assert [repaired(word) for word in ("kamera", "sinema", "jiraffe")] == ["camera", "cinema", "giraffe"], "letters of one sound"
    assert repaired("akettle") == "akettle"
    assert repaired("inthe") == "in the"


@pytest.mark.parametrize(
    ("word", "meant"),
    [("leev", "leave"), ("moov", "move"), ("by", "buy"), ("sea", "see"), ("zorple", "zorple"), ("whimper", "whimper"), ("up", "up")],
)
def test_where_a_verb_must_stand_a_word_is_read_as_one(word: str, meant: str) -> None:
    assert base_meant(word) == meant


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("wheres my coat, mate", "where is my coat"),
        ("did i take it, do you reckon, love?", "did i take it?"),
        ("what on earth is that", "what is that"),
        ("whatcha doing", "what did you doing"),
        ("were did i put it", "where did i put it"),
        ("wear did i put it", "where did i put it"),
        ("were there cats", "were there cats"),
        ("wich draw is it in", "which drawer is it in"),
        ("did i draw a cat", "did i draw a cat"),
        ("when dose it close", "when does it close"),
        ("did i turn of the oven", "did i turn off the oven"),
        ("is it taller then the tree", "is it taller than the tree"),
        ("where did i put me glasses", "where did i put my glasses"),
        ("did he give me the keys", "did he give me the keys"),
        ("the remote's gone", "the remote has gone"),
        ("what was he banging on about", "what was he saying about"),
        ("DID I LOCK THE DOR", "did i lock the door"),
        ("any one there", "anyone there"),
        ("which stall was it?", "which stall was it?"),  # no tag
        ("you saw it, didn't you?", "whether you saw it"),
    ],
)
def test_what_is_spoken_is_written_plainly(text: str, plain: str) -> None:
    assert normalise(text)[0] == plain


@pytest.mark.parametrize(
    ("text", "notes"),
    [
        ("I'm late, where's Tom", ()),
        ("wheres tom", ()),
        ("the docter", ('read "docter" as "doctor"',)),
        ("Hav you seen it", ('read "Hav" as "have"',)),
        ("Is Recieve open", ()),  # a name
        ("Recieve it", ('read "Recieve" as "receive"',)),
        (
            f"I was out. Is it late? Where is the {'long ' * 150}mug? Thank you.",
            (f'the question is long; only this part was read: "Where is the {"long " * 13}lo..."',),
        ),
        ("x" * 600, ()),
        ("x" * 601, (f'the question is long; only this part was read: "{"x" * 80}..."',)),
    ],
)
def test_only_what_was_read_as_another_word_is_noted(text: str, notes: tuple[str, ...]) -> None:
    assert normalise(text)[1] == notes


def test_what_is_asked_behind_a_hundred_thousand_characters_is_not_read() -> None:
    """Its time grows with its length: searched for a question from every character on, it would take half a minute."""
    for length, read in ((99_000, True), (100_000, False)):
        plain, notes = normalise(f"{'x ' * (length // 2)}. Where is the mug?")
        assert ((plain == "where is the mug?"), len(notes)) == (read, 1)


SPOKEN = [
    ("crikey, when did I last water the ferns", {"kind": "when", "things": ("ferns",), "predicate": "watered"}),
    ("sorry to bother you but where did I leave my stick?", {"kind": "where", "things": ("stick",), "predicate": ""}),
    ("nah but seriously where's my wallet", {"kind": "where", "things": ("wallet",)}),
    ("just wondering if the postman's been yet", {"kind": "yes_no", "person": "postman", "things": ()}),
    (
        "so I was gonna ask, did the kiddo eat his sandwich",
        {"things": ("sandwich",), "person": "kiddo", "predicate": "eaten", "hint": "none"},
    ),
    ("that geezer in the pub, what was his name", {"kind": "who", "person": "geezer", "predicate": "named", "things": ()}),
    ("that bloke who fixed the boiler, what was he called", {"person": "bloke who fixed the boiler", "predicate": "named"}),
    ("the gaffer, when did he leave", {"person": "gaffer", "things": ()}),
    ("can't find me slippers anywhere, seen them?", {"kind": "where", "things": ("slippers",)}),
    ("remember that tall lad from the gym, what's his name", {"kind": "who", "person": "tall lad from the gym"}),
    ("remember that the key is under the mat", {"kind": "command", "things": ("key",)}),
    ("no milk left?", {"kind": "yes_no", "negated": True, "things": ("milk",), "predicate": "left"}),
    ("where did I dump my bag", {"things": ("bag",), "predicate": ""}),
    ("did she dump her bag", {"predicate": "dumped", "person": "she"}),
    ("what was she on about", {"hint": "said", "person": "she", "predicate": ""}),
    ("did I ever sort out that parcel", {"things": ("parcel",), "predicate": "sorted out"}),
]


@pytest.mark.parametrize(("text", "meant"), SPOKEN, ids=[text for text, _ in SPOKEN])
def test_a_question_as_it_is_spoken(text: str, meant: dict[str, object]) -> None:
    check(text, meant)


CLAUSES = [
    # relative clauses
    ("Is that the book I bought", {"things": ("book",), "predicate": "bought"}),
    # sentences before the question
    ("I had my purse in the taxi, so where did I leave it?", {"kind": "where", "things": ("purse",), "place": ""}),
    ("I was at the market, but which stall was it?", {"kind": "which", "things": ("stall",), "place": ""}),
    ("Did I switch off the iron, and where did I put it?", {"kind": "yes_no", "things": ("iron",), "predicate": "switched off"}),
    ("were there cats on the wall, how many?", {"kind": "how_many", "things": ("cats",)}),
    ("earlier today, who was at the till?", {"kind": "who", "place": "at the till"}),
    ("The day I lost my glove, which way did I go?", {"clause": "the day i lost my glove"}),
    ("As I was leaving the shop, did I have my umbrella?", {"things": ("umbrella",), "clause": "as i was leaving the shop"}),
    ("where was I when I wrote the letter", {"hint": "none"}),  # what was written is no part of what is asked
    ("Did I take my pills, and if so how many?", {"kind": "yes_no", "things": ("pills",)}),
    # comparisons
    ("Are there more red apples than green ones?", {"things": ("red apples", "green ones"), "predicate": "more"}),
    ("Was the kettle to the left of the toaster?", {"predicate": ""}),  # a toaster is no comparison
    ("Are these the same shoes I wore?", {"things": ("shoes",), "predicate": "same as worn"}),
    ("Which one is older, the piano or the violin?", {"choices": ("piano", "violin"), "things": ("piano", "violin"), "predicate": "older"}),
    ("who left earlier, the boss or the intern", {"kind": "order", "person": "boss; intern", "predicate": "left earlier"}),
    ("Was I sitting or standing?", {"kind": "which", "things": (), "predicate": "sitting or standing"}),
    # states and deeds
    ("how many were green?", {"things": (), "predicate": "green"}),
    ("How many eggs are left in the fridge?", {"predicate": "left", "place": "in the fridge"}),
    ("how long was I stuck in traffic", {"predicate": "stuck"}),
    ("Has the landlord been round?", {"person": "landlord", "predicate": "been round"}),
    ("Has my boss seen the report?", {"predicate": "has seen", "hint": "none"}),
    ("Have I seen the report?", {"predicate": "", "hint": "seen"}),
    ("How many glasses of water have I had", {"things": ("glasses of water",), "predicate": "drunk"}),
    ("What did I use to fix the chair?", {"things": ("chair",), "predicate": "used"}),
    ("how long did it take me to peel the potatoes", {"things": ("potatoes",), "predicate": "peeled"}),
    ("did the missus pick up the dry cleaning", {"things": ("dry cleaning",), "predicate": "picked up"}),
    ("what was the car that nearly hit me", {"things": ("car",)}),
    ("how many bags did we check in", {"predicate": "checked in"}),
    ("which drawer did I put it in", {"things": ("drawer",), "predicate": ""}),
    ("Who sat behind me on the bus?", {"place": "on the bus", "predicate": "sat behind"}),
    # persons and places
    ("who gave the kids sweets", {"things": ("sweets",), "person": "kids"}),
    ("Who was the man in the grey suit?", {"things": ("grey suit",), "person": "man in the grey suit", "place": ""}),
    ("Who was the man in the hall?", {"things": (), "person": "man", "place": "in the hall"}),
    ("Have I ever been to Cardiff?", {"person": "", "place": "to cardiff", "predicate": "been"}),
    ("did I go to the dentist", {"person": "", "place": "to the dentist"}),
    ("did I talk to the dentist", {"person": "dentist", "place": ""}),
    ("did I give the keys to Anna", {"person": "Anna", "place": ""}),
    ("who else was there", {"place": "there"}),
    ("was there a cat", {"place": "", "things": ("cat",)}),
    ("what was on her shirt", {"person": ""}),
    ("what was my dentist's name", {"kind": "who", "person": "dentist", "predicate": "named"}),
    # reading
    ("Was there a date on the packet?", {"hint": "read"}),
    ("Where did I put the receipt?", {"hint": "none"}),
    ("What did the board show?", {"hint": "read", "things": ("board",)}),
    ("what's the price on the label of that lamp", {"things": ("label", "lamp"), "predicate": "price"}),
    ("what was the title of the film", {"things": ("film",), "predicate": "title"}),
    ("What was I reading on the train?", {"things": (), "place": "on the train", "predicate": "read"}),
    ("what did I have for breakfast", {"things": (), "clause": "for breakfast"}),
    # commands
    ("Remind me to buy bread", {"kind": "command", "things": ("bread",), "predicate": "remind"}),
    ("Could you remind me to buy bread?", {"kind": "command", "things": ("bread",), "predicate": "remind"}),
    ("Send this picture to Mum", {"kind": "command", "things": ("picture",), "person": "Mum"}),
    ("Delete the photos of my neighbour", {"things": ("photos of neighbour",), "person": "neighbour"}),
    ("Put milk on the shopping list", {"kind": "command", "things": ("milk",), "predicate": "put"}),
    ("Tell my wife I'm late", {"kind": "command", "person": "wife", "predicate": "tell"}),
    ("Set a timer for ten minutes", {"things": ("timer",), "clause": "for ten minutes"}),
    ("any others?", {"kind": "other", "things": ()}),
    ("number of times the baby woke up", {"kind": "how_many", "things": (), "person": "baby", "predicate": "woken up"}),
    ("How many of those were there?", {"things": ("those",)}),
    ("Share yesterday's walk with Mum", {"things": ("walk",), "person": "Mum"}),
    ("Was in the drawer a spoon?", {"things": ("spoon",), "place": "in the drawer", "predicate": ""}),
    ("Was that a play or dance?", {"things": ("play", "dance"), "predicate": ""}),
]


@pytest.mark.parametrize(("text", "meant"), CLAUSES, ids=[text for text, _ in CLAUSES])
def test_the_parts_of_a_question(text: str, meant: dict[str, object]) -> None:
    check(text, meant)


@pytest.mark.parametrize(
    ("word", "comparative", "adverb"),
    [
        ("taller", True, False),
        ("better", True, False),
        ("toaster", False, False),
        ("nearly", False, True),
        ("family", False, False),
    ],
)
def test_what_kind_of_word_it_is(word: str, comparative: bool, adverb: bool) -> None:
    assert (lexicon.is_comparative(word), lexicon.is_adverb(word)) == (comparative, adverb)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("what did I eat the evening before last", "the evening before last"),
        ("was I reading at about half nine", "at about half nine"),
        ("what was there an hour and a half ago", "an hour and a half ago"),
        ("which film the weekend before last", "the weekend before last"),
        ("is it done by friday", "by friday"),
        ("share yesterday's walk", "yesterday"),
    ],
)
def test_times_as_they_are_said(text: str, said: str) -> None:
    time = parse(text).time
    assert time is not None
    assert time.said == said
