"""Recorded graphs: what the bound engine relies on, for the kinds of references that exist."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from conftest import tensors_of
from solmark.oracle.errors import OracleError

Trace = Callable[..., dict[str, Any]]


def names(graph: dict[str, Any]) -> list[str]:
    return [op["op"] for op in graph["ops"]]


def find(graph: dict[str, Any], name: str) -> dict[str, Any]:
    return next(op for op in graph["ops"] if op["op"] == name)


def storage(graph: dict[str, Any], tensor: int) -> dict[str, Any]:
    return graph["storages"][graph["tensors"][tensor]["storage"]]


def storage_of_input(graph: dict[str, Any], name: str) -> int:
    return graph["tensors"][next(b["tensor"] for b in graph["inputs"] if b["name"] == name)]["storage"]


RMS = """
import torch
def run(x, w, eps):
    v = x.float().pow(2).mean(-1, keepdim=True)
    return (x.float() * torch.rsqrt(v + eps) * w.float()).to(x.dtype)
"""


def test_rms_norm_of_any_size_costs_no_memory(trace: Trace) -> None:
    side = 1 << 20  # 2 TiB of input
    shapes = [("x", "bfloat16", [side, side]), ("w", "bfloat16", [side]), ("eps", "float32", None)]
    sources = {"eps": {"type": "scalar", "value": 1e-6}}
    graph = trace(RMS, shapes, [("y", "bfloat16", [side, side])], sources=sources)
    assert graph["mode"] == "fake" and "mode_reason" not in graph
    assert find(graph, "aten.mean.dim")["args"][1:] == [[-1], True]
    assert find(graph, "aten.add.Tensor")["args"][1] == 1e-6
    assert graph["inputs"][2] == {"name": "eps", "scalar": 1e-6}
    assert storage(graph, graph["outputs"][0]["tensor"])["bytes"] == 2 * side * side
    assert [s["role"] for s in graph["storages"][:3]] == ["input", "input", "intermediate"]


def test_scalars_without_a_set_are_drawn_without_tensors(trace: Trace) -> None:
    side = 1 << 20
    shapes = [("x", "bfloat16", [side, side]), ("w", "bfloat16", [side]), ("eps", "float32", None)]
    graph = trace(RMS, shapes, [("y", "bfloat16", [side, side])])
    assert isinstance(graph["inputs"][2]["scalar"], float)


def test_expanded_heads_stay_views_of_their_storage(trace: Trace) -> None:
    source = """
import torch
def run(q, k, v):
    k = k.unsqueeze(2).expand(2, 8, 4, 64, 32).reshape(2, 32, 64, 32)
    s = torch.matmul(q, k.transpose(-1, -2)) / 5.6
    return torch.matmul(torch.softmax(s.float(), -1).to(q.dtype), v)
"""
    heads = [
        ("q", "bfloat16", [2, 32, 64, 32]),
        ("k", "bfloat16", [2, 8, 64, 32]),
        ("v", "bfloat16", [2, 32, 64, 32]),
    ]
    graph = trace(source, heads, [("o", "bfloat16", [2, 32, 64, 32])])
    view = graph["tensors"][find(graph, "aten.expand.default")["outputs"][0]]
    assert view["storage"] == storage_of_input(graph, "k")
    assert view["shape"] == [2, 8, 4, 64, 32] and view["strides"][2] == 0
    assert names(graph).count("aten.bmm.default") == 2


def test_causal_attention_keeps_its_flag(trace: Trace) -> None:
    source = """
import torch.nn.functional as F
def run(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=0.5, enable_gqa=True)
"""
    heads = [
        ("q", "bfloat16", [2, 8, 64, 32]),
        ("k", "bfloat16", [2, 2, 64, 32]),
        ("v", "bfloat16", [2, 2, 64, 16]),
    ]
    graph = trace(source, heads, [("o", "bfloat16", [2, 8, 64, 16])])
    assert names(graph) == ["aten.scaled_dot_product_attention.default"]
    op = graph["ops"][0]
    assert op["args"] == [{"t": 0}, {"t": 1}, {"t": 2}, None, 0.0, True]
    assert op["kwargs"] == {"scale": 0.5, "enable_gqa": True}


def test_attention_in_inference_mode_and_by_its_aten_name(trace: Trace) -> None:
    source = """
