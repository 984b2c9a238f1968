"""Element types: names of definitions and of graphs, torch types, and packing of 4-bit floats."""

from __future__ import annotations

import torch

_NAMES = {
    "float64": torch.float64,
    "float32": torch.float32,
    "float16": torch.float16,
    "bfloat16": torch.bfloat16,
    "float8_e4m3fn": torch.float8_e4m3fn,
    "float8_e5m2": torch.float8_e5m2,
    "float4_e2m1": torch.float4_e2m1fn_x2,
    "float4_e2m1fn_x2": torch.float4_e2m1fn_x2,
    "int64": torch.int64,
    "int32": torch.int32,
    "int16": torch.int16,
    "int8": torch.int8,
    "uint8": torch.uint8,
    "bool": torch.bool,
}

FP4 = torch.float4_e2m1fn_x2
FP8 = (torch.float8_e4m3fn, torch.float8_e5m2)
INTEGERS = (torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8)

# Magnitudes of E2M1 by code, and the midpoints between neighbours. A midpoint goes to the even code.
_E2M1_MIDPOINTS = (0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0)


def from_name(name: str) -> torch.dtype:
    return _NAMES[name]


def name_of(dtype: torch.dtype) -> str:
    """PyTorch's own name: "bfloat16", "float4_e2m1fn_x2", "complex64"."""
    return str(dtype).removeprefix("torch.")


def pack_e2m1(values: torch.Tensor) -> torch.Tensor:
    """Rounds float32 values to E2M1 (nearest, ties to even, beyond 6 to 6) and packs pairs along the last
    dimension into one byte, the even index in the low nibble."""
    magnitude = values.abs()
    code = torch.zeros_like(values, dtype=torch.uint8)
    for lower, midpoint in enumerate(_E2M1_MIDPOINTS):
        above = magnitude >= midpoint if lower % 2 == 1 else magnitude > midpoint
        code += above.to(torch.uint8)
    code += (values < 0).to(torch.uint8) * 8
    packed = code[..., 0::2] + code[..., 1::2] * 16
    return packed.contiguous().view(FP4)


def as_bytes(tensor: torch.Tensor) -> torch.Tensor:
    """A contiguous tensor's memory as a flat uint8 tensor: some types cannot be copied otherwise."""
    return tensor.reshape(-1).view(torch.uint8)


def copy_of(tensor: torch.Tensor) -> torch.Tensor:
    """A fresh contiguous copy of a contiguous tensor, of any type."""
    return as_bytes(tensor).clone().view(tensor.dtype).reshape(tensor.shape)
