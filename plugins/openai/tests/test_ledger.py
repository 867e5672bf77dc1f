"""Limits apply across processes and crashes, and days begin at midnight UTC."""

from __future__ import annotations

import subprocess
import sys
import threading
from contextlib import suppress
from datetime import datetime, timezone

import pytest
from edgemem_openai.ledger import UsageLedger, UsageLine
from edgemem_openai.testing import ScriptedReply, ScriptedServer

from edgemem.errors import ChatError

WORST = UsageLine(day="", task="planner", model="m", place="here", calls=1, tokens_in=60, tokens_out=40, usd=0.5)


@pytest.fixture
def clock():
    return [datetime(2026, 5, 4, 23, 59, 59, tzinfo=timezone.utc).timestamp()]


@pytest.fixture
def ledger(tmp_path, clock):
    return UsageLedger(tmp_path / "home" / "openai.db", lambda: clock[0])


def test_a_cap_holds_from_the_worst_case_on_and_gives_back_what_was_not_used(ledger):
    first = ledger.reserve(WORST, 250, 0)
    ledger.reserve(WORST, 250, 0)
    with pytest.raises(ChatError, match=r"openai\.tokens_per_day = 250 is reached \(200 tokens today\).*00:00 UTC"):
        ledger.reserve(WORST, 250, 0)
    ledger.settle(first, 10, 5, 0.1)
    ledger.reserve(WORST, 250, 0)
    assert sum(line.tokens_in + line.tokens_out for line in ledger.lines(1)) == 215


def test_money_has_a_cap_of_its_own(ledger):
    ledger.reserve(WORST, 0, 0.9)
    with pytest.raises(ChatError, match="usd_per_day"):
        ledger.reserve(WORST, 0, 0.9)


def test_a_call_belongs_to_the_day_on_which_it_began(ledger, clock):
    claim = ledger.reserve(WORST, 100, 0)
    clock[0] += 2
    ledger.settle(claim, 7, 3, 0.0)
    ledger.reserve(WORST, 100, 0)
    assert [(line.day, line.tokens_in + line.tokens_out) for line in ledger.lines(2)] == [("2026-05-05", 100), ("2026-05-04", 10)]


def test_a_call_that_came_to_nothing_is_not_counted(ledger):
    ledger.settle(ledger.reserve(WORST, 100, 0), 0, 0, 0.0)
    assert ledger.lines(1) == []
    ledger.reserve(WORST, 100, 0)


def test_a_crash_in_the_middle_of_a_call_leaves_its_worst_case_counted(tmp_path, ledger):
    path = tmp_path / "home" / "openai.db"
    script = (
        "import os, sys, pathlib\nfrom edgemem_openai.ledger import UsageLedger, UsageLine\n"
        "ledger = UsageLedger(pathlib.Path(sys.argv[1]), lambda: float(sys.argv[2]))\n"
        "ledger.reserve(UsageLine('', 'planner', 'm', 'here', 1, 60, 40, 0.5), 150, 0)\nos._exit(9)"
    )
    done = subprocess.run([sys.executable, "-c", script, str(path), str(ledger._now())], check=False)
    assert done.returncode == 9
    with pytest.raises(ChatError, match="100 tokens today"):
        ledger.reserve(WORST, 150, 0)


def test_threads_cannot_take_the_last_tokens_twice(ledger):
    taken = []

    def take():
        with suppress(ChatError):
            taken.append(ledger.reserve(WORST, 500, 0))

    threads = [threading.Thread(target=take) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(taken) == 5


def test_what_cannot_be_counted_is_not_asked(tmp_path, make_chat, asking):
    (tmp_path / "openai.db").write_text("this is no database, but long enough to be taken for a damaged one" * 20)
    with ScriptedServer(["hello"]) as server, pytest.raises(ChatError, match="cannot be used"):
        make_chat(server).complete(asking())
    assert server.asked == []


def test_the_day_ends_for_every_chat_of_the_home(make_chat, asking):
    with ScriptedServer([ScriptedReply("yes", usage=(400, 100))] * 3) as server:
        make_chat(server, tokens_per_day=600).complete(asking())
        with pytest.raises(ChatError, match="500 tokens today"):
            make_chat(server, tokens_per_day=600).complete(asking(max_tokens=200))
        make_chat(server, tokens_per_day=0).complete(asking(max_tokens=200))
    assert len(server.asked) == 2


def test_a_reply_that_broke_off_is_counted_as_far_as_it_came(make_chat, asking, tmp_path):
    with ScriptedServer([ScriptedReply("one two three four", cut_after=3)]) as server, pytest.raises(ChatError, match="was lost"):
        make_chat(server).complete(asking())
    (line,) = UsageLedger(tmp_path / "openai.db").lines(1)
    assert (line.calls, line.tokens_out >= 3, line.tokens_in > 0) == (1, True, True)


def test_a_server_that_is_not_waited_for_may_charge_and_one_that_fails_does_not(make_chat, asking, tmp_path):
    with ScriptedServer([ScriptedReply.failing(500)] * 3 + [ScriptedReply("late", wait_s=20)]) as server:
        with pytest.raises(ChatError, match="500"):
            make_chat(server).complete(asking())
        assert UsageLedger(tmp_path / "openai.db").lines(1) == []
        with pytest.raises(ChatError, match="silence_s"):
            make_chat(server).complete(asking("x" * 3000, silence_s=0.2))
    (line,) = UsageLedger(tmp_path / "openai.db").lines(1)
    assert (line.tokens_in >= 1000, line.tokens_out) == (True, 0)
