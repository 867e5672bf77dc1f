"""Other cards for some roles while the program runs: new objects use them, and the models that they replace are freed."""

from __future__ import annotations

import threading

import msgspec
import numpy as np
import pytest

from edgemem.config import EngineSettings
from edgemem.errors import UsageError
from edgemem.extend.hookspecs import Component
from edgemem.infer.card import load_cards
from edgemem.infer.engines import Engines
from edgemem.infer.fetch import ensure, sha256_of

ONES = {"x": np.ones((1, 2), np.float32)}


class Factor:
    """A model whose file has one number; `x` is multiplied by it."""

    def __init__(self, path):
        self.metadata: dict[str, str] = {}
        self.factor, self.closed = float(path.read_text()), False
        self.entered, self.may_end = threading.Event(), threading.Event()
        self.may_end.set()

    def infer(self, arrays):
        self.entered.set()
        assert self.may_end.wait(10)
        assert not self.closed
        return {"y": arrays["x"] * self.factor}

    def close(self):
        self.closed = True


class FactorRuntime:
    formats = frozenset({"onnx"})

    def __init__(self):
        self.loaded: list[Factor] = []

    def build(self, card, model, path, progress):
        pass

    def load(self, _card, _model, path):
        self.loaded.append(Factor(path))
        return self.loaded[-1]

    def describe(self):
        return "factors"


@pytest.fixture
def runtime():
    return FactorRuntime()


@pytest.fixture
def engines(tmp_path, runtime):
    """Cards for the role "scale": large (factor 9, preferred), small (2) and lost (not fetched); other: one for the role "shift"."""
    rows = (("large", "scale", 5, 9), ("small", "scale", 1, 2), ("lost", "scale", 0, 3), ("other", "shift", 0, 4))
    for name, role, priority, factor in rows:
        file = tmp_path / f"{name}.bin"
        file.write_text(str(factor))
        (tmp_path / f"{name}.toml").write_text(
            f'name = "{name}"\nrole = "{role}"\ndecoder = "plain"\npriority = {priority}\n'
            f'[[source]]\nkind = "file"\npath = "{name}.bin"\nsha256 = "{sha256_of(file)}"\nmembers = {{ model = "" }}\n'
            f'[files]\nmodel = "{name}.bin"\n[models.model]\nfile = "model"\n'
            'inputs = { x = { shape = ["n", 2] } }\noutputs = { y = { shape = ["n", 2] } }\n'
        )
    cards = load_cards([tmp_path])
    for name in ("large", "small", "other"):
        ensure(cards[name], tmp_path / "home", {})
    plain = Component("plain", lambda _settings, parts: parts.engines["model"])
    return Engines(
        cards, {"factor": Component("factor", lambda _settings, _context: runtime)}, {"plain": plain}, tmp_path / "home",
        EngineSettings(runtime=["factor"]),
    )  # fmt: skip


def test_the_first_precision_that_is_fetched_is_preferred_then_the_priority(engines):
    lighter = {"small": "float16", "lost": "int8"}
    cards = {name: msgspec.structs.replace(card, precision=lighter.get(name, "float32")) for name, card in engines.cards.items()}

    def chosen(*precision, roles=None):
        settings = EngineSettings(runtime=["factor"], precision=list(precision), roles=roles or {})
        return Engines(cards, engines.runtimes._registered, engines._decoders, engines.home, settings).card("scale").name

    assert chosen() == "large"
    assert chosen("float16") == chosen("float16", "float32") == chosen("int8", "float16") == "small"
    assert chosen("int8") == chosen("float32", "float16") == "large"
    assert chosen("float16", roles={"scale": "large"}) == "large"


def scaled(engines, role="scale"):
    return engines.role(role).infer(ONES)["y"][0, 0]


def test_new_objects_use_the_preferred_card_until_it_is_taken_back(engines, runtime):
    assert (scaled(engines), scaled(engines, "shift")) == (9, 4)
    assert engines.prefer({"scale": "small"}) == ()
    assert (scaled(engines), engines.card("scale").name, engines.ready("scale")) == (2, "small", ["small"])
    assert engines.stepped_down == ("scale is served by small for now: the governor has stepped it down",)
    assert [(model.factor, model.closed) for model in runtime.loaded] == [(9, True), (4, False), (2, False)]
    assert engines.prefer({}) == ()
    assert (scaled(engines), engines.stepped_down) == (9, ())
    assert [(model.factor, model.closed) for model in runtime.loaded] == [(9, True), (4, False), (2, True), (9, False)]


def test_an_object_from_before_goes_on_and_loads_its_model_again(engines, runtime):
    before = engines.role("scale")
    before.infer(ONES)
    engines.prefer({"scale": "small"})
    assert before.infer(ONES)["y"][0, 0] == 9
    assert [model.closed for model in runtime.loaded] == [True, False]


def test_a_model_in_use_is_freed_after_its_use(engines, runtime):
    used = engines.role("scale")
    used.infer(ONES)
    (model,) = runtime.loaded
    model.entered.clear()
    model.may_end.clear()
    results = []
    thread = threading.Thread(target=lambda: results.append(used.infer(ONES)["y"][0, 0]))
    thread.start()
    assert model.entered.wait(10)
    engines.prefer({"scale": "small"})
    assert not model.closed
    model.may_end.set()
    thread.join(10)
    assert (results, model.closed) == ([9], True)


def test_a_card_that_cannot_be_used_is_said_and_left_out(engines, runtime):
    assert scaled(engines) == 9
    assert engines.prefer({"scale": "lost", "shift": "other"}) == ("lost is not fetched; run: edgemem engines fetch lost",)
    assert (scaled(engines), scaled(engines, "shift")) == (9, 4)
    assert not any(model.closed for model in runtime.loaded)


def test_a_role_that_had_no_card_gets_one(engines):
    del engines.cards["large"], engines.cards["small"]
    assert engines.prefer({"scale": "lost", "shift": "other"}) == ("lost is not fetched; run: edgemem engines fetch lost",)
    assert not engines.has("scale")


def test_the_same_card_again_frees_nothing(engines, runtime):
    engines.prefer({"scale": "small"})
    assert scaled(engines) == 2
    engines.prefer({"scale": "small"})
    assert [model.closed for model in runtime.loaded] == [False]


@pytest.mark.parametrize(("name", "why"), [("smal", 'did you mean "small"'), ("other", 'has the role "shift"')])
def test_the_settings_refuse_a_wrong_card(engines, name, why):
    with pytest.raises(UsageError, match=f"engines.roles.scale: .*{why}"):
        Engines(engines.cards, {}, {}, engines.home, EngineSettings(roles={"scale": name}))
    with pytest.raises(UsageError, match=f"governor.light.scale: .*{why}"):
        engines.check_names({"scale": name}, "governor.light")
    engines.check_names({"scale": "lost"}, "governor.light")
