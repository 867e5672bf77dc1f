"""Speech for a composed stream: a seeded dialogue as subtitles, and questions about people with exact truth.

`script.py --truth DIR/truth.json` writes `stream.srt` beside the stream (edgemem reads subtitles beside a recording automatically) and
`people.json`: questions in the form of `world.Question` whose spans are the seconds in which the evidence was said or shown.
"""

import argparse
import random
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

import msgspec
from segment import Segment
from world import Question, Span, Truth, World

PEOPLE = ("Anna", "Ben", "Clara", "Tomas", "Irene")
TOOLS = ("drill", "printer", "kettle", "wrench", "guitar", "scanner", "hammer", "toaster", "stapler", "ladder")
TOPICS = ("the wifi password", "the broken heating", "a trip to Lisbon", "the new garage", "the missing passport", "lunch on Friday")
SPOKEN_SHARE = 0.45  # share of the segments with something to see in which somebody talks
SAY_S = 2.5


class Spoken(msgspec.Struct, frozen=True):
    """One utterance: seconds from the start, speaker, words, and what it is about."""

    t0: float
    t1: float
    speaker: str
    text: str
    to: str = ""
    tool: str = ""
    topic: str = ""


def dialogue(rng: random.Random, segments: Sequence[Segment]) -> list[Spoken]:
    """Short conversations in some of the segments: a greeting and an answer, a tool in use, a topic."""
    said: list[Spoken] = []
    for segment in segments:
        if segment.what not in ("scene", "photo", "clip", "sign") or segment.t1 - segment.t0 < 8 or rng.random() > SPOKEN_SHARE:
            continue
        other, t = rng.choice(PEOPLE), segment.t0 + rng.uniform(0.3, 1.0)
        for words in _talk(rng, other):
            if t + SAY_S > segment.t1:
                break
            said.append(Spoken(round(t, 2), round(t + SAY_S, 2), *words))
            t += SAY_S + 0.4
    return said


def _talk(rng: random.Random, other: str) -> Iterator[tuple[str, str, str, str, str]]:
    """(speaker, text, to, tool, topic) of one talk between the wearer and somebody."""
    kind = rng.choice(("tool", "topic", "theirs"))
    if kind == "topic":
        topic = rng.choice(TOPICS)
        yield other, f"We have to speak about {topic}.", "me", "", topic
        yield "me", f"You are right, {other}.", other, "", ""
    else:
        tool = rng.choice(TOOLS)
        who, listener = ("me", other) if kind == "tool" else (other, "me")
        yield who, f"I'm using the {tool} now.", listener, tool, ""
        yield listener, f"Fine, {who if who != 'me' else 'go on'}.", who, "", ""


def questions(truth: Truth, world: World, said: Sequence[Spoken]) -> list[Question]:
    """Questions about all people, used tools and topics in the dialogue."""
    made: list[Question] = []
    as_of = world.iso(truth.seconds)

    def ask(text: str, spans: Sequence[Span], *accept: str) -> None:
        made.append(
            Question(id=f"p{len(made)}", kind="people", text=text, difficulty="exact", check="place", as_of=as_of, accept=accept,
                     spans=tuple(spans), answerable=bool(spans))
        )  # fmt: skip

    for tool in TOOLS:
        mine = [(s.t0, s.t1) for s in said if s.tool == tool and s.speaker == "me"]
        theirs = [s for s in said if s.tool == tool and s.speaker != "me"]
        if mine:
            ask(f"When did I last use the {tool}?", mine[-1:], world.clock(mine[-1][0]))
            ask(f"Who was with me when I used the {tool}?", [mine[0]], *{s.to for s in said if s.tool == tool and s.speaker == "me"})
        if theirs:
            ask(f"Who used the {tool}?", [(s.t0, s.t1) for s in said if s.tool == tool], *{s.speaker for s in said if s.tool == tool})
    for topic in TOPICS:
        spoken = [s for s in said if s.topic == topic]
        if spoken:
            ask(f"Who spoke about {topic}?", [(s.t0, s.t1) for s in spoken], *{s.speaker for s in spoken})
            ask(f"What did {spoken[0].speaker} say about {topic}?", [(s.t0, s.t1) for s in spoken if s.speaker == spoken[0].speaker], topic)
    for person in PEOPLE:
        talks = [(s.t0, s.t1) for s in said if "me" in (s.speaker, s.to) and person in (s.speaker, s.to)]
        if talks:
            ask(f"When did I last talk to {person}?", talks[-2:], world.clock(talks[-1][0]))
    return made


def srt(said: Sequence[Spoken]) -> str:
    """SubRip with the speaker before the words."""

    def stamp(seconds: float) -> str:
        whole = round(seconds * 1000)
        return f"{whole // 3_600_000:02}:{whole // 60_000 % 60:02}:{whole // 1000 % 60:02},{whole % 1000:03}"

    return "".join(f"{i}\n{stamp(s.t0)} --> {stamp(s.t1)}\n{_label(s.speaker)}: {s.text}\n\n" for i, s in enumerate(said, 1))


def _label(speaker: str) -> str:
    """Names in subtitles begin with a capital."""
    return speaker[:1].upper() + speaker[1:]


def write_script(folder: Path, seed: int | None = None) -> list[Question]:
    """`stream.srt` and `people.json` beside `truth.json`; the same truth gives the same script."""
    truth = msgspec.json.decode((folder / "truth.json").read_bytes(), type=Truth)
    rng = random.Random(truth.seed + 7 if seed is None else seed)
    said = dialogue(rng, truth.segments)
    asked = questions(truth, World(truth.segments, datetime.fromisoformat(truth.start.replace("Z", "+00:00")), []), said)
    (folder / Path(truth.video).with_suffix(".srt")).write_text(srt(said), encoding="utf-8")
    (folder / "people.json").write_bytes(msgspec.json.format(msgspec.json.encode(asked), indent=1))
    return asked


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--truth", type=Path, required=True)
    args = parser.parse_args()
    print(f"{len(write_script(args.truth.parent))} questions")


if __name__ == "__main__":
    main()
