"""Settings: one strict TOML, overridden by `--set KEY=VALUE`. An unknown key stops the start and names the nearest valid one."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

import msgspec

from edgemem.errors import UsageError, nearest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

T = TypeVar("T", bound=msgspec.Struct)

SECRET = ("_key", "_auth")
"""How the names of keys end whose values are never shown."""

_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}


class Budget(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What edgemem may use of the board."""

    disk: str = "4GiB"
    """Cap on everything in the memory directory together."""


class StoreSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a memory is written."""

    durability: Literal["normal", "full"] = "normal"
    """What a power cut may take: "normal" the last seconds (what was written since the log was last synced), "full" nothing, for a sync
    with every transaction. A crash of the process takes nothing either way."""
    key_file: str = ""
    """File with the key of an encrypted memory: 64 hexadecimal digits (`edgemem memory keygen FILE`) or a passphrase."""
    key_tpm: str | int = ""
    """Instead of a file: context file or persistent handle of the key that a TPM keeps, as `tpm2_unseal -c` takes it."""
    key_tpm_auth: str = ""
    """Password or policy of that object, as `tpm2_unseal -p` takes it, such as "pcr:sha256:0,7"."""


class EngineSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which models run, and how."""

    threads: int = 0
    """Threads per model; 0 = all cores of the board, at most 4."""
    runtime: list[str] = msgspec.field(default_factory=lambda: ["onnx"])
    """Runtimes by name, such as ["tensorrt", "onnx"]: a model is loaded by the first that is installed and can load it."""
    runtimes: dict[str, dict[str, Any]] = {}
    """Settings of the runtimes, by name, such as `[engines.runtimes.onnx]`."""
    cards: list[str] = []
    """More folders of engine cards; a card there replaces the shipped one of the same name."""
    roles: dict[str, str] = {}
    """Card by role, such as `embed_joint = "siglip2-base-hub"`. A role that is not named takes the first card that is fetched."""

    def __post_init__(self) -> None:
        if not self.runtime or len(set(self.runtime)) < len(self.runtime):
            raise ValueError("runtime must name at least one runtime, each once")


class TaskSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a language model is asked for one task. What is not set is as in the task "default", and then as whoever asks wants it."""

    max_tokens: int | None = None
    """Of the answer."""
    thinking_tokens: int | None = None
    """Room for what the model thinks before it answers, beside `max_tokens`. Not set: none until a model needed some."""
    reasoning_effort: str | None = None
    """Such as "low", "medium", "high"; passed on to the server."""
    extra_body: dict[str, Any] | None = None
    """Further keys of the request, such as { chat_template_kwargs = { enable_thinking = false } }."""
    vision: bool | None = None
    """Whether pictures are shown. Not set: where the model can see, as its server tells or as it turned out."""
    silence_s: float | None = None
    """Longest silence of the server; not set = 240."""

    def __post_init__(self) -> None:
        if (self.max_tokens or 1) < 1 or (self.thinking_tokens or 0) < 0 or (self.silence_s is not None and self.silence_s <= 0):
            raise ValueError("max_tokens and silence_s must be above 0, thinking_tokens not negative")


class QuestionCaps(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one question may spend on language models, as a recipe says."""

    tokens_per_question: int = 60_000
    seconds_per_question: float = 600.0
    """Time spent waiting for the model."""


class ModelSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which language model answers, and what one question may spend on it. Then the local planner finishes it."""

    chat: str = ""
    """Which one answers, by name, such as "openai"; empty = the first that is configured, "none" = none."""
    tokens_per_question: int | None = None
    """Not set: as the recipe says in its `[models]`, 60,000 where it says nothing."""
    seconds_per_question: float | None = None
    """Time spent waiting for the model. Not set: as the recipe says, 600 where it says nothing."""
    parallel: int = 4
    """Calls at the same time, where several are independent, such as looks at several pictures."""
    send_pictures: bool = True
    """Pictures may leave for the model; without it models are asked in words only."""
    redact: list[str] = []
    """Regular expressions; what they match is blackened in every text that leaves for a model."""
    tasks: dict[str, TaskSettings] = {}
    """By task, such as `[models.tasks.planner]`; "default" holds for every task that says nothing else."""

    def __post_init__(self) -> None:
        if self.parallel < 1:
            raise ValueError("parallel must be at least 1")
        for pattern in self.redact:
            try:
                re.compile(pattern)
            except re.error as error:
                raise ValueError(f"redact: {pattern!r} is not a regular expression ({error})") from None

    def caps(self, recipe: QuestionCaps) -> QuestionCaps:
        """What holds for a question: what is set here, over what its recipe says."""
        tokens, seconds = self.tokens_per_question, self.seconds_per_question
        return QuestionCaps(
            tokens_per_question=recipe.tokens_per_question if tokens is None else tokens,
            seconds_per_question=recipe.seconds_per_question if seconds is None else seconds,
        )

    def task(self, name: str) -> TaskSettings:
        """What holds for a task: its own settings over those of "default"."""
        own, default = self.tasks.get(name, TaskSettings()), self.tasks.get("default", TaskSettings())
        both = {key: value if value is not None else getattr(default, key) for key, value in msgspec.structs.asdict(own).items()}
        return TaskSettings(**both)


class KeepRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How long something is kept: a stream, a place, or a place in a stream."""

    keep_days: float
    """Nothing older stays; 0 = it is never kept at all."""
    stream: str = "*"
    """Name of the stream, with * and ? as wildcards."""
    place: str = ""
    """Scene label, such as "bathroom"; empty = everything of the stream."""
    min_score: float = 0.3
    """How sure the label must be."""

    def __post_init__(self) -> None:
        if self.keep_days < 0:
            raise ValueError("keep_days must not be negative")


