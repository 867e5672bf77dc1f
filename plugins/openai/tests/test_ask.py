"""A complete question on the command line with a language model: one that works, one that disappears, one that is small and real."""

from __future__ import annotations

import pytest
from edgemem_openai.testing import ScriptedReply, ScriptedServer

from edgemem.cli.main import main

RETRIEVE = {"type": "tool", "name": "retrieve", "args": {"question": "Where is the red coffee mug?"}}
SEARCH = {"action": "search", "queries": [{"q": "red coffee mug", "inspect_k": 0, "threshold": 0.0}], "sources": ["event"]}
ANSWER = {"action": "answer", "response": "On the kitchen table.", "best_ref": {"turn_idx": 1, "result_idx": 0}}
QUESTION = "Where is the red coffee mug?"


def test_a_model_finds_the_answer_and_its_cost_is_shown(ask):
    with ScriptedServer([RETRIEVE, SEARCH, ScriptedReply.failing(500), ANSWER]) as server:
        code, answer, _ = ask(QUESTION, f"openai.base_url={server.base_url}", "openai.backoff_s=0.001")
    assert (code, answer["status"], answer["answer"]) == (0, "answered", "On the kitchen table.")
    assert [evidence["offset_s"] for evidence in answer["evidence"]][:1] == [20.0]
    assert (answer["usage"]["tokens_in"], answer["usage"]["tokens_out"]) == (300, 60)
    assert server.asked[0].schema is not None
    assert "red coffee mug" in server.asked[-1].text, "the model was shown what the search brought"


def test_the_server_may_be_named_by_the_environment(ask, monkeypatch):
    with ScriptedServer([RETRIEVE, SEARCH, ANSWER]) as server:
        monkeypatch.setenv("EDGEMEM_OPENAI_BASE_URL", server.base_url)
        code, answer, _ = ask(QUESTION)
    assert (code, answer["answer"]) == (0, "On the kitchen table.")


def test_a_misspelt_task_is_refused_with_the_nearest(ask):
    code, _, said = ask(QUESTION, "openai.base_url=http://127.0.0.1:9/v1", "openai.roles.planer.model=m")
    assert code == 2
    assert 'no plugin has a task "planer" for a language model (did you mean "planner"?)' in said


def test_a_model_that_sees_is_shown_pictures_and_one_that_may_not_is_not(ask):
    look = {**SEARCH, "queries": [{"q": "red coffee mug", "inspect_k": 2, "threshold": 0.0}]}

    def answer(asked):
        if asked.images:
            return "It shows a red mug on a table."
        return ANSWER if "red coffee mug, kitchen table" in asked.text else look if "retrieve" not in asked.messages[0][1] else RETRIEVE

    with ScriptedServer(answer) as server:
        ask(QUESTION, f"openai.base_url={server.base_url}", "openai.vision=true")
        shown = [picture for asked in server.asked for picture in asked.images]
        before = len(server.asked)
        ask(QUESTION, f"openai.base_url={server.base_url}", "openai.vision=true", "models.send_pictures=false")
    assert {(picture.width_px, picture.height_px) for picture in shown} == {(160, 120)}
    assert not [picture for asked in server.asked[before:] for picture in asked.images]


@pytest.mark.parametrize("left", [0, 1, 2])
def test_a_server_that_goes_away_in_the_middle_leaves_the_rest_to_the_local_planner(ask, left):
    lines = [RETRIEVE, SEARCH, ANSWER]

    def answer(asked):
        if asked.number > left:
            server.close()
        return lines[asked.number - 1]

    with ScriptedServer(answer) as server:
        code, answer, notes = ask(QUESTION, f"openai.base_url={server.base_url}", "openai.model=m", "openai.backoff_s=0.001")
    assert (code, answer["status"]) == (0, "answered"), notes
    assert [evidence["offset_s"] for evidence in answer["evidence"]][:1] == [20.0]
    assert "the local planner answered" in notes
    assert "127.0.0.1" in notes
    assert "Traceback" not in notes


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (ScriptedReply.failing(401, "bad key"), "refuses the key"),
        (ScriptedReply(refusal="I will not look at that."), "refused: I will not look at that."),
        (ScriptedReply("word " * 99, cut_after=3), "was lost"),
    ],
)
def test_a_model_that_does_not_answer_is_done_without(ask, line, said):
    with ScriptedServer(lambda _: line) as server:
        code, answer, notes = ask(QUESTION, f"openai.base_url={server.base_url}")
    assert (code, answer["status"]) == (0, "answered"), notes
    assert said in notes
    assert "the local planner answered" in notes


@pytest.mark.parametrize("line", ["I think it is somewhere.", '{"action": "delete", "everything": true}', "{" * 500, "\x00", "[]", "null"])
def test_a_model_that_talks_nonsense_ends_in_an_answer_or_an_abstention(ask, line):
    with ScriptedServer(lambda _: line) as server:
        code, answer, notes = ask(QUESTION, f"openai.base_url={server.base_url}")
    assert code in {0, 3}, notes
    assert answer["status"] in {"answered", "abstained"}
    assert "Traceback" not in notes


def test_the_caps_of_a_question_and_of_a_day_end_in_the_local_planner(ask):
    with ScriptedServer(lambda _: RETRIEVE) as server:
        _, answer, notes = ask(QUESTION, f"openai.base_url={server.base_url}", "models.tokens_per_question=100")
        assert ("models.tokens_per_question" in notes, answer["status"]) == (True, "answered")
        _, answer, notes = ask(QUESTION, f"openai.base_url={server.base_url}", "openai.tokens_per_day=100")
        assert ("openai.tokens_per_day" in notes, answer["status"]) == (True, "answered")
    assert server.asked == []


def test_what_was_spent_can_be_looked_up(ask, capsys):
    with ScriptedServer([RETRIEVE, SEARCH, ANSWER]) as server:
        ask(QUESTION, f"openai.base_url={server.base_url}")
    for extra in ([], ["--json"]):
        with pytest.raises(SystemExit):
            main(["spent", *extra])
    table, _, json = capsys.readouterr().out.partition("{")
    assert [line.split()[1:3] for line in table.splitlines()[1:]] == [["planner", "scripted"], ["router", "scripted"]]
    assert '"calls":2,"tokens_in":200,"tokens_out":40' in json


@pytest.mark.slow
def test_a_real_small_model_drives_the_loop_to_an_answer_or_an_abstention(ask, smollm2):
    limits = ("openai.call_s=45", "models.seconds_per_question=15")
    code, answer, notes = ask(QUESTION, f"openai.base_url={smollm2}", *limits)
    assert code in {0, 3}, notes
    assert answer["status"] in {"answered", "abstained"}
    assert answer["usage"]["tokens_out"] > 0, "the model was asked"
    assert "Traceback" not in notes
