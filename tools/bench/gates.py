"""Whether gates decide on a 320 px copy as at full size, and their cost.

    .venv/bin/python tools/bench/gates.py [CLIP...] [--width PX]

Sharp and softened copies are made from frames of real clips, at their own size or resized to `--width`. Every gate decides twice: as in
edgemem (320 px copy, tiles for sharpness) and at full size. It prints the share of equal decisions and the ratio of the times, measured in
turns.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterator

import cv2
import numpy as np
from _clips import clips

from edgemem.extend.sources import open_source
from edgemem.records import Image
from edgemem.see import pixels
from edgemem.see.gate import BlurSettings, DifferenceSettings, Look, SsimSettings

BLUR, DIFFERENCE, SSIM = BlurSettings().threshold, DifferenceSettings().threshold, SsimSettings().threshold
SOFTEN = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 8.0)
"""Gaussian sigmas at full size: frames on both sides of the blur threshold."""


def frames(clips: list[str], width: int) -> Iterator[list[Image]]:
    """Per clip: up to 40 frames, at `width` or (0) at their own size."""
    for clip in clips:
        found = []
        for frame in open_source(clip, rate_fps=2).frames():
            height = round(frame.image.shape[0] * width / frame.image.shape[1])
            found.append(cv2.resize(frame.image, (width, height), interpolation=cv2.INTER_CUBIC) if width else frame.image)
            if len(found) == 40:
                break
        yield found


def full_thumbnail(image: Image) -> Image:
    """64 x 64 luma, made directly from the full picture."""
    return pixels.thumbnail(pixels.to_gray(image), 64)


def agreement(clips: list[list[Image]], width: int) -> None:
    """Print how often both sizes give the same decision."""
    tiles, shrunk, difference, ssim = [], [], [], []
    for clip in clips:
        for image in clip[::4]:
            for sigma in SOFTEN:
                soft = cv2.GaussianBlur(image, (0, 0), sigma) if sigma else image
                truth = pixels.laplacian_variance(pixels.to_gray(soft)) < BLUR
                tiles.append((Look(soft).sharpness < BLUR) == truth)
                shrunk.append((pixels.laplacian_variance(Look(soft).gray), truth))
        for lag in (1, 4, 16):
            for a, b in zip(clip, clip[lag:], strict=False):
                one, two = Look(a), Look(b)
                whole = pixels.mean_difference(pixels.to_gray(a), pixels.to_gray(b))
                difference.append((whole < DIFFERENCE) == (pixels.mean_difference(one.gray, two.gray) < DIFFERENCE))
                whole = pixels.ssim(full_thumbnail(a), full_thumbnail(b))
                ssim.append((whole > SSIM) == (pixels.ssim(one.thumbnail, two.thumbnail) > SSIM))
    best = max((float(np.mean([(value < t) == truth for value, truth in shrunk])), t) for t in np.geomspace(5, 5000, 60))
    print(f"decisions equal to those at full size ({width or 'own'} px wide):")
    print(f"  blur, on full-resolution tiles        {np.mean(tiles):7.2%} of {len(tiles)}")
    print(f"  blur, on the 320 px copy              {best[0]:7.2%} at its best threshold {best[1]:.0f} (chosen afterwards)")
    print(f"  difference                            {np.mean(difference):7.2%} of {len(difference)}")
    print(f"  ssim at 64 x 64                       {np.mean(ssim):7.2%} of {len(ssim)}")


def edgemem_gates(image: Image, last: Look) -> None:
    """Every gate of the recipe vam; none ends the sequence."""
    look = Look(image)
    _ = look.sharpness
    pixels.mean_difference(last.gray, look.gray)
    pixels.histogram_correlation(last.histogram, look.histogram)
    pixels.ssim(last.thumbnail, look.thumbnail)


def full_gates(image: Image, last: Look) -> None:
    """The same at full size with usual code: float64 Laplacian, numpy difference; SSIM at 64 x 64 as in the paper."""
    gray = cv2.cvtColor(image, cv2.COLOR_BGR2GRAY)
    cv2.Laplacian(gray, cv2.CV_64F).var()
    np.abs(gray.astype(np.int16) - last.image[..., 0].astype(np.int16)).mean()
    pixels.histogram_correlation(last.histogram, pixels.histogram(image))
    pixels.ssim(last.thumbnail, pixels.thumbnail(gray, 64))


def full_gates_ssim(image: Image, last: Look) -> None:
    """The same with SSIM at full size too."""
    full_gates(image, last)
    gray = cv2.cvtColor(image, cv2.COLOR_BGR2GRAY)
    pixels.ssim(gray, gray)


def cost(image: Image, rounds: int = 15) -> None:
    """Print what a frame costs either way, one thread, interleaved, medians."""
    cv2.setNumThreads(1)
    last = Look(image.copy())
    for name in ("gray", "histogram", "thumbnail"):
        getattr(last, name)
    ways: dict[str, Callable[[Image, Look], None]] = {
        "edgemem": edgemem_gates,
        "full size": full_gates,
        "full size, ssim too": full_gates_ssim,
    }
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            started = time.perf_counter()
            way(image, last)
            times[name].append(time.perf_counter() - started)
    medians = {name: statistics.median(values) * 1e3 for name, values in times.items()}
    print(f"cost of all gates per {image.shape[1]} x {image.shape[0]} frame (median of {rounds}, 1 thread):")
    for name, ms in medians.items():
        print(f"  {name:20} {ms:8.2f} ms   edgemem is 1/{ms / medians['edgemem']:.1f} of it")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("clips", nargs="*", help="default: the clips of the demo")
    parser.add_argument("--width", type=int, default=0)
    options = parser.parse_args()
    pictures = list(frames(clips(options.clips), options.width))
    agreement(pictures, options.width)
    cost(cv2.resize(pictures[0][0], (1920, 1080)))


if __name__ == "__main__":
    main()
