"""All plugins are loaded in the same way, and a bad one stops the start with a line that says what to correct."""

from __future__ import annotations

from pathlib import Path

import pytest

from edgemem.config import Settings
from edgemem.errors import PluginError, PluginFailure, UsageError
from edgemem.extend.context import PluginContext
from edgemem.extend.guard import MAX_CONSECUTIVE_FAILURES, Guard, guarded
from edgemem.extend.plugins import Plugins
from edgemem.extend.recipe import Recipe, Recipes

HEAD = "from edgemem.extend import Component, hookimpl\nimport msgspec\n"
GOOD = (
    HEAD
    + """
class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    low: float = 1.0

class Dark:
    name = "dark"
    def __init__(self, settings): self.low = settings.low
    def judge(self, look): raise ValueError("no light")

@hookimpl
def register_gates():
    yield Component("dark", lambda settings, context: Dark(settings), Settings)
"""
)


def load(tmp_path: Path, **files: str) -> Plugins:
    folder = tmp_path / "plugins"
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    return Plugins.load([folder], installed=False).check()


@pytest.fixture
def context(tmp_path: Path) -> PluginContext:
    return PluginContext(Settings(), tmp_path)


def test_a_plugin_from_a_folder_is_found_and_made(tmp_path: Path, context: PluginContext) -> None:
    plugins = load(tmp_path, night=GOOD)
    assert "dark" in plugins.components("gates")
    assert plugins.make("gates", "dark", {"low": 3.0}, context, "test").low == 3.0


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            HEAD + "@hookimpl\ndef register_gate(): return []\n",
            r'plugin "bad": unknown hook "register_gate" \(did you mean "register_gates"',
        ),
        (HEAD + "def register_gates(): return []\n", r'plugin "bad": register_gates is not marked with @hookimpl'),
        (HEAD + "@hookimpl\ndef register_gates(): return [3]\n", r'plugin "bad": register_gates must return Components, got int'),
        (
            HEAD + "@hookimpl\ndef register_gates(): return Component('dark', object)\n",
            r'plugin "bad": what register_gates registers .*TypeError',
        ),
        (HEAD + "@hookimpl\ndef register_gates(): return 1 / 0\n", r'plugin "bad": what register_gates registers .*ZeroDivisionError'),
        (
            HEAD + "@hookimpl\ndef register_settings(): return (1,)\n",
            r'plugin "bad": register_settings must return SettingsTables, got int',
        ),
        (HEAD + "@hookimpl\ndef register_recipes(): return (1,)\n", r'plugin "bad": register_recipes must return strs, got int'),
        (HEAD + "@hookimpl\ndef register_tasks(): return (1,)\n", r'plugin "bad": register_tasks must return strs, got int'),
        (HEAD + "@hookimpl\ndef register_commands(): return (1,)\n", r'plugin "bad": register_commands must return Commands, got int'),
        (
            HEAD + "@hookimpl\ndef register_gates(): return [Component('blur', object)]\n",
            r'"blur" is registered already by plugin "builtin"',
        ),
        ("import absent_library\n", r'plugin "bad": .* cannot be imported: ModuleNotFoundError'),
    ],
    ids=[
        "misspelt hook",
        "unmarked hook",
        "not a component",
        "not a list",
        "fails",
        "not a table",
        "not a recipe",
        "not a task",
        "not a command",
        "duplicate name",
        "import error",
    ],
)
def test_a_bad_plugin_stops_the_start(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(PluginError, match=says):
        load(tmp_path, bad=text)


def test_two_plugins_may_not_claim_one_name(tmp_path: Path) -> None:
    with pytest.raises(PluginError, match=r'"night2".*"dark" is registered already by plugin "night"'):
        load(tmp_path, night=GOOD, night2=GOOD)


def test_unknown_names_and_keys_are_refused_with_the_nearest(tmp_path: Path, context: PluginContext) -> None:
    plugins = load(tmp_path, night=GOOD)
    with pytest.raises(UsageError, match=r'recipe "r": no gate is called "drak" \(did you mean "dark"'):
        plugins.make("gates", "drak", {}, context, 'recipe "r"')
    with pytest.raises(UsageError, match=r'gate "dark" of plugin "night": unknown key "lwo" \(did you mean "low"'):
        plugins.make("gates", "dark", {"lwo": 1}, context, 'recipe "r"')


def test_a_failing_object_is_counted_then_switched_off(tmp_path: Path, context: PluginContext) -> None:
    plugins = load(tmp_path, night=GOOD)
    gate = plugins.make("gates", "dark", {}, context, "test")
    for _ in range(MAX_CONSECUTIVE_FAILURES):
        with pytest.raises(PluginFailure, match="dark of plugin night failed: ValueError: no light"):
            gate.judge(None)
    with pytest.raises(PluginFailure, match="switched off"):
        gate.judge(None)
    stats = plugins.guards["gates", "dark"].stats
    assert (stats.calls, stats.failures) == (MAX_CONSECUTIVE_FAILURES, MAX_CONSECUTIVE_FAILURES)


def test_one_success_closes_the_circuit_again() -> None:
    class Flaky:
        def call(self, fail: bool) -> str:
            if fail:
                raise RuntimeError("now and then")
            return "fine"

    flaky = guarded(Flaky(), Guard("p", "flaky"))
    for _ in range(3):
        for _ in range(MAX_CONSECUTIVE_FAILURES - 1):
            with pytest.raises(PluginFailure):
                flaky.call(True)
        assert flaky.call(False) == "fine"


def write_recipe(tmp_path: Path, text: str) -> str:
    path = tmp_path / "mine.toml"
    path.write_text(text)
    return str(path)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("rate_fsp = 1.0", r'unknown key "rate_fsp" \(did you mean "rate_fps"'),
        ("rate_fps = 0.0", "rate_fps must be above 0"),
        ("[[gate]]\nmin = 3", r'each gate needs use = "NAME"'),
        ('[[gate]]\nuse = "blurr"', r'no gate is called "blurr" \(did you mean "blur"'),
    ],
)
def test_a_bad_recipe_is_refused(tmp_path: Path, context: PluginContext, text: str, says: str) -> None:
    recipes = Recipes(Plugins.load(installed=False))
    path = write_recipe(tmp_path, text)
    with pytest.raises(UsageError, match=says):
        _gates(recipes, path, context)


