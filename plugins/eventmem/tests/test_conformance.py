"""EventMemAgent, feature by feature: each M row with a check of what happens here, or the tests that hold more than its limit.

Sources: "P" the paper (section, table T, appendix A to C). No code is released. A test that is named here must exist.
"""

from __future__ import annotations

import ast
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

import edgemem_eventmem
import msgspec
import numpy as np
import pytest
from edgemem_eventmem import grpo, tools, writer
from edgemem_eventmem.settings import ReactSettings
from edgemem_eventmem.short_term import ShortTermSettings, event_of

from edgemem.cli.app import CommandContext
from edgemem.config import Settings
from edgemem.extend.assembly import make_context, make_parts
from edgemem.extend.testing import check_plugin
from edgemem.records import US, Frame, Record
from edgemem.remember.store import Store
from edgemem.see.pipeline import Pipeline
from edgemem.see.sources.base import BaseSource

HERE = Path(__file__).parent
STATES = {"_State", "_Written", "HeldEvent"}


class Row(NamedTuple):
    """A feature of the published system: what it is, and the tests that show it here."""

    number: int
    what: str
    shown: tuple[str, ...]


ROWS = (
    Row(1, "1 frame a second (P 3.2)", ("test_conformance.py::test_the_recipe_holds_the_values_of_the_paper",)),
    Row(2, "at most K = 32 frames over events (P 3.2.1, 4.1)", (
        "test_short_term.py::test_whatever_comes_never_more_than_k_and_oldest_first",
        "test_conformance.py::test_a_stream_through_the_real_pipeline")),
    Row(3, "a boundary where Pearson's correlation is under 0.2, only after more than 8 frames (P eq. 2, A.1)", (
        "test_short_term.py::test_correlation_is_pearsons",
        "test_short_term.py::test_an_event_ends_where_the_picture_changes_but_not_within_its_first_8_frames",
        "test_short_term.py::test_delta_decides_how_much_change_ends_an_event",
        "test_short_term.py::test_a_frame_is_compared_with_the_mean_of_the_event")),
    Row(5, "reservoir sampling in the active event (P 3.2.1)", (
        "test_short_term.py::test_the_sample_of_one_event_is_that_of_the_oracle",
        "test_short_term.py::test_every_frame_has_the_same_chance_to_stay",
        "test_short_term.py::test_where_a_frame_goes_is_uniform_too")),
    Row(6, "whole events leave, oldest first (P 3.2.1)", (
        "test_short_term.py::test_the_oldest_event_leaves_as_a_whole_but_for_its_first_frame",
        "test_short_term.py::test_an_event_that_fills_the_memory_leaves_when_the_next_begins")),
    Row(7, "long-term tuple: first frame, caption, its embedding, both changes, time span (P 3.2.2, C.1)", (
        "test_writer.py::test_an_event_is_captioned_by_what_was_recognised_read_and_heard",
        "test_tools.py::test_a_search_by_time_brings_the_tuples_that_overlap_it",
        "test_conformance.py::test_a_stream_through_the_real_pipeline")),
    Row(9, "search_memory: text or time, never both; the 3 best above a threshold; overlap in time (P 3.3, A.1, C.1)", (
        "test_tools.py::test_a_search_takes_either_words_or_a_time",
        "test_tools.py::test_a_search_by_words_brings_the_three_best_above_the_threshold_of_the_space",
        "test_tools.py::test_the_threshold_of_the_paper_holds_where_a_space_states_none")),
    Row(10, "ocr on an event or a frame (P C.1)", (
        "test_tools.py::test_text_is_read_in_a_frame_or_in_the_first_frame_of_an_event",
        "test_tools.py::test_what_was_not_read_before_is_read_once")),
    Row(11, "detect_objects on an event or a frame, else the last frame (P C.1)", (
        "test_tools.py::test_objects_are_found_with_boxes_and_what_nothing_here_knows_is_said",)),
    Row(12, "frame number and time on pictures (P 4.1, C.1)", (
        "test_tools.py::test_the_frame_number_and_the_time_stand_at_the_top_left",
        "test_react.py::test_the_model_sees_short_term_memory_with_numbers_and_times_and_pictures_with_ids")),
    Row(13, "one thought and one action a turn, a tool call or a boxed answer, bounded turns (P 3.4)", (
        "test_react.py::test_the_model_searches_and_answers_with_the_event_that_it_names",
        "test_react.py::test_an_answer_in_a_box_is_taken_in_any_text",
        "test_react.py::test_a_broken_reply_is_repaired_once_and_the_model_is_told_why",
        "test_react.py::test_the_last_turn_takes_an_answer_only")),
    Row(14, "no time in the question: short-term memory first (P C.1)", (
        "test_grpo.py::test_without_a_time_short_term_memory_comes_first",
        "test_grpo.py::test_with_a_time_long_term_memory_may_be_searched_by_it")),
    Row(15, "the baseline: events of 30 s (T3)", (
        "test_short_term.py::test_events_of_a_fixed_length_begin_at_its_multiples",)),
    Row(16, "what the paper leaves open", (
        "test_short_term.py::test_the_oldest_event_leaves_as_a_whole_but_for_its_first_frame",
        "test_tools.py::test_short_term_memory_is_the_events_of_which_more_than_the_first_frame_is_left")),
)  # fmt: skip


