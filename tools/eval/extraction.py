"""Precision and recall of the local graph extractor, by relation type: `graph.py [--wrong]`.

`graph_set/first.json` was inspected while the rules were written; `graph_set/second.json` was labelled before the rules were run on it and
is printed as totals only, even with `--wrong`. An edge counts as right when source, type and target are those a person labelled; times are
checked by the plugin's own tests. Lines are [t0_s, t1_s, speaker, text]; pictures are [t_s, [[kind, name, score, box or null], ...]].
"""

import argparse
from collections import Counter
from pathlib import Path

import msgspec
from edgemem_egagent.graph import RELATIONS, Line
from edgemem_egagent.pictures import read_pictures
from edgemem_egagent.speech import read_speech

from edgemem.records import US, Box, Moment, Observation

Triple = tuple[str, str, str]
SETS = Path(__file__).parent / "graph_set"


class Scene(msgspec.Struct):
    """A dialogue or a few pictures, and the relations that a person labelled."""

    name: str
    truth: list[Triple]
    lines: list[tuple[float, float, str, str]] = []
    seen: list[tuple[float, list[tuple[str, str, float, list[float] | None]]]] = []
    present: list[str] = []


def edges(scene: Scene) -> set[Triple]:
    """The relations that the extractor finds."""
    lines = [Line(speaker=s, text=text, t0_us=round(t0 * US), t1_us=round(t1 * US)) for t0, t1, s, text in scene.lines]
    moments, observations = [], {}
    for number, (t_s, seen) in enumerate(scene.seen, 1):
        moments.append(
            Moment(
                id=number, stream="s", seq=number, t_us=round(t_s * US), offset_us=round(t_s * US), width_px=640, height_px=480,
                sharpness=50.0, tier="recent",
            )
        )  # fmt: skip
        observations[number] = tuple(
            Observation(kind=kind, name=name, score=score, box=Box(*box) if box else None)  # type: ignore[arg-type]
            for kind, name, score, box in seen
        )
    found = (*read_speech(lines).edges, *read_pictures(moments, observations, scene.present, egocentric=True).edges)
    return {(e.source.name, e.type, e.target.name) for e in found}


def report(path: Path, *, wrong: bool) -> None:
    """One table row per relation type."""
    hits, drawn, labelled = Counter[str](), Counter[str](), Counter[str]()
    for scene in msgspec.json.decode(path.read_bytes(), type=list[Scene]):
        found, truth = edges(scene), set(scene.truth)
        hits.update(type_ for _, type_, _ in found & truth)
        drawn.update(type_ for _, type_, _ in found)
        labelled.update(type_ for _, type_, _ in truth)
        if wrong:
            for sign, some in (("+", found - truth), ("-", truth - found)):
                for triple in sorted(some):
                    print(f"  {sign} {scene.name}: {' '.join(triple)}")
    print(f"{path.stem}: {'relation':<16} {'precision':>9} {'recall':>7} {'labelled':>9}")
    for name in (*RELATIONS, "all"):
        right, made, there = (sum(c.values()) if name == "all" else c[name] for c in (hits, drawn, labelled))
        print(f"{'':<{len(path.stem) + 1}} {name:<16} {right / max(1, made):9.2f} {right / max(1, there):7.2f} {there:9d}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wrong", action="store_true", help="list the mistakes in the first set")
    args = parser.parse_args()
    for path in sorted(SETS.glob("*.json")):
        report(path, wrong=args.wrong and path.stem == "first")


if __name__ == "__main__":
    main()
