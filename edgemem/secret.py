"""Secrets: text that is used and never shown. API keys, passphrases, what a TPM is unlocked by, user and password of an address."""

from __future__ import annotations

import hmac
import re
from os import PathLike
from typing import Any, NoReturn, final

STARS = "***"
_ADDRESS = re.compile(
    r"(?P<scheme>(?:[a-z][a-z0-9+.-]*://|(?:rtsps?|rtmps?|https?|udp|tcp|srt|rtp|mms):)/*)(?P<path>[^?#]*)(?P<rest>[?#].*)?",
    re.IGNORECASE | re.DOTALL,
)
"""FFmpeg opens network addresses with any number of slashes after the scheme. What follows "?" or "#" is query and fragment."""


@final
class Secret(str):
    """A text that looks like stars to everything but `reveal`: its letters, to Python and every library in C, are the stars.

    So `repr`, `str`, `format`, `json`, string methods and whoever takes a `str` get what may be shown; a place that forgets to reveal it
    fails and leaks nothing. msgspec refuses to encode it without `shown_text` as `enc_hook`. `shown` is what may be seen of it, by default
    stars, or nothing where there is no secret. Two are equal when what they hide is.
    """

    __slots__ = ("_hidden",)
    _hidden: str

    def __new__(cls, hidden: str = "", shown: str | None = None) -> Secret:
        if shown is None:
            shown = STARS if hidden else ""
        made = super().__new__(cls, shown)
        made._hidden = hidden
        return made

    def __repr__(self) -> str:
        return f"Secret({str.__str__(self)!r})"

    def __eq__(self, other: object) -> bool:
        """Takes the same time wherever the two differ."""
        return isinstance(other, Secret) and hmac.compare_digest(reveal(self).encode("utf-8", "surrogatepass"), _bytes_of(other))

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self._hidden)

    def __copy__(self) -> Secret:
        return self

    def __deepcopy__(self, _memo: object) -> Secret:
        return self

    def __reduce_ex__(self, _protocol: object) -> NoReturn:
        raise TypeError("a secret is not written down")


def reveal(text: str) -> str:
    """What a secret hides; any other text as it is. Call it where the text is used, at the last moment, and nowhere else."""
    return text._hidden if isinstance(text, Secret) else text  # noqa: SLF001 - the one place that may


def shown_text(value: object) -> str:
    """`enc_hook` of msgspec: a secret as what may be seen of it. Raises TypeError for anything else that msgspec does not know."""
    if isinstance(value, Secret):
        return str(value)
    raise TypeError(f"{type(value).__name__} cannot be encoded")


def from_plain(kind: type[Any], value: object) -> Any:
    """`dec_hook` of msgspec: a secret of plain text. Raises ValueError for anything but text, without showing it."""
    if kind is Secret and isinstance(value, str):
        return Secret(reveal(value))
    raise ValueError("expected text")


def schema_of_secret(kind: type[Any]) -> dict[str, Any]:
    """`schema_hook` of msgspec: in settings a secret is text."""
    if kind is Secret:
        return {"type": "string"}
    raise NotImplementedError


def address(named: str | PathLike[str]) -> str:
    """An address, or a path as it is. User, password, query and fragment of an address are secret, shown as stars.

    `rtsp://me:word@host/cam?token=1` shows as `rtsp://***@host/cam?***`, and so it stands in messages, reports and memories. A password may
    hold what should have been escaped in it ("/", "@", "?"): where it cannot be told from the rest, the rest is hidden, too.
    """
    if isinstance(named, Secret):
        return named
    text = str(named)
    found = _ADDRESS.fullmatch(text)
    if found is None:
        return text
    _, at, place = found["path"].rpartition("@")
    rest = found["rest"] or ""
    if "@" in rest:
        return Secret(text, f"{found['scheme']}{STARS}")
    if not at and not rest:
        return text
    return Secret(text, f"{found['scheme']}{f'{STARS}@' if at else ''}{place}{f'{rest[0]}{STARS}' if rest else ''}")


def split_last(text: str, mark: str) -> tuple[str, str]:
    """What stands before and after the last `mark`, both with their secrets kept; ("", text) where there is none."""
    before, found, after = reveal(text).rpartition(mark)
    return (address(before), address(after)) if found else ("", text)


def _bytes_of(text: Secret) -> bytes:
    return reveal(text).encode("utf-8", "surrogatepass")
