"""The contract of runtimes, as checks that hold for each of them: on the processor in tests, on a device in `edgemem engines selftest`.

All checks use one small model, `contract.onnx` beside this file (a test makes it again and compares). What it must compute is known from
numpy alone. Nothing here is specific to a runtime.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from edgemem import files
from edgemem.errors import EngineError
from edgemem.infer.card import EngineCard, Model, SizeRange, Tensor, WeightSource
from edgemem.infer.fetch import silent
from edgemem.infer.roles import Engine
from edgemem.infer.runtime import Runtime

if TYPE_CHECKING:
    import numpy.typing as npt

    Arrays = dict[str, npt.NDArray[np.generic]]

MODEL_FILE = Path(__file__).with_name("contract.onnx")
WEIGHTS = ((np.arange(12, dtype=np.float32).reshape(4, 3) - 5) / 4).astype(np.float32)
BIAS = np.array([0.5, -0.25, 0.0], np.float32)
TABLE = (np.arange(40, dtype=np.float32).reshape(10, 4) / 8 - 2).astype(np.float32)
TEXTS = {"alphabet": "aé字"}
"""What `contract.onnx` holds: scores = softmax(x WEIGHTS + BIAS), vectors = mean over t of TABLE[ids]."""
MOST, LONGEST = 8, 16
"""Largest n and t of the card."""
CLOSE = 5e-3
"""Largest absolute difference from numpy. TF32 keeps 10 bits of mantissa (2^-11 of each product), and a score sums four of at most 2."""


def contract_card() -> EngineCard:
    """The card of the small model."""
    model = Model(
        file="model",
        inputs={"x": Tensor(shape=["n", 4]), "ids": Tensor(dtype="int64", shape=["n", "t"])},
        outputs={"scores": Tensor(shape=["n", 3]), "vectors": Tensor(shape=["n", 4])},
        ranges={"n": SizeRange(1, 2, MOST), "t": SizeRange(1, 4, LONGEST)},
    )
    source = WeightSource(kind="file", path=str(MODEL_FILE), members={"model": ""})
    made = {"model": MODEL_FILE.name}
    return EngineCard(name="contract", role="test", decoder="none", source=[source], files=made, models={"model": model})


def inputs(n: int, t: int, seed: int = 0) -> Arrays:
    """Inputs of a batch of n with t ids each, in -1..1 and 0..9."""
    random = np.random.default_rng(seed)
    return {"x": random.uniform(-1, 1, (n, 4)).astype(np.float32), "ids": random.integers(0, 10, (n, t), dtype=np.int64)}


def expected(arrays: Arrays) -> Arrays:
    """What the small model gives, computed by numpy."""
    logits = np.asarray(arrays["x"], np.float32) @ WEIGHTS + BIAS
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return {"scores": powers / powers.sum(axis=1, keepdims=True), "vectors": TABLE[np.asarray(arrays["ids"], np.int64)].mean(axis=1)}


@contextmanager
def loaded(runtime: Runtime, card: EngineCard | None = None) -> Iterator[Engine]:
    """The small model on a runtime; it is built if the runtime builds."""
    card = card or contract_card()
    runtime.build(card, "model", MODEL_FILE, silent)
    engine = runtime.load(card, "model", MODEL_FILE)
    try:
        yield engine
    finally:
        engine.close()


def _right(engine: Engine, arrays: Arrays) -> None:
    found, wanted = engine.infer(arrays), expected(arrays)
    assert set(found) == set(wanted), f"the outputs are {', '.join(found)} instead of {', '.join(wanted)}"
    for name, array in wanted.items():
        assert found[name].dtype == array.dtype, f"{name} is {found[name].dtype} instead of {array.dtype}"
        assert found[name].shape == array.shape, f"{name} has the shape {found[name].shape} instead of {array.shape}"
        far = float(np.abs(np.subtract(found[name], array, dtype=np.float32)).max())
        assert far <= CLOSE, f"{name} differs from numpy by {far:.2g}, more than {CLOSE}"


def _refused(act: Callable[[], object], names: str, what: str) -> None:
    said = ""
    try:
        act()
    except EngineError as error:
        said = str(error)
    assert said, f"{what} was accepted; raise EngineError"
    assert names in said, f"the error for {what} does not name {names}: {said}"
    assert len(said.splitlines()) == 1, f"the error for {what} has several lines"


def describes_itself(runtime: Runtime) -> None:
    """One line for the doctor."""
    assert len(runtime.describe().strip().splitlines()) == 1, "describe() must be one line"


def reads_the_texts_of_the_model(runtime: Runtime) -> None:
    """Texts in the model file, such as the alphabet of a text recogniser."""
    with loaded(runtime) as engine:
        assert TEXTS.items() <= dict(engine.metadata).items(), f"the texts are {dict(engine.metadata)} instead of {TEXTS}"


def computes_what_numpy_computes(runtime: Runtime) -> None:
    """All batches and lengths from the smallest to the largest."""
    with loaded(runtime) as engine:
        for n in (1, 2, 3, MOST):
            for t in (1, 4, 7, LONGEST):
                _right(engine, inputs(n, t, seed=n * t))


def repeats_itself(runtime: Runtime) -> None:
    """The same input gives the same bits."""
    with loaded(runtime) as engine:
        first, second = engine.infer(inputs(3, 5)), engine.infer(inputs(3, 5))
        assert all(np.array_equal(first[name], second[name]) for name in first), "the same input gave another output"


def keeps_items_of_a_batch_apart(runtime: Runtime) -> None:
    """What is in a batch beside an item does not matter."""
    with loaded(runtime) as engine:
        batch = inputs(MOST, 4)
        together = engine.infer(batch)
        for row in range(MOST):
            alone = engine.infer({name: array[row : row + 1] for name, array in batch.items()})
            assert all(np.allclose(alone[n][0], together[n][row], atol=CLOSE) for n in alone), f"item {row} depends on the others"


def takes_views(runtime: Runtime) -> None:
    """Arrays that are no plain piece of memory are taken as they are meant; they need not be writable."""
    with loaded(runtime) as engine:
        wide = inputs(6, 8)
        _right(engine, {"x": wide["x"][::2], "ids": np.asfortranarray(wide["ids"])[::2, 1:]})
        fixed = inputs(2, 3)
        for array in fixed.values():
            array.flags.writeable = False
        _right(engine, fixed)


def leaves_inputs_alone(runtime: Runtime) -> None:
    """The caller's arrays are only read."""
    with loaded(runtime) as engine:
        given, copy = inputs(2, 3), inputs(2, 3)
        engine.infer(given)
        assert all(np.array_equal(given[name], copy[name]) for name in given), "an input was changed"


