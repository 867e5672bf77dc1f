"""The recipe `egagent`: its numbers, its parts, and the table that its graph can be read as."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from importlib.resources import files
from pathlib import Path

import edgemem_egagent
import pytest

from edgemem.config import Settings
from edgemem.extend.assembly import make_context, make_parts
from edgemem.extend.context import PluginContext
from edgemem.extend.plugins import Plugins
from edgemem.extend.recipe import Recipe, Recipes
from edgemem.extend.testing import FakeJointEmbedder, SyntheticCamera, check_plugin
from edgemem.hear.subtitles import Subtitles
from edgemem.hear.utterances import by_subtitles
from edgemem.llm.models import Models
from edgemem.records import US
from edgemem.remember.store import Store
from edgemem.remember.view import View
from edgemem.see.perceive import JointPerceiver
from edgemem.see.pipeline import Pipeline

from .conftest import ScriptedChat


@pytest.fixture(scope="module")
def recipe() -> Recipe:
    return Recipes(Plugins.load()).read("egagent")


def test_plugin_keeps_its_protocols(tmp_path: Path) -> None:
    with_model = PluginContext(Settings(), tmp_path, models=Models(ScriptedChat(summarise="much happened")))
    assert set(check_plugin(edgemem_egagent, contexts={("writers", "caption_summaries"): with_model})) == {
        "writers/fused_caption", "writers/triples", "writers/caption_summaries", "planners/egagent", "tools/transcript_search",
        "tools/analyzer", "tools/visual_search", "tools/entity_graph_search", "tools/list_days",
    }  # fmt: skip


def test_every_prompt_is_a_task_that_settings_may_name_a_model_for() -> None:
    prompts = {
        f"egagent_{path.name.removesuffix('.md')}" for path in files("edgemem_egagent.prompts").iterdir() if path.name.endswith(".md")
    }
    assert prompts == {*edgemem_egagent.register_tasks(), "egagent_data_rule", "egagent_tools"}
    own = Plugins.of(edgemem_egagent)
    assert {"visual_search", "transcript_search", "entity_graph_search", "analyzer"} <= set(own.components("tools"))
    assert "egagent" in own.components("planners")


def test_the_recipe_is_egagents(recipe: Recipe) -> None:
    assert recipe.rate_fps == 1.0
    assert recipe.segment == {"use": "fixed_window", "seconds": 30.0}
    assert [part["use"] for part in recipe.write] == ["fused_caption", "triples"]
    assert recipe.write[1]["relations"] == ["TALKS_TO", "INTERACTS_WITH", "MENTIONS", "USES"]
    assert (recipe.write[0]["model"], recipe.write[1]["extractor"]) == (True, "auto"), "as published; without a model by rules"
    assert recipe.plan["max_steps"] == 5
    assert recipe.hear


def test_a_stream_becomes_a_vector_of_every_frame_and_a_paragraph_for_every_30_seconds(recipe: Recipe, tmp_path: Path) -> None:
    plugins = Plugins.load()
    parts, _ = make_parts(Recipes(plugins), recipe, make_context(plugins, Settings(), tmp_path), plugins)
    parts = replace(parts, perceivers=[JointPerceiver(FakeJointEmbedder())], hearing=None)
    with Store.open(tmp_path / "memory") as store:
        Pipeline(SyntheticCamera(seconds=75, rate_fps=1), parts, store).run()
        with store.view() as view:
            moments, segments = view.moments(), view.segments()
            assert len(moments) == 75
            assert view.vectors(FakeJointEmbedder.space.name, [moment.id for moment in moments]).shape == (75, 64)
            assert [(s.segmenter, s.offset_us // US, (s.offset_us + s.t1_us - s.t0_us) // US) for s in segments] == [
                ("fixed_window", 0, 29), ("fixed_window", 30, 59), ("fixed_window", 60, 74),
            ]  # fmt: skip
            assert [document.segment_id for document in view.documents(kinds=("fused",))] == [segment.id for segment in segments]


def test_talk_without_pictures_is_told_in_stretches_of_30_seconds_too(recipe: Recipe, tmp_path: Path) -> None:
    times = [(f"{10 * n // 60:02}:{10 * n % 60:02}", f"{10 * n // 60:02}:{10 * n % 60 + 4:02}") for n in range(20)]
    cues = [f"{n}\n00:{t0},000 --> 00:{t1},000\nAnna: line {n}\n" for n, (t0, t1) in enumerate(times)]
    (tmp_path / "talk.srt").write_text("\n".join(cues))
    plugins = Plugins.load()
    parts, _ = make_parts(Recipes(plugins), recipe, make_context(plugins, Settings(), tmp_path), plugins)
    camera = SyntheticCamera(seconds=4, rate_fps=1)
    hearing = by_subtitles(Subtitles(tmp_path / "talk.srt", camera.t0_us), None)
    parts = replace(parts, perceivers=[JointPerceiver(FakeJointEmbedder())], hearing=hearing)
    with Store.open(tmp_path / "memory") as store:
        Pipeline(camera, parts, store).run()
        with store.view() as view:
            told = [document.text for document in view.documents(kinds=("fused",))]
            assert all(segment.t1_us - segment.t0_us <= 34 * US for segment in view.segments())
    assert len(told) == 8
    assert [f"line {n}" in text for text, n in zip(told, (0, 1, 4, 7, 10, 13, 16, 19), strict=True)] == [True] * 8


def test_the_default_recipe_tells_no_language_model_what_is_seen_and_heard() -> None:
    """A server that is configured for questions must not be sent every word that is said."""
    [chain] = Recipes(Plugins.load()).read("default").chain
    assert [(part["use"], part.get("model"), part.get("extractor")) for part in chain.write] == [
        ("fused_caption", False, None), ("triples", None, "local"),
    ]  # fmt: skip


def test_the_table_has_egagents_columns(view: View) -> None:
    found = view.select("SELECT * FROM entity_graph_table WHERE target_id = 'wrench' AND rel_type = 'USES'")
    assert found.columns == (
        "id", "day", "start_t", "end_t", "transcript", "source_id", "source_type", "target_id", "target_type", "rel_type",
    )  # fmt: skip
    [row] = [dict(zip(found.columns, values, strict=True)) for values in found.rows]
    assert (row["start_t"], row["end_t"]) == (9011100, 9011400)
    assert (row["source_id"], row["source_type"], row["target_type"]) == ("Ben", "Person", "Object")


def test_what_was_measured_can_be_measured_again() -> None:
    tools = Path(__file__).parents[3] / "tools"
    assert (tools / "bench" / "egagent.py").is_file()
    assert (tools / "bench" / "ranking.py").is_file()
    assert (tools / "eval" / "extraction.py").is_file()


def test_every_prompt_is_a_file_that_says_what_data_is() -> None:
    folder = Path(str(import_module("edgemem_egagent.prompts").__path__[0]))
    names = {path.stem for path in folder.glob("*.md")}
    assert names == {"analyse", "answer", "data_rule", "extract", "fuse", "grade", "plan", "revise", "summarise", "tools"}
    assert "do not follow" in (folder / "data_rule.md").read_text(encoding="utf-8")
