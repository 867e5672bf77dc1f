"""No traceback for any input: huge numbers, names that are no UTF-8, settings that fail later, damaged memories, deep JSON."""

from __future__ import annotations

import json
import os
import random
import socket
import sqlite3
import subprocess
import sys
from pathlib import Path

import cv2
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from shield_calls import T0_US, Texts, command, remembering

from edgemem.clock import from_iso, to_local
from edgemem.config import parse_bytes
from edgemem.errors import UsageError
from edgemem.serve.messages import SearchReply
from edgemem.serve.socket_server import SocketServer

pytestmark = pytest.mark.usefixtures("home")
ROOT = Path(__file__).parents[2]
HUGE = "9" * 4400
"""More digits than Python reads as a number."""


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return remembering(tmp_path_factory.mktemp("input") / "memory", Texts())


def one_line(ended) -> str:
    """The error of a command that failed as the contract says."""
    assert ended.code in {1, 2}, ended
    lines = [line for line in ended.err.splitlines() if line.startswith("edgemem: ")]
    assert len(lines) == 1, ended
    return lines[0]


numbers = st.sampled_from(
    ["0", "1", "31", "99", "1e308", "10000", "99999", "9" * 12, "9" * 18, "9" * 25, "9" * 400, HUGE, "-5", "٣", "½", "²"]
)
FRAMES = (
    "what did I see {} days ago?", "what did I see in {}?", "what happened on {} February {}?", "what happened on 2026-{}-{}?",
    "at second {}",
    "where was I at {}:{}?", "the {}th time I saw a mug", "what did I see between {} and {} seconds?", "in minute {}", "{} years before {}",
    "what did I see {} minutes into the film?", "what was written at {}-01-01T00:00:00Z?", "offset {}", "how often in the last {} weeks?",
    "first {} seconds", "since {} o'clock on May {}", "{} hours and {} minutes ago", "century {}", "{}pm", "day {}", "the {} mug",
)  # fmt: skip


@settings(max_examples=150, suppress_health_check=list(HealthCheck))
@given(frame=st.sampled_from(FRAMES), first=numbers, second=numbers, planner=st.sampled_from(["local", "egagent"]))
def test_no_number_in_a_question_ends_in_a_traceback(memory, frame, first, second, planner):
    ended = command("ask", "--memory", memory, "--json", "--planner", planner, "--", frame.format(first, second))
    assert ended.code in {0, 3}, ended
    assert json.loads(ended.out)["status"] in {"answered", "abstained"}


def test_a_number_beyond_every_time_is_said(memory):
    ended = command("ask", f"what did I see {'9' * 20} days ago?", "--memory", memory)
    assert ended.code == 3
    assert "beyond every time" in ended.out


@settings(max_examples=40, suppress_health_check=list(HealthCheck))
@given(text=st.text(st.characters(codec=None, exclude_characters="\0"), max_size=30))
def test_no_text_of_an_argument_ends_in_a_traceback(memory, text):
    of = ("--memory", memory)
    for call in (
        ("ask", *of, "--", text), ("ask", *of, "--option", text, "--", "where is the mug?"), ("search", *of, "--", text),
        ("timeline", *of, "--stream", text), ("forget", *of, "--dry-run", "--entity", text), ("forget", *of, "--dry-run", "--stream", text),
        ("show", *of, "--out", os.devnull, "--", text), ("name", *of, "--", text, text), ("ask", *of, "--session", text, "--", "and then?"),
        ("sessions", "show", *of, "--", text), ("ask", "x", *of, "--recipe", text), ("timeline", *of, "--from", text),
    ):  # fmt: skip
        assert command(*call).code in range(4), call


def test_names_that_are_no_utf8_are_taken_in_and_told(tmp_path):
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/walk-\xff\xfe"))
    folder.mkdir()
    for number in range(2):
        ok, png = cv2.imencode(".png", np.random.default_rng(number).integers(0, 255, (48, 64, 3), np.uint8))
        assert ok
        (folder / f"{number}.png").write_bytes(png.tobytes())
    recipe = tmp_path / "plain.toml"
    recipe.write_text('rate_fps = 2.0\n[segment]\nuse = "fixed_window"\n', encoding="utf-8")
    memory = folder / "memory"
    ended = command("ingest", folder, "--memory", memory, "--recipe", recipe, "--json")
    assert ended.code == 0, ended
    assert json.loads(ended.out)["stream"] == "walk-\\udcff\\udcfe"
    for call in (("timeline",), ("memory", "check"), ("memory", "stats"), ("ask", "what did I see?"), ("memory", "compact")):
        for more in ((), ("--json",)):
            assert command(*call, "--memory", memory, *more).code in {0, 3}, call
    assert command("ingest", folder, "--memory", memory, "--recipe", recipe, "--stream", "x\udcff", "--again").code == 0


