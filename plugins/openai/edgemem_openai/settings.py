"""The settings table `openai`, and the server of each task."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

import msgspec

from edgemem.errors import ChatError, UsageError
from edgemem.secret import Secret

OFFICIAL = "https://api.openai.com/v1"
KEY_VARIABLE = "OPENAI_API_KEY"

T = TypeVar("T")
P = TypeVar("P", "OpenAISettings", "RoleSettings")
_KEYS = ("base_url", "model", "api_key")
_VARIABLE = re.compile(r"EDGEMEM_OPENAI_(?:ROLES_(?P<task>[A-Z0-9_]+)_)?(?P<key>BASE_URL|MODEL|API_KEY)")


class RoleSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings for one task. Missing values come from the table above, except that a different server does not get the key of that
    table.
    """

    base_url: str | None = None
    api_key: Secret | None = None
    api_key_file: str | None = None
    model: str | None = None
    vision: bool | None = None
    usd_per_million_in: float | None = None
    usd_per_million_out: float | None = None

    def __post_init__(self) -> None:
        check_url(self.base_url or "")


class OpenAISettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Nothing is sent unless `base_url` or a `model` is set: a key in the environment alone has no effect."""

    base_url: str = ""
    """Such as http://127.0.0.1:8080/v1; empty with a model named = OpenAI's own."""
    api_key: Secret = msgspec.field(default_factory=Secret)
    """Better kept in a file or in the environment (OPENAI_API_KEY). Local servers need none."""
    api_key_file: str = ""
    model: str = ""
    """Empty = the only model of the server."""
    vision: bool | None = None
    """Whether the model accepts pictures. Not set: the server is asked; if it does not report it, the first picture is tried.
    `models.send_pictures = false` keeps all pictures on the board."""
    connect_s: float = 5.0
    call_s: float = 300.0
    """Longest time for one reply, including waits and retries."""
    retries: int = 2
    """Number of retries after 429, 5xx and lost connections, with increasing waits."""
    backoff_s: float = 0.5
    """First wait; each is twice the previous one, minus a random part of up to half."""
    rest_s: float = 20.0
    """A server that could not be reached is not tried again for this time; meanwhile the local planner answers."""
    tokens_per_day: int = 1_000_000
    """Limit for all tasks together, per UTC day; 0 = no limit."""
    usd_per_day: float = 0.0
    """Cost limit per UTC day; 0 = no limit. It needs the prices."""
    usd_per_million_in: float = 0.0
    usd_per_million_out: float = 0.0
    image_side_px: int = 1280
    image_bytes: int = 5_000_000
    """Limits of a picture that is sent (VAM appendix B.5)."""
    roles: dict[str, RoleSettings] = {}
    """By task, such as `[openai.roles.inspector]`: planner, router, inspector ..."""

    def __post_init__(self) -> None:
        check_url(self.base_url)
        for name in ("connect_s", "call_s", "image_side_px", "image_bytes"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} must be above 0")
        for name in ("retries", "backoff_s", "rest_s", "tokens_per_day", "usd_per_day", "usd_per_million_in", "usd_per_million_out"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} must not be negative")
        parts: tuple[OpenAISettings | RoleSettings, ...] = (self, *self.roles.values())
        if self.usd_per_day and not any(part.usd_per_million_in or part.usd_per_million_out for part in parts):
            raise ValueError("usd_per_day needs usd_per_million_in and usd_per_million_out")

    @property
    def configured(self) -> bool:
        """Whether the settings name a server or a model."""
        parts: tuple[OpenAISettings | RoleSettings, ...] = (self, *self.roles.values())
        return any(part.base_url or part.model for part in parts)


class Server(msgspec.Struct, frozen=True):
    """The server of a task, and its prices."""

    base_url: str
    api_key: Secret
    model: str
    vision: bool | None
    usd_per_million_in: float
    usd_per_million_out: float
    where: str
    """Its settings table, for messages: "openai" or "openai.roles.planner"."""
    key_variable: str = KEY_VARIABLE
    """The environment variable of its key."""

    @property
    def place(self) -> str:
        """Host and port, for messages."""
        return urlsplit(self.base_url).netloc

    @property
    def local(self) -> bool:
        """Whether it is on this machine, so that no proxy is used."""
        return (urlsplit(self.base_url).hostname or "") in {"127.0.0.1", "localhost", "::1"}

    def usd(self, tokens_in: int, tokens_out: int) -> float:
        """The cost of these tokens."""
        return (tokens_in * self.usd_per_million_in + tokens_out * self.usd_per_million_out) / 1e6


