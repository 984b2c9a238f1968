"""What a reference or a generator hands over, made plain: Python's numbers and PyTorch's dense tensors."""

from __future__ import annotations

import contextlib
import math
from typing import Any

import numpy
import torch

from . import dtypes

_WIDE = (torch.float64, torch.float32, torch.float16, torch.bfloat16)
_WHOLE = (torch.bool, *dtypes.INTEGERS)


def plain(value: Any) -> Any:
    """numpy's numbers and arrays as Python's and PyTorch's; anything else as it is."""
    if isinstance(value, numpy.generic):
        return value.item()
    if isinstance(value, numpy.ndarray):
        try:
            return torch.tensor(value)
        except TypeError:  # of objects, of text: whoever asked says that it is no tensor
            return value
    return value


def why_unusable(value: torch.Tensor) -> str:
    """Why a tensor has no memory that can be copied, with the mend; empty when it has."""
    if value.is_nested:
        return "is a nested tensor; return it with torch.nested.to_padded_tensor()"
    if value.is_quantized:
        return "is a quantized tensor; return it with .dequantize()"
    if value.layout != torch.strided:
        return f"has the layout {value.layout}; return it with .to_dense()"
    if value.device.type == "meta":
        return "is on the device meta, which keeps no values; make it on the device that is given"
    return ""


def as_pairs(value: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Bytes for packed 4-bit floats and the other way round: the same bits. Other tensors as they are."""
    bytes_ = (torch.uint8, torch.int8)
    if (dtype == dtypes.FP4 and value.dtype in bytes_) or (value.dtype == dtypes.FP4 and dtype in bytes_):
        return value.contiguous().view(dtype)
    return value


def harmless_cast(value: torch.Tensor, dtype: torch.dtype) -> torch.Tensor | None:
    """The tensor in another dtype, for one float for another and for integers that fit; else None."""
    if value.dtype in _WIDE and dtype in _WIDE:
        return value.to(dtype)
    if value.dtype in _WHOLE and dtype in _WHOLE:
        cast = value.to(dtype)
        return cast if torch.equal(cast.to(value.dtype), value) else None
    return None


def number_of(value: float, dtype: torch.dtype) -> int | float | bool | None:
    """A number as an input of this dtype takes it, by the reader's rule for scalars; None when it does not fit."""
    if dtype not in _WHOLE:
        with contextlib.suppress(OverflowError):
            return value if isinstance(value, float) or abs(value) < 1 << 63 else float(value)
        return None
    if not math.isfinite(value) or value != int(value):
        return None
    whole = int(value)
    if dtype == torch.bool:
        return bool(whole) if whole in (0, 1) else None
    limits = torch.iinfo(dtype)
    return whole if limits.min <= whole <= limits.max else None
