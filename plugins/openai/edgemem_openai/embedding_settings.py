"""The settings of hosted embedding models: of the runtime `openai` (their servers), and of the decoder `embed_hosted` (their cards)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from edgemem.errors import ChatError
from edgemem.secret import Secret
from edgemem_openai.settings import KEY_VARIABLE, OFFICIAL, Server, check_url, key_in

Form = Literal["input", "messages"]
TABLE = "engines.runtimes.openai"
ADDRESS_VARIABLE = "EDGEMEM_EMBEDDINGS_BASE_URL"
OWN_KEY_VARIABLE = "EDGEMEM_EMBEDDINGS_API_KEY"


class CardServer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The server of one card. Missing values come from the table above, but a different server does not get the key of that table."""

    base_url: str = ""
    api_key: Secret = msgspec.field(default_factory=Secret)
    api_key_file: str = ""
    model: str = ""
    """Name of the model at this server; empty = as the card says."""
    usd_per_million: float | None = None

    def __post_init__(self) -> None:
        check_url(self.base_url)


class EmbeddingSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Nothing is sent unless a card of the format `embeddings-api` is in use and `base_url` is set."""

    base_url: str = ""
    """Such as http://127.0.0.1:8000/v1; empty = EDGEMEM_EMBEDDINGS_BASE_URL."""
    api_key: Secret = msgspec.field(default_factory=Secret)
    """Better kept in a file or in the environment (EDGEMEM_EMBEDDINGS_API_KEY). Local servers need none."""
    api_key_file: str = ""
    send_pictures: bool = False
    """Whether kept pictures may be sent to the server, each once. `models.send_pictures = false` keeps all pictures on the board."""
    batch: int = 16
    """Most texts or pictures in one request, where the server takes several."""
    parallel: int = 4
    """Requests at the same time, where the server takes one text or picture in a request."""
    connect_s: float = 5.0
    call_s: float = 60.0
    """Longest time for one request, including waits and retries."""
    retries: int = 2
    """Number of retries after 429, 5xx and lost connections, with increasing waits."""
    backoff_s: float = 0.5
    """First wait; each is twice the previous one, minus a random part of up to half."""
    rest_s: float = 20.0
    """A server that could not be reached or did not answer is not tried again for this time."""
    tokens_per_day: int = 10_000_000
    """Limit per UTC day, apart from that of language models; 0 = no limit. A picture counts as what the server reports, else as 1,000."""
    usd_per_day: float = 0.0
    """Cost limit per UTC day; 0 = no limit. It needs the price."""
    usd_per_million: float = 0.0
    cards: dict[str, CardServer] = {}
    """By card, such as `[engines.runtimes.openai.cards.my-card]`."""

    def __post_init__(self) -> None:
        check_url(self.base_url)
        for name in ("connect_s", "call_s", "batch", "parallel"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} must be above 0")
        for name in ("retries", "backoff_s", "rest_s", "tokens_per_day", "usd_per_day", "usd_per_million"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} must not be negative")
        if self.usd_per_day and not (self.usd_per_million or any(card.usd_per_million for card in self.cards.values())):
            raise ValueError("usd_per_day needs usd_per_million")


def with_address(settings: EmbeddingSettings, environment: Mapping[str, str]) -> EmbeddingSettings:
    """The settings, with the address of the environment if they have none. Raises ValueError for an invalid one."""
    given = environment.get(ADDRESS_VARIABLE, "").strip()
    return settings if settings.base_url or not given else msgspec.structs.replace(settings, base_url=given)


def server_of(card: str, model: str, settings: EmbeddingSettings, environment: Mapping[str, str]) -> Server:
    """The server of a card. Raises ChatError if it has none, or if its key file cannot be read."""
    own = settings.cards.get(card, CardServer())
    where = f"{TABLE}.cards.{card}"
    base_url = (own.base_url or settings.base_url).rstrip("/")
    if not base_url:
        raise ChatError(f"it has no server: set {TABLE}.base_url or {where}.base_url")
    key = own.api_key or key_in(own.api_key_file, where)
    if not key and base_url == settings.base_url.rstrip("/"):
        variable = KEY_VARIABLE if base_url == OFFICIAL and not environment.get(OWN_KEY_VARIABLE) else OWN_KEY_VARIABLE
        key = settings.api_key or key_in(settings.api_key_file, TABLE) or Secret(environment.get(variable, "").strip())
    price = settings.usd_per_million if own.usd_per_million is None else own.usd_per_million
    return Server(
        base_url=base_url, api_key=key, model=own.model or model, vision=None, usd_per_million_in=price, usd_per_million_out=0.0,
        where=where, key_variable=OWN_KEY_VARIABLE,
    )  # fmt: skip


class Wording(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a model expects with one kind of input, such as a query."""

    text: str = "{}"
    """Template of a text. Of a picture: the text beside it."""
    instruction: str = ""
    """The system message, where the form is `messages`."""
    extra: dict[str, Any] = {}
    """Further keys of the request, such as { task = "retrieval.query" } or { input_type = "search_query" }."""


class HostedSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Parameters of a card with this decoder."""

    model: str
    """Its name at the server."""
    form: Form = "input"
    """`input`: a list of texts and of {"image": ...} objects; `messages`: one chat per text or picture, as vLLM has it."""
    query: Wording = Wording()
    document: Wording = Wording()
    picture: Wording = Wording(text="")
    picture_px: int = 512
    """Longer side of a picture that is sent."""
    max_chars: int = 8000
    """Longer texts are cut, after redaction."""
    open_reply: bool = False
    """`messages` end with an empty one of the model."""
    extra: dict[str, Any] = {}
    """Further keys of every request, such as { dimensions = 512 }."""
    remember: int = 2048
    """Number of cached vectors of texts."""

    def __post_init__(self) -> None:
        for name, wording in (("query", self.query), ("document", self.document)):
            if "{}" not in wording.text:
                raise ValueError(f"{name}.text must hold {{}}, in the place of the text")
        if self.form == "input" and (self.open_reply or any(one.instruction for one in (self.query, self.document, self.picture))):
            raise ValueError('instruction and open_reply need form = "messages"; with "input" write the instruction into text')
        if self.form == "input" and self.picture.text:
            raise ValueError('picture.text needs form = "messages"')
        if self.picture_px < 1 or self.max_chars < 1:
            raise ValueError("picture_px and max_chars must be above 0")
