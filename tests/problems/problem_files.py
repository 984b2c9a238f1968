"""Reading the example problems for the checks in this folder: axes, inputs, and calling a solution."""

from __future__ import annotations

import ast
import ctypes
import importlib.util
import json
import math
import operator
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable

import torch

REPOSITORY = Path(__file__).resolve().parents[2]
PROBLEMS = REPOSITORY / "problems"

# DLPack type codes (include/solmark/dlpack.h)
DLPACK_CODE = {
    torch.bfloat16: (4, 16),
    torch.float32: (2, 32),
    torch.float64: (2, 64),
    torch.int32: (0, 32),
    torch.int64: (0, 64),
    torch.float8_e4m3fn: (10, 8),
}


def evaluate(expression: str, axes: dict[str, int]) -> int:
    operators = {
        ast.Add: operator.add,
        ast.Sub: operator.sub,
        ast.Mult: operator.mul,
        ast.FloorDiv: operator.floordiv,
    }

    def walk(node: ast.AST) -> int:
        if isinstance(node, ast.BinOp):
            return operators[type(node.op)](walk(node.left), walk(node.right))
        if isinstance(node, ast.Name):
            return axes[node.id]
        assert isinstance(node, ast.Constant)
        return int(node.value)

    return walk(ast.parse(expression, mode="eval").body)


class Problem:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.definition: dict[str, Any] = json.loads((folder / "definition.json").read_text())
        lines = (folder / "workload.jsonl").read_text().splitlines()
        self.workloads: list[dict[str, Any]] = [json.loads(line) for line in lines]

    def module(self, reference: str | None = None) -> dict[str, Any]:
        scope: dict[str, Any] = {}
        exec(
            compile(reference or self.definition["reference"], str(self.folder / "reference"), "exec"), scope
        )
        return scope

    def axes(self, workload: dict[str, Any]) -> dict[str, int]:
        values = {k: a["value"] for k, a in self.definition["axes"].items() if a["type"] == "const"}
        values |= workload["axes"]
        for name, axis in self.definition["axes"].items():
            if axis["type"] == "expr":
                values[name] = evaluate(axis["expression"], values)
        return values

    def shape(self, spec: dict[str, Any], axes: dict[str, int]) -> list[int]:
        return [axes[token] if token in axes else int(token) for token in spec["shape"]]

    def bytes(self, workload: dict[str, Any]) -> int:
        axes = self.axes(workload)
        specs = [*self.definition["inputs"].values(), *self.definition["outputs"].values()]
        return sum(
            math.prod(self.shape(s, axes)) * getattr(torch, s["dtype"]).itemsize
            for s in specs
            if s["shape"] is not None
        )

    def inputs(self, workload: dict[str, Any], device: str) -> dict[str, Any]:
        """Custom inputs by the generator; random ones by the name rules that these problems use."""
        axes = self.axes(workload)
        entry = self.definition.get("custom_inputs_entrypoint")
        if entry:
            made = self.module()[entry](axes, device)
        else:
            made = {}
            for name, spec in self.definition["inputs"].items():
                value = torch.randn(self.shape(spec, axes), device=device)
                if name == "weight" or name.endswith("_proj"):
                    value /= math.sqrt(value.shape[-1])
                made[name] = value.to(getattr(torch, spec["dtype"]))
        for name, spec in self.definition["inputs"].items():
            if spec["shape"] is not None:
                assert list(made[name].shape) == self.shape(spec, axes), name
                assert made[name].dtype == getattr(torch, spec["dtype"]), name
        return {name: made[name] for name in self.definition["inputs"]}

    def empty_outputs(self, workload: dict[str, Any], device: str) -> list[torch.Tensor]:
        """Outputs filled with ones bits: NaN in every float type, -1 in integers."""
        made = []
        for spec in self.definition["outputs"].values():
            dtype = getattr(torch, spec["dtype"])
            tensor = torch.empty(self.shape(spec, self.axes(workload)), dtype=dtype, device=device)
            tensor.view(torch.uint8).fill_(0xFF)
            made.append(tensor)
        return made


def as_tuple(result: Any) -> tuple[torch.Tensor, ...]:
    return tuple(result) if isinstance(result, (tuple, list)) else (result,)


def worst_excess(ours: torch.Tensor, theirs: torch.Tensor, tolerance: dict[str, Any]) -> float:
    """Largest |x - y| / (atol + rtol |y|); infinite if a side is not finite or x is all zero and y is not."""
    x, y = ours.to(torch.float32), theirs.to(torch.float32)
    if not (torch.isfinite(x).all() and torch.isfinite(y).all()) or (not x.any() and y.any()):
        return math.inf
    allowed = tolerance["max_atol"] + tolerance["max_rtol"] * y.abs()
    return float(((x - y).abs() / allowed).max()) if x.numel() else 0.0


