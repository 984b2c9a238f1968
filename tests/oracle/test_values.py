"""What references and generators hand over, in every form: taken, cast with a warning, or refused with the mend."""

from __future__ import annotations

import importlib.util
import json
import struct
from pathlib import Path
from typing import Any

import pytest
import torch
from conftest import Bound, Declared, OracleProcess

HEAD = "import types\nimport numpy as np\nimport torch\n"
X: Declared = ("x", "float32", [4])


def reference(body: str, parameters: str = "x") -> str:
    return f"{HEAD}def run({parameters}):\n    {body}\n"


def generated(oracle: OracleProcess, value: str, declared: Declared, run: str = "return x") -> Bound:
    """A problem with one input, which its generator makes."""
    source = f"{HEAD}def gen(axes_and_scalars, device):\n    return {{'x': {value}}}\ndef run(x):\n    {run}\n"
    name, dtype, shape = declared
    sources = {name: {"type": "custom"}}
    outputs: list[Declared] = [("o", dtype, shape or [])]
    return Bound(oracle, source, [declared], outputs, custom_inputs_entrypoint="gen", sources=sources)


@pytest.mark.parametrize(
    ("body", "dtype", "shape", "wanted"),
    [
        ("return x.numpy() * 0 + 2", "float32", [4], [2.0] * 4),
        ("return (np.arange(4, dtype=np.int32),)", "int32", [4], [0, 1, 2, 3]),
        ("return {'o': [1, 2, 3, 4]}", "float16", [4], [1.0, 2.0, 3.0, 4.0]),
        ("return types.MappingProxyType({'o': x * 0})", "float32", [4], [0.0] * 4),
        ("return np.float32(2.5)", "bfloat16", [], 2.5),
        ("return np.int64(7)", "int64", [], 7),
        ("return np.bool_(True)", "bool", [], True),
        ("return torch.nn.Parameter(x * 0)", "float32", [4], [0.0] * 4),
        ("return torch.max(x.reshape(1, 4), dim=1)", "float32", [1], None),  # a named tuple
    ],
)
def test_results_of_every_form(oracle: OracleProcess, body: str, dtype: str, shape: list[int], wanted: Any) -> None:
    outputs: list[Declared] = [("o", dtype, shape)]
    if wanted is None:
        outputs.append(("at", "int64", [1]))
    bound = Bound(oracle, reference(body), [X], outputs)
    reply = bound.set(1)
    assert reply["type"] == "ok" and reply["warnings"] == [], reply
    if wanted is None:
        wanted = [bound.tensor("x").max().item()]
    assert bound.tensor("o").tolist() == wanted
    assert oracle.ok({"type": "record"})["graph"]["outputs"][0]["name"] == "o"


def test_numbers_that_the_dtype_cannot_hold(oracle: OracleProcess) -> None:
    reply = Bound(oracle, reference("return 2.5"), [X], [("o", "int32", [])]).set(1)
    assert reply["warnings"] == ["the reference returns o as 2.5; it was cast to the declared int32"]
    reply = Bound(oracle, reference("return 1 << 40"), [X], [("o", "int32", [])]).set(1)
    assert (reply["kind"], reply["message"]) == ("reference", "output o is 1099511627776, which no int32 can hold")


@pytest.mark.parametrize(
    ("value", "declared", "wanted"),
    [
        ("np.float32(2)", ("x", "float32", None), 2.0),
        ("np.int64(2)", ("x", "int32", None), 2),
        ("torch.tensor(3)", ("x", "int32", None), 3),
        ("3.0", ("x", "int32", None), 3),
        ("np.bool_(True)", ("x", "bool", None), True),
        ("3", ("x", "int32", []), 3),
        ("np.float64(3.5)", ("x", "float32", []), 3.5),
        ("np.ones(4, dtype=np.float32)", X, [1.0] * 4),
        ("torch.arange(12.0).reshape(4, 3)[:, 1]", X, [1.0, 4.0, 7.0, 10.0]),
        ("torch.ones(1, requires_grad=True).expand(4)", X, [1.0] * 4),
    ],
)
def test_inputs_of_every_form(oracle: OracleProcess, value: str, declared: Declared, wanted: Any) -> None:
    bound = generated(oracle, value, declared)
    reply = bound.set(1)
    assert reply["type"] == "ok" and reply["warnings"] == [], reply
    got = reply["scalars"]["x"] if declared[2] is None else bound.tensor("x").tolist()
    assert got == wanted and type(got) is type(wanted)


@pytest.mark.parametrize(
    ("value", "declared", "words"),
    [
        ("2.5", ("x", "int32", None), "gen made x 2.5, which is no int32; mend gen, or the definition's dtype"),
        ("float('inf')", ("x", "int64", None), "made x inf, which is no int64"),
        ("1 << 40", ("x", "int32", []), "made x 1099511627776, which is no int32"),
        ("10 ** 400", ("x", "float32", None), "which is no float32"),
        ("2", ("x", "bool", None), "made x 2, which is no bool"),
        ("'text'", ("x", "float32", None), "made x a str, not a number"),
        ("[1.0] * 4", X, "made x a list, not a tensor"),
        ("np.array(['a'] * 4)", X, "made x a ndarray, not a tensor"),
        ("torch.tensor([1.5] * 4)", ("x", "int32", [4]), "x is float32, but int32 is declared"),
        ("torch.full((4,), 300)", ("x", "uint8", [4]), "x is int64, but uint8 is declared"),
    ],
)
def test_inputs_that_do_not_fit(oracle: OracleProcess, value: str, declared: Declared, words: str) -> None:
    reply = generated(oracle, value, declared).set(1)
    assert reply["kind"] == "inputs" and words in reply["message"], reply


