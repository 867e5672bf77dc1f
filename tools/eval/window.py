"""Wrong words and processor time of Whisper by the least window of its encoder and the width of its beam, on the same pieces; halves apart.

    python tools/eval/window.py [--windows 10,15,30] [--beams 1,5] [--card whisper-base]

Pieces: the ten clips of two readers of tools/eval/hearing.py, every third sentence of tools/eval/speech_set in its voice, and these joined
to pieces of up to 15 s. The second half was not used to choose the window. The peer is Whisper's own window of 30 s.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import hearing
import numpy as np
import speak
from edgemem_hearing import WhisperSettings
from edgemem_hearing.whisper import WhisperTranscriber

from edgemem.cli.app import CommandContext
from edgemem.infer.engines import DecoderParts
from edgemem.infer.fetch import ensure
from edgemem.records import SOUND_RATE_HZ, Samples

_MOST = 15 * SOUND_RATE_HZ
_MARGIN = np.zeros(SOUND_RATE_HZ // 5, np.float32)
"""As the recogniser adds to a piece."""


class Piece(NamedTuple):
    """What is given to Whisper at once, and the words in it."""

    half: str
    samples: Samples
    words: list[str]


def pieces(session: CommandContext) -> list[Piece]:
    """Short ones, then long ones that are made of them."""
    clips = hearing.load_clips(session, synthetic=False)
    found = [Piece(("first", "second")[i % 2], clip.samples, hearing.normal(clip.text)) for i, clip in enumerate(clips)]
    lines = [line for line in (Path(__file__).parent / "speech_set/tatoeba.tsv").read_text().splitlines() if not line.startswith("#")]
    for half, voice, sentence, *_ in list(csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))[::3]:
        sound = np.concatenate([_MARGIN, speak.speak(sentence, voice), _MARGIN])
        found.append(Piece(half, sound, hearing.normal(sentence)))
    return found + [piece for half in ("first", "second") for piece in _joined([one for one in found if one.half == half])]


def _joined(short: Sequence[Piece]) -> list[Piece]:
    """Pieces of up to 15 s of these, in their order."""
    found, held = [], list[Piece]()
    for one in short:
        if held and sum(len(part.samples) for part in [*held, one]) > _MOST:
            found.append(_one(held))
            held = []
        held.append(one)
    return found


def _one(parts: Sequence[Piece]) -> Piece:
    return Piece(
        f"{parts[0].half}, joined", np.concatenate([part.samples for part in parts]), [word for part in parts for word in part.words]
    )


def run(parts: DecoderParts, window_s: float, beam: int, given: Sequence[Piece]) -> None:
    """Print a line for each half: wrong words, and processor time per piece."""
    transcriber = WhisperTranscriber(WhisperSettings(window_s=window_s, beam=beam, threads=1), parts)
    for half in dict.fromkeys(piece.half for piece in given):
        wrong = count = 0
        chosen, began = [piece for piece in given if piece.half == half], time.process_time()
        for piece in chosen:
            heard = transcriber.transcribe(piece.samples, language="en")
            wrong += hearing.word_errors(piece.words, hearing.normal(heard.text))
            count += len(piece.words)
        cpu_ms = (time.process_time() - began) * 1000 / len(chosen)
        seconds = sum(len(piece.samples) for piece in chosen) / SOUND_RATE_HZ / len(chosen)
        print(
            f"{window_s:6.0f} s {beam:5}  {half:15} {len(chosen):6} {seconds:6.1f} s {cpu_ms:8.0f}",
            f"{wrong:7} {count:6} {wrong / count:7.1%}",
            flush=True,
        )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--windows", default="10,15,30")
    parser.add_argument("--beams", default="1,5")
    parser.add_argument("--card", default="whisper-base")
    arguments = parser.parse_args()
    session = CommandContext(None, ())
    card = session.cards[arguments.card]
    files = ensure(card, session.home, session.converters)
    parts = DecoderParts(card=card, files=files, engines={}, uses={}, cache_dir=session.home / "cache")
    given = pieces(session)
    print("  window  beam  half            pieces  length   CPU ms   wrong  words")
    for window_s in arguments.windows.split(","):
        for beam in arguments.beams.split(","):
            run(parts, float(window_s), int(beam), given)


if __name__ == "__main__":
    main()
