"""How a question was answered: shown and stored, and never delaying the answer."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from daemons import Start, remember_signs, wait_until

from edgemem.cli.main import main
from edgemem.remember.disk.directory import set_paused
from edgemem.remember.store import Store
from edgemem.remember.view import View
from edgemem.serve import session_log

Run = Callable[..., tuple[object, str, str]]
ASK = ("ask", "What did the sign say?")

PLANNER = '''
"""Answers without evidence first, then as it should, asking a language model in between."""
import msgspec
from edgemem.answer.local import LocalPlanner
from edgemem.answer.session import Call
from edgemem.answer.tools import Reply, Search
from edgemem.extend.hookspecs import Component, hookimpl

class Hasty(LocalPlanner):
    name = "hasty"
    def next(self, session):
        if not session.steps:
            session.calls.append(Call(task="planner", model="tiny-1", step=1, reply='{"action":"answer"}', tokens_in=70,
                                      tokens_out=9, ms=12.0, usd=0.0001))
            return Reply(text="surely EXIT")
        if len(session.steps) == 1:
            return Search(query="exit", channel="text", to_us=2**62)
        return Reply(text="EXIT C", evidence=tuple(session.evidence())[:1], confidence=0.9)

@hookimpl
def register_planners():
    return (Component("hasty", lambda settings, context: Hasty()),)
'''


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, home: Path) -> Run:
    assert home.parent == tmp_path
    remember_signs(tmp_path / "memory")
    (tmp_path / "plain.toml").write_text('[plan]\nuse = "local"\n')

    def call(*arguments: str) -> tuple[object, str, str]:
        with pytest.raises(SystemExit) as ended:
            main([*arguments, "--memory", str(tmp_path / "memory"), "--set", f"recipe={tmp_path / 'plain.toml'}"])
        captured = capsys.readouterr()
        return ended.value.code, captured.out, captured.err

    return call


def test_the_trace_tells_every_step_with_evidence_and_why_it_stopped(run: Run) -> None:
    code, out, err = run(*ASK, "--trace")
    assert (code, err) == (0, "")
    trace = out[out.index('"What did the sign say?", asked') :].splitlines()
    assert "recipe plain, planner local" in trace[0]
    assert trace[1].startswith('1. gather "what did the sign say?"')
    assert 'm1 at 2026-05-04 08:00:00 "EXIT C"' in trace[1]
    assert trace[-2].partition(" ")[2].startswith("answered: ")
    assert "citing m" in trace[-2]
    assert trace[-1].startswith("answered with confidence")


def test_a_remote_planner_reads_the_same_with_its_calls_costs_and_refusals(run: Run, tmp_path: Path) -> None:
    plugins = tmp_path / "plugins"
    plugins.mkdir()
    (plugins / "hasty.py").write_text(PLANNER)
    _, out, _ = run(*ASK, "--trace", "--planner", "hasty", "--plugins-dir", str(plugins))
    trace = out[out.index(", asked ") :].splitlines()[1:]
    assert trace[0] == '   planner (tiny-1, 70 tokens in, 9 out, 12 ms) said "{"action":"answer"}"'
    assert trace[1].startswith('1. answered: "surely EXIT", citing nothing; refused: an answer must cite evidence')
    assert trace[2].startswith('2. search "exit" (channel text, top_k 20) to ')
    assert "1 found: m1 at 2026-05-04 08:00:00" in trace[2]
    assert trace[3] == '3. answered: "EXIT C", citing m1'
    assert "1 calls of a language model with 70 tokens in and 9 out, 0.0001 USD" in trace[4]


def test_json_keeps_its_keys_and_the_trace_goes_to_stderr(run: Run) -> None:
    code, plain, _ = run(*ASK, "--json")
    code_traced, traced, err = run(*ASK, "--json", "--trace")
    assert code == code_traced == 0
    without_ms = [{**json.loads(text), "usage": None} for text in (plain, traced)]
    assert without_ms[0] == without_ms[1]
    assert list(json.loads(plain)) == [
        "question",
        "status",
        "answer",
        "option",
        "confidence",
        "evidence",
        "alternatives",
        "unverified",
        "steps",
        "usage",
    ]
    assert "1. gather" in err


def test_what_was_asked_is_listed_and_told_again(run: Run) -> None:
    _, out, _ = run(*ASK, "--trace")
    code, listed, _ = run("sessions", "list")
    assert code == 0
    assert "What did the sign say?" in listed
    _, again, _ = run("sessions", "show", "1")
    assert again.strip() in out
    assert run("sessions", "show", "9")[0] == 2
    assert json.loads(run("sessions", "list", "--json")[1])["sessions"][0]["asked"].endswith("Z")
    assert json.loads(run("sessions", "show", "1", "--json")[1])["evidence"]


def test_forgetting_what_came_up_forgets_the_session(run: Run) -> None:
    run(*ASK)
    assert run("forget", "--evidence", "m1")[0] == 0
    assert "nothing was asked yet" in run("sessions", "list")[1]


@pytest.mark.parametrize("obstacle", ["writer", "paused"])
def test_where_a_session_cannot_be_kept_the_answer_is_the_same_and_trace_says_why(run: Run, tmp_path: Path, obstacle: str) -> None:
    memory = tmp_path / "memory"
    plain = run(*ASK)
    if obstacle == "paused":
        set_paused(memory, paused=True)
        code, out, err = run(*ASK, "--trace")
    else:
        with Store.open(memory):
            code, out, err = run(*ASK, "--trace")
    assert code == plain[0] == 0
    assert out.splitlines()[0] == plain[1].splitlines()[0]
    assert "this trace was not stored: " in err
    with View.open(memory) as view:
        assert len(view.sessions()) == 1


def test_a_question_leaves_the_cap_of_the_memory_as_it_was(run: Run, tmp_path: Path) -> None:
    Store.open(tmp_path / "memory", budget_bytes=64 << 20).close()
    run(*ASK)
    with View.open(tmp_path / "memory") as view:
        assert view.stats().budget_bytes == 64 << 20
        assert len(view.sessions()) == 1


def test_an_agent_keeps_the_sessions_of_those_who_ask_it(start: Start, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    remember_signs(tmp_path / "memory")
    (tmp_path / "a").mkdir()
    daemon = start({"a": tmp_path / "a"}).wait_ready()
    with pytest.raises(SystemExit):
        main([*ASK, "--trace", "--memory", str(daemon.memory), "--config", str(daemon.settings)])
    assert "1. gather" in capsys.readouterr().out
    assert daemon.status.answered == 1

    def kept() -> int:
        with View.open(daemon.memory) as view:
            return len(view.sessions())

    wait_until(kept)
    assert daemon.stop() == 0


def test_a_trace_that_cannot_be_kept_for_any_reason_does_not_end_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Else the next traces would wait for nobody, and a stop for them."""
    kept: list[object] = []

    def keep(_: Store, trace: object) -> None:
        if not caplog.records:
            raise KeyError("who")
        kept.append(trace)

    monkeypatch.setattr(session_log, "keep", keep)
    with Store.open(tmp_path / "memory") as store:
        logger = session_log.SessionLogger(store)
        for trace in ("first", "second"):
            logger.take(trace)  # type: ignore[arg-type]
        logger.close()
    assert kept == ["second"]
    assert [record.message for record in caplog.records] == ["the trace of a question is not kept: KeyError: 'who'"]
