"""Retention rules: what they name is deleted in time, and nothing else."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from edgemem.clock import SteadyClock
from edgemem.config import KeepRule
from edgemem.records import US, Quote
from edgemem.remember.check import check_memory
from edgemem.remember.entries import NewEntity, NewRelation
from edgemem.remember.rules import DAY_US, KeepRules, Retainers
from edgemem.remember.store import Store
from edgemem.remember.tiers import AgeTiers

NOW_US = 1_767_225_600 * US
"""2026-01-01."""


def run(retainer, store, **given):
    steps = 1
    while not retainer.apply(store, **given).done:
        steps += 1
        assert steps < 200
    return steps


@given(
    days=st.lists(st.tuples(st.integers(0, 40), st.sampled_from(["door", "hall"]), st.booleans()), min_size=1, max_size=30),
    keep=st.integers(1, 30),
)
@settings(max_examples=25)
def test_a_stream_keeps_so_many_days_and_another_everything(making, days, keep):
    with making.store() as store:
        with store.transaction() as tx:
            anna = tx.add_entity(NewEntity(kind="person", name="Anna", known_us=0))
            for day, stream, pinned in days:
                moment_id = tx.add_moment(making.moment(day * DAY_US, stream=stream, seen=(making.label("cat", 0.9),)))
                if pinned:
                    tx.pin(moment_id)
                span = {"t0_us": day * DAY_US, "t1_us": day * DAY_US + 5, "known_us": day * DAY_US + 5}
                tx.add_segment(making.segment([moment_id], span["t0_us"], span["t1_us"], moment_id, stream=stream))
                tx.add_document(making.document(f"day {day}", stream=stream, **span))
                quotes = (Quote(text="she came", origin="asr", moment_id=moment_id),)
                tx.add_relation(NewRelation(type="VISITS", source_id=anna, target_id=anna, stream=stream, quotes=quotes, **span))
        newest = max(day for day, _, _ in days)
        run(KeepRules([KeepRule(keep_days=keep, stream="d*")]), store, now_us=newest * DAY_US)
        stays = sorted((day, stream) for day, stream, _ in days if stream == "hall" or day >= newest - keep)
        with store.view() as view:
            for found in (view.segments(), view.documents(), view.relations()):
                assert sorted((item.t0_us // DAY_US, item.stream) for item in found) == stays
            assert sorted((m.t_us // DAY_US, m.stream) for m in view.moments()) == stays
        assert check_memory(store.directory) == []


def clock_at(now_us, *, wrong_by_us=0):
    """A clock that was right when it was made, and is wrong by so much now."""
    times = [now_us, now_us + wrong_by_us]
    return SteadyClock(lambda: times.pop(0) if len(times) > 1 else times[0], lambda: 0, lambda: None)


def days_left(store):
    with store.view() as view:
        return [(moment.t_us - NOW_US) // DAY_US for moment in view.moments()]


def test_days_count_from_the_clock_and_not_from_a_moment_in_the_future(store, making):
    with store.transaction() as tx:
        for day in (-400, -8, -6, -1, 3650):
            tx.add_moment(making.moment(NOW_US + day * DAY_US))
    run(KeepRules([KeepRule(keep_days=7)], clock_at(NOW_US)), store)
    assert days_left(store) == [-6, -1, 3650]


def test_a_memory_that_nothing_is_added_to_loses_what_is_too_old(store, making):
    with store.transaction() as tx:
        for day in (-400, -399):
            tx.add_moment(making.moment(NOW_US + day * DAY_US))
    assert KeepRules([KeepRule(keep_days=7)]).catch_up(store) == 2


def test_nothing_grows_too_old_while_the_clock_is_not_trusted(store, making):
    with store.transaction() as tx:
        for day in (-3650, -1):
            tx.add_moment(making.moment(NOW_US + day * DAY_US))
        tx.trust_time(trusted=False)
    rules = [KeepRule(keep_days=7)]
    assert run(KeepRules(rules, clock_at(NOW_US)), store) == 1
    with store.transaction() as tx:
        tx.trust_time(trusted=True)
    for clock in (clock_at(0), clock_at(NOW_US, wrong_by_us=3650 * DAY_US), clock_at(NOW_US, wrong_by_us=-NOW_US)):
        assert run(KeepRules(rules, clock), store) == 1
    assert days_left(store) == [-3650, -1]
    run(KeepRules(rules, clock_at(NOW_US)), store)
    assert days_left(store) == [-1]


def test_a_step_with_each_new_event_keeps_up(store, making):
    rules = KeepRules([KeepRule(keep_days=2)])
    for i in range(60):
        with store.transaction() as tx:
            t_us = i * DAY_US // 2
            ids = [tx.add_moment(making.moment(t_us + k)) for k in range(3)]
            segment_id = tx.add_segment(making.segment(ids, t_us, t_us + 2, ids[0]))
            tx.add_document(making.document(f"event {i}", t_us, t_us + 2, t_us, segment_id=segment_id))
        rules.apply(store, t_us + 2)
    with store.view() as view:
        assert len(view.moments()) <= 5 * 3
        assert len(view.segments()) == len(view.documents()) == 4


def test_what_piled_up_is_caught_up_with(store, making):
    with store.transaction() as tx:
        for i in range(300):
            tx.add_moment(making.moment(i * DAY_US))
            tx.add_document(making.document(f"event {i}", i * DAY_US, i * DAY_US + 2, i * DAY_US))
    assert KeepRules([KeepRule(keep_days=9)]).catch_up(store, 299 * DAY_US) == 290
    with store.view() as view:
        assert len(view.moments()) == len(view.documents()) == 10


def test_work_that_was_put_off_goes_with_its_days(store, making):
    with store.transaction() as tx:
        tx.add_moment(making.moment(9 * DAY_US))
        for stream, day in (("cam", 1), ("cam", 8), ("door", 1)):
            tx.add_job("w", stream, b"what was seen", day * DAY_US)
    run(KeepRules([KeepRule(stream="cam", keep_days=5)]), store, now_us=9 * DAY_US)
    with store.view() as view:
        assert [(state.stream, state.due_us) for state in view.jobs()] == [("cam", 8 * DAY_US), ("door", DAY_US)]


def test_a_place_goes_after_its_days_with_what_was_written_of_it(store, making):
    with store.transaction() as tx:
        ids = []
        for day in range(6):
            seen = (making.label("bathroom" if day % 2 else "kitchen", 0.8),)
            ids.append(tx.add_moment(making.moment(day * DAY_US, seen=seen)))
            segment_id = tx.add_segment(making.segment([ids[-1]], day * DAY_US, day * DAY_US, ids[-1]))
            tx.add_document(making.document(f"Scene: {seen[0].name}", day * DAY_US, day * DAY_US, 0, segment_id=segment_id))
        unsure = tx.add_moment(making.moment(DAY_US + 1, seen=(making.label("bathroom", 0.1),)))
    run(Retainers([KeepRules([KeepRule(keep_days=2, place="bathroom")])]), store, now_us=5 * DAY_US)
    with store.view() as view:
        assert {m.id for m in view.moments()} == {*ids, unsure} - {ids[1]}
        assert [d.text for d in view.documents(to_us=2 * DAY_US)] == ["Scene: kitchen", "Scene: kitchen"]


def test_steps_are_bounded_under_a_small_budget_and_beside_age_tiers(directory, making):
    with Store.open(directory, budget_bytes=8 << 20) as store:
        store.ensure_space(making.space)
        for i in range(40):
            with store.transaction() as tx:
                tx.add_moment(making.moment(i * DAY_US, jpeg=bytes([i]) * 40_000))
        assert run(Retainers([KeepRules([KeepRule(keep_days=3)]), AgeTiers()]), store, now_us=39 * DAY_US) > 1
        with store.view() as view:
            assert [m.t_us // DAY_US for m in view.moments()] == [36, 37, 38, 39]