def server_for(task: str, settings: OpenAISettings, environment: Mapping[str, str]) -> Server:
    """The server of a task. Raises ChatError if its key file cannot be read, or if it has no server."""
    role = settings.roles.get(task, RoleSettings())
    where = f"openai.roles.{task}" if task in settings.roles else "openai"
    model = _first(role.model, None if role.base_url else settings.model, "")
    base_url = role.base_url or settings.base_url or (OFFICIAL if model else "")
    if not base_url:
        raise ChatError(f"there is no server for {task}: set openai.base_url or openai.roles.{task}.base_url")
    own = role.base_url is not None and role.base_url.rstrip("/") != settings.base_url.rstrip("/")
    key = role.api_key or key_in(role.api_key_file, where)
    if not key and not own:
        key = settings.api_key or key_in(settings.api_key_file, "openai") or Secret(environment.get(KEY_VARIABLE, "").strip())
    return Server(
        base_url=base_url.rstrip("/"),
        api_key=key,
        model=model,
        vision=settings.vision if role.vision is None else role.vision,
        usd_per_million_in=_first(role.usd_per_million_in, settings.usd_per_million_in),
        usd_per_million_out=_first(role.usd_per_million_out, settings.usd_per_million_out),
        where=where,
    )


def with_environment(settings: OpenAISettings, environment: Mapping[str, str]) -> OpenAISettings:
    """The settings; values that are not set come from the environment: EDGEMEM_OPENAI_BASE_URL, EDGEMEM_OPENAI_MODEL,
    EDGEMEM_OPENAI_API_KEY, and for a task such as the planner EDGEMEM_OPENAI_ROLES_PLANNER_BASE_URL and so on.

    Variables of other programs (OPENAI_BASE_URL) have no effect. Raises UsageError for an invalid address.
    """
    changed: dict[str, str] = {}
    roles = {task: dict[str, str]() for task in settings.roles}
    for variable, value in environment.items():
        if (found := _VARIABLE.fullmatch(variable)) and value.strip():
            own_key, given = found["key"].lower(), value.strip()
            table = changed if found["task"] is None else roles.setdefault(found["task"].lower(), {})
            table[own_key] = Secret(given) if own_key == "api_key" else given
    try:
        own = {task: _filled(settings.roles.get(task, RoleSettings()), values) for task, values in roles.items()}
        return msgspec.structs.replace(_filled(settings, changed), roles=own)
    except ValueError as error:
        raise UsageError(f"environment EDGEMEM_OPENAI_...: {error}") from None


def _filled(part: P, values: Mapping[str, str]) -> P:
    """`part` with values for its empty fields; its own key may be in a file."""
    own = {name for name in _KEYS if getattr(part, name)} | ({"api_key"} if part.api_key_file else set())
    return msgspec.structs.replace(part, **{name: value for name, value in values.items() if name not in own})


def _first(*values: T | None) -> T:
    return next(value for value in values if value is not None)


def key_in(path: str | None, where: str) -> Secret:
    """The key in a file; empty without a path. Raises ChatError, which names the settings table `where`."""
    if not path:
        return Secret()
    try:
        return Secret(Path(path).expanduser().read_text(encoding="utf-8").strip())
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise ChatError(f"{where}.api_key_file: {path} cannot be read ({reason})") from None


def check_url(url: str) -> None:
    """Raises ValueError for what is no address of a server, and for one that holds a password."""
    parts = urlsplit(url)
    if url and (parts.scheme not in {"http", "https"} or not parts.netloc):
        raise ValueError("base_url must start with http:// or https://, such as http://127.0.0.1:8080/v1")
    if parts.username or parts.password:
        raise ValueError("base_url must not hold a password: give it as api_key_file")
    if parts.query or parts.fragment:
        raise ValueError("base_url must have nothing behind a ? or #: a key belongs into api_key_file")
