"""How long the reference takes, run eagerly with the device idle before and after each call."""

from __future__ import annotations

import math
import statistics
import time
from typing import Any

import torch

from . import dtypes
from .reference import Reference

# The interval of the median gets no narrower worth waiting for.
_MOST_CALLS = 300


def median_interval(samples: list[float]) -> tuple[float, float]:
    """A 95 % interval of the median by order statistics; with few samples, their whole range."""
    ordered = sorted(samples)
    n = len(ordered)
    reach = 1.96 * math.sqrt(n) / 2
    low = max(0, math.floor(n / 2 - reach) - 1)
    high = min(n - 1, math.ceil(n / 2 + reach))
    return ordered[low], ordered[high]


def time_reference(reference: Reference, arguments: list[Any], seconds: float) -> dict[str, Any]:
    """Calls for at most `seconds`, the first call (untimed) included; at least one timed call."""
    on_cuda = reference.problem.device.type == "cuda"

    def idle() -> None:
        if on_cuda:
            torch.cuda.synchronize(reference.problem.device)

    tensors = [a for a in arguments if isinstance(a, torch.Tensor)]
    begin = time.perf_counter()
    versions = [t._version for t in tensors]
    originals = [dtypes.copy_of(t) for t in tensors]
    reference.call(arguments)
    idle()
    # A reference that writes its inputs gets the original contents back before each call, outside the clock.
    written = [(t, o) for t, o, v in zip(tensors, originals, versions, strict=True) if t._version != v]
    del originals
    samples: list[float] = []
    while not samples or (time.perf_counter() - begin < seconds and len(samples) < _MOST_CALLS):
        with torch.no_grad():
            for tensor, original in written:
                dtypes.as_bytes(tensor).copy_(dtypes.as_bytes(original))
        idle()
        start = time.perf_counter_ns()
        result = reference.call(arguments)
        idle()
        samples.append(float(time.perf_counter_ns() - start))
        del result
    return {
        "t_ns": statistics.median(samples),
        "t_ci_ns": list(median_interval(samples)),
        "calls": len(samples),
    }
