"""Values of random inputs by their names, as SOL-ExecBench draws them: the first rule that fits wins.

A norm weight of ones or a softmax row is what the reference expects there; plain normals would often overflow or
make a branch of the reference meaningless. docs/inputs.md lists the rules.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch

from . import dtypes

Shape = tuple[int, ...]
_DIGITS = "0123456789"
_BINARY_MASKS = {"x_mask", "text_mask", "aspect_ratio_mask", "drop_mask", "attention_mask"}
_BINARY_WORDS = ("binary", "{0, 1}", "0 or 1", "1.0 for valid", "0.0 for masked")
_COSINES = {"cos", "cos_cached", "rope_cos"}
_SINES = {"sin", "sin_cached", "rope_sin"}
_POSITIVE = ("rstd", "std", "variance", "var")
_DECAYS = {"A_log": (-5.0, -1.0), "A": (-1.0, -0.001), "g": (-5.0, 0.0)}
_SOFTMAXES = {"attn_weights", "attention_weights", "routing_weights"}
_WEIGHT_SUFFIXES = (
    "_weight",
    "_weights",
    "_proj",
    "_projs",
    "_proj_weight",
    "_proj_weights",
    "_weight_matrix",
)


def _norm_parameter(name: str, kind: str) -> bool:
    if not name.endswith("_" + kind):
        return False
    stem = name.removesuffix("_" + kind)
    return stem.endswith(("_norm", "_layernorm", "layernorm")) or stem.rstrip(_DIGITS).endswith("norm")


def _causal_mask(name: str, shape: Shape, description: str) -> bool:
    if len(shape) < 2 or shape[-1] != shape[-2]:
        return False
    return name in ("attention_mask", "causal_mask") or (
        "attention mask" in description and "causal" in description
    )


def _binary_mask(name: str, description: str) -> bool:
    return name in _BINARY_MASKS or (
        name.endswith("_mask") and any(word in description for word in _BINARY_WORDS)
    )


def _positive(name: str) -> bool:
    stem = name.rstrip(_DIGITS)
    return any(n in _POSITIVE or n.endswith(tuple("_" + p for p in _POSITIVE)) for n in (name, stem))


def _softmax_rows(name: str, description: str) -> bool:
    return name in _SOFTMAXES or ("softmax" in description and "output" in description)


def _weight_matrix(name: str, shape: Shape) -> bool:
    return len(shape) >= 2 and any(
        n == "weight" or n.endswith(_WEIGHT_SUFFIXES) for n in (name, name.rstrip(_DIGITS))
    )


def rule_for(name: str, shape: Shape, description: str) -> str | None:
    """The name of the first rule that fits; None: plain normals."""
    words = description.lower()
    rules: list[tuple[str, Callable[[], bool]]] = [
        ("norm_weight", lambda: _norm_parameter(name, "weight")),
        ("norm_bias", lambda: _norm_parameter(name, "bias")),
        ("causal_mask", lambda: _causal_mask(name, shape, words)),
        ("binary_mask", lambda: _binary_mask(name, words)),
        ("cosine", lambda: name in _COSINES),
        ("sine", lambda: name in _SINES),
        ("positive", lambda: _positive(name)),
        ("decay_sum", lambda: name == "A_cumsum"),
        ("decay", lambda: name in _DECAYS),
        ("softmax", lambda: _softmax_rows(name, words)),
        ("weight_matrix", lambda: _weight_matrix(name, shape)),
    ]
    return next((rule for rule, fits in rules if fits()), None)


def draw_by_rule(
    rule: str, name: str, shape: Shape, dtype: torch.dtype, device: torch.device
) -> torch.Tensor:
    """A tensor of one of the four wide float types by the rule's recipe."""

    def normal(kind: torch.dtype) -> torch.Tensor:
        return torch.randn(shape, dtype=kind, device=device)

    def uniform(low: float, high: float) -> torch.Tensor:
        return torch.empty(shape, dtype=dtype, device=device).uniform_(low, high)

    if rule == "norm_weight":
        return torch.ones(shape, dtype=dtype, device=device)
    if rule == "norm_bias":
        return torch.zeros(shape, dtype=dtype, device=device)
    if rule == "causal_mask":
        lowest = torch.full(shape, torch.finfo(dtype).min, dtype=dtype, device=device)
        return torch.triu(lowest, diagonal=1)
    if rule == "binary_mask":
        return torch.randint(0, 2, shape, device=device).to(dtype)
    if rule in ("cosine", "sine"):
        angle = normal(torch.float32).clamp_(-math.pi, math.pi)
        return (torch.cos(angle) if rule == "cosine" else torch.sin(angle)).to(dtype)
    if rule == "positive":
        return normal(dtype).abs() + 0.1
    if rule == "decay_sum":
        return uniform(-0.1, 0.0).cumsum(dim=-1)
    if rule == "decay":
        return uniform(*_DECAYS[name])
    if rule == "softmax":
        return torch.softmax(normal(torch.float32), dim=-1).to(dtype)
    if rule == "weight_matrix":
        return normal(dtype) / math.sqrt(max(shape[-1], 1))
    raise AssertionError(rule)


def draw_plain(shape: Shape, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    """A tensor of any type when no rule fits. The shape of packed 4-bit floats is the packed one."""
    if dtype in (torch.float64, torch.float32, torch.float16, torch.bfloat16):
        return torch.randn(shape, dtype=dtype, device=device)
    if dtype in dtypes.FP8:
        return torch.randn(shape, dtype=torch.float32, device=device).clamp_(-2.0, 2.0).to(dtype)
    if dtype == dtypes.FP4:
        unpacked = (*shape[:-1], shape[-1] * 2) if shape else (2,)
        return dtypes.pack_e2m1(torch.randn(unpacked, dtype=torch.float32, device=device)).reshape(shape)
    if dtype == torch.bool:
        return torch.randint(0, 2, shape, dtype=torch.bool, device=device)
    low, high = {torch.int8: (-128, 128), torch.uint8: (0, 256)}.get(dtype, (-1024, 1024))
    return torch.randint(low, high, shape, dtype=dtype, device=device)


def draw(
    name: str, shape: Shape, dtype: torch.dtype, device: torch.device, description: str, op_type: str
) -> torch.Tensor:
    """One random input. Rules are for wide floats; integers ignore the axis they may index."""
    wide = dtype in (torch.float64, torch.float32, torch.float16, torch.bfloat16)
    rule = rule_for(name, shape, description) if wide else None
    if rule is not None:
        value = draw_by_rule(rule, name, shape, dtype, device)
    else:
        value = draw_plain(shape, dtype, device)
    if op_type == "sampling" and name == "probs" and wide:
        value = torch.softmax(value, dim=-1)
    return value


def draw_scalar(dtype: torch.dtype) -> float | int | bool:
    """A Python scalar, plain rules (names mean nothing for scalars)."""
    return draw_plain((), torch.float32 if dtype == dtypes.FP4 else dtype, torch.device("cpu")).item()
