"""Train the tool-choice policy of the planner `react` by GRPO, and measure it on another stream, both ways.

    eventmem_policy.py STREAM:MEMORY STREAM:MEMORY [--rounds 40] [--out DIR] [--write policy.json]

STREAM is a folder of `compose.py` (truth.json), MEMORY what the recipe `eventmem` remembered of it. The policy is trained on the questions
of one stream and asked those of the other, then the other way round; the reward is 1 for a right answer. Prints how many answers are right
with the trained policy and with the untrained one (every possible tool equally likely) on questions that training never saw, with the 95 %
interval of the difference, and draws the reward curve. `--write` stores weights that were trained on all given streams.
"""

import argparse
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from edgemem_eventmem.actions import Frames, RecallFrames
from edgemem_eventmem.grpo import Episode, TrainSettings, expected_reward, interval, train, untrained
from edgemem_eventmem.local import Policy, steps
from score import is_right
from world import Question, Truth

from edgemem.answer.planner import AnswerKit, ask
from edgemem.cli.app import CommandContext
from edgemem.clock import from_iso
from edgemem.extend import Models, Session, Thinking, Thought
from edgemem.extend.assembly import make_kit
from edgemem.records import Question as Asked
from edgemem.remember.view import View

SAMPLES = 16
"""Trajectories per question that the untrained policy is averaged over."""


class Chosen(Thinking):
    """The planner `react` with somebody else's choices."""

    name = "chosen"

    def __init__(self, choose: Callable[..., int]) -> None:
        super().__init__()
        self._choose = choose

    def think(self, session: Session) -> Thought:
        recalled = yield RecallFrames()
        frames = recalled if isinstance(recalled, Frames) else Frames()
        yield (yield from steps(session, frames, self._choose))


class Remembered:
    """A tool whose results are kept: the same question asks for the same thing many times."""

    def __init__(self, tool: Any) -> None:
        self._tool, self._results = tool, dict[Any, Any]()
        self.name, self.effect, self.action = tool.name, tool.effect, tool.action

    def run(self, action: Any, view: View) -> Any:
        key = (action, view.as_of_us)
        if key not in self._results:
            self._results[key] = self._tool.run(action, view)
        return self._results[key]


def tools() -> list[Any]:
    """Those of the recipe `eventmem`."""
    context = CommandContext(None, ())
    planner = make_kit(context.recipes, context.recipes.read("eventmem"), context.context).planner
    return [Remembered(tool) for tool in planner.tools]


def episodes(stream: Path, memory: Path, used: list[Any]) -> Iterator[Episode]:
    """One for each question: choices -> 1 where the answer is right. What choices lead to is worked out once."""
    truth = msgspec.json.decode((stream / "truth.json").read_bytes(), type=Truth)
    view = View.open(memory)
    shift_us = view.streams()[0].t0_us - from_iso(truth.start)
    for question in truth.questions:
        yield _episode(question, truth, view, shift_us, used)


def _episode(question: Question, truth: Truth, view: View, shift_us: int, used: list[Any]) -> Episode:
    start = datetime.fromisoformat(truth.start.replace("Z", "+00:00")).astimezone(timezone.utc) + timedelta(microseconds=shift_us)
    as_of_us = from_iso(question.as_of) + shift_us
    tree: dict[tuple[int, ...], Any] = {}

    def run(path: tuple[int, ...]) -> None:
        """Follow the choices; note what stands at their end: the next choice, or the reward."""
        taken: list[int] = []

        def choose(features: Any, possible: Any) -> int:
            if len(taken) == len(path):
                tree[path] = (features, possible)
                taken.append(0)  # "answer": the reward of stopping here is noted on the way
                return 0
            taken.append(path[len(taken)])
            return taken[-1]

        with View.open(view.directory, as_of_us=as_of_us) as then:
            asked = Asked(text=question.text, asked_us=as_of_us, as_of_us=as_of_us, options=question.options)
            kit = AnswerKit(planner=Chosen(choose), retrievers=(), tools=tuple(used), models=Models())
            answer, _ = ask(then, asked, kit)
        begun_us = from_iso(truth.start) + shift_us
        evidence = tuple(((e.t0_us - begun_us) / 1e6, (e.t1_us - begun_us) / 1e6) for e in answer.evidence)
        reply = {"status": answer.status, "answer": answer.answer, "option": answer.option}
        tree[tuple(taken) if path not in tree else (*path, 0)] = float(is_right(question, reply, start, evidence[:5]))
        if path not in tree:
            tree[path] = tree[tuple(taken)]

    def episode(choose: Callable[..., int]) -> float:
        path: tuple[int, ...] = ()
        while True:
            if path not in tree:
                run(path)
            node = tree[path]
            if isinstance(node, float):
                return node
            path = (*path, choose(*node))

    return episode


def best(weights: np.ndarray) -> Callable[..., int]:
    """The most likely choice."""
    return lambda features, possible: int(np.argmax(np.where(possible, weights @ features, -np.inf)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pairs", nargs="+", metavar="STREAM:MEMORY")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("build/eval"), help="Where the reward curve goes.")
    parser.add_argument("--write", type=Path, help="Store weights trained on all streams.")
    args = parser.parse_args()
    used = tools()
    pairs = [pair.split(":", 1) for pair in args.pairs]
    sets = [list(episodes(Path(stream), Path(memory), used)) for stream, memory in pairs]
    settings = TrainSettings(rounds=args.rounds, seed=args.seed)
    curves, gains = {}, list[float]()
    for index, held in enumerate(sets):
        trained = train([episode for other, one in enumerate(sets) if other != index for episode in one], settings)
        before = [expected_reward(episode, untrained(), SAMPLES) for episode in held]
        after = [episode(best(trained.weights)) for episode in held]
        gains += [b - a for a, b in zip(before, after, strict=True)]
        curves[f"asked on {args.pairs[index].split(':')[0].rpartition('/')[2]}"] = trained.rewards
        right = f"right {np.mean(before):.3f} untrained, {np.mean(after):.3f} trained"
        print(f"{args.pairs[index].split(':')[0]}: {len(held)} held-out questions, {right}", flush=True)
    mean, low, high = interval(gains)
    print(f"improvement {mean:+.3f}, 95 % interval {low:+.3f} to {high:+.3f} ({len(gains)} questions, seed {args.seed})")
    args.out.mkdir(parents=True, exist_ok=True)
    draw(curves, args.out / "eventmem-reward.png")
    if args.write:
        whole = train([episode for one in sets for episode in one], settings)
        args.write.write_bytes(msgspec.json.format(msgspec.json.encode(Policy.of(whole.weights)), indent=1) + b"\n")


def draw(curves: dict[str, list[float]], path: Path) -> None:
    """Mean reward of the sampled trajectories by round, one line for each training."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4), dpi=120)
    for name, rewards in curves.items():
        axes.plot(range(1, len(rewards) + 1), rewards, label=name)
    axes.set(xlabel="round", ylabel="mean reward of sampled trajectories", title="GRPO on the tool-choice policy")
    axes.legend()
    axes.grid(alpha=0.3)
    figure.tight_layout()
    figure.savefig(path)
    print(path)


if __name__ == "__main__":
    main()
