#!/usr/bin/env python3
"""How well voices are told apart in dialogues: the diarisation error rate, `diarisation.py [--seeds 900,901] [--differs 0.62]`.

Dialogues are composed of packaged voices (`speak.py`) and of two readers of pocketsphinx-testdata: three speakers, turns of one or two
sentences, gaps drawn around 0.2 s, so that every fourth turn or so begins before the one before has ended. Error = missed speech + false
alarms + confused speakers, as a share of all speech, overlap counted once for each who speaks; a collar of 0.25 s around every boundary
of the reference is left out (NIST, Rich Transcription 2006). Seeds below 900 were looked at while the thresholds were chosen.
"""

from __future__ import annotations

import argparse
import itertools
import random
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import speak
from hearing import CLIPS

from edgemem.cli.app import CommandContext
from edgemem.hear.listen import Heard
from edgemem.infer.fetch import ensure, extract, fetch_archive
from edgemem.records import BEFORE_START_US, SOUND_RATE_HZ, US, Samples, Sound
from edgemem.see.sources.sound import CHUNK_S, SoundTrack

VOICES = ("joe", "low", "high", "en-us+f3", "en-gb+m3", "en-us+f5")
COLLAR_S, FRAME_S = 0.25, 0.01
TURNS, PEOPLE = 16, 3
MARGIN_S = 0.2
_SENTENCES = Path(__file__).parent / "speech_set" / "tatoeba.tsv"
_SILENT = 0.01
"""Peak below which the ends of a spoken sentence are silence."""


class Span(NamedTuple):
    """Who speaks from when to when, in seconds."""

    t0_s: float
    t1_s: float
    speaker: str


class Errors(NamedTuple):
    """Seconds of each kind of error, and of all speech."""

    missed: float
    false: float
    confused: float
    speech: float

    @property
    def rate(self) -> float:
        """The diarisation error rate."""
        return (self.missed + self.false + self.confused) / max(self.speech, FRAME_S)


def errors(reference: Sequence[Span], found: Sequence[Span], collar_s: float = COLLAR_S) -> Errors:
    """With the assignment of names to people that confuses least."""
    end_s = max((span.t1_s for span in (*reference, *found)), default=0.0)
    frames = round(end_s / FRAME_S) + 1
    there, heard = _active(reference, frames), _active(found, frames)
    counted = np.ones(frames, bool)
    for edge_s in (edge for span in reference for edge in span[:2]):
        counted[max(0, round((edge_s - collar_s) / FRAME_S)) : round((edge_s + collar_s) / FRAME_S)] = False
    real = sum((active & counted for active in there.values()), np.zeros(frames, int))
    told = sum((active & counted for active in heard.values()), np.zeros(frames, int))
    both = {(who, name): int((there[who] & heard[name] & counted).sum()) for who in there for name in heard}
    right = _best(list(there), list(heard), both)
    missed, false = np.maximum(real - told, 0).sum(), np.maximum(told - real, 0).sum()
    confused = np.minimum(real, told).sum() - right
    return Errors(*(float(n) * FRAME_S for n in (missed, false, confused, real.sum())))


def _active(spans: Sequence[Span], frames: int) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for span in spans:
        active = made.setdefault(span.speaker, np.zeros(frames, bool))
        active[round(span.t0_s / FRAME_S) : round(span.t1_s / FRAME_S)] = True
    return made


def _best(people: list[str], names: list[str], both: dict[tuple[str, str], int]) -> int:
    """Frames that are right under the best one-to-one assignment."""
    padded = [*names, *(f"nobody {n}" for n in range(len(people)))]
    strongest = sorted(padded, key=lambda name: -max((both.get((who, name), 0) for who in people), default=0))[:8]
    return max(
        (sum(both.get(pair, 0) for pair in zip(people, some, strict=True)) for some in itertools.permutations(strongest, len(people))),
        default=0,
    )


