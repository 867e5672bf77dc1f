"""An answer can be shown again, step by step, until some of its evidence is forgotten."""

from __future__ import annotations

import msgspec
import pytest

from edgemem.config import KeepRule
from edgemem.errors import MemoryDirError, UsageError
from edgemem.records import US
from edgemem.remember.check import check_memory
from edgemem.remember.entries import NewCall, NewEntity, NewRelation, NewSession, NewStep
from edgemem.remember.forget import Wanted, forget
from edgemem.remember.rows.sessions import TOO_LARGE
from edgemem.remember.rules import KeepRules
from edgemem.remember.store import Store
from edgemem.remember.view import View
from tests.remember.test_forget import everything


def model_call(text, **changes):
    request = {"messages": [{"role": "user", "content": text, "image_ids": changes.pop("images", [])}], "temperature": 0.5}
    given = {"step": 1, "task": "planner", "model": "tiny", "reply": "{}", "finish": "stop", "tokens_in": 7, "tokens_out": 2, "ms": 1.5}
    more = {"usd": 0.25, "error": "slow", "logprobs": msgspec.msgpack.encode([[["yes", -0.1]]]), **changes}
    return NewCall(request=msgspec.msgpack.encode(request), **given, **more)


def session(word="keys", evidence=(), asked_us=100 * US, result="{}", calls=("prompt",)):
    steps = (
        NewStep(actor="planner", action_json='{"type":"search"}', result_json=result, ms=1.5),
        NewStep(actor="checks", action_json="{}", result_json="{}", ms=0.5),
    )
    return NewSession(
        question=f"where are my {word}?",
        recipe="default",
        planner="local",
        asked_us=asked_us,
        as_of_us=asked_us,
        status="answered",
        answer=f"the {word} are on the table",
        option=1,
        confidence=0.75,
        tokens_in=10,
        tokens_out=2,
        usd=0.001,
        ms=12.5,
        notes=("a note",),
        steps=steps,
        calls=tuple(model_call(f"{call} {word}") for call in calls),
        evidence=tuple(evidence),
    )


@pytest.fixture
def memory(directory, making):
    """Ten moments, one every ten seconds, each with a document and its answer, in two streams."""
    with Store.open(directory) as store:
        store.ensure_space(making.space)
        with store.transaction() as tx:
            for i in range(10):
                stream = "door" if i > 7 else "cam"
                moment_id = tx.add_moment(making.moment(i * 10 * US, stream=stream))
                t_us = i * 10 * US
                tx.add_document(making.document(f"thing {i}", t_us, t_us, t_us, moment_id=moment_id, stream=stream))
                tx.add_session(session(f"zebra{i}", [f"m{moment_id}"], asked_us=(1000 + i) * US))
    return directory


def left(directory):
    data = everything(directory)
    assert check_memory(directory) == []
    with View.open(directory) as view:
        kept = [head.question[13:-1] for head in view.sessions()]
    assert [i for i in range(10) if f"zebra{i}".encode() in data] == sorted(int(word[5:]) for word in kept)
    return sorted(int(word[5:]) for word in kept)


def test_a_session_comes_back_as_it_was(store, making):
    with store.transaction() as tx:
        moment_id = tx.add_moment(making.moment(US))
        document_id = tx.add_document(making.document("x"))
        new = session(evidence=[f"m{moment_id}"], result=f'{{"evidence":[{{"id":"d{document_id}"}}]}}')
        session_id = tx.add_session(new)
        other = tx.add_session(session("hat", asked_us=200 * US))
    with store.view() as view:
        log = view.session(session_id)
        assert {name: getattr(log, name) for name in new.__struct_fields__ if name != "evidence"} == {
            name: getattr(new, name) for name in new.__struct_fields__ if name != "evidence"
        }
        assert log.evidence == (f"d{document_id}", f"m{moment_id}")
        assert [head.id for head in view.sessions()] == [other, session_id]
        assert [head.id for head in view.sessions(limit=1)] == [other]
        assert view.session(99) is None
    with store.view(150 * US) as earlier:
        assert [head.id for head in earlier.sessions()] == [session_id]
        assert earlier.session(other) is None


def test_forgetting_a_time_takes_the_answers_that_rest_on_it(memory):
    forget(memory, Wanted(from_us=20 * US, to_us=45 * US))
    assert left(memory) == [0, 1, 5, 6, 7, 8, 9]


def test_forgetting_a_time_takes_the_answers_about_pictures_that_faded_before(memory):
    with Store.open(memory) as store, store.transaction() as tx:
        for moment_id in (3, 4):
            tx.drop_moment(moment_id)
        for document_id in (3, 4):
            tx.drop_document(document_id)
    assert left(memory) == list(range(10))
    forget(memory, Wanted(from_us=20 * US, to_us=25 * US))
    assert left(memory) == [0, 1, *range(3, 10)]


def test_forgetting_a_time_takes_what_was_asked_then(memory):
    forget(memory, Wanted(from_us=1001 * US, to_us=1003 * US))
    assert left(memory) == [0, 4, 5, 6, 7, 8, 9]


def test_forgetting_a_stream_a_document_a_word_or_the_answer_itself(memory):
    forget(memory, Wanted(stream="door"))
    assert left(memory) == list(range(8))
    forget(memory, Wanted(evidence=("m1",)))
    assert left(memory) == list(range(1, 8))
    forget(memory, Wanted(entity="ZEBRA4"))
    assert left(memory) == [1, 2, 3, 5, 6, 7]
    forget(memory, Wanted(evidence=("q2",)))
    assert left(memory) == [2, 3, 5, 6, 7]
    with pytest.raises(UsageError):
        forget(memory, Wanted(evidence=("q2",)))


