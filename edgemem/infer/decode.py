"""The built-in decoders, which turn a model's arrays into records. Their code is loaded when one is used."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from edgemem.infer.decode_settings import (
    ClassifierSettings,
    DualSettings,
    FaceSettings,
    NanodetSettings,
    NoDecoderSettings,
    SentenceSettings,
    VoiceSettings,
)
from edgemem.infer.engines import DecoderParts


class Decoder(NamedTuple):
    """One entry of the table below, ready to become a component."""

    name: str
    factory: Callable[[Any, DecoderParts], Any]
    settings: type[msgspec.Struct]
    summary: str


def _classifier(settings: ClassifierSettings, parts: DecoderParts) -> Any:
    from edgemem.infer.decode_image import ImageClassifier

    return ImageClassifier(settings, parts)


def _nanodet(settings: NanodetSettings, parts: DecoderParts) -> Any:
    from edgemem.infer.decode_image import NanodetDetector

    return NanodetDetector(settings, parts)


def _sentence_embedder(settings: SentenceSettings, parts: DecoderParts) -> Any:
    from edgemem.infer.decode_text import SentenceEmbedder

    return SentenceEmbedder(settings, parts)


def _dual_encoder(settings: DualSettings, parts: DecoderParts) -> Any:
    from edgemem.infer.decode_joint import DualEncoder

    return DualEncoder(settings, parts)


def _centerface(settings: FaceSettings, parts: DecoderParts) -> Any:
    from edgemem.infer.decode_face import CenterFace

    return CenterFace(settings, parts)


def _face_embedder(_settings: NoDecoderSettings, parts: DecoderParts) -> Any:
    from edgemem.infer.decode_face import AlignedFaceEmbedder

    return AlignedFaceEmbedder(parts)


def _label_bridge(_settings: NoDecoderSettings, parts: DecoderParts) -> Any:
    from edgemem.infer.bridge import LabelBridge

    calibration = parts.card.space.calibration if parts.card.space is not None else None
    return LabelBridge(parts.uses["classify"], parts.uses.get("detect"), parts.uses["embed_text"], parts.cache_dir, calibration)


def _silero(_settings: NoDecoderSettings, parts: DecoderParts) -> Any:
    from edgemem.infer.decode_speech import SileroDetector

    return SileroDetector(parts)


def _voice_embedder(settings: VoiceSettings, parts: DecoderParts) -> Any:
    from edgemem.infer.decode_speech import MelVoiceEmbedder

    return MelVoiceEmbedder(settings, parts)


DECODERS = (
    Decoder("classifier", _classifier, ClassifierSettings, "probabilities over a list of labels"),
    Decoder("nanodet", _nanodet, NanodetSettings, "objects with boxes, from NanoDet"),
    Decoder("sentence_embedder", _sentence_embedder, SentenceSettings, "one vector for a sentence"),
    Decoder("dual_encoder", _dual_encoder, DualSettings, "pictures and text in one space: CLIP, SigLIP, MobileCLIP"),
    Decoder(
        "label_bridge", _label_bridge, NoDecoderSettings, "pictures and text in one space, from the names of a classifier and a detector"
    ),
    Decoder("centerface", _centerface, FaceSettings, "faces with landmarks"),
    Decoder("face_embedder", _face_embedder, NoDecoderSettings, "one vector for a face"),
    Decoder("silero", _silero, NoDecoderSettings, "speech or no speech, from Silero"),
    Decoder("voice_embedder", _voice_embedder, VoiceSettings, "one vector for a voice"),
)
