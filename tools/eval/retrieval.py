"""Contribution of each part of the label bridge: `retrieval.py STREAM_DIR...` prints recall, first answers and abstention per variant.

A stream directory holds a film and its `truth.json`, of `compose.py` or of a life log. One picture every four seconds is analysed once;
the probabilities of all its crops and its objects are stored in `retrieval.npz` beside the stream, so that another run takes seconds. The
queries are all phrases that are true of a thing in the stream; phrases that are true of nothing in it count as never shown.

Tried and not used, 2026-11-26: a second classifier (EfficientNet-Lite2 in float) that sees six crops of a kept picture, a label being as
sure as the geometric mean of both. Area .811 -> .844 on three composed streams and .836 -> .871 on five life logs; but with the
prototypes of crops (`infer.prototype`) only .789 -> .818 and .864 -> .874, and of answers to questions fewer were right (means of 16 sets
75.1 -> 73.8, of three composed streams 68.1 -> 63.7). It would cost 130 ms of a core for every picture.

Nor, 2026-11-29: U2-Net-p (Qin et al. 2020, 4.6 MB), which cuts out what stands out; its one or two cut-outs before grey are further
crops. Three life logs: recall 81.4 -> 83.2, first 64.9 -> 66.7, area .836 -> .846; where .3 of a label's score is from the cut-out, 83.9,
68.5 and .851. Three composed streams: 76.8 -> 76.9, 57.2 -> 56.7, .813 -> .814; with .3 77.1, 57.2 and .819. What no label names is
hardly nearer to its prototype: the nearest crop is right for 26 of 100 phrases, before for 23. A picture costs 460 ms of a core, at
160 px 112 ms with half of the gain; all crops and the detector cost 260. With .3 of a label's score, four sets of questions about two other
life logs have the truth among the first five for 75.8 -> 78.6 % and score 58.0 -> 57.5, as no confidence was fitted anew.

Nor other ways to pool the classifier's last map of 9 x 9 cells than its mean, which cost nothing: windows of 3 to 7 cells, cells weighted
by their activation, log-sum-exp, a generalised mean (exponent 2, the best: life logs 1 and 3 recall 84.0 -> 84.5, first 68.4 -> 67.9, area
.844 -> .850; composed streams 100 and 101 76.5 -> 77.3, 56.1 -> 54.3, .809 -> .803).

Nor drawings of things that no label names (the 849 objects of Fluent Emoji, 16 MB in a free package). Added to the direction that is
predicted for a label which is left out, they bring the median rank of its own direction from 7 to 2 (115 labels). But 7 % of the phrases
have a drawing and no label. With the best of 13 weights 55 of 100 of these find the truth among the first five (before 46); of all phrases
of nine life logs 81.9 -> 82.8 %, first 63.8 -> 63.8; of three composed streams 76.8 -> 76.9, 57.2 -> 57.0.

Columns: evidence within 10 s among the first five, the first within 10 s, area under the curve shown/never shown, and F1 of abstention if
one question in ten is about something never shown, with the best threshold of the OTHER streams.
"""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import shown

from edgemem.answer.retrievers.match import confidence, features, score_moments, spread
from edgemem.cli.app import CommandContext
from edgemem.infer.bridge import MAX_LABELS, MIN_LABEL, MIN_OBJECT, SECOND_CROP, crop_boxes, cut, proposals
from edgemem.infer.labels import describe
from edgemem.infer.phrase import LabelQuery
from edgemem.records import US
from edgemem.remember.results import Posting

Array = npt.NDArray[Any]
EVERY_S, WITHIN_S, CROPS, NEVER_SHARE = 4.0, 10.0, 11, 0.1
Score = tuple[list[int], float]  # rows of moments, best first, and how sure that the thing is there


