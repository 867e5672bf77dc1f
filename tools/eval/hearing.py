#!/usr/bin/env python3
"""Quality and cost of hearing: word error rate, real-time factor, memory, speakers, and the share of CPU time next to seeing.

    tools/eval/hearing.py [--beside] [--speak] [--json FILE]

Ten clips of two readers with their transcripts (pocketsphinx-testdata: LibriVox and playing cards) are joined with a second of silence
between them and heard as one recording. `--speak` adds twelve sentences in three synthetic voices (see speak.py). `--beside` ingests a film
of 40 s with speech, with and without its sound. Real-time factor = seconds of work per second of sound, including silence: in wall time,
and in processor time, which does not depend on other load of the machine.
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import speak

from edgemem.cli.app import CommandContext
from edgemem.hear.listen import Heard
from edgemem.infer.card import WeightSource
from edgemem.infer.fetch import ensure, extract, fetch_archive
from edgemem.records import BEFORE_START_US, SOUND_RATE_HZ, Samples, Sound
from edgemem.see.sources.sound import CHUNK_S, SoundTrack

US = 1_000_000
_FOLDER = "usr/share/pocketsphinx/test/data"
_LIBRIVOX = tuple(f"sense_and_sensibility_01_austen_64kb-{number}" for number in ("0870", "0880", "0890", "0920", "0930"))
_CARDS = ("001", "002", "003", "004", "005")
CLIPS = WeightSource(
    kind="apt",
    package="pocketsphinx-testdata",
    members={
        "transcription": f"{_FOLDER}/librivox/transcription",
        "cards": f"{_FOLDER}/cards/cards.transcription",
        **{name: f"{_FOLDER}/librivox/{name}.wav" for name in _LIBRIVOX},
        **{name: f"{_FOLDER}/cards/{name}.wav" for name in _CARDS},
    },
)
SENTENCES = (
    "Your red coffee mug is on the kitchen table, next to the laptop.",
    "I will bring the ladder back on Friday afternoon.",
    "Please leave the front door open for the plumber.",
    "The printer on the second floor is out of paper again.",
)
MODELS = ("whisper-tiny-en", "whisper-base")
PAUSE = np.zeros(SOUND_RATE_HZ, np.float32)

_UNITS = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"


class Clip(NamedTuple):
    """A piece of speech and its words."""

    name: str
    speaker: str
    samples: Samples
    text: str


def word_errors(reference: Sequence[str], heard: Sequence[str]) -> int:
    """Substitutions, insertions and deletions: the edit distance of two lists of words."""
    row = list(range(len(heard) + 1))
    for i, wanted in enumerate(reference, 1):
        before, row = row, [i]
        for j, got in enumerate(heard, 1):
            row.append(min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (wanted != got)))
    return row[-1]


def normal(text: str) -> list[str]:
    """Words in the form for comparison: lower case, without punctuation and hyphens, figures and "Mr." spelt out."""
    text = re.sub(r"\bmr\b\.?", "mister", text.lower())
    text = re.sub(r"\d+", lambda match: f" {_spelt(match[0])} ", text)
    return re.findall(r"[a-z']+", text)


def _spelt(figures: str) -> str:
    number, units, tens = int(figures), _UNITS.split(), _TENS.split()
    if number < 20:
        return units[number]
    if number < 100:
        return tens[number // 10 - 2] + (f" {units[number % 10]}" if number % 10 else "")
    return " ".join(units[int(figure)] for figure in figures)


def load_clips(session: CommandContext, *, synthetic: bool) -> list[Clip]:
    """Every clip, in the order of hearing."""
    folder = session.home / "media" / CLIPS.package
    files = extract(CLIPS, fetch_archive(CLIPS, session.home / "archives"), folder)
    lines = files.pop("transcription").read_text() + files.pop("cards").read_text()
    said = {match[2]: match[1] for match in re.finditer(r"<s> (.*?) </s> \((.*?)\)", lines)}
    clips = [Clip(name, "austen" if name in _LIBRIVOX else "cards", _samples(path), said[name]) for name, path in files.items()]
    if synthetic:
        clips += [Clip(f"{voice} {i}", voice, speak.speak(text, voice), text) for i, text in enumerate(SENTENCES) for voice in speak.PITCH]
    return clips


def _samples(path: Path) -> Samples:
    return np.concatenate([samples for _, samples in SoundTrack(str(path)).chunks(BEFORE_START_US)])


def hear(session: CommandContext, clips: Sequence[Clip]) -> dict[str, Any]:
    """Hear the clips as one recording; errors are counted per clip; an utterance belongs to the clip in which it begins."""
    context = session.context
    ear = session.plugins.make("ears", "whisper", {}, context, "evaluation")
    list(_give(ear, np.concatenate([clips[0].samples, PAUSE]), 0))  # loads the models
    ear.flush()
    began, clock, cpu = 3600 * US, time.perf_counter(), time.process_time()
    whole = np.concatenate([part for clip in clips for part in (clip.samples, PAUSE)])
    heard = [one for found in _give(ear, whole, began) for one in found] + ear.flush()
    wall_s, cpu_s, seconds = time.perf_counter() - clock, time.process_time() - cpu, len(whole) / SOUND_RATE_HZ
    ends = began + np.cumsum([(len(clip.samples) + len(PAUSE)) * US // SOUND_RATE_HZ for clip in clips])
    by_clip: list[list[Heard]] = [[] for _ in clips]
    for one in heard:
        by_clip[min(int(np.searchsorted(ends, one.offset_us + US // 4)), len(clips) - 1)].append(one)
    errors = {group: [0, 0] for group in dict.fromkeys(clip.speaker for clip in clips)}
    for clip, found in zip(clips, by_clip, strict=True):
        reference = normal(clip.text)
        wrong = word_errors(reference, normal(" ".join(one.text for one in found)))
        errors[clip.speaker][0] += wrong
        errors[clip.speaker][1] += len(reference)
        if wrong:
            print(f"    {clip.name[-4:]:>6} {wrong} of {len(reference)}: {' '.join(one.text for one in found)}")
    starts = [abs(found[0].offset_us - (end - (len(clip.samples) + len(PAUSE)) * US // SOUND_RATE_HZ)) / US for clip, found, end in
              zip(clips, by_clip, ends, strict=True) if found]  # fmt: skip
    owners = [(clip.speaker, one.speaker) for clip, found in zip(clips, by_clip, strict=True) for one in found]
    return {
        "wer": {group: wrong / count for group, (wrong, count) in errors.items()},
        "wer_all": sum(wrong for wrong, _ in errors.values()) / sum(count for _, count in errors.values()),
        "words": sum(count for _, count in errors.values()),
        "rtf_clock": wall_s / seconds,
        "rtf_cpu": cpu_s / seconds,
        "seconds": seconds,
        "start_error_s": max(starts),
        "speakers": _purity(owners),
        "rss_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "notes": list(ear.notes),
    }


def _give(ear: Any, samples: Samples, began_us: int) -> Any:
    step = round(CHUNK_S * SOUND_RATE_HZ)
    for at in range(0, len(samples), step):
        us = began_us + at * US // SOUND_RATE_HZ
        yield ear.hear(Sound(stream="a", t_us=us, offset_us=us, samples=samples[at : at + step]))


def _purity(owners: Sequence[tuple[str, str]]) -> dict[str, int]:
    """Utterances with a voice that mostly belongs to another person, utterances without a voice, and the number of voices."""
    votes: dict[str, list[str]] = {}
    for owner, name in owners:
        votes.setdefault(name, []).append(owner)
    none = len(votes.pop("", []))
    wrong = sum(len(names) - max(map(names.count, names)) for names in votes.values())
    return {"utterances": len(owners), "wrong": wrong, "unknown": none, "voices": len(votes), "people": len({owner for owner, _ in owners})}


def silence(session: CommandContext) -> float:
    """Processor seconds per second of silence."""
    ear = session.plugins.make("ears", "whisper", {}, session.context, "evaluation")
    list(_give(ear, PAUSE, 0))
    cpu = time.process_time()
    list(_give(ear, np.zeros(300 * SOUND_RATE_HZ, np.float32), 3600 * US))
    return (time.process_time() - cpu) / 300


def beside(clips: Sequence[Clip]) -> dict[str, float]:
    """Processor seconds for ingesting a film of 40 s, with and without its sound."""
    with tempfile.TemporaryDirectory() as scratch:
        film = _film(clips, Path(scratch) / "film.mp4")
        spent = {}
        for name, subtitles in (("with sound", "none"), ("without", str(_empty(Path(scratch))))):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            command = [
                sys.executable,
                "-m",
                "edgemem",
                "ingest",
                str(film),
                "--memory",
                f"{scratch}/{name}",
                "--subtitles",
                subtitles,
            ]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            print(f"    {name}: {done.stdout.splitlines()[0]}")
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            spent[name] = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return spent


def _empty(folder: Path) -> Path:
    """Subtitles of one word, so that no speech recognition runs."""
    path = folder / "none.srt"
    path.write_text("1\n00:00:00,000 --> 00:00:01,000\nbegin\n")
    return path


def _film(clips: Sequence[Clip], path: Path) -> Path:
    """40 s of a street (vtest.avi) with the clips as its sound."""
    import av

    from edgemem.cli.film import fetch_media

    media, _ = fetch_media(CommandContext(None, ()).home)
    sound = np.concatenate([part for clip in clips for part in (clip.samples, PAUSE)])[: 40 * SOUND_RATE_HZ]
    with av.open(str(media["vtest"])) as street, av.open(str(path), "w") as out:
        pictures = out.add_stream("libx264", rate=10, options={"preset": "veryfast"})
        pictures.width, pictures.height, pictures.pix_fmt = 768, 576, "yuv420p"
        words = out.add_stream("aac", rate=SOUND_RATE_HZ, layout="mono")
        for number, frame in enumerate(street.decode(video=0)):
            if number == 400:
                break
            out.mux(pictures.encode(av.VideoFrame.from_ndarray(frame.to_ndarray(format="bgr24"), format="bgr24")))
        out.mux(pictures.encode(None))
        for at in range(0, len(sound), 1024):
            block = av.AudioFrame.from_ndarray(np.ascontiguousarray(sound[None, at : at + 1024]), format="fltp", layout="mono")
            block.sample_rate, block.pts = SOUND_RATE_HZ, at
            out.mux(words.encode(block))
        out.mux(words.encode(None))
    return path


def main() -> None:
    """Print the figures; with `--json` also write them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--beside", action="store_true")
    parser.add_argument("--speak", action="store_true")
    parser.add_argument("--models", nargs="+", default=MODELS)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    results: dict[str, Any] = {}
    for model in arguments.models:
        session = CommandContext(None, ("engines.threads=2", f'engines.roles.transcribe="{model}"'))
        for card in (model, "silero-vad", "resemblyzer"):
            ensure(session.cards[card], session.home, session.converters)
        clips = load_clips(session, synthetic=arguments.speak)
        print(model)
        found = hear(session, clips)
        results[model] = found
        rates = ", ".join(f"{group} {rate:.1%}" for group, rate in found["wer"].items())
        print(
            f"    word error rate {found['wer_all']:.1%} of {found['words']} words ({rates}); real-time factor {found['rtf_clock']:.2f}"
            f" by the clock, {found['rtf_cpu']:.2f} in processor seconds; starts within {found['start_error_s']:.2f} s;"
            f" {found['speakers']};"
            f" peak memory {found['rss_mib']} MiB"
        )
    results["silence"] = silence(session)
    print(f"silence: {results['silence']:.4f} processor seconds a second")
    if arguments.beside:
        results["beside"] = beside(clips)
        more = results["beside"]["with sound"] - results["beside"]["without"]
        print(f"beside seeing: {results['beside']}, hearing is {more / results['beside']['with sound']:.0%}")
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