def test_every_test_that_is_named_exists():
    defined = {
        f"{path.name}::{node.name}"
        for path in HERE.glob("test_*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef)
    }
    assert {name for row in ROWS for name in row.shown} <= defined


def test_the_plugin_keeps_the_contract_and_imports_nothing_else():
    assert set(check_plugin(edgemem_eventmem)) == {
        "selectors/short_term", "segmenters/events", "writers/event_tuple", "planners/react", "tools/short_term", "tools/search_memory",
        "tools/ocr", "tools/detect_objects",
    }  # fmt: skip
    for path in Path(edgemem_eventmem.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [a.name for a in getattr(node, "names", [])]
            if isinstance(node, ast.Import | ast.ImportFrom):
                assert not any((name.startswith("edgemem.") and name != "edgemem.extend") or name == "edgemem" for name in names), path


def test_records_cannot_be_changed_and_unknown_keys_are_refused():
    """But for what is counted up as it goes: the states."""
    records = set()
    for path in sorted(Path(edgemem_eventmem.__file__).parent.glob("*.py")):
        module = import_module(f"edgemem_eventmem.{path.stem}")
        records |= {one for one in vars(module).values() if isinstance(one, type) and issubclass(one, msgspec.Struct)}
    own = {one for one in records if one.__module__.startswith("edgemem_eventmem")}
    assert len(own) > 20
    changing = {one.__name__ for one in own if not one.__struct_config__.frozen}
    assert changing == STATES
    asked = {one for one in own if one.__module__.endswith((".wire", ".actions")) or one.__name__.endswith("Settings")}
    asked = {one for one in asked if not issubclass(one, Record)}
    assert not {one.__name__ for one in asked if not one.__struct_config__.forbid_unknown_fields}


def test_every_prompt_is_a_task_that_settings_may_name_a_model_for():
    prompts = {path.name.removesuffix(".md") for path in files("edgemem_eventmem.prompts").iterdir() if path.name.endswith(".md")}
    assert prompts == {*edgemem_eventmem.register_tasks(), "data_rule"}


def test_the_recipe_holds_the_values_of_the_paper():
    recipes = CommandContext(None, ()).recipes
    recipe, fixed = recipes.read("eventmem"), recipes.read("eventmem_fixed")
    assert recipe.rate_fps == 1.0
    assert recipe.select == {"use": "short_term", "frames": 32, "delta": 0.2, "min_frames": 8, "bins": 256}
    assert fixed.select == {**recipe.select, "fixed_s": 30.0}
    assert ShortTermSettings() == ShortTermSettings(frames=32, delta=0.2, min_frames=8, bins=256, fixed_s=0.0)
    assert tools.TOP_TIMED == 8
    assert (tools.TOP_K, tools.MIN_COSINE, grpo.GROUP, ReactSettings().turns) == (3, 0.3, 8, 8)


class Scenes(BaseSource):
    """Pictures of three scenes, one a second."""

    name, t0_us, identity, has_sound, live = "walk", 1_700_000_000 * US, "scenes", False, False

    def __init__(self, lengths: tuple[int, ...]) -> None:
        self.lengths, self.dropped = lengths, dict[str, int]()
        self.duration_us = sum(lengths) * US

    def set_rate(self, rate_fps: float) -> None:
        """One a second."""

    def skip_to(self, offset_us: int) -> None:
        """From the beginning."""

    def frames(self):
        rng, second = np.random.default_rng(0), 0
        for scene, length in enumerate(self.lengths):
            base = np.tile(np.arange(64, dtype=np.uint8) // 4 + 80 * scene, (48, 1))
            for _ in range(length):
                image = np.repeat((base + rng.integers(0, 3, base.shape)).astype(np.uint8)[..., None], 3, axis=2)
                yield Frame(stream="walk", seq=second, t_us=self.t0_us + second * US, offset_us=second * US, image=image)
                second += 1


def test_a_stream_through_the_real_pipeline(tmp_path: Path):
    """Three events of 40, 20 and 25 frames through recipe, core and store, without models: what is left is what the paper says."""
    context = CommandContext(None, ())
    recipe = context.recipes.read("eventmem")
    recipe.perceive.clear()
    with Store.open(tmp_path / "memory") as store:
        parts, _ = make_parts(context.recipes, recipe, make_context(context.plugins, Settings(), tmp_path), context.plugins)
        Pipeline(Scenes((40, 20, 25)), parts, store).run()
        with store.view() as view:
            segments = view.segments(segmenter="events")
            moments = view.moments()
            spans = [(s.offset_us // US, (s.t1_us - s.t0_us) / US) for s in segments]
    assert spans == [(0, pytest.approx(40, abs=1e-5)), (40, pytest.approx(20, abs=1e-5)), (60, 24.0)]
    # Event 1 left when event 2 began (32 + 1 > 32); event 2 (20) left when event 3 had 12 and the 13th came; event 3 holds 25.
    offsets = [moment.offset_us // US for moment in moments]
    assert offsets == [0, 40, *range(60, 85)]
    assert [moment.role for moment in moments[:3]] == ["representative"] * 3
    assert {event_of(m.role) for m in moments[3:]} == {3}
    assert [segment.representative_id for segment in segments] == [m.id for m in moments[:3]]
    assert ShortTermSettings().frames < writer.FRAMES_KEPT
