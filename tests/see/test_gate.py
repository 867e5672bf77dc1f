"""Which frames the gates drop, and their reasons."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from films import scene

from edgemem.records import US
from edgemem.see import pixels
from edgemem.see.gate import Blur, BlurSettings, Difference, HistogramGate, HistogramSettings, LocalDifference, Look, Ssim

ALL = (Blur, Difference, HistogramGate, LocalDifference, Ssim)


def natural(seed=0, width=1280, height=720):
    """A picture with structure at all scales, as real ones have."""
    rng = np.random.default_rng(seed)
    picture = sum(
        cv2.resize(rng.normal(0, 30, (9 * 2**i, 16 * 2**i, 3)).astype(np.float32), (width, height), interpolation=cv2.INTER_CUBIC)
        for i in range(6)
    )
    return np.clip(128 + picture, 0, 255).astype(np.uint8)


def noisy(image, sigma, seed):
    return np.clip(image + np.random.default_rng(seed).normal(0, sigma, image.shape), 0, 255).astype(np.uint8)


def reason(gate, image, offset_s=0.0):
    return gate.judge(Look(image, round(offset_s * US))).reason


def after(gate, image):
    gate.accepted(Look(image))
    return gate


def test_black_flat_and_blurred_frames_are_between_speakers():
    assert reason(Blur(), np.zeros((720, 1280, 3), np.uint8)) == "black"
    assert reason(Blur(), noisy(np.full((720, 1280, 3), 6, np.uint8), 1, 0)) == "black"
    assert reason(Blur(), np.full((720, 1280, 3), 200, np.uint8)) == "flat"
    assert reason(Blur(), cv2.GaussianBlur(natural(), (0, 0), 12)) == "blur"
    assert reason(Blur(), natural()) == ""


def test_a_sharp_thing_before_a_plain_wall_is_not_blurred():
    """A patch of a ninetieth of the picture; the whole has less than the threshold, its sharpest tile more than four times that."""
    wall = cv2.GaussianBlur(natural(), (0, 0), 12)
    thing = wall.copy()
    thing[300:400, 500:600] = cv2.GaussianBlur(natural(3), (0, 0), 0.8)[300:400, 500:600]
    assert pixels.sharpness(thing) < 20
    assert pixels.sharpest_part(wall) < 20
    limit = pixels.sharpest_part(thing)
    assert limit > 80
    for part, told in ((0.0, "blur"), (limit, ""), (limit + 0.1, "blur")):
        assert reason(Blur(BlurSettings(part_threshold=part)), thing) == told
    assert reason(Blur(BlurSettings(part_threshold=80.0)), wall) == "blur"
    tile = np.tile(np.array([[0, 8], [8, 0]], np.uint8), (4, 4))[..., None].repeat(3, axis=2)
    assert pixels.sharpest_part(tile) == pixels.sharpness(tile) == pixels.laplacian_variance(pixels.to_gray(tile)), "smaller than the tiles"


def test_parts_are_144_tiles_spread_over_the_picture():
    """Of 16 tiles of 20 pixels beside each other the sixth begins at 5 x (1280 - 20) // 15 = 420, of 9 the third at 2 x 87 = 174."""
    checks = np.indices((20, 20)).sum(axis=0)[..., None] % 2 * 200
    for x, y, seen in ((420, 174, True), (448, 174, False), (420, 202, False), (1260, 696, True)):
        image = np.full((720, 1280, 3), 20, np.uint8)
        image[y : y + 20, x : x + 20] = checks
        assert (pixels.sharpest_part(image) > 80) is seen, (x, y)


@pytest.mark.parametrize(("deviation", "told"), [(0.8, "flat"), (1.2, "blur")])
def test_a_picture_of_one_colour_is_flat(deviation: float, told: str):
    """Brightness that rises evenly from left to right by the square root of 12 times its deviation."""
    rise = np.linspace(-0.5, 0.5, 1280) * 12**0.5 * deviation
    image = np.broadcast_to((100 + rise).round().astype(np.uint8)[None, :, None], (720, 1280, 3))
    assert Look(image).brightness[1] == pytest.approx(deviation, abs=0.15)
    assert reason(Blur(), image) == told


