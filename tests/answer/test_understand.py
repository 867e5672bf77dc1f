"""What a person means, in many wordings."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgemem.answer.understand import Parsed
from edgemem.answer.understand import understand as parse
from edgemem.answer.understand.normal import LIMIT_CHARS
from edgemem.answer.understand.spelling import repaired
from edgemem.answer.understand.wordings import pattern
from edgemem.errors import UsageError

CASES: list[tuple[str, dict[str, object]]] = [
    # where
    ("Where did I leave the mug?", {"kind": "where", "target": "mug"}),
    ("where's my wallet", {"kind": "where", "target": "wallet"}),
    ("Where did I last see my red mug?", {"kind": "where", "target": "red mug", "ordinal": -1}),
    ("In which room was the piano?", {"kind": "where", "target": "piano"}),
    ("Could you please tell me where I left my umbrella?", {"kind": "where", "target": "umbrella"}),
    ("I can't remember where I put my keys", {"kind": "where", "target": "keys"}),
    ("the mug, where did I leave it?", {"kind": "where", "target": "mug"}),
    ("Where was I when I saw the cat?", {"kind": "where", "target": "", "relation": "while", "anchors": ("cat",)}),
    ("Where was I at 10:05?", {"kind": "where", "target": ""}),
    ("Where was the cat at 10:05?", {"kind": "where", "target": "cat"}),
    ('Where did I see the sign "ROOM 214"?', {"kind": "where", "target": "room 214", "quote": "room 214"}),
    # when
    ("What time did the motorbike show up?", {"kind": "when", "target": "motorbike"}),
    ("What time was it when the frog showed up?", {"kind": "when", "target": "frog"}),
    ("When was the last time I saw the coffee cup?", {"kind": "when", "target": "coffee cup", "ordinal": -1}),
    ("When did the horse first appear?", {"kind": "when", "target": "horse", "ordinal": 1}),
    ("When did I see a cat the second time?", {"kind": "when", "target": "cat", "ordinal": 2}),
    ("When did I drive the car?", {"kind": "when", "target": "car"}),
    ("How long ago did I see the dog?", {"kind": "when", "target": "dog"}),
    ("When is the jazz night?", {"kind": "when", "target": "jazz night", "time": None}),
    # did I ever
    ("Have I seen a cat today?", {"kind": "yes_no", "target": "cat"}),
    ("Was there ever a bicycle?", {"kind": "yes_no", "target": "bicycle"}),
    ("Is there any cat?", {"kind": "yes_no", "target": "cat"}),
    ("Did the train come by this morning?", {"kind": "yes_no", "target": "train"}),
    ("any cats?", {"kind": "yes_no", "target": "cats"}),
    ("Is there a cat in the kitchen?", {"kind": "yes_no", "target": "cat", "place": "in the kitchen"}),
    ("Did I see the cat before the rocket?", {"kind": "yes_no", "target": "cat", "relation": "before", "anchors": ("rocket",)}),
    ("Did I see the word EXIT?", {"kind": "yes_no", "target": "exit", "quote": "exit"}),
    # order and choice
    ("Which came first, the cat or the rocket?", {"kind": "order", "ordinal": 1, "choices": ("cat", "rocket")}),
    ("What did I see first: the cat or the rocket?", {"kind": "order", "ordinal": 1, "choices": ("cat", "rocket")}),
    ("Which appeared last, the horse, the cat or the coin?", {"kind": "order", "ordinal": -1, "choices": ("horse", "cat", "coin")}),
    ("Did the cat appear before or after the rocket?", {"kind": "order", "target": "cat", "anchors": ("rocket",)}),
    ("Did I see a cat or a dog?", {"kind": "which", "choices": ("cat", "dog")}),
    ("Which of these did I see?", {"kind": "which", "target": ""}),
    ("Which one of these things came last?", {"kind": "order", "ordinal": -1}),
    # how many, how long
    ("How many times did I see the cat?", {"kind": "how_many", "target": "cat", "counts": "times"}),
    ("How often did I see a motorbike?", {"kind": "how_many", "target": "motorbike", "counts": "times"}),
    ("How many people were there?", {"kind": "how_many", "target": "people", "counts": "at_once"}),
    ("How many cars are in the picture at minute 3?", {"kind": "how_many", "target": "cars", "counts": "at_once"}),
    ("How long was the cat visible?", {"kind": "how_long", "target": "cat"}),
    # text
    ("What did the blue sign say?", {"kind": "what", "hint": "read", "target": "blue sign"}),
    ("What was the room number?", {"kind": "what", "form": "number", "hint": "none"}),
    ("What was written on the whiteboard?", {"kind": "what", "hint": "read", "things": ("whiteboard",)}),
    ("What text was shown at 10:02:30?", {"kind": "what", "hint": "read"}),
    ("What was the wifi password?", {"kind": "what", "form": "code", "target": "wifi password"}),
    ("How much was the coffee?", {"kind": "what", "form": "price", "target": "coffee"}),
    ("Whose name was on the door?", {"kind": "who", "form": "name"}),
    ("What sign did I see after the cat?", {"kind": "what", "hint": "read", "relation": "after", "anchors": ("cat",)}),
    ("Was there a sign for the kitchen, and what did it say?", {"kind": "what", "hint": "read"}),
    ("Who was on the badge?", {"kind": "who", "form": "name", "place": "on the badge"}),
    # scenes
    ("What did I see right after the coffee?", {"kind": "what", "target": "", "relation": "after", "anchors": ("coffee",)}),
    ("After the coffee, what did I see?", {"kind": "what", "relation": "after", "anchors": ("coffee",)}),
    ("What came right before the cat?", {"kind": "what", "relation": "before", "anchors": ("cat",)}),
    ("What happened between the cat and the rocket?", {"kind": "summary", "relation": "between", "anchors": ("cat", "rocket")}),
    ("What was there after the frog and before the owl?", {"kind": "what", "relation": "between", "anchors": ("frog", "owl")}),
    ("What was next to the laptop?", {"kind": "what", "relation": "side", "anchors": ("laptop",)}),
    ("What was on the table?", {"kind": "what", "relation": "side", "anchors": ("table",)}),
    ("What was on screen at 00:02:14?", {"kind": "what", "target": ""}),
    ("What colour was the car?", {"kind": "what", "target": "car", "form": "colour"}),
    ("What was the first thing I saw?", {"kind": "what", "target": "", "ordinal": 1}),
    ("Describe what I saw this morning.", {"kind": "summary", "target": ""}),
    # find
    ("Show me the last time I saw a cat.", {"kind": "where", "target": "cat", "ordinal": -1}),
    ("red mug", {"kind": "where", "target": "red mug"}),
    ("Find me a picture of a dog", {"kind": "where", "target": "dog"}),
    # typos, case, another language: still a search for the words
    ("wher did i leav the mug", {"kind": "where", "target": "mug"}),
    ("WAHT DID I SEE YESTERDY", {"kind": "what", "target": ""}),
    ("Wo ist meine Tasse?", {"language": "de"}),
    ("Have I come across a trash can?", {"kind": "yes_no", "target": "trash can"}),
    ("When did the red car drive past?", {"kind": "when", "target": "red car"}),
    ("Tell me the time I saw a giraffe.", {"kind": "when", "target": "giraffe"}),
    ("In total, how many times was the cat on screen?", {"kind": "how_many", "target": "cat"}),
    ("Is it true that I saw a camel?", {"kind": "yes_no", "target": "camel"}),
    ("What thing followed the frog?", {"kind": "what", "relation": "after", "anchors": ("frog",)}),
    ("What's the colour of the balloon?", {"kind": "what", "target": "balloon", "form": "colour"}),
    ("Was the balloon red?", {"kind": "yes_no", "target": "red balloon"}),
    ("What was to the left of the lamp?", {"kind": "what", "relation": "side", "anchors": ("lamp",)}),
    ("Can you read the sign for me?", {"kind": "what", "hint": "read", "target": "sign"}),
    # words of content that look like function words stay
    ("When did I see the whale?", {"kind": "when", "target": "whale"}),
    ("Where is the first aid kit?", {"kind": "where", "target": "first aid kit", "ordinal": 0}),
]


@pytest.mark.parametrize(("text", "expected"), CASES, ids=[text for text, _ in CASES])
def test_a_wording_is_understood(text: str, expected: dict[str, object]) -> None:
    parsed = parse(text)
    assert {name: getattr(parsed, name) for name in expected} == expected


SLOTS: list[tuple[str, dict[str, object]]] = [
    ("When did I buy milk?", {"things": ("milk",), "predicate": "bought", "verb": "buy"}),
    ("What time did I leave the house?", {"things": ("house",), "predicate": "left"}),
    ("Where did I put the stapler?", {"things": ("stapler",), "predicate": ""}),
    ("who came round a week ago on Friday?", {"things": (), "predicate": "came round"}),
    ("How many cups of coffee did I drink today?", {"things": ("cups of coffee",), "predicate": "drunk"}),
    ("Did I close the bedroom window?", {"things": ("bedroom window",), "predicate": "closed"}),
    ("Is the back gate locked or open?", {"things": ("back gate",), "predicate": "locked or open"}),
    ("Are the tyres on the trailer flat", {"things": ("tyres",), "place": "on the trailer", "predicate": "flat"}),
    ("Is my passport on the shelf above the desk?", {"things": ("passport",), "place": "on the shelf above the desk"}),
    ("What did Sarah say about the party?", {"things": ("party",), "person": "Sarah", "hint": "said"}),
    ("was she there as well?", {"person": "she", "follows": False}),
    ("where is she?", {"person": ""}),
    ("Who was sitting next to Oliver?", {"person": "Oliver", "predicate": "sat next to"}),
    ("When did I start ironing?", {"predicate": "started ironing"}),
    ("How long did I spend cooking dinner?", {"things": ("dinner",), "predicate": "cooked"}),
    ("How often did the phone ring?", {"things": ("phone",), "predicate": "rung"}),
    ("Total number of phone calls before noon?", {"things": ("phone calls",), "predicate": ""}),
    ("how often did I check my phone today", {"things": ("phone",), "predicate": "checked"}),
    ("Which of the two keys was rusty?", {"things": ("keys",), "predicate": "rusty"}),
    ("Have I still not replied to the landlord?", {"negated": True, "person": "landlord", "predicate": "replied to"}),
    ("Didn't I put the keys in the bowl?", {"negated": False, "things": ("keys",), "place": "in the bowl"}),
    ("I know I had the keys, but where did they go?", {"kind": "where"}),
    ("The pelican, was that just the once or more? How many?", {"kind": "how_many", "things": ("pelican",)}),
    ("Most recently, when was the milk jug near me?", {"kind": "when", "ordinal": -1, "things": ("milk jug",)}),
    ("What came next once the elephant had gone?", {"relation": "after", "anchors": ("elephant",)}),
    ("Where did I see a pair of scissors?", {"things": ("scissors",)}),
    ("what was the number of the house", {"kind": "what"}),
    ("Delete everything from yesterday", {"kind": "command", "command": "delete"}),
    ("Erase my conversation with Dr. Ahmed", {"things": ("conversation",), "person": "Dr. Ahmed"}),
    ("Summarise my morning", {"kind": "summary", "things": ()}),
    ("List everything I bought this week", {"kind": "list", "predicate": "bought"}),
    ("What did the sign at the ferry say?", {"hint": "read"}),
    ("When did someone say that it was funny?", {"hint": "said", "form": ""}),
    # slips in spelling, and what is said by the way
    ("whre is my pasport", {"kind": "where", "things": ("passport",)}),
    ("have i seen a squirel today", {"things": ("squirrel",)}),
    ("did i lok the frunt door", {"things": ("front door",), "predicate": "locked"}),
    ("did I recieve the baterys", {"things": ("batteries",), "predicate": "received"}),
    ("Where did I see Sadle?", {"person": "Sadle"}),
    ('Did I see the word "pasport"?', {"quote": "pasport"}),
    ("um where did i like put my headphones, any idea", {"kind": "where", "things": ("headphones",)}),
    ("yo what'd Maria want from the store", {"person": "Maria", "place": "from the store", "predicate": "wanted"}),
    ("d'you know where I chucked my gloves", {"kind": "where", "things": ("gloves",), "predicate": ""}),
    ("ain't there any milk left or what", {"kind": "yes_no", "things": ("milk",)}),
    ("tell me about my day in three sentences", {"kind": "summary", "place": ""}),
    # times
    ("where did I park an hour before the concert", {"things": (), "clause": "an hour before the concert", "anchors": ("concert",)}),
    ("two days ago, late evening, which jacket did I wear?", {"kind": "which", "things": ("jacket",)}),
    ("When was the last time before Christmas that I wore the scarf?", {"things": ("scarf",), "clause": "", "predicate": "worn"}),
    ("what did he say just now", {"clause": "just now", "hint": "said"}),
    ("When did the phone ring while I was cooking?", {"things": ("phone",), "clause": "while i was cooking"}),
    ("Did I drink more coffee this week than last week?", {"things": ("coffee",)}),
    # comparing
    ("wich came frist the tram or the taxi", {"kind": "order", "predicate": "came first"}),
    ("Do I see Mark more often than Julia?", {"predicate": "more often", "person": "Mark; Julia"}),
    ("was the red car bigger than the blue one", {"things": ("red car", "blue car"), "predicate": "bigger"}),
    ("Do I have more socks in the drawer or on the line?", {"predicate": "more", "place": "in the drawer or on the line"}),
    ("What is heavier, the red box or the black one?", {"kind": "which", "predicate": "heavier"}),
    # what is asked of a thing or a person
    ("how full is the petrol tank", {"things": ("petrol tank",), "predicate": "full"}),
    ("what was the title of the book", {"things": ("book",), "predicate": "title"}),
    ("what shape is the table", {"things": ("table",), "predicate": "shape"}),
    ("what was the name of the woman", {"kind": "who", "person": "woman", "predicate": "named"}),
    ("Is the bathroom furnished?", {"things": ("bathroom",), "predicate": "furnished"}),
    ("was the path muddy", {"things": ("path",), "predicate": "muddy"}),
    ("was the window still open when I left", {"verb": ""}),
    ("Did my brother bring the drill back?", {"predicate": "brought back"}),
    ("What was I reading on the train?", {"predicate": "read"}),
    ("was the nurse here today", {"place": "here"}),
    ("was there a nurse", {"place": ""}),
    ("Is there anything on top of the fridge?", {"things": (), "place": "on top of the fridge"}),
    ("did I get a letter from Anna", {"things": ("letter",), "person": "Anna", "place": ""}),
    ("Describe the flat", {"things": ("flat",)}),
    ("how many books are on the shelf", {"things": ("books",)}),
    ("on which shelf is the flour", {"kind": "which", "things": ("shelf", "flour")}),
    ("what does my shopping list say", {"hint": "read"}),
    ("What about the blue one?", {"kind": "other", "things": ("blue one",)}),
    ("don't record in the bedroom", {"kind": "command", "predicate": "record", "negated": True}),
    ("stop recording", {"kind": "command", "predicate": "stop recording"}),
]


@pytest.mark.parametrize(("text", "expected"), SLOTS, ids=[text for text, _ in SLOTS])
def test_the_slots_of_a_question_are_filled(text: str, expected: dict[str, object]) -> None:
    parsed = parse(text)
    assert {name: getattr(parsed, name) for name in expected} == expected


def test_a_follow_up_inherits_kind_thing_time_and_form() -> None:
    first = parse("When did I first see the red mug yesterday?")
    second = parse("and the one after?", first)
    assert (second.kind, second.things, second.ordinal, second.time) == ("when", ("red mug",), 2, first.time)
    assert parse("what about the blue one?", parse("Where is the mug?")).things == ("blue mug",)
    assert parse("Where is the cat?", first).things == ("cat",)


@pytest.mark.parametrize("text", ["", "   ", "?!", "\x00\n", "--- ..."])
def test_nothing_asked_is_a_usage_error(text: str) -> None:
    with pytest.raises(UsageError, match="empty"):
        parse(text)


def test_of_a_very_long_question_the_last_asked_sentence_is_read() -> None:
    parsed = parse("I walked around for a while. " * 400 + "Where did I leave the mug?")
    assert (parsed.kind, parsed.target) == ("where", "mug")
    assert any("long" in note for note in parsed.notes)


def test_a_question_is_long_from_601_letters_on() -> None:
    for length, long in ((600, False), (601, True)):
        asked = "where is the mug ".ljust(length, "x")
        assert any("long" in note for note in parse(asked).notes) is long


def test_ten_thousand_letters_without_a_question_end_too() -> None:
    assert len(parse("mug " * 2500).target) <= LIMIT_CHARS


_WORDS = st.sampled_from(
    (
        *(
            "where",
            "when",
            "what",
            "which",
            "who",
            "how",
            "many",
            "did",
            "i",
            "see",
            "the",
            "a",
            "cat",
            "or",
            "dog",
            "before",
            "after",
            "between",
        ),
        *(
            "and",
            "first",
            "last",
            "at",
            "in",
            "on",
            "10:05",
            "minute",
            "12",
            "ago",
            "yesterday",
            "'s",
            '"',
            "'",
            "?",
            ",",
            ":",
            "sign",
            "say",
            "with",
            "a pair of",
            "man",
        ),
    )
)


@settings(max_examples=300)
@given(st.one_of(st.text(max_size=300), st.lists(_WORDS, max_size=25).map(" ".join)))
def test_any_text_is_parsed_or_refused_as_empty(text: str) -> None:
    try:
        parsed = parse(text)
    except UsageError:
        assert not any(character.isalnum() for character in text)
    else:
        assert isinstance(parsed, Parsed)


def test_many_words_in_a_row_are_read_at_once() -> None:
    """A pattern that divides them in every way would never come to an end."""
    for begin in ("saffron tin, behind the paprika or up", "which first, the wrench or"):
        assert parse(f"{begin} {'by ' * 100}10%").kind in {"where", "which", "order", "what"}
    assert parse(f"what came {'5m ' * 40}fin").kind == "what"
    assert pattern("WHAT_NOT_WHERE").fullmatch(f"{'red ' * 100}in") is None


MADE_UP = "blicket flumph zorple quibnar snerd glorp frindle wumble zindor pesko hulon grifta tibbet"


@pytest.mark.parametrize("word", [*MADE_UP.split(), "brolly", "loft", "scissors", "among", "fridge", "mugs", "form"])
def test_a_word_that_is_no_slip_of_another_stays(word: str) -> None:
    assert repaired(word) == word


@pytest.mark.parametrize(
    ("slip", "meant"),
    [("pakage", "package"), ("medecine", "medicine"), ("nieghbours", "neighbours"), ("yestrday", "yesterday"), ("suitcaes", "suitcase")],
)
def test_a_slip_is_put_right(slip: str, meant: str) -> None:
    assert repaired(slip) == meant


def test_what_was_repaired_is_said() -> None:
    assert parse("whre is my pasport?").notes == ('read "whre" as "where"', 'read "pasport" as "passport"')
    assert parse("where is my passport, didnt you see it").notes == ()
    assert parse("did I meet Pasport").notes == ()


def test_what_is_told_and_names_nothing_need_not_be_held() -> None:
    ashamed = parse("I should be ashamed to get it wrong, so what do they call their little cat?")
    assert set(ashamed.words) == {"little", "cat", "call"}
    assert "stop" in parse("We were going to stop and buy some stuff, tell me what").words, "the question itself has no word"
    assert "car" in parse("I remember our car is beside a pillar, so what colour was the pillar?").words
