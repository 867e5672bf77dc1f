"""Cost of a question: steps, model calls, tokens and milliseconds, for the local planner and for `vam` with a scripted server.

    .venv/bin/python tools/bench/steps.py [--memory DIR] [--delay-ms 300] [QUESTION...]

Without a memory it makes one from the demo's clips. The server is real HTTP on this machine with a typical conversation: a router, a search
with an inspection of the best hit, an answer. It waits `--delay-ms` before each reply, like a model that thinks. The time of a question
minus the time of the model is the overhead of the loop. Tokens are counted as characters / 4 of the texts that were sent and received;
pictures are not counted.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from _clips import clips
from edgemem_openai.testing import ScriptedCall, ScriptedReply, ScriptedServer

from edgemem.answer.planner import ask
from edgemem.answer.session import Session as Asking
from edgemem.cli.app import CommandContext
from edgemem.extend.assembly import make_kit
from edgemem.records import Question
from edgemem.remember.view import View

QUESTIONS = (
    "where did I see a cup?",
    "when did I see a person?",
    "what did I see first?",
    "what was written on the sign?",
    "did I see a bicycle?",
)


def player(delay_ms: float) -> Any:
    """A model that routes, searches for the question's words, inspects one hit and answers."""

    def say(asked: ScriptedCall) -> Any:
        task = asked.messages[0][1].splitlines()[0]
        body = json.loads(asked.messages[1][1])
        if task == "# Router":
            return {"type": "tool", "name": "retrieve", "args": {"question": body["request"]}}
        if task == "# Inspector":
            return "The pictures show what was asked for."
        if not body["context"]:
            return {"action": "search", "queries": [{"q": body["goal"], "top_k": 5, "inspect_k": 1}]}
        return {"action": "answer", "response": "It is there.", "best_ref": {"turn_idx": 1, "result_idx": 0}}

    def play(asked: ScriptedCall) -> ScriptedReply:
        said = say(asked)
        text = said if isinstance(said, str) else json.dumps(said)
        return ScriptedReply(text, usage=(sum(len(words) for _, words in asked.messages) // 4, len(text) // 4), wait_s=delay_ms / 1000)

    return play


def measure(session: CommandContext, memory: Path, planner: str, questions: Sequence[str], rounds: int) -> list[tuple[Asking, float]]:
    """(session, milliseconds) of each question, after one round that loads the engines."""
    recipe = session.recipes.read("vam")
    kit = make_kit(session.recipes, recipe, session.context, planner)
    found = []
    with View.open(memory) as view:
        bounds = view.bounds()
        if bounds is None:
            raise SystemExit(f"{memory} is empty")
        for number in range(rounds + 1):
            for text in questions:
                begun = time.perf_counter()
                _, asked = ask(view, Question(text=text, asked_us=bounds[1], as_of_us=view.as_of_us), kit)
                if number:
                    found.append((asked, 1000 * (time.perf_counter() - begun)))
    return found


def line(name: str, found: Sequence[tuple[Asking, float]]) -> str:
    """One row: medians over the questions."""

    def median(values: Sequence[float]) -> float:
        return statistics.median(values)

    model_ms = [sum(call.ms for call in asked.calls) for asked, _ in found]
    own_ms = [ms - model for (_, ms), model in zip(found, model_ms, strict=True)]
    columns = (
        name,
        f"{median([len(asked.steps) + 1 for asked, _ in found]):.0f}",
        f"{median([len(asked.calls) for asked, _ in found]):.0f}",
        f"{median([sum(c.tokens_in for c in asked.calls) for asked, _ in found]):.0f}",
        f"{median([sum(c.tokens_out for c in asked.calls) for asked, _ in found]):.0f}",
        f"{median([ms for _, ms in found]):.0f}",
        f"{median(model_ms):.0f}",
        f"{median(own_ms):.0f}",
    )
    return " | ".join(column.rjust(10) for column in columns)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("questions", nargs="*", default=list(QUESTIONS))
    parser.add_argument("--memory", type=Path)
    parser.add_argument("--delay-ms", type=float, default=300.0)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        memory = options.memory or remembered(Path(name) / "memory")
        table(memory, options)


def remembered(memory: Path) -> Path:
    """A memory of the demo's clips, with the recipe `vam`."""
    for clip in clips(()):
        command = [sys.executable, "-m", "edgemem", "ingest", clip, "--memory", str(memory), "--recipe", "vam"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return memory


def table(memory: Path, options: argparse.Namespace) -> None:
    """Both planners on the same questions."""
    heads = ("planner", "steps", "calls", "tokens in", "tokens out", "ms", "model ms", "our ms")
    print(" | ".join(head.rjust(10) for head in heads))
    print(line("local", measure(CommandContext(None, ()), memory, "local", options.questions, options.rounds)))
    with ScriptedServer(player(options.delay_ms)) as server:
        remote = CommandContext(None, (f"openai.base_url={server.base_url}", "openai.model=scripted"))
        print(line("vam", measure(remote, memory, "vam", options.questions, options.rounds)))


if __name__ == "__main__":
    main()