def test_what_is_blurred_for_long_is_looked_at_from_time_to_time():
    """Two seconds after the first picture, one that was accepted or a sharp one, and where the clock goes back; what is black never is."""
    soft, black = cv2.GaussianBlur(natural(), (0, 0), 12), np.zeros((720, 1280, 3), np.uint8)
    one = Blur(BlurSettings(refresh_s=2.0))
    for at_s, image, told in (
        (1.0, soft, "blur"), (2.9, soft, "blur"), (3.0, soft, ""), (4.9, soft, "blur"), (5.0, black, "black"), (5.0, natural(), ""),
        (6.9, soft, "blur"), (7.0, soft, ""), (4.0, soft, ""),
    ):  # fmt: skip
        look = Look(image, round(at_s * US))
        assert one.judge(look).reason == told, at_s
        if at_s == 3.0:
            one.accepted(look)
    never = Blur()
    assert {never.judge(Look(soft, at_s * US)).reason for at_s in (0, 3600)} == {"blur"}


@pytest.mark.parametrize("sigma", [0.0, 0.6, 1.2, 2.0, 4.0, 8.0])
def test_sharpness_on_tiles_is_that_of_the_whole_picture(sigma):
    image = cv2.GaussianBlur(natural(3), (0, 0), sigma) if sigma else natural(3)
    whole = pixels.laplacian_variance(pixels.to_gray(image))
    assert pixels.sharpness(image) == pytest.approx(whole, rel=0.25, abs=0.5)


@pytest.mark.parametrize("gate", ALL)
@pytest.mark.parametrize("shape", [(1, 1), (2, 300), (300, 2), (179, 319), (2000, 3000)])
def test_pictures_of_any_shape_are_judged(gate, shape):
    one = gate()
    image = np.random.default_rng(0).integers(0, 255, (*shape, 3), dtype=np.uint8)
    one.judge(Look(image))
    one.accepted(Look(image))
    one.judge(Look(image))


@pytest.mark.parametrize("gate", [Difference, LocalDifference, Ssim])
def test_the_first_frame_passes_and_its_copy_is_called_frozen(gate):
    one = gate()
    assert reason(one, scene(1)) == ""
    assert reason(after(one, scene(1)), scene(1), 1) == "frozen"
    assert reason(one, noisy(scene(1), 2, 1), 1) == "similar"
    assert reason(one, scene(2), 1) == ""


def test_a_picture_of_another_shape_is_never_similar():
    assert reason(after(Difference(), scene(1)), scene(1, 180, 320), 1) == ""


def test_a_small_thing_on_a_still_background_passes_the_local_gate_only():
    background = natural(5)
    thing = background.copy()
    thing[400:470, 800:870] = (20, 20, 230)
    assert reason(after(Difference(), background), thing, 1) == "similar"
    assert reason(after(Ssim(), background), thing, 1) == "similar"
    assert reason(after(LocalDifference(), background), thing, 1) == ""


@pytest.mark.parametrize("sigma", [3, 8])
def test_sensor_noise_does_not_pass_the_local_gate(sigma):
    gate = after(LocalDifference(), noisy(natural(6), sigma, 0))
    assert [reason(gate, noisy(natural(6), sigma, seed), 1) for seed in range(1, 6)] == ["similar"] * 5


def test_a_still_scene_is_refreshed_now_and_then_and_after_a_clock_fault():
    gate = after(LocalDifference(), scene(1))
    assert [reason(gate, scene(1), s) for s in (1, 3.9, 4, 9, -1)] == ["frozen", "frozen", "", "", ""]


def test_a_slow_change_adds_up_until_it_counts():
    gate = Difference()
    passed = []
    for level in range(0, 100, 4):
        look = Look(np.full((90, 160, 3), level, np.uint8))
        if gate.judge(look).keep:
            gate.accepted(look)
            passed.append(level)
    assert passed == [0, 20, 40, 60, 80]


def test_histogram_gate_is_off_at_zero():
    assert reason(after(HistogramGate(), scene(1)), scene(1), 1) == ""
    strict = after(HistogramGate(HistogramSettings(threshold=0.98)), scene(1))
    assert reason(strict, scene(1)[:, ::-1].copy(), 1) == "similar"
    assert reason(strict, scene(2), 1) == ""


def test_ssim_of_equal_pictures_is_one_and_of_different_ones_is_low():
    a, b = (pixels.thumbnail(pixels.to_gray(scene(kind)), 64) for kind in (1, 2))
    assert pixels.ssim(a, a) == pytest.approx(1.0)
    assert pixels.ssim(a, b) < 0.4