class Privacy(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What may be seen at all. It applies before the first byte is written."""

    streams: list[str] = msgspec.field(default_factory=lambda: ["*"])
    """Streams that consent was given for, with * and ? as wildcards. Of others nothing is kept."""
    masks: dict[str, list[tuple[float, float, float, float]]] = {}
    """By stream (with wildcards): rectangles left, top, right, bottom as fractions of the picture that are blackened."""

    def __post_init__(self) -> None:
        for stream, boxes in self.masks.items():
            if any(not (0 <= x0 < x1 <= 1 and 0 <= y0 < y1 <= 1) for x0, y0, x1, y1 in boxes):
                raise ValueError(f"masks of {stream} must be left, top, right, bottom between 0 and 1")


class RunSource(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One stream that the daemon sees."""

    source: str
    """A camera (`0`, `/dev/video0`), a URL (`rtsp://...`), a video file or a folder of pictures."""
    stream: str = ""
    """Name of the stream; empty = the camera's or file's."""
    recipe: str = ""
    """How to see and what to keep; empty = the settings'."""

    def __post_init__(self) -> None:
        if not self.source.strip():
            raise ValueError("source must name a camera, a URL, a file or a folder")


class RunSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What `edgemem run` sees, and where it remembers."""

    memory: str = ""
    """The memory's directory."""
    sources: list[RunSource] = []
    services: list[dict[str, Any]] = []
    """What runs beside the agent: `use` names a service of a plugin, the other keys are its parameters."""


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Everything that a configuration file may say."""

    home: str = ""
    """Data directory; empty = EDGEMEM_HOME, else the XDG data directory."""
    recipe: str = "default"
    timezone: str = "UTC"
    """IANA zone in which questions mean "today" and answers tell the time."""
    plugins_dirs: list[str] = []
    recipes_dirs: list[str] = []
    budget: Budget = Budget()
    store: StoreSettings = StoreSettings()
    privacy: Privacy = Privacy()
    retention: list[KeepRule] = []
    """Rules beside the recipe's retainer, such as `[[retention]] stream = "door"  keep_days = 7`."""
    engines: EngineSettings = EngineSettings()
    models: ModelSettings = ModelSettings()
    run: RunSettings = RunSettings()
    tables: dict[str, dict[str, Any]] = {}
    """Tables that belong to plugins, by name, not checked yet; a file writes them at the top, as `[openai]`."""


def home_dir(settings: Settings) -> Path:
    """The one directory for built things: fetched weights, caches, media."""
    named = settings.home or os.environ.get("EDGEMEM_HOME", "")
    if named:
        return Path(named).expanduser()
    base = os.environ.get("XDG_DATA_HOME") or "~/.local/share"
    return Path(base).expanduser() / "edgemem"


def firmware_dir() -> Path:
    """The folder of the settings for boards and deployments: inside the wheel, else beside the package in a checkout."""
    package = Path(__file__).resolve().parent
    inside = package / "_data" / "firmware_configs"
    return inside if inside.is_dir() else package.parent / "firmware_configs"


def parse_bytes(text: str) -> int:
    """`"64MiB"`, `"1.5 GB"`, `"4096"` -> bytes. Raises UsageError with an example."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*", str(text))
    unit = _UNITS.get(match[2].upper()) if match else None
    if match is None or unit is None:
        raise UsageError(f'"{text}" is not a size; write it like 64MiB or 4GB')
    return int(float(match[1]) * unit)


def read_toml(path: Path) -> dict[str, Any]:
    """A TOML file as a dict. Raises UsageError naming the file and the line."""
    try:
        return dict(tomllib.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise UsageError(f"{path}: no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: cannot be read ({error})") from None
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path}: not valid TOML ({error})") from None


def convert(data: Any, kind: type[T], where: str) -> T:
    """Check plain data against a strict Struct. Raises UsageError naming `where`, the key, and the nearest valid key."""
    try:
        return msgspec.convert(data, kind)
    except msgspec.ValidationError as error:
        message = str(error)
        unknown = re.search(r"unknown field `([^`]*)`", message)
        hint = nearest(unknown[1], _keys_at(kind, message)) if unknown else ""
        raise UsageError(f"{where}: {_plain(message)}{hint}") from None


def load(path: Path | None, overrides: Iterable[str] = ()) -> Settings:
    """Settings from a file (None: `EDGEMEM_CONFIG`, else the defaults), then `KEY=VALUE` overrides in order."""
    if path is None and os.environ.get("EDGEMEM_CONFIG"):
        path = Path(os.environ["EDGEMEM_CONFIG"])
    data = read_toml(path) if path else {}
    where = str(path) if path else "settings"
    for item in overrides:
        key, equals, value = item.partition("=")
        if not equals or not key.strip():
            raise UsageError(f'--set "{item}": write it as KEY=VALUE, such as budget.disk=64MiB')
        _put(data, key.strip().split("."), _value(value.strip()), item)
        shown = f"{key}=***" if key.strip().endswith(SECRET) else item
        where = f"--set {shown}" if not path else f"{path} with --set"
    if "tables" in data:
        raise UsageError(f'{where}: unknown key "tables"')
    own = {field.encode_name for field in msgspec.structs.fields(Settings)}
    foreign = {name: value for name, value in data.items() if name not in own and isinstance(value, dict)}
    settings = convert({key: value for key, value in data.items() if key not in foreign} | {"tables": foreign}, Settings, where)
    parse_bytes(settings.budget.disk)
    return settings


def _put(data: dict[str, Any], keys: list[str], value: Any, item: str) -> None:
    for key in keys[:-1]:
        data = data.setdefault(key, {})
        if not isinstance(data, dict):
            raise UsageError(f'--set "{item}": {key} is a value, not a table')
    data[keys[-1]] = value


def _value(text: str) -> Any:
    """A TOML value where the text is one (`3`, `true`, `["a"]`), else the text itself."""
    try:
        return tomllib.loads(f"v = {text}")["v"]
    except tomllib.TOMLDecodeError:
        return text


def _plain(message: str) -> str:
    message = re.sub(r"^Object contains unknown field `([^`]*)`", r'unknown key "\1"', message)
    return message.replace(" - at `$", " at `").replace("`.", "`", 1)


def _keys_at(kind: type[msgspec.Struct], message: str) -> list[str]:
    """Valid keys of the table that the error message points to (`- at `$.budget``)."""
    path = re.search(r"at `\$\.?([^`]*)`", message)
    for name in filter(None, re.sub(r"\[[^\]]*\]", "", path[1] if path else "").split(".")):
        fields = {field.encode_name: field.type for field in msgspec.structs.fields(kind)}
        inner = fields.get(name)
        found = next((part for part in (inner, *get_args(inner)) if _is_struct(part)), None)  # of a list or a dict of tables
        if found is None:
            return []
        kind = found
    return [field.encode_name for field in msgspec.structs.fields(kind)]


def _is_struct(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


def dump(settings: Settings) -> Mapping[str, Any]:
    """Settings as plain data, plugins' tables beside the core's own, for `edgemem config show`."""
    plain: dict[str, Any] = msgspec.to_builtins(settings)
    tables: dict[str, Any] = plain.pop("tables")
    return _without_keys(plain | tables)  # type: ignore[no-any-return]


def _without_keys(value: Any) -> Any:
    """The same with asterisks for everything that is called `..._key`: what is shown may be pasted into a report."""
    if not isinstance(value, dict):
        return value
    return {name: "***" if name.endswith(SECRET) and inner else _without_keys(inner) for name, inner in value.items()}
