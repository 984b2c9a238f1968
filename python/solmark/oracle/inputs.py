"""One set of inputs from one seed: random by rules, from files, from the definition's own generator, or fixed."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import numpy
import torch

from . import dtypes, heuristics, values
from .errors import OracleError, describe_exception, is_out_of_memory
from .problem import BoundInput, Scalar, Workload
from .reference import Reference


def seed_everything(seed: int) -> None:
    """Python's, numpy's and torch's generators, CPU and CUDA."""
    random.seed(seed)
    numpy.random.seed([seed & 0xFFFFFFFF, (seed >> 32) & 0xFFFFFFFF])
    # PyTorch's CPU generator looks at the low 32 bits alone: fold the high ones in.
    # (As torch.manual_seed, which also spends a millisecond on kinds of device that are not used here.)
    folded = (seed ^ (seed >> 32 & 0xFFFFFFFF)) & 0xFFFFFFFFFFFFFFFF
    torch.default_generator.manual_seed(folded)
    if torch.cuda.is_initialized():
        torch.cuda.manual_seed_all(folded)


class InputSet:
    """Values of all inputs for one seed, in argument order, made one at a time to save memory."""

    def __init__(self, reference: Reference, workload: Workload, seed: int, warnings: list[str]) -> None:
        self._reference = reference
        self._workload = workload
        self._warnings = warnings
        self._device = reference.problem.device
        seed_everything(seed)
        self._custom = self._generate_custom()

    def __iter__(self) -> Any:
        for bound in self._workload.inputs:
            yield bound, self._value(bound)

    def scalars(self) -> dict[str, Scalar]:
        """The scalar inputs alone: no tensor is drawn."""
        return {b.spec.name: self._value(b) for b in self._workload.inputs if b.shape is None}  # type: ignore[misc]

    def _generate_custom(self) -> dict[str, Any]:
        if not any(i.source == "custom" for i in self._workload.inputs):
            return {}
        generator = self._reference.generator
        if generator is None:
            raise OracleError(
                "inputs", "the workload has custom inputs, but the definition has no custom_inputs_entrypoint"
            )
        name = self._reference.problem.custom_inputs_entrypoint
        known: dict[str, Any] = dict(self._workload.axes)
        known.update({i.spec.name: i.value for i in self._workload.inputs if i.source == "scalar"})
        try:
            made = generator(known, self._device)
        except (Exception, SystemExit) as error:
            if is_out_of_memory(error):
                raise OracleError("memory", f"{name} needs more memory than there is: {error}") from error
            raise OracleError(
                "inputs", f"{name} failed: {describe_exception(error, self._reference.file)}"
            ) from error
        if not isinstance(made, Mapping):
            raise OracleError(
                "inputs", f"{name} returned a {type(made).__name__}, not a dict of inputs by name"
            )
        return dict(made)

    def _value(self, bound: BoundInput) -> torch.Tensor | Scalar:
        spec = bound.spec
        if bound.source == "scalar":
            assert bound.value is not None
            return bound.value
        if bound.source == "custom":
            return self._custom_value(bound)
        if bound.source == "safetensors":
            return self._file_value(bound)
        if bound.source != "random":
            raise OracleError("request", f"input {spec.name} has an unknown source {bound.source}")
        if bound.shape is None:
            return heuristics.draw_scalar(spec.dtype)
        return heuristics.draw(
            spec.name,
            bound.shape,
            spec.dtype,
            self._device,
            spec.description,
            self._reference.problem.op_type,
        )

    def _custom_value(self, bound: BoundInput) -> torch.Tensor | Scalar:
        spec = bound.spec
        entry = self._reference.problem.custom_inputs_entrypoint
        if spec.name not in self._custom:
            raise OracleError("inputs", f"{entry} did not make the input {spec.name}")
        value = values.plain(self._custom[spec.name])
        if bound.shape is None:
            return self._custom_number(bound, value, entry)
        if bound.shape == () and isinstance(value, (bool, int, float)):
            value = torch.tensor(self._custom_number(bound, value, entry), dtype=spec.dtype)
        if not isinstance(value, torch.Tensor):
            raise OracleError("inputs", f"{entry} made {spec.name} a {type(value).__name__}, not a tensor")
        if reason := values.why_unusable(value):
            raise OracleError("inputs", f"{entry}: {spec.name} {reason}")
        value = values.as_pairs(value, spec.dtype)
        if value.dtype != spec.dtype:
            value = self._cast(bound, value, entry)
        return self._checked(bound, value, entry)

    def _custom_number(self, bound: BoundInput, value: Any, entry: str) -> Scalar:
        name, dtype = bound.spec.name, bound.spec.dtype
        if isinstance(value, torch.Tensor) and value.numel() == 1:
            value = value.item()
        if not isinstance(value, (bool, int, float)):
            raise OracleError("inputs", f"{entry} made {name} a {type(value).__name__}, not a number")
        number = values.number_of(value, dtype)
        if number is None:
            raise OracleError(
                "inputs",
                f"{entry} made {name} {value}, which is no {dtypes.name_of(dtype)}; mend {entry}, or the "
                "definition's dtype",
            )
        return number

    def _cast(self, bound: BoundInput, value: torch.Tensor, entry: str) -> torch.Tensor:
        """Other tools pass a generator's tensors on without a look at their dtype."""
        name, dtype = bound.spec.name, bound.spec.dtype
        cast = values.harmless_cast(value.detach(), dtype)
        if cast is None:
            return value
        self._workload.warn_once(
            self._warnings,
            f"{entry} makes {name} as {dtypes.name_of(value.dtype)}; it was cast to the declared "
            f"{dtypes.name_of(dtype)}",
        )
        return cast

    def _file_value(self, bound: BoundInput) -> torch.Tensor:
        place = (bound.path, bound.key)
        if place not in self._workload.files:
            stored = values.as_pairs(_read_tensor(*place), bound.spec.dtype)
            self._workload.files[place] = self._checked(bound, stored, bound.path)
        return self._workload.files[place]

    def _checked(self, bound: BoundInput, value: torch.Tensor, maker: str) -> torch.Tensor:
        assert bound.shape is not None
        name, dtype = bound.spec.name, bound.spec.dtype
        value = value.detach()
        if tuple(value.shape) != bound.shape:
            pairs = ", counted in pairs," if dtype == dtypes.FP4 else ""
            raise OracleError(
                "inputs",
                f"{maker}: {name} has shape {list(value.shape)}, but {list(bound.shape)}{pairs} is declared",
            )
        if value.dtype != dtype:
            raise OracleError(
                "inputs",
                f"{maker}: {name} is {dtypes.name_of(value.dtype)}, but {dtypes.name_of(dtype)} is declared",
            )
        return value


