"""The reference: imported from source text under a real file name, called, its results named and checked."""

from __future__ import annotations

import contextlib
import importlib.util
import inspect
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from . import dtypes
from . import values as handed
from .errors import OracleError, describe_exception, is_out_of_memory
from .problem import OutputSpec, Problem, Workload


class Reference:
    """The imported module. Its file stays until close(): inspect, Triton and torch.compile read the source again."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self._folder = Path(tempfile.mkdtemp("", "reference-", os.environ.get("SOLMARK_REFERENCE_FOLDER")))
        stem = re.sub(r"\W", "_", problem.name) or "reference"
        self.file = str(self._folder / f"{stem[:100]}.py")
        self._module_name = f"solmark_reference_{stem[:100]}"
        try:
            Path(self.file).write_text(problem.reference, encoding="utf-8")
            self.module = self._import()
            self.run = self._find_run()
            self.generator = self._find_generator()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        sys.modules.pop(self._module_name, None)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _import(self) -> ModuleType:
        spec = importlib.util.spec_from_file_location(self._module_name, self.file)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[self._module_name] = module
        try:
            spec.loader.exec_module(module)
        except (Exception, SystemExit) as error:
            raise OracleError(
                "reference", f"cannot be imported: {describe_exception(error, self.file)}"
            ) from error
        return module

    def _find_run(self) -> Callable[..., Any]:
        run = getattr(self.module, "run", None)
        if not callable(run):
            raise OracleError("reference", "has no top-level function `run`")
        try:
            parameters = list(inspect.signature(run).parameters.values())
        except (TypeError, ValueError) as error:
            raise OracleError("reference", f"the parameters of `run` cannot be read: {error}") from error
        names = [p.name for p in parameters]
        wanted = [i.name for i in self.problem.inputs]
        if names != wanted:
            raise OracleError(
                "reference",
                f"the parameters of `run` are ({', '.join(names)}), but the definition's inputs are "
                f"({', '.join(wanted)}); they must be the same names in the same order",
            )
        for parameter in parameters:
            if parameter.kind not in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
                raise OracleError(
                    "reference", f"parameter {parameter.name} of `run` cannot be given by position"
                )
        return run

    def _find_generator(self) -> Callable[..., Any] | None:
        name = self.problem.custom_inputs_entrypoint
        if not name:
            return None
        generator = getattr(self.module, name, None)
        if not callable(generator):
            raise OracleError(
                "reference", f"has no top-level function `{name}`, the custom_inputs_entrypoint"
            )
        return generator

    def call(self, arguments: list[Any]) -> Any:
        """run(*arguments); whatever it raises becomes an error."""
        try:
            result = self.run(*arguments)
            if self.problem.device.type == "cuda":
                torch.cuda.synchronize(
                    self.problem.device
                )  # a kernel's fault shows here, and is the reference's
            return result
        except (Exception, SystemExit) as error:
            if is_out_of_memory(error):
                raise OracleError(
                    "memory", f"the reference needs more memory than there is: {error}"
                ) from error
            raise OracleError("reference", f"run failed: {describe_exception(error, self.file)}") from error

    def named_results(self, result: Any) -> list[Any]:
        """The results in the order of the declared outputs; each a tensor or a Python scalar."""
        outputs = self.problem.outputs
        if isinstance(result, Mapping):
            missing = [o.name for o in outputs if o.name not in result]
            if missing:
                raise OracleError("reference", f"the dict returned by run lacks {', '.join(missing)}")
            values = [result[o.name] for o in outputs]
        elif isinstance(result, (tuple, list)):
            values = list(result)
        elif result is None:
            raise OracleError("reference", "run returned nothing; it must return its outputs")
        else:
            values = [result]
        if len(values) != len(outputs):
            raise OracleError(
                "shape",
                f"run returned {len(values)} value{'' if len(values) == 1 else 's'}, but the definition has "
                f"{len(outputs)} output{'' if len(outputs) == 1 else 's'}; return one tensor for each, in their "
                "order or as a dict by name",
            )
        return [self._result(value, output) for value, output in zip(values, outputs, strict=True)]

    def _result(self, value: Any, output: OutputSpec) -> Any:
        value = handed.plain(value)
        if isinstance(value, (list, tuple)):
            with contextlib.suppress(TypeError, ValueError, RuntimeError):
                value = torch.tensor(value, dtype=output.dtype, device=self.problem.device)
        if not isinstance(value, (torch.Tensor, bool, int, float)):
            raise OracleError(
                "reference", f"output {output.name} is a {type(value).__name__}, not a tensor or number"
            )
        return value

    def check_results(self, values: list[Any], workload: Workload, warnings: list[str]) -> list[torch.Tensor]:
        """Tensors of the declared shapes and dtypes on the device."""
        checked = []
        for value, output in zip(values, workload.outputs, strict=True):
            if not isinstance(value, torch.Tensor):
                value = self._tensor_of(value, output.spec, workload, warnings)
            if reason := handed.why_unusable(value):
                raise OracleError("reference", f"output {output.spec.name} {reason}")
            if tuple(value.shape) != output.shape:
                raise OracleError(
                    "shape",
                    f"output {output.spec.name} has shape {list(value.shape)}, but {list(output.shape)} is declared; "
                    "mend `run` or the definition's outputs",
                )
            value = _cast(handed.as_pairs(value, output.spec.dtype), output.spec, workload, warnings)
            checked.append(value.detach().to(self.problem.device))
        return checked

    def _tensor_of(
        self, value: float, output: OutputSpec, workload: Workload, warnings: list[str]
    ) -> torch.Tensor:
        name, dtype = output.name, dtypes.name_of(output.dtype)
        try:
            tensor = torch.tensor(value, dtype=output.dtype, device=self.problem.device)
        except (RuntimeError, ValueError, OverflowError) as error:
            raise OracleError("reference", f"output {name} is {value}, which no {dtype} can hold") from error
        if handed.number_of(value, output.dtype) is None:
            workload.warn_once(
                warnings, f"the reference returns {name} as {value}; it was cast to the declared {dtype}"
            )
        return tensor


def _cast(value: torch.Tensor, output: OutputSpec, workload: Workload, warnings: list[str]) -> torch.Tensor:
    if value.dtype == output.dtype:
        return value
    have, want = dtypes.name_of(value.dtype), dtypes.name_of(output.dtype)
    if dtypes.FP4 in (value.dtype, output.dtype) or value.dtype.is_complex:
        raise OracleError("reference", f"output {output.name} is {have}, which cannot become {want}")
    workload.warn_once(
        warnings, f"the reference returns {output.name} as {have}; it was cast to the declared {want}"
    )
    return value.detach().to(output.dtype)
