"""A stand-in for the package torch._dynamo, for a process that only records.

FakeTensorMode reads torch._dynamo.config, and PyTorch's own functions ask for torch._dynamo.disable. The package itself
brings in sympy and a thousand other modules, which takes longer than all recording. Whatever else is asked of it brings
in the real one, and what was recorded meanwhile is recorded again (touched()).
"""

from __future__ import annotations

import importlib
import os
import sys
import types
from typing import Any

import torch

_NAME = "torch._dynamo"
_ENOUGH = {_NAME, f"{_NAME}.config"}


class _StandIn(types.ModuleType):
    def __init__(self) -> None:
        super().__init__(_NAME)
        self.__path__ = [os.path.join(os.path.dirname(torch.__file__), "_dynamo")]

    @staticmethod
    def disable(fn: Any = None, *_: Any, **__: Any) -> Any:
        return (lambda function: function) if fn is None else fn

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(bring_in(), name)


def install() -> None:
    """Unless the real package is there already."""
    if _NAME not in sys.modules:
        stand_in = _StandIn()
        sys.modules[_NAME] = stand_in
        torch._dynamo = stand_in  # type: ignore[assignment]


def active() -> bool:
    return isinstance(sys.modules.get(_NAME), _StandIn)


def touched() -> bool:
    """More than the stand-in offers has been used."""
    return not active() or any(m.startswith(f"{_NAME}.") and m not in _ENOUGH for m in sys.modules)


def bring_in() -> types.ModuleType:
    """The real package, in the stand-in's place."""
    if active():
        for name in [m for m in sys.modules if m == _NAME or m.startswith(f"{_NAME}.")]:
            del sys.modules[name]
        vars(torch).pop("_dynamo", None)
    real = importlib.import_module(_NAME)
    torch._dynamo = real
    return real
