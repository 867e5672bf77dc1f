"""Plans on disk: the key that says for what a plan was built, and the store that gives out only plans which this device built for it."""

from __future__ import annotations

import hashlib
from pathlib import Path

import msgspec

from edgemem.extend import EngineError, Model, make_directory, write_file
from edgemem_tensorrt import TensorRTSettings
from edgemem_tensorrt.board import Seal

BUILDER = 1
"""Version of `build.py`: a plan of another version is built again."""

_WORDS = {
    "onnx_sha256": "another model file",
    "shapes": "other tensors or sizes of the card",
    "settings": "other settings",
    "builder": "another version of edgemem",
}
"""Fields of a key whose values say nothing to a person, in words."""


class PlanKey(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Everything on which a plan depends. If one value differs, the plan is not used."""

    onnx_sha256: str
    TensorRT: str
    CUDA: str
    """Driver and library, such as "12.6/12.6"."""
    GPU: str
    """Name and compute capability, such as "Orin 8.7"."""
    L4T: str
    """Release of Linux for Tegra; empty on other machines."""
    settings: str
    shapes: str
    builder: int = BUILDER

    def differs(self, other: PlanKey) -> str:
        """In words how a plan with the key `other` differs from what is needed; empty if it does not."""
        found = []
        for name in self.__struct_fields__:
            here, there = getattr(self, name), getattr(other, name)
            if here != there:
                found.append(_WORDS.get(name) or f"{name} {there or 'none'}, here is {here or 'none'}")
        return ", ".join(found)


def settings_text(settings: TensorRTSettings) -> str:
    """The settings that change a plan, as text. Where memory is and how long a build may take does not."""
    return f"workspace_mib={settings.workspace_mib} optimisation_level={settings.optimisation_level} tf32={settings.tf32}"


def shapes_text(model: Model) -> str:
    """The tensors of a card and their sizes, as text."""
    return msgspec.json.encode([model.inputs, model.outputs, model.ranges], order="deterministic").decode()


class Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is written beside a plan."""

    key: PlanKey
    plan_sha256: str
    size_bytes: int
    built_s: float
    """How long the build took."""


class Sealed(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A manifest and its seal."""

    manifest: Manifest
    seal: str


class PlanStore:
    """One plan for each model, in `folder/<card>/<model>.plan`; what was built for another key is replaced by the next build."""

    def __init__(self, folder: Path, root: Path = Path("/")) -> None:
        """`root`: where the files that identify the board are looked for."""
        self.folder = folder
        self._seal = Seal(folder, root)

    def place(self, card: str, model: str) -> Path:
        """Where the plan of a model is or will be."""
        return self.folder / card / f"{model}.plan"

    def timing_cache(self, key: PlanKey) -> Path:
        """Timings of kernels, which belong to a device and to versions: a build reuses those of earlier models."""
        versions = f"{key.TensorRT}\n{key.CUDA}\n{key.GPU}\n{key.L4T}"
        return self.folder / f"timing-{hashlib.sha256(versions.encode()).hexdigest()}.cache"

    def problem(self, card: str, model: str, key: PlanKey) -> str:
        """Why there is no plan to use; empty if there is one."""
        found = self._usable(card, model, key)
        return found if isinstance(found, str) else ""

    def read(self, card: str, model: str, key: PlanKey) -> bytes:
        """The plan of a model. Raises EngineError if there is none that this device built for exactly this key."""
        found = self._usable(card, model, key)
        if isinstance(found, str):
            raise EngineError(f"{found}; run: edgemem engines build {card}")
        return found

    def write(self, card: str, model: str, key: PlanKey, plan: bytes, built_s: float) -> None:
        """Store a plan that was just built here, in place of an older one."""
        manifest = Manifest(key, hashlib.sha256(plan).hexdigest(), len(plan), built_s)
        place = self.place(card, model)
        make_directory(place.parent)
        write_file(place, plan)
        sealed = Sealed(manifest, self._seal.mark(_canonical(manifest)))
        write_file(place.with_suffix(".json"), msgspec.json.encode(sealed))

    def _usable(self, card: str, model: str, key: PlanKey) -> bytes | str:
        """The plan, else why there is none to use: one that is damaged must be built again."""
        found = self._manifest(card, model, key)
        if isinstance(found, str):
            return found
        try:
            plan = self.place(card, model).read_bytes()
        except OSError:
            plan = b""
        if len(plan) != found.size_bytes or hashlib.sha256(plan).hexdigest() != found.plan_sha256:
            return "its plan is damaged"
        return plan

    def _manifest(self, card: str, model: str, key: PlanKey) -> Manifest | str:
        """The manifest of a usable plan, else why there is none."""
        try:
            sealed = msgspec.json.decode(self.place(card, model).with_suffix(".json").read_bytes(), type=Sealed)
        except FileNotFoundError:
            return "it has no plan for this device yet"
        except (OSError, msgspec.MsgspecError):
            return "what is written beside its plan cannot be read"
        if not self._seal.holds(_canonical(sealed.manifest), sealed.seal):
            return "its plan was not built by this device and is refused"
        if differs := key.differs(sealed.manifest.key):
            return f"its plan is for {differs}"
        return sealed.manifest


def _canonical(manifest: Manifest) -> bytes:
    return msgspec.json.encode(manifest, order="deterministic")
