"""What `load` and `workload` say, in types."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch

from . import dtypes
from .errors import OracleError

Scalar = int | float | bool


@dataclass(frozen=True)
class InputSpec:
    name: str
    dtype: torch.dtype
    is_scalar: bool
    description: str


@dataclass(frozen=True)
class OutputSpec:
    name: str
    dtype: torch.dtype


@dataclass(frozen=True)
class Problem:
    """The definition, as far as the oracle needs it."""

    name: str
    op_type: str
    inputs: list[InputSpec]
    outputs: list[OutputSpec]
    reference: str
    custom_inputs_entrypoint: str
    device: torch.device

    @staticmethod
    def decode(body: dict[str, Any]) -> Problem:
        return Problem(
            name=str(body.get("definition_name", "")),
            op_type=str(body.get("op_type") or ""),
            inputs=[
                InputSpec(i["name"], _dtype(i), bool(i["scalar"]), str(i.get("description") or ""))
                for i in body["inputs"]
            ],
            outputs=[OutputSpec(o["name"], _dtype(o)) for o in body["outputs"]],
            reference=str(body["reference"]),
            custom_inputs_entrypoint=str(body.get("custom_inputs_entrypoint") or ""),
            device=torch.device(body["device"]),
        )


@dataclass(frozen=True)
class BoundInput:
    spec: InputSpec
    shape: tuple[int, ...] | None  # None: a Python scalar
    source: str  # random, scalar, safetensors, custom
    value: Scalar | None = None
    path: str = ""
    key: str = ""


@dataclass(frozen=True)
class BoundOutput:
    spec: OutputSpec
    shape: tuple[int, ...]


@dataclass
class Workload:
    """One workload, and what is drawn once for it."""

    axes: dict[str, int]
    inputs: list[BoundInput]
    outputs: list[BoundOutput]
    drawn_scalars: dict[str, Scalar] | None = None
    last_seed: int | None = None
    files: dict[tuple[str, str], torch.Tensor] = field(default_factory=dict)
    warned: set[str] = field(default_factory=set)

    @staticmethod
    def decode(body: dict[str, Any], problem: Problem) -> Workload:
        if [i["name"] for i in body["inputs"]] != [i.name for i in problem.inputs]:
            raise OracleError("request", "the workload's inputs are not the definition's")
        if [o["name"] for o in body["outputs"]] != [o.name for o in problem.outputs]:
            raise OracleError("request", "the workload's outputs are not the definition's")
        inputs = []
        for item, spec in zip(body["inputs"], problem.inputs, strict=True):
            source = item["source"]
            shape = item.get("shape")
            inputs.append(
                BoundInput(
                    spec=spec,
                    shape=None if shape is None else tuple(int(n) for n in shape),
                    source=source["type"],
                    value=source.get("value"),
                    path=str(source.get("path", "")),
                    key=str(source.get("key", "")),
                )
            )
        outputs = [
            BoundOutput(spec, tuple(int(n) for n in item["shape"]))
            for item, spec in zip(body["outputs"], problem.outputs, strict=True)
        ]
        axes = {name: int(value) for name, value in body["axes"].items()}
        return Workload(axes, inputs, outputs, drawn_scalars=body.get("scalars"))

    def warn_once(self, warnings: list[str], text: str) -> None:
        if text not in self.warned:
            self.warned.add(text)
            warnings.append(text)


def _dtype(item: dict[str, Any]) -> torch.dtype:
    try:
        return dtypes.from_name(item["dtype"])
    except KeyError as error:
        raise OracleError(
            "request", f"{item.get('name')} has no dtype that the oracle knows: {error}"
        ) from error
