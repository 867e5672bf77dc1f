"""Several runtimes: the order in which they are tried, their own settings, what they build, and which one is reported as used.

The second runtime is real: `onnx.reference` executes the same files in numpy. It loads only the copy that it built.
"""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from edgemem.cli.main import main
from edgemem.config import EngineSettings, load
from edgemem.errors import EngineError, UsageError
from edgemem.extend.hookspecs import Component
from edgemem.extend.plugins import Plugins
from edgemem.infer.card import Model, SizeRange, load_cards
from edgemem.infer.engines import Engines
from edgemem.infer.fetch import ensure, sha256_of
from edgemem.infer.runtime import CheckedEngine, Signature, TensorInfo
from edgemem.infer.runtime_order import RuntimeOrder, runtime_settings


class ReferenceSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    scale: float = 1.0


class ReferenceRuntime:
    formats = frozenset({"onnx"})

    def __init__(self, settings, context):
        self.settings, self._plans = settings, context.home / "plans"

    def build(self, card, model, path, progress):
        if self.settings.scale < 0:
            raise EngineError("a negative scale cannot be built")
        self._plans.mkdir(parents=True, exist_ok=True)
        (self._plans / f"{card.name}.{model}").write_bytes(path.read_bytes())
        progress(f"{card.name}.{model}", 1, 1)

    def load(self, card, model, _path):
        plan = self._plans / f"{card.name}.{model}"
        if not plan.is_file():
            raise EngineError(f"{card.name} is not built; run: edgemem engines build {card.name}")
        return ReferenceEngine(card.name, card.models[model], ReferenceEvaluator(str(plan)), self.settings.scale)

    def describe(self):
        return "numpy"


class ReferenceEngine(CheckedEngine):
    def __init__(self, name, model, session, scale):
        known = Signature({n: TensorInfo() for n in session.input_names}, {n: TensorInfo() for n in session.output_names})
        super().__init__(name, model, known)
        self._session, self._scale = session, scale

    def _run(self, arrays):
        values = self._session.run(list(self._model.outputs), dict(arrays))
        return dict(zip(self._model.outputs, [self._changed(value) for value in values], strict=True))

    def _changed(self, value):
        if self._scale == 64:
            return value.astype(np.float64)
        return value[:, :2] if self._scale == 2 else value[:-1] if self._scale == 3 else value * np.float32(self._scale)

    def close(self):
        pass


REFERENCE = Component("reference", ReferenceRuntime, ReferenceSettings)
BROKEN = Component("broken", lambda _settings, _context: (_ for _ in ()).throw(EngineError("no such accelerator here")))


@pytest.fixture
def card(tmp_path):
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", 4]) for name in ("x", "y")]
    graph = helper.make_graph([helper.make_node("Add", ["x", "x"], ["y"])], "twice", values[:1], values[1:])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), tmp_path / "twice.onnx")
    (tmp_path / "twice.toml").write_text(
        f"""
name = "twice"
role = "double"
decoder = "plain"
[[source]]
kind = "file"
path = "twice.onnx"
sha256 = "{sha256_of(tmp_path / "twice.onnx")}"
members = {{ model = "" }}
[files]
model = "twice.onnx"
[models.model]
file = "model"
inputs = {{ x = {{ shape = ["n", 4] }} }}
outputs = {{ y = {{ shape = ["n", 4] }} }}
"""
    )
    card = load_cards([tmp_path])["twice"]
    ensure(card, tmp_path / "home", {})
    return card


@pytest.fixture
def make(tmp_path, card, engines):
    """Engines with the runtimes onnx, reference and broken, in an order."""

    def _make(*order, card=card, **settings):
        runtimes = {"onnx": engines.runtimes._registered["onnx"], "reference": REFERENCE, "broken": BROKEN}
        plain = Component("plain", lambda _settings, parts: parts.engines["model"])
        tables = {"reference": settings} if settings else {}
        return Engines({"twice": card}, runtimes, {"plain": plain}, tmp_path / "home", EngineSettings(runtime=list(order), runtimes=tables))

    return _make


ONES = {"x": np.ones((3, 4), np.float32)}


def silent(*_):
    pass


def test_the_first_runtime_that_can_serves_and_the_others_are_said(make):
    made = make("coral", "broken", "reference", "onnx")
    assert made.served() == {}
    assert (made.role("double").infer(ONES)["y"] == 2).all()
    assert made.served() == {"twice": "onnx"}
    (note,) = made.runtimes.notes()
    assert note.startswith("twice runs on onnx: ")
    for why in (
        "coral: it is not installed (valid: broken, onnx, reference); run: pip install edgemem-coral",
        "broken: no such acc",
        "reference: twice is not built",
    ):
        assert why in note


def test_what_is_built_is_loaded_by_the_runtime_it_was_built_for_and_nothing_needs_saying(make, card):
    made, seen = make("reference", "onnx", scale=3.5), []
    results = made.build(card, lambda *step: seen.append(step))
    assert [(r.card, r.model, r.runtime, r.problem) for r in results] == [
        ("twice", "model", "reference", ""), ("twice", "model", "onnx", "")
    ]  # fmt: skip
    assert seen == [("twice.model", 1, 1)]
    assert (made.role("double").infer(ONES)["y"] == 7).all(), "its own settings reach the runtime"
    assert (made.served(), made.runtimes.notes()) == ({"twice": "reference"}, ())


