"""Loads a candidate and calls it on the judge's tensors."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import torch

from .library import WorkerLibrary
from .loading import load_entry
from .memory import DTYPES, python_scalar, tensor_at
from .results import OutputSpec, results_of


class CandidateHost:
    def __init__(self, library: WorkerLibrary) -> None:
        self._library = library
        self._device = torch.device("cpu")
        self._entry: Callable[..., Any] | None = None
        self._destination_passing = True
        self._specs: list[OutputSpec] = []
        self._inputs: list[list[Any]] = []
        self._outputs: list[list[torch.Tensor]] = []
        # Results of sealed calls: their memory is part of the Seal.
        self._kept: list[list[torch.Tensor]] = []
        self._streams: dict[int, torch.cuda.ExternalStream] = {}

    def load(self, request: dict[str, Any]) -> None:
        self._device = torch.device(request["device"])
        if self._device.type == "cuda":
            if self._device.index is None:
                self._device = torch.device("cuda", 0)
            # All of PyTorch's memory comes from the window: a Seal is replayed at the same addresses. This must
            # precede the first allocation.
            torch.cuda.memory.change_current_allocator(
                torch.cuda.memory.CUDAPluggableAllocator(
                    self._library.path, "solmark_worker_alloc", "solmark_worker_free"
                )
            )
            torch.cuda.set_device(self._device)
        artefact = request["artefact"]
        self._destination_passing = artefact["destination_passing"]
        self._entry = load_entry(artefact)

    def bind(self, request: dict[str, Any]) -> None:
        regions = request["regions"]

        def at(tensor: dict[str, Any], slot: int) -> Any:
            dtype = DTYPES[tensor["dtype"]]
            if "scalar" in tensor:
                return python_scalar(tensor["scalar"], dtype)
            address = regions[tensor["region"]]["mapped"] + tensor["offset"] + slot * tensor["slot_stride"]
            return tensor_at(address, tensor["shape"], dtype, self._device)

        slots = range(request["slots"])
        self._kept = []
        self._inputs = [[at(tensor, slot) for tensor in request["inputs"]] for slot in slots]
        self._outputs = [[at(tensor, slot) for tensor in request["outputs"]] for slot in slots]
        self._specs = [
            OutputSpec(tensor["name"], tuple(tensor["shape"]), DTYPES[tensor["dtype"]], self._device)
            for tensor in request["outputs"]
        ]

    def call(self, slot: int, stream: int | None, copy_out: bool) -> None:
        with self._on(stream):
            if self._destination_passing:
                self._call_into(slot)
            else:
                self._call_for_results(slot, copy_out)

    def _on(self, stream: int | None) -> contextlib.AbstractContextManager[Any]:
        if self._device.type == "cpu":
            return contextlib.nullcontext()
        key = stream or 0
        if key not in self._streams:
            self._streams[key] = torch.cuda.ExternalStream(key, device=self._device)
        return torch.cuda.stream(self._streams[key])

    def _call_into(self, slot: int) -> None:
        assert self._entry is not None
        outputs = self._outputs[slot]
        self._entry(*self._inputs[slot], *outputs)
        for i, output in enumerate(outputs):
            # A candidate that copied a result with a gradient history into an output gave the output that
            # history: it would grow with every call.
            if output.requires_grad:
                outputs[i] = output.detach()

    def _call_for_results(self, slot: int, copy_out: bool) -> None:
        assert self._entry is not None
        results = results_of(self._entry(*self._inputs[slot]), self._specs)
        with torch.no_grad():
            if copy_out:
                for output, result in zip(self._outputs[slot], results, strict=True):
                    if output.dtype == torch.float4_e2m1fn_x2:  # no copy kernel, but bytes are bytes
                        output, result = output.view(torch.uint8), result.view(torch.uint8)
                    output.copy_(result)
                return
            settled = [result.detach().resolve_neg().contiguous() for result in results]
        self._kept.append(settled)
        for i, result in enumerate(settled):
            self._library.report_output(slot, i, result.data_ptr())
