"""Records the graphs in this folder from small PyTorch programs: `python tests/data/graphs/make.py` from the source
tree's root. The bounds that must come out are in tests/bound/programs_test.cpp."""

from __future__ import annotations

import contextlib
import json
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "python"))

import torch  # noqa: E402
from torch._subclasses.fake_tensor import FakeTensorMode  # noqa: E402

from solmark.oracle.problem import BoundInput, BoundOutput, InputSpec, OutputSpec, Problem, Workload  # noqa: E402
from solmark.oracle.record import record  # noqa: E402
from solmark.oracle.reference import Reference  # noqa: E402

F16, BF16, F32, F64 = torch.float16, torch.bfloat16, torch.float32, torch.float64
I64, BOOL, F8 = torch.int64, torch.bool, torch.float8_e4m3fn

# name: (inputs by name: (dtype, *shape), body of run)
PROGRAMS: dict[str, tuple[dict[str, tuple], str]] = {
    "u01_einsum_chain": (
        {"a": (F16, 512, 512), "b": (F16, 512, 512), "c": (F16, 512, 512)},
        "return torch.einsum('ij,jk,kl->il', a, b, c)",
    ),
    "u01_einsum_best_order": (
        {"a": (F16, 1024, 8), "b": (F16, 8, 1024), "c": (F16, 1024, 8)},
        "return torch.einsum('ij,jk,kl->il', a, b, c)",
    ),
    "u02_diagonal": ({"a": (F16, 4096), "b": (F16, 4096, 4096)}, "return torch.diag(a) @ b"),
    "u03_triangular": (
        {"a": (F16, 1024, 1024), "b": (F16, 1024, 1024)},
        "return torch.tril(torch.tril(a) @ torch.tril(b))",
    ),
    "u04_index_select": ({"x": (F16, 1000000, 128), "i": (I64, 16)}, "return torch.index_select(x, 0, i)"),
    "u04_known_rows": (
        {"x": (F16, 1000000, 128)},
        "return torch.index_select(x, 0, torch.tensor([3, 5, 3, 999999]))",
    ),
    "u05_gather": ({"x": (F16, 1000, 65536), "i": (I64, 1000, 1)}, "return torch.gather(x, 1, i)"),
    "u06_unfold": ({"x": (F16, 1024, 4104), "w": (F16, 9)}, "return (x.unfold(1, 9, 1) * w).sum(-1)"),
    "u07_expand": ({"x": (F16, 4096, 1024), "b": (F16, 1024)}, "return x + b.expand(4096, 1024)"),
    "u08_decode_gqa": (
        {"q": (F16, 8, 32, 1, 128), "k": (F16, 8, 2, 4096, 128)},
        """\
        k = k.unsqueeze(2).expand(8, 2, 16, 4096, 128).reshape(8, 32, 4096, 128)
        return q @ k.transpose(-1, -2)""",
    ),
    "u09_syrk": ({"x": (F16, 1024, 1024)}, "return x @ x.t()"),
    "u10_views": ({"x": (F16, 1024, 1024)}, "return x + x.view(-1).view(1024, 1024) * x.t()"),
    "u11_shared_linear": (
        {"x": (F16, 4, 1024), "w": (F16, 1024, 1024)},
        """\
        for _ in range(10):
            x = torch.relu(torch.nn.functional.linear(x, w))
        return x""",
    ),
    "u12_dead_branch": (
        {"x": (F16, 512, 512), "a": (F16, 2048, 512), "b": (F16, 1024, 512)},
        """\
        y = torch.nn.functional.linear(x, a)
        return torch.nn.functional.linear(x, b)""",
    ),
    "u13_topk": ({"x": (F16, 1024, 1024)}, "return torch.topk(x, 8, dim=-1)[0]"),
    "u13_sort": ({"x": (F16, 1024, 1024)}, "return torch.sort(x, dim=-1)[0]"),
    "u13_var_mean": ({"x": (F16, 1024, 1024)}, "return torch.var_mean(x, dim=-1)"),
    "u14_conv3d_groups": (
        {"x": (F16, 1, 16, 6, 10, 10), "w": (F16, 16, 4, 3, 3, 3)},
        "return torch.nn.functional.conv3d(x, w, groups=4)",
    ),
    "u15_strided_conv": (
        {"x": (F16, 1, 64, 56, 56), "w": (F16, 128, 64, 1, 1)},
        "return torch.nn.functional.conv2d(x, w, stride=2)",
    ),
    "u15_strided_pool": (
        {"x": (F32, 1, 64, 56, 56)},
        "return torch.nn.functional.max_pool2d(x, kernel_size=1, stride=2)",
    ),
    "u16_padded_conv": (
        {"x": (F16, 8, 512, 7, 7), "w": (F16, 512, 512, 3, 3)},
        "return torch.nn.functional.conv2d(x, w, padding=1)",
    ),
    "u17_narrow": ({"m": (BOOL, 1024, 1024), "x": (torch.int8, 1024, 1024)}, "return m ^ (x > 0)"),
    "u18_causal": (
        {"q": (F16, 2, 8, 1024, 64), "k": (F16, 2, 8, 1024, 64), "v": (F16, 2, 8, 1024, 64)},
        "return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)",
    ),
    "u18_causal_gqa": (
        {"q": (BF16, 2, 32, 512, 128), "k": (BF16, 2, 8, 512, 128), "v": (BF16, 2, 8, 512, 128)},
        """\
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)""",
    ),
    "u18_masked_by_hand": (
        {"q": (F16, 8, 256, 64), "k": (F16, 8, 256, 64), "v": (F16, 8, 256, 64), "w": (F16, 64, 64)},
        """\
        mask = torch.ones(256, 256, dtype=torch.bool).triu(1)
        p = (q @ k.transpose(-1, -2)).masked_fill(mask, float('-inf')).softmax(-1)
        return p @ v @ w""",
    ),
    "u18_masked_by_addend": (
        {"q": (BF16, 4, 128, 64), "k": (BF16, 4, 128, 64), "v": (BF16, 4, 128, 64)},
        """\
        mask = torch.full((128, 128), float('-inf'), dtype=torch.bfloat16).triu(1)
        p = torch.softmax((q @ k.transpose(-1, -2) / 8 + mask).float(), dim=-1).to(torch.bfloat16)
        return p @ v""",
    ),
    "u18_masked_by_where": (
        {"q": (BF16, 4, 128, 64), "k": (BF16, 4, 128, 64), "v": (BF16, 4, 128, 64)},
        """\
        i = torch.arange(128)
        keep = i[None, :] <= i[:, None]
        p = torch.softmax(torch.where(keep, q @ k.transpose(-1, -2), float('-inf')), dim=-1)
        return p @ v""",
    ),
    "u18_masked_gqa": (
        {"q": (BF16, 2, 8, 128, 64), "k": (BF16, 2, 2, 128, 64), "v": (BF16, 2, 2, 128, 64)},
        """\
        k = k.repeat_interleave(4, dim=1)
        v = v.repeat_interleave(4, dim=1)
        mask = torch.ones(128, 128, dtype=torch.bool).tril()
        p = ((q @ k.transpose(-1, -2)).float() / 8).masked_fill(~mask, float('-inf')).softmax(-1).to(torch.bfloat16)
        return p @ v""",
    ),
    "u20_dense_moe": (
        {"x": (F16, 256, 512), "gate": (F16, 8, 512), "w": (F16, 8, 512, 512)},
        """\
        score, expert = (x @ gate.t()).softmax(-1).topk(1, dim=-1)
        out = torch.zeros_like(x)
        for e in range(8):
            out = out + (x @ w[e]) * score * (expert == e)
        return out""",
    ),
    "u21_where_zeros": ({"x": (F16, 1024, 1024)}, "return torch.where(x > 0, x, torch.zeros_like(x))"),
    "u22_qkv_unbind": (
        {"qkv": (F16, 2, 512, 3, 8, 64)},
        """\
        q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind(0)
        return torch.nn.functional.scaled_dot_product_attention(q, k, v)""",
    ),
    "u23_linear_sum": (
        {"x": (F16, 1024, 1024), "w": (F16, 1024, 1024)},
        "return torch.nn.functional.linear(x, w).sum(1)",
    ),
    "u28_same_half": ({"x": (F16, 1024, 1024)}, "return x[:, :512] * 2 + torch.relu(x[:, :512])"),
    "l01_transpose_copy": ({"x": (F16, 1024, 1024)}, "return x.t().contiguous()"),
    "l02_addmm": (
        {"c": (F16, 512), "a": (F16, 256, 1024), "b": (F16, 1024, 512)},
        "return torch.addmm(c, a, b)",
    ),
    "l02_baddbmm": (
        {"c": (F16, 8, 64, 64), "a": (F16, 8, 64, 256), "b": (F16, 8, 256, 64)},
        "return torch.baddbmm(c, a, b, beta=0)",
    ),
    "l02_einsum_ellipsis": (
        {"a": (F16, 4, 8, 64, 32), "b": (F16, 4, 8, 32, 16)},
        "return torch.einsum('...ij,...jk->...ik', a, b)",
    ),
    "l02_tensordot": (
        {"a": (F16, 64, 32, 48), "b": (F16, 32, 48, 80)},
        "return torch.tensordot(a, b, dims=2)",
    ),
    "l03_both_returned": ({"x": (F16, 1024, 1024)}, "h = torch.relu(x)\nreturn h, h * 2"),
    "l04_chunks": (
        {"x": (F16, 512, 2048)},
        "a, b = x.chunk(2, dim=-1)\nreturn torch.nn.functional.silu(a) * b",
    ),
    "l05_stacked_cache": (
        {"kv": (F16, 62, 2, 1024, 128), "q": (F16, 2, 1, 128)},
        """\
        out = q
        for layer in range(62):
            out = torch.tanh(out @ kv[layer].transpose(-1, -2)) @ kv[layer]
        return out""",
    ),
    "l07_backward": (
        {"x": (F16, 64, 512), "w1": (F16, 1024, 512), "w2": (F16, 256, 1024), "g": (F16, 64, 256)},
        """\
        w1 = w1.detach().requires_grad_()
        w2 = w2.detach().requires_grad_()
        with torch.enable_grad():
            y = torch.nn.functional.linear(torch.tanh(torch.nn.functional.linear(x, w1)), w2)
        return torch.autograd.grad(y, [w1, w2], g)""",
    ),
    "l07_conv_backward": (
        {"x": (F16, 4, 16, 12, 12), "w": (F16, 32, 16, 3, 3), "g": (F16, 4, 32, 10, 10)},
        """\
        x = x.detach().requires_grad_()
        w = w.detach().requires_grad_()
        with torch.enable_grad():
            y = torch.nn.functional.conv2d(x, w)
        return torch.autograd.grad(y, [x, w], g)""",
    ),
    "l10_fp32": ({"a": (F32, 1024, 1024), "b": (F32, 1024, 1024)}, "return a @ b"),
    "l12_global_norm": ({"x": (F32, 4096, 1024)}, "return x / x.norm()"),
    "l16_scaled_fp8": (
        {"a": (F8, 1024, 2048), "b": (F8, 512, 2048), "sa": (F32, 1), "sb": (F32, 1)},
        "return torch._scaled_mm(a, b.t(), scale_a=sa, scale_b=sb, out_dtype=torch.bfloat16)",
    ),
    "p_widened_fp8": (
        {"a": (F8, 1024, 2048), "b": (F8, 512, 2048), "sa": (F32, 1024, 16), "sb": (F32, 4, 16)},
        """\
        wide_a = a.float() * sa.repeat_interleave(128, dim=1)
        wide_b = b.float() * sb.repeat_interleave(128, dim=0).repeat_interleave(128, dim=1)
        return (wide_a @ wide_b.t()).to(torch.bfloat16)""",
    ),
    "p_widened_bf16": ({"a": (BF16, 512, 512), "b": (BF16, 512, 512)}, "return a.float() @ b.float()"),
    "p_cache_update": (
        {"cache": (F16, 8, 2048, 128), "k": (F16, 8, 1, 128), "q": (F16, 8, 1, 128)},
        """\
        cache[:, 100:101] = k
        return q @ cache[:, :101].transpose(-1, -2)""",
    ),
    "p_cache_returned": (
        {"cache": (F16, 8, 2048, 128), "k": (F16, 8, 1, 128)},
        "cache[:, 100:101] = k\nreturn cache",
    ),
    "p_index_copy": (
        {"x": (F16, 8192, 128), "i": (I64, 16), "s": (F16, 16, 128)},
        "return x.index_copy(0, i, s)",
    ),
    "p_index_add": (
        {"x": (F16, 8192, 128), "i": (I64, 16), "s": (F16, 16, 128)},
        "return x.index_add(0, i, s)",
    ),
    "p_rope": (
        {"q": (BF16, 2, 8, 512, 64), "cos": (BF16, 512, 64), "sin": (BF16, 512, 64)},
        """\
        a, b = q[..., :32], q[..., 32:]
        return q * cos + torch.cat((-b, a), dim=-1) * sin""",
    ),
    "p_alias": ({"x": (F16, 1024, 1024)}, "return x.view(-1)[:1000]"),
    "p_expanded_result": ({"x": (F16, 1024)}, "return (x * 2).expand(64, 1024)"),
    "p_cse": (
        {"x": (F16, 256, 256), "w": (F16, 256, 256)},
        "return torch.relu(x @ w) + torch.tanh(x @ w)",
    ),
    "p_last_row": (
        {"x": (F16, 256, 512), "w": (F16, 1024, 512)},
        "return torch.nn.functional.linear(x, w)[-1]",
    ),
    "p_layer_norm": (
        {"x": (BF16, 4096, 1024), "w": (BF16, 1024), "b": (BF16, 1024)},
        "return torch.nn.functional.layer_norm(x, (1024,), w, b)",
    ),
    "p_transposed_conv": (
        {"x": (F16, 2, 16, 8, 8), "w": (F16, 16, 8, 3, 3)},
        "return torch.nn.functional.conv_transpose2d(x, w, stride=2, padding=1)",
    ),
    "p_written_out_rows": (
        {"x": (F16, 1, 256), "w": (F16, 256, 512)},
        "return torch.tanh(x.expand(1024, 256).contiguous()) @ w",
    ),
    "p_cancelled": (
        {"x": (F16, 128, 512), "w": (F16, 512, 256)},
        """\
        y = (x @ w).amax(dim=1, keepdim=True)
        return torch.nn.functional.gelu(y - y.mean(dim=1, keepdim=True))""",
    ),
    "p_softmax_of_one": ({"x": (F16, 128, 1)}, "return torch.softmax(x, dim=1)"),
    "p_fp64": ({"a": (F64, 512, 512), "b": (F64, 512, 512)}, "return a @ b"),
    "p_masked_sdpa": (
        {"q": (F16, 2, 4, 128, 64), "k": (F16, 2, 4, 128, 64), "v": (F16, 2, 4, 128, 64), "m": (BOOL, 128, 128)},
        "return torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=m)",
    ),
}


