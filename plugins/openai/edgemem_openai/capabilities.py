"""Finds whether a server reports that its model accepts pictures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

_SIGHT = frozenset({"image", "images", "vision", "multimodal"})


def reports_vision(listed: bytes, props: bytes, model: str) -> bool | None:
    """What a server reports about `model` in `/v1/models` (first) and in llama.cpp's `/props`; None if it reports nothing.

    Known forms: `architecture.input_modalities` (OpenRouter), `input_modalities` and `modalities` lists, `capabilities` as a list
    (llama.cpp, Ollama) or as an object with `vision` (Mistral), `type = "vlm"` (LM Studio), `modalities.vision` (`/props`).
    """
    models, whole = _json(listed), _json(props)
    entries = [entry for key in ("data", "models") for entry in _list(models.get(key)) if isinstance(entry, Mapping)]
    named = [entry for entry in entries if model in {entry.get("id"), entry.get("name"), entry.get("model")}]
    for entry in named or (entries if len({entry.get("id", entry.get("name")) for entry in entries}) == 1 else []):
        told = _entry(entry)
        if told is not None:
            return told
    return _flag(whole.get("modalities"))


def _entry(entry: Mapping[str, Any]) -> bool | None:
    architecture = entry.get("architecture")
    places = [architecture.get("input_modalities")] if isinstance(architecture, Mapping) else []
    places += [entry.get("input_modalities"), entry.get("modalities"), entry.get("capabilities")]
    for place in places:
        told = _flag(place)
        if told is not None:
            return told
    return {"vlm": True, "llm": False}.get(str(entry.get("type")))


def _flag(place: Any) -> bool | None:
    if isinstance(place, Mapping):
        told = place.get("vision")
        return told if isinstance(told, bool) else None
    words = {str(word).lower() for word in _list(place)}
    return bool(words & _SIGHT) if words else None


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _json(body: bytes) -> Mapping[str, Any]:
    try:
        value = msgspec.json.decode(body)
    except (msgspec.MsgspecError, RecursionError):
        return {}
    return value if isinstance(value, Mapping) else {}
