"""The objective by hand and by finite differences, training on a task with a known best policy, and the policy that is shipped."""

from __future__ import annotations

import dataclasses
import math
from types import SimpleNamespace

import msgspec
import numpy as np
import pytest
from edgemem_eventmem import grpo, local
from edgemem_eventmem.actions import DetectObjects, Events, Frames, ReadPicture, RecallFrames, SearchMemory
from edgemem_eventmem.local import CHOICES, FEATURES, LocalPolicy, Policy, State, possible_actions, probabilities, steps
from edgemem_eventmem.tools import RecallTool

from edgemem.answer.planner import ask
from edgemem.answer.understand.timespan import TimeSpan
from edgemem.extend import US, Question, View


def test_advantages_are_standardised_within_the_group():
    assert grpo.advantages([1, 0, 0, 1]).tolist() == [1, -1, -1, 1]
    assert grpo.advantages([1, 0, 0, 0]) == pytest.approx([math.sqrt(3), *[-1 / math.sqrt(3)] * 3])
    assert grpo.advantages([1, 1, 1]).tolist() == [0, 0, 0]


def test_the_objective_is_that_of_equation_4():
    old, advantage = np.log([0.5, 0.5, 0.5]), np.array([1.0, -1.0, 1.0])
    new = np.log([0.75, 0.25, 0.55])  # ratios 1.5, 0.5, 1.1
    # min(1.5, 1.2) x 1, min(-0.5, -0.8), min(1.1, 1.1): their mean
    assert grpo.objective(new, old, advantage) == pytest.approx((1.2 - 0.8 + 1.1) / 3)
    assert grpo.objective(new, old, advantage, clip=0.6) == pytest.approx((1.5 - 0.5 + 1.1) / 3)


def test_the_gradient_is_that_of_the_objective():
    rng = np.random.default_rng(0)
    for _ in range(20):
        new, old, advantage = rng.normal(0, 0.3, 5), rng.normal(0, 0.3, 5), rng.normal(0, 1, 5)
        for index in range(5):
            step = np.zeros(5)
            step[index] = 1e-6
            slope = (grpo.objective(new + step, old, advantage) - grpo.objective(new - step, old, advantage)) / 2e-6
            assert grpo.gradient(new, old, advantage)[index] == pytest.approx(slope, abs=1e-5)


def test_the_policys_slope_is_that_of_its_log_probability():
    rng = np.random.default_rng(1)
    weights = rng.normal(0, 1, (len(CHOICES), len(FEATURES)))
    mask = np.array([True, True, False, True, True, False, True])
    path = [grpo.Decision(rng.random(len(FEATURES)), mask, 3), grpo.Decision(rng.random(len(FEATURES)), mask, 0)]
    other = [grpo.Decision(path[0].features, mask, 1)]
    group = [(path, 1.0), (other, 0.0)]
    old = np.array([grpo._logp(weights, path), grpo._logp(weights, other)])
    slope = grpo._slope(weights, group, old, 0.2)

    def value(at: np.ndarray) -> float:
        return grpo.objective(np.array([grpo._logp(at, path), grpo._logp(at, other)]), old, grpo.advantages([1.0, 0.0]))

    for row, column in ((0, 0), (1, 3), (3, 5), (6, 2), (2, 4)):
        step = np.zeros_like(weights)
        step[row, column] = 1e-6
        assert slope[row, column] == pytest.approx((value(weights + step) - value(weights - step)) / 2e-6, abs=1e-5)
    assert not slope[2].any()  # a choice that was not possible
    with pytest.raises(ValueError, match="zip"):
        grpo._slope(weights, group[:1], old, 0.2)  # log-probabilities of more attempts than there were


def test_probabilities_are_a_softmax_over_what_is_possible():
    weights = np.zeros((len(CHOICES), len(FEATURES)))
    weights[1, 0] = math.log(3)
    mask = np.array([True, True, False, False, False, False, False])
    features = np.eye(len(FEATURES))[0]
    assert probabilities(weights, features, mask).tolist() == pytest.approx([0.25, 0.75, 0, 0, 0, 0, 0])


def lesson(right: dict[int, int]):
    """Episodes in which the kind of question (feature 1 to 3) says which first choice is right."""

    def episode(kind: int, wanted: int):
        features = np.zeros(len(FEATURES))
        features[[0, kind]] = 1
        mask = np.ones(len(CHOICES), bool)
        return lambda choose: float(choose(features, mask) == wanted)

    return [episode(kind, wanted) for kind, wanted in right.items()]


