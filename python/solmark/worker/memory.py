"""torch tensors over memory that is mapped already: no copies, nothing owned."""

from __future__ import annotations

import ctypes
import math
from typing import Any

import torch

# The names of definitions; both fp4 names are the packed pair, one byte an element of the packed shape.
DTYPES: dict[str, torch.dtype] = {
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


class _CudaBytes:
    """Device memory by the CUDA array interface."""

    def __init__(self, address: int, size: int) -> None:
        self.__cuda_array_interface__ = {
            "shape": (size,),
            "typestr": "|u1",
            "data": (address, False),
            "strides": None,
            "version": 3,
        }


def tensor_at(address: int, shape: list[int], dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    """A contiguous tensor over `address`. On the CPU its pages may be read-only: then a write is a fault."""
    size = math.prod(shape) * dtype.itemsize
    if size == 0:
        return torch.empty(shape, dtype=dtype, device=device)
    if device.type == "cpu":
        flat = torch.frombuffer((ctypes.c_char * size).from_address(address), dtype=torch.uint8)
    else:
        flat = torch.as_tensor(_CudaBytes(address, size), device=device)
    return flat.view(dtype).view(shape)


def python_scalar(value: Any, dtype: torch.dtype) -> int | float | bool:
    """A scalar input as the reference sees it. The value of a float input keeps the type that the workload gives it."""
    if dtype == torch.bool:
        return bool(value)
    return value if dtype.is_floating_point else int(value)
