"""The oracle process as the judge sees it: inputs of every source, expectations, faults, times."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from conftest import Bound, OracleProcess
from solmark.oracle.timing import median_interval

ADD = "import torch\ndef run(x, y):\n    return x + y\n"
XY = [("x", "float32", [4, 8]), ("y", "float32", [4, 8])]
OUT = [("out", "float32", [4, 8])]


def test_hello_answers_before_torch_is_imported() -> None:
    process = OracleProcess()
    start = time.monotonic()
    reply = process.ok({"type": "hello", "version": 1})
    with open(f"/proc/{process.process.pid}/maps", encoding="utf-8") as file:
        ready = "libtorch_cpu" in file.read()
    assert not ready or time.monotonic() - start < 1
    assert torch.__version__.startswith(reply["torch"]) and reply["device_name"]
    process.ok({"type": "quit"})
    assert process.process.wait(60) == 0


def test_another_version_is_refused(oracle: OracleProcess) -> None:
    reply = oracle.ask({"type": "hello", "version": 2})
    assert (reply["type"], reply["kind"]) == ("error", "version")


def test_unknown_request(oracle: OracleProcess) -> None:
    reply = oracle.ask({"type": "dance"})
    assert reply["kind"] == "request" and "dance" in reply["message"]


def test_expected_is_the_reference_of_the_stored_inputs(oracle: OracleProcess) -> None:
    bound = Bound(oracle, ADD, XY, OUT)
    reply = bound.set(1)
    assert reply["type"] == "ok" and reply["finite"] is True and reply["warnings"] == []
    assert torch.equal(bound.tensor("out"), bound.tensor("x") + bound.tensor("y"))


def test_seeds(oracle: OracleProcess) -> None:
    bound = Bound(oracle, ADD, XY, OUT)
    bound.set(1)
    first = bound.tensor("x")
    bound.set(2)
    second = bound.tensor("x")
    bound.set(1)
    assert torch.equal(bound.tensor("x"), first) and not torch.equal(first, second)


def test_a_seed_reaches_every_generator(oracle: OracleProcess) -> None:
    source = (
        "import random, numpy, torch\n"
        "def gen(axes, device):\n"
        "    return {'x': torch.tensor([random.random(), numpy.random.rand(), torch.rand(()).item()], device=device)}\n"
        "def run(x):\n    return x\n"
    )
    declared = [("x", "float32", [3])]
    bound = Bound(
        oracle,
        source,
        declared,
        [("o", "float32", [3])],
        custom_inputs_entrypoint="gen",
        sources={"x": {"type": "custom"}},
    )
    values = []
    for seed in (2**40 + 5, 5, 2**40 + 5):
        assert bound.set(seed)["type"] == "ok"
        values.append(bound.tensor("x"))
    assert torch.equal(values[0], values[2])
    assert not bool((values[0] == values[1]).any())  # all three differ, the high bits count too


def test_the_reference_gets_copies(oracle: OracleProcess) -> None:
    bound = Bound(oracle, "def run(x, y):\n    x.zero_()\n    return x + y\n", XY, OUT)
    bound.set(1)
    assert bound.tensor("x").abs().sum() > 0
    assert torch.equal(bound.tensor("out"), bound.tensor("y"))


def test_without_expected_only_inputs_are_made(oracle: OracleProcess) -> None:
    bound = Bound(oracle, "def run(x, y):\n    raise ValueError\n", XY, OUT)
    assert bound.set(1, expected=False)["type"] == "ok"
    assert bound.tensor("x").abs().sum() > 0
    assert bound.set(1)["kind"] == "reference"


@pytest.mark.parametrize(
    "dtype", ["float64", "bfloat16", "float8_e4m3fn", "float8_e5m2", "int8", "uint8", "bool", "int64"]
)
def test_dtypes_travel(oracle: OracleProcess, dtype: str) -> None:
    bound = Bound(oracle, "def run(x):\n    return x\n", [("x", dtype, [5, 6])], [("o", dtype, [5, 6])])
    assert bound.set(4)["type"] == "ok"
    got = bound.tensor("x")
    assert torch.equal(got.view(torch.uint8), bound.tensor("o").view(torch.uint8))
    assert len(got.to(torch.float32).unique()) > 1


def test_packed_4_bit_floats_travel(oracle: OracleProcess) -> None:
    source = "import torch\ndef run(x):\n    return x.view(torch.uint8)\n"  # bytes are taken for pairs
    declared = [("x", "float4_e2m1", [4, 8])]
    bound = Bound(oracle, source, declared, [("o", "float4_e2m1fn_x2", [4, 8])])
    reply = bound.set(4)
    assert reply["type"] == "ok", reply
    assert torch.equal(bound.tensor("x").view(torch.uint8), bound.tensor("o").view(torch.uint8))
    assert len(bound.tensor("x").view(torch.uint8).unique()) > 8


def test_empty_tensors_and_0d_tensors(oracle: OracleProcess) -> None:
    bound = Bound(
        oracle,
        "def run(x, y):\n    return x, y * 2\n",
        [("x", "float32", [0, 4]), ("y", "float32", [])],
        [("a", "float32", [0, 4]), ("b", "float32", [])],
    )
    assert bound.set(1)["type"] == "ok"
    assert torch.equal(bound.tensor("b"), bound.tensor("y") * 2)


def test_custom_mixed_with_other_sources(oracle: OracleProcess, tmp_path: Path) -> None:
    from safetensors.torch import save_file

    save_file({"t": torch.arange(4.0)}, tmp_path / "f.safetensors")
    source = (
        "import torch\n"
        "def gen(axes_and_scalars, device):\n"
        "    assert axes_and_scalars == {'n': 4, 'k': 3}, axes_and_scalars\n"
        "    assert isinstance(device, torch.device)\n"
        "    return {'a': torch.full((4,), float(axes_and_scalars['k']), device=device), 'c': 9.0, 'n': 'not an input'}\n"
        "def run(a, b, c, f, k):\n    return a + b + c + f + k\n"
    )
    vector = [4]
    bound = Bound(
        oracle,
        source,
        [
            ("a", "float32", vector),
            ("b", "float32", vector),
            ("c", "float32", None),
            ("f", "float32", vector),
            ("k", "int32", None),
        ],
        [("o", "float32", vector)],
        custom_inputs_entrypoint="gen",
        axes={"n": 4},
        sources={
            "a": {"type": "custom"},
            "c": {"type": "custom"},
            "f": {"type": "safetensors", "path": str(tmp_path / "f.safetensors"), "key": "t"},
            "k": {"type": "scalar", "value": 3},
        },
    )
    reply = bound.set(1)
    assert reply["type"] == "ok", reply
    assert reply["scalars"] == {"c": 9.0, "k": 3}
    assert torch.equal(bound.tensor("f"), torch.arange(4.0)) and bool((bound.tensor("a") == 3).all())
    assert torch.allclose(bound.tensor("o"), bound.tensor("b") + torch.arange(4.0) + 15)


def file_problem(oracle: OracleProcess, path: str, key: str, declared: Any) -> Bound:
    sources = {"x": {"type": "safetensors", "path": path, "key": key}}
    return Bound(oracle, "def run(x):\n    return x\n", [declared], [("o", *declared[1:])], sources=sources)


def test_safetensors_are_read_once_and_checked(oracle: OracleProcess, tmp_path: Path) -> None:
    from safetensors.torch import save_file

    path = tmp_path / "blob.safetensors"
    save_file({"w": torch.arange(6, dtype=torch.bfloat16).reshape(2, 3)}, path)
    bound = file_problem(oracle, str(path), "w", ("x", "bfloat16", [2, 3]))
    assert bound.set(1)["type"] == "ok"
    path.unlink()
    assert bound.set(2)["type"] == "ok"  # kept for the workload
    assert bound.tensor("x").flatten().tolist() == [0, 1, 2, 3, 4, 5]

    save_file({"w": torch.zeros(2, 3)}, path)
    for key, declared, words in (
        ("v", ("x", "float32", [2, 3]), "has no tensor v"),
        ("w", ("x", "float32", [3, 2]), "[2, 3], but [3, 2] is declared"),
        ("w", ("x", "float16", [2, 3]), "float32, but float16 is declared"),
    ):
        reply = file_problem(oracle, str(path), key, declared).set(1)
        assert reply["kind"] == "inputs" and words in reply["message"]
    reply = file_problem(oracle, str(tmp_path / "none"), "w", ("x", "float32", [2, 3])).set(1)
    assert reply["kind"] == "inputs" and "none" in reply["message"]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("raise ValueError('bad luck')", "bad luck at line 3 of the reference, in gen"),
        ("return [1]", "returned a list, not a dict"),
        ("return {}", "did not make the input x"),
        ("return {'x': torch.zeros(3)}", "has shape [3], but [4, 8] is declared"),
        ("return {'x': torch.zeros(4, 8).to(torch.float8_e5m2)}", "is float8_e5m2, but float32 is declared"),
        ("return {'x': torch.zeros(4, 8, device='meta')}", "x is on the device meta, which keeps no values"),
        ("return {'x': torch.zeros(4, 8).to_sparse()}", "x has the layout torch.sparse_coo; return it with"),
        ("return {'x': 3.0}", "a float, not a tensor"),
    ],
)
def test_faults_of_generators(oracle: OracleProcess, body: str, words: str) -> None:
    source = f"import torch\ndef gen(axes, device):\n    {body}\ndef run(x):\n    return x\n"
    more = {"custom_inputs_entrypoint": "gen", "sources": {"x": {"type": "custom"}}}
    reply = Bound(oracle, source, XY[:1], OUT, **more).set(1)
    assert reply["kind"] == "inputs" and words in reply["message"], reply


def test_custom_inputs_without_a_generator(oracle: OracleProcess) -> None:
    reply = Bound(oracle, ADD, XY, OUT, sources={"x": {"type": "custom"}}).set(1)
    assert reply["kind"] == "inputs" and "custom_inputs_entrypoint" in reply["message"]


def test_scalars_stay(oracle: OracleProcess) -> None:
    declared = [("x", "float32", [4]), ("s", "float32", None)]
    bound = Bound(oracle, "def run(x, s):\n    return x * s\n", declared, [("o", "float32", [4])])
    first, second = bound.set(1), bound.set(2)
    assert first["scalars"] == second["scalars"] and first["scalars"]["s"] != 0
    assert torch.allclose(bound.tensor("o"), bound.tensor("x") * first["scalars"]["s"])


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("def run(x, y:\n    pass\n", "SyntaxError"),
        ("import nothing_of_this_name\ndef run(x, y):\n    pass\n", "nothing_of_this_name"),
        ("raise SystemExit(3)\n", "SystemExit"),
        ("def walk(x, y):\n    pass\n", "no top-level function `run`"),
        ("def run(y, x):\n    pass\n", "(y, x), but the definition's inputs are (x, y)"),
        ("def run(x, *, y):\n    pass\n", "parameter y of `run` cannot be given by position"),
    ],
)
def test_references_that_cannot_be_loaded(oracle: OracleProcess, source: str, words: str) -> None:
    reply = Bound(oracle, source, XY, OUT).load_reply
    assert reply["kind"] == "reference" and words in reply["message"], reply


def test_a_missing_generator_is_found_at_load(oracle: OracleProcess) -> None:
    reply = Bound(oracle, ADD, XY, OUT, custom_inputs_entrypoint="gen").load_reply
    assert reply["kind"] == "reference" and "`gen`" in reply["message"]


def test_the_source_is_a_real_file(oracle: OracleProcess) -> None:
    source = "import inspect, torch\ndef run(x, y):\n    assert 'inspect.getsource' in inspect.getsource(run)\n    return x\n"
    assert Bound(oracle, source, XY, OUT).set(1)["type"] == "ok"


@pytest.mark.parametrize(
    ("body", "kind", "words"),
    [
        ("return x[:2]", "shape", "has shape [2, 8], but [4, 8] is declared"),
        ("return x, y", "shape", "returned 2 values, but the definition has 1 output; return"),
        ("return None", "reference", "returned nothing"),
        ("return {'other': x}", "reference", "lacks out"),
        ("return 'text'", "reference", "is a str"),
        ("return x, None", "shape", "returned 2 values"),
        ("return x.to_sparse()", "reference", "output out has the layout torch.sparse_coo; return it with .to_dense()"),
        ("return torch.nested.nested_tensor([x])", "reference", "output out is a nested tensor; return it with"),
        ("return torch.quantize_per_tensor(x, 0.1, 0, torch.qint8)", "reference", "return it with .dequantize()"),
        ("return x.to('meta')", "reference", "output out is on the device meta, which keeps no values"),
        ("return x.cuda()", "reference", "there is no GPU here: evaluate with --device cuda"),
        ("return 1.5", "shape", "has shape []"),
        ("return x * 1j", "reference", "is complex64, which cannot become float32"),
        ("raise ValueError('bad')", "reference", "ValueError: bad at line 3 of the reference, in run"),
    ],
)
def test_faults_of_results(oracle: OracleProcess, body: str, kind: str, words: str) -> None:
    reply = Bound(oracle, f"import torch\ndef run(x, y):\n    {body}\n", XY, OUT).set(1)
    assert reply["kind"] == kind and words in reply["message"], reply


def test_results_by_name_scalars_and_strides(oracle: OracleProcess) -> None:
    source = (
        "import torch\ndef run(x, y):\n    return {'n': 7, 'more': 1, 'out': (x + y).t().contiguous().t()}\n"
    )
    bound = Bound(oracle, source, XY, [*OUT, ("n", "int64", [])])
    assert bound.set(1)["type"] == "ok"
    assert bound.tensor("n").item() == 7 and torch.equal(
        bound.tensor("out"), bound.tensor("x") + bound.tensor("y")
    )


def test_casts_are_told_once(oracle: OracleProcess) -> None:
    bound = Bound(oracle, ADD, XY, [("out", "bfloat16", [4, 8])])
    first, second = bound.set(1), bound.set(2)
    assert (
        len(first["warnings"]) == 1
        and "float32" in first["warnings"][0]
        and "bfloat16" in first["warnings"][0]
    )
    assert second["warnings"] == []
    assert torch.equal(bound.tensor("out"), (bound.tensor("x") + bound.tensor("y")).bfloat16())


def test_non_finite_expectations_are_told(oracle: OracleProcess) -> None:
    assert Bound(oracle, "def run(x, y):\n    return x / 0\n", XY, OUT).set(1)["finite"] is False


FLAGS = [
    (
        "torch.backends.cuda.matmul.allow_tf32 = True",
        "torch.backends.cuda.matmul.allow_tf32 was False and is True",
    ),
    ("torch.backends.cudnn.allow_tf32 = False", "torch.backends.cudnn.allow_tf32 was True and is False"),
    ("torch.set_float32_matmul_precision('high')", "torch.float32_matmul_precision was highest and is high"),
    ("torch.backends.cuda.matmul.fp32_precision = 'tf32'", "torch.backends.cuda.matmul.fp32_precision"),
    ("torch.use_deterministic_algorithms(True)", "torch.use_deterministic_algorithms was False and is True"),
    ("torch.backends.cudnn.benchmark = True", "torch.backends.cudnn.benchmark"),
    ("torch.backends.cudnn.deterministic = True", "torch.backends.cudnn.deterministic"),
    ("torch.set_default_dtype(torch.float64)", "torch.default_dtype was torch.float32 and is torch.float64"),
    ("torch.set_default_device('meta')", "torch.default_device was cpu and is meta"),
    ("torch.set_grad_enabled(False)", "torch.grad_enabled was True and is False"),
    ("torch.set_num_threads(torch.get_num_threads() + 1)", "torch.num_threads"),
    ("torch.set_autocast_enabled('cpu', True)", "torch.autocast_cpu"),
    (
        "torch.backends.cuda.enable_flash_sdp(False)",
        "torch.backends.cuda.enable_flash_sdp was True and is False",
    ),
    (
        "torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False",
        "torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction was True and is False",
    ),
]


@pytest.mark.parametrize(("statement", "words"), FLAGS)
def test_changed_flags_are_named_and_put_back(oracle: OracleProcess, statement: str, words: str) -> None:
    bound = Bound(oracle, f"import torch\ndef run(x, y):\n    {statement}\n    return x\n", XY, OUT)
    reply = bound.set(1)
    assert reply["kind"] == "flags" and words in reply["message"], reply
    clean = Bound(oracle, ADD, XY, OUT)
    assert clean.set(1)["type"] == "ok"


def test_flags_changed_by_importing(oracle: OracleProcess) -> None:
    source = "import torch\ntorch.set_float32_matmul_precision('high')\ndef run(x, y):\n    return x\n"
    reply = Bound(oracle, source, XY, OUT).load_reply
    assert reply["kind"] == "flags" and "float32_matmul_precision" in reply["message"]


def test_flags_restored_by_the_reference_are_its_own_affair(oracle: OracleProcess) -> None:
    source = "import torch\n@torch.no_grad()\ndef run(x, y):\n    return x + y\n"
    assert Bound(oracle, source, XY, OUT).set(1)["type"] == "ok"


def test_faults_of_places_are_the_judges(oracle: OracleProcess) -> None:
    bound = Bound(oracle, ADD, XY, OUT)
    bound.inputs[0]["offset"] = bound.input_bytes
    assert bound.set(1)["kind"] == "request"
    bound = Bound(oracle, ADD, XY, OUT)
    bound.fds[1:] = []
    assert "descriptor 1" in bound.set(1)["message"]


def test_descriptors_are_closed(oracle: OracleProcess) -> None:
    bound = Bound(oracle, ADD, XY, OUT)
    bound.set(1)
    count = len(os.listdir(f"/proc/{oracle.process.pid}/fd"))
    for seed in range(5):
        bound.set(seed)
    assert len(os.listdir(f"/proc/{oracle.process.pid}/fd")) <= count


def test_time(oracle: OracleProcess) -> None:
    source = "import time\ndef run(x, y):\n    time.sleep(0.01)\n    return x.add_(y)\n"
    bound = Bound(oracle, source, XY, OUT)
    assert oracle.ask({"type": "time", "seconds": 0.1})["kind"] == "request"  # there is no set yet
    bound.set(1)
    start = time.monotonic()
    reply = oracle.ok({"type": "time", "seconds": 0.3})
    assert 0.2 < time.monotonic() - start < 3
    assert 1e7 <= reply["t_ci_ns"][0] <= reply["t_ns"] <= reply["t_ci_ns"][1] and reply["calls"] > 3


def test_regions_stay_mapped_for_a_workload(oracle: OracleProcess) -> None:
    bound = Bound(oracle, ADD, XY, OUT)
    assert bound.set(1, mapped=True)["kind"] == "request", "nothing is mapped at first"
    assert bound.set(1)["type"] == "ok"
    first = bound.tensor("x")
    assert bound.set(2, mapped=True)["type"] == "ok"
    assert not torch.equal(bound.tensor("x"), first)
    assert torch.equal(bound.tensor("out"), bound.tensor("x") + bound.tensor("y"))
    other = Bound(oracle, ADD, XY, OUT)  # the next workload: no set of it may land in the memory of the last
    assert other.set(3, mapped=True)["kind"] == "request"


def test_timed_calls_see_the_original_inputs(oracle: OracleProcess) -> None:
    source = "def run(x, y):\n    assert x.abs().max() < 100\n    x.mul_(1000)\n    return x\n"
    Bound(oracle, source, XY, OUT).set(1)
    assert oracle.ok({"type": "time", "seconds": 0.05})["calls"] >= 1


def test_median_interval() -> None:
    assert median_interval([5.0, 1.0, 3.0]) == (1.0, 5.0)
    low, high = median_interval([float(i) for i in range(101)])
    assert 38 <= low <= 41 and 60 <= high <= 62


def test_record_over_the_channel(oracle: OracleProcess) -> None:
    Bound(oracle, ADD, XY, OUT)
    graph = oracle.ok({"type": "record"})["graph"]
    assert [op["op"] for op in graph["ops"]] == ["aten.add.Tensor"]
    assert json.dumps(graph)