def gives_results_away(runtime: Runtime) -> None:
    """A result belongs to the caller: it does not change with the next run, and may be written to."""
    with loaded(runtime) as engine:
        first = engine.infer(inputs(2, 3, seed=1))
        copies = {name: array.copy() for name, array in first.items()}
        engine.infer(inputs(2, 3, seed=2))
        assert all(np.array_equal(first[name], copies[name]) for name in first), "a result changed with the next run"
        first["scores"][...] = 0
        _right(engine, inputs(2, 3, seed=3))


def refuses_wrong_inputs(runtime: Runtime) -> None:
    """A wrong name, type or shape is refused before the run, with the name of the tensor; the next run is right."""
    with loaded(runtime) as engine:
        good = inputs(2, 3)
        wrong: list[tuple[str, str, Arrays]] = [
            ("ids", "a missing input", {"x": good["x"]}),
            ("z", "an unknown input", good | {"z": good["x"]}),
            ("x", "a wrong type", good | {"x": good["x"].astype(np.float64)}),
            ("x", "a wrong size", good | {"x": good["x"][:, :3]}),
            ("x", "a wrong number of dimensions", good | {"x": good["x"][0]}),
            ("ids", "two sizes of one dimension", good | {"ids": inputs(3, 3)["ids"]}),
        ]
        for names, what, arrays in wrong:
            _refused(lambda arrays=arrays: engine.infer(arrays), names, what)  # type: ignore[misc]
        _right(engine, good)


