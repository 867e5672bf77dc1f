"""How far two models are apart, on numbers that are known."""

from __future__ import annotations

import numpy as np
import pytest

from edgemem.errors import EngineError
from edgemem.extend.testing.runtimes import contract_card, expected, inputs
from edgemem.infer.card import Model, Tensor, Tolerance
from edgemem.infer.parity import Latency, ModelParity, OutputParity, Pair, cosine
from edgemem.serve.parity import CardParity
from edgemem.serve.selftest import CheckResult, Machine, SelfTest

MODEL = contract_card().models["model"]


class Computed:
    """The small model of the contract, with a change of its outputs."""

    def __init__(self, change=lambda outputs: outputs):
        self.change, self.closed, self.runs = change, False, 0
        self.metadata = {"alphabet": "abc"}

    def infer(self, arrays):
        self.runs += 1
        return self.change(expected(arrays))

    def close(self):
        self.closed = True


def compared(change, tolerance=None, batches=((2, 3), (3, 4))):
    pair = Pair("model", MODEL, Computed(), Computed(change), tolerance or Tolerance())
    for n, t in batches:
        assert np.array_equal(pair.infer(inputs(n, t))["scores"], expected(inputs(n, t))["scores"])
    return pair.result()


def with_scores(change):
    return lambda outputs: outputs | {"scores": change(outputs["scores"].copy())}


def test_equal_outputs_are_equal():
    result = compared(lambda outputs: outputs)
    assert (result.problem, result.inputs) == ("", 2)
    assert [(one.output, one.cosine > 1 - 1e-9, one.largest_difference) for one in result.outputs] == [
        ("scores", True, 0),
        ("vectors", True, 0),
    ]
    assert result.outputs[1].largest_value == pytest.approx(
        max(np.abs(expected(inputs(n, t))["vectors"]).max() for n, t in ((2, 3), (3, 4)))
    )


def test_the_worst_item_of_the_worst_run_counts():
    """One bad row among many is not lost in a mean."""

    def turn(scores):
        if len(scores) == 3:
            scores[1] = -scores[1]
        return scores

    result = compared(with_scores(turn))
    assert result.outputs[0].cosine == pytest.approx(-1.0)
    assert result.problem == "scores: cosine -1.00000, wanted 0.999"
    assert result.outputs[0].largest_difference == pytest.approx(2 * expected(inputs(3, 4))["scores"][1].max(), rel=1e-5)


@pytest.mark.parametrize(("wanted", "problem"), [(0.9, False), (0.99999, True)])
def test_an_output_may_have_its_own_tolerance(wanted, problem):
    def near(scores):
        scores[:, 0] += 0.02
        return scores

    result = compared(with_scores(near), Tolerance(cosine=1.0 - 1e-9, outputs={"scores": wanted}))
    assert bool(result.problem) is problem
    assert (result.outputs[0].wanted_cosine, result.outputs[1].wanted_cosine) == (wanted, 1.0 - 1e-9)


def test_agreement_is_the_share_of_items_with_the_same_largest_value():
    def other_label(scores):
        scores[0] = np.roll(scores[0], 1)
        return scores

    result = compared(with_scores(other_label), Tolerance(cosine=-1.0, agreement={"scores": 0.7}), batches=((5, 2), (5, 2)))
    assert result.outputs[0].agreement == pytest.approx(0.8)
    assert (result.outputs[1].agreement, result.problem) == (None, "")
    strict = compared(with_scores(other_label), Tolerance(cosine=-1.0, agreement={"scores": 0.9}), batches=((5, 2), (5, 2)))
    assert strict.problem == "scores: agreement 0.800, wanted 0.9"


def test_a_model_that_fails_is_said_and_the_reference_serves_on():
    def fail(_outputs):
        raise EngineError("n must be 1 to 8, got 9")

    result = compared(fail)
    assert (result.problem, result.outputs) == ("n must be 1 to 8, got 9", ())


def test_a_model_that_no_input_reaches_is_not_called_equal():
    assert compared(lambda outputs: outputs, batches=()).problem == "no input reached it"


def test_other_shapes_are_an_error():
    with pytest.raises(EngineError, match=r"scores has the shape \[2, 2\], the reference's has \[2, 3\]"):
        compared(with_scores(lambda scores: scores[:, :2]))