def make(name: str, inputs: dict[str, tuple], body: str) -> dict:
    source = f"import torch\n\n\ndef run({', '.join(inputs)}):\n{textwrap.indent(textwrap.dedent(body), '    ')}\n"
    problem = Problem(
        name=name,
        op_type="",
        inputs=[InputSpec(key, spec[0], False, "") for key, spec in inputs.items()],
        outputs=[],
        reference=source,
        custom_inputs_entrypoint="",
        device=torch.device("cpu"),
    )
    reference = Reference(problem)
    try:
        with FakeTensorMode(), torch.no_grad():
            results = reference.run(*(torch.empty(spec[1:], dtype=spec[0]) for spec in inputs.values()))
        results = results if isinstance(results, (tuple, list)) else (results,)
        problem.outputs.extend(OutputSpec(f"out{i}", r.dtype) for i, r in enumerate(results))
        workload = Workload(
            axes={},
            inputs=[BoundInput(s, tuple(inputs[s.name][1:]), "random") for s in problem.inputs],
            outputs=[BoundOutput(s, tuple(r.shape)) for s, r in zip(problem.outputs, results, strict=True)],
        )
        return record(reference, workload, lambda _what: contextlib.nullcontext())
    finally:
        reference.close()


def main() -> None:
    wanted = set(sys.argv[1:])
    for name, (inputs, body) in PROGRAMS.items():
        if wanted and name not in wanted:
            continue
        graph = make(name, inputs, body)
        if graph["mode"] != "fake":
            print(f"{name}: recorded on values: {graph['mode_reason']}", file=sys.stderr)
        graph.pop("torch", None)
        file = Path(__file__).parent / f"{name}.json"
        file.write_text(json.dumps(graph, separators=(",", ":")) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