@pytest.mark.parametrize(
    ("value", "dtype", "have"),
    [("torch.arange(4)", "int32", "int64"), ("np.ones(4)", "float32", "float64"), ("torch.ones(4)", "bfloat16", "float32")],
)
def test_a_generators_other_dtype_is_cast_and_told_once(oracle: OracleProcess, value: str, dtype: str, have: str) -> None:
    bound = generated(oracle, value, ("x", dtype, [4]))
    assert bound.set(1)["warnings"] == [f"gen makes x as {have}; it was cast to the declared {dtype}"]
    assert bound.set(2)["warnings"] == []


BYTES = "torch.arange(16, dtype=torch.uint8).reshape(4, 4)"


@pytest.mark.parametrize("view", ["[:, :2]", ".view(torch.int8)[:, :2]", ".view(torch.float4_e2m1fn_x2)[:, :2]"])
def test_pairs_may_be_made_as_bytes(oracle: OracleProcess, view: str) -> None:
    bound = generated(oracle, BYTES + view, ("x", "float4_e2m1fn_x2", [4, 2]), "return x.view(torch.int8)")
    reply = bound.set(1)
    assert reply["type"] == "ok", reply
    for name in ("x", "o"):
        assert bound.tensor(name).view(torch.uint8).tolist() == [[0, 1], [4, 5], [8, 9], [12, 13]]


def test_the_shape_of_pairs_is_told_as_such(oracle: OracleProcess) -> None:
    reply = generated(oracle, BYTES, ("x", "float4_e2m1", [4, 2])).set(1)
    assert "x has shape [4, 4], but [4, 2], counted in pairs, is declared" in reply["message"]


@pytest.mark.parametrize(("stored", "shape"), [("U8", [4, 2]), ("I8", [4, 2]), ("F4", [4, 4])])
def test_pairs_in_files(oracle: OracleProcess, tmp_path: Path, stored: str, shape: list[int]) -> None:
    header = json.dumps({"t": {"dtype": stored, "shape": shape, "data_offsets": [0, 8]}}).encode()
    path = tmp_path / "pairs.safetensors"
    path.write_bytes(struct.pack("<Q", len(header)) + header + bytes(range(8)))
    declared: Declared = ("x", "float4_e2m1fn_x2", [4, 2])
    sources = {"x": {"type": "safetensors", "path": str(path), "key": "t"}}
    bound = Bound(oracle, reference("return x"), [declared], [("o", *declared[1:])], sources=sources)
    assert bound.set(1)["type"] == "ok"
    assert bound.tensor("o").view(torch.uint8).flatten().tolist() == list(range(8))


def test_no_inputs_at_all(oracle: OracleProcess) -> None:
    bound = Bound(oracle, reference("return torch.arange(4.0)", ""), [], [("o", "float32", [4])])
    assert bound.set(1)["type"] == "ok"
    assert bound.tensor("o").tolist() == [0, 1, 2, 3]


def test_random_numbers_of_a_reference_follow_the_seed(oracle: OracleProcess) -> None:
    bound = Bound(oracle, reference("return x * 0 + torch.rand(4) + np.random.rand()"), [X], [("o", "float32", [4])])
    found = []
    for seed in (1, 2, 1):
        assert bound.set(seed)["type"] == "ok"
        found.append(bound.tensor("o"))
    assert torch.equal(found[0], found[2]) and not torch.equal(found[0], found[1])


@pytest.mark.parametrize("parameters", ["x, s=2.0", "x, **more", "*x", "x, *, s=2.0"])
def test_parameters_that_are_no_inputs(oracle: OracleProcess, parameters: str) -> None:
    reply = Bound(oracle, reference("return x", parameters), [X], [("o", "float32", [4])]).load_reply
    assert reply["kind"] == "reference", reply
    assert "cannot be given by position" in reply["message"] or "the same names in the same order" in reply["message"]


def test_a_default_does_not_hide_an_input(oracle: OracleProcess) -> None:
    sources = {"s": {"type": "scalar", "value": 3.0}}
    declared: list[Declared] = [X, ("s", "float32", None)]
    bound = Bound(oracle, reference("return x * 0 + s", "x, s=2.0"), declared, [("o", "float32", [4])], sources=sources)
    assert bound.set(1)["type"] == "ok" and bound.tensor("o").tolist() == [3.0] * 4


@pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="no Triton")
def test_triton_without_a_gpu_says_so(oracle: OracleProcess) -> None:
    source = (
        "import torch, triton\nimport triton.language as tl\n@triton.jit\ndef double(x, o, n: tl.constexpr):\n"
        "    i = tl.arange(0, n)\n    tl.store(o + i, tl.load(x + i) * 2)\n"
        "def run(x):\n    o = torch.empty_like(x)\n    double[(1,)](x, o, 4)\n    return o\n"
    )
    reply = Bound(oracle, source, [X], [("o", "float32", [4])]).set(1)
    assert reply["kind"] == "reference"
    assert "line 9 of the reference, in run; there is no GPU here: evaluate with --device cuda" in reply["message"]
