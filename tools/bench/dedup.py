"""How much of a stream adaptive selection keeps, and the jitter of a vector space on still scenes.

    .venv/bin/python tools/bench/dedup.py [CLIP...]

With the fetched joint embedder, on frames of real clips: 400 identical frames, a still scene with sensor noise, 16 scenes of 25 frames with
sensor noise; then the distances between vectors of a still scene, from which a space's `dedup_floor` is set. The peer of edgemem's selector
is the paper's rule without a floor or a test for two modes, flushed after every batch of 4 as in its released code.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Sequence

import cv2
import numpy as np
from _clips import clips
from edgemem_vam.dedup import AdaptiveDedup
from edgemem_vam.otsu import distance, otsu

from edgemem.cli.app import CommandContext
from edgemem.extend.sources import open_source
from edgemem.infer.roles import JointEmbedder
from edgemem.records import US, Frame, Image, Vector
from edgemem.see import pixels
from edgemem.see.select import Candidate, Decision, Keep


def noisy(image: Image, rng: np.random.Generator, sigma: float = 6.0) -> Image:
    """With sensor noise, through JPEG of a random quality."""
    picture = np.clip(image + rng.normal(0, sigma, image.shape), 0, 255).astype(np.uint8)
    return pixels.decode(pixels.encode_jpeg(picture, int(rng.integers(50, 95))))


def scene_pictures(clips: Sequence[str], count: int) -> list[Image]:
    """`count` pictures spread over the clips, at most 640 px wide."""
    each = -(-count // len(clips))
    found: list[Image] = []
    for clip in clips:
        pictures = [pixels.shrink(frame.image, 640, smooth=True) for frame in open_source(clip, rate_fps=1).frames()]
        found += [pictures[i] for i in np.linspace(0, len(pictures) - 1, min(each, len(pictures))).astype(int)]
    order = [i for start in range(each) for i in range(start, len(found), each)]  # neighbours come from different clips
    return [found[i] for i in order[:count]]


def kept(pictures: Sequence[Image], vectors: Sequence[Vector], calibration: dict[str, float]) -> list[int]:
    """What edgemem's selector keeps of a stream at 0.5 fps."""
    selector = AdaptiveDedup(None, calibration)
    found: list[Decision] = []
    for seq, (picture, vector) in enumerate(zip(pictures, vectors, strict=True)):
        frame = Frame(stream="bench", seq=seq, t_us=seq * 2 * US, offset_us=seq * 2 * US, image=picture)
        candidate = Candidate(frame=frame, vector=vector, sharpness=0.0, small=pixels.shrink(picture, 320))
        found += selector.observe(candidate)
    return [decision.candidate.frame.seq for decision in [*found, *selector.flush()] if isinstance(decision, Keep)]


def kept_as_published(vectors: Sequence[Vector]) -> list[int]:
    """Bare Otsu over the history, fallback 0.12 under 8 distances, pending frame flushed at every batch of 4."""
    reference: Vector | None = None
    pending: int | None = None
    history: list[float] = []
    found: list[int] = []
    for seq, vector in enumerate(vectors):
        apart = distance(vector, reference) if reference is not None else 2.0
        if reference is not None:
            history.append(apart)
        threshold = otsu(history[-256:])[0] if len(history) >= 8 else 0.12
        if apart > threshold:
            found += [pending] if pending is not None else []
            found.append(seq)
            reference, pending = vector, None
        else:
            pending = seq
        if seq % 4 == 3 and pending is not None:
            found.append(pending)
            pending = None
    return found


def ends_kept(found: Sequence[int], scenes: int, length: int) -> int:
    """Of the 2 x `scenes` ends of scenes, how many are kept."""
    return len({end for scene in range(scenes) for end in (scene * length, scene * length + length - 1)} & set(found))


def jitter(pictures: Sequence[Image], joint: JointEmbedder, rng: np.random.Generator) -> None:
    """Print the distances between noisy copies of each still picture."""
    print("jitter of still scenes (1 - cosine to the first of 16 noisy copies): median, 90 %, 99 %, largest")
    apart: list[float] = []
    for picture in pictures:
        vectors = joint.glance([noisy(picture, rng) for _ in range(16)])
        apart += [distance(vector, vectors[0]) for vector in vectors[1:]]
    print("  " + "  ".join(f"{value:.3f}" for value in np.percentile(apart, [50, 90, 99, 100])) + f"   ({len(pictures)} pictures)")
    vectors = joint.glance(list(pictures))
    between = [distance(a, b) for a, b in itertools.pairwise(vectors)]
    print("between different scenes: smallest, 5 %, median")
    print("  " + "  ".join(f"{value:.3f}" for value in np.percentile(between, [0, 5, 50])))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("clips", nargs="*", help="default: the clips of the demo")
    options = parser.parse_args()
    joint, calibration = fetched()
    rng = np.random.default_rng(0)
    pictures = scene_pictures(clips(options.clips), 16)
    streams = {
        "400 identical frames (goal: at most 2)": [pictures[0]] * 400,
        "400 frames of a still scene with noise (goal: under 5 %)": [noisy(pictures[0], rng) for _ in range(400)],
        "400 frames of another one": [noisy(pictures[1], rng) for _ in range(400)],
        "16 scenes of 25 noisy frames (goal: all 32 ends)": [noisy(picture, rng) for picture in pictures for _ in range(25)],
    }
    for name, stream in streams.items():
        vectors = (
            list(joint.glance(stream[:1])) * len(stream) if stream[0] is stream[-1] else [joint.glance([image])[0] for image in stream]
        )
        ours, published = kept(stream, vectors, calibration), kept_as_published(vectors)
        ends = f", ends {ends_kept(ours, 16, 25)} and {ends_kept(published, 16, 25)} of 32" if "scenes" in name else ""
        print(f"{name}: kept {len(ours)}, as published {len(published)}{ends}")
    jitter(pictures, joint, rng)


def fetched() -> tuple[JointEmbedder, dict[str, float]]:
    """The joint embedder on this machine and its space's thresholds."""
    cv2.setNumThreads(1)
    engines = CommandContext(None, ("engines.threads=2",)).engines
    space = engines.card("embed_joint").space
    return engines.role("embed_joint"), dict(space.calibration) if space else {}


if __name__ == "__main__":
    main()