def test_training_finds_the_right_choice_for_each_kind_of_question_and_is_deterministic():
    episodes = lesson({1: 2, 2: 5, 3: 0})
    before = np.mean([grpo.expected_reward(one, grpo.untrained(), 200) for one in episodes])
    trained = grpo.train(episodes, grpo.TrainSettings(rounds=60, learning_rate=0.1))
    after = np.mean([grpo.expected_reward(one, trained.weights, 200) for one in episodes])
    assert before == pytest.approx(1 / len(CHOICES), abs=0.06)
    assert after > 0.9
    assert len(trained.rewards) == 60
    assert np.mean(trained.rewards[-10:]) > np.mean(trained.rewards[:10]) + 0.5
    again = grpo.train(episodes, grpo.TrainSettings(rounds=60, learning_rate=0.1))
    assert np.array_equal(again.weights, trained.weights)
    assert not np.array_equal(grpo.train(episodes, grpo.TrainSettings(rounds=2, seed=1)).weights, trained.weights)


def test_the_first_step_of_adam_moves_every_weight_with_a_slope_by_the_learning_rate():
    moved = grpo.train(lesson({1: 2, 2: 5, 3: 0}), grpo.TrainSettings(rounds=1, inner=1, group=32, learning_rate=0.1)).weights
    changed = np.abs(moved[moved != 0])
    assert changed.size
    assert changed == pytest.approx(0.1, rel=1e-3)


def test_a_confidence_interval_is_that_of_the_mean():
    values = [1.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0] * 20
    mean, low, high = grpo.interval(values)
    error = 1.96 * np.std(values) / math.sqrt(len(values))
    assert mean == 0.75
    assert (low, high) == (pytest.approx(mean - error, abs=0.01), pytest.approx(mean + error, abs=0.01))


# The tools that the policy chooses from


@pytest.fixture
def asked(evm: SimpleNamespace, view: View):
    """(session, frames) of a question."""

    def put(text: str):
        _, session = ask(view, Question(text=text, asked_us=evm.start_us + 100 * US, as_of_us=evm.start_us + 100 * US), evm.kit())
        session.steps.clear()
        return session, RecallTool().run(RecallFrames(), view)

    return put


def test_without_a_time_short_term_memory_comes_first(asked):
    session, frames = asked("Where is the cup?")
    offered = possible_actions(session, State.of(session, frames))
    assert "search" not in offered
    assert offered["ocr_frame"] == ReadPicture(frame_index=3)
    assert offered["detect_frame"] == DetectObjects(labels=("cup",), frame_index=3)
    session, frames = asked("Where is the bus?")
    assert possible_actions(session, State.of(session, frames))["search"] == SearchMemory(query="bus")
    assert "search_time" not in possible_actions(session, State.of(session, frames))


def test_words_are_searched_for_where_the_question_names_no_thing(asked):
    session, frames = asked("What did Anna say?")
    assert not session.parsed.things
    words = " ".join(session.parsed.words)
    assert words
    assert possible_actions(session, State.of(session, frames))["search"] == SearchMemory(query=words)


def test_half_of_what_was_asked_in_short_term_memory_needs_no_search(asked):
    session, frames = asked("Where is the cup?")
    for things, searched in ((("cup", "unicorn"), False), (("cup", "unicorn", "bus"), True)):
        parsed = msgspec.structs.replace(session.parsed, things=things)
        both = dataclasses.replace(session, understood=lambda parsed=parsed: (parsed, session.span))
        state = State.of(both, frames)
        assert state.recent_fit == pytest.approx(1 / len(things))
        assert ("search" in possible_actions(both, state)) is searched


def test_objects_are_asked_for_by_five_names_of_sixty_letters(asked):
    session, frames = asked("Where is the cup?")
    parsed = msgspec.structs.replace(session.parsed, things=("cup", *(f"{n}" * 61 for n in range(5))))
    many = dataclasses.replace(session, understood=lambda: (parsed, session.span))
    offered = possible_actions(many, State.of(many, frames))
    assert offered["detect_frame"].labels == ("cup", *(f"{n}" * 60 for n in range(4)))


def test_with_a_time_long_term_memory_may_be_searched_by_it(asked, evm: SimpleNamespace):
    session, frames = asked("Did I see the cup after 10:01 today?")
    offered = possible_actions(session, State.of(session, frames))
    assert offered["search_time"] == SearchMemory(from_us=evm.start_us + 60 * US, to_us=session.span.to_us)
    assert "search" in offered


