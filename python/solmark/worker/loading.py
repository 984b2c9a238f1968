"""Gets the entry function out of a Python file or a torch extension."""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import pathlib
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from .library import CandidateError

# The package that stands for the folder of the sources. A name of ours: a candidate's `triton/kernel.py` or
# `kernel.py` must not hide, nor be hidden by, a module of that name.
_PACKAGE = "_solmark_candidate"


def _python_module(path: pathlib.Path, root: pathlib.Path) -> ModuleType:
    """The file as a module of the package of the sources, so that it may import its neighbours by `from . import`."""
    folders = path.parent.relative_to(root).parts
    if any("." in folder for folder in folders):  # no name of a package: the file's own folder is the root
        root, folders = path.parent, ()
    package = ModuleType(_PACKAGE)
    package.__path__ = [str(root)]
    sys.modules[_PACKAGE] = package
    parent = ".".join((_PACKAGE, *folders))
    name = f"{parent}.{path.stem.replace('.', '_')}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise CandidateError(f"{path.name} cannot be imported: its name must end in .py")
    importlib.import_module(parent)  # runs the __init__.py of its folders, which may import the file itself
    if name in sys.modules:
        return sys.modules[name]
    module = importlib.util.module_from_spec(spec)
    # Dataclasses, pickling and Triton's source lookup find a module by its name.
    sys.modules[name] = module
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
    path = pathlib.Path(artefact["path"]).resolve()
    if artefact["kind"] == "python_file":
        # Sources also see each other as top-level modules: from their root, which is the working folder, and from
        # beside the entry file.
        root = pathlib.Path.cwd()
        root = root if path.is_relative_to(root) else path.parent
        sys.path[:0] = dict.fromkeys([str(path.parent), str(root)])
        module = _python_module(path, root)
    elif artefact["kind"] == "torch_extension":
        module = _extension_module(path)
    else:
        raise CandidateError(f"the Python worker does not load a {artefact['kind']}")
    entry = getattr(module, artefact["entry"], None)
    if not callable(entry):
        raise CandidateError(f"{path.name} has no function `{artefact['entry']}`")
    return entry
