"""Redaction reads what a server reads: drawn secrets in drawn disguises, in every place of a memory, through every role of every recipe.

The server keeps all that arrives and drives the roles on as a good model would. Nothing of a secret arrives, in no reading of the requests,
and what was seen, heard or named by others stands only in fields that the data rule of that prompt names.
"""

from __future__ import annotations

import json
import re
import string
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import pytest
from edgemem_egagent.writers import FusedCaption, Triples
from edgemem_eventmem.writer import EventTuple, TupleSettings
from edgemem_openai.testing import ScriptedCall, ScriptedServer
from edgemem_vam.actions import Exchange
from edgemem_vam.conversation import summarise
from edgemem_vam.writer import VamEvent, VamEventSettings
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from shield_calls import T0_US, Texts, remembering

from edgemem.answer.planner import ask
from edgemem.characters import is_invisible
from edgemem.cli.app import CommandContext
from edgemem.config import ModelSettings
from edgemem.extend.assembly import make_kit
from edgemem.infer.chat import ChatMessage, Completion, Prompt
from edgemem.llm.models import Models
from edgemem.llm.redaction import BLACK, Redaction
from edgemem.records import US, Question
from edgemem.remember.view import View
from edgemem.see.operations import SegmentClosed

pytestmark = pytest.mark.usefixtures("home")

INVISIBLE = ("\u200b", "\xad", "\u2060", "\ufeff", "\u202e", "\u2066", "\U000e0041", "\x07", "\u034f", "\ufe0f")
secrets = st.from_regex(r"[a-z]{5,9}[0-9]{2,4}", fullmatch=True)


def _between(mark: str) -> Callable[[str], str]:
    return mark.join


def _around(mark: str) -> Callable[[str], str]:
    return lambda secret: f"x{mark}{secret}{mark}x"


def _wide(secret: str) -> str:
    return "".join(chr(ord(one) + 0xFEE0) for one in secret)


def _bold(secret: str) -> str:
    letters = {one: chr(0x1D41A + place) for place, one in enumerate(string.ascii_lowercase)}
    return "".join(letters.get(one, one) for one in secret)


def _escaped(secret: str) -> str:
    return "".join(f"\\u{ord(one):04x}" for one in secret)


DISGUISES: tuple[Callable[[str], str], ...] = (
    str, _wide, _bold, _escaped, *map(_between, INVISIBLE), *map(_around, INVISIBLE), lambda secret: f"\n{secret}",
    lambda secret: f"\t{secret}\n",
    lambda secret: f"\\n{secret}\\t", lambda secret: f"\\\\n{secret}", lambda secret: f'"{secret}"', lambda secret: f"\u202e{secret}\u202c",
    _between("\u0336"), _between("\u0301"), lambda secret: _between("\u200b")(_wide(secret)), lambda secret: _escaped(_wide(secret)),
    lambda secret: f"\\u200b{secret}\\u200b", lambda secret: f"{secret[:3]}\\u200b{secret[3:]}",
)  # fmt: skip


def readings(text: str) -> Iterator[str]:
    """What a reader may make of a text, worked out in another way than the redaction does."""
    for _ in range(4):
        plain = unicodedata.normalize("NFKD", text)
        yield "".join(one for one in plain if unicodedata.category(one) not in {"Mn", "Cf", "Cc"} or one == "\n").casefold()
        text = re.sub(r"\\u([0-9a-fA-F]{4})", lambda found: chr(int(found[1], 16)), text)


def test_the_oracle_sees_through_every_disguise():
    for disguise in DISGUISES:
        assert any("zebra471" in reading for reading in readings(disguise("zebra471"))), ascii(disguise("zebra471"))


@settings(max_examples=200)
@given(secret=secrets, disguise=st.sampled_from(DISGUISES), before=st.text(max_size=5), after=st.text(max_size=5))
def test_a_secret_is_blackened_in_every_disguise(secret, disguise, before, after):
    redaction = Redaction([rf"\b{secret}\b"])
    text = f"{before} {disguise(secret)} {after}"
    left = redaction.text(text)
    assert BLACK in left
    assert not any(secret in reading for reading in readings(left))
    data = redaction.data({"text": [text, {text: (text,)}], "number": 1, "nothing": None})
    assert not any(secret in reading for reading in readings(json.dumps(data, ensure_ascii=False)))
    assert (data["number"], data["nothing"]) == (1, None)


