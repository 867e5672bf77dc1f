"""The agent's socket: for one user, with limits, and no request affects the next one."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from edgemem.errors import MemoryDirError
from edgemem.events import QuestionStep
from edgemem.records import Evidence, Question
from edgemem.serve.client import AgentUnavailable, call
from edgemem.serve.messages import (
    REQUEST_BYTES,
    SOCKET,
    AgentStatus,
    AskRequest,
    Failed,
    Reply,
    Request,
    SearchReply,
    SearchRequest,
    StatusRequest,
    StepDone,
    address,
    directory_handle,
)
from edgemem.serve.socket_server import SLOTS, SocketServer

HIT = Evidence(id="m1", channel="text", stream="door", t0_us=1, t1_us=1, offset_us=0, score=1 / 3, text='a "sign"\nof two lines')


def reply(request: Request, _send: object = None) -> Reply:
    if isinstance(request, SearchRequest):
        return SearchReply(evidence=(HIT,) * request.top_k)
    return AgentStatus(process=os.getpid())


@contextmanager
def serving(directory: Path, answer: Callable[..., Reply] = reply, **options) -> Iterator[SocketServer]:
    server = SocketServer(directory, answer, **options)
    server.open()
    try:
        yield server
    finally:
        server.close()


def status(directory: Path) -> AgentStatus:
    return call(directory, StatusRequest(), AgentStatus, 5.0)


def connection(directory: Path) -> socket.socket:
    made = socket.socket(socket.AF_UNIX)
    made.settimeout(5.0)
    with directory_handle(directory) as handle:
        made.connect(address(handle))
    return made


def test_what_comes_back_is_what_was_said(tmp_path: Path) -> None:
    with serving(tmp_path):
        assert call(tmp_path, SearchRequest(query="exit", top_k=3), SearchReply, 5.0).evidence == (HIT,) * 3
        assert status(tmp_path).process == os.getpid()


QUESTION = Question(text="where?", asked_us=1, as_of_us=1)


def step(number: int) -> QuestionStep:
    return QuestionStep(question=QUESTION, number=number, planner="local", line=f"step {number}", ms=1.0)


def test_steps_arrive_while_the_question_is_still_being_answered(tmp_path: Path) -> None:
    arrived = threading.Semaphore(0)

    def answering(request: Request, send: Callable[[Reply], object]) -> Reply:
        for number in (1, 2):
            send(StepDone(step=step(number)))
            assert arrived.acquire(timeout=5.0), "the client had it before the next one was begun"
        return reply(request)

    seen: list[QuestionStep] = []

    def on_step(one: QuestionStep) -> None:
        seen.append(one)
        arrived.release()

    with serving(tmp_path, answering):
        asked = AskRequest(question="where?", asked_us=1, steps=True)
        assert call(tmp_path, asked, AgentStatus, 5.0, on_step).process == os.getpid()
    assert seen == [step(1), step(2)]


def test_a_client_that_takes_no_steps_does_not_hold_up_the_question(tmp_path: Path) -> None:
    began, over = time.monotonic(), threading.Event()

    def answering(request: Request, send: Callable[[Reply], object]) -> Reply:
        for _ in range(50):
            send(StepDone(step=QuestionStep(question=QUESTION, number=1, planner="local", line="x" * 100_000)))
        over.set()
        return reply(request)

    with serving(tmp_path, answering, timeout_s=0.3), connection(tmp_path) as peer:
        peer.sendall(msgspec.json.encode(AskRequest(question="where?", asked_us=1, steps=True)) + b"\n")
        assert over.wait(5.0)
    assert time.monotonic() - began < 3.0


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere a socket gets its mode after it was made")
def test_it_is_closed_to_others_from_its_first_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "chmod", lambda *_, **_more: None)
    before = os.umask(0)
    try:
        with serving(tmp_path):
            assert stat.S_IMODE((tmp_path / SOCKET).stat().st_mode) == 0o600
    finally:
        os.umask(before)


def test_only_the_owner_may_open_it(tmp_path: Path) -> None:
    with serving(tmp_path):
        mode = (tmp_path / SOCKET).stat().st_mode
        assert stat.S_ISSOCK(mode)
        assert stat.S_IMODE(mode) == 0o600
    assert not (tmp_path / SOCKET).exists()


def test_another_user_is_refused_by_what_the_kernel_says_of_him(tmp_path: Path) -> None:
    """The server that expects someone else gets us: the other way round needs a second user."""
    with serving(tmp_path, uid=os.geteuid() + 1), pytest.raises(AgentUnavailable, match="only the user who runs it"):
        status(tmp_path)


AS_NOBODY = """
import os, socket, sys
os.chdir(sys.argv[1])
os.setegid(65534)
os.seteuid(65534)
peer = socket.socket(socket.AF_UNIX)
peer.connect("agent.sock")
peer.sendall(b'{"method":"status"}\\n')
print(peer.recv(1000).decode())
"""
LISTENING_AS_NOBODY = """
import os, socket, sys
os.chdir(sys.argv[1])
os.seteuid(65534)
server = socket.socket(socket.AF_UNIX)
server.bind("agent.sock")
server.listen()
print("ready", flush=True)
server.accept()
"""
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")


@needs_root
def test_another_user_who_gets_past_the_permissions_is_turned_away(tmp_path: Path) -> None:
    with serving(tmp_path):
        tmp_path.chmod(0o755)
        (tmp_path / SOCKET).chmod(0o666)
        said = subprocess.run([sys.executable, "-c", AS_NOBODY, str(tmp_path)], capture_output=True, text=True, check=True).stdout
        assert '"declined"' in said
        assert "only the user who runs it" in said
        assert status(tmp_path).process == os.getpid()


@needs_root
def test_a_socket_that_another_user_put_there_is_not_believed(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    with subprocess.Popen([sys.executable, "-c", LISTENING_AS_NOBODY, str(tmp_path)], stdout=subprocess.PIPE) as impostor:
        assert impostor.stdout is not None
        impostor.stdout.readline()
        with pytest.raises(AgentUnavailable, match="another user"):
            status(tmp_path)
        impostor.kill()


def test_a_path_longer_than_the_kernel_takes_works(tmp_path: Path) -> None:
    deep = tmp_path / ("a" * 100) / ("b" * 100)
    deep.mkdir(parents=True)
    assert len(bytes(deep / SOCKET)) > 107
    with serving(deep):
        assert status(deep).process == os.getpid()


def test_the_socket_of_a_killed_agent_is_replaced(tmp_path: Path) -> None:
    script = (
        "import os, signal, sys; from pathlib import Path; from edgemem.serve.socket_server import SocketServer\n"
        "SocketServer(Path(sys.argv[1]), lambda request, send: None).open(); os.kill(os.getpid(), signal.SIGKILL)"
    )
    died = subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=False)
    assert died.returncode == -signal.SIGKILL
    assert (tmp_path / SOCKET).exists()
    with pytest.raises(AgentUnavailable) as away:
        status(tmp_path)
    assert away.value.expected
    with serving(tmp_path):
        assert status(tmp_path).process == os.getpid()


def test_a_file_in_its_place_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / SOCKET).write_text("mine")
    with pytest.raises(OSError, match="in use"):
        SocketServer(tmp_path, reply).open()
    assert (tmp_path / SOCKET).read_text() == "mine"


@pytest.mark.parametrize("directory", ["", "nowhere"])
def test_without_an_agent_one_learns_so_at_once(tmp_path: Path, directory: str) -> None:
    with pytest.raises(AgentUnavailable) as away:
        status(tmp_path / directory)
    assert away.value.expected


def test_errors_arrive_as_the_errors_they_are(tmp_path: Path) -> None:
    with (
        serving(tmp_path, lambda *_: Failed(error="MemoryDirError", text="memory gone: mount it")),
        pytest.raises(MemoryDirError, match="memory gone: mount it"),
    ):
        status(tmp_path)


@pytest.mark.parametrize(
    ("sent", "heard"),
    [
        (b"hello\n", b"does not understand"),
        (b'{"method":"forget_all"}\n', b"does not understand"),
        (b'{"method":"search","query":"x","stream":"door"}\n', b"unknown field"),
        (b'{"method":"search","query":"' + b"x" * 5000 + b'"}\n', b"length"),
        (b'{"method":"search","query":"x","top_k":100000}\n', b"200"),
        (b"x" * (REQUEST_BYTES + 100), b"longer than"),
        (b"[" * 100_000 + b"\n", b"does not understand"),
        (b"\xff\xfe\n", b"does not understand"),
        (b"\n", b"does not understand"),
    ],
    ids=["words", "method", "unknown_key", "long_question", "top_k", "endless", "deep", "no_utf8", "empty"],
)
def test_what_is_no_request_is_declined_and_harms_nobody(tmp_path: Path, sent: bytes, heard: bytes) -> None:
    with serving(tmp_path):
        with connection(tmp_path) as peer:
            with contextlib.suppress(OSError):  # an endless line is not read to its end
                peer.sendall(sent)
            assert heard in peer.recv(4096)
            assert peer.recv(4096) == b""
        assert status(tmp_path).process == os.getpid()


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(sent=st.lists(st.one_of(st.binary(max_size=200), st.just(b'{"method":"status"}\n')), max_size=5))
def test_no_bytes_whatever_stop_it(tmp_path: Path, sent: list[bytes]) -> None:
    with serving(tmp_path, timeout_s=0.2):
        with connection(tmp_path) as peer, contextlib.suppress(OSError):
            for piece in sent:
                peer.sendall(piece)
        assert status(tmp_path).process == os.getpid()


def test_one_connection_may_ask_several_times(tmp_path: Path) -> None:
    with serving(tmp_path), connection(tmp_path) as peer:
        peer.sendall(b'{"method":"status"}\n{"method":"status"}\n')
        lines = peer.makefile("rb")
        kinds = [lines.readline().partition(b",")[0] for _ in range(4)]
    assert kinds == [b'{"reply":"working"}\n', b'{"reply":"status"'] * 2


def test_a_client_that_is_too_slow_is_disconnected(tmp_path: Path) -> None:
    with serving(tmp_path, timeout_s=0.2), connection(tmp_path) as half, connection(tmp_path) as silent:
        half.sendall(b'{"method":')
        assert half.recv(100) == b""
        assert silent.recv(100) == b""


def test_a_client_that_comes_while_all_are_busy_is_refused_at_once(tmp_path: Path) -> None:
    go_on = threading.Event()

    def slow(request: Request, _send: object) -> Reply:
        if isinstance(request, AskRequest):
            go_on.wait(20.0)
        return reply(request)

    answers: list[AgentStatus] = []
    asking = [
        threading.Thread(target=lambda: answers.append(call(tmp_path, AskRequest(question="?", asked_us=0), AgentStatus, 20.0)))
        for _ in range(SLOTS)
    ]
    with serving(tmp_path, slow) as server:
        for thread in asking:
            thread.start()
        while server._busy < SLOTS:
            time.sleep(0.01)
        with pytest.raises(AgentUnavailable, match="other questions"):
            status(tmp_path)
        go_on.set()
        for thread in asking:
            thread.join()
        assert len(answers) == SLOTS
        assert status(tmp_path).process == os.getpid()


def test_a_reply_that_nobody_fetches_does_not_hold_its_thread(tmp_path: Path) -> None:
    big = msgspec.structs.replace(HIT, text="x" * 100_000)
    with serving(tmp_path, lambda *_: SearchReply(evidence=(big,) * 50), timeout_s=0.3) as server, connection(tmp_path) as peer:
        peer.sendall(b'{"method":"status"}\n')
        peer.recv(10)
        while server._open:
            time.sleep(0.02)


def test_a_stop_waits_for_the_question_that_is_being_answered(tmp_path: Path) -> None:
    began = threading.Event()

    def slow(request: Request, _send: object) -> Reply:
        began.set()
        time.sleep(0.5)
        return reply(request)

    answers: list[AgentStatus] = []
    server = SocketServer(tmp_path, slow)
    server.open()
    asking = threading.Thread(target=lambda: answers.append(status(tmp_path)))
    asking.start()
    began.wait(5.0)
    server.close()
    asking.join()
    assert len(answers) == 1


def test_a_stop_hangs_up_on_what_takes_too_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("edgemem.serve.socket_server._STOP_S", 0.1)
    began, end = threading.Event(), threading.Event()

    def endless(request: Request, _send: object) -> Reply:
        began.set()
        end.wait(20.0)
        return reply(request)

    server = SocketServer(tmp_path, endless)
    server.open()
    whys: list[str] = []

    def ask() -> None:
        with pytest.raises(AgentUnavailable) as away:
            status(tmp_path)
        whys.append(away.value.why)

    asking = threading.Thread(target=ask)
    asking.start()
    began.wait(5.0)
    server.close()
    asking.join()
    end.set()
    assert whys == ["it ended in the middle of the question"]
