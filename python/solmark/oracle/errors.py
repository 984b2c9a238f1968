"""Errors that become error replies: a kind the judge knows and words for people."""

from __future__ import annotations

import traceback


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


# What PyTorch and Triton say where there is no GPU; Triton's words do not tell a user so.
_NO_GPU = ("0 active drivers", "Found no NVIDIA driver", "No CUDA GPUs are available", "not compiled with CUDA")


def _mend(error: BaseException) -> str:
    if any(words in str(error) for words in _NO_GPU):
        return "; there is no GPU here: evaluate with --device cuda on a machine that has one"
    return ""


def describe_exception(error: BaseException, source_file: str | None) -> str:
    """The exception in one line, with the innermost line of the reference that led to it."""
    words = " | ".join(line.strip() for line in str(error).splitlines() if line.strip())
    text = f"{type(error).__name__}: {words[:600]}".rstrip(": ")
    if isinstance(error, SyntaxError) and error.filename == source_file:
        return f"{type(error).__name__}: {error.msg} at line {error.lineno} of the reference"
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if frame.filename == source_file:
            return f"{text} at line {frame.lineno} of the reference, in {frame.name}{_mend(error)}"
    return text + _mend(error)
