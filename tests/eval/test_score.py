from datetime import datetime, timezone

import pytest
from score import abstention_f1, as_table, contains, judge, number_in, seconds_in, summary, yes_in
from world import Question, Truth

START = datetime(2026, 3, 2, 14, 0, 0, tzinfo=timezone.utc)
TRUTH = Truth(1, "stream.mp4", "2026-03-02T14:00:00Z", 600.0, (320, 180), [], [])


def ask(check, **more):
    return Question("q0", "kind", "text?", "exact", check, "2026-03-02T14:12:00Z", **more)


def reply(answer="", *times, status="answered", confidence=1.0, option=None):
    evidence = [{"t0": f"2026-03-02T14:{a}.000Z", "t1": f"2026-03-02T14:{b}.000Z"} for a, b in times]
    return {"status": status, "answer": answer, "confidence": confidence, "option": option, "evidence": evidence}


@pytest.mark.parametrize(
    ("said", "wanted", "there"),
    [
        ("You saw two Owls.", "owl", True),
        ("You saw a bowl.", "owl", False),
        ("It said BLUEHARBOURCAFE.", "Blue Harbour Cafe", True),
        ("Espresso 3,80", "3.80", True),
        ("Espresso 13.80", "3.80", False),
        ("I saw grass.", "grass", True),
    ],
)
def test_words_in_an_answer(said, wanted, there):
    assert contains(said, wanted) is there


@pytest.mark.parametrize(
    ("answer", "right"),
    [
        ("At 14:03:21.", True),
        ("From 2026-03-02T14:03:00.000Z to 14:03:05.", True),
        ("at 14:03", True),
        ("at 2:03 pm", True),
        ("00:03:20 into the recording", True),
        ("3 minutes and 20 seconds in", True),
        ("at 14:05", False),
        ("in the afternoon", False),
        ("14:01:00, 14:02:00, 14:03:20", False),
    ],
)
def test_a_time_is_right_within_ten_seconds_and_a_list_of_times_is_not(answer, right):
    result = judge(TRUTH, ask("time", spans=((195.0, 210.0),)), reply(answer), 1.0)
    assert result.right is right
    assert seconds_in("midnight", START) == []


def test_numbers_and_yes_and_no():
    assert [number_in(text) for text in ("3 times", "twice, at 14:03", "at 14:03 five times", "never", "hm")] == [3, 2, 5, 0, None]
    assert [yes_in(text) for text in ("Yes, at 14:03.", "No.", "I have not seen it", "perhaps", "Nothing")] == [
        True,
        False,
        False,
        None,
        None,
    ]


def test_evidence_is_near_by_the_gap_between_intervals():
    question = ask("text", accept=("owl",), spans=((100.0, 110.0),))
    result = judge(TRUTH, question, reply("an owl", ("09:00", "09:10"), ("02:15", "02:16")), 1.0)
    assert result.right
    assert result.near == (False, True, True)  # 25 s after the truth ended
    assert result.top1 is False
    assert judge(TRUTH, question, reply("an owl", ("01:00", "01:31")), 1.0).near == (True, True, True)
    assert judge(TRUTH, question, reply("an owl"), 1.0).near == (False, False, False)


def test_only_the_first_five_pieces_of_evidence_count():
    question = ask("text", accept=("owl",), spans=((100.0, 110.0),))
    assert not any(judge(TRUTH, question, reply("owl", *[("09:00", "09:01")] * 5, ("01:45", "01:46")), 1.0).near)


def test_a_place_is_right_by_name_or_by_evidence():
    question = ask("place", accept=("Kitchen",), spans=((100.0, 110.0),))
    assert judge(TRUTH, question, reply("next to a sign: KITCHEN"), 1.0).right
    assert judge(TRUTH, question, reply("there", ("01:45", "01:46")), 1.0).right
    assert not judge(TRUTH, question, reply("there", ("07:45", "07:46")), 1.0).right


def test_options_and_counts():
    assert judge(TRUTH, ask("option", options=("a", "b"), option=1, spans=((1, 2),)), reply("b", option=1), 1.0).right
    assert not judge(TRUTH, ask("option", options=("a", "b"), option=1, spans=((1, 2),)), reply("b", option=None), 1.0).right
    assert judge(TRUTH, ask("count", count=2, spans=((1, 2), (5, 6))), reply("You saw it twice."), 1.0).right


def test_silence():
    silent = reply(status="abstained", confidence=0.1)
    unanswerable, no, known = ask("text", answerable=False), ask("yesno", yes=False), ask("yesno", yes=True, spans=((1, 2),))
    assert judge(TRUTH, unanswerable, silent, 1.0).right
    assert not judge(TRUTH, unanswerable, reply("an owl"), 1.0).right
    assert judge(TRUTH, no, silent, 1.0).right
    assert judge(TRUTH, no, reply("No."), 1.0).right
    assert not judge(TRUTH, known, silent, 1.0).right
    assert not judge(TRUTH, known, {"status": "failed"}, 1.0).right


def test_sums():
    unanswerable, known = ask("text", answerable=False), ask("text", accept=("owl",), spans=((100.0, 110.0),))
    silent, owl, pear = reply(status="abstained"), reply("owl", ("01:45", "01:46"), confidence=0.8), reply("pear", confidence=0.5)
    results = [judge(TRUTH, question, said, 10.0) for question, said in
               [(unanswerable, silent), (unanswerable, owl), (known, silent), (known, owl), (known, pear)]]  # fmt: skip
    assert abstention_f1(results) == 50.0  # one found of two, one false alarm
    table = summary(results)
    assert table["kind"]["right"] == pytest.approx(33.3)
    assert table["kind"]["recall@10s"] == pytest.approx(33.3)
    assert table["kind"]["brier"] == pytest.approx((0.2**2 + 0.5**2) / 2, abs=1e-3)
    assert table["unanswerable"]["abstained"] == 50.0
    assert as_table(table).splitlines()[-1] == "abstention F1 50"
    assert len(as_table(table).splitlines()) == 5
