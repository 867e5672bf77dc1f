"""Parameters of the converters: a card's `[convert.parameters]`."""

from __future__ import annotations

import msgspec


class BertSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Shape of the encoder; the number of layers comes from the file. `int8` quantises the weights of every MatMul."""

    heads: int = 12
    epsilon: float = 1e-12
    int8: bool = True


class LstmSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`prefix`: the path in the file to the tensors of the layers."""

    prefix: str = ""


class RepairSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """New shapes and names: `shapes` by old input or output name (a string is a free dimension), `rename` old to new."""

    shapes: dict[str, list[int | str]] = {}
    rename: dict[str, str] = {}


class TfjsSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`outputs` renames graph nodes; those not named are left out. `batch` makes the first dimension free."""

    outputs: dict[str, str]
    batch: bool = False


class TfliteSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`input` and `output` name the ONNX tensors; `features` and `weights` name the pooled activations and what the labels weigh them with,
    if needed.
    """

    input: str = "images"
    output: str = "probabilities"
    features: str = ""
    weights: str = ""
    quantised: bool = False
    """Keep the integers of the original, for a runtime that computes with integers; otherwise everything becomes float32."""
