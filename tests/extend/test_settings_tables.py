"""A plugin has a settings table and may have a language model; both are as strict as those of the core."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from edgemem.cli.main import main
from edgemem.config import Settings, dump, load
from edgemem.errors import ChatError, UsageError
from edgemem.extend.assembly import make_context
from edgemem.extend.plugins import Plugins
from edgemem.infer.chat import ChatMessage, Prompt

ECHO = """
import msgspec
from edgemem.extend import Component, SettingsTable, hookimpl
from edgemem.infer.chat import Completion

class EchoSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    model: str = ""
    loud: bool = False

class Echo:
    name = "echo"

    def sees(self, _task):
        return False
    def __init__(self, settings): self._settings = settings
    def complete(self, prompt):
        text = prompt.messages[-1].text
        return Completion(text=text.upper() if self._settings.loud else text, model=self._settings.model, tokens_in=3, tokens_out=4)

def make(settings, context):
    table = context.table(EchoSettings)
    return Echo(table) if table.model else None

@hookimpl
def register_settings():
    yield SettingsTable("echo", EchoSettings)

@hookimpl
def register_chats():
    yield Component("echo", make)
"""
HELLO = Prompt(task="test", messages=(ChatMessage(role="user", text="hello"),))


@pytest.fixture
def plugins(tmp_path: Path) -> Plugins:
    (tmp_path / "echo.py").write_text(ECHO)
    return Plugins.load([tmp_path], installed=False)


def test_a_plugin_reads_its_own_table(plugins: Plugins, tmp_path: Path) -> None:
    settings = load(None, ["echo.model=parrot", "echo.loud=true"])
    models = make_context(plugins, settings, tmp_path).models
    assert models.there
    assert models.complete(HELLO).text == "HELLO"
    assert dump(settings)["echo"] == {"model": "parrot", "loud": True}


@pytest.mark.parametrize(
    ("override", "hint"),
    [
        ("ecko.model=x", 'did you mean "echo"'),
        ("echo.modle=x", 'did you mean "model"'),
        ("echo.loud=7", "echo"),
        ("models.chat=eko", 'did you mean "echo"'),
        ("models.chat=echo", "not configured"),
    ],
)
def test_a_wrong_table_key_or_chat_is_refused_with_a_hint(plugins: Plugins, tmp_path: Path, override: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        make_context(plugins, load(None, [override]), tmp_path)
    assert hint in str(caught.value)


def test_without_a_model_the_call_says_so(plugins: Plugins, tmp_path: Path) -> None:
    assert not make_context(plugins, Settings(), tmp_path).models.there
    off = make_context(plugins, load(None, ["echo.model=parrot", "models.chat=none"]), tmp_path).models
    with pytest.raises(ChatError, match="switched off"):
        off.complete(HELLO)


def test_keys_are_never_shown() -> None:
    settings = load(None, ["echo.api_key=top-secret", "echo.roles.planner.api_key=top-secret", "echo.model=m"])
    assert dump(settings)["echo"] == {"api_key": "***", "roles": {"planner": {"api_key": "***"}}, "model": "m"}
    with pytest.raises(UsageError) as caught:
        load(None, ["budget.disk=many", "echo.api_key=top-secret", "budget.dsk=1", "echo.api_key=top-secret"])
    assert "top-secret" not in str(caught.value)


def test_the_schema_of_the_settings_knows_the_plugins_tables(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["config", "schema"])
    schema = json.loads(capsys.readouterr().out)
    whole = schema["$defs"][schema["$ref"].rpartition("/")[2]]["properties"]
    assert {"budget", "models", "openai"} <= set(whole)
    assert "tables" not in whole
    assert "base_url" in schema["$defs"][whole["openai"]["$ref"].rpartition("/")[2]]["properties"]