def test_forgetting_a_relation_takes_the_answers_in_which_it_came_up(memory):
    with Store.open(memory) as store, store.transaction() as tx:
        a, b = (tx.add_entity(NewEntity(kind="person", name=name, known_us=0)) for name in "ab")
        edge = {"type": "TALKS_TO", "source_id": a, "target_id": b, "stream": "cam", "t0_us": 500 * US, "t1_us": 500 * US}
        key = tx.add_relation(NewRelation(known_us=0, **edge))
        tx.add_session(session("zebra0", result=f'[{{"id":"r{key}"}}]'))
    forget(memory, Wanted(evidence=(f"r{key}",)))
    with View.open(memory) as view:
        assert len(view.sessions()) == 10
    forget(memory, Wanted(evidence=("m1",)))
    assert left(memory) == list(range(1, 10))


def test_forgetting_what_a_model_was_shown_takes_the_answer(memory):
    with Store.open(memory) as store, store.transaction() as tx:
        shown = model_call("look", images=["m6"])
        quoted = model_call('{"id":"d7"}')
        tx.add_session(msgspec.structs.replace(session("zebra0"), calls=(shown,)))
        tx.add_session(msgspec.structs.replace(session("zebra1"), calls=(quoted,)))
    with View.open(memory) as view:
        assert view.session(11).evidence == ("m6",)
    forget(memory, Wanted(evidence=("m6",)))
    with View.open(memory) as view:
        assert [head.id for head in view.sessions()] == [12, 10, 9, 8, 7, 5, 4, 3, 2, 1]
    forget(memory, Wanted(from_us=60 * US, to_us=61 * US))
    assert left(memory) == [0, 1, 2, 3, 4, 7, 8, 9]


@pytest.mark.parametrize("field", ["request", "logprobs", "reply", "error"])
def test_forgetting_a_word_takes_the_answers_whose_calls_hold_it(memory, field):
    pack = msgspec.msgpack.encode
    held = {"request": pack({"schema": {"deep": [1, ["the Okapi left"]]}}), "logprobs": pack([["okapi", -1]])}
    other = b"okapis" if field in held else ""
    calls = [msgspec.structs.replace(model_call("x"), **{field: value}) for value in (held.get(field, "an okapi."), other)]
    with Store.open(memory) as store, store.transaction() as tx:
        for call in calls:
            tx.add_session(msgspec.structs.replace(session("zebra0"), calls=(call,)))
    forget(memory, Wanted(entity="okapi"))
    with View.open(memory) as view:
        assert [head.id for head in view.sessions()] == [12, *range(10, 0, -1)]
    data = everything(memory)
    assert b"Okapi left" not in data
    assert b"an okapi." not in data


def test_an_answer_about_what_was_forgotten_meanwhile_is_not_kept(memory):
    forget(memory, Wanted(evidence=("m4",)))
    with Store.open(memory) as store, pytest.raises(MemoryDirError, match="forgotten"), store.transaction() as tx:
        tx.add_session(session(evidence=["m4"]))
    assert left(memory) == [0, 1, 2, *range(4, 10)]


def test_a_rule_takes_answers_with_what_is_too_old(memory):
    with Store.open(memory) as store:
        KeepRules([KeepRule(stream="cam", keep_days=50 / 86400)]).catch_up(store, 90 * US)
        with store.view() as view:
            kept = sorted(int(head.question[18:-1]) for head in view.sessions())
    assert kept == [4, 5, 6, 7, 8, 9]


def test_old_answers_go_before_any_picture_and_the_latest_stay(directory, making):
    picture = bytes(range(256)) * 100
    with Store.open(directory, budget_bytes=8 << 20) as store:
        store.ensure_space(making.space)
        for i in range(12):
            with store.transaction() as tx:
                tx.add_moment(making.moment(i * US, jpeg=i.to_bytes(2, "big") + picture))
        number = 0
        while True:
            with store.transaction() as tx:
                tx.add_session(session(f"hat {number}", calls=(f"{number}" * 50_000,)))
            number += 1
            with store.view() as view:
                assert view.stats().moments == 12
                kept = [head.question for head in view.sessions()]
            assert kept == [f"where are my hat {n}?" for n in range(number - 1, number - 1 - len(kept), -1)]
            if len(kept) < number - 3:
                break
        assert number > 20
        for i in range(12, 500):
            with store.transaction() as tx:
                tx.add_moment(making.moment(i * US, jpeg=i.to_bytes(2, "big") + picture))
        with store.view() as view:
            assert 1 <= len(view.sessions()) <= 8
            assert view.stats().moments < 500
    assert check_memory(directory) == []


def test_an_answer_that_is_too_large_is_kept_without_its_prompts(directory):
    with Store.open(directory, budget_bytes=8 << 20) as store:
        with store.transaction() as tx:
            first = tx.add_session(session(calls=("x" * 3_000_000,)))
            second = tx.add_session(session(result='"' + "x" * 3_000_000 + '"'))
        with store.view() as view:
            assert view.session(first).calls == ()
            assert len(view.session(first).steps) == 2
            assert view.session(second).steps == ()
            assert view.session(second).notes == ("a note", TOO_LARGE)
