"""From what a return-style candidate returns to one checked tensor for each declared output."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import torch

from .library import CALL_WRONG_DEVICE, CALL_WRONG_DTYPE, CALL_WRONG_SHAPE, CandidateError, WrongResult


@dataclasses.dataclass(frozen=True)
class OutputSpec:
    name: str
    shape: tuple[int, ...]
    dtype: torch.dtype
    device: torch.device


def _one_for_each(returned: Any, specs: list[OutputSpec]) -> list[Any]:
    if isinstance(returned, Mapping):
        missing = [spec.name for spec in specs if spec.name not in returned]
        if missing:
            raise CandidateError(f"the returned dict has no key `{missing[0]}`")
        return [returned[spec.name] for spec in specs]
    if isinstance(returned, (tuple, list)):
        if len(returned) != len(specs):
            raise CandidateError(f"the candidate returned {len(returned)} values, expected {len(specs)}")
        return list(returned)
    if len(specs) != 1:
        raise CandidateError(
            f"the candidate returned one {type(returned).__name__}, expected {len(specs)} values as a tuple, "
            "a list or a dict"
        )
    return [returned]


def _as_tensor(value: Any, spec: OutputSpec) -> torch.Tensor:
    # A subclass may put its work off until somebody looks, past the end of the clock.
    if type(value) is torch.Tensor or type(value) is torch.nn.Parameter:
        return value
    if isinstance(value, torch.Tensor):
        raise CandidateError(
            f"output `{spec.name}` is a {type(value).__name__}, a subclass of torch.Tensor: "
            "return a plain tensor"
        )
    try:
        return torch.as_tensor(value, dtype=spec.dtype, device=spec.device)
    except (TypeError, ValueError, RuntimeError) as error:
        kind = type(value).__name__
        raise CandidateError(f"output `{spec.name}` is a {kind}, which is no tensor: {error}") from None


def _check(tensor: torch.Tensor, spec: OutputSpec) -> None:
    if tensor.layout != torch.strided:
        raise CandidateError(f"output `{spec.name}` has the layout {tensor.layout}, expected torch.strided")
    if tuple(tensor.shape) != spec.shape:
        raise WrongResult(
            CALL_WRONG_SHAPE,
            f"output `{spec.name}` has shape {list(tensor.shape)}, expected {list(spec.shape)}",
        )
    if tensor.dtype != spec.dtype:
        raise WrongResult(
            CALL_WRONG_DTYPE, f"output `{spec.name}` has dtype {tensor.dtype}, expected {spec.dtype}"
        )
    if tensor.device != spec.device:
        raise WrongResult(
            CALL_WRONG_DEVICE, f"output `{spec.name}` is on {tensor.device}, expected {spec.device}"
        )


def results_of(returned: Any, specs: list[OutputSpec]) -> list[torch.Tensor]:
    """One tensor an output, of the declared shape, dtype and device; else an exception that says why not."""
    tensors = []
    for value, spec in zip(_one_for_each(returned, specs), specs, strict=True):
        tensor = _as_tensor(value, spec)
        _check(tensor, spec)
        tensors.append(tensor)
    return tensors