def test_nothing_is_done_twice_and_answering_is_always_possible(asked):
    session, frames = asked("Where is the bus?")
    state = State.of(session, frames)
    for _ in range(10):
        offered = possible_actions(session, state)
        assert "answer" in offered
        rest = [action for action in offered.values() if action is not None]
        if not rest:
            break
        state = state.after(rest[0], None)
    assert len(set(state.done)) == len(state.done)
    assert set(possible_actions(session, State.of(session, Frames()))) == {"answer", "search"}


def test_features_say_where_the_question_stands(asked):
    session, frames = asked("Where is the cup?")
    named = dict(zip(FEATURES, local.features_of(session, State.of(session, frames)), strict=True))
    assert named["bias"] == named["kind where"] == named["names a thing"] == named["short-term fit"] == 1.0
    assert not any(named[key] for key in ("kind when", "names a time", "fit of what tools brought", "searched", "steps taken"))
    for text, hint in (("What did the sign say?", "read"), ("Did I see the cup?", "seen")):
        hinted, _ = asked(text)
        named = dict(zip(FEATURES, local.features_of(hinted, State.of(hinted, frames)), strict=True))
        assert hinted.parsed.hint == hint
        assert [name for name in FEATURES if name.startswith("asks for") and named[name]] == [f"asks for what was {hint}"]
    timed, _ = asked("Did I see the cup before 10:01?")
    assert dict(zip(FEATURES, local.features_of(timed, State.of(timed, frames)), strict=True))["names a time"] == 1.0
    for span, names_one in ((TimeSpan(from_us=1), 1.0), (TimeSpan(to_us=1), 1.0), (TimeSpan(), 0.0)):  # one end alone is a time as well
        other = dataclasses.replace(session, understood=lambda span=span: (session.parsed, span))
        assert dict(zip(FEATURES, local.features_of(other, State.of(other, frames)), strict=True))["names a time"] == names_one
    later = State.of(session, frames).after(ReadPicture(frame_index=3), None).after(SearchMemory(query="x"), None)
    named = dict(zip(FEATURES, local.features_of(session, later), strict=True))
    assert (named["read"], named["searched"], named["detected"], named["steps taken"]) == (1.0, 1.0, 0.0, 0.5)


def test_at_most_four_tools_are_used(asked):
    session, frames = asked("Where is the bus?")
    plan = steps(session, frames, lambda _features, mask: int(np.flatnonzero(mask)[-1]))
    used, result = [next(plan)], Events()
    try:
        while True:
            used.append(plan.send(result))
    except StopIteration as stop:
        reply = stop.value
    assert len(used) == len(set(used)) == 3  # of the bus: search, read a frame, look for it in a frame
    assert reply.status == "abstained"


def test_the_shipped_policy_answers_without_a_language_model(evm: SimpleNamespace, view: View):
    answer, session = evm.put(view, "Where is the bus?", evm.kit())
    assert (answer.status, answer.answer) == ("answered", "In view: street, bus.")
    assert answer.confidence == pytest.approx(0.6)
    assert [type(step.action) for step in session.steps][:2] == [RecallFrames, SearchMemory]
    near, session = evm.put(view, "Where is the dog?", evm.kit())
    assert near.evidence[0].id in {"m4", "m5"}
    assert SearchMemory not in [type(step.action) for step in session.steps]
    none, _ = evm.put(view, "Where is the unicorn?", evm.kit())
    assert (none.status, none.confidence) == ("abstained", 0.0)
    chosen, _ = evm.put(view, "Which of these came by?", evm.kit(), options=("a tram", "a bus"))
    assert chosen.option in {1, None}


def test_weights_of_another_edgemem_are_refused():
    policy = Policy(choices=("a",), features=FEATURES, weights=((0.0,) * len(FEATURES),))
    with pytest.raises(ValueError, match="other choices"):
        LocalPolicy(policy)
    kept = Policy.of(np.arange(len(CHOICES) * len(FEATURES), dtype=float).reshape(len(CHOICES), -1))
    assert kept.matrix[1, 0] == len(FEATURES)


def test_the_interval_is_of_10000_draws():
    differences = [0.0, 1.0, 0.0, -1.0, 1.0]
    drawn = np.random.default_rng(0).integers(0, 5, (10_000, 5))
    means = np.sort([np.mean([differences[place] for place in row]) for row in drawn])
    low, high = (float(np.percentile(means, share)) for share in (2.5, 97.5))
    assert grpo.interval(differences) == pytest.approx((0.2, low, high))


def test_weights_are_shipped_with_four_digits():
    weights = np.full((len(CHOICES), len(FEATURES)), 1 / 3)
    assert Policy.of(weights).weights[0][0] == 0.3333
