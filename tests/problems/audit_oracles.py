"""Audits the example problems: is a wrong kernel noticed, and is the tolerance wide enough for rounding?

    python tests/problems/audit_oracles.py [--problem NAME…]

For every workload under 4 MiB, errors are in units of the tolerance (above 1 fails):
  reference  the reference against itself in fp64: must stay under 1/2, the other half is the candidate's
  mutant     the reference with one term left out or changed: must fail
  constant   each output filled with its own median: must fail
  row        one row of the first dimension left zero: must fail
  coarse     inputs of at most 16 bits rounded to half as many mantissa bits, fp32 ones to bf16: must fail
  ignored    one input drawn anew, or a scalar half as large again, while the output stays: must fail on at least one workload
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

import torch

from problem_files import PROBLEMS, Problem, as_tuple, worst_excess

SMALL_BYTES = 4 << 20

# (what is left out or changed, text in the reference, replacement)
MUTANTS: dict[str, list[tuple[str, str, str]]] = {
    "rms_norm": [
        ("no eps", " + eps)", ")"),
        ("no weight", " * weight.to(torch.float32)", ""),
        ("sum of half a row", "wide.pow(2).mean", "wide[:, ::2].pow(2).mean"),
    ],
    "softmax_attention": [
        ("no scale", " / math.sqrt(head_dim)", ""),
        ("no mask", '.masked_fill(future, float("-inf"))', ""),
        ("one key late", "triu(1)", "triu(2)"),
        ("softmax over queries", "dim=-1)", "dim=-2)"),
    ],
    "gqa_paged_decode": [
        ("no length", '.masked_fill(dead[:, None, None, :], float("-inf"))', ""),
        ("one token more", ">= seq_lens[:, None]", "> seq_lens[:, None]"),
        ("no scale", " * sm_scale", ""),
        (
            "table not read",
            "pages = block_table.to(torch.int64)",
            "pages = torch.arange(block_table.numel()).reshape(block_table.shape)",
        ),
        ("wrong head group", "q_heads // kv_heads, head_dim)", "q_heads // kv_heads, head_dim).flip(1)"),
    ],
    "rope": [
        ("half of the rotation", " - high * sin", ""),
        ("turned the other way", "low * sin", "low * -sin"),
        ("positions from zero", "cos_sin_cache[positions]", "cos_sin_cache[positions - positions[0]]"),
    ],
    "swiglu_mlp": [
        ("no gate", "F.silu(gate) * up", "F.silu(gate)"),
        ("no silu", "F.silu(gate)", "gate"),
        ("relu", "F.silu(gate)", "F.relu(gate)"),
    ],
    "gemm_bias_gelu": [
        ("no bias", ", bias.to(torch.float32))", ")"),
        ("no gelu", 'F.gelu(product, approximate="tanh")', "product"),
        ("relu", 'F.gelu(product, approximate="tanh")', "F.relu(product)"),
        (
            "last of k lost",
            "x.to(torch.float32)",
            "x.to(torch.float32).index_fill(1, torch.tensor([x.shape[1] - 1]), 0)",
        ),
    ],
    "gemm_bias_gelu_fp8": [
        ("no bias", " + bias.to(torch.float32)", ""),
        ("no token scale", " * x_scale[:, None]", " * x_scale.mean()"),
        ("no channel scale", " * weight_scale[None, :]", " * weight_scale.mean()"),
        ("no gelu", 'F.gelu(product, approximate="tanh")', "product"),
    ],
    "topk_routing": [
        (
            "sigmoid",
            "torch.softmax(logits.to(torch.float32), dim=-1)",
            "torch.sigmoid(logits.to(torch.float32))",
        ),
        ("sum of the eight alone", "return weights,", "return weights / weights.sum(dim=-1, keepdim=True),"),
        ("smallest", "TOP_K, dim=-1)", "TOP_K, dim=-1, largest=False)"),
    ],
    "mamba2_chunk_scan": [
        (
            "no state across chunks",
            "y = y + torch.matmul(read, start.transpose(-1, -2)) * torch.exp(decay)[..., None]",
            "",
        ),
        ("decay of a carried state", "masked_fill(not_earlier", "mul(0).masked_fill(not_earlier"),
        ("no skip", "y = y + inputs * D", "y = y + 0 * D"),
        ("no decay inside a chunk", " * torch.exp(between)", " * torch.isfinite(between)"),
        ("dt left out of the input", "inputs * step[..., None]", "inputs"),
        (
            "sees the future",
            'between = (decay[..., :, None] - decay[..., None, :]).masked_fill(future, float("-inf"))',
            "between = -(decay[..., :, None] - decay[..., None, :]).abs()",
        ),
    ],
}


def rounded(tensor: torch.Tensor) -> torch.Tensor:
    if tensor.dtype == torch.float32:
        return tensor.to(torch.bfloat16).to(torch.float32)
    if tensor.dtype == torch.float8_e4m3fn:
        return tensor.to(torch.float32).to(torch.float8_e5m2).to(torch.float32).to(torch.float8_e4m3fn)
    mantissa, exponent = torch.frexp(tensor.to(torch.float32))
    return torch.ldexp(torch.round(mantissa * 16) / 16, exponent).to(tensor.dtype)


class Audit:
    def __init__(self) -> None:
        self.failures = 0

    def line(self, good: bool, text: str) -> None:
        self.failures += not good
        print(("ok  " if good else "BAD ") + text, flush=True)


def worst(ours: Any, theirs: tuple[torch.Tensor, ...], tolerance: dict[str, Any]) -> float:
    return max(worst_excess(x, y, tolerance) for x, y in zip(as_tuple(ours), theirs))


def audit(problem: Problem, report: Audit) -> None:
    name, source = problem.folder.name, problem.definition["reference"]
    run = problem.module()["run"]
    wide = problem.module(
        source.replace("torch.float32", "torch.float64").replace("torch.bfloat16", "torch.float64")
    )
    heard: dict[str, float] = dict.fromkeys(problem.definition["inputs"], 0.0)
    for workload in problem.workloads:
        if problem.bytes(workload) > SMALL_BYTES:
            continue
        tolerance = workload["tolerance"]
        where = name + " " + " ".join(f"{k}={v}" for k, v in workload["axes"].items())
        inputs = problem.inputs(workload, "cpu")
        expected = as_tuple(run(*inputs.values()))

        exact = as_tuple(wide["run"](*inputs.values()))
        error = worst(expected, exact, tolerance)
        report.line(error < 0.5, f"{where}: reference against fp64 {error:.3f}")
        for what, old, new in MUTANTS[name]:
            assert old in source, f"{name}: {what}: the reference no longer says {old!r}"
            got = worst(
                problem.module(source.replace(old, new))["run"](*inputs.values()), expected, tolerance
            )
            report.line(got > 1.0, f"{where}: mutant, {what} {got:.3g}")
        for index, output in enumerate(expected):
            filled = torch.full_like(output, output.to(torch.float32).median().item())
            got = worst_excess(filled, output, tolerance)
            report.line(got > 1.0, f"{where}: constant for output {index} {got:.3g}")
            holed = output.clone()
            holed[-1] = 0
            got = worst_excess(holed, output, tolerance)
            report.line(got > 1.0, f"{where}: row of output {index} left zero {got:.3g}")
        coarse = {
            k: rounded(v) if isinstance(v, torch.Tensor) and v.dtype.is_floating_point else v
            for k, v in inputs.items()
        }
        got = worst(run(*coarse.values()), expected, tolerance)
        report.line(got > 1.0, f"{where}: coarse inputs {got:.3g}")
        draws = [problem.inputs(workload, "cpu") for _ in range(4)]  # a short permutation may repeat itself
        for key in inputs:
            value = inputs[key]
            others = [d[key] for d in draws] if isinstance(value, torch.Tensor) else [value * 1.5]
            got = max(worst(run(*(inputs | {key: other}).values()), expected, tolerance) for other in others)
            heard[key] = max(heard[key], got)
    for key, got in heard.items():
        report.line(got > 1.0, f"{name}: ignored input {key} {got:.3g}")


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--problem", nargs="*")
    options = parser.parse_args()
    torch.manual_seed(7)
    report = Audit()
    for folder in sorted(p.parent for p in PROBLEMS.glob("*/definition.json")):
        if not options.problem or folder.name in options.problem:
            audit(Problem(folder), report)
    print(f"{report.failures} weak places")
    return 1 if report.failures else 0


if __name__ == "__main__":
    sys.exit(main())
