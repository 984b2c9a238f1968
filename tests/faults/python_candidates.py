"""Faults of Python candidates, each with the verdict it must get, as in native_candidates.py."""

from __future__ import annotations

from native_candidates import Fault

REFERENCE = "import torch\n\n\ndef run(x, y):\n    out = x * 2 + y\n    return out, out.sum()\n"
OUTPUTS = {"out": {"shape": ["n"], "dtype": "float32"}, "total": {"shape": None, "dtype": "float32"}}

HEAD = """
import os, sys, time
import torch

calls = {}


def run(x, y):
    workload = x.shape[0] // 64
    calls[workload] = calls.get(workload, 0) + 1
    out = x * 2 + y
    fault = FAULTS.get(workload)
    return fault(x, y, out, out.sum(), calls[workload]) if fault else (out, out.sum())


def later(count, now, then):
    return now if count <= 60 else then


def raises(text):
    raise ValueError(text)

"""

# `code` is an expression over x, y, out, total and count, the number of the call on this workload.
RETURNS = [
    Fault("tuple", "(out, total)", "PASSED"),
    Fault("list", "[out, total]", "PASSED"),
    Fault("dict", "{'total': total, 'out': out}", "PASSED"),
    Fault("extra_keys", "{'total': total, 'out': out, 'time': 0, 'status': 'PASSED'}", "PASSED"),
    Fault("python_number", "(out, float(total))", "PASSED"),
    Fault("not_contiguous", "(torch.stack([out, out], 1)[:, 0], total)", "PASSED"),
    Fault("floods", "(sys.stdout.write('a' * (25 << 20)), sys.stderr.write('b' * (25 << 20)), (out, total))[2] "
          "if count == 1 else (out, total)", "PASSED"),
    Fault("tampers_with_comparisons", "(setattr(torch, 'allclose', lambda *a, **k: True), "
          "setattr(torch.Tensor, '__eq__', lambda *a: True), (out + 1, total))[2]", "INCORRECT_NUMERICAL"),
    Fault("missing_key", "{'out': out}", "RUNTIME_ERROR", "total"),
    Fault("too_few", "(out,)", "RUNTIME_ERROR", "1 values?, expected 2"),
    Fault("nothing", "None", "RUNTIME_ERROR", "None"),
    Fault("raises", "raises('no such tile')", "RUNTIME_ERROR", "no such tile"),
    Fault("exits", "sys.exit(0)", "RUNTIME_ERROR"),
    Fault("exits_at_once", "os._exit(0)", "RUNTIME_ERROR", "exited with code 0"),
    Fault("wrong_shape_in_its_fourth_call", "(out if count != 4 else out[:-1], total)", "INCORRECT_SHAPE", "shape"),
    Fault("wrong_rank_later", "(later(count, out, out[None]), total)", "INCORRECT_SHAPE", "timed batch.*shape"),
    Fault("wrong_dtype_later", "(later(count, out, out.double()), total)", "INCORRECT_DTYPE", "timed batch.*float64"),
    Fault("nan", "(out, total * float('nan'))", "INCORRECT_NUMERICAL", "(?i)total.*nan"),
    Fault("hangs", "time.sleep(1000)", "TIMEOUT", "time limit"),
]


def gauntlet() -> str:
    arms = [f"    {2 * i + 2}: lambda x, y, out, total, count: {f.code},\n" for i, f in enumerate(RETURNS)]
    return HEAD + "FAULTS = {\n" + "".join(arms) + "}\n"


DESTINATION = """
import torch


def run(x, y, out):
    workload = x.shape[0] // 64
    if workload == 2:
        raise KeyError("no tile")
    if workload == 4:  # a new tensor under the old name
        out = x * 2 + y
        return out
    if workload == 6:  # the judge's memory, no longer that of `out`
        out.set_(torch.empty_like(out))
    if workload == 8:
        x.zero_()
    torch.add(y, x, alpha=2, out=out)
"""