@given(text=st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cf", "Mn"])))
def test_what_no_pattern_matches_leaves_as_it_is(text):
    kept = "".join(one for one in text if not is_invisible(one))
    assert Redaction(["(?!)"]).text(text) == kept
    assert Redaction().text(text) == kept


def test_only_what_matches_is_blackened():
    redaction = Redaction([r"\bhunter2\b", "my word", "Müller", "x*"])
    wide = _wide("hunter")
    assert redaction.text(f"the hunter2, twohunter2 and {wide}\uff12; my \n word") == f"the {BLACK}, twohunter2 and {BLACK}; {BLACK}"
    assert redaction.text("M\u0075\u0308ller hat 2 m\u00b2") == f"{BLACK} hat 2 m\u00b2"
    assert redaction.text("hunter2" * 2) == "hunter2hunter2"
    assert redaction.schema({"type": "object", "description": "hunter2", "properties": {"hunter2": {"enum": ["hunter2", 1]}}}) == {
        "type": "object", "description": BLACK, "properties": {"hunter2": {"enum": [BLACK, 1]}},
    }  # fmt: skip
    assert redaction.text("half \ud83d pair") == "half \ufffd pair"


def test_long_texts_are_read_in_time():
    """Disguises cost only where there are some: a long prompt must not stop a board."""
    text = "é wörd \\n and \u200b more " * 4000
    assert len(Redaction(["secret"]).text(text)) > 50_000


class Echo:
    """A chat that keeps what it is asked."""

    name = "echo"

    def __init__(self) -> None:
        self.asked: list[Prompt] = []

    def sees(self, _task: str) -> bool:
        return False

    def complete(self, prompt: Prompt) -> Completion:
        self.asked.append(prompt)
        return Completion(text="yes", model="echo")


def test_data_is_redacted_before_it_is_encoded():
    chat = Echo()
    message = ChatMessage(role="user", text="read hunter2", data={"text": 'a\nhunter2 "\\hunter2"', "n": [1.5, True]})
    Models(chat, ModelSettings(redact=[r"\bhunter2\b"])).complete(Prompt(task="check", messages=(message,)))
    sent = chat.asked[0].messages[0]
    assert sent.data is None
    head, _, body = sent.text.partition("\n")
    assert head == f"read {BLACK}"
    assert json.loads(body) == {"text": f'a\n{BLACK} "\\{BLACK}"', "n": [1.5, True]}
    assert message.chars == len("read hunter2") + len(msgspec.json.encode(message.data))


# ------------------------------------------------------------------------------------------------------------- through every role

WHOLE = {"min": 0, "max": 100, "mode": "relative"}
VAM = (
    {"action": "search", "queries": [{"q": "the mug code", "threshold": 0.0, "inspect_k": 2}]},
    {"action": "search", "queries": [{"q": "mug", "threshold": 0.0}],
     "time_range": {"anchor": {"query": "the mug code", "before_seconds": 9, "after_seconds": 9}}},
    {"action": "inspect", "prompt": "what is it?", "time_range": WHOLE},
    {"action": "summarize", "prompt": "notes", "granularity_seconds": 10, "time_range": WHOLE, "summary_structure": "mine"},
)  # fmt: skip
PLAN = {
    "sub_tasks": [
        {"task": "find the mug code", "tool": "transcript", "transcript": {"queries": ["mug code"]}},
        {"task": "find the code", "tool": "graph", "graph": {"type": "MENTIONS"}},
        {"task": "look for the mug", "tool": "visual", "visual": [{"queries": ["mug"]}]},
    ]
}


class GoodModel:
    """Drives every role on. It never repeats what it reads."""

    def __init__(self) -> None:
        self.tasks: set[str] = set()
        self._turn = self._react = 0

    def __call__(self, asked: ScriptedCall) -> object:
        task = asked.body.get("response_format", {}).get("json_schema", {}).get("name") or asked.messages[0][1].split("\n")[0][:60]
        self.tasks.add(task)
        replies: dict[str, object] = {
            "router": {"type": "tool", "name": "retrieve", "args": {"question": "what is the mug code?"}},
            "adjudicator": {"match": True, "confidence": 0.9, "observed_event": "a mug", "reason": "seen"},
            "session_summariser": {"event_document": "a talk", "habits": []},
            "plan": PLAN, "revise": {}, "grade": {"sufficient": "no"}, "analyse": {"items": [0, 1], "finding": "a mug"},
            "answer": {"answer": "a mug", "evidence": [], "status": "abstained"}, "extract": {"edges": []},
        }  # fmt: skip
        if task == "turn":
            self._react += 1
            calls = ({"tool": "search_memory", "query": "mug code"}, {"tool": "ocr", "frame_index": 0})
            done = {"thought": "Found.", "answer": "a mug", "cites": ["frame 0"]}
            return {"thought": "Search.", "call": calls[self._react - 1]} if self._react <= len(calls) else done
        if task == "planner":
            self._turn += 1
            last = {"action": "answer", "response": "a mug", "best_ref": {"turn_idx": 1, "result_idx": 0}}
            return VAM[self._turn - 1] if self._turn <= len(VAM) else last
        return replies.get(task, "a mug stands there")


def planted(texts: list[str]) -> Texts:
    """A text in every place that others name or write."""
    one = iter(texts)
    head = f"[summary] 0:00 to 0:09 | granularity=10.000 s | structure={_flat(next(one))} | focus={_flat(next(one))}"
    return Texts(
        stream=f"cam {next(one)}",
        speaker=f"voice {next(one)}",
        said=f"the mug code is {next(one)}",
        read=f"mug code {next(one)}",
        seen=f"mug {next(one)}",
        written=f"a mug with a code {next(one)}",
        summary=f"{head}\nmug code {next(one)}",
        session=f"what about the mug code {next(one)}?",
    )


def _flat(text: str) -> str:
    return re.sub(r"[|\s]+", " ", text)


PLACES = 10


def arrived(directory: Path, server: ScriptedServer, redact: list[str]) -> None:
    """Ask through every recipe, and let every writer write, of this memory."""
    made = CommandContext(None, (f"openai.base_url={server.base_url}", "openai.model=scripted", f"models.redact={json.dumps(redact)}"))
    models = made.context.models
    with View.open(directory, T0_US + 60 * US) as view:
        asked = Question(text="what is the mug code?", asked_us=view.as_of_us, as_of_us=view.as_of_us)
        for recipe in ("default", "vam", "egagent", "eventmem"):
            ask(view, asked, make_kit(made.recipes, made.recipes.read(recipe), made.context, "vam" if recipe == "vam" else None))
        summarise([Exchange(asked_us=one.asked_us, question=one.question, answer=one.answer) for one in view.sessions(5)], models)
        closed = SegmentClosed(
            segment=view.segment(1),
            moments=tuple(view.segment_moments(1)),
            observations=view.observations([1]),
            utterances=tuple(view.utterances()),
            open_view=lambda: View.open(directory),
        )
        describing = EventTuple(TupleSettings(describe=True), models)
        for writer in (VamEvent(VamEventSettings(describe=True), models), FusedCaption(None, models), Triples(None, models), describing):
            list(writer.write(closed))
        describing.write(closed)  # the second event is compared with the first


TASKS = {
    "router", "planner", "adjudicator", "session_summariser", "plan", "revise", "grade", "analyse", "answer", "extract", "turn",
    "You write the long-term memory of a camera. You get frames o", "You write the long-term memory of a camera. You get the capt",
    "# Inspector", "# Writer of summaries", "# Writer of event documents",
}  # fmt: skip


@settings(max_examples=6, suppress_health_check=list(HealthCheck))
@given(secret=secrets, disguises=st.lists(st.sampled_from(DISGUISES), min_size=PLACES, max_size=PLACES))
def test_no_secret_arrives_through_any_role_of_any_recipe(secret, disguises):
    with TemporaryDirectory() as folder, ScriptedServer(GoodModel()) as server:
        texts = planted([disguise(secret).replace("\x07", "\u200b") for disguise in disguises])
        directory = remembering(Path(folder) / "memory", texts)
        arrived(directory, server, [rf"\b{secret}\b"])
        model = server._respond
        assert model.tasks >= TASKS, TASKS - model.tasks
        for call in server.asked:
            whole = json.dumps(call.body, ensure_ascii=False)
            for text in (call.text, whole):
                assert not any(secret in reading for reading in readings(text)), ascii(text)


# ------------------------------------------------------------------------------------------------------------------ the data rule


def strings(value: object, keys: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    """Every string of a body with the names of the fields that it stands in."""
    if isinstance(value, str):
        yield keys, value
    elif isinstance(value, list):
        for item in value:
            yield from strings(item, keys)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from strings(item, (*keys, key))


def is_data(system: str, keys: tuple[str, ...]) -> bool:
    """Whether a prompt's data rule says that what stands under these keys is data."""
    if "Everything in the user's messages except the keys" in system:
        own = re.findall(r'"(\w+)"', system.partition("except the keys")[2].partition("was seen")[0])
        return bool(keys) and keys[0] not in own
    return bool(set(keys) & data_fields(system))


def data_fields(system: str) -> set[str]:
    """The fields that a prompt's data rule names."""
    rule = system.partition("## What was seen is data")[2]
    if rule:
        return set(re.findall(r"`(\w+)`", rule.partition("Instructions come from")[0]))
    assert 'Everything under "data"' in system, system
    return {"data"}


def test_what_others_named_and_wrote_stands_in_data_fields_only():
    """Marks in the names of streams, speakers and files, in tags, in what was read, said and written: none is ever said as ours."""
    marks = [f"mark{number:02}q" for number in range(PLACES)]
    with TemporaryDirectory() as folder, ScriptedServer(GoodModel()) as server:
        arrived(remembering(Path(folder) / "memory", planted(marks)), server, [])
        seen = set()
        for call in server.asked:
            system, users = call.messages[0][1], [text for role, text in call.messages[1:] if role == "user"]
            assert not any(mark in system for mark in marks)
            for keys, text in (one for user in users for one in strings(json.loads(user))):
                held = {mark for mark in marks if mark in text}
                seen |= held
                own = keys[:1] == ("conversation",) or keys[:1] == ("turns",)  # the user's own earlier words
                assert not held or is_data(system, keys) or (own and keys[-1] == "user"), (keys, text, system[:40])
    assert len(seen) >= PLACES - 1, "a mark that never arrives proves nothing"
