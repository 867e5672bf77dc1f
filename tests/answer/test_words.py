"""Comparing words, spelling, languages, follow-ups, people and the short texts of answers: tables of inputs and what comes out."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from lemminflect import getInflection

from edgemem.answer import compose
from edgemem.answer.retrieve import Query
from edgemem.answer.say import base
from edgemem.answer.sights import SeenName
from edgemem.answer.tools import Scene
from edgemem.answer.tools_graph import Hear, HearTool, Relate, RelateTool, match_entities, relation_text, utterances
from edgemem.answer.understand import lexicon, understand, words
from edgemem.answer.understand.languages import language_of
from edgemem.answer.understand.lexicon import PARTICIPLES, VERBS
from edgemem.answer.understand.normal import take_quote, take_vague
from edgemem.answer.understand.people import Asked, read_asked, read_statement, same_verb
from edgemem.answer.understand.relations import place_in_row, pointed_relation, take_ordinal, take_relation
from edgemem.answer.understand.spelling import repaired
from edgemem.clock import from_iso
from edgemem.records import US, Entity, Quote
from edgemem.remember.entries import NewDocument, NewEntity, NewRelation
from edgemem.remember.store import Store
from edgemem.remember.view import View
from tests.answer.conftest import START_US
from tests.answer.test_limits import episode, evidence, reading


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ("twenty one", "21"), ("twenty zero", "20 0"), ("thirty second", "30 2"), ("one second", "1 2"), ("o two three", "o 2 3"),
        ("five o two", "502"), ("1 2 3 go", "123 go"), ("1 2 go", "1 2 go"), ("twenty one two", "21 2"), ("once twice thrice", "1 2 3"),
        ("forty second street", "40 2 street"), ("a second mug", "a 2 mug"), ("ninety nine", "99"), ("ten one", "10 1"),
        ("twelve three four", "12 3 4"), ("eleven twelve thirteen", "11 12 13"), ("one o", "1 0"),
        ("Dr. Wu, Mill Rd", "doctor wu mill road"), ("max sat in the sun", "max sat in the sun"),
    ],
)  # fmt: skip
def test_numbers_in_words(said: str, written: str) -> None:
    assert " ".join(words.numbered(said)) == written


@pytest.mark.parametrize(
    ("query", "text", "share"),
    [
        ("exit", "EXIT C", 1.0), ("exit c", "EXlTC", 1.0), ("the sign exit", "EXIT", 1.0), ("sign", "EXIT", 0.0), ("", "EXIT", 0.0),
        ("exit", "", 0.0), ("exit gate", "EXIT", 0.5), ("bakery", "BAKERV", 5 / 6), ("abc", "xabcx", 0.0), ("abcd", "xabcdx", 1.0),
        ("cat", "cats", 6 / 7), ("go", "got", 0.0), ("gate", "gets", 0.0), ("platform", "platforms9", 1.0), ("door", "d00r", 1.0),
        ("mango", "mangoxyz", 1.0), ("abcde", "abcxyde", 5 / 6), ("abcde", "abcxyzde", 0.0),
    ],
)  # fmt: skip
def test_how_much_of_a_query_a_text_holds(query: str, text: str, share: float) -> None:
    assert words.likeness(query, text) == pytest.approx(share)


@pytest.mark.parametrize(
    ("word", "its_root"),
    [("cats", "cat"), ("boxes", "box"), ("running", "run"), ("stopped", "stop"), ("cities", "city"), ("bus", "bus"), ("being", "being"),
     ("egg", "egg"), ("wine", "win"), ("anna's", "anna"), ("add", "add"), ("fell", "fel")],
)  # fmt: skip
def test_the_root_of_a_word(word: str, its_root: str) -> None:
    assert words.root(word) == its_root


@pytest.mark.parametrize(
    ("text", "number"),
    [("two cats", 2), ("I saw 12 of them", 12), ("none", None), ("", None), ("twenty", 20), ("the last 3 or four", 3), ("12ab", 12),
     ("Once", 1)],
)  # fmt: skip
def test_the_first_number(text: str, number: int | None) -> None:
    assert words.number_in(text) == number


def test_short_helpers_of_words() -> None:
    assert words.spaced("ROOM384 7May B12 12kg") == "ROOM 384 7 May B12 12kg"
    assert words.content_words("the red mug") == ["red", "mug"]
    assert words.content_words("who is it") == ["who", "is", "it"]
    assert words.wanted_words("the sign of the bakery") == ["bakery"]
    assert words.wanted_words("the sign") == ["sign"]
    assert [words.singular(one) for one in ("wine glasses", "people", "red cats", "mice", "men")] == [
        "wine glass", "person", "red cat", "mouse", "person",
    ]  # fmt: skip
    assert words.similar_texts("EXIT C", "EXlTC") == 1.0


@pytest.mark.parametrize(
    ("slip", "meant"),
    [
        ("teh", "the"), ("cofee", "coffee"), ("coffeee", "coffee"), ("wherre", "where"), ("gardne", "garden"), ("telefone", "telephone"),
        ("bottels", "bottles"), ("umbrela", "umbrella"), ("kichen", "kitchen"), ("ab", "ab"),
        ("b2b4", "b2b4"), ("frist", "first"), ("befor", "before"), ("jacked", "jacked"), ("kat", "kat"),
        ("seperate", "separate"), ("lcok", "lock"), ("niece", "niece"), ("goldwater", "goldwater"),
    ],
)  # fmt: skip
def test_slips_of_the_pen(slip: str, meant: str) -> None:
    assert repaired(slip) == meant


def test_a_long_noun_is_meant_however_rare() -> None:
    assert [repaired(word) for word in ("snakewood", "frogfish", "frogfishes")] == ["snakewood", "frogfish", "frogfishes"]
    assert repaired("cristal") == "crystal", "of seven letters it may be a slip"


@pytest.mark.parametrize("length", [29, 30, 31, 99, 100, 4000])
def test_a_word_of_any_length_is_read(length: int) -> None:
    assert repaired("x" * length) == "x" * length
    assert understand(f"where is the {'x' * length}").kind == "where"


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("where is the mug", "en"), ("wo ist die Tasse", "de"), ("¿dónde está?", "es"), ("où est le chat", "fr"), ("我的猫", "zh"),
        ("猫 cat", "en"), ("猫猫猫 cat", "en"), ("猫猫猫猫 cat", "zh"), ("кот cat", "en"), ("коты cat", "?"), ("Grüße", "de"),
        ("die", "en"),
        ("die mug is where", "en"), ("123", "en"), ("el", "en"), ("el gato", "en"), ("el la", "es"), ("señor", "es"), ("façade", "fr"),
        ("the façade is where", "en"), ("wo ist the", "de"), ("wo the mug", "en"),
        ("wo ist the where", "en"),
        ("äöü", "de"), ("łżź", "en"), ("abc łżź где", "en"),
    ],
)  # fmt: skip
def test_which_language_it_is(text: str, language: str) -> None:
    assert language_of(text) == language


@pytest.mark.parametrize(
    ("first", "second", "slots"),
    [
        ("When did I see the red mug?", "and the one before?", {"kind": "when", "things": ("red mug",), "ordinal": -2}),
        ("When did I see the red mug?", "and the one after?", {"ordinal": 2}),
        ("When did I see the red mug?", "any earlier?", {"ordinal": -2, "things": ("red mug",)}),
        ("When did I see the red mug?", "any later ones?", {"ordinal": 2}),
        ("When did I see the mug?", "what about the blue one?", {"kind": "when", "things": ("blue mug",), "follows": False}),
        ("When did I see the mug?", "and the cup?", {"kind": "when", "things": ("cup",)}),
        ("Where was the mug yesterday?", "and the cup?", {"kind": "where", "form": "place"}),
        ("When did I see the mug in the hall?", "and where was it?", {"kind": "where", "place": "in the hall", "form": "place"}),
        ("What colour was the mug?", "and the first one?", {"kind": "what", "things": ("mug",), "form": "colour", "ordinal": 1}),
        ("When did I see the mug?", "and the last one?", {"kind": "when", "things": ("mug",), "ordinal": -1}),
    ],
)  # fmt: skip
def test_what_a_follow_up_takes_over(first: str, second: str, slots: dict[str, Any]) -> None:
    parsed = understand(second, understand(first))
    assert {name: getattr(parsed, name) for name in slots} == slots


def asked(wanted: Any, types: str = "", source: str = "", target: str = "", **more: Any) -> Asked:
    return Asked(wanted=wanted, types=tuple(types.split()), source=source, target=target, **more)


def test_what_a_command_is_about() -> None:
    assert understand("Delete the blue notes about cats").words == ("blue", "notes", "cats")


USE, DO = "USES INTERACTS_WITH", "INTERACTS_WITH USES"


@pytest.mark.parametrize(
    ("body", "meant"),
    [
        ("who did i talk to", asked("who", "TALKS_TO", "me")),
        ("who talked to me", asked("who", "TALKS_TO", "", "me")),
        ("who did i last talk to", asked("who", "TALKS_TO", "me", ordinal=-1)),
        ("when did i first use the saw", asked("when", USE, "me", "saw", ordinal=1)),
        ("when did i use the saw", asked("when", USE, "me", "saw")),
        ("when did i last use the first aid kit", asked("when", USE, "me", "first aid kit", ordinal=-1)),
        ("when was the last time that i used the saw", asked("when", USE, "me", "saw", ordinal=-1)),
        ("when was the first time that i used the saw", asked("when", USE, "me", "saw", ordinal=1)),
        ("who opened the door", asked("who", DO, "", "door", verb="open")),
        ("did ben repair the bike", asked("did", DO, "ben", "bike", verb="fix")),
        ("how often did i drink tea", asked("how_often", USE, "me", "tea", verb="drink")),
        ("what did i use", asked("what", USE, "me")),
        ("what did anna say about the rent", asked("said", "", "anna", about="rent")),
        ("what did the sign say", None),
        ("what did the sign painter say about the rent", asked("said", "", "sign painter", about="rent")),
        ("what did it say", None),
        ("what was the last thing that was said", asked("said", ordinal=-1)),
        ("did they wash it", None),
        ("did i eat it in the end", None),
        ("did i eat that", None),
        ("was it daniel who told me about the rent", asked("did", "", "daniel", about="rent")),
        ("when did she wash it", None),
        ("who washed it", asked("who", DO, verb="wash")),
        ("what number does he wear", None),
        ("which jacket does tom wear", asked("what", USE, "tom", verb="wear")),
        ("did anyone mention the rent", asked("did", "", "", about="rent")),
        ("did i talk to the neighbour", asked("did", "TALKS_TO", "me", "neighbour")),
        ("who was there when i used the saw", asked("with", "", "", about="i used the saw")),
        ("where is the saw", None),
    ],
)
def test_questions_about_people_and_deeds(body: str, meant: Asked | None) -> None:
    assert read_asked(body) == meant


def test_a_thing_in_front_is_what_was_spoken_of() -> None:
    assert understand("The wifi password, what did they say?").asked is None
    assert understand("What did they say?").asked is not None
    assert understand("So, what did Anna say about the rent?").asked == asked("said", "", "anna", about="rent")


def test_statements_about_deeds() -> None:
    assert read_statement("i used the saw") == asked("when", USE, "me", "saw")
    assert read_statement("it rained") is None
    assert same_verb("fix", "I repaired it")
    assert same_verb("drink", "he drank")
    assert not same_verb("drink", "he ate")


def test_forms_of_verbs_that_follow_rules() -> None:
    forms = {
        "tied": "tie", "tying": "tie", "agreeing": "agree", "plays": "play", "cries": "cry", "crying": "cry", "goes": "go", "fixes": "fix",
        "begging": "beg", "baking": "bake", "played": "play", "watches": "watch", "buzzes": "buzz",
        "kisses": "kiss", "washes": "wash",
    }  # fmt: skip
    assert {form: VERBS.get(form, "") for form in forms} == forms
    assert [PARTICIPLES[base] for base in ("cry", "play", "stop", "bake", "agree")] == ["cried", "played", "stopped", "baked", "agreed"]


def test_the_forms_of_every_verb_are_those_of_the_dictionary() -> None:
    british = {"lie", "light", "burn", "spill", "dream", "learn", "mow", "dial", "fit", "ski", "sow"}  # or one of two forms
    own = {"be", "have", "get", "sting", "shampoo", "video"}  # what the rules and the dictionary get wrong
    differ = {
        base
        for base, *forms in lexicon._EVERY
        for tag, form in zip(("VBD", "VBN", "VBG", "VBZ"), forms, strict=True)
        if (known := getInflection(base, tag)) and form not in known
    }
    assert differ == british | own


def test_the_participle_that_names_a_deed() -> None:
    deeds = [
        lexicon.participle(*deed) for deed in (("sharpen", "sharpen"), ("write", "wrote"), ("furnished", "furnished"), ("xand", "xanded"))
    ]
    assert deeds == ["sharpened", "written", "furnished", "xanded"]


# ---------------------------------------------------------------------------------------------------------------------- short texts


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 s"), (-5, "0 s"), (0.4, "0 s"), (59.6, "1 min 0 s"), (45, "45 s"), (134, "2 min 14 s"), (3599, "59 min 59 s"),
     (3600, "1 h 0 min"),
     (3900, "1 h 5 min"), (5400, "1 h 30 min"), (7265, "2 h 1 min")],
)  # fmt: skip
def test_lengths_of_time(seconds: float, text: str) -> None:
    assert compose.span_text(seconds) == text


def test_quotes_articles_and_lists() -> None:
    assert compose.quote('say "hi"\n  now') == "\"say 'hi' now\""
    assert compose.quote("x" * 10, 10) == f'"{"x" * 10}"'
    assert compose.quote("x" * 11, 10) == f'"{"x" * 9}…"'
    assert compose.quote("x" * 300) == f'"{"x" * 300}"'
    assert compose.quote("x" * 301) == f'"{"x" * 299}…"'
    assert [compose.a(one) for one in ("mug", "old mug", "the mug", "old mugs", "my keys", "")] == [
        "a mug",
        "an old mug",
        "a mug",
        "old mugs",
        "my keys",
        "a ",
    ]
    assert [compose.the(one) for one in ("a mug", "my keys", "")] == ["the mug", "my keys", "that"]
    assert [compose.listed(one) for one in ((), ("a",), ("a", "", "b"), ("a", "b", "c"))] == ["", "a", "a and b", "a, b and c"]
    assert compose.at(episode(134), "UTC") == 'at 00:02:14 on Thursday 1970-01-01 (2 min 14 s into "s")'
    assert compose.time_text(from_iso("2026-05-04T22:30:00Z"), "Europe/Berlin") == "00:30:00 on Tuesday 2026-05-05"


def sight(name: str, kind: str = "object", count: int = 1, colour: str = "") -> SeenName:
    return SeenName(kind=kind, name=name, score=0.5, count=count, colour=colour)


def test_what_was_seen_in_words() -> None:
    sights = [
        sight("cup", count=2), sight("coffee cup"), sight("red apple", colour="red"), sight("bowl", colour="blue"), sight("EXIT", "text"),
        sight("brambling", "label", 3, "red"), sight("mug", "label"), sight("vase"), sight("spoon"),
    ]  # fmt: skip
    assert compose.things(sights) == ["2 x cup", "red apple", "blue bowl", "brambling"]
    assert compose.things(sights, 9, ["the mugs", "vase"]) == ["2 x cup", "red apple", "blue bowl", "brambling", "spoon"]
    assert compose.things(sights, 1) == ["2 x cup"]
    cars = [
        SeenName(kind="label", name=name, score=0.8, t0_us=n * 1_000_000)
        for n, name in enumerate(("police car", "sports car", "police car"))
    ]
    assert compose.things(cars, tz="UTC") == ["police car (00:00:00)", "sports car (00:00:01)"], "each name once"


def test_what_was_read_in_a_scene() -> None:
    read = (reading("GATE 18"), reading("GATE 1B", at_s=1), reading("EXIT", at_s=9), reading("x" * 200, at_s=4), reading("BAKERY", at_s=2))
    assert [one.text[:6] for one in compose.distinct_readings(read)] == ["GATE 1", "BAKERY", "xxxxxx"], (
        "the three longest, in order of time"
    )
    assert [one.text for one in compose.distinct_readings([reading("4"), reading("28"), reading("+ T")])] == ["28"]
    board = [reading("or C68 R40 C74"), *(reading(f"{sign} {n}") for n, sign in enumerate(("GATE", "EXIT", "BUS")))]
    assert [one.text for one in compose.distinct_readings(board)] == ["GATE 0", "EXIT 1", "BUS 2"], "print last, though it is longer"
    assert compose.legible("I Q") == 0, "a letter is no word"
    assert [compose.legible(text) for text in ("Gate 56", "or C68 R40", "or F a", "OFFICE use 24 Xyzq", "28")] == [
        1,
        1 / 3,
        1 / 3,
        2 / 3,
        0,
    ]
    assert len(compose.distinct_readings(read, 9)) == 4
    scene = Scene(sights=(sight("cup"),), readings=read)
    assert compose.scene_text(scene) == f'cup; the text "GATE 18", "BAKERY" and "{"x" * 119}…"'
    assert compose.scene_text(Scene(sights=tuple(map(sight, ["cup", "vase", "bowl", "spoon"])))) == "cup, vase, bowl and spoon"
    assert compose.scene_text(Scene()) == ""
    many = Scene(sights=tuple(map(sight, ["cup", "vase", "bowl", "spoon", "fork", "knife", "plate", "pan", "pot", "jug", "tray", "lid"])))
    assert compose.scene_text(many) == "cup, vase, bowl, spoon, fork and knife", "six of a scene"
    assert compose.scene_text(many, tz="UTC").count("(00:00:00)") == 10, "ten of a stretch of time"
    four = [reading("xqzz zqkk kqww wqjj"), *board[1:]]
    assert [one.text for one in compose.distinct_readings(four)] == ["GATE 0", "EXIT 1", "BUS 2"], "four unknown words are print"
    three = [reading("xqzz zqkk kqww"), *board[1:]]
    assert compose.distinct_readings(three)[0].text == "xqzz zqkk kqww", "three may be a name"
    edge = [reading("bus gate exit xqz zqk kqw wqj jqv vqp pqx"), *board[1:]]
    assert compose.distinct_readings(edge)[0].text.startswith("bus gate"), "three known words of ten are no print"
    assert len(compose.distinct_readings([reading("abcdefghij"), reading("abcdefgxyz")])) == 1, "seven in ten are the same"
    half = [reading("abcdefgh"), reading("abcdefxyzq")]
    assert len(compose.distinct_readings(half)) == 2, "alike by less than seven in ten letters"


# ------------------------------------------------------------------------------------------------------------------------ the graph


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    with Store.open(tmp_path / "memory") as store, store.transaction() as tx:
        ids = {name: tx.add_entity(NewEntity(kind=kind, name=name, known_us=START_US)) for kind, name in (
            ("person", "Me"), ("person", "Ben Miles"), ("voice", "speaker 3"), ("object", "mobile phone"), ("object", "phone box"),
            ("object", "saw"), ("location", "garage"),
        )}  # fmt: skip
        for n, (source, type_, target, words) in enumerate((
            ("Me", "USES", "saw", "I use the saw."), ("Ben Miles", "TALKS_TO", "Me", "Hello."), ("Me", "TALKS_TO", "Ben Miles", "Hi."),
            ("Ben Miles", "USES", "saw", ""), ("speaker 3", "INTERACTS_WITH", "garage", "In the garage."),
        )):  # fmt: skip
            t_us = START_US + 100 * n * US
            span = {"stream": "days", "t0_us": t_us, "t1_us": t_us + 10 * US, "known_us": t_us + 10 * US}
            quotes: tuple[Quote, ...] = ()
            if words:
                said = tx.add_document(NewDocument(kind="utterance", text=words, offset_us=n, origin="asr", speaker_id=ids[source], **span))
                quotes = (Quote(text="aside", origin="asr"), Quote(text=words, origin="asr", document_id=said))
            tx.add_relation(
                NewRelation(type=type_, source_id=ids[source], target_id=ids[target], confidence=0.5 + n / 10, quotes=quotes, **span)
            )
    return tmp_path / "memory"


def told(graph: Path, action: Relate) -> list[str]:
    with View.open(graph) as view:
        rows = RelateTool().run(action, view).rows
    return [f"{(row.t0_us - START_US) // US // 100} {row.source} {row.type} {row.target}" for row in rows]


def test_rows_of_the_graph(graph: Path) -> None:
    assert told(graph, Relate(source="me")) == ["0 me USES saw", "2 me TALKS_TO Ben Miles"]
    assert told(graph, Relate(source="ben")) == ["1 Ben Miles TALKS_TO me", "3 Ben Miles USES saw"]
    assert told(graph, Relate(source="ben", target="me")) == ["1 Ben Miles TALKS_TO me"]
    assert told(graph, Relate(source="ben", target="me", either=True)) == ["1 Ben Miles TALKS_TO me", "2 me TALKS_TO Ben Miles"]
    assert told(graph, Relate(source="ben", either=True, type="TALKS_TO")) == ["1 Ben Miles TALKS_TO me", "2 me TALKS_TO Ben Miles"]
    assert told(graph, Relate(target="saws")) == ["0 me USES saw", "3 Ben Miles USES saw"]
    assert told(graph, Relate(type="TALKS_TO")) == ["1 Ben Miles TALKS_TO me", "2 me TALKS_TO Ben Miles"]
    assert told(graph, Relate(from_us=START_US + 305 * US)) == ["3 Ben Miles USES saw", "4 speaker 3 INTERACTS_WITH garage"]
    assert told(graph, Relate(source="clara")) == told(graph, Relate(target="chisel")) == []
    assert len(told(graph, Relate())) == 5
    with View.open(graph) as view:
        rows = RelateTool().run(Relate(target="saw"), view)
        assert (rows.known, RelateTool().run(Relate(source="clara"), view).known) == (True, True)
        assert [(row.quote, row.evidence.id[0], row.evidence.channel) for row in rows.rows] == [
            ("I use the saw.", "d", "speech"),
            ("", "r", "entity"),
        ]
        assert rows.rows[0].evidence.text == 'you used the saw: "I use the saw."'
        assert (rows.rows[1].evidence.text, rows.rows[1].evidence.offset_us) == ("Ben Miles used the saw", 0)


@pytest.mark.parametrize(
    ("phrase", "names"),
    [("phone", ["mobile phone"]), ("ben", ["Ben Miles"]), ("miles ben", ["Ben Miles"]), ("red saw", ["saw"]),
     ("old mobile phone", ["mobile phone"]),
     ("saws", ["saw"]), ("mobile phones", ["mobile phone"]), ("red phones", []),
     ("tall ben miles", []), ("", []), ("box", ["phone box"]), ("speaker 3", ["speaker 3"])],
)  # fmt: skip
def test_which_entities_a_phrase_means(graph: Path, phrase: str, names: list[str]) -> None:
    with View.open(graph) as view:
        assert [one.name for one in match_entities(view, phrase)] == names


def test_what_was_heard(graph: Path) -> None:
    with View.open(graph) as view:

        def heard(**action: Any) -> list[tuple[str, str, float]]:
            return [(row.source, row.quote, row.confidence) for row in HearTool().run(Hear(**action), view).rows]

        assert heard(about="saw") == [("me", "I use the saw.", 1.0)]
        assert heard(about="use garage") == [("me", "I use the saw.", 0.5), ("speaker 3", "In the garage.", 0.5)], "half of the words"
        assert heard(about="use garage chisel") == [], "less than half"
        assert [one[1] for one in heard()] == ["I use the saw.", "Hello.", "Hi.", "In the garage."], "in the order of time"
        assert [one[1] for one in heard(limit=2)] == ["Hi.", "In the garage."], "the newest two"
        assert heard(speaker="ben") == [("Ben Miles", "Hello.", 1.0)]
        assert heard(speaker="ben", about="saw") == heard(speaker="clara") == []
        assert heard(about="?!") == heard()
        assert [one.evidence.text for one in utterances(view, Query(text=""), [], [], 1)] == ["speaker 3: In the garage."]
        assert Query(text="x").holds(0)


@pytest.mark.parametrize(
    ("row", "text"),
    [
        (("Ben", "USES", "wrench", "object"), "Ben used the wrench"), (("me", "TALKS_TO", "Anna", "person"), "you talked to Anna"),
        (("Ben", "INTERACTS_WITH", "Anna", "person"), "Ben did something with Anna"),
        (("Ben", "INTERACTS_WITH", "garage", "location"), "Ben was in the garage"),
        (("Ben", "INTERACTS_WITH", "cup", "object"), "Ben handled the cup"),
        (("speaker 2", "SITS_BESIDE", "someone", "person"), "speaker 2 sits beside someone"),
        (("Me", "MENTIONS", "rent", "concept"), "you spoke of the rent"),
    ],
)  # fmt: skip
def test_a_relation_as_a_sentence(row: tuple[str, str, str, str], text: str) -> None:
    assert relation_text(*row) == text
    assert evidence(1).id == "m1000000"


@pytest.mark.parametrize(
    ("words", "number"),
    [("first earliest initial 1st earlier sooner", 1), ("second 2nd", 2), ("third 3rd", 3), ("fourth 4th", 4), ("fifth 5th", 5),
     ("last latest final finally lastly newest later", -1)],
)  # fmt: skip
def test_places_in_a_row(words: str, number: int) -> None:
    for word in words.split():
        found, rest = take_ordinal(f"the {word} mug")
        assert (found, rest.split()) == (number, ["the", "mug"])
    assert take_ordinal("the most recent mug")[0] == -1
    assert take_ordinal("the second floor") == (0, "the second floor")


@pytest.mark.parametrize(
    ("words", "kinds", "place"),
    [
        ("the second mug", "order", -1), ("the second mug", "when where which", 2), ("the second mug", "what who how_long", 0),
        ("the third mug", "order when what", 3), ("the last mug", "when who", -1), ("which came later", "order", -1),
        ("which came later", "when which", 0), ("the later one", "when which", -1), ("for how long did it last?", "how_long", 0),
        ("how long was the last mug there", "how_long", -1),
        ("the last few mugs", "when list", 0), ("the second of the last few", "when", 2),
        ("where was it before", "where what which who", -2), ("where was it before", "when", 0),
    ],
)  # fmt: skip
def test_what_a_question_says_about_the_place_in_a_row(words: str, kinds: str, place: int) -> None:
    assert {kind: place_in_row(words, kind) for kind in kinds.split()} == dict.fromkeys(kinds.split(), place)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        ("what came next", ("after", "next")), ("what came right after it", ("after", "right after it")),
        ("what was there beforehand", ("before", "beforehand")), ("what came just before it", ("before", "just before it")),
        ("what was next to it", ("side", "next to it")), ("who was along with them", ("side", "along with them")), ("what was it", None),
    ],
)  # fmt: skip
def test_when_or_where_it_was_by_what_is_told_in_front(asked: str, meant: tuple[str, str] | None) -> None:
    assert pointed_relation("the bus went by", asked) == (meant and (meant[0], ("bus",), meant[1]))
    assert pointed_relation("well", asked) is None
    two = pointed_relation("the dog passed the bus", asked)
    assert (two and two[1]) == (meant and ("bus",)), "the last that is named"


@pytest.mark.parametrize(
    ("asked", "rest", "relation", "anchors"),
    [
        ("what was between the bus sign and the flight one", "what was", "between", ("bus sign", "flight sign")),
        ("what was between the old bus sign and the flight one", "what was", "between", ("old bus sign", "flight sign")),
        ("what was between the first and the last look at the mug", "what was", "between", ("first mug", "last mug")),
        ("what was between the first mug and the last one", "what was", "between", ("first mug", "last mug")),
        ("what was between the first mug and the second", "what was", "between", ("first mug", "second mug")),
        ("what was between the first mug and the second time", "what was", "between", ("first mug", "second mug")),
        ("what was between the first time and the second time", "what was", "between", ("first", "second")),
        ("what was between the mug and the first cat", "what was", "between", ("mug", "first cat")),
        ("what was after the last mug", "what was", "after", ("last mug",)),
        ("what was ahead of the tree", "what was", "before", ("tree",)),
        ("was it after the tree that i had the duck", "was it i had the duck", "after", ("tree",)),
        ("what was it", "what was it", "", ()),
    ],
)
def test_what_a_question_relates_to(asked: str, rest: str, relation: str, anchors: tuple[str, ...]) -> None:
    assert [one.strip() if isinstance(one, str) else one for one in take_relation(asked, "what")[:3]] == [rest, relation, anchors]


@pytest.mark.parametrize(
    ("asked", "kind", "relation", "clause"),
    [
        ("what was between the mug and the cat", "what", "between", "between the mug and the cat"),
        ("what was just after the mug", "what", "after", "just after the mug"),
        ("what came after i left", "what", "", "after i left"),
        ("what did i see when the phone rang", "what", "while", "when the phone rang"),
        ("i saw the cat while the phone rang", "when", "while", "while the phone rang"),
        ("i saw the cat when the phone rang", "when", "", ""),
    ],
)
def test_a_relation_is_told_as_it_was_said(asked: str, kind: Any, relation: str, clause: str) -> None:
    assert take_relation(asked, kind)[1::2] == (relation, clause)


def test_a_time_that_is_no_interval_is_cut_out_where_more_is_said() -> None:
    assert take_vague("what was it just now") == ("what was it", "just now")
    assert take_vague("just now") == ("just now", "")
    assert take_vague("what was it") == ("what was it", "")


@pytest.mark.parametrize(
    ("asked", "plain", "quote"),
    [
        ('where was the word "EXIT." seen', "where was the word EXIT seen", "EXIT"),
        ("where was the word 'EXIT' seen", "where was the word EXIT seen", "EXIT"),
        ("where is my brother's mug", "where is my brother's mug", ""),
        ('a 5" screen', "a 5  screen", ""),
    ],
)
def test_words_in_quotation_marks_were_read(asked: str, plain: str, quote: str) -> None:
    assert take_quote(asked) == (plain, quote)


def test_an_entity_is_meant_by_any_of_its_names() -> None:
    ben, tom = Entity(id=1, kind="person", name="Ben Miles", aliases=("Captain", "Benny")), Entity(id=2, kind="person", name="Tom")
    view: Any = SimpleNamespace(entities=lambda: [tom, ben])
    assert [match_entities(view, phrase) for phrase in ("captain", "benny", "tom", "anna")] == [[ben], [ben], [tom], []]
    phone, mobile = (Entity(id=n, kind="object", name=name) for n, name in enumerate(("phone", "mobile phone")))
    view = SimpleNamespace(entities=lambda: [phone, mobile, ben])
    found = [match_entities(view, phrase) for phrase in ("mobile phone", "phone", "old phone", "old mobile phone")]
    assert found == [[mobile], [phone, mobile], [phone], [phone, mobile]], "its own last words where nothing else fits"


def test_ten_pieces_of_evidence_are_cited_at_most() -> None:
    assert base.answered("It was.", 1.0, tuple(f"r{n}" for n in range(30))).evidence == tuple(f"r{n}" for n in range(10))


def test_words_of_the_same_matter() -> None:
    assert words.meaning("reminded") == words.meaning("remember")
    assert words.meaning("appointment") == words.meaning("meeting")
    assert words.meaning("mum") == words.meaning("mother")
    assert words.meaning("bought") == words.meaning("buy")
