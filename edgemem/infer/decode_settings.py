"""Parameters of the built-in decoders, as an engine card sets them."""

from __future__ import annotations

from typing import Literal

import msgspec


class ClassifierSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Pixels become (pixel - mean) / std, in RGB order."""

    mean: tuple[float, float, float] = (0.0, 0.0, 0.0)
    std: tuple[float, float, float] = (1.0, 1.0, 1.0)
    batch: int = 8
    """Most pictures in one run; a larger number needs more memory for activations."""
    label_weights: str = ""
    """The tensor in the ONNX file by which the last layer weighs the features for each label: [labels, features], float or int8 of one
    scale."""


class NanodetSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Pixels become (pixel - mean) / std, in BGR order."""

    labels: tuple[str, ...]
    mean: tuple[float, float, float]
    std: tuple[float, float, float]
    min_score: float = 0.4
    max_overlap: float = 0.5
    """If two boxes of one class have a larger intersection over union, the one with the lower score is removed."""


class SentenceSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Parameters of a sentence embedder."""

    max_tokens: int = 256
    batch: int = 1
    """Texts in one run. Use 1 with dynamic int8: its scale covers the whole run, so that a text's vector would depend on the other
    texts."""
    remember: int = 2048
    """Number of cached vectors."""


class DualSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Pre-processing of a dual encoder such as CLIP or SigLIP, and the names of its tensors."""

    side_px: int
    mean: tuple[float, float, float]
    std: tuple[float, float, float]
    """Standard deviation of pixels in 0..1, RGB."""
    max_tokens: int
    image_input: str
    image_output: str
    text_input: str
    text_output: str
    text_mask: str = ""
    """Name of the attention mask, if the model needs one."""
    resize: Literal["stretch", "crop", "pad"] = "crop"
    """`stretch` to a square, `crop` the middle of the shorter side's square, or `pad` with the mean."""
    pad_token: int = 0
    end_token: int | None = None
    """Token appended to every text that does not end with it, if the tokenizer file does not do this."""
    fixed_length: bool = True
    """Pad every text to `max_tokens`, as SigLIP and CLIP were trained."""
    lower_case: bool = False
    prompt: str = "{}"
    """Template for a query, such as "a photo of {}"."""
    batch: int = 8


class FaceSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Parameters of CenterFace."""

    min_score: float = 0.5
    max_overlap: float = 0.3
    max_side_px: int = 640
    """Larger pictures are first resized to this: 23 ms at 640x480."""


class VoiceSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Parameters of a speaker encoder over mel spectrograms; the defaults are Resemblyzer's."""

    bands: int = 40
    frames: int = 160
    """Frames in one window: 1.6 s."""
    step: int = 77
    """Frames from one window to the next: 1.3 windows per second."""
    max_windows: int = 8
    """Most windows of one utterance, at equal distances."""
    loudness_dbfs: float = -30.0


class NoDecoderSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """For decoders without parameters."""