def test_times_are_those_of_the_repeated_runs():
    reference, tested = Computed(), Computed()
    pair = Pair("model", MODEL, reference, tested, Tolerance())
    for n in range(1, 12):
        pair.infer(inputs(n % 8 + 1, 2))
    pair.repeat(20)
    result = pair.result()
    assert (reference.runs, tested.runs) == (31, 31)
    assert (result.reference.runs, result.tested.runs) == (20, 20)
    assert 0 < result.tested.p50_ms <= result.tested.p95_ms
    pair.close()
    assert (reference.closed, tested.closed) == (True, True)
    assert pair.metadata == {"alphabet": "abc"}


def test_without_repetition_the_first_runs_are_the_times():
    pair = Pair("model", MODEL, Computed(), Computed(), Tolerance())
    pair.infer(inputs(2, 2))
    pair.repeat(0)
    assert pair.result().tested.runs == 1


@pytest.mark.parametrize(
    ("one", "other", "value"),
    [
        ([1.0, 0.0], [0.0, 1.0], 0.0),
        ([1.0, 1.0], [2.0, 2.0], 1.0),
        ([3.0, 4.0], [4.0, 3.0], 0.96),
        ([0.0, 0.0], [1e-7, 0.0], 1.0),
        ([0.0, 0.0], [1.0, 0.0], 0.0),
        ([1.0, np.nan], [1.0, np.nan], 1.0),
        ([1.0, np.nan], [1.0, 0.0], -1.0),
        ([1.0, np.inf], [1.0, 1e9], -1.0),
        ([], [], 1.0),
    ],
)
def test_cosines_at_the_edges(one, other, value):
    assert cosine(np.array(one, np.float32), np.array(other, np.float32)) == pytest.approx(value, abs=1e-7)


def test_only_items_of_a_free_first_dimension_are_compared_apart():
    """A vector is one item, whatever its length; so is a grid of fixed size."""
    shapes = {"flat": ["n"], "grid": [2, 2], "batch": ["n", 2]}
    model = Model(file="model", inputs={}, outputs={name: Tensor(shape=shape) for name, shape in shapes.items()})
    wanted = {"flat": np.array([3.0, 4.0]), "grid": np.array([[3.0, 0.0], [0.0, 4.0]]), "batch": np.array([[3.0, 0.0], [0.0, 4.0]])}
    found = {"flat": np.array([3.0, -4.0]), "grid": np.array([[3.0, 0.0], [0.0, -4.0]]), "batch": np.array([[3.0, 0.0], [0.0, -4.0]])}
    pair = Pair("model", model, Given(wanted), Given(found), Tolerance(cosine=-1.0))
    pair.infer({})
    cosines = {one.output: one.cosine for one in pair.result().outputs}
    assert cosines == {"flat": pytest.approx(-7 / 25), "grid": pytest.approx(-7 / 25), "batch": pytest.approx(-1.0)}


class Given(Computed):
    """Outputs that are known."""

    def __init__(self, outputs):
        super().__init__()
        self.outputs = outputs

    def infer(self, _arrays):
        return self.outputs


def test_times_are_in_milliseconds(monkeypatch):
    ticks = iter(np.cumsum([0.0, 0.002, 0.0, 0.004] * 21))
    monkeypatch.setattr("edgemem.infer.parity.time.perf_counter", lambda: next(ticks))
    pair = Pair("model", MODEL, Computed(), Computed(), Tolerance())
    pair.infer(inputs(2, 2))
    pair.repeat(20)
    result = pair.result()
    assert (result.reference.p50_ms, result.reference.p95_ms) == (2.0, 2.0)
    assert (result.tested.p50_ms, result.tested.p95_ms) == (4.0, 4.0)


def test_a_cosine_is_never_more_than_one():
    """Rounding would give a little more for many vectors."""
    for seed in range(200):
        vector = np.random.default_rng(seed).normal(size=7)
        assert -1.0 <= cosine(vector, -vector) <= cosine(vector, vector) <= 1.0


@pytest.mark.parametrize("kind", [OutputParity, ModelParity, Latency, CardParity, SelfTest, Machine, CheckResult])
def test_records_are_frozen(kind):
    assert kind.__struct_config__.frozen
