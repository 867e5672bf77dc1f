"""Call every command of edgemem with odd values for each of its options, and report whatever ends in another way than the contract says.

    python tools/fuzz.py [--seconds 60] [--cases N] [--only WORD] [--seed 0]

Every option and argument of every command gets `--seconds` of drawn values, while the others stay sound: texts that are no UTF-8, that
drive terminals or are very long, numbers beyond every width, times that no clock has, paths that are none, settings and recipes with
NaN and the like, memories with damaged bytes. A case fails when the command prints a traceback, exits with another code than 0 to 3, takes
longer than a minute, or prints a control or direction character. `--cases` bounds how many there are of each; with `--seconds 0` they are
the same for the same seed.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import click
import cv2

from edgemem.characters import visible
from edgemem.cli.main import cli, main
from edgemem.config import Settings
from edgemem.extend.testing import SyntheticCamera
from edgemem.records import US, Origin
from edgemem.remember.entries import NewDocument, NewEntity, NewMoment, NewSegment, NewSession
from edgemem.remember.store import Store

LEFT_OUT = {"demo", "run", "engines fetch", "engines build"}
"""They fetch weights, or end only when told to."""
PATIENCE_S = 60
T0_US = 1_777_881_600 * US
HUGE = "9" * 5000
TEXTS = (
    "", " ", "\n", "\t", "-", "--", "0", "-1", "NaN", "inf", "1e999", HUGE, "x" * 100_000, "where is the mug?", "\udcff\udc80", "a\udcffb",
    "\x1b]0;owned\x07", "\x1b[2J", "name\nedgemem: forged", "\u202egpj.exe", "\u2028line", "\x7f\x9b31m",
    "\U000e0041tag", "é" * 3000, "%s%n",
    "' OR 1=1 --", '"', "\\", "../../..", "/", "//", "~nobody", "=", "a=b", "[", "{", "{" * 2000, "[" * 20_000, "m1", "d1", "s1", "r1",
    f"m{HUGE}", "m１", "speaker:1", f"speaker:{HUGE}", "last", "1", "999999999999999999999", "-9223372036854775809", "*", "?", "NEAR(a b)",
    "between 99:99 and 0:00", f"what did I see {HUGE} days ago?", "what did I see in the year 0?", "what happened on 31 February 99999?",
    f"the {HUGE}th time I saw a mug", "at second 1e308", "before before before", f"minute {'9' * 18}", f"{'9' * 12} years ago",
    "10000-01-01T00:00:00Z", "what was written at 9999-12-31T23:59:59Z?", "what was written at 0001-01-01?", "0000-00-00",
)  # fmt: skip
TIMES = (
    "2026-05-04T08:00:00Z", "9999-12-31T23:59:59.999999+14:00", "9999-12-31T23:59:59-14:00", "0001-01-01T00:00:00+14:00", "2026-02-30",
    "2026-W01-1", "２０２６-05-04", "20260504T080000Z", "2026-05-04T08:00:00Z\n", "now", "2026-05-04T24:00:00Z", "2026-05-04T08:00:60Z", "",
)  # fmt: skip
VALUES = (
    "nan", "inf", "-inf", "-1", "0", "1", "1e308", "-1e308", "9" * 30, HUGE, "9223372036854775808", "true", '""', '"x"', '"\\u0000"',
    '"\\u202e"', "[]", "[1]", '["x"]', "[nan]", "{}", "{ x = 1 }", "{ x = nan }", "[" * 2000, "[" * 20_000, "2026-05-04", "'''", "x y", "",
    '[""]', '["*"]', '["(" ]', '"Mars/Olympus"', '"../../etc/passwd"', "'rtsp://u:p@h/x?t=1'", "67108864",
    '"64MiB"', '"64 parsecs"', "\udcff",
)  # fmt: skip


class Case(NamedTuple):
    """A call, and what it was meant to try."""

    command: tuple[str, ...]
    about: str
    arguments: tuple[str, ...]


class Ground:
    """What the calls work on, in a directory of its own."""

    def __init__(self, folder: Path, rng: random.Random) -> None:
        self.folder, self._rng = folder, rng
        self._sound = folder / "sound"
        self._pictures = folder / "walk"
        self._number = 0
        _remember(self._sound)
        self._pictures.mkdir()
        for frame in SyntheticCamera(4.0).frames():
            cv2.imwrite(str(self._pictures / f"{frame.seq}.png"), frame.image)
        (folder / "file").write_text("just a file", encoding="utf-8")
        os.mkfifo(folder / "pipe")
        self._plain = folder / "plain.toml"
        self._plain.write_text('rate_fps = 2.0\n[segment]\nuse = "fixed_window"\n', encoding="utf-8")

    def fresh(self, name: str = "") -> str:
        """A path where nothing is yet."""
        self._number += 1
        return str(self.folder / f"new{self._number}{name}")

    def memory(self) -> str:
        """A sound memory that nobody used yet."""
        path = self.fresh()
        shutil.copytree(self._sound, path)
        return path

    def damaged(self) -> str:
        """A memory with some bytes of its files changed."""
        path = self.memory()
        files = sorted(file for file in Path(path).rglob("*") if file.is_file() and file.stat().st_size)
        for file in self._rng.sample(files, min(len(files), self._rng.randint(1, 2))):
            data = bytearray(file.read_bytes())
            for _ in range(self._rng.choice((1, 20, 2000))):
                data[self._rng.randrange(len(data))] = self._rng.randrange(256)
            file.write_bytes(data if self._rng.random() < 0.8 else data[: len(data) // 2])
        return path

    def path(self) -> str:
        """A path of any kind."""
        named = Path(self.fresh("\udcff\n\x1b[31m"))
        shutil.copytree(self._sound, named)
        kinds = ("", "/", "/dev/null", "/proc/self/mem", str(self.folder / "file"), self.fresh(), self.fresh("/deep/er"),
            str(named), "x" * 5000,
                 self.memory(), self.damaged(), self.damaged(), self.damaged(), str(self._pictures), "~nobody/x")  # fmt: skip
        return self._rng.choice(kinds)

    def source(self) -> str:
        """A recording that can be seen."""
        return str(self._pictures)

    def recipe(self) -> str:
        """A recipe without models."""
        return str(self._plain)

    def odd_recipe(self) -> str:
        """A shipped recipe with one value changed."""
        found = sorted((Path(__file__).parents[1]).glob("edgemem/recipes/*.toml")) + sorted(
            (Path(__file__).parents[1]).glob("plugins/*/edgemem_*/recipes/*.toml")
        )
        return self._changed(self._rng.choice(found).read_text(encoding="utf-8"))

    def odd_config(self) -> str:
        """A settings file with odd values."""
        lines = [self.setting().replace("\udcff", "?") for _ in range(self._rng.randint(1, 3))]
        return self._written("\n".join(lines))

    def setting(self) -> str:
        """KEY=VALUE for a key that exists, mostly."""
        return f"{self._rng.choice(_KEYS)}={self._rng.choice(VALUES)}"

    def _changed(self, text: str) -> str:
        places = [match.span(1) for match in re.finditer(r"=\s*(.+)", text)]
        start, end = self._rng.choice(places)
        return self._written(text[:start] + self._rng.choice(VALUES).replace("\udcff", "?") + text[end:])

    def _written(self, text: str) -> str:
        path = Path(self.fresh(".toml"))
        path.write_text(text, encoding="utf-8")
        return str(path)


def _keys() -> list[str]:
    """Dotted names of all settings, and some that are none."""
    import msgspec

    found = []
    for field in msgspec.structs.fields(Settings):
        inner = field.type if isinstance(field.type, type) and issubclass(field.type, msgspec.Struct) else None
        found += [f"{field.name}.{own.name}" for own in msgspec.structs.fields(inner)] if inner else [field.name]
    odd = [
        "models.tasks.planner.max_tokens",
        "engines.roles.embed_joint",
        "engines.runtimes.onnx.threads",
        "privacy.masks.x",
        "",
        ".",
        "..",
        "a.b",
    ]
    openai = [
        "base_url",
        "model",
        "call_s",
        "connect_s",
        "retries",
        "usd_per_day",
        "tokens_per_day",
        "image_side_px",
        "roles.planner.model",
    ]
    return [*found, *odd, *(f"openai.{name}" for name in openai)]


_KEYS = _keys()


def _remember(directory: Path) -> None:
    """A small memory with something of every kind in it."""
    jpeg = cv2.imencode(".jpg", next(iter(SyntheticCamera(1.0).frames())).image)[1].tobytes()
    with Store.open(directory) as store:
        store.ensure_stream("cam", T0_US)
        for seq in range(4):
            at: dict[str, Any] = {"stream": "cam", "offset_us": seq * US}
            with store.transaction() as tx:
                moment = tx.add_moment(
                    NewMoment(**at, seq=seq, t_us=T0_US + seq * US, width_px=64, height_px=48, sharpness=9.0, jpeg=jpeg, vectors={})
                )
                span: dict[str, Any] = {**at, "t0_us": T0_US + seq * US, "t1_us": T0_US + seq * US}
                segment = tx.add_segment(NewSegment(**span, segmenter="test", moment_ids=(moment,), representative_id=moment))
                voice = tx.add_entity(NewEntity(kind="voice", name="speaker 1", known_us=T0_US))
                written: tuple[tuple[str, Origin], ...] = (("event", "caption"), ("utterance", "asr"))
                for kind, origin in written:
                    own: dict[str, Any] = {"segment_id": segment} if kind == "event" else {"speaker_id": voice}
                    tx.add_document(
                        NewDocument(**span, **own, kind=kind, text=f"a red mug number {seq}", known_us=T0_US + seq * US, origin=origin)
                    )
                tx.add_session(
                    NewSession(question="where?", recipe="default", planner="local", asked_us=T0_US, as_of_us=1 << 62, status="abstained",
                               answer="nowhere", confidence=0.0)
                )  # fmt: skip


def _leaves(group: click.Command, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    if not isinstance(group, click.Group):
        yield path, group
        return
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is not None and " ".join((*path, name)) not in LEFT_OUT:
            yield from _leaves(command, (*path, name))


def _sound(command: tuple[str, ...], parameter: click.Parameter, ground: Ground) -> list[str]:
    """A good value of a parameter that is needed, or that keeps models out; else nothing."""
    name, flag = parameter.name or "", parameter.opts[0]
    if name == "memory":
        return [flag, ground.fresh() if command[-1] in {"import", "ingest"} else ground.memory()]
    if name == "recipe" and isinstance(parameter, click.Option):
        return [flag, ground.recipe()]
    if not parameter.required:
        return []
    good: dict[str, Callable[[], str]] = {
        "sources": ground.source, "question": lambda: "where is the red mug?", "query": lambda: "mug", "evidence_id": lambda: "m1",
        "voice": lambda: "speaker:1", "number": lambda: "1", "file": ground.fresh, "folder": ground.fresh, "source": ground.memory,
        "new_key_file": lambda: str(ground.folder / "file"),
    }  # fmt: skip
    value = good.get(name, lambda: "1")()
    return [flag, value] if isinstance(parameter, click.Option) else [value]


def _odd(parameter: click.Parameter, ground: Ground, rng: random.Random) -> list[str]:
    """An odd value of a parameter."""
    name, kind = parameter.name or "", parameter.type
    if isinstance(parameter, click.Option) and parameter.is_flag:
        return [parameter.opts[0]]
    if name == "overrides":
        value = ground.setting()
    elif name == "config":
        value = rng.choice((ground.odd_config, ground.path))()
    elif name == "recipe":
        value = rng.choice((ground.odd_recipe, lambda: rng.choice(TEXTS)))()
    elif name in {"start", "as_of", "from_", "to"}:
        value = rng.choice((*TIMES, *TIMES, *TEXTS))
    elif isinstance(kind, click.Path) or name in {"sources", "subtitles"}:
        value = ground.path()
    else:
        value = rng.choice(TEXTS)
    return [parameter.opts[0], value] if isinstance(parameter, click.Option) else [value]


def cases(ground: Ground, rng: random.Random, seconds: float, most: int, only: str) -> Iterator[Case]:
    """Calls of every command, so many or so long for each of its parameters."""
    for path, command in _leaves(cli):
        parameters = [one for one in command.params if not (isinstance(one, click.Option) and one.name in {"help", "version"})]
        for focus in parameters:
            if only and only not in " ".join((*path, focus.name or "")):
                continue
            until, count = time.monotonic() + seconds, 0
            while count < most and (not seconds or time.monotonic() < until):
                count += 1
                parts = [_odd(one, ground, rng) if one is focus else _sound(path, one, ground) for one in parameters]
                options = [part for one, given in zip(parameters, parts, strict=True) if isinstance(one, click.Option) for part in given]
                others = [part for one, given in zip(parameters, parts, strict=True) if isinstance(one, click.Argument) for part in given]
                yield Case(path, focus.name or "", (*path, *options, *(["--"] if others else []), *others))


def failure_of(case: Case, printed: Path) -> str:
    """What is wrong with how a call ends; "" for nothing. It runs in a process of its own."""
    child = os.fork()
    if not child:
        _run(case, printed)
    deadline = time.monotonic() + PATIENCE_S
    while not (ended := os.waitpid(child, os.WNOHANG))[0]:
        if time.monotonic() > deadline:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return f"no end after {PATIENCE_S} s"
        time.sleep(0.005)
    code = os.waitstatus_to_exitcode(ended[1])
    text = printed.read_bytes().decode("utf-8", "replace")
    if "Traceback" in text:
        return "\n".join(line[:200] for line in text[text.index("Traceback") :].split("\n")[-14:])
    if code not in range(4):
        return f"exit code {code}: {text[-500:]}"
    if any(visible(line.replace("\r", "")) != line.replace("\r", "") for line in text.split("\n")):
        return f"prints what drives a terminal: {visible(text)[-500:]}"
    return ""


def _run(case: Case, printed: Path) -> None:
    """The child's whole life."""
    code = 99
    try:
        out = os.open(printed, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        for descriptor in (1, 2):
            os.dup2(out, descriptor)
        os.chdir(printed.parent / "here")
        main(list(case.arguments))
    except SystemExit as ended:
        code = int(ended.code or 0)
    except BaseException:  # noqa: BLE001 - this is what it looks for
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def fuzz(folder: Path, seed: int, seconds: float, most: int, only: str) -> tuple[int, list[tuple[Case, str]]]:
    """(how many calls, those that failed and why)."""
    rng = random.Random(seed)
    (folder / "here").mkdir()
    ground = Ground(folder, rng)
    failed, number, known = list[tuple[Case, str]](), 0, set[str]()
    for case in cases(ground, rng, seconds, most, only):
        number += 1
        why = failure_of(case, folder / "printed")
        sign = re.sub(r"[0-9]+", "", why.strip().rpartition("\n")[2])[:120]
        if why and sign not in known:
            known.add(sign)
            failed.append((case, why))
            print(f"{' '.join(case.command)}, {case.about}: {[part[:200] for part in case.arguments]!a}\n{why}\n", flush=True)
        for path in folder.glob("new*"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    return number, failed


def run() -> int:
    """The command line of this tool; returns its exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=60.0, help="for each option of each command; 0 = no bound")
    parser.add_argument("--cases", type=int, default=10**9, help="at most so many for each option of each command")
    parser.add_argument("--only", default="", metavar="WORD", help="commands and options whose name holds this")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        os.environ["EDGEMEM_HOME"] = f"{name}/home"
        os.environ.pop("EDGEMEM_CONFIG", None)
        number, failed = fuzz(Path(name), options.seed, options.seconds, options.cases, options.only)
    print(f"{number} calls, {len(failed)} ways to fail")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(run())
