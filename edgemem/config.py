"""Settings: one strict TOML file, overridden by `--set KEY=VALUE`. An unknown key is an error, which names the nearest valid key."""

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
"""Endings of keys whose values are never shown."""

_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}


class Budget(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Limits on the resources of the board."""

    disk: str = "4GiB"
    """Largest size of all files in the memory directory together."""


class StoreSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings for writing a memory."""

    durability: Literal["normal", "full"] = "normal"
    """What a power failure may lose: with "normal" the last seconds (data written since the last sync of the log); with "full" nothing,
    because every transaction is synced. A crash of the process loses nothing in both cases."""
    key_file: str = ""
    """File with the key of an encrypted memory: 64 hexadecimal digits (`edgemem memory keygen FILE`) or a passphrase."""
    key_tpm: str | int = ""
    """Instead of a file: context file or persistent handle of a key in a TPM, as for `tpm2_unseal -c`."""
    key_tpm_auth: str = ""
    """Password or policy of that object, as for `tpm2_unseal -p`, such as "pcr:sha256:0,7"."""


class EngineSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings for models."""

    threads: int = 0
    """Threads per model; 0 = all cores of the board, at most 4."""
    runtime: list[str] = msgspec.field(default_factory=lambda: ["onnx"])
    """Runtimes by name, such as ["tensorrt", "onnx"]: the first one that is installed and can load a model is used."""
    runtimes: dict[str, dict[str, Any]] = {}
    """Settings of the runtimes, by name, such as `[engines.runtimes.onnx]`."""
    cards: list[str] = []
    """More folders of engine cards; a card there replaces the shipped one of the same name."""
    roles: dict[str, str] = {}
    """Card by role, such as `embed_joint = "siglip2-base-hub"`. For other roles the first fetched card is used."""

    def __post_init__(self) -> None:
        if not self.runtime or len(set(self.runtime)) < len(self.runtime):
            raise ValueError("runtime must name at least one runtime, each once")


class TaskSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of a language model for one task. Values that are not set come from the task "default", then from the caller."""

    max_tokens: int | None = None
    """Limit for the answer."""
    thinking_tokens: int | None = None
    """Tokens for thinking before the answer, in addition to `max_tokens`. Not set: none until a model needs some."""
    reasoning_effort: str | None = None
    """Such as "low", "medium", "high"; passed on to the server."""
    extra_body: dict[str, Any] | None = None
    """Further keys of the request, such as { chat_template_kwargs = { enable_thinking = false } }."""
    vision: bool | None = None
    """Whether pictures are sent. Not set: if the model accepts them, as its server reports or as earlier calls showed."""
    silence_s: float | None = None
    """Longest time without data from the server; not set = 240."""

    def __post_init__(self) -> None:
        if (self.max_tokens or 1) < 1 or (self.thinking_tokens or 0) < 0 or (self.silence_s is not None and self.silence_s <= 0):
            raise ValueError("max_tokens and silence_s must be above 0, thinking_tokens not negative")


class ModelSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Limits on the use of language models for one question. After that the local planner finishes it."""

    chat: str = ""
    """Name of the language model to use, such as "openai"; empty = the first that is configured, "none" = none."""
    tokens_per_question: int = 60_000
    seconds_per_question: float = 600.0
    """Time spent waiting for the model."""
    parallel: int = 4
    """Most simultaneous calls, if they are independent, for example to inspect several pictures."""
    send_pictures: bool = True
    """Whether pictures may be sent to the model; if not, only text is sent."""
    redact: list[str] = []
    """Regular expressions; matching text is blacked out in every text for a model."""
    tasks: dict[str, TaskSettings] = {}
    """By task, such as `[models.tasks.planner]`; "default" applies to all tasks without their own value."""

    def __post_init__(self) -> None:
        if self.parallel < 1:
            raise ValueError("parallel must be at least 1")
        for pattern in self.redact:
            try:
                re.compile(pattern)
            except re.error as error:
                raise ValueError(f"redact: {pattern!r} is not a regular expression ({error})") from None

    def task(self, name: str) -> TaskSettings:
        """The settings of a task: its own ones, else those of "default"."""
        own, default = self.tasks.get(name, TaskSettings()), self.tasks.get("default", TaskSettings())
        both = {key: value if value is not None else getattr(default, key) for key, value in msgspec.structs.asdict(own).items()}
        return TaskSettings(**both)


class KeepRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How long data is kept: of a stream, of a place, or of a place in a stream."""

    keep_days: float
    """Nothing older is kept; 0 = it is never stored."""
    stream: str = "*"
    """Name of the stream, with * and ? as wildcards."""
    place: str = ""
    """Scene label, such as "bathroom"; empty = everything of the stream."""
    min_score: float = 0.3
    """Least score of the label."""

    def __post_init__(self) -> None:
        if self.keep_days < 0:
            raise ValueError("keep_days must not be negative")


class PrivacySettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What may be stored. It is checked before anything is written."""

    streams: list[str] = msgspec.field(default_factory=lambda: ["*"])
    """Streams with consent, with * and ? as wildcards. Nothing of other streams is stored."""
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
    """Name of the stream; empty = that of the camera or file."""
    recipe: str = ""
    """Recipe of the stream; empty = that of the settings."""

    def __post_init__(self) -> None:
        if not self.source.strip():
            raise ValueError("source must name a camera, a URL, a file or a folder")


class RunSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of `edgemem run`."""

    memory: str = ""
    """The memory's directory."""
    sources: list[RunSource] = []
    services: list[dict[str, Any]] = []
    """Services that run beside the agent: `use` names a service of a plugin, the other keys are its parameters."""


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All settings of a configuration file."""

    home: str = ""
    """Data directory; empty = EDGEMEM_HOME, else the XDG data directory."""
    recipe: str = "default"
    timezone: str = "UTC"
    """IANA time zone for "today" in questions and for times in answers."""
    plugins_dirs: list[str] = []
    recipes_dirs: list[str] = []
    budget: Budget = Budget()
    store: StoreSettings = StoreSettings()
    privacy: PrivacySettings = PrivacySettings()
    retention: list[KeepRule] = []
    """Rules in addition to the recipe's retainer, such as `[[retention]] stream = "door"  keep_days = 7`."""
    engines: EngineSettings = EngineSettings()
    models: ModelSettings = ModelSettings()
    run: RunSettings = RunSettings()
    tables: dict[str, dict[str, Any]] = {}
    """Tables of plugins, by name, not checked yet; in a file they are at the top level, such as `[openai]`."""


def home_dir(settings: Settings) -> Path:
    """The directory for fetched weights, caches and media."""
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
    """The bytes of a text such as `"64MiB"`, `"1.5 GB"`, `"4096"`. Raises UsageError with an example."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*", str(text))
    unit = _UNITS.get(match[2].upper()) if match else None
    if match is None or unit is None:
        raise UsageError(f'"{text}" is not a size; write it like 64MiB or 4GB')
    return int(float(match[1]) * unit)


def read_toml(path: Path) -> dict[str, Any]:
    """A TOML file as a dict. Raises UsageError, which names the file and the line."""
    try:
        return dict(tomllib.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise UsageError(f"{path}: no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: cannot be read ({error})") from None
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path}: not valid TOML ({error})") from None


def convert(data: Any, kind: type[T], where: str) -> T:
    """Convert plain data to a strict Struct. Raises UsageError, which names `where`, the key, and the nearest valid key."""
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
    """The TOML value of a text (`3`, `true`, `["a"]`), else the text itself."""
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
    """Settings as plain data, with the tables of plugins, for `edgemem config show`."""
    plain: dict[str, Any] = msgspec.to_builtins(settings)
    tables: dict[str, Any] = plain.pop("tables")
    return _without_keys(plain | tables)  # type: ignore[no-any-return]


def _without_keys(value: Any) -> Any:
    """The same with asterisks for secret values, because a user may paste the output into a report."""
    if not isinstance(value, dict):
        return value
    return {name: "***" if name.endswith(SECRET) and inner else _without_keys(inner) for name, inner in value.items()}
