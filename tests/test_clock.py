"""Times as people and scripts write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgemem.clock import from_iso, offset_text, to_iso
from edgemem.errors import UsageError

YEARS_1_TO_9999 = st.integers(min_value=-62_135_596_800_000, max_value=253_402_300_799_999)


@given(YEARS_1_TO_9999)
def test_iso_round_trips_to_the_millisecond(t_ms: int) -> None:
    assert from_iso(to_iso(t_ms * 1000)) == t_ms * 1000


@given(st.integers())
def test_any_integer_prints(t_us: int) -> None:
    assert to_iso(t_us).endswith("Z")


def test_a_time_without_offset_is_meant_in_the_zone() -> None:
    assert from_iso("2026-07-01T12:00", "Europe/Berlin") == from_iso("2026-07-01T10:00:00Z")
    assert from_iso("2026-07-01T12:00+02:00") == from_iso("2026-07-01T10:00:00Z")


@pytest.mark.parametrize("text", ["", "yesterday", "2026-13-01", "12:00"])
def test_what_is_no_time_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(UsageError, match="2026-05-04T08:00:00Z"):
        from_iso(text)


def test_offsets_read_like_a_player() -> None:
    assert [offset_text(s * 1_000_000) for s in (-3, 0, 42, 725, 3723)] == ["0:00", "0:00", "0:42", "12:05", "1:02:03"]