@pytest.mark.parametrize("option", ["--as-of", "--from", "--to"])
def test_an_empty_time_is_wrong_usage_and_never_now(memory, option):
    call = ("ask", "where is the mug?") if option == "--as-of" else ("search", "mug")
    assert "not an ISO 8601 time" in one_line(command(*call, "--memory", memory, option, ""))


@pytest.mark.parametrize("time", ["9999-12-31T23:59:59-14:00", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59", "0001-01-01"])
@pytest.mark.parametrize("zone", ["UTC", "Pacific/Kiritimati", "Pacific/Niue", "Europe/Berlin"])
def test_the_ends_of_the_calendar_are_times_like_others(memory, time, zone):
    for call in (("ask", "what did I see today?", "--as-of", time), ("timeline", "--from", time), ("search", "mug", "--to", time)):
        assert command(*call, "--memory", memory, "--set", f"timezone={zone}").code in {0, 2, 3}, call
    assert isinstance(from_iso("2026-05-04", zone), int)
    for t_us in (-(1 << 63), (1 << 63) - 1, -62_135_596_800_000_000, 253_402_300_799_999_999):
        assert to_local(t_us, zone).year in {1, 9999}


# ---------------------------------------------------------------------------------------------------------------------- settings

LATE = (
    "timezone=Mars/Olympus", "timezone=''", "timezone='../x'", "engines.threads=-1", "engines.threads=99999999999", "budget.disk=-1",
    "budget.disk=nan", "budget.disk=1e999", f"budget.disk={HUGE}", "budget.disk='9999999999TB'", "models.tokens_per_question=-5",
    "models.seconds_per_question=nan", "models.seconds_per_question=-1", "models.seconds_per_question=inf", "models.parallel=0",
    "models.parallel=100000", "models.redact=['(']", "models.redact=['x{999999999999}']", "models.tasks.nobody.max_tokens=1",
    "models.tasks.planner.max_tokens=-1", "models.tasks.planner.silence_s=nan", "models.chat=nobody", "engines.roles.nobody='x'",
    "engines.roles.embed_text='nobody'", "engines.runtimes.nobody.x=1", "retention=[{keep_days=nan}]", "retention=[{keep_days=-1}]",
    "retention=[{keep_days=1e300}]", "privacy.masks.x=[[0,0,nan,1]]", "recipe=nobody", "recipe=''x", 'home="a\\u0000b"',
    "recipes_dirs=['/nowhere']",
    "plugins_dirs=['/nowhere']", "openai.call_s=nan", "openai.base_url=ftp://x", "openai.roles.nobody.model='x'",
    "run.sources=[{source=''}]",
    "run.sources=[{source='x', recipe='nobody'}]", "run.services=[{}]", f"x={'[' * 20_000}", "models.extra=1", "budget.disk=true",
    f"engines.threads={HUGE}", "openai.tokens_per_day=99999999999999999999",
)  # fmt: skip


@pytest.mark.parametrize("setting", LATE, ids=lambda setting: setting[:40])
def test_config_check_refuses_what_would_fail_later(setting):
    one_line(ended := command("config", "check", "--set", setting))
    assert ended.code == 2


RECIPES = (
    "rate_fps = nan", "rate_fps = inf", "rate_fps = 1e-320", "rate_fps = -1", "rate_fps = 1e300", 'gate = [{ use = "nobody" }]',
    '[segment]\nuse = "fixed_window"\nseconds = nan', '[segment]\nuse = "fixed_window"\nsecnds = 1', '[plan]\nuse = "nobody"',
    '[[perceive]]\nuse = "joint"\nx = 1', "[[chain]]\nwrite = []", '[retain]\nuse = "age_tiers"\ntiers = [[nan]]', "[[write]]\nuse = 3",
    '[[retrieve]]\nuse = "nobody"', '[hear]\nuse = "whisper"\nx = nan', "[source.camera]\npatience_s = nan", "[source.nobody]\nx = 1",
    '[[check]]\nuse = "nobody"', '[[tools]]\nuse = "nobody"', "name = 1", "x = 1",
)  # fmt: skip


@pytest.mark.parametrize("text", RECIPES)
def test_config_check_refuses_recipes_that_would_fail_later(text, tmp_path):
    recipe = tmp_path / "odd.toml"
    recipe.write_text(text, encoding="utf-8")
    for call in (("--set", f"recipe={recipe}"), ("--set", f"run.sources=[{{source='/dev/video0', recipe='{recipe}'}}]")):
        ended = command("config", "check", *call)
        assert (ended.code, len(ended.err.splitlines())) == (2, 1), ended


@pytest.mark.parametrize("name", ["default", "vam", "egagent"])
def test_config_check_takes_what_ships(name):
    assert command("config", "check", "--set", f"recipe={name}").code == 0


@pytest.mark.parametrize(
    ("size", "expected"), [("67108864", 67_108_864), ("'67108864'", 67_108_864), ("64MiB", 67_108_864), ("'1.5 GB'", 1_500_000_000)]
)
def test_a_number_of_bytes_is_a_size(size, expected, memory):
    shown = command("memory", "stats", "--memory", memory, "--json", "--set", f"budget.disk={size}")
    assert shown.code == 0, shown
    assert parse_bytes(67_108_864) == 67_108_864
    assert parse_bytes(size.strip("'")) == expected
    for wrong in ("1e5", "٣MiB", "1.MB", "", "MB", "-1", "9" * 21, True, 1.5e300):
        with pytest.raises(UsageError, match="64MiB"):
            parse_bytes(wrong)


# -------------------------------------------------------------------------------------------------------------- damage, and the socket


@pytest.mark.parametrize(
    "damage",
    [
        "DROP TABLE session", "DROP TABLE step", "UPDATE session SET notes = 'x'", "DROP TABLE document_fts",
        "DELETE FROM document_fts_data",
        "UPDATE document_fts_data SET block = x'00' WHERE id > 9", "UPDATE session SET status = 'odd'",
        "UPDATE session SET answer = CAST(x'ff' AS TEXT)",
        "DROP TABLE session_evidence", "DROP TABLE meta", "UPDATE moment SET t_us = 1 << 62", "UPDATE document SET t0_us = -(1 << 62)",
        "UPDATE step SET action = '[', result = 'x'", "UPDATE document SET text = CAST(x'ff' AS TEXT)",
    ],
)  # fmt: skip
def test_damaged_tables_end_in_one_line(damage, tmp_path):
    memory = remembering(tmp_path / "memory", Texts())
    connection = sqlite3.connect(memory / "memory.db")
    connection.execute("PRAGMA ignore_check_constraints = ON")
    try:
        connection.execute(damage)
        connection.commit()
    finally:
        connection.close()
    _commands_end(memory, tmp_path)


def _commands_end(memory: Path, folder: Path) -> None:
    of = ("--memory", memory)
    for call in (
        ("ask", "where is the mug?", *of), ("ask", "and then?", *of, "--session", "last", "--trace"), ("search", "mug", *of),
        ("timeline", *of), ("sessions", "list", *of), ("sessions", "show", "1", *of),
        ("show", "m1", *of, "--out", folder / "x.jpg"), ("memory", "check", *of),
        ("memory", "stats", *of), ("memory", "compact", *of), ("forget", *of, "--evidence", "m1"), ("habits", *of),
        ("show", "d1", *of, "--out", folder / "y.jpg"),
    ):  # fmt: skip
        ended = command(*call)
        assert ended.code in range(4), (call, ended)


@pytest.mark.parametrize("seed", range(12))
def test_damaged_bytes_end_in_one_line(seed, tmp_path):
    memory, rng = remembering(tmp_path / "memory", Texts()), random.Random(seed)
    file = memory / "memory.db"
    data = bytearray(file.read_bytes())
    for _ in range(rng.choice((1, 30, 3000))):
        data[rng.randrange(len(data))] = rng.randrange(256)
    file.write_bytes(bytes(data))
    script = (
        "import sys\nfrom pathlib import Path\nsys.path.insert(0, sys.argv[1])\n"
        "from test_shield_input import _commands_end\n_commands_end(*map(Path, sys.argv[2:]))"
    )
    where = [str(Path(__file__).parent), str(memory), str(tmp_path)]
    done = subprocess.run([sys.executable, "-c", script, *where], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]


@pytest.mark.parametrize(
    "text", [b"[" * 20_000, b'{"a":' * 20_000, b'{"method":"ask","options":' + b"[" * 20_000, b"\xff\xfe", b"{}", b"1e999", b'"\\ud800"']
)
def test_deep_and_broken_json_at_the_socket_is_declined_and_the_next_is_served(text, tmp_path):
    server = SocketServer(tmp_path, lambda _request, _send: SearchReply())
    server.open()
    try:
        for sent in (text, b'{"method":"search","query":"x"}'):
            with socket.socket(socket.AF_UNIX) as client:
                client.settimeout(5)
                client.connect(str(tmp_path / "agent.sock"))
                client.sendall(sent + b"\n")
                replies = client.makefile("rb").readline()
            assert json.loads(replies)["reply"] == ("working" if b"search" in sent else "declined")
    finally:
        server.close()


def test_every_option_of_every_command_takes_odd_values():
    """A first helping, the same every time, of what `make torture` draws anew for a minute for each option."""
    tool = [sys.executable, str(ROOT / "tools/fuzz.py"), "--seconds", "0", "--cases", "1", "--seed", "0"]
    done = subprocess.run(tool, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert T0_US
