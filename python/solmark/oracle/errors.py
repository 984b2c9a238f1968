"""Errors that become error replies: a kind the judge knows and words for people."""

from __future__ import annotations

import traceback

from .. import no_gpu


class OracleError(Exception):
    """Kinds of the problem's own faults: inputs, reference, shape, flags. Of this machine: machine, memory.
    Of the judge's request: request."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message


def is_out_of_memory(error: BaseException) -> bool:
    import torch

    if isinstance(error, (MemoryError, torch.OutOfMemoryError)):
        return True
    return isinstance(error, RuntimeError) and "DefaultCPUAllocator" in str(error)


def describe_exception(error: BaseException, source_file: str | None) -> str:
    """The exception in one line, with the innermost line of the reference that led to it."""
    words = " | ".join(line.strip() for line in str(error).splitlines() if line.strip())
    text = f"{type(error).__name__}: {words[:600]}".rstrip(": ")
    if isinstance(error, SyntaxError) and error.filename == source_file:
        return f"{type(error).__name__}: {error.msg} at line {error.lineno} of the reference"
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if frame.filename == source_file:
            return f"{text} at line {frame.lineno} of the reference, in {frame.name}{no_gpu.mend(error)}"
    return text + no_gpu.mend(error)
