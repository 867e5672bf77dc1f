import pytest

from edgemem.infer.boxes import inside, overlap
from edgemem.records import Box

WHOLE, LEFT, PART, AWAY = Box(0.0, 0.0, 1.0, 1.0), Box(0.0, 0.0, 0.5, 1.0), Box(0.4, 0.5, 0.6, 1.0), Box(0.6, 0.0, 0.9, 0.4)


def test_shares_of_boxes() -> None:
    assert (overlap(LEFT, LEFT), inside(LEFT, LEFT)) == (1.0, 1.0)
    assert (overlap(LEFT, WHOLE), overlap(WHOLE, LEFT)) == (0.5, 0.5)
    assert (inside(LEFT, WHOLE), inside(WHOLE, LEFT)) == (1.0, 0.5)
    assert inside(PART, LEFT) == pytest.approx(0.5), ".05 of .1"
    assert overlap(PART, LEFT) == pytest.approx(0.05 / 0.55)
    assert (overlap(AWAY, LEFT), inside(AWAY, LEFT)) == (0.0, 0.0)
    corner = Box(0.5, 1.0, 1.0, 1.0)  # without area
    assert (overlap(corner, WHOLE), inside(corner, WHOLE)) == (0.0, 0.0)
