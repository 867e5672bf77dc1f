"""Sessions of a real memory as training data, in the form that each library takes."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner
from edgemem_eventmem.command import read_truths, trajectories
from edgemem_eventmem.trajectory import Truth, export, group_of, outcome, tools, trajectory, with_advantages

from edgemem.extend import Completion, TokenLogprob, UsageError, View
from edgemem.llm.calls import Call  # noqa: F401 - what the log was made of
from edgemem.remember.store import Store
from edgemem.serve.trace import log_of

OPTIONS = ("a bus", "a tram")
SEARCH = {"thought": "Search.", "call": {"tool": "search_memory", "query": "bus"}}


def said(answer: str) -> Completion:
    text = json.dumps({"thought": "Done.", "answer": answer, "cites": ["event 2"]})
    tokens = (TokenLogprob(token="x", logprob=-0.5), TokenLogprob(token="y", logprob=-0.25))
    return Completion(text=text, model="scripted", tokens_in=100, tokens_out=20, logprobs=tokens)


@pytest.fixture
def asked(evm: SimpleNamespace, view: View, tmp_path: Path) -> Path:
    """A memory whose log has three sessions of one question, two answered right, and one of another planner."""
    from shutil import copytree

    memory = tmp_path / "memory"
    copytree(view.directory, memory)
    for answer in ("A", "B", "A"):
        chat = evm.Chat([SEARCH, said(answer)])
        reply, session = evm.put(view, "What came by?", evm.kit(chat), OPTIONS)
        with Store.open(memory) as store, store.transaction() as tx:
            tx.add_session(log_of(session, reply, "eventmem", "react"))
    reply, session = evm.put(view, "Where is the cup?", evm.kit())
    with Store.open(memory) as store, store.transaction() as tx:
        tx.add_session(log_of(session, reply, "default", "local"))
    return memory


@pytest.fixture
def truth(tmp_path: Path) -> Path:
    path = tmp_path / "qa.json"
    path.write_text(json.dumps([{"question": "What came by?", "options": list(OPTIONS), "answer": "a bus", "id": "q1"}]))
    return path


def found(memory: Path, truths: dict[str, Truth]) -> Any:
    with View.open(memory) as view:
        logs = [view.session(head.id) for head in reversed(view.sessions()) if head.planner == "react"]
    return with_advantages(trajectory(log, truths.get(log.question)) for log in logs)


def test_a_session_becomes_a_trajectory_with_reward_and_advantage(asked: Path, truth: Path):
    right, wrong, again = found(asked, read_truths(truth))
    assert [one.reward for one in (right, wrong, again)] == [1, 0, 1]
    assert right.group == again.group == wrong.group == group_of("What came by?", OPTIONS, right.as_of_us)
    assert [round(one.advantage, 3) for one in (right, wrong, again)] == [0.707, -1.414, 0.707]
    assert len(right.group) == 16
    assert right.logprob == pytest.approx(-0.75)
    assert (right.tokens_in, right.tokens_out) == (200, 40)
    assert [message.role for message in right.messages] == ["system", "user", "assistant", "user", "assistant"]
    assert right.messages[1].pictures == ("m4", "m5", "m6", "m7")
    assert [message.role for message in right.prompt] == ["system", "user"]
    assert json.loads(right.messages[-1].content)["answer"] == "A"
    assert [json.loads(action)["action"] for action, _ in right.steps] == ["short_term", "search_memory", "answer"]
    assert right.truth == "A"


def test_without_a_truth_there_is_no_reward(asked: Path):
    assert [(one.reward, one.advantage, one.truth) for one in found(asked, {})] == [(None, None, "")] * 3


@pytest.mark.parametrize(
    ("status", "answer", "option", "truth", "reward"),
    [
        ("answered", "a bus", 0, Truth(question="", option=0), 1), ("answered", "a bus", 1, Truth(question="", option=0), 0),
        ("answered", "It was the Red bus.", None, Truth(question="", answer="tram|red bus"), 1),
        ("answered", "a busy street", None, Truth(question="", answer="bus"), 0),
        ("abstained", "no bus", None, Truth(question="", answer="bus"), 0),
        ("abstained", "", None, Truth(question=""), 1), ("answered", "x", None, Truth(question=""), 0),
    ],
)  # fmt: skip
def test_the_reward_is_1_for_a_right_answer(status: str, answer: str, option: int | None, truth: Truth, reward: float):
    assert outcome(status, answer, option, truth) == reward


def test_rows_for_trl(asked: Path, truth: Path):
    kept = found(asked, read_truths(truth))
    row = export(kept, "trl")[0]
    assert [message["role"] for message in row["prompt"]] == ["system", "user"]
    assert all(set(message) == {"role", "content"} for message in row["prompt"])
    assert (row["solution"], row["reward"]) == ("A", 1)
    pairs = export(kept, "preferences")
    assert len(pairs) == 2  # two right, one wrong
    assert set(pairs[0]) == {"prompt", "chosen", "rejected"}  # TRL refuses other keys in a preference row
    assert json.loads(pairs[0]["chosen"][-1]["content"])["answer"] == "A"
    assert json.loads(pairs[0]["rejected"][-1]["content"])["answer"] == "B"
    assert pairs[0]["chosen"][0]["role"] == "assistant"


def test_rows_for_swift_have_a_mark_for_each_picture(asked: Path):
    one = found(asked, {})[0]
    row = export([one], "swift", files={"m4": "a.jpg", "m6": "b.jpg", "m2": "c.jpg"})[0]
    assert row["images"] == ["a.jpg", "b.jpg", "c.jpg"]
    assert sum(message["content"].count("<image>") for message in row["messages"]) == 3
    assert row["messages"][1]["content"].startswith("<image><image>{")
    assert [tool["function"]["name"] for tool in json.loads(row["tools"])] == ["search_memory", "ocr", "detect_objects"]
    none = export([one], "swift")[0]
    assert none["images"] == []
    assert "<image>" not in json.dumps(none)


def test_rows_for_verl(asked: Path, truth: Path):
    row = export(found(asked, read_truths(truth)), "verl", "test")[1]
    assert set(row) == {"data_source", "prompt", "images", "ability", "reward_model", "extra_info"}
    assert row["reward_model"] == {"style": "rule", "ground_truth": "A"}
    assert row["extra_info"]["index"] == 1
    assert row["extra_info"]["split"] == "test"


def test_tools_are_json_schemas_without_the_tag():
    search = tools()[0]["function"]["parameters"]
    assert set(search["properties"]) == {"query", "start_time", "end_time"}
    assert tools()[2]["function"]["parameters"]["required"] == ["labels"]


def test_a_question_without_a_model_is_a_trajectory_of_actions_and_results(evm: SimpleNamespace, view: View, asked: Path):
    reply, session = evm.put(view, "Where is the bus?", evm.kit())
    with Store.open(asked) as store, store.transaction() as tx:
        tx.add_session(log_of(session, reply, "eventmem", "react"))
    last = found(asked, {})[-1]
    assert last.messages[0].content == "Where is the bus?"
    assert [message.role for message in last.messages[1:3]] == ["assistant", "user"]
    assert last.messages[-1].role == "assistant"
    assert json.loads(last.messages[-1].content)["action"] == "answer"
    assert last.logprob is None


# The command


def run(*arguments: str) -> Any:
    return CliRunner().invoke(trajectories, [*arguments])


def test_the_command_writes_rows_and_pictures(asked: Path, truth: Path, tmp_path: Path):
    out = tmp_path / "rows.jsonl"
    shown = tmp_path / "pictures"
    arguments = ["--memory", str(asked), "--out", str(out), "--truth", str(truth), "--format", "swift", "--pictures", str(shown), "--json"]
    done = run(*arguments)
    assert json.loads(done.output) == {"trajectories": 3, "rows": 3, "pictures": 5, "reward": pytest.approx(2 / 3)}
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert sorted(path.name for path in shown.iterdir()) == ["m2.jpg", "m4.jpg", "m5.jpg", "m6.jpg", "m7.jpg"]
    assert Path(rows[0]["images"][0]).read_bytes()[:2] == b"\xff\xd8"
    said_ = run("--memory", str(asked), "--out", str(out), "--planner", "nobody")
    assert "0 rows from 0 trajectories" in said_.output


def test_a_folder_is_no_file_of_questions_and_help_names_the_usual_planner(asked: Path, tmp_path: Path):
    refused = run("--memory", str(asked), "--out", str(tmp_path / "rows.jsonl"), "--truth", str(tmp_path))
    assert refused.exit_code == 2
    assert "is a directory" in refused.output
    said = " ".join(run("--help").output.split())
    assert all(f"[default: {usual}]" in said for usual in ("react", "trl", "train"))
    (tmp_path / "file").write_text("")
    refused = run("--memory", str(asked), "--out", str(tmp_path / "rows.jsonl"), "--pictures", str(tmp_path / "file"))
    assert refused.exit_code == 2
    assert "is a file" in refused.output


def test_what_is_no_list_of_questions_is_refused(tmp_path: Path, asked: Path):
    for text in ("{}", "[1]", '[{"answer": "x"}]', "text"):
        path = tmp_path / "wrong.json"
        path.write_text(text)
        with pytest.raises(UsageError, match=r"wrong\.json"):
            read_truths(path)
    with (tmp_path / "large.json").open("wb") as large:
        large.truncate(64 << 20)
    with pytest.raises(UsageError, match="not"):
        read_truths(tmp_path / "large.json")
    with (tmp_path / "large.json").open("ab") as large:
        large.write(b" ")
    with pytest.raises(UsageError, match="it has more than 64 MiB"):
        read_truths(tmp_path / "large.json")
    for left_out in (["--out", str(tmp_path / "x")], ["--memory", str(asked)]):
        assert CliRunner().invoke(trajectories, left_out).exit_code == 2
    with pytest.raises(UsageError, match=r"missing\.json"):
        read_truths(tmp_path / "missing.json")
    done = run("--memory", str(asked), "--out", str(tmp_path / "no" / "x.jsonl"))
    assert isinstance(done.exception, UsageError)
    assert "folder that exists" in str(done.exception)


def test_the_libraries_own_loaders_take_the_rows(asked: Path, truth: Path, tmp_path: Path):
    datasets = pytest.importorskip("datasets", reason="Hugging Face datasets, which TRL, ms-swift and verl load with, is not installed")
    kept = found(asked, read_truths(truth))
    for form in ("trl", "preferences", "swift", "verl"):
        path = tmp_path / f"{form}.jsonl"
        path.write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in export(kept, form)))
        loaded = datasets.load_dataset("json", data_files=str(path), split="train", cache_dir=str(tmp_path / "cache"))
        assert len(loaded) == len(export(kept, form))


def test_nothing_is_written_into_the_memory(asked: Path, tmp_path: Path):
    before = (asked / "memory.db").read_bytes()
    for given in (["--out", str(asked / "memory.db")], ["--out", str(tmp_path / "rows.jsonl"), "--pictures", str(asked / "pictures")]):
        refused = run("--memory", str(asked), *given)
        assert isinstance(refused.exception, UsageError)
        assert "is inside the memory" in str(refused.exception)
    assert (asked / "memory.db").read_bytes() == before
    assert not (asked / "pictures").exists()
