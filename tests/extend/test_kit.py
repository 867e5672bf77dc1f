"""The kit that answers a question: whose settings the planner gets, and which tasks settings may name."""

from __future__ import annotations

import pytest

from edgemem.config import load
from edgemem.errors import UsageError
from edgemem.extend.assembly import make_context, make_kit
from edgemem.extend.plugins import Plugins
from edgemem.extend.recipe import Recipes


def test_a_planner_that_is_named_keeps_the_settings_of_its_recipe(tmp_path):
    plugins = Plugins.load()
    recipes = Recipes(plugins)
    recipe = recipes.read("egagent")
    context = make_context(plugins, load(None), tmp_path)
    assert recipe.plan["use"] == "egagent"
    own, named = (make_kit(recipes, recipe, context, name).planner for name in (None, "egagent"))
    assert named._settings == own._settings
    assert named._settings.max_steps == recipe.plan["max_steps"]
    assert make_kit(recipes, recipe, context, "local").planner.name == "local"


def test_a_task_that_nobody_asks_for_is_refused_at_the_start(tmp_path):
    plugins = Plugins.load()
    make_context(plugins, load(None, ["models.tasks.planner.max_tokens=9", "models.tasks.default.max_tokens=9"]), tmp_path)
    with pytest.raises(UsageError, match=r'no plugin has a task "plannr" for a language model \(did you mean "planner"'):
        make_context(plugins, load(None, ["models.tasks.plannr.max_tokens=9"]), tmp_path)
