"""`edgemem engines`, used by a person or a script."""

from __future__ import annotations

import json

import pytest

from edgemem.cli.main import main
from edgemem.infer.fetch import sha256_of

CARD = """
name = "eye"
role = "classify"
decoder = "classifier"
licence = "CC0-1.0"
[[source]]
kind = "file"
path = "eye.bin"
sha256 = "{digest}"
size_bytes = 5
members = {{ model = "" }}
[files]
model = "eye.bin"
"""


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as stop:
        main(["engines", *arguments])
    out, err = capsys.readouterr()
    return stop.value.code, out, err


@pytest.fixture
def eye(home):
    """A user's own card, with weights on this disk."""
    folder = home / "cards"
    folder.mkdir(parents=True)
    (folder / "eye.bin").write_bytes(b"sight")
    (folder / "eye.toml").write_text(CARD.format(digest=sha256_of(folder / "eye.bin")))
    return folder


@pytest.mark.usefixtures("eye")
def test_a_card_is_listed_fetched_and_checked(capsys, home):
    code, out, _ = run(capsys, "list", "eye", "--json")
    assert (code, json.loads(out)["engines"][0]["fetched"]) == (0, False)
    assert run(capsys, "fetch", "eye")[0] == 0
    code, out, _ = run(capsys, "list", "eye")
    assert code == 0
    assert "yes" in out
    code, out, _ = run(capsys, "check", "eye", "--json")
    assert (code, json.loads(out)) == (0, {"checked": ["eye"], "problems": []})
    (home / "engines" / "eye" / "eye.bin").write_bytes(b"blind")
    code, _, err = run(capsys, "check")
    assert code == 1
    assert "eye.bin is damaged" in err


@pytest.mark.usefixtures("home")
def test_the_list_shows_every_shipped_card(capsys):
    code, out, _ = run(capsys, "list", "--json")
    assert code == 0
    listed = {engine["name"]: engine for engine in json.loads(out)["engines"]}
    assert {"minilm-int8", "nanodet", "label-bridge"} <= set(listed)
    assert listed["label-bridge"]["uses"] == ["efficientnet-lite3", "minilm-int8", "nanodet"]


@pytest.mark.usefixtures("home")
def test_a_wrong_name_gets_the_nearest(capsys):
    code, _, err = run(capsys, "fetch", "nanodett")
    assert code == 2
    assert 'did you mean "nanodet"' in err
    assert err.count("\n") == 1


def test_a_fetch_that_fails_says_so_in_one_line_and_as_json(capsys, eye):
    (eye / "eye.bin").write_bytes(b"other")
    code, out, err = run(capsys, "fetch", "eye")
    assert (code, out) == (1, "")
    assert "sha256 is" in err
    assert err.count("\n") == 1
    code, out, _ = run(capsys, "fetch", "eye", "--json")
    assert code == 1
    assert "sha256" in json.loads(out)["problems"]["eye"]