def dialogue(session: CommandContext, seed: int) -> tuple[Samples, list[Span]]:
    """The sound of a talk, and who speaks when."""
    draw = random.Random(seed)
    people = draw.sample([*VOICES, "austen", "cards"], PEOPLE)
    spoken = [line.split("\t")[2] for line in _SENTENCES.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    sound, spans, at_s, before = np.zeros(SOUND_RATE_HZ // 2, np.float32), list[Span](), 0.5, ""
    for _ in range(TURNS):
        who = draw.choice([one for one in people if one != before])
        part = _turn(session, who, draw, spoken)
        begin = round(max(0.1, at_s) * SOUND_RATE_HZ)
        sound = np.concatenate([sound, np.zeros(max(0, begin + len(part) - len(sound)), np.float32)])
        sound[begin : begin + len(part)] += part
        end_s = (begin + len(part)) / SOUND_RATE_HZ
        spans.append(Span(begin / SOUND_RATE_HZ, end_s, who))
        at_s, before = end_s + min(1.5, max(-0.8, draw.gauss(0.2, 0.35))), who
    return np.concatenate([sound, np.zeros(SOUND_RATE_HZ, np.float32)]), spans


def _turn(session: CommandContext, who: str, draw: random.Random, spoken: Sequence[str]) -> Samples:
    if who in {"austen", "cards"}:
        return _trimmed(draw.choice(_read(session)[who]))
    text = " ".join(draw.sample(list(spoken), draw.choice((1, 2, 2))))
    return _trimmed(speak.speak(text, who))


@lru_cache(maxsize=1)
def _read(session: CommandContext) -> dict[str, list[Samples]]:
    """Clips of the two readers."""
    files = extract(CLIPS, fetch_archive(CLIPS, session.home / "archives"), session.home / "media" / CLIPS.package)
    clips: dict[str, list[Samples]] = {"austen": [], "cards": []}
    for name, path in files.items():
        if path.suffix == ".wav":
            samples = np.concatenate([part for _, part in SoundTrack(str(path)).chunks(BEFORE_START_US)])
            clips["austen" if "austen" in name else "cards"].append(samples)
    return clips


def _trimmed(samples: Samples) -> Samples:
    """Without silence at both ends, at a common loudness."""
    loud = np.flatnonzero(np.abs(samples) > _SILENT)
    samples = samples[loud[0] : loud[-1] + 1] if len(loud) else samples
    level = float(np.sqrt(np.mean(np.square(samples)))) or 1.0
    return np.asarray(np.clip(samples * (0.06 / level), -1, 1), np.float32)


def heard(session: CommandContext, samples: Samples, settings: dict[str, Any]) -> list[Span]:
    """Who the recogniser says speaks when; speech without a voice is one of its own each time."""
    ear = session.plugins.make("ears", "whisper", settings, session.context, "evaluation")
    step, found, alias = round(CHUNK_S * SOUND_RATE_HZ), [], dict[str, str]()
    for at in range(0, len(samples), step):
        us = at * US // SOUND_RATE_HZ
        found += ear.hear(Sound(stream="a", t_us=us, offset_us=us, samples=samples[at : at + step]))
    found += ear.flush()
    for one in found:
        alias.update(one.united)
    return [_span(one, alias.get(one.speaker, one.speaker) or f"?{number}") for number, one in enumerate(found)]


def _span(one: Heard, speaker: str) -> Span:
    """Without the margins of the recogniser."""
    begin_s, length_s = one.offset_us / US, (one.t1_us - one.t0_us) / US
    return Span(begin_s + MARGIN_S, begin_s + length_s - MARGIN_S, speaker)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", default="900,901,902,903")
    parser.add_argument("--differs", default="0,0.62", help="values of other_voice to compare; 0 = no cut inside a piece")
    args = parser.parse_args()
    session = CommandContext(None, ("engines.threads=2", 'engines.roles.transcribe="whisper-tiny-en"'))
    for card in ("whisper-tiny-en", "silero-vad", "resemblyzer"):
        ensure(session.cards[card], session.home, session.converters)
    talks = [dialogue(session, int(seed)) for seed in args.seeds.split(",")]
    for differs in map(float, args.differs.split(",")):
        made = [(errors(spans, found), found) for samples, spans in talks for found in [heard(session, samples, {"other_voice": differs})]]
        total = Errors(*(sum(one[i] for one, _ in made) for i in range(4)))
        voices = sum(len({span.speaker for span in found if not span.speaker.startswith("?")}) for _, found in made) / len(made)
        print(
            f"other_voice {differs:.2f}: error {total.rate:.1%} of {total.speech:.0f} s (missed {total.missed / total.speech:.1%}, false"
            f" {total.false / total.speech:.1%}, confused {total.confused / total.speech:.1%}); {voices:.1f} voices of {PEOPLE};"
            f" by dialogue {', '.join(f'{one.rate:.1%}' for one, _ in made)}"
        )


if __name__ == "__main__":
    main()
