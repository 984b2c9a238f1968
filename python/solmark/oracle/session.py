"""The state between requests: the reference, the workload, the address window."""

from __future__ import annotations

import contextlib
from typing import Any

import torch

from . import dtypes
from .cuda_vmm import Driver, Window
from .errors import OracleError
from .flags import FlagGuard
from .inputs import InputSet, keep_scalars, make_arguments, seed_everything
from .problem import Problem, Scalar, Workload
from .record import record
from .reference import Reference
from .regions import MappedRegions
from .timing import time_reference


class Session:
    def __init__(self, recorder: bool = False) -> None:
        """A recorder sees no device: it records on fake tensors, and does nothing else."""
        self._flags = FlagGuard()
        self._recorder = recorder
        self._reference: Reference | None = None
        self._workload: Workload | None = None
        self._window: Window | None = None
        self._regions: MappedRegions | None = None

    def close(self) -> None:
        self._unmap()
        if self._reference is not None:
            self._reference.close()
            self._reference = None

    def _unmap(self) -> None:
        if self._regions is not None:
            self._regions.close()
            self._regions = None

    def load(self, body: dict[str, Any]) -> dict[str, Any]:
        self.close()
        self._workload = None
        problem = Problem.decode(body)
        if problem.device.type == "cuda" and not self._recorder:
            self._open_cuda(problem.device, body["window"])
        with self._flags.watch("importing the reference"):
            self._reference = Reference(problem)
        return {"cuda": torch.version.cuda} if torch.version.cuda else {}

    def _open_cuda(self, device: torch.device, window: dict[str, Any]) -> None:
        if not torch.cuda.is_available():
            raise OracleError(
                "machine", "PyTorch sees no CUDA device; this PyTorch may be built without CUDA"
            )
        torch.cuda.set_device(device)
        torch.zeros(1, device=device)  # makes the device's primary context current in this thread
        if self._window is None:
            self._window = Window(Driver(), device.index or 0, int(window["base"]), int(window["bytes"]))

    def _loaded(self) -> Reference:
        if self._reference is None:
            raise OracleError("request", "no reference is loaded")
        return self._reference

    def _bound(self) -> Workload:
        if self._workload is None:
            raise OracleError("request", "no workload is set")
        return self._workload

    def workload(self, body: dict[str, Any]) -> dict[str, Any]:
        self._unmap()
        self._workload = Workload.decode(body, self._loaded().problem)
        _give_memory_back(keep=0)
        return {}

    def make_set(self, body: dict[str, Any], descriptors: list[int]) -> dict[str, Any]:
        """Without `regions`, in those of the workload's last set."""
        reference, workload = self._loaded(), self._bound()
        if "regions" in body:
            self._unmap()
            device = reference.problem.device
            window = self._window if device.type == "cuda" else None
            self._regions = MappedRegions(body["regions"], descriptors, device, window)
        if self._regions is None:
            raise OracleError("request", "the workload's first set must name its regions")
        try:
            return self._fill(reference, workload, body, self._regions)
        finally:
            self._regions.finish()
            _give_memory_back()

    def _fill(
        self, reference: Reference, workload: Workload, body: dict[str, Any], regions: MappedRegions
    ) -> dict[str, Any]:
        seed = int(body["seed"])
        warnings: list[str] = []
        scalars: dict[str, Scalar] = {}
        placements = {p["name"]: p for p in body["inputs"] if "region" in p}
        missing = [
            i.spec.name for i in workload.inputs if i.shape is not None and i.spec.name not in placements
        ]
        if missing:
            raise OracleError("request", f"no place was given for {', '.join(missing)}")
        with self._flags.watch("making the inputs"):
            for bound, value in InputSet(reference, workload, seed, warnings):
                if isinstance(value, torch.Tensor):
                    self._store(regions, placements[bound.spec.name], value)
                else:
                    scalars[bound.spec.name] = value
        workload.last_seed = seed
        kept = keep_scalars(workload, scalars, warnings)
        # The reference works on copies of what the candidate will see, so that writing to its inputs harms nobody.
        if not body["expected"]:
            return {"scalars": kept, "warnings": warnings, "finite": True}
        arguments = [
            kept[b.spec.name] if b.shape is None else dtypes.copy_of(regions.tensor(placements[b.spec.name]))
            for b in workload.inputs
        ]
        seed_everything(seed)
        with self._flags.watch("the reference"):
            values = reference.named_results(reference.call(arguments))
        results = reference.check_results(values, workload, warnings)
        expected = {p["name"]: p for p in body["expected"]}
        finite = True
        for result, output in zip(results, workload.outputs, strict=True):
            if output.spec.name not in expected:
                raise OracleError("request", f"no place was given for the expected {output.spec.name}")
            self._store(regions, expected[output.spec.name], result)
            finite = finite and _is_finite(result)
        return {"scalars": kept, "warnings": warnings, "finite": finite}

    def _store(self, regions: MappedRegions, placement: dict[str, Any], value: torch.Tensor) -> None:
        target = regions.tensor(placement)
        if tuple(target.shape) != tuple(value.shape) or target.dtype != value.dtype:
            raise OracleError(
                "request",
                f"the place of {placement['name']} is {dtypes.name_of(target.dtype)}{list(target.shape)}, its value "
                f"{dtypes.name_of(value.dtype)}{list(value.shape)}",
            )
        if value.dtype == dtypes.FP4:
            dtypes.as_bytes(target).copy_(dtypes.as_bytes(value.contiguous()))
        else:
            target.copy_(value)

    def record(self, _: dict[str, Any]) -> dict[str, Any]:
        try:
            return {
                "graph": record(
                    self._loaded(), self._bound(), self._flags.watch, values_allowed=not self._recorder
                )
            }
        finally:
            _give_memory_back()

    def time(self, body: dict[str, Any]) -> dict[str, Any]:
        reference, workload = self._loaded(), self._bound()
        if workload.last_seed is None:
            raise OracleError("request", "no set has been made yet")
        try:
            arguments = make_arguments(reference, workload, workload.last_seed, [])
            seed_everything(workload.last_seed)
            with self._flags.watch("the reference"):
                return time_reference(reference, arguments, float(body["seconds"]))
        finally:
            _give_memory_back()


def _give_memory_back(keep: int = 2 << 30) -> None:
    """PyTorch keeps freed device memory for itself; the judge and the candidate need it more. A little may stay, so
    that small sets stay quick."""
    if torch.cuda.is_initialized():
        with contextlib.suppress(RuntimeError):
            if torch.cuda.memory_reserved() > keep:
                torch.cuda.empty_cache()


def _is_finite(tensor: torch.Tensor) -> bool:
    if tensor.dtype in dtypes.FP8:
        tensor = tensor.float()
    if not tensor.dtype.is_floating_point or tensor.dtype == dtypes.FP4:
        return True
    return bool(torch.isfinite(tensor).all().item())
