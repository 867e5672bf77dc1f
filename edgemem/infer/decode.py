"""The decoders that come with edgemem: what a model's arrays mean. Their parameters stand here, their code loads when one is used."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import msgspec

from edgemem.infer.runtime import Parts


class ClassifierSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Pixels become (pixel - mean) / std, in RGB order."""

    mean: tuple[float, float, float] = (0.0, 0.0, 0.0)
    std: tuple[float, float, float] = (1.0, 1.0, 1.0)
    batch: int = 8
    """Most pictures in one run: memory for activations grows with it."""


class NanodetSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Pixels become (pixel - mean) / std, in BGR order."""

    labels: tuple[str, ...]
    mean: tuple[float, float, float]
    std: tuple[float, float, float]
    min_score: float = 0.4
    max_overlap: float = 0.5
    """Intersection over union above which the weaker of two boxes of one class goes."""


class SentenceSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Parameters of a sentence embedder."""

    max_tokens: int = 256
    batch: int = 1
    """Texts in one run. Dynamic int8 scales over a whole run, so that a text's vector depends on its company: keep 1 there."""
    remember: int = 2048
    """Vectors kept for texts that come again."""


class DualSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Pre-processing of a dual encoder such as CLIP or SigLIP, and the names of its tensors."""

    side_px: int
    mean: tuple[float, float, float]
    std: tuple[float, float, float]
    """Of pixels in 0..1, RGB."""
    max_tokens: int
    image_input: str
    image_output: str
    text_input: str
    text_output: str
    text_mask: str = ""
    """Name of the attention mask, where the model wants one."""
    resize: Literal["stretch", "crop", "pad"] = "crop"
    """`stretch` to a square, `crop` the middle of the shorter side's square, or `pad` with the mean."""
    pad_token: int = 0
    end_token: int | None = None
    """Appended to every text that does not end with it already, where the tokenizer file does not do so."""
    fixed_length: bool = True
    """Pad every text to `max_tokens`, as SigLIP and CLIP were trained."""
    lower_case: bool = False
    prompt: str = "{}"
    """Put around a query, such as "a photo of {}"."""
    batch: int = 8


class FaceSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Parameters of CenterFace."""

    min_score: float = 0.5
    max_overlap: float = 0.3
    max_side_px: int = 640
    """Larger pictures are made this size first: 23 ms at 640x480."""


class VoiceSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Parameters of a speaker encoder over mel spectrograms; the defaults are Resemblyzer's."""

    bands: int = 40
    frames: int = 160
    """Of one window: 1.6 s."""
    step: int = 77
    """Frames from one window to the next: 1.3 windows a second."""
    max_windows: int = 8
    """Most windows of one utterance, spread over it."""
    loudness_dbfs: float = -30.0


class NoDecoderSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """For decoders without parameters."""


class Decoder(NamedTuple):
    """One entry of the table below, ready to become a component."""

    name: str
    factory: Callable[[Any, Parts], Any]
    settings: type[msgspec.Struct]
    summary: str


def _classifier(settings: ClassifierSettings, parts: Parts) -> Any:
    from edgemem.infer.decode_image import ImageClassifier

    return ImageClassifier(settings, parts)


def _nanodet(settings: NanodetSettings, parts: Parts) -> Any:
    from edgemem.infer.decode_image import NanodetDetector

    return NanodetDetector(settings, parts)


def _sentence_embedder(settings: SentenceSettings, parts: Parts) -> Any:
    from edgemem.infer.decode_text import SentenceEmbedder

    return SentenceEmbedder(settings, parts)


def _dual_encoder(settings: DualSettings, parts: Parts) -> Any:
    from edgemem.infer.decode_joint import DualEncoder

    return DualEncoder(settings, parts)


def _centerface(settings: FaceSettings, parts: Parts) -> Any:
    from edgemem.infer.decode_face import CenterFace

    return CenterFace(settings, parts)


def _face_embedder(_settings: NoDecoderSettings, parts: Parts) -> Any:
    from edgemem.infer.decode_face import AlignedFaceEmbedder

    return AlignedFaceEmbedder(parts)


def _label_bridge(_settings: NoDecoderSettings, parts: Parts) -> Any:
    from edgemem.infer.bridge import LabelBridge

    return LabelBridge(parts.uses["classify"], parts.uses.get("detect"), parts.uses["embed_text"], parts.cache_dir)


def _silero(_settings: NoDecoderSettings, parts: Parts) -> Any:
    from edgemem.infer.decode_speech import SileroDetector

    return SileroDetector(parts)


def _voice_embedder(settings: VoiceSettings, parts: Parts) -> Any:
    from edgemem.infer.decode_speech import MelVoiceEmbedder

    return MelVoiceEmbedder(settings, parts)


DECODERS = (
    Decoder("classifier", _classifier, ClassifierSettings, "probabilities over a list of labels"),
    Decoder("nanodet", _nanodet, NanodetSettings, "objects with boxes, as NanoDet puts them out"),
    Decoder("sentence_embedder", _sentence_embedder, SentenceSettings, "one vector for a sentence"),
    Decoder("dual_encoder", _dual_encoder, DualSettings, "pictures and text in one space: CLIP, SigLIP, MobileCLIP"),
    Decoder("label_bridge", _label_bridge, NoDecoderSettings, "pictures and text in one space, by what a classifier and a detector name"),
    Decoder("centerface", _centerface, FaceSettings, "faces with landmarks"),
    Decoder("face_embedder", _face_embedder, NoDecoderSettings, "one vector for a face"),
    Decoder("silero", _silero, NoDecoderSettings, "where someone speaks, as Silero puts it out"),
    Decoder("voice_embedder", _voice_embedder, VoiceSettings, "one vector for a voice"),
)
