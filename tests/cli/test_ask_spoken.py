"""A question as sound: heard by the real recogniser, or refused with what to do."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

from edgemem.errors import FetchError
from edgemem.infer.engines import Engines
from tests.cli.conftest import Run

sys.path.insert(0, str(Path(__file__).parents[2] / "tools" / "eval"))


@pytest.fixture
def spoken(tmp_path: Path) -> Path:
    """A sound file with a question."""
    if shutil.which("espeak-ng") is None:
        pytest.skip("espeak-ng is not installed, so nothing can be spoken: apt-get install espeak-ng")
    import speak

    try:
        speak.save(speak.speak("What did the sign say?"), tmp_path / "asked.wav")
    except FetchError as error:
        pytest.skip(str(error))
    return tmp_path / "asked.wav"


def test_a_spoken_question_is_answered_and_told_as_heard(
    run: Run, memory: Path, spoken: Path, engines: Engines, weights_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not engines.missing("transcribe")
    monkeypatch.setenv("EDGEMEM_HOME", str(weights_home))
    code, out, err = run("ask", "--spoken", str(spoken), "--memory", str(memory), "--json")
    assert json.loads(out)["question"].lower().strip(" ?") == "what did the sign say"
    assert err.startswith('heard: "What did the sign say')
    assert code == 3, "nothing was read"


def test_sound_without_words_is_no_question(
    run: Run, memory: Path, tmp_path: Path, engines: Engines, weights_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import speak

    assert not engines.missing("transcribe")
    monkeypatch.setenv("EDGEMEM_HOME", str(weights_home))
    for seconds in (0, 2):
        speak.save(np.zeros(seconds * speak.RATE_HZ, np.float32), tmp_path / "silent.wav")
        code, _, err = run("ask", "--spoken", str(tmp_path / "silent.wav"), "--memory", str(memory))
        assert code == 2
        assert "no question was heard in its first 30 s" in err


def test_without_a_recogniser_and_with_two_questions_it_says_what_to_do(run: Run, memory: Path, tmp_path: Path) -> None:
    (tmp_path / "asked.wav").write_bytes(b"RIFF")
    for given, told in (
        (("--spoken", str(tmp_path / "asked.wav")), "no speech can be recognised: "),
        (("where is it?", "--spoken", str(tmp_path / "asked.wav")), "give one question, in words"),
        ((), "give one question, in words"),
    ):
        code, out, err = run("ask", *given, "--memory", str(memory))
        assert (code, out) == (2, "")
        assert told in err
        assert err.count("\n") == 1