import torch
@torch.inference_mode()
def run(q, k, v):
    a = torch.ops.aten.scaled_dot_product_attention(q, k, v, is_causal=True)
    return a + torch.nn.functional.scaled_dot_product_attention(q, k, v)
"""
    heads = [(n, "float32", [1, 2, 16, 8]) for n in "qkv"]
    graph = trace(source, heads, [("o", "float32", [1, 2, 16, 8])])
    assert names(graph) == ["aten.scaled_dot_product_attention.default"] * 2 + ["aten.add.Tensor"]
    assert [op["args"][5] for op in graph["ops"][:2]] == [True, False]


def test_gradient_through_attention_keeps_its_flag(trace: Trace) -> None:
    source = """
import torch
def run(q, k, v, g):
    q = q.detach().requires_grad_()
    o = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    return torch.autograd.grad(o, q, g)[0]
"""
    heads = [(n, "float32", [1, 2, 16, 8]) for n in "qkvg"]
    graph = trace(source, heads, [("o", "float32", [1, 2, 16, 8])])
    ops = [op for op in graph["ops"] if "scaled_dot_product" in op["op"]]
    assert len(ops) == 2 and "backward" in ops[1]["op"]
    assert all(True in op["args"] for op in ops)
    assert {n for op in ops for n in tensors_of(op)} >= {b["tensor"] for b in graph["inputs"][1:]}


def test_composites_in_inference_mode_are_taken_apart(trace: Trace) -> None:
    source = """
import torch
@torch.inference_mode()
def run(x, w):
    return torch.nn.functional.linear(torch.matmul(x, w), w)
"""
    graph = trace(source, [("x", "float32", [4, 8]), ("w", "float32", [8, 8])], [("o", "float32", [4, 8])])
    assert names(graph).count("aten.mm.default") == 2
    assert not {"aten.linear.default", "aten.matmul.default"} & set(names(graph))


def test_backward(trace: Trace) -> None:
    source = """
import torch
def run(x, w):
    x = x.detach().requires_grad_()
    w = w.detach().requires_grad_()
    return torch.autograd.grad(torch.nn.functional.silu(x @ w).sum(), [x, w])
"""
    graph = trace(
        source,
        [("x", "float32", [64, 32]), ("w", "float32", [32, 16])],
        [("dx", "float32", [64, 32]), ("dw", "float32", [32, 16])],
    )
    assert graph["mode"] == "fake"
    assert names(graph).count("aten.mm.default") == 3 and "aten.silu_backward.default" in names(graph)
    # What the backward reads was made by the forward: the saved product is known again.
    forward = find(graph, "aten.mm.default")["outputs"][0]
    backward = find(graph, "aten.silu_backward.default")["args"][1]["t"]
    assert graph["tensors"][forward]["storage"] == graph["tensors"][backward]["storage"]
    products = [op for op in graph["ops"] if op["op"] == "aten.mm.default"][1:]
    results = [graph["tensors"][op["outputs"][0]]["storage"] for op in products]
    assert sorted(results) == sorted(graph["tensors"][b["tensor"]]["storage"] for b in graph["outputs"])


def test_saved_tensors_are_known_again_in_real_mode(trace: Trace) -> None:
    source = """
import torch
def run(x):
    if float(x.sum()) > 1e9: return x
    x = x.detach().requires_grad_()
    y = torch.tanh(x * 2)
    (y * y).sum().backward()
    return x.grad
"""
    graph = trace(source, [("x", "float32", [4, 8])], [("o", "float32", [4, 8])])
    assert graph["mode"] == "real"
    backward = find(graph, "aten.tanh_backward.default")["args"][1]["t"]
    assert storage(graph, backward) == storage(graph, find(graph, "aten.tanh.default")["outputs"][0])
    assert "unknown" not in names(graph)


def test_in_place_cache_update(trace: Trace) -> None:
    source = """
import torch
def run(cache, k, at):
    cache[:, at : at + k.shape[1]] = k
    return cache
