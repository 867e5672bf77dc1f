"""Settings: layers of strict TOML (see `layers`). An unknown key is an error, which names the nearest valid key."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args

import msgspec

from edgemem.board_settings import Budget, GovernorSettings, Hardware
from edgemem.boards import AUTO
from edgemem.characters import is_storable
from edgemem.clock import zone
from edgemem.errors import UsageError, nearest
from edgemem.layers import Layers, read_layers
from edgemem.secret import Secret, address, from_plain, reveal, shown_text

T = TypeVar("T", bound=msgspec.Struct)

_SECRET_NAME = re.compile(r"(^|.*[_-])(key|auth|authorization|token|secret|password|passphrase|credentials?)", re.IGNORECASE)
"""Names of keys in plugins' tables whose values are never shown, whatever type the plugin gave them."""
_DEEPEST = 64
"""Tables and lists in one another; settings need five."""

_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}


class StoreSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings for writing a memory."""

    durability: Literal["normal", "full"] = "normal"
    """What a power failure may lose: with "normal" the last seconds (data written since the last sync of the log); with "full" nothing,
    because every transaction is synced. A crash of the process loses nothing in both cases."""
    key_file: str = ""
    """File with the key of an encrypted memory: 64 hexadecimal digits (`edgemem memory keygen FILE`) or a passphrase."""
    key_tpm: str | int = ""
    """Instead of a file: context file or persistent handle of the key that a TPM keeps, as `tpm2_unseal -c` takes it."""
    key_tpm_auth: Secret = msgspec.field(default_factory=Secret)
    """Password or policy of that object, as `tpm2_unseal -p` takes it, such as "pcr:sha256:0,7"."""


class EngineSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings for models."""

    threads: Annotated[int, msgspec.Meta(ge=0, le=1024)] = 0
    """Threads per model; 0 = all cores of the board, at most 4."""
    runtime: list[str] = msgspec.field(default_factory=lambda: ["onnx"])
    """Runtimes by name, such as ["tensorrt", "onnx"]: the first one that is installed and can load a model is used."""
    runtimes: dict[str, dict[str, Any]] = {}
    """Settings of the runtimes, by name, such as `[engines.runtimes.onnx]`."""
    precision: list[Literal["float32", "float16", "int8"]] = []
    """Of the fetched cards for a role, those of the first precision in this list are used, then by their priority, such as ["float16"].
    `tools/quantize.py` makes such cards. Empty = by priority alone."""
    cards: list[str] = []
    """More folders of engine cards; a card there replaces the shipped one of the same name."""
    roles: dict[str, str] = {}
    """Card by role, such as `embed_joint = "siglip2-base-hub"`. For other roles the first fetched card is used."""

    def __post_init__(self) -> None:
        if not self.runtime or len(set(self.runtime)) < len(self.runtime):
            raise ValueError("runtime must name at least one runtime, each once")


class TaskSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of a language model for one task. Values that are not set come from the task "default", then from the caller."""

    max_tokens: Annotated[int, msgspec.Meta(ge=1)] | None = None
    """Limit for the answer."""
    thinking_tokens: Annotated[int, msgspec.Meta(ge=0)] | None = None
    """Tokens for thinking before the answer, in addition to `max_tokens`. Not set: none until a model needs some."""
    reasoning_effort: str | None = None
    """Such as "low", "medium", "high"; passed on to the server."""
    extra_body: dict[str, Any] | None = None
    """Further keys of the request, such as { chat_template_kwargs = { enable_thinking = false } }."""
    vision: bool | None = None
    """Whether pictures are sent. Not set: if the model accepts them, as its server reports or as earlier calls showed."""
    silence_s: Annotated[float, msgspec.Meta(gt=0)] | None = None
    """Longest time without data from the server; not set = 240."""


class QuestionCaps(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one question may spend on language models, as a recipe says."""

    tokens_per_question: Annotated[int, msgspec.Meta(ge=0)] = 60_000
    seconds_per_question: Annotated[float, msgspec.Meta(ge=0, le=1e6)] = 600.0
    """Time spent waiting for the model."""


class ModelSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which language model answers, and what one question may spend on it. Then the local planner finishes it."""

    chat: str = ""
    """Which one answers, by name, such as "openai"; empty = the first that is configured, "none" = none."""
    tokens_per_question: Annotated[int, msgspec.Meta(ge=0)] | None = None
    """Not set: as the recipe says in its `[models]`, 60,000 where it says nothing."""
    seconds_per_question: Annotated[float, msgspec.Meta(ge=0, le=1e6)] | None = None
    """Time spent waiting for the model. Not set: as the recipe says, 600 where it says nothing."""
    parallel: Annotated[int, msgspec.Meta(ge=1, le=64)] = 4
    """Calls at the same time, where several are independent, such as looks at several pictures."""
    send_pictures: bool = True
    """Whether pictures may be sent to the model; if not, only text is sent."""
    redact: list[str] = []
    """Regular expressions; matching text is blacked out in every text for a model."""
    read_questions: Literal["never", "other_languages", "always"] = "other_languages"
    """Which questions the model reads: those in other languages than English are put into English, of English ones ("always") a record of
    words of the question is filled. Planning, evidence and checks stay as they are."""
    word_answers: bool = False
    """Whether the model words the answers of the planner `local`, in words of the answer and its evidence only."""
    tasks: dict[str, TaskSettings] = {}
    """By task, such as `[models.tasks.planner]`; "default" applies to all tasks without their own value."""

    def __post_init__(self) -> None:
        for pattern in self.redact:
            try:
                re.compile(pattern)
            except (re.error, OverflowError, RecursionError) as error:
                raise ValueError(f"redact: {pattern!r} is not a regular expression ({error})") from None

    def caps(self, recipe: QuestionCaps) -> QuestionCaps:
        """What holds for a question: what is set here, over what its recipe says."""
        tokens, seconds = self.tokens_per_question, self.seconds_per_question
        return QuestionCaps(
            tokens_per_question=recipe.tokens_per_question if tokens is None else tokens,
            seconds_per_question=recipe.seconds_per_question if seconds is None else seconds,
        )

    def task(self, name: str) -> TaskSettings:
        """The settings of a task: its own ones, else those of "default"."""
        own, default = self.tasks.get(name, TaskSettings()), self.tasks.get("default", TaskSettings())
        both = {key: value if value is not None else getattr(default, key) for key, value in msgspec.structs.asdict(own).items()}
        return TaskSettings(**both)


class KeepRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How long data is kept: of a stream, of a place, or of a place in a stream."""

    keep_days: Annotated[float, msgspec.Meta(ge=0, le=1e6)]
    """Nothing older stays; 0 = it is never kept at all."""
    stream: str = "*"
    """Name of the stream, with * and ? as wildcards."""
    place: str = ""
    """Scene label, such as "bathroom"; empty = everything of the stream."""
    min_score: float = 0.3
    """Least score of the label."""


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


