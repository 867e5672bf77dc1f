"""How well USES and INTERACTS_WITH are drawn from speech that was really heard: `speech_edges.py [--wrong] [--typed]`.

240 sentences by many authors (`speech_set/tatoeba.tsv`, tatoeba.org, CC BY 2.0 FR) are spoken by packaged voices (`speak.py`), recognised
by Whisper, and read by the local extractor. The half "first" was looked at while the rules were written. The half "second" was labelled
with it, before any extractor was run, and is printed as totals only. An edge is right when speaker or named person, relation and the last
word of the thing are those labelled. "either" counts the two relations as one. `--typed` leaves recognition out.
"""

import argparse
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import speak
from edgemem_egagent.graph import INTERACTS_WITH, USES, Line
from edgemem_egagent.speech import read_speech

from edgemem.cli.app import CommandContext
from edgemem.config import Settings, home_dir
from edgemem.infer.fetch import ensure
from edgemem.records import SOUND_RATE_HZ, US
from edgemem.words import singulars

SET = Path(__file__).parent / "speech_set" / "tatoeba.tsv"
SPEAKER = "Anna"
_TYPES = {"U": (USES,), "I": (INTERACTS_WITH,), "P": (USES, INTERACTS_WITH)}
Drawn = set[tuple[str, str, str]]


class Label(NamedTuple):
    """An edge that a person would draw; `free` ones count neither for nor against."""

    who: str
    types: tuple[str, ...]
    thing: str
    free: bool


class Sentence(NamedTuple):
    """A line of the set."""

    half: str
    voice: str
    text: str
    labels: list[Label]


def sentences() -> Iterator[Sentence]:
    """The whole set."""
    for line in SET.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            half, voice, text, labels = line.split("\t")
            yield Sentence(half, voice, text, [_label(one) for one in labels.split(";") if one != "-"])


def _label(text: str) -> Label:
    who, type_, thing = text.lstrip("?").split()
    return Label(SPEAKER if who == "S" else who, _TYPES[type_], _head(thing), text.startswith("?"))


def _head(name: str) -> str:
    return singulars(name.rsplit(maxsplit=1)[-1].casefold())[-1]


def heard(found: Iterable[Sentence]) -> dict[str, str]:
    """What Whisper makes of each sentence as it is spoken; kept beside the engines, for the next time."""
    kept = home_dir(Settings()) / "evaluation" / f"heard-{hashlib.sha256(SET.read_bytes()).hexdigest()[:12]}.json"
    if kept.is_file():
        return dict(json.loads(kept.read_text(encoding="utf-8")))
    session = CommandContext(None, ("engines.threads=2",))
    ensure(session.cards[session.engines.card("transcribe").name], session.home, session.converters)
    transcriber = session.engines.role("transcribe")
    pause = np.zeros(SOUND_RATE_HZ // 4, np.float32)
    texts = {}
    for one in found:
        samples = np.concatenate([pause, speak.speak(one.text, one.voice), pause])
        texts[one.text] = transcriber.transcribe(samples, language="en").text
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_text(json.dumps(texts, ensure_ascii=False, indent=1), encoding="utf-8")
    return texts


def by_rules(text: str) -> Drawn:
    """The extractor that needs no model."""
    lines = [Line(speaker=SPEAKER, text=text, t0_us=0, t1_us=3 * US)]
    edges = read_speech(lines).edges
    return {(e.source.name, e.type, _head(e.target.name)) for e in edges if e.type in {USES, INTERACTS_WITH}}


def report(found: Iterable[Sentence], texts: dict[str, str], draw: Callable[[str], Drawn], *, wrong: bool) -> None:
    """Precision and recall by half and type."""
    counts: dict[tuple[str, str], list[int]] = {}
    for one in found:
        drawn = draw(texts[one.text])
        for name, pick in (("USES", (USES,)), ("INTERACTS_WITH", (INTERACTS_WITH,)), ("either", (USES, INTERACTS_WITH))):
            right, made, there = _scored(drawn, one.labels, pick)
            count = counts.setdefault((one.half, name), [0, 0, 0])
            count[0] += right
            count[1] += made
            count[2] += there
            if wrong and one.half == "first" and name == "either" and (right < made or right < there):
                print(f"  {texts[one.text]!r}: drawn {sorted(drawn)}, labelled {[label for label in one.labels if not label.free]}")
    for (half, name), (right, made, there) in sorted(counts.items()):
        print(f"{half:<7} {name:<15} precision {right / max(1, made):.2f} recall {right / max(1, there):.2f} labelled {there} drawn {made}")


def _scored(drawn: Drawn, labels: list[Label], types: tuple[str, ...]) -> tuple[int, int, int]:
    """(right, drawn that count, labelled) of edges of these types; of a label that either type meets, the first counts."""
    either = len(types) > 1

    def meets(edge: tuple[str, str, str], label: Label) -> bool:
        return edge[0] == label.who and edge[2] == label.thing and (either or edge[1] in label.types)

    wanted = [label for label in labels if not label.free and (either or label.types[0] in types)]
    mine = {edge for edge in drawn if edge[1] in types}
    right = sum(any(meets(edge, label) for edge in drawn) for label in wanted)
    free = {edge for edge in mine if any(edge[0] == label.who and edge[2] == label.thing and label.free for label in labels)}
    credited = {edge for edge in mine if any(meets(edge, label) for label in labels if not label.free)}
    return right, right + len(mine - free - credited), len(wanted)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wrong", action="store_true", help="list the mistakes in the first half")
    parser.add_argument("--typed", action="store_true", help="read the sentences as they are written")
    args = parser.parse_args()
    found = list(sentences())
    texts = {one.text: one.text for one in found} if args.typed else heard(found)
    report(found, texts, by_rules, wrong=args.wrong)


if __name__ == "__main__":
    main()