"""
    graph = trace(
        source,
        [("cache", "float32", [4, 32, 8]), ("k", "float32", [4, 2, 8]), ("at", "int32", None)],
        [("cache_out", "float32", [4, 32, 8])],
        sources={"at": {"type": "scalar", "value": 7}},
    )
    write = find(graph, "aten.copy_.default")
    view = graph["tensors"][write["mutates"][0]]
    assert write["outputs"] == write["mutates"]
    assert view["storage"] == storage_of_input(graph, "cache")
    assert (view["offset"], view["shape"], view["strides"]) == (56, [4, 2, 8], [256, 8, 1])
    assert graph["outputs"] == [{"name": "cache_out", "tensor": graph["inputs"][0]["tensor"]}]
    assert len(graph["storages"]) == 2


def test_every_written_argument_is_named(trace: Trace) -> None:
    source = """
import torch
def run(x, y):
    z = torch.empty_like(x)
    torch.add(x, y, out=z)
    torch._foreach_mul_([x, y], 2.0)
    x.index_put_((torch.zeros(1, dtype=torch.int64),), y[:1], accumulate=True)
    return z + x + y
"""
    graph = trace(source, [("x", "float32", [4, 8]), ("y", "float32", [4, 8])], [("o", "float32", [4, 8])])
    z = find(graph, "aten.empty_like.default")["outputs"][0]
    assert find(graph, "aten.add.out")["mutates"] == [z]
    assert find(graph, "aten._foreach_mul_.Scalar")["mutates"] == [0, 1]
    assert find(graph, "aten.index_put_.default")["mutates"] == [0]


def test_a_tensor_that_grows(trace: Trace) -> None:
    source = """
import torch
def run(x):
    z = torch.empty(0)
    return torch.add(x, 1, out=z) * 2
"""
    graph = trace(source, [("x", "float32", [4, 8])], [("o", "float32", [4, 8])])
    written = find(graph, "aten.mul.Tensor")["args"][0]["t"]
    assert storage(graph, written) == storage(graph, find(graph, "aten.empty.memory_format")["outputs"][0])
    assert storage(graph, written)["bytes"] == 128


MOE = """
import torch
def gen(axes, device):
    return {"x": torch.randn(64, 32, device=device), "idx": torch.arange(128, device=device).view(64, 2) % 4}
def run(x, idx, w):
    out = torch.zeros_like(x)
    for e in range(w.shape[0]):
        rows = (idx == e).any(-1).nonzero().squeeze(-1)
        if rows.numel():
            out[rows] += x[rows] @ w[e]
    return out
"""


def test_shapes_that_depend_on_values_are_recorded_on_real_inputs(trace: Trace) -> None:
    graph = trace(
        MOE,
        [("x", "float32", [64, 32]), ("idx", "int64", [64, 2]), ("w", "float32", [4, 32, 32])],
        [("o", "float32", [64, 32])],
        custom_inputs_entrypoint="gen",
        sources={"x": {"type": "custom"}, "idx": {"type": "custom"}},
    )
    assert graph["mode"] == "real" and "nonzero" in graph["mode_reason"]
    assert names(graph).count("aten.mm.default") == 4
    rows = graph["tensors"][find(graph, "aten.nonzero.default")["outputs"][0]]["shape"]
    assert rows == [32, 1]
    assert all(op["mutates"] for op in graph["ops"] if op["op"] == "aten.index_put_.default")
    assert graph["outputs"][0]["tensor"] == find(graph, "aten.zeros_like.default")["outputs"][0]


def test_values_read_by_python_decide_control_flow(trace: Trace) -> None:
    source = "def run(x):\n    return x * 2 if x.abs().sum().item() > 0 else x\n"
    graph = trace(source, [("x", "float32", [4])], [("o", "float32", [4])])
    assert graph["mode"] == "real"
    read = find(graph, "aten._local_scalar_dense.default")
    assert read["outputs"] == [] and read["value"] > 0


def test_scan_loop(trace: Trace) -> None:
    source = """
import torch
def run(x, a):
    h = torch.zeros_like(x[:, 0])
    out = []
    for t in range(x.shape[1]):
        h = h * a[:, t] + x[:, t]
        out.append(h)
    return torch.stack(out, 1)
"""
    shape = [8, 256, 64]
    graph = trace(source, [("x", "float32", shape), ("a", "float32", shape)], [("o", "float32", shape)])
    assert (
        names(graph).count("aten.mul.Tensor") == 256
        and len(find(graph, "aten.stack.default")["args"][0]) == 256
    )


def test_memory_is_not_kept_by_recording(trace: Trace) -> None:
    source = """
