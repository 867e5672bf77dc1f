"""Keys on the command line: created, found, refused, changed; each with one line and the right exit code."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time

import pytest

from edgemem.remember.disk import keys

pytest.importorskip("sqlcipher3", reason="sqlcipher3 has no wheel for this Python: pip install 'edgemem-agent[encrypted]'")


@pytest.fixture(autouse=True)
def no_key(monkeypatch):
    monkeypatch.delenv(keys.ENVIRONMENT_KEY, raising=False)
    monkeypatch.delenv(keys.ENVIRONMENT_KEY_FILE, raising=False)
    yield
    keys.follow(keys.StoreSettings)


@pytest.fixture
def key_file(run, home, tmp_path):
    file = tmp_path / "edgemem.key"
    code, out, err = run("memory", "keygen", file)
    assert code == 0, err
    assert "copy" in out
    assert file.stat().st_mode & 0o777 == 0o600
    assert home.parent == tmp_path
    return file


def test_a_memory_is_made_encrypted_and_opens_with_its_key_only(run, recipe, pictures, key_file, tmp_path, monkeypatch):
    memory, other = tmp_path / "memory", tmp_path / "other.key"
    option = ("--set", f"store.key_file={key_file}")
    code, _, err = run("ingest", pictures, "--memory", memory, "--recipe", recipe, *option)
    assert code == 0, err
    assert not any(b"SQLite format" in file.read_bytes() for file in memory.rglob("*") if file.is_file())
    code, out, _ = run("memory", "stats", "--memory", memory, *option)
    assert (code, "encrypted: yes" in out) == (0, True)
    assert json.loads(run("memory", "stats", "--memory", memory, "--json", *option)[1])["encrypted"] is True
    before = (memory / "memory.db").read_bytes()
    for command in (
        ("ingest", pictures, "--recipe", recipe),
        ("memory", "stats"),
        ("memory", "check"),
        ("memory", "check", "--json"),
        ("timeline",),
        ("forget", "--stream", "walk"),
    ):
        code, out, err = run(*command, "--memory", memory)
        assert (code, out, err.count("\n")) == (2, "", 1), err
        assert "is encrypted: name its key with store.key_file" in err
        assert "it is damaged if it never had one" in err
    run("memory", "keygen", other)
    code, _, err = run("memory", "stats", "--memory", memory, "--set", f"store.key_file={other}")
    assert (code, err.count("\n"), "does not open it" in err) == (2, 1, True)
    assert (memory / "memory.db").read_bytes() == before
    monkeypatch.setenv(keys.ENVIRONMENT_KEY_FILE, str(key_file))
    assert run("memory", "check", "--memory", memory)[0] == 0
    assert "two places" in run("memory", "check", "--memory", memory, *option)[2]
    monkeypatch.delenv(keys.ENVIRONMENT_KEY_FILE)
    monkeypatch.setenv(keys.ENVIRONMENT_KEY, key_file.read_text())
    assert run("memory", "check", "--memory", memory)[0] == 0
    code, out, _ = run("doctor")
    assert "on, with EDGEMEM_KEY" in out
    assert key_file.read_text().strip() not in out


def test_a_key_that_others_can_read_or_that_is_none_is_refused(run, memory, key_file, tmp_path):
    def said(file):
        code, out, err = run("memory", "stats", "--memory", memory, "--set", f"store.key_file={file}")
        assert (code, out, err.count("\n")) == (2, "", 1)
        return err

    key_file.chmod(0o640)
    assert f"chmod 600 {key_file}" in said(key_file)
    key_file.chmod(0o600)
    assert "edgemem memory encrypt" in said(key_file)  # the memory is plain
    assert "does not exist" in said(tmp_path / "nowhere")
    key_file.write_text("short\n")
    assert "contains no key" in said(key_file)
    code, _, err = run("memory", "keygen", key_file)
    assert (code, "exists" in err) == (2, True)


def test_a_memory_is_encrypted_rekeyed_backed_up_exported_and_decrypted(run, memory, key_file, tmp_path):
    second = tmp_path / "second.key"
    run("memory", "keygen", second)
    first = ("--memory", memory, "--set", f"store.key_file={key_file}")
    now = ("--memory", memory, "--set", f"store.key_file={second}")
    count = json.loads(run("memory", "stats", "--memory", memory, "--json")[1])["moments"]
    assert run("memory", "encrypt", "--memory", memory)[0] == 2  # with what?
    code, out, err = run("memory", "encrypt", *first)
    assert (code, "encrypted" in out, "blocks" in err) == (0, True, True)
    assert run("memory", "encrypt", *first)[0] == 1 or run("memory", "check", *first)[0] == 0
    assert run("memory", "rekey", *first, "--new-key-file", second)[0] == 0
    assert run("memory", "check", *first)[0] == 2
    assert run("memory", "check", *now)[1] == "the memory has no errors\n"
    code, out, err = run("memory", "export", tmp_path / "out", *now)
    assert (code, "--plain" in err, (tmp_path / "out").exists()) == (2, True, False)
    assert run("memory", "export", tmp_path / "out", "--plain", *now)[0] == 0
    assert run("memory", "backup", tmp_path / "copy.db", *now, "--key-file", key_file)[0] == 0
    code, _, err = run("memory", "import", tmp_path / "copy.db", "--memory", tmp_path / "again", "--set", f"store.key_file={key_file}")
    assert code == 0, err
    code, out, _ = run("memory", "decrypt", *now)
    assert (code, "not encrypted any more" in out) == (0, True)
    assert json.loads(run("memory", "stats", "--memory", memory, "--json")[1])["moments"] == count
    assert run("memory", "check", "--memory", memory)[0] == 0


KILLED = """
import os, signal, sys
from edgemem.cli.main import main
from edgemem.remember.disk import rewrite
rewrite._verify = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
main(sys.argv[1:])
"""
"""The command line, which is killed when the copy is complete and not yet the memory."""


def test_what_a_killed_decrypt_leaves_is_said_and_removed(run, memory, key_file):
    option = ("--memory", memory, "--set", f"store.key_file={key_file}")
    assert run("memory", "encrypt", *option)[0] == 0
    killed = subprocess.run([sys.executable, "-c", KILLED, "memory", "decrypt", *map(str, option)], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert (memory / "memory.db-part").read_bytes().startswith(b"SQLite format 3")
    code, out, _ = run("memory", "check", *option)
    assert (code, "memory.db-part" in out, "`edgemem memory compact` removes it" in out) == (1, True, True)
    assert run("memory", "compact", *option)[0] == 0
    assert run("memory", "check", *option)[:2] == (0, "the memory has no errors\n")
    assert not (memory / "memory.db-part").exists()


def test_a_tpm_gives_out_the_key(run, recipe, pictures, home, tmp_path, monkeypatch):
    """A software TPM instead of the chip, used by the same programs."""
    if not all(map(shutil.which, ("swtpm", "tpm2_unseal", "tpm2_create"))):
        pytest.skip("needs a software TPM and its programs: apt-get install swtpm tpm2-tools")
    assert home.parent == tmp_path
    state, port = tmp_path / "tpm", free_port()
    state.mkdir()
    server = f"type=tcp,port={port}"
    chip = subprocess.Popen(
        (
            f"swtpm socket --tpm2 --tpmstate dir={state} --server {server} --ctrl type=tcp,port={port + 1}"
            " --flags not-need-init,startup-clear"
        ).split(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        monkeypatch.setenv("TPM2TOOLS_TCTI", f"swtpm:host=127.0.0.1,port={port}")
        monkeypatch.chdir(state)
        wait_for(port + 1)
        (state / "key").write_text(secrets.token_hex(32))
        for command in (
            "tpm2_createprimary -Q -C o -c primary.ctx",
            "tpm2_flushcontext -Q -t",
            "tpm2_create -Q -C primary.ctx -i key -u key.pub -r key.priv -p password",
            "tpm2_flushcontext -Q -t",
            "tpm2_load -Q -C primary.ctx -u key.pub -r key.priv -c key.ctx",
            "tpm2_flushcontext -Q -t",
            "tpm2_evictcontrol -Q -C o -c key.ctx 0x81010001",
        ):
            done = subprocess.run(command.split(), capture_output=True, text=True, check=False)
            assert done.returncode == 0, (command, done.stderr)
        option = ("--memory", tmp_path / "memory", "--set", "store.key_tpm=0x81010001")
        code, _, err = run("ingest", pictures, "--recipe", recipe, *option)
        assert (code, err.count("\n"), "does not release the key" in err) == (2, 1, True), err
        assert not (tmp_path / "memory" / "memory.db").exists()
        code, _, err = run("ingest", pictures, "--recipe", recipe, *option, "--set", "store.key_tpm_auth=password")
        assert code == 0, err
        monkeypatch.setenv(keys.ENVIRONMENT_KEY, (state / "key").read_text())
        assert run("memory", "check", "--memory", tmp_path / "memory")[0] == 0
    finally:
        chip.terminate()
        chip.wait()


def test_without_the_programs_of_the_tpm_the_line_says_what_to_install(run, memory, monkeypatch):
    monkeypatch.setenv("PATH", os.devnull)
    code, _, err = run("memory", "stats", "--memory", memory, "--set", "store.key_tpm=0x81010009")
    assert (code, "install tpm2-tools" in err) == (2, True)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(port):
    for _ in range(100):
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