class Teaching(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How things are taught that no vocabulary names."""

    by_voice: bool = True
    """"This is my ..." said aloud does what `edgemem name` does with the moment that is in view then; anybody's voice may say it."""


class RunSource(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One stream that the daemon sees."""

    source: str = ""
    """A camera (`0`, `/dev/video0`), a URL (`rtsp://...`), a video file or a folder of pictures. What is secret in a URL is never shown."""
    camera: str = ""
    """Instead of `source`: a camera of the board by its name in `hardware.cameras`."""
    stream: str = ""
    """Name of the stream; empty = that of the camera or file."""
    recipe: str = ""
    """Recipe of the stream; empty = that of the settings."""

    def __post_init__(self) -> None:
        if bool(self.source.strip()) == bool(self.camera):
            raise ValueError("source must name a camera, a URL, a file or a folder; or camera a camera of the board")
        msgspec.structs.force_setattr(self, "source", address(self.source))


class RunSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of `edgemem run`."""

    memory: str = ""
    """The memory's directory."""
    sources: list[RunSource] = []
    """What the daemon sees, each in a stream of its own."""
    log: Literal["auto", "text", "journal", "json"] = "auto"
    """Form of its lines on stderr: "text"; "journal" with priorities; "json" with one object a line; "auto" = journal under systemd."""
    services: list[dict[str, Any]] = []
    """Services that run beside the agent: `use` names a service of a plugin, the other keys are its parameters."""


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All settings of a configuration file."""

    home: str = ""
    """Data directory; empty = EDGEMEM_HOME, else the XDG data directory."""
    recipe: str = "default"
    """Name or file of the recipe, as `edgemem recipes` lists them."""
    timezone: str = "UTC"
    """IANA time zone for "today" in questions and for times in answers."""
    plugins_dirs: list[str] = []
    """Folders of plugins in addition to those that are installed."""
    recipes_dirs: list[str] = []
    """Folders of recipes in addition to those of the plugins."""
    board: str = AUTO
    """The board whose file is the lowest layer: a name as `edgemem boards` lists it, a path of a file of your own, "auto" = found by the
    device tree, "none" = no file."""
    hardware: Hardware = Hardware()
    budget: Budget = Budget()
    governor: GovernorSettings = GovernorSettings()
    store: StoreSettings = msgspec.field(default_factory=StoreSettings)
    privacy: PrivacySettings = PrivacySettings()
    teach: Teaching = Teaching()
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


def parse_bytes(size: str | int) -> int:
    """`"64MiB"`, `"1.5 GB"`, `"4096"`, `4096` -> bytes. Raises UsageError with an example."""
    match = re.fullmatch(r"\s*([0-9]{1,20}(?:\.[0-9]{1,20})?)\s*([A-Za-z]{0,3})\s*", str(size))
    unit = _UNITS.get(match[2].upper()) if match else None
    if match is None or unit is None or (count := int(Fraction(match[1]) * unit)) >= 1 << 63:
        raise UsageError(f'"{str(size)[:40]}" is not a size; write it like 64MiB or 4GB')
    return count


class TogetherError(UsageError):
    """Each value is right, and two of them do not fit together."""


def convert(data: Any, kind: type[T], where: str) -> T:
    """Check plain data against a strict Struct. Raises UsageError naming `where`, the key, and the nearest valid key."""
    if why := _unusable(data):
        raise UsageError(f"{where}: {why}")
    try:
        return msgspec.convert(_mapped(data, reveal), kind, dec_hook=from_plain)
    except msgspec.ValidationError as error:
        message = str(error)
        unknown = re.search(r"unknown field `([^`]*)`", message)
        hint = nearest(unknown[1], _keys_at(kind, message)) if unknown else ""
        wrong = TogetherError if isinstance(error.__cause__, ValueError) else UsageError
        raise wrong(f"{where}: {_plain(message)}{hint}") from None


def _unusable(value: Any, key: str = "", depth: int = 0) -> str:
    """Why a value of plain data fits no setting, whatever its type: no number, no text that can be stored, tables without end; else ""."""
    if isinstance(value, dict | list):
        if depth == _DEEPEST:
            return f"`{key[:60]}`: tables stand in one another without end"
        inner = value.items() if isinstance(value, dict) else ((f"[{place}]", item) for place, item in enumerate(value))
        named = ((f"{key}{'.' if key and isinstance(value, dict) else ''}{name}", item) for name, item in inner)
        return next((why for name, item in named if (why := _unusable(item, name, depth + 1))), "")
    if isinstance(value, float) and not math.isfinite(value):
        return f"`{key}` must be a finite number"
    if isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
        return f"`{key}` is a number beyond what 64 bits hold"
    if isinstance(value, str) and ("\0" in (whole := reveal(value)) or not is_storable(whole)):
        return f"`{key}` is not UTF-8 text without NUL"
    return ""


def load(path: Path | None, overrides: Iterable[str] = ()) -> Settings:
    """Settings from a file (None: `EDGEMEM_CONFIG`, else none) over those of the board, below the environment and `KEY=VALUE` overrides in
    order (see `layers`). Raises UsageError, which names the layer and the key.
    """
    return settings_of(read_layers(path, overrides))


def settings_of(layers: Layers) -> Settings:
    """The settings of these layers. Each layer is checked on its own, so that an error names its place.

    What does not fit together in one layer is right if another layer sets the other value.
    """
    alone: TogetherError | None = None
    for layer in layers.layers:
        try:
            _checked(layer.data, layer.origin)
        except TogetherError as error:
            alone = alone or error
    try:
        settings = _checked(layers.merged(), "settings")
    except TogetherError as error:
        raise alone or error from None
    for size in (settings.budget.disk, settings.budget.ram):
        parse_bytes(size)
    zone(settings.timezone)
    sources = [_located(source, settings.hardware) for source in settings.run.sources]
    run = msgspec.structs.replace(settings.run, services=_with_secrets(settings.run.services), sources=sources)
    engines = msgspec.structs.replace(settings.engines, runtimes=_with_secrets(settings.engines.runtimes))
    return msgspec.structs.replace(settings, tables=_with_secrets(settings.tables), run=run, engines=engines)


def _checked(data: Mapping[str, Any], where: str) -> Settings:
    """Settings of plain data; tables that are not the core's own are those of plugins, which are checked later."""
    if "tables" in data:
        raise UsageError(f'{where}: unknown key "tables"')
    own = {field.encode_name for field in msgspec.structs.fields(Settings)}
    foreign = {name: value for name, value in data.items() if name not in own and isinstance(value, dict)}
    return convert({key: value for key, value in data.items() if key not in foreign} | {"tables": foreign}, Settings, where)


def _located(source: RunSource, hardware: Hardware) -> RunSource:
    """A source whose camera of the board is filled in. Raises UsageError if the board has no such camera."""
    if not source.camera:
        return source
    spec = hardware.cameras.get(source.camera)
    if spec is None:
        raise UsageError(f'run.sources: the board has no camera "{source.camera}"{nearest(source.camera, hardware.cameras)}')
    return msgspec.structs.replace(source, source=spec, stream=source.stream or source.camera, camera="")


def _with_secrets(value: Any, name: str = "") -> Any:
    """Plain data that a plugin has not checked yet, with what it calls a key or the like, and what is secret in addresses, as secrets."""
    if isinstance(value, dict):
        return {key: _with_secrets(inner, key) for key, inner in value.items()}
    if isinstance(value, list):
        return [_with_secrets(inner, name) for inner in value]
    if not isinstance(value, str):
        return value
    return Secret(value) if _SECRET_NAME.fullmatch(name) else address(value)


def _mapped(value: Any, change: Callable[[str], str]) -> Any:
    """Plain data with every text changed."""
    if isinstance(value, dict):
        return {key: _mapped(inner, change) for key, inner in value.items()}
    if isinstance(value, list):
        return [_mapped(inner, change) for inner in value]
    return change(value) if isinstance(value, str) else value


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
    """Settings as plain data that may be shown, plugins' tables beside the core's own, for `edgemem config show`."""
    plain: dict[str, Any] = msgspec.to_builtins(settings, enc_hook=shown_text)
    tables: dict[str, Any] = plain.pop("tables")
    return _mapped(_with_secrets(plain | tables), str)  # type: ignore[no-any-return]
