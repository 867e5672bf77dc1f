"""The whole measurement with answers of known quality: one program reads the truth, one always abstains."""

import argparse
import json
from datetime import datetime, timedelta

import msgspec
import pytest
from compose import compose
from run import measure
from score import abstention_f1, summary
from world import Truth


@pytest.fixture(scope="module")
def work(catalog, tmp_path_factory):
    folder = tmp_path_factory.mktemp("work")
    for seed in (40, 43):
        compose(seed, 3.0, folder / f"s{seed}-3m", (64, 36), questions=60, catalog=catalog)
    return folder


def answerer(work, seed, *, knows):
    """Instead of the command line: `ask` answers from truth.json in the documented JSON, or abstains with exit code 3."""
    truth = msgspec.json.decode((work / f"s{seed}-3m" / "truth.json").read_bytes(), type=Truth)
    start = datetime.fromisoformat(truth.start.replace("Z", "+00:00"))

    def clock(at_s):
        return (start + timedelta(seconds=at_s)).isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def run(args):
        if args[0] == "ingest":
            assert args[args.index("--start") + 1] == truth.start
            return 0, json.dumps({"frames_seen": 1})
        options = tuple(args[n + 1] for n, word in enumerate(args) if word == "--option")
        question = next(q for q in truth.questions if (q.text, q.options) == (args[1], options))
        assert args[args.index("--as-of") + 1] == question.as_of
        if not knows or not question.answerable:
            return 3, json.dumps({"status": "abstained", "answer": "", "confidence": 0.1, "option": None, "evidence": []})
        evidence = [{"t0": clock(t0), "t1": clock(t1)} for t0, t1 in question.spans]
        said = {
            "time": lambda: f"It was {clock(question.spans[0][0])[11:19]}.",
            "count": lambda: f"{question.count} times",
            "yesno": lambda: "Yes." if question.yes else "No.",
            "option": lambda: question.options[question.option],
        }.get(question.check, lambda: f"I believe: {question.accept[0]}.")()
        return 0, json.dumps({"status": "answered", "answer": said, "confidence": 1.0, "option": question.option, "evidence": evidence})

    return run


def arguments(**more):
    return argparse.Namespace(minutes=3.0, questions=60, recipe=None, reuse=False, in_process=False, **more)


@pytest.mark.parametrize("seed", [40, 43])  # 43 crosses midnight
def test_knowing_the_truth_scores_full_marks(work, seed):
    results, ingest = measure(answerer(work, seed, knows=True), work, arguments(), seed)
    assert [result for result in results if not result.right] == []
    table = summary(results)["all"]
    assert (table["recall@10s"], table["top1"], table["brier"], table["abstention_f1"]) == (100.0, 100.0, 0.0, 100.0)
    assert ingest["frames_seen"] == 1


def test_silence_scores_no_better_than_the_share_of_unanswerable_questions(work):
    results, _ = measure(answerer(work, 40, knows=False), work, arguments(), 40)
    assert all(result.right == (not result.answerable or result.silent_ok) for result in results)
    assert 20 < abstention_f1(results) < 35
    assert summary(results)["all"]["recall@10s"] == 0.0


def test_a_command_that_fails_counts_as_wrong_and_is_said(work):
    results, _ = measure(lambda args: (0, "{}") if args[0] == "ingest" else (1, ""), work, arguments(), 40)
    assert not any(result.right for result in results)
    assert summary(results)["all"]["failed"] == 100.0