import torch
from torch.multiprocessing.reductions import StorageWeakRef
def run(x):
    if x.sum().item() == 12345: return x
    seen = []
    for _ in range(50):
        x = x + 1
        seen.append(StorageWeakRef(x.untyped_storage()))
    alive = sum(not s.expired() for s in seen)
    assert alive <= 2, f"{alive} intermediates are alive"
    return x
"""
    graph = trace(source, [("x", "float32", [1 << 10])], [("o", "float32", [1 << 10])])
    assert graph["mode"] == "real" and names(graph).count("aten.add.Tensor") == 50
    # Their memory was used again and again, yet each is a storage of its own.
    assert len({graph["tensors"][op["outputs"][0]]["storage"] for op in graph["ops"] if op["outputs"]}) == 51


def test_convolution_and_module_constants(trace: Trace) -> None:
    source = """
import torch
torch.manual_seed(0)
class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 4, 3, stride=2, padding=1, bias=False)
        self.register_buffer("big", torch.ones(5000))
        self.register_buffer("small", torch.tensor([1.0, float("-inf"), float("nan")]))
    def forward(self, x):
        return self.conv(x) + self.big.sum() + self.small[0]
block = Block()
def run(x):
    with torch.no_grad():
        return block(x)
"""
    graph = trace(source, [("x", "float32", [2, 3, 8, 8])], [("o", "float32", [2, 4, 4, 4])])
    conv = find(graph, "aten.convolution.default")
    assert conv["args"][2:] == [None, [2, 2], [1, 1], [1, 1], False, [0, 0], 1]
    weight = graph["tensors"][conv["args"][1]["t"]]
    assert storage(graph, weight["id"])["role"] == "constant" and len(weight["values"]) == 108
    big = graph["tensors"][find(graph, "aten.sum.default")["args"][0]["t"]]
    assert storage(graph, big["id"])["role"] == "constant" and "values" not in big
    small = graph["tensors"][find(graph, "aten.select.int")["args"][0]["t"]]
    assert small["values"] == [1.0, {"float": "-inf"}, {"float": "nan"}]
    chosen = find(graph, "aten.select.int")["outputs"][0]
    assert storage(graph, chosen) == storage(graph, small["id"])  # a view of the constant


def test_views_of_constants_share_their_storage(trace: Trace) -> None:
    source = """
import torch
T = torch.arange(12.0).reshape(3, 4)
U = T[1]
def run(x):
    return x * T[0] + U + T.t()[0, 0]
"""
    graph = trace(source, [("x", "float32", [4])], [("o", "float32", [4])])
    assert graph["mode"] == "fake"
    assert [s["role"] for s in graph["storages"]].count("constant") == 1
    second = graph["tensors"][find(graph, "aten.add.Tensor")["args"][1]["t"]]
    assert second["offset"] == 4 and second["values"] == [4.0, 5.0, 6.0, 7.0]


def test_values_of_a_written_constant_are_not_kept(trace: Trace) -> None:
    source = """
import torch
T = torch.zeros(2, 4)
U = T[1]
def run(x):
    T.add_(x)
    return U * 2
"""
    graph = trace(source, [("x", "float32", [2, 4])], [("o", "float32", [4])])
    view = graph["tensors"][find(graph, "aten.mul.Tensor")["args"][0]["t"]]
    assert storage(graph, view["id"])["role"] == "constant" and "values" not in view


def test_literals_are_constants_and_factories_are_operations(trace: Trace) -> None:
    source = """
import torch
def run(x):
    return x * torch.tensor([1, 2, 3, 4], device=x.device) + torch.arange(4, device=x.device)
