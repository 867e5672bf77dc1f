"""Group relative policy optimisation (EventMemAgent section 3.4, eq. 4 and 5) as pure functions, and training by them.

The paper trains an 8B model on eight GPUs. What a board can train is the policy of `local`, with the same objective: groups of trajectories
of one question, advantages within the group, the clipped ratio of trajectory probabilities, no KL term (table 5).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np

from edgemem_eventmem.local import CHOICES, FEATURES, probabilities

if TYPE_CHECKING:
    import numpy.typing as npt

    from edgemem_eventmem.local import Choose, Features, Mask

    Array = npt.NDArray[np.float64]

CLIP = 0.2
"""Epsilon of eq. 4; the paper does not state it, 0.2 is GRPO's."""
GROUP = 8
"""G (table 5)."""


def advantages(rewards: Sequence[float]) -> Array:
    """(r - mean) / std within one group: float64 [G]. A group whose rewards are all equal teaches nothing: 0 for each."""
    values = np.asarray(rewards, np.float64)
    spread = values.std()
    return np.zeros_like(values) if spread < 1e-12 else (values - values.mean()) / spread


def objective(logp: Array, logp_old: Array, advantage: Array, clip: float = CLIP) -> float:
    """Eq. 4 for one group: the mean of min(ratio x A, clipped ratio x A). All float64 [G]; log-probabilities of whole trajectories."""
    ratio = np.exp(logp - logp_old)
    clipped = np.clip(ratio, 1 - clip, 1 + clip)
    return float(np.minimum(ratio * advantage, clipped * advantage).mean())


def gradient(logp: Array, logp_old: Array, advantage: Array, clip: float = CLIP) -> Array:
    """Derivative of `objective` by each log-probability: float64 [G]. Where the clipped term is the smaller one it is 0."""
    ratio = np.exp(logp - logp_old)
    clipped = np.clip(ratio, 1 - clip, 1 + clip)
    active = ratio * advantage <= clipped * advantage
    return np.where(active, ratio * advantage, 0.0) / len(ratio)


class Decision(NamedTuple):
    """One choice of a trajectory."""

    features: Features
    possible: Mask
    choice: int


Episode = Callable[["Choose"], float]
"""Runs one question with these choices and gives the reward: 1 where the answer is right, else 0 (eq. 5)."""


class TrainSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How long and how fast the policy learns."""

    rounds: int = 40
    """Passes over the questions (one in the paper, over 10,000 samples)."""
    group: int = GROUP
    inner: int = 2
    """Steps of the optimiser for one sample of trajectories."""
    learning_rate: float = 0.05
    """The policy has some hundred weights: a large model's 1e-6 would not move it."""
    clip: float = CLIP
    seed: int = 0


class Trained(NamedTuple):
    """The weights, and the mean reward of each round's trajectories."""

    weights: Array
    rewards: list[float]


def untrained() -> Array:
    """Weights that make every possible choice equally likely."""
    return np.zeros((len(CHOICES), len(FEATURES)))


def train(episodes: Sequence[Episode], settings: TrainSettings | None = None) -> Trained:
    """GRPO with Adam over all questions together, once a round. The same questions and seed give the same weights."""
    chosen = settings or TrainSettings()
    rng, weights, rewards = np.random.default_rng(chosen.seed), untrained(), []
    first, second, step = np.zeros_like(weights), np.zeros_like(weights), 0
    for _ in range(chosen.rounds):
        groups = [[_sample(episode, weights, rng) for _ in range(chosen.group)] for episode in episodes]
        rewards.append(float(np.mean([reward for group in groups for _, reward in group])))
        old = [np.array([_logp(weights, path) for path, _ in group]) for group in groups]
        for _ in range(chosen.inner):
            step += 1
            slope = sum((_slope(weights, group, before, chosen.clip) for group, before in zip(groups, old, strict=True)), untrained())
            slope = slope / len(groups)
            first, second = 0.9 * first + 0.1 * slope, 0.999 * second + 0.001 * slope**2
            weights = weights + chosen.learning_rate * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
    return Trained(weights, rewards)


def expected_reward(episode: Episode, weights: Array, samples: int, seed: int = 0) -> float:
    """Mean reward of sampled trajectories of one question."""
    rng = np.random.default_rng(seed)
    return float(np.mean([_sample(episode, weights, rng)[1] for _ in range(samples)]))


def interval(differences: Sequence[float], samples: int = 10_000, seed: int = 0) -> tuple[float, float, float]:
    """(mean, low, high): the mean difference over questions with its 95 % confidence interval by the bootstrap (percentiles)."""
    values, rng = np.asarray(differences, np.float64), np.random.default_rng(seed)
    means = values[rng.integers(0, len(values), (samples, len(values)))].mean(axis=1)
    low, high = np.percentile(means, [2.5, 97.5])
    return float(values.mean()), float(low), float(high)


def _sample(episode: Episode, weights: Array, rng: np.random.Generator) -> tuple[list[Decision], float]:
    path: list[Decision] = []

    def choose(features: Features, possible: Mask) -> int:
        choice = int(rng.choice(len(CHOICES), p=probabilities(weights, features, possible)))
        path.append(Decision(features, possible, choice))
        return choice

    return path, episode(choose)


def _logp(weights: Array, path: Sequence[Decision]) -> float:
    return float(sum(np.log(probabilities(weights, one.features, one.possible)[one.choice]) for one in path))


def _slope(weights: Array, group: Sequence[tuple[list[Decision], float]], old: Array, clip: float) -> Array:
    """Derivative of one group's objective by the weights."""
    advantage = advantages([reward for _, reward in group])
    logp = np.array([_logp(weights, path) for path, _ in group])
    total = untrained()
    for factor, (path, _) in zip(gradient(logp, old, advantage, clip), group, strict=True):
        for one in path if factor else ():
            chance = probabilities(weights, one.features, one.possible)
            total += factor * np.outer(np.eye(len(CHOICES))[one.choice] - chance, one.features)
    return total
