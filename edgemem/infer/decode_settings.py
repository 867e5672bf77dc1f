"""Parameters of the decoders that come with edgemem, as an engine card sets them."""

from __future__ import annotations

from typing import Literal

import msgspec


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
