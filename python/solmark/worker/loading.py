"""Gets the entry function out of a Python file or a torch extension."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import pathlib
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from .library import CandidateError

_MODULE_NAME = "_solmark_candidate"


def _python_module(path: pathlib.Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(_MODULE_NAME, path)
    if spec is None or spec.loader is None:
        raise CandidateError(f"{path.name} cannot be imported: its name must end in .py")
    module = importlib.util.module_from_spec(spec)
    # Dataclasses, pickling and Triton's source lookup find a module by its name.
    sys.modules[_MODULE_NAME] = module
    spec.loader.exec_module(module)
    return module


def _extension_module(path: pathlib.Path) -> ModuleType:
    # The name of the initialiser is PyInit_<name>: the file carries the name it was built with.
    name = path.name.split(".", 1)[0]
    loader = importlib.machinery.ExtensionFileLoader(name, str(path))
    spec = importlib.util.spec_from_file_location(name, path, loader=loader)
    if spec is None:
        raise CandidateError(f"{path.name} cannot be imported")
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def load_entry(artefact: dict[str, Any]) -> Callable[..., Any]:
    path = pathlib.Path(artefact["path"])
    if artefact["kind"] == "python_file":
        # Sources see each other as top-level modules: from their root, which is the working folder and so
        # is on the path already (python3 -m), and from beside the entry file.
        sys.path.insert(0, str(path.parent))
        module = _python_module(path)
    elif artefact["kind"] == "torch_extension":
        module = _extension_module(path)
    else:
        raise CandidateError(f"the Python worker does not load a {artefact['kind']}")
    entry = getattr(module, artefact["entry"], None)
    if not callable(entry):
        raise CandidateError(f"{path.name} has no function `{artefact['entry']}`")
    return entry
