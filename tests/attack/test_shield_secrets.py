"""Secrets stay where they are: after runs with marked secrets no file, output, error, log, traceback or list of processes holds one."""

from __future__ import annotations

import copy
import functools
import http.server
import json
import logging
import os
import pickle
import subprocess
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import cv2
import msgspec
import numpy as np
import pytest
from edgemem_openai.testing import ScriptedReply, ScriptedServer
from hypothesis import given
from hypothesis import strategies as st
from shield_calls import Texts, command, remembering

from edgemem.config import StoreSettings, dump, load
from edgemem.remember.disk.keys import Key, configured, follow
from edgemem.secret import STARS, Secret, address, from_plain, reveal, shown_text, split_last

pytestmark = pytest.mark.usefixtures("home")
USER, PASSWORD, QUERY, API_KEY, PASSPHRASE, TPM = marks = (
    "uSerMark71", "pAsswordMark72", "qUeryMark73", "aPiKeyMark74", "pAssphraseMark75", "tPmMark76"
)  # fmt: skip


def leaked(*texts: str) -> list[str]:
    return [mark for mark in marks for text in texts if mark.lower() in text.lower()]


def in_files(folder: Path, *but: Path) -> list[str]:
    """Files below a folder that hold a mark."""
    files = (path for path in folder.rglob("*") if path.is_file() and path not in but)
    return [f"{path}: {found}" for path in files if (found := leaked(path.read_bytes().decode("latin-1"), str(path)))]


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Nothing."""


@contextmanager
def served(folder: Path) -> Iterator[int]:
    """A web server of a folder; its port."""
    handler = functools.partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


@pytest.fixture
def film(tmp_path: Path) -> Path:
    folder = tmp_path / "web"
    folder.mkdir()
    writer = cv2.VideoWriter(str(folder / "film.mp4"), cv2.VideoWriter_fourcc(*"mp4v"), 5, (64, 48))
    for number in range(20):
        writer.write(np.random.default_rng(number // 5).integers(0, 255, (48, 64, 3), np.uint8))
    writer.release()
    return folder


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    path = tmp_path / "plain.toml"
    path.write_text('rate_fps = 2.0\n[segment]\nuse = "fixed_window"\n', encoding="utf-8")
    return path


def test_what_is_secret_in_an_address_stays_out_of_memory_reports_and_errors(film, recipe, tmp_path, caplog):
    with served(film) as port:
        login, query = f"{USER}:{PASSWORD}", f"?token={QUERY}"
        good = f"http://{login}@127.0.0.1:{port}/film.mp4{query}"
        gone = f"http://{login}@127.0.0.1:{port}/other.mp4{query}"
        dead = f"rtsp://{login}@127.0.0.1:9/cam{query}"
        odd = f"gopher://{login}@127.0.0.1/x{query}"
        memory = tmp_path / "memory"
        of = ("--memory", memory, "--recipe", recipe)
        ended = [command("ingest", good, *of), command("ingest", good, *of), command("ingest", good, gone, *of, "--json")]
        ended += [command("ingest", bad, *of) for bad in (gone, dead, odd, f"{dead}+alsa:nothing", f"http:{login}@127.0.0.1:9/x")]
    assert [one.code for one in ended] == [0, 0, 1, *[1] * 5], ended
    assert "already" in ended[1].err
    assert "***@127.0.0.1" in ended[3].err
    ended += [command("timeline", "--memory", memory), command("memory", "export", tmp_path / "export", "--memory", memory)]
    ended += [command("memory", "backup", tmp_path / "backup.db", "--memory", memory)]
    assert not leaked(*(text for one in ended for text in (one.out, one.err)), caplog.text)
    assert not in_files(tmp_path)


def test_settings_show_none_of_them(tmp_path):
    file = tmp_path / "settings.toml"
    file.write_text(
        f"""
        [openai]
        base_url = "http://127.0.0.1:9/v1"
        model = "m"
        api_key = "{API_KEY}"
        roles.planner.api_key = "{API_KEY}"
        [store]
        key_tpm = "0x81010001"
        key_tpm_auth = "{TPM}"
        [run]
        memory = "{tmp_path / "memory"}"
        [[run.sources]]
        source = "rtsp://{USER}:{PASSWORD}@127.0.0.1:9/cam?{QUERY}"
        [[run.services]]
        use = "nothing"
        password = "{PASSWORD}"
        urls = ["http://{USER}@x"]
        """,
        encoding="utf-8",
    )
    shown = [
        command("config", what, *more, "--config", file)
        for what in ("show", "check", "schema")
        for more in ([], ["--json"][: what == "show"])
    ]
    shown += [
        command("run", "--config", file),
        command("doctor", "--config", file),
        command("memory", "stats", "--memory", tmp_path, "--config", file),
    ]
    assert not leaked(*(text for one in shown for text in (one.out, one.err)))
    assert shown[0].out.count(STARS) >= 5
    loaded = load(file)
    assert not leaked(repr(loaded), str(loaded), f"{loaded}", json.dumps(dump(loaded)))
    assert reveal(loaded.store.key_tpm_auth) == TPM
    assert reveal(loaded.run.sources[0].source).endswith(f"?{QUERY}")
    with pytest.raises(TypeError):
        msgspec.json.encode(loaded)
    wrong = [f"openai.api_key={API_KEY}", f"openai.api_key {API_KEY}", f"store.key_tpm_auth=[{TPM!r}]", f"store.key_tpm_auth.x={TPM}"]
    wrong += [f"run.sources=[{{source='rtsp://{USER}:{PASSWORD}@x', strm=1}}]", f"openai.base_url='http://{USER}:{PASSWORD}@x/v1'"]
    wrong += [f"openai.base_url='http://x/v1?key={QUERY}'"]
    for setting in wrong:
        ended = command("config", "check", "--set", setting, "--set", "nothing.at_all=1")
        assert ended.code == 2, ended
        assert not leaked(ended.out, ended.err), ended


def test_a_server_that_repeats_the_key_does_not_get_it_into_errors_or_the_log_of_sessions(tmp_path):
    memory = remembering(tmp_path / "memory", Texts())
    refusing = ScriptedReply.failing(401, f"wrong key {API_KEY}, or {API_KEY[:3]} {API_KEY}")
    with ScriptedServer([refusing] * 20, api_key="") as server:
        file = tmp_path / "settings.toml"
        file.write_text(f'[openai]\nbase_url = "{server.base_url}"\nmodel = "m"\napi_key = "{API_KEY}"\n', encoding="utf-8")
        ended = command("ask", "where is the mug?", "--memory", memory, "--recipe", "vam", "--planner", "vam", "--trace", "--config", file)
        assert server.asked[0].headers["authorization"] == f"Bearer {API_KEY}"
    shown = command("sessions", "show", "2", "--memory", memory)
    assert "refuses the key" in ended.err + shown.out
    assert not leaked(ended.out, ended.err, shown.out)
    assert not in_files(tmp_path, file)


FAKE_TPM = """#!{python}
import os, pathlib, sys
lines = [path.read_bytes() for path in pathlib.Path("/proc").glob("[0-9]*/cmdline") if os.access(path, os.R_OK)]
pathlib.Path({seen!r}).write_bytes(b"\\n".join(lines))
pathlib.Path({asked!r}).write_text(repr(sys.argv[1:]))
given = sys.stdin.read()
if given not in ("", {password!r}):
    sys.exit(f"ERROR: bad auth {{given}}")