def verdict(ours: Any, expected: tuple[torch.Tensor, ...], tolerance: dict[str, Any]) -> tuple[str, float]:
    ours = as_tuple(ours)
    if [t.shape for t in ours] != [t.shape for t in expected]:
        return "INCORRECT_SHAPE", math.inf
    if [t.dtype for t in ours] != [t.dtype for t in expected]:
        return "INCORRECT_DTYPE", math.inf
    excess = max(worst_excess(x, y, tolerance) for x, y in zip(ours, expected))
    assert tolerance["required_matched_ratio"] == 1.0, "these problems allow no element outside the tolerance"
    return ("PASSED" if excess <= 1.0 else "INCORRECT_NUMERICAL"), excess


class DlDevice(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("id", ctypes.c_int32)]


class DlTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", DlDevice),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class Call(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_uint32),
        ("version", ctypes.c_uint32),
        ("input_count", ctypes.c_int32),
        ("output_count", ctypes.c_int32),
        ("device", DlDevice),
        ("stream", ctypes.c_void_p),
    ]


def dl_tensor(tensor: torch.Tensor) -> DlTensor:
    code, bits = DLPACK_CODE[tensor.dtype]
    array = ctypes.c_int64 * max(tensor.dim(), 1)
    device = DlDevice(2 if tensor.is_cuda else 1, tensor.device.index or 0)
    return DlTensor(
        tensor.data_ptr(),
        device,
        tensor.dim(),
        code,
        bits,
        1,
        array(*tensor.shape),
        array(*tensor.stride()),
        0,
    )


def call_dlpack(entry: Any, inputs: list[torch.Tensor], outputs: list[torch.Tensor]) -> int:
    def pointers(tensors: list[torch.Tensor]) -> Any:
        made = [ctypes.pointer(dl_tensor(t)) for t in tensors]
        return (ctypes.POINTER(DlTensor) * len(made))(*made)

    on_gpu = outputs[0].is_cuda
    stream = torch.cuda.current_stream().cuda_stream if on_gpu else None
    call = Call(ctypes.sizeof(Call), 1, len(inputs), len(outputs), DlDevice(2 if on_gpu else 1, 0), stream)
    return int(entry(pointers(inputs), pointers(outputs), ctypes.byref(call)))


@dataclass
class Candidate:
    name: str
    spec: dict[str, Any]
    call: Callable[[dict[str, Any], list[torch.Tensor]], Any]


def load_candidate(problem: Problem, folder: Path, build: Path) -> Candidate:
    solution = json.loads((folder / "solution.json").read_text())
    spec = solution["spec"]
    file, function = spec["entry_point"].split("::")
    options = spec.get("compile_options", {})
    library = build / f"{problem.folder.name}-{folder.name}.so"

    if file.endswith(".py"):
        loader = importlib.util.spec_from_file_location(f"{problem.folder.name}_{folder.name}", folder / file)
        assert loader and loader.loader
        module = importlib.util.module_from_spec(loader)
        loader.loader.exec_module(module)
        python_entry = getattr(module, function)
    elif spec.get("binding", "torch") == "torch":
        from torch.utils.cpp_extension import load

        place = build / library.stem
        place.mkdir(exist_ok=True)
        extension = load(
            name=library.stem.replace("-", "_"),
            sources=[str(folder / s["path"]) for s in solution["sources"]],
            extra_cflags=options.get("cflags", []),
            extra_cuda_cflags=options.get("cuda_cflags", []),
            build_directory=str(place),
        )
        python_entry = getattr(extension, function)
    else:
        sources = [str(folder / s["path"]) for s in solution["sources"] if not s["path"].endswith(".h")]
        shared = ["-shared", "-I", str(REPOSITORY / "include"), "-o", str(library)]
        if any(source.endswith(".cu") for source in sources):
            compiler = ["nvcc", "-arch=native", "-Xcompiler", "-fPIC", *options.get("cuda_cflags", [])]
        else:
            compiler = ["g++", "-fPIC", *options.get("cflags", [])]
        subprocess.run([*compiler, *shared, *sources, *options.get("ld_flags", [])], check=True)
        native_entry = getattr(ctypes.CDLL(str(library)), function)

        def call_native(inputs: dict[str, Any], outputs: list[torch.Tensor]) -> Any:
            specs = problem.definition["inputs"]
            tensors = [
                v if isinstance(v, torch.Tensor) else torch.tensor(v, dtype=getattr(torch, specs[k]["dtype"]))
                for k, v in inputs.items()
            ]
            code = call_dlpack(native_entry, tensors, outputs)
            if code != 0:
                raise RuntimeError(f"{folder.name} returned {code}")
            return tuple(outputs)

        return Candidate(folder.name, spec, call_native)

    def call_python(inputs: dict[str, Any], outputs: list[torch.Tensor]) -> Any:
        if not spec["destination_passing_style"]:
            return python_entry(*inputs.values())
        python_entry(*inputs.values(), *outputs)
        return tuple(outputs)

    return Candidate(folder.name, spec, call_python)