class Stream:
    """The observations of one stream, and what it shows."""

    def __init__(self, folder: Path, session: CommandContext) -> None:
        self.shown = shown.read(folder / "truth.json")
        cache = folder / "retrieval.npz"
        if not cache.exists():
            times, crops, objects = look(next(folder.glob("*.mp4")), session)
            np.savez_compressed(cache, times=times, crops=crops, objects=objects)
        kept = np.load(cache, allow_pickle=False)
        self.times: Array = kept["times"]
        self.crops: Array = kept["crops"].astype(np.float32)  # [moments, crops, 1000]
        self.objects: Array = kept["objects"].astype(np.float32)  # [moments, 80]


def look(video: Path, session: CommandContext) -> tuple[Array, Array, Array]:
    """Times in seconds, crop probabilities and object scores of one picture every `EVERY_S`."""
    import av

    classifier, detector = session.engines.role("classify"), session.engines.role("detect")
    times: list[float] = []
    crops, objects = [], []
    with av.open(str(video)) as container:
        stream = container.streams.video[0]
        stream.codec_context.skip_frame = "NONKEY"
        for frame in container.decode(stream):
            if frame.time is None or (times and frame.time - times[-1] < EVERY_S - 0.01):
                continue
            image = frame.to_ndarray(format="bgr24")
            found = detector.detect(image)
            boxes = (*crop_boxes(image.shape[1], image.shape[0]), *proposals([o.box for o in found if o.box]))
            seen = np.zeros((CROPS, len(classifier.labels)), np.float16)
            seen[: len(boxes)] = classifier.classify([cut(image, box) for box in boxes])
            scores = np.zeros(len(detector.labels), np.float16)
            for one in found:
                index = detector.labels.index(one.name)
                scores[index] = max(scores[index], one.score)
            times.append(frame.time)
            crops.append(seen)
            objects.append(scores)
    return np.array(times), np.array(crops), np.array(objects)


class Variant:
    """A method to find moments from crops and a phrase."""

    def __init__(self, name: str, rank: "Callable[[Array, Array, LabelQuery, Array], Score]", crops: slice | None = None) -> None:
        self.name, self.rank, self.crops = name, rank, crops or slice(None)

    def labels(self, stream: Stream) -> Array:
        order = np.sort(stream.crops[:, self.crops], axis=1)
        second = order[:, -2] if order.shape[1] > 1 else order[:, -1]
        scores = (1 - SECOND_CROP) * order[:, -1] + SECOND_CROP * second
        least = np.sort(scores, axis=1)[:, -MAX_LABELS][:, None]
        return np.asarray(np.where((scores >= least) & (scores >= MIN_LABEL), scores, 0))


def measure(variant: Variant, streams: list[Stream], bridge: Any) -> tuple[float, float, float, float]:
    """The four columns in percent (area under the curve as a fraction)."""
    recall, first, sure = [], [], []
    asked = {phrase for stream in streams for phrase in (*stream.shown.asked(), *stream.shown.never())}
    queries = {phrase: bridge.match_labels(phrase) for phrase in asked}
    vectors = dict(zip(asked, bridge.embed_text(list(asked)), strict=True))
    for number, stream in enumerate(streams):
        labels, true = variant.labels(stream), stream.shown.asked()
        for phrase in sorted({*true, *stream.shown.never()}):
            spans = stream.shown.spans(phrase) if phrase in true else ()
            order, certain = variant.rank(labels, stream.objects, queries[phrase], vectors[phrase])
            sure.append((number, bool(spans), certain))
            if spans:
                near = [any(a - WITHIN_S <= stream.times[m] <= b + WITHIN_S for a, b in spans) for m in order[:5]]
                recall.append(any(near))
                first.append(bool(near and near[0]))
    return 100 * float(np.mean(recall)), 100 * float(np.mean(first)), *abstention(sure)


def abstention(sure: list[tuple[int, bool, float]]) -> tuple[float, float]:
    """Area under the curve, and F1 with the threshold of the other streams, averaged over streams."""
    number, shown, certain = (np.array(column) for column in zip(*sure, strict=True))
    area = float((certain[shown][:, None] > certain[~shown]).mean())
    grid = np.quantile(certain, np.linspace(0, 1, 101))
    scores = []
    for one in np.unique(number):
        here = number == one
        other = ~here if (~here).any() else here
        best = max(grid, key=lambda t: f1(shown[other], certain[other], t))
        scores.append(f1(shown[here], certain[here], best))
    return area, 100 * float(np.mean(scores))