if {fails!r}:
    sys.exit("ERROR: Unseal failed with " + given)
print("{passphrase}")
"""


@pytest.mark.parametrize(
    ("auth", "arguments", "given_"),
    [
        (TPM, ["-c", "0x81010001", "-p", "file:-"], TPM),
        (f"hex:{TPM}", ["-c", "0x81010001", "-p", "file:-"], f"hex:{TPM}"),
        (f"session:a.ctx+{TPM}", ["-c", "0x81010001", "-p", "session:a.ctx+file:-"], TPM),
        ("pcr:sha256:0,7", ["-c", "0x81010001", "-p", "pcr:sha256:0,7"], ""),
        ("session:a.ctx", ["-c", "0x81010001", "-p", "session:a.ctx"], ""),
        ("file:/run/auth", ["-c", "0x81010001", "-p", "file:/run/auth"], ""),
        ("", ["-c", "0x81010001"], ""),
    ],
)
@pytest.mark.parametrize("fails", [False, True])
def test_a_tpms_password_is_told_on_its_input_alone(auth, arguments, given_, fails, tmp_path):
    """What every process of the machine may read of the program that unlocks the key, and what it says when it fails."""
    programs, seen, asked = tmp_path / "bin", tmp_path / "seen", tmp_path / "asked"
    programs.mkdir()
    text = FAKE_TPM.format(python=sys.executable, seen=str(seen), asked=str(asked), password=given_, fails=fails, passphrase=PASSPHRASE)
    (programs / "tpm2_unseal").write_text(text, encoding="utf-8")
    (programs / "tpm2_unseal").chmod(0o755)
    file = tmp_path / "settings.toml"
    file.write_text(f'[store]\nkey_tpm = "0x81010001"\nkey_tpm_auth = "{auth}"\n', encoding="utf-8")
    environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-m", "edgemem", "doctor", "--config", str(file)],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    assert asked.read_text() == repr(arguments)
    assert not leaked(done.stdout, done.stderr, seen.read_text("latin-1"))
    assert ("does not give out the key" in done.stdout) is fails
    assert ("on, with store.key_tpm" in done.stdout) is not fails


def test_passphrases_are_in_no_file_and_no_output(tmp_path, monkeypatch):
    pytest.importorskip("sqlcipher3")
    memory = remembering(tmp_path / "memory", Texts())
    monkeypatch.setenv("EDGEMEM_KEY", PASSPHRASE)
    ended = [command("memory", "encrypt", "--memory", memory), command("memory", "stats", "--memory", memory), command("doctor")]
    ended += [command("memory", "stats", "--memory", memory, "--set", "store.key_file=/x"), command("config", "show")]
    monkeypatch.setenv("EDGEMEM_KEY", PASSPHRASE[::-1])
    ended.append(command("memory", "stats", "--memory", memory))
    assert [one.code for one in ended] == [0, 0, 0, 2, 0, 2], ended
    assert not leaked(*(text for one in ended for text in (one.out, one.err)))
    assert not in_files(tmp_path)
    follow(StoreSettings)
    assert not leaked(repr(configured()))


# ----------------------------------------------------------------------------------------------------------------------- the type


@given(text=st.text(min_size=1))
def test_a_secret_shows_as_stars_to_whatever_takes_a_text(text):
    secret = Secret(text)
    logged = logging.LogRecord("x", 30, "f", 1, "%s %r", (secret, secret), None).getMessage()
    ways = [
        repr(secret), str(secret), f"{secret}", f"{secret:>9}", format(secret), "%s" % secret, secret + "", secret[:],  # noqa: UP031
        json.dumps({"a": [secret]}), logged, secret.upper(), secret.encode().decode(), bytes(secret, "utf-8").decode(), repr([secret]),
        msgspec.json.encode({"a": secret}, enc_hook=shown_text).decode(), repr(Key(text, "x")), secret.replace("x", "y"), " ".join(secret),
    ]  # fmt: skip
    assert {way.strip(" ") for way in ways} <= {
        STARS, f"Secret('{STARS}')", f'{{"a": ["{STARS}"]}}', f'{{"a":"{STARS}"}}', f"{STARS} Secret('{STARS}')", f"[Secret('{STARS}')]",
        f"Key(secret=Secret('{STARS}'), source='x')", "* * *",
    }  # fmt: skip
    assert reveal(secret) == text
    assert reveal(text) == text
    assert copy.deepcopy([secret])[0] is secret
    assert copy.copy(secret) is secret
    assert secret
    assert (secret == Secret(text), secret != Secret(text), hash(secret) == hash(Secret(text))) == (True, False, True)
    assert secret != text
    assert secret != Secret(f"{text}x")
    for write in (pickle.dumps, msgspec.json.encode, msgspec.to_builtins):
        with pytest.raises(TypeError):
            write(secret)


def test_a_traceback_with_locals_shows_stars():
    secret = Secret(PASSWORD)
    try:
        int(secret)
    except ValueError as error:
        lines = "".join(traceback.TracebackException.from_exception(error, capture_locals=True).format())
    assert STARS in lines
    assert PASSWORD not in lines.replace("PASSWORD", "")


def test_what_is_no_secret_shows_nothing_and_is_false():
    assert (str(Secret()), bool(Secret()), Secret("") == Secret()) == ("", False, True)
    assert from_plain(Secret, "x") == Secret("x")
    for wrong in (1, None, [PASSWORD]):
        with pytest.raises(ValueError, match="expected text") as failed:
            from_plain(Secret, wrong)
        assert not leaked(str(failed.value))


words = st.from_regex(r"[a-z0-9]{6,12}", fullmatch=True)


@given(
    scheme=st.sampled_from(["rtsp://", "http://", "https://", "RTSP://", "rtmp:", "rtsp:/", "srt:///", "x-own://"]),
    user=words.map(lambda word: f"us{word}"),
    password=st.lists(st.sampled_from(["pw1", "/", "@", "?", ":", "#", "%40", "+"]), max_size=6).map(
        lambda parts: f"pass{''.join(parts)}word"
    ),
    query=words.map(lambda word: f"qu{word}"),
    mark=st.sampled_from("?#"),
)
def test_an_address_never_shows_its_user_password_or_query(scheme, user, password, query, mark):
    whole = f"{scheme}{user}:{password}@host/cam{mark}token={query}"
    for text in (whole, f"{scheme}{user}:{password}@host/cam", f"{scheme}{user}@host/cam.mp4"):
        shown = address(text)
        assert reveal(shown) == text
        assert address(shown) is shown
        assert user not in shown
        assert query not in shown
        assert not any(part in shown for part in ("pass", "word", "pw1"))
        assert shown.startswith(scheme)


@pytest.mark.parametrize(
    "plain", ["0", "/dev/video0", "film.mp4", "a?b#c@d.mp4", "rtsp://host/cam", "alsa:default", "0+alsa:hw:1", "/x/y@z?", ""]
)
def test_what_holds_no_secret_stays_as_it_is(plain):
    assert address(plain) == plain
    assert not isinstance(address(plain), Secret)


def test_the_parts_of_an_address_keep_their_secrets():
    seen, heard = split_last(address(f"rtsp://{USER}:{PASSWORD}@host/cam?{QUERY}+alsa:default"), "+alsa:")
    assert (reveal(seen), heard) == (f"rtsp://{USER}:{PASSWORD}@host/cam?{QUERY}", "default")
    assert not leaked(seen, heard)
    assert split_last("alsa:default", "+alsa:") == ("", "alsa:default")