def _read_tensor(path: str, key: str) -> torch.Tensor:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="pt", device="cpu") as file:
            if key not in file.keys():
                raise OracleError("inputs", f"{path} has no tensor {key}")
            return file.get_tensor(key)
    except (OSError, SafetensorError) as error:
        raise OracleError("inputs", f"{path} cannot be read: {error}") from error


def keep_scalars(workload: Workload, scalars: dict[str, Scalar], warnings: list[str]) -> dict[str, Scalar]:
    """The scalars of the workload's first set; later sets' draws give way to them."""
    if workload.drawn_scalars is None:
        workload.drawn_scalars = dict(scalars)
    for name, value in scalars.items():
        custom = any(i.spec.name == name and i.source == "custom" for i in workload.inputs)
        if custom and value != workload.drawn_scalars[name]:
            workload.warn_once(
                warnings,
                f"the generator makes another {name} for another seed; the first set's value is kept",
            )
    return workload.drawn_scalars


def make_arguments(
    reference: Reference, workload: Workload, seed: int, warnings: list[str], keep: bool = True
) -> list[torch.Tensor | Scalar]:
    """The arguments of `run` for a seed, as fresh contiguous tensors on the device."""
    made: list[torch.Tensor | Scalar] = []
    scalars: dict[str, Scalar] = {}
    device = reference.problem.device
    for bound, value in InputSet(reference, workload, seed, warnings):
        if isinstance(value, torch.Tensor):
            value = dtypes.copy_of(value.to(device).contiguous())
        else:
            scalars[bound.spec.name] = value
        made.append(value)
    kept = keep_scalars(workload, scalars, warnings) if keep else (workload.drawn_scalars or scalars)
    return [kept.get(b.spec.name, v) for b, v in zip(workload.inputs, made, strict=True)]