def test_a_build_that_fails_is_told_and_the_next_runtime_still_builds(make, card):
    results = make("broken", "reference", "onnx", scale=-1).build(card, silent)
    assert [(r.runtime, r.problem) for r in results] == [
        ("broken", "no such accelerator here"), ("reference", "a negative scale cannot be built"), ("onnx", "")
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("scale", "message"),
    [
        (64, "y must be float32, got float64"),
        (2, r"y must have the shape \['n', 4\], got \[3, 2\]"),
        (3, r"shape \['n', 4\], got \[2, 4\]"),
    ],
)
def test_outputs_that_are_not_the_cards_are_refused(make, card, scale, message):
    made = make("reference", scale=scale)
    made.build(card, silent)
    with pytest.raises(EngineError, match=message):
        made.role("double").infer(ONES)


def test_when_none_can_every_reason_is_said(make):
    with pytest.raises(EngineError, match=r"no runtime can load it: broken: no such accel.*; reference: twice is not built"):
        make("broken", "reference").role("double").infer(ONES)
    with pytest.raises(EngineError, match=r"^twice is not built; run: edgemem engines build twice$"):
        make("reference").role("double").infer(ONES)
    assert "no runtime of engines.runtime (coral) is installed; run: pip install edgemem-coral" in make("coral").missing("double")


def test_a_format_that_no_runtime_takes_is_known_before_loading(make, card):
    odd = msgspec.structs.replace(card, format="tflite")
    assert 'onnx: does not load models of the format "tflite"' in make("onnx", card=odd).missing("double")
    assert make("broken", "onnx", card=odd).runtimes.first(odd) == ""
    assert make("broken", "onnx").runtimes.first(card) == "onnx"


@pytest.mark.parametrize(
    ("inputs", "outputs", "message"),
    [
        ({"x": TensorInfo("int64")}, {"y": TensorInfo()}, "input x: the card says float32, the model has int64"),
        ({"x": TensorInfo("float32", (None, 5))}, {"y": TensorInfo()}, r"input x: the card says the shape \['n', 4\], .*\['free', 5\]"),
        ({"x": TensorInfo("float32", (1, 4))}, {"y": TensorInfo()}, r"input x: .* the model has \[1, 4\]"),
        ({"x": TensorInfo(shape=(None, None, 4))}, {"y": TensorInfo()}, "input x: the card says the shape"),
        ({"x": TensorInfo()}, {"y": TensorInfo("float16")}, "output y: the card says float32, the model has float16"),
        ({"x": TensorInfo()}, {"y": TensorInfo(shape=(None, 3))}, "output y: the card says the shape"),
        ({"x": TensorInfo(), "z": TensorInfo()}, {"y": TensorInfo()}, "leaves out the input z"),
        ({"x": TensorInfo()}, {"z": TensorInfo()}, 'output: the model has none called "y"'),
    ],
)
def test_a_loaded_model_must_be_the_one_of_its_card(card, inputs, outputs, message):
    class Engine(CheckedEngine):
        def _run(self, arrays):
            return dict(arrays)

        def close(self):
            pass

    with pytest.raises(EngineError, match=message):
        Engine("twice", card.models["model"], Signature(inputs, outputs))
    fixed = Signature({"x": TensorInfo("float32", (None, None))}, {"y": TensorInfo("float32", (1, 4)), "more": TensorInfo()})
    Engine("twice", card.models["model"], fixed)


def test_sizes_that_a_loaded_model_does_not_take_are_refused_by_name(card):
    class Engine(CheckedEngine):
        runs = 0

        def _run(self, arrays):
            self.runs += 1
            return {"y": arrays["x"]}

        def close(self):
            pass

    limits = {"n": SizeRange(2, 2, 4), "other": SizeRange(9, 9, 9)}
    engine = Engine("twice", card.models["model"], Signature({"x": TensorInfo()}, {"y": TensorInfo()}, limits))
    for n, fits in ((1, False), (2, True), (4, True), (5, False)):
        before = engine.runs
        if fits:
            engine.infer({"x": np.ones((n, 4), np.float32)})
        else:
            with pytest.raises(EngineError, match=f"^twice: n must be 2 to 4, got {n}$"):
                engine.infer({"x": np.ones((n, 4), np.float32)})
        assert engine.runs == before + fits, "it is refused before it runs"


def test_one_runtime_alone_can_be_asked_for(make, card, tmp_path):
    made = make("onnx")
    path = tmp_path / "home/engines/twice/twice.onnx"
    with pytest.raises(EngineError, match="twice is not built"):
        made.runtimes.load_on("reference", card, "model", path)
    (built,) = made.build(card, silent, ["reference"])
    assert (built.runtime, built.problem) == ("reference", "")
    engine = made.runtimes.load_on("reference", card, "model", path)
    assert (engine.infer(ONES)["y"] == 2).all()
    assert made.served() == {}
    assert made.runtimes.runtime("reference").describe() == "numpy"
    other = msgspec.structs.replace(card, format="gguf")
    with pytest.raises(EngineError, match='reference does not load models of the format "gguf"'):
        made.runtimes.load_on("reference", other, "model", path)
    for name in ("refrence", "broken"):
        with pytest.raises(EngineError, match=r"did you mean|no such accelerator"):
            made.runtimes.runtime(name)


