"""The diarisation error rate, worked out by hand."""

from __future__ import annotations

import pytest
from diarisation import Errors, Span, errors

TALK = [Span(0, 10, "anna"), Span(10, 20, "ben")]


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        ([Span(0, 10, "1"), Span(10, 20, "2")], (0, 0, 0, 20)),
        ([Span(0, 20, "1")], (0, 0, 10, 20)),
        ([Span(0, 10, "2")], (10, 0, 0, 20)),
        ([Span(0, 12, "1"), Span(12, 20, "2")], (0, 0, 2, 20)),
        ([Span(0, 10, "1"), Span(10, 20, "2"), Span(20, 25, "2")], (0, 5, 0, 20)),
        ([Span(0, 10, "1"), Span(10, 15, "2"), Span(15, 20, "3")], (0, 0, 5, 20)),
        ([], (20, 0, 0, 20)),
        ([Span(0, 10, "1"), Span(8, 20, "2")], (0, 2, 0, 20)),
    ],
)
def test_each_kind_of_error_is_counted_in_seconds(found, wanted):
    assert errors(TALK, found, collar_s=0) == pytest.approx(Errors(*wanted), abs=0.02)


def test_overlap_counts_for_each_who_speaks():
    both = [Span(0, 10, "anna"), Span(8, 20, "ben")]
    assert errors(both, [Span(0, 10, "1"), Span(10, 20, "2")], collar_s=0) == pytest.approx(Errors(2, 0, 0, 22), abs=0.02)
    assert errors(both, [Span(0, 10, "1"), Span(8, 20, "2")], collar_s=0).rate == pytest.approx(0, abs=0.002)


def test_a_collar_around_each_boundary_is_left_out():
    """Four boundaries, two of them at 10 s: 0.25 s after 0, 0.5 s around 10, 0.25 s before 20."""
    found = errors(TALK, [Span(0, 10.2, "1"), Span(10.2, 20, "2")])
    assert found == pytest.approx(Errors(0, 0, 0, 19), abs=0.03)
    assert errors(TALK, [Span(0, 10.5, "1"), Span(10.5, 20, "2")]).confused == pytest.approx(0.25, abs=0.02)


def test_the_rate_is_the_share_of_all_speech():
    assert Errors(1, 2, 3, 60).rate == pytest.approx(0.1)
