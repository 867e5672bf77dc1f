"""Crops' vectors made short."""

from __future__ import annotations

import numpy as np

from edgemem.infer.projection import project


def test_rows_have_unit_length_and_a_row_of_zeros_stays_one():
    short = project(np.array([[3.0, 4.0, 0.0], [0.0, 0.0, 0.0]], np.float32), 16)
    assert short.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(short, axis=1), [1.0, 0.0], atol=1e-6)


def test_every_number_is_a_sum_of_all_with_one_sign_or_the_other():
    """16 sums of 3 and 4 are +-1 or +-7, over their common length."""
    (short,) = project(np.array([[3.0, 4.0]], np.float32), 16)
    sizes = np.abs(short) / np.abs(short).max()
    assert {round(float(size), 4) for size in sizes} == {1.0, round(1 / 7, 4)}


def test_signs_are_the_same_on_every_machine():
    """`printf "edgemem crops" | openssl dgst -shake256 -xoflen 2` says 7737."""
    (short,) = project(np.array([[2.0]], np.float32), 16)
    assert (short > 0).astype(int).tolist() == [0, 1, 1, 1, 0, 1, 1, 1, 0, 0, 1, 1, 0, 1, 1, 1]


def test_cosines_stay_nearly_the_same():
    rng = np.random.default_rng(5)
    a = rng.normal(size=1280)
    b = a + rng.normal(size=1280)
    long = np.stack([a, b]).astype(np.float32)
    cosine = float(long[0] @ long[1] / np.linalg.norm(long[0]) / np.linalg.norm(long[1]))
    short = project(long, 256)
    assert abs(float(short[0] @ short[1]) - cosine) < 0.1  # about 1 / sqrt(256) = 0.06


def test_a_vector_does_not_depend_on_those_beside_it():
    """Bit for bit: sums are made row by row, not by a library that divides the work among threads."""
    vectors = np.random.default_rng(3).normal(size=(11, 1280)).astype(np.float32)
    together = project(vectors, 256)
    for row, vector in zip(together, vectors, strict=True):
        assert np.array_equal(project(vector[None], 256)[0], row)
