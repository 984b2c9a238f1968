"""PyTorch's global settings: fixed before every run of the reference, compared after it.

The values are PyTorch's own defaults, because SOL-ExecBench runs plain PyTorch: TF32 off for matrix products and on
for cuDNN convolutions, float32 matmul precision "highest", nothing forced to be deterministic.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import torch

from .errors import OracleError

_Setter = Callable[[Any], Any]
_Flag = tuple[Callable[[], Any], _Setter, Any]


def _attribute(owner: Any, name: str) -> tuple[Callable[[], Any], _Setter]:
    return (lambda: getattr(owner, name)), (lambda value: setattr(owner, name, value))


def _default_device() -> str:
    return str(torch.get_default_device())


def _table() -> dict[str, _Flag]:
    """Flag → (read, write, value it must have)."""
    cuda, cudnn = torch.backends.cuda, torch.backends.cudnn
    flags: dict[str, _Flag] = {
        "torch.backends.cuda.matmul.allow_tf32": (*_attribute(cuda.matmul, "allow_tf32"), False),
        "torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction": (
            *_attribute(cuda.matmul, "allow_fp16_reduced_precision_reduction"),
            True,
        ),
        "torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction": (
            *_attribute(cuda.matmul, "allow_bf16_reduced_precision_reduction"),
            True,
        ),
        "torch.backends.cuda.matmul.allow_fp16_accumulation": (
            *_attribute(cuda.matmul, "allow_fp16_accumulation"),
            False,
        ),
        "torch.backends.cudnn.allow_tf32": (*_attribute(cudnn, "allow_tf32"), True),
        "torch.backends.cudnn.enabled": (*_attribute(cudnn, "enabled"), True),
        "torch.backends.cudnn.benchmark": (*_attribute(cudnn, "benchmark"), False),
        "torch.backends.cudnn.deterministic": (*_attribute(cudnn, "deterministic"), False),
        "torch.float32_matmul_precision": (
            torch.get_float32_matmul_precision,
            torch.set_float32_matmul_precision,
            "highest",
        ),
        "torch.use_deterministic_algorithms": (
            torch.are_deterministic_algorithms_enabled,
            torch.use_deterministic_algorithms,
            False,
        ),
        "torch.default_dtype": (torch.get_default_dtype, torch.set_default_dtype, torch.float32),
        "torch.default_device": (_default_device, lambda _: torch.set_default_device(None), "cpu"),
        "torch.grad_enabled": (torch.is_grad_enabled, torch.set_grad_enabled, True),
        "torch.num_threads": (torch.get_num_threads, torch.set_num_threads, torch.get_num_threads()),
        "torch.flush_denormal": (_flushes_denormals, torch.set_flush_denormal, False),
        "torch.autocast_cpu": (
            lambda: torch.is_autocast_enabled("cpu"),
            lambda value: torch.set_autocast_enabled("cpu", value),
            False,
        ),
        "torch.autocast_cuda": (
            lambda: torch.is_autocast_enabled("cuda"),
            lambda value: torch.set_autocast_enabled("cuda", value),
            False,
        ),
    }
    for kind in ("flash", "mem_efficient", "math", "cudnn"):
        flags[f"torch.backends.cuda.enable_{kind}_sdp"] = (
            getattr(cuda, f"{kind}_sdp_enabled"),
            getattr(cuda, f"enable_{kind}_sdp"),
            True,
        )
    return flags


def _precision_table() -> dict[str, _Flag]:
    """The newer names of the TF32 settings (PyTorch 2.9 and later), held at what a fresh PyTorch says."""
    backends = torch.backends
    owners = {"torch.backends": backends}
    for name in (
        "mkldnn",
        "mkldnn.matmul",
        "mkldnn.conv",
        "mkldnn.rnn",
        "cudnn",
        "cudnn.conv",
        "cudnn.rnn",
        "cuda.matmul",
    ):
        owner: Any = backends
        for part in name.split("."):
            owner = getattr(owner, part, None)
        owners[f"torch.backends.{name}"] = owner
    flags: dict[str, _Flag] = {}
    for name, owner in owners.items():
        read, write = _attribute(owner, "fp32_precision")
        wanted = _value(read)
        if isinstance(wanted, str) and not wanted.startswith("unreadable"):
            flags[f"{name}.fp32_precision"] = (read, write, wanted)
    return flags


def _flushes_denormals() -> bool:
    return bool((torch.full((), 1e-310, dtype=torch.float64, device="cpu") * 1.0 == 0).item())


class FlagGuard:
    """Holds the wanted values; made once, when PyTorch is fresh."""

    def __init__(self) -> None:
        precisions = _precision_table()
        self._flags = {**_table(), **precisions}
        self._precisions = {read for read, _, _ in precisions.values()}

    def fix(self) -> None:
        """Sets every flag that is not as it must be."""
        if not self.changes():
            return
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            # In the table's order: the old names write the newer fp32_precision ones too, so these come last, from
            # the general to the particular. A flag that cannot be written shows in changes() after the run.
            for read, write, wanted in self._flags.values():
                if _value(read) != wanted or read in self._precisions:
                    with contextlib.suppress(Exception):
                        write(wanted)

    def changes(self) -> list[str]:
        """What differs from the wanted values, in words."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = []
            for name, (read, _, wanted) in self._flags.items():
                value = _value(read)
                if value != wanted:
                    found.append(f"{name} was {wanted} and is {value}")
            return found

    @contextlib.contextmanager
    def watch(self, what: str) -> Iterator[None]:
        """Fixes the flags, and raises the error kind `flags` when `what` has left one changed."""
        self.fix()
        try:
            yield
        except BaseException:
            self.fix()
            raise
        changed = self.changes()
        if changed:
            self.fix()
            raise OracleError("flags", f"{what} left global flags changed: {'; '.join(changed)}")


def _value(read: Callable[[], Any]) -> Any:
    try:
        return read()
    except Exception as error:  # noqa: BLE001 - PyTorch refuses to read a mixture of old and new TF32 names
        return f"unreadable ({error})".splitlines()[0]
