"""What an implementation of EGAgent must have, and the test that shows each of it. A test that is renamed or removed fails this one."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
HERE = "plugins/egagent/tests"
MUST = {
    "1 inputs: frames at 1 fps, utterances with times and speakers, nothing after the question": [
        f"{HERE}/test_recipe.py::test_a_stream_becomes_a_vector_of_every_frame_and_a_paragraph_for_every_30_seconds",
        f"{HERE}/test_recipe.py::test_the_recipe_is_egagents",
        f"{HERE}/test_tools.py::test_no_tool_looks_past_the_time_of_the_question",
        f"{HERE}/test_planner.py::test_nothing_after_the_question_reaches_the_model",
    ],
    "2 captions of 30 s windows": [
        f"{HERE}/test_recipe.py::test_a_stream_becomes_a_vector_of_every_frame_and_a_paragraph_for_every_30_seconds",
        f"{HERE}/test_writers.py::test_a_window_becomes_one_paragraph_that_quotes_what_was_read_and_said",
    ],
    "3 fusion of caption and transcript into one neutral paragraph": [
        f"{HERE}/test_writers.py::test_a_window_becomes_one_paragraph_that_quotes_what_was_read_and_said",
        f"{HERE}/test_writers.py::test_a_caption_by_a_model_keeps_to_its_window_and_a_template_steps_in",
    ],
    "4 graph extraction: closed node and relation types, most complete name, no numbers as names": [
        f"{HERE}/test_writers.py::test_nodes_and_relations_are_closed_sets",
        f"{HERE}/test_writers.py::test_a_recipe_may_close_the_set_otherwise_where_a_model_draws",
        f"{HERE}/test_writers.py::test_a_short_name_becomes_the_most_complete_one_and_can_be_taken_apart",
        f"{HERE}/test_writers.py::test_edges_by_a_model_are_checked_and_timed_by_the_lines_they_name",
    ],
    "5 temporal annotation: utterances first, else the caption's interval; confidence is kept": [
        f"{HERE}/test_writers.py::test_edges_by_a_model_are_checked_and_timed_by_the_lines_they_name",
        f"{HERE}/test_writers.py::test_every_edge_has_its_interval_its_words_and_where_they_stand",
    ],
    "6 supporting text": [f"{HERE}/test_writers.py::test_every_edge_has_its_interval_its_words_and_where_they_stand"],
    "7 one row per interval, as entity_graph_table": [
        f"{HERE}/test_writers.py::test_one_row_per_supporting_interval",
        f"{HERE}/test_recipe.py::test_the_table_has_egagents_columns",
    ],
    "8 time: microseconds kept, HHMMSScc shown": [f"{HERE}/test_recipe.py::test_the_table_has_egagents_columns"],
    "9 incremental": [f"{HERE}/test_writers.py::test_later_windows_add_to_the_graph_and_take_nothing_away"],
    "10 scale: measured by tools/bench/egagent.py": [f"{HERE}/test_recipe.py::test_what_was_measured_can_be_measured_again"],
    "11 vectors of frames by any encoder": [
        f"{HERE}/test_recipe.py::test_a_stream_becomes_a_vector_of_every_frame_and_a_paragraph_for_every_30_seconds",
    ],
    "12 visual search: one to three queries, time and place, 50 shown": [
        f"{HERE}/test_tools.py::test_pictures_of_all_queries_come_back",
        f"{HERE}/test_tools.py::test_time_and_place_narrow_the_pictures",
        f"{HERE}/test_tools.py::test_a_picture_that_hardly_shows_the_place_was_not_taken_there",
        f"{HERE}/test_tools.py::test_at_most_so_many_are_shown",
    ],
    "13 rank fusion, votes as tie-break": [
        f"{HERE}/test_tools.py::test_the_best_16_of_each_of_three_queries_are_always_shown",
        f"{HERE}/test_tools.py::test_counting_votes_instead_loses_most_of_them",
        f"{HERE}/test_tools.py::test_more_votes_decide_between_equals_only",
    ],
    "14 transcript search: BM25, three queries, in the order of time; a model over a bounded stretch": [
        f"{HERE}/test_tools.py::test_utterances_of_all_queries_in_the_order_of_time",
        f"{HERE}/test_tools.py::test_a_bounded_stretch_is_read_as_a_whole_an_unbounded_one_is_not",
        f"{HERE}/test_tools.py::test_a_model_reads_every_line_of_a_bounded_stretch",
    ],
    "15 graph search: ladder from strict to relaxed, least number of rows": [
        f"{HERE}/test_tools.py::test_the_ladder_goes_from_strict_to_relaxed",
        f"{HERE}/test_tools.py::test_one_utterance_that_proves_several_relations_tells_them_all",
        f"{HERE}/test_tools.py::test_more_rows_than_one_may_be_asked_for",
    ],
    "16 SQL of a model runs read-only": [f"{HERE}/test_tools.py::test_sql_of_a_model_is_read_only_and_the_ladder_steps_in"],
    "17 planner: at most five sub-tasks with tool and arguments": [
        f"{HERE}/test_planner.py::test_sub_tasks_are_carried_out_judged_remembered_and_cited",
        f"{HERE}/test_planner.py::test_a_plan_with_more_than_five_steps_is_given_back",
        f"{HERE}/test_planner.py::test_the_model_is_told_every_argument_that_it_may_give",
    ],
    "18 router: one tool or all": [f"{HERE}/test_planner.py::test_route_all_asks_every_tool"],
    "19 analyzer: relevance, evidence, repetitions, 50 pictures with their times": [
        f"{HERE}/test_tools.py::test_without_a_model_the_words_choose",
        f"{HERE}/test_tools.py::test_what_says_the_same_is_said_once",
        f"{HERE}/test_tools.py::test_a_model_chooses_items_and_sees_pictures_with_their_times",
    ],
    "20 working memory by tool": [f"{HERE}/test_planner.py::test_sub_tasks_are_carried_out_judged_remembered_and_cited"],
    "21 early exit": [f"{HERE}/test_planner.py::test_the_grader_ends_the_plan_as_soon_as_it_suffices"],
    "22 answers: options and open, cited, temperature 0, three retries": [
        f"{HERE}/test_planner.py::test_options_are_chosen_by_number_with_retries_at_temperature_zero",
        f"{HERE}/test_planner.py::test_an_answer_without_proof_is_asked_for_again_and_then_dropped",
    ],
    "24 recall@W": ["tests/eval/test_recall.py::test_recall_grows_with_the_window"],
}
SHOULD = {
    "23 bounded steps, tokens per task": [
        f"{HERE}/test_planner.py::test_sub_tasks_are_carried_out_judged_remembered_and_cited",
        f"{HERE}/test_planner.py::test_enough_is_left_for_the_answer_however_dear_the_pictures_are",
    ],
    "local: the typed form without a language model": [f"{HERE}/test_planner.py::test_without_a_model_the_typed_form_answers"],
}


def functions_of(path: Path) -> set[str]:
    return {node.name for node in ast.parse(path.read_text(encoding="utf-8")).body if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("row", [*MUST, *SHOULD])
def test_each_feature_is_shown_by_a_test(row: str) -> None:
    for named in (MUST | SHOULD)[row]:
        path, _, function = named.partition("::")
        assert (ROOT / path).is_file(), f"{row}: {path} is gone"
        assert function in functions_of(ROOT / path), f"{row}: {named} is gone"


def test_no_row_of_the_system_is_left_out() -> None:
    assert {int(row.split()[0]) for row in (*MUST, *SHOULD) if row[0].isdigit()} == set(range(1, 25))
