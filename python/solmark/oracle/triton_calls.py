"""Triton kernels that a reference launches: recorded as one operation each, and launched only with real tensors.

What a kernel writes is not known from its call, so every tensor argument counts as written.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from .record import Recorder


def _kernel_name(kernel: Any) -> str:
    while not hasattr(kernel, "__name__") and hasattr(kernel, "fn"):
        kernel = kernel.fn
    return str(getattr(kernel, "__name__", type(kernel).__name__)).rpartition(".")[2]


@contextlib.contextmanager
def intercept(recorder: Recorder, launch: bool) -> Iterator[None]:
    """Replaces the launching method of Triton's kernel classes, if Triton is in use."""
    if "triton" not in sys.modules:
        yield
        return
    from triton.runtime.autotuner import Autotuner, Heuristics
    from triton.runtime.jit import JITFunction

    originals = {kind: kind.run for kind in (Autotuner, Heuristics, JITFunction)}

    def replacement(kind: Any) -> Any:
        def run(self: Any, *args: Any, **kwargs: Any) -> Any:
            original = originals[kind]
            if recorder.suspended or kwargs.get("warmup"):
                return original(self, *args, **kwargs)
            graph = recorder.graph
            given = {k: v for k, v in kwargs.items() if k not in ("grid", "warmup")}
            tensors = [v for v in (*args, *given.values()) if isinstance(v, torch.Tensor)]
            positional = [graph.encode(v) for v in args]
            keywords = {k: graph.encode(v) for k, v in given.items()}
            mutated = [graph.writes(t) for t in tensors]
            recorder.append(f"triton.{_kernel_name(self)}", positional, keywords, mutated, [], set())
            if not launch:
                return None
            with recorder.pause():
                return original(self, *args, **kwargs)

        return run

    for kind in originals:
        kind.run = replacement(kind)
    try:
        yield
    finally:
        for kind, original in originals.items():
            kind.run = original