def _gates(recipes: Recipes, path: str, context: PluginContext) -> None:
    recipe = recipes.read(path)
    recipes.make_all(recipe, "gates", recipe.gate, context)


def test_the_first_installed_alternative_is_taken(tmp_path: Path, context: PluginContext) -> None:
    recipes = Recipes(load(tmp_path, night=GOOD))
    recipe = recipes.read(write_recipe(tmp_path, '[[gate]]\nuse = ["absent", "dark"]\ndark = {low = 7.0}\nabsent = {x = 1}'))
    (gate,) = recipes.make_all(recipe, "gates", recipe.gate, context)
    assert gate.low == 7.0


def test_an_unknown_recipe_names_the_nearest() -> None:
    with pytest.raises(UsageError, match=r'no recipe is called "defualt" \(did you mean "default"'):
        Recipes(Plugins.load(installed=False)).read("defualt")


def test_every_recipe_that_is_installed_can_be_made(context: PluginContext) -> None:
    plugins = Plugins.load()
    recipes = Recipes(plugins)
    assert {"default", "vam"} <= set(recipes.names())
    for name in recipes.names():
        recipe: Recipe = recipes.read(name)
        assert recipe.summary
        recipes.make_all(recipe, "gates", recipe.gate, context)
        for place, part in (("selectors", recipe.select), ("segmenters", recipe.segment), ("retainers", recipe.retain)):
            recipes.make(recipe, place, part, context)
        recipes.make_all(recipe, "writers", recipe.write, context)