def is_right_or_refuses_beyond_its_sizes(runtime: Runtime) -> None:
    """A batch that is larger than the card says is computed, or refused with the name of the dimension."""
    with loaded(runtime) as engine:
        for names, arrays in (("n must be", inputs(MOST + 1, 3)), ("t must be", inputs(2, LONGEST + 1))):
            said = names
            try:
                _right(engine, arrays)
            except EngineError as error:
                said = str(error)
            assert names in said, f"the error does not name the dimension: {said}"
        _right(engine, inputs(2, 3))


def serves_several_threads(runtime: Runtime) -> None:
    """Runs of several threads do not mix."""
    with loaded(runtime) as engine, ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda seed: _right(engine, inputs(seed % MOST + 1, seed % LONGEST + 1, seed)), range(48)))


def holds_several_engines(runtime: Runtime) -> None:
    """Closing one engine leaves the other."""
    with loaded(runtime) as first:
        with loaded(runtime) as second:
            _right(first, inputs(2, 3))
            _right(second, inputs(3, 4))
        _right(first, inputs(4, 5))


def closes_once_and_for_all(runtime: Runtime) -> None:
    """Closing twice does nothing; a closed engine says so."""
    with loaded(runtime) as engine:
        engine.infer(inputs(1, 1))
        engine.close()
        engine.close()
        _refused(lambda: engine.infer(inputs(1, 1)), "closed", "a run after close()")


def refuses_a_card_that_does_not_fit(runtime: Runtime) -> None:
    """A card with another name, type or shape than the model is refused."""
    card = contract_card()
    model = card.models["model"]
    wrong = {
        "y": msgspec.structs.replace(model, outputs={"y": Tensor(shape=["n", 3])}),
        "scores": msgspec.structs.replace(model, outputs={"scores": Tensor(shape=["n", 5])}),
        "x": msgspec.structs.replace(model, inputs=model.inputs | {"x": Tensor(dtype="float16", shape=["n", 4])}),
    }
    for names, changed in wrong.items():
        other = msgspec.structs.replace(card, models={"model": changed})

        def load(other: EngineCard = other) -> None:
            with loaded(runtime, other):
                pass

        _refused(load, names, f"a card with another {names}")


def refuses_what_is_no_model(runtime: Runtime) -> None:
    """A damaged file is refused in one line, by `build` or by `load`."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "no-model.onnx"
        files.write_file(path, b"no model at all")
        card = contract_card()

        def load() -> None:
            runtime.build(card, "model", path, silent)
            runtime.load(card, "model", path)

        _refused(load, "", "a file that is no model")


def builds_once(runtime: Runtime) -> None:
    """What is built already is not built again."""
    card, steps = contract_card(), []
    runtime.build(card, "model", MODEL_FILE, silent)
    runtime.build(card, "model", MODEL_FILE, lambda what, _done, _total: steps.append(what))
    assert not steps, f"it was built again: {steps[:3]}"
    with suppress(EngineError):
        runtime.load(card, "model", MODEL_FILE).close()


RUNTIME_CHECKS: dict[str, Callable[[Runtime], None]] = {
    check.__name__: check
    for check in (
        describes_itself,
        builds_once,
        reads_the_texts_of_the_model,
        computes_what_numpy_computes,
        repeats_itself,
        keeps_items_of_a_batch_apart,
        takes_views,
        leaves_inputs_alone,
        gives_results_away,
        refuses_wrong_inputs,
        is_right_or_refuses_beyond_its_sizes,
        serves_several_threads,
        holds_several_engines,
        closes_once_and_for_all,
        refuses_a_card_that_does_not_fit,
        refuses_what_is_no_model,
    )
}
"""Name -> check of a runtime; each raises AssertionError with what is wrong."""


def check_runtime(make: Callable[[], Runtime], who: str) -> None:
    """The whole contract, for a runtime that loads ONNX; of others, that they describe themselves."""
    runtime = make()
    checks = RUNTIME_CHECKS.values() if "onnx" in runtime.formats else (describes_itself,)
    for check in checks:
        try:
            check(runtime)
        except AssertionError as error:
            raise AssertionError(f"{who}: {error}") from None