def f1(shown: Array, certain: Array, threshold: float) -> float:
    """F1 of abstaining below the threshold; never-shown things have the weight `NEVER_SHARE`."""
    hit = NEVER_SHARE * float((certain[~shown] < threshold).mean())
    false = (1 - NEVER_SHARE) * float((certain[shown] < threshold).mean())
    return 2 * hit / max(hit + false + NEVER_SHARE, 1e-9)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("streams", type=Path, nargs="+")
    args = parser.parse_args()
    session = CommandContext(None, ("engines.threads=2",))
    streams = [Stream(folder, session) for folder in args.streams]
    bridge = session.engines.role("embed_joint")
    names = [label.name for label in describe(session.engines.role("classify").labels, "imagenet")]
    objects = list(session.engines.role("detect").labels)
    sentences, _ = bridge._matcher.vectors()  # noqa: SLF001  # the ablation looks inside on purpose

    def cosine(labels: Array, _objects: Array, _query: LabelQuery, vector: Array) -> Score:
        top = np.where(labels >= np.sort(labels, axis=1)[:, -8][:, None], labels, 0) @ sentences[: len(names)]
        near = top @ vector / np.maximum(np.linalg.norm(top, axis=1), 1e-6)
        return [int(m) for m in np.argsort(-near, kind="stable")], float(near.max())

    def weighted(best_only: bool) -> Callable[[Array, Array, LabelQuery, Array], Score]:
        def rank(labels: Array, _objects: Array, query: LabelQuery, _vector: Array) -> Score:
            weights = np.array([query.labels.get(name, 0.0) for name in names], np.float32)
            scores = (labels * weights).max(axis=1) if best_only else labels @ weights
            return [int(m) for m in np.argsort(-scores, kind="stable")], float(scores.max())

        return rank

    def matched(with_objects: bool, apart: bool = True) -> Callable[[Array, Array, LabelQuery, Array], Score]:
        def rank(labels: Array, seen: Array, query: LabelQuery, _vector: Array) -> Score:
            postings = _postings(labels, names, query.labels, "label", 0.0)
            if with_objects:
                postings += _postings(seen, objects, query.objects, "object", MIN_OBJECT)
            ranked = score_moments(query, postings, len(labels))
            return [r.moment_id for r in (spread(ranked, 5) if apart else ranked)], confidence(features(query, postings, ranked))

        return rank

    variants = (
        Variant("cosine of label vectors (ConSE)", cosine),
        Variant("best label, raw", weighted(True)), Variant("all labels, raw", weighted(False)),
        Variant("match: over the memory's mean", matched(False, apart=False)), Variant("match with objects", matched(True, apart=False)),
        Variant("match, spread (shipped)", matched(True)),
        Variant("  whole picture only", matched(True), slice(0, 1)), Variant("  + middle square", matched(True), slice(0, 2)),
        Variant("  + squares at the ends", matched(True), slice(0, 4)), Variant("  + three tiles", matched(True), slice(0, 7)),
    )  # fmt: skip
    print(f"{'':34s} R@10s  top-1   area  abst.F1")
    for variant in variants:
        recall, first, area, score = measure(variant, streams, bridge)
        print(f"{variant.name:34s} {recall:5.1f}  {first:5.1f}  {area:5.3f}  {score:5.1f}", flush=True)


def _postings(scores: Array, names: list[str], wanted: dict[str, float], kind: str, least: float) -> list[Posting]:
    columns = [(names.index(name), name) for name in wanted]
    return [
        Posting(moment_id=int(m), t_us=int(m * EVERY_S * US), kind=kind, name=name, score=float(scores[m, i]), colour="", area=0.0)
        for i, name in columns
        for m in np.flatnonzero(scores[:, i] > least)
    ]


if __name__ == "__main__":
    main()
