"""Nothing that others wrote drives the terminal: no control or direction character is printed, and no name makes a line of its own."""

from __future__ import annotations

import json
import subprocess
import sys
import unicodedata
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from shield_calls import Texts, command, remembering

from edgemem.characters import is_invisible, is_storable, storable, visible, visible_json
from edgemem.cli.app import json_text

pytestmark = pytest.mark.usefixtures("home")
FORGED = "FORGED line of edgemem"
SEQUENCES = (
    "\x1b]0;owned\x07", "\x1b[2J\x1b[H", "\x9b31m", "\x7f", "\x00", "\r", "\b\b\b", "\u202e", "\u2066", "\u200f", "\u061c", "\u2028",
    "\x85",
    "\U000e0041", "\ufeff", "\v", "\f", f"\n{FORGED}", f"\r\n{FORGED}", f"\u2029{FORGED}", "\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\",
)  # fmt: skip
ALLOWED = {0x200C, 0x200D}
hostile = st.lists(st.sampled_from(SEQUENCES) | st.text(max_size=3), min_size=1, max_size=5).map(lambda parts: f"mug{'mug'.join(parts)}x")
storable_texts = hostile.filter(is_storable).map(lambda text: text.replace("\0", "\x01"))


def harmful(printed: str) -> set[str]:
    """Characters that a terminal obeys, or that turn the direction of what follows: by their Unicode category."""
    found = {one for one in printed if unicodedata.category(one) in {"Cc", "Cf", "Zl", "Zp", "Cs"}}
    shown = {chr(code) for code in (*range(0x0600, 0x0606), 0x06DD, 0x070F, 0x0890, 0x0891, 0x08E2, 0x110BD, 0x110CD, *ALLOWED)}
    return found - shown - {"\n"}


def calls(memory: Path) -> list[tuple[str, ...]]:
    """Every command that prints what a memory holds."""
    of = ("--memory", str(memory))
    plain = [
        ("ask", "where is the mug?", *of, "--trace"), ("ask", "what did the sign say?", *of), ("ask", "who spoke of the mug?", *of),
        ("search", "mug", *of), ("timeline", *of), ("memory", "stats", *of), ("memory", "check", *of), ("sessions", "list", *of),
        ("sessions", "show", "1", *of), ("habits", *of), ("forget", "--query", "mug", "--dry-run", *of),
        *(("show", shown, *of, "--out", str(memory.parent / "out.jpg")) for shown in ("m1", "s1", "d1", "d2", "d4", "r1")),
        ("name", "speaker:77", "x", *of), ("forget", "--entity", "nobody", *of),
    ]  # fmt: skip
    return [*plain, *((*one, "--json") for one in plain)]


@settings(max_examples=8, suppress_health_check=list(HealthCheck))
@given(texts=st.builds(Texts, *[storable_texts] * 6))
def test_no_command_prints_what_drives_a_terminal(texts):
    with TemporaryDirectory() as folder:
        memory = remembering(Path(folder) / "memory", texts._replace(session=texts.said))
        for call in calls(memory):
            ended = command(*call)
            printed = ended.out + ended.err
            assert ended.code in range(4), (call, printed)
            assert not harmful(printed), (call, printed)
            assert not any(line.startswith(FORGED) for line in printed.split("\n")), (call, printed)
            if "--json" in call and ended.out:
                assert isinstance(json.loads(ended.out), dict)


def test_what_the_user_named_is_shown_harmlessly_too(tmp_path):
    name = f"x\x1b]0;owned\x07\u202e\n{FORGED}"
    for call in (
        ("ingest", name, "--memory", tmp_path / "memory"), ("timeline", "--memory", tmp_path / name), ("show", name, "--memory", tmp_path),
        ("recipes", name), ("engines", "list", name), ("ask", "?", "--memory", tmp_path / "m", "--recipe", name), (name,),
        ("ask", f"--{name}"), ("config", "show", "--set", f"{name}=1"), ("config", "show", "--config", tmp_path / name),
        ("memory", "keygen", tmp_path / "no" / name),
        ("plugins", "--plugins-dir", tmp_path / name), ("search", "--channel", name, "x", "--memory", tmp_path),
    ):  # fmt: skip
        ended = command(*call)
        assert ended.code in {1, 2}, call
        assert not harmful(ended.out + ended.err), (call, ended)
        assert not any(line.startswith(FORGED) for line in ended.err.split("\n")), (call, ended)


def test_settings_are_shown_as_json_that_reads_back(tmp_path):
    file = tmp_path / "settings.toml"
    file.write_text('[models]\nredact = ["\\u001B]0;x\\u0007", "\\u202E"]\n', encoding="utf-8")
    shown = command("config", "show", "--config", file)
    assert not harmful(shown.out)
    line = next(line for line in shown.out.splitlines() if line.startswith("models.redact = "))
    value, end = json.JSONDecoder().raw_decode(text := line.partition(" = ")[2])
    assert value == ["\x1b]0;x\x07", "\u202e"]
    assert text[end:] == f"  # {file}"


@given(text=st.text() | hostile)
def test_a_visible_text_is_one_line_without_anything_that_drives(text):
    shown = visible(text)
    assert not harmful(shown)
    assert "\n" not in shown
    assert visible(shown) == shown
    assert all(one in shown for one in text if one.isprintable())


@given(value=st.dictionaries(st.text().filter(is_storable), hostile.filter(is_storable) | st.integers(-(2**53), 2**53) | st.none()))
def test_json_is_read_back_as_it_was(value):
    encoded = json_text(value)
    assert not harmful(encoded)
    assert json.loads(encoded) == value


@given(text=st.text(st.characters(codec=None)))
def test_names_that_are_no_utf8_can_be_stored_and_printed_as_json(text):
    kept = storable(text)
    assert kept.encode("utf-8").decode("utf-8") == kept
    assert is_storable(text) == (kept == text)
    assert json.loads(json_text({"name": text}))["name"] == kept
    assert not harmful(visible_json(json.dumps(text, ensure_ascii=False)))


@pytest.mark.parametrize(
    "character", ["\u200b", "\xad", "\u202e", "\U000e0041", "\ufe0f", "\x7f", "\u2060", "\u3164", "\u034f", "\x00", "\ufeff"]
)
def test_what_nobody_sees_is_invisible(character):
    assert is_invisible(character)


@pytest.mark.parametrize("character", ["a", "é", "\n", "\t", " ", "\u00a0", "\u0600", "\u0301", "東", "█", "\u06dd"])
def test_what_is_seen_or_is_layout_is_not_invisible(character):
    assert not is_invisible(character)


def test_logs_and_tracebacks_go_the_same_way():
    """Even what must not happen says it harmlessly."""
    script = (
        "import logging, sys\nfrom edgemem.cli.app import guard_terminal\nguard_terminal()\n"
        "logging.getLogger('x').warning('log %s', '\\x1b]0;owned\\x07\\nFORGED line')\n"
        "import threading\nt = threading.Thread(target=lambda: (_ for _ in ()).throw(ValueError('\\x1b[2Jthread')))\nt.start(); t.join()\n"
        "print('\\u20ac \\udcff')\nraise ValueError('\\x1b[2J\\nFORGED line')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        check=False,
        env={"PYTHONIOENCODING": "ascii", "PATH": "", "PYTHONPATH": ":".join(sys.path)},
    )
    printed = (done.stdout + done.stderr).decode("ascii")
    assert not harmful(printed), printed
    assert "Traceback" in printed
    assert "thread" in printed
    assert not any(line.startswith("FORGED") for line in printed.split("\n"))