def test_something_can_stand_around_a_loaded_model(tmp_path, card, engines):
    """What compares runtimes is put in the place of a model when it is loaded, once."""
    seen = []
    plain = Component("plain", lambda _settings, parts: parts.engines["model"])
    runtimes = {"onnx": engines.runtimes._registered["onnx"]}

    def around(loaded, model, engine):
        seen.append((loaded.name, model))
        return engine

    made = Engines({"twice": card}, runtimes, {"plain": plain}, tmp_path / "home", EngineSettings(), around=around)
    for _ in range(2):
        assert (made.role("double").infer(ONES)["y"] == 2).all()
    assert seen == [("twice", "model")]


def test_settings_of_a_runtime_are_strict(engines):
    registered = engines.runtimes._registered
    assert runtime_settings(registered, {"onnx": {"arena": True}})["onnx"].arena is True
    with pytest.raises(UsageError, match=r'engines\.runtimes\.onnx: unknown key "arean" \(did you mean "arena"'):
        runtime_settings(registered, {"onnx": {"arean": True}})
    with pytest.raises(UsageError, match=r'no runtime is called "onx" \(did you mean "onnx"'):
        RuntimeOrder(registered, ["onnx"], {"onx": {}}, None)
    with pytest.raises(UsageError, match='unknown key "arean"'):
        Plugins.load().tables(load(None, ["engines.runtimes.onnx.arean=true"]))
    for order in ("[]", '["onnx", "onnx"]'):
        with pytest.raises(UsageError, match="each once"):
            load(None, [f"engines.runtime={order}"])


@pytest.fixture
def run(capsys):
    def _run(*arguments):
        with pytest.raises(SystemExit) as stop:
            main(list(arguments))
        out, err = capsys.readouterr()
        return stop.value.code, out + err

    return _run


def test_the_command_line_knows_the_runtimes_settings(run):
    code, output = run("config", "schema")
    runtimes = json.loads(output)["$defs"]["EngineSettings"]["properties"]["runtimes"]
    assert (code, runtimes["additionalProperties"]) == (0, False)
    assert (
        json.loads(output)["$defs"][runtimes["properties"]["onnx"]["$ref"].rpartition("/")[2]]["properties"]["arena"]["type"] == "boolean"
    )
    assert "engines.runtimes.onnx.arena = true" in run("config", "show", "--set", "engines.runtimes.onnx.arena=true")[1]
    assert run("config", "check", "--set", "engines.runtimes.onnx.arean=true")[0] == 2


def test_build_and_doctor_name_the_runtime_of_every_engine(engines, run):
    assert engines.has("detect")
    code, output = run("engines", "build", "nanodet", "--json")
    (built,) = json.loads(output)["built"]
    assert (code, built["card"], built["runtime"], built["problem"]) == (0, "nanodet", "onnx", "")
    code, output = run("engines", "build", "nanodet", "--json", "--set", 'engines.runtime=["coral"]')
    assert code == 1
    assert "no runtime can load nanodet" in output
    output = run("doctor", "--set", 'engines.runtime=["coral", "onnx"]')[1]
    assert "nanodet on onnx" in output
    assert "note    runtime         coral: it is not installed" in output
    assert "ok      runtime         onnx: ONNX Runtime" in output


class _Elsewhere(ReferenceRuntime):
    """For models that are not on this device."""

    formats = frozenset({"elsewhere"})

    def build(self, _card, _model, path, _progress):
        assert path == Path(), "such a model has no file"

    def load(self, _card, _model, path):
        assert path == Path()
        return "loaded elsewhere"


@pytest.fixture
def elsewhere(make, card, monkeypatch):
    """Makes engines for a card without files."""
    bare = msgspec.structs.replace(card, format="elsewhere", files={}, source=[], models={"model": Model(inputs={}, outputs={})})

    def _make(*order):
        monkeypatch.setitem(globals(), "BROKEN", Component("broken", _Elsewhere, ReferenceSettings))
        return make(*order, card=bare)

    return _make


def test_a_model_without_a_file_is_loaded_and_built_by_the_runtime_for_such(elsewhere):
    made = elsewhere("onnx", "broken")
    assert made.missing("double") == ""
    assert made.role("double").loaded() == "loaded elsewhere"
    assert made.served() == {"twice": "broken"}
    assert made.runtimes.notes() == (), "a runtime for other models is no fallback that needs saying"
    assert [result.problem == "" for result in made.build(made.cards["twice"], silent)] == [False, True]


def test_a_runtime_that_could_load_a_card_is_named_when_it_is_not_in_the_order(elsewhere):
    assert 'broken does: add it to engines.runtime, as in --set engines.runtime=["onnx","broken"]' in elsewhere("onnx").missing("double")