"""
    graph = trace(source, [("x", "float32", [4])], [("o", "float32", [4])])
    literal = graph["tensors"][find(graph, "aten.mul.Tensor")["args"][1]["t"]]
    assert literal["values"] == [1, 2, 3, 4] and storage(graph, literal["id"])["role"] == "constant"
    made = find(graph, "aten.arange.default")["outputs"][0]
    assert storage(graph, made)["role"] == "intermediate"


def test_topk_has_two_results(trace: Trace) -> None:
    source = "import torch\ndef run(x):\n    return torch.topk(x, 3)\n"
    graph = trace(source, [("x", "float32", [4, 8])], [("v", "float32", [4, 3]), ("i", "int64", [4, 3])])
    op = find(graph, "aten.topk.default")
    assert op["args"] == [{"t": 0}, 3, -1, True, True]  # defaults are filled in
    assert [graph["tensors"][t]["dtype"] for t in op["outputs"]] == ["float32", "int64"]
    assert [b["tensor"] for b in graph["outputs"]] == op["outputs"]


def test_results_that_were_not_made_are_null(trace: Trace) -> None:
    source = """
import torch
def run(g, x, w):
    m, r = x.mean(-1, keepdim=True), x.var(-1, correction=0, keepdim=True).rsqrt()
    return torch.ops.aten.native_layer_norm_backward(g, x, [8], m, r, w, None, [True, False, False])[0]
"""
    graph = trace(
        source,
        [("g", "float32", [4, 8]), ("x", "float32", [4, 8]), ("w", "float32", [8])],
        [("o", "float32", [4, 8])],
    )
    outputs = find(graph, "aten.native_layer_norm_backward.default")["outputs"]
    assert outputs[0] is not None and outputs[1:] == [None, None]


def test_float8_casts_and_scaled_products(trace: Trace) -> None:
    source = """
import torch
def run(x, w, s):
    q = (x / s).clamp(-448, 448).to(torch.float8_e4m3fn)
    return torch._scaled_mm(q, w.t(), scale_a=s, scale_b=s, out_dtype=torch.bfloat16)
"""
    graph = trace(
        source,
        [("x", "float32", [64, 32]), ("w", "float8_e4m3fn", [16, 32]), ("s", "float32", [])],
        [("o", "bfloat16", [64, 16])],
    )
    assert find(graph, "aten._to_copy.default")["kwargs"]["dtype"] == {"dtype": "float8_e4m3fn"}
    product = find(graph, "aten._scaled_mm.default")
    assert graph["tensors"][product["args"][0]["t"]]["dtype"] == "float8_e4m3fn"
    assert storage(graph, product["args"][0]["t"])["bytes"] == 64 * 32


def test_the_declared_dtype_is_part_of_the_graph(trace: Trace) -> None:
    graph = trace("def run(x):\n    return x * 2\n", [("x", "float32", [4])], [("o", "bfloat16", [4])])
    assert names(graph) == ["aten.mul.Tensor", "aten._to_copy.default"]
    assert graph["tensors"][graph["outputs"][0]["tensor"]]["dtype"] == "bfloat16"


def test_complex_numbers_and_infinities(trace: Trace) -> None:
    source = """
import torch
def run(x):
    z = torch.fft.irfft(torch.fft.rfft(x) * torch.tensor(1j), n=8)
    return z.masked_fill(z > 0, float("-inf"))
"""
    graph = trace(source, [("x", "float32", [4, 8])], [("o", "float32", [4, 8])])
    literal = graph["tensors"][find(graph, "aten.mul.Tensor")["args"][1]["t"]]
    assert literal["values"] == [[0.0, 1.0]] and literal["dtype"] == "complex64"
    assert find(graph, "aten.masked_fill.Scalar")["args"][2] == {"float": "-inf"}


@pytest.mark.parametrize(
    "line",
    [
        "torch.from_numpy(numpy.sin(x.numpy()))",
        "torch.tensor(x.tolist())",
        "torch.tensor([[v.item() for v in r] for r in x])",
    ],
)
def test_what_the_dispatcher_cannot_see_is_not_lost(trace: Trace, line: str) -> None:
    source = f"import numpy, torch\ndef run(x):\n    y = {line}\n    return y + 1\n"
    graph = trace(source, [("x", "float32", [2, 3])], [("o", "float32", [2, 3])])
    assert graph["mode"] == "real" and graph["warnings"]
    unknown = find(graph, "unknown")
    assert unknown["outputs"] == [find(graph, "aten.add.Tensor")["args"][0]["t"]]
    x = storage_of_input(graph, "x")
    assert tensors_of(unknown) and all(graph["tensors"][t]["storage"] == x for t in tensors_of(unknown))
    assert storage(graph, unknown["outputs"][0])["role"] == "intermediate"


def test_compiled_parts_run_as_plain_operations(trace: Trace) -> None:
    source = """
