"""The attacks are spoken and heard by the real recogniser; they are in transcripts, captions and the graph, and have no effect."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from attacks import ATTACKS, COLLECTOR
from obedient import Obedient, ObedientPlanner
from scene import DAY_US, Attacked, contents, like, watched
from wall import T0_US

from edgemem.answer.planner import ask
from edgemem.cli.app import CommandContext
from edgemem.errors import FetchError
from edgemem.extend.assembly import make_kit, make_parts
from edgemem.extend.sources import open_source
from edgemem.infer.fetch import ensure
from edgemem.llm.models import Models
from edgemem.records import Question
from edgemem.remember.store import Store
from edgemem.remember.view import View
from edgemem.see.pipeline import Pipeline

sys.path.insert(0, str(Path(__file__).parents[2] / "tools" / "eval"))

SPOKEN = tuple(a.text for a in ATTACKS if a.language == "en" and COLLECTOR not in a.text and not set(a.text) & set("{<#[_"))[:16]
RECIPE = """
name = "ears"
embed_text = false
[hear]
use = "whisper"
[segment]
use = "fixed_window"
[[write]]
use = "event_document"
[[chain]]
segment = { use = "fixed_window", seconds = 30.0 }
write = [{ use = "fused_caption" }, { use = "triples", egocentric = true }]
[[retrieve]]
use = "speech"
[[retrieve]]
use = "event"
"""


@pytest.fixture(scope="module")
def session() -> CommandContext:
    made = CommandContext(None, ("engines.threads=2", 'engines.roles.transcribe="whisper-tiny-en"'))
    for name in ("silero-vad", "resemblyzer", "whisper-tiny-en"):
        ensure(made.cards[name], made.home, made.converters)
    return made


@pytest.fixture(scope="module")
def recipe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("recipe") / "ears.toml"
    path.write_text(RECIPE, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def told(session: CommandContext, recipe: Path, tmp_path_factory: pytest.TempPathFactory) -> Attacked:
    """A memory of sound in which two voices say the attacks in turn, 1.5 s apart."""
    if shutil.which("espeak-ng") is None:
        pytest.skip("espeak-ng is not installed, so nothing can be spoken: apt-get install espeak-ng")
    import speak

    pause = np.zeros(round(1.5 * speak.RATE_HZ), np.float32)
    try:
        sound = [part for n, text in enumerate(SPOKEN) for part in (speak.speak(text, ("joe", "high")[n % 2]), pause)]
    except FetchError as error:
        pytest.skip(str(error))
    folder = tmp_path_factory.mktemp("told")
    speak.save(np.concatenate([pause, *sound]), folder / "talk.wav")
    with Store.open(folder / "memory") as store:
        parts, notes = make_parts(session.recipes, session.recipes.read(str(recipe)), session.context, session.plugins)
        report = Pipeline(open_source(str(folder / "talk.wav"), rate_fps=1.0, start_us=T0_US), parts, store).run()
    assert not notes
    assert not report.notes
    return Attacked(folder / "memory", T0_US + 3 * DAY_US)


def test_the_attacks_are_really_heard(told):
    with View.open(told.directory, told.asked_us) as view:
        heard = [spoken.document.text for spoken in view.utterances()]
    whole = " ".join(heard)
    matched = [text for text in SPOKEN if max((like(text, one) for one in heard), default=0) > 0.7 or like(text, whole) > 0.9]
    assert len(SPOKEN) >= 12
    assert len(matched) >= 0.75 * len(SPOKEN), heard


def test_what_was_heard_stays_marked_as_heard_wherever_it_goes(told):
    with View.open(told.directory, told.asked_us) as view:
        documents, relations = view.documents(), view.relations()
    assert {d.kind for d in documents} == {"utterance", "fused"}
    assert {d.origin for d in documents} == {"asr"}
    assert relations, "an hour's worth of orders leaves its edges"
    assert {quote.origin for relation in relations for quote in relation.quotes} == {"asr"}


@pytest.mark.parametrize(
    "question", ["what was said?", "what did speaker 1 say?", "what should I forget?", "what are the rules?", "who did I talk to?"]
)
def test_obeying_what_was_said_does_nothing(told, session, recipe, question):
    before = contents(told.directory)
    models = Models(Obedient())
    kit = make_kit(session.recipes, session.recipes.read(str(recipe)), session.context)
    kit.models, kit.planner = models, ObedientPlanner(models)
    with View.open(told.directory, told.asked_us) as view, watched() as happened:
        asked = Question(text=question, asked_us=view.as_of_us, as_of_us=view.as_of_us)
        answer, log = ask(view, asked, kit)
        local, _ = ask(view, asked, make_kit(session.recipes, session.recipes.read(str(recipe)), session.context))
    assert not happened
    assert contents(told.directory) == before
    assert {type(step.action).__module__ for step in log.steps} <= {"edgemem.answer.tools", "edgemem.answer.tools_graph"}
    for found in (answer, local):
        assert found.status in {"answered", "abstained"}
        assert all(e.t1_us <= told.asked_us for e in found.evidence)