import torch
@torch.compile
def half(x):
    return torch.relu(x) / 2
def run(x):
    return half(x) + 1
"""
    graph = trace(source, [("x", "float32", [4])], [("o", "float32", [4])])
    assert names(graph) == ["aten.relu.default", "aten.div.Tensor", "aten.add.Tensor"]


def test_higher_order_operators_show_their_operations(trace: Trace) -> None:
    source = """
import torch
from torch.nn.attention.flex_attention import flex_attention
def causal(score, b, h, q, k):
    return torch.where(q >= k, score, -float("inf"))
def run(q, k, v):
    return flex_attention(q, k, v, score_mod=causal)
"""
    heads = [(n, "float32", [1, 2, 32, 16]) for n in "qkv"]
    graph = trace(source, heads, [("o", "float32", [1, 2, 32, 16])])
    assert graph["mode"] == "fake"
    assert names(graph).count("aten.bmm.default") == 2 and "aten.where.self" in names(graph)


def test_triton_kernels_are_named(trace: Trace) -> None:
    pytest.importorskip("triton", reason="Triton is not installed")
    source = """
import torch, triton
import triton.language as tl
@triton.autotune(configs=[triton.Config({"B": 128}), triton.Config({"B": 256})], key=["n"])
@triton.jit
def twice(a, b, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(b + i, tl.load(a + i) * 2)
@triton.jit
def thrice(a, b, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(b + i, tl.load(a + i) * 3)
def run(x):
    y = torch.empty_like(x)
    twice[(4,)](x, y, x.numel())
    thrice[(4,)](x, y, x.numel(), B=128)
    return y + 1
"""
    graph = trace(source, [("x", "float32", [4, 128])], [("o", "float32", [4, 128])])
    assert names(graph)[1:] == ["triton.twice", "triton.thrice", "aten.add.Tensor"]
    assert find(graph, "triton.thrice")["kwargs"] == {"B": 128}
    assert find(graph, "triton.twice")["args"][2] == 512
    assert find(graph, "triton.twice")["mutates"] == [0, 1]  # what it writes cannot be told: both


def test_axes_and_names_are_in_the_graph(trace: Trace) -> None:
    graph = trace(
        "def run(x):\n    return x + 1\n", [("x", "float32", [4])], [("o", "float32", [4])], axes={"n": 4}
    )
    assert (
        graph["axes"] == {"n": 4} and graph["definition"] == "problem under test" and graph["device"] == "cpu"
    )
    assert graph["torch"] == torch.__version__


def test_results_can_be_scalars_inputs_and_constants(trace: Trace) -> None:
    source = "import torch\nC = torch.ones(3)\ndef run(x):\n    return 3, x, C\n"
    outputs = [("n", "int64", []), ("x_out", "float32", [4]), ("c", "float32", [3])]
    graph = trace(source, [("x", "float32", [4])], outputs)
    assert graph["ops"] == [] and graph["outputs"][0] == {"name": "n", "scalar": 3}
    assert graph["outputs"][1]["tensor"] == 0
    assert graph["tensors"][graph["outputs"][2]["tensor"]]["values"] == [1.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("source", "kind", "words"),
    [
        ("def run(x):\n    return x[:2]\n", "shape", "[4] is declared"),
        ("def run(x):\n    raise ValueError('bad')\n", "reference", "bad at line 2"),
        (
            "import torch\ndef run(x):\n    torch.set_grad_enabled(False)\n    return x\n",
            "flags",
            "grad_enabled",
        ),
    ],
)
def test_faults(trace: Trace, source: str, kind: str, words: str) -> None:
    with pytest.raises(OracleError) as raised:
        trace(source, [("x", "float32", [4])], [("o", "float32", [4])])
    assert raised.value.kind == kind and words in raised.value.message


def test_recording_is_repeatable(trace: Trace) -> None:
    heads = [("x", "float32", [64, 32]), ("idx", "int64", [64, 2]), ("w", "float32", [4, 32, 32])]
    assert trace(MOE, heads, [("o", "float32", [64, 32])]) == trace(MOE, heads, [("o", "float32", [64, 32])])
