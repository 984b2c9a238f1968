"""`python3 -m solmark.build.torch_extension SPEC.json`: one torch extension, by torch.utils.cpp_extension.

Paths in the specification are relative to the working folder, which holds the sources. The extension is
built, not imported: no line of the candidate runs here. A make-style dependency file lists every header that
the compilers read.
"""

from __future__ import annotations

import collections
import json
import pathlib
import shutil
import subprocess
import sys
from typing import Any

from torch.utils import cpp_extension


def _do_not_import(name: str, path: str, is_python_module: bool) -> str:
    return name


def distinct_objects(sources: list[pathlib.Path], build_folder: pathlib.Path) -> list[str]:
    """The sources, those whose objects would have one name behind files that include them: torch names an object by
    the last part of its source's path, and `a/util.cpp` and `b/util.cpp` may both be there."""

    def target(source: pathlib.Path) -> tuple[str, bool]:
        return source.stem, source.suffix == ".cu"

    counts = collections.Counter(target(source) for source in sources)
    out = []
    for number, source in enumerate(sources):
        if counts[target(source)] > 1:
            stand_in = build_folder / f"{source.stem}.source{number}{source.suffix}"
            stand_in.write_text(f'#include "{source}"\n', encoding="utf-8")
            source = stand_in
        out.append(str(source))
    return out


def _headers(build_folder: pathlib.Path) -> list[str]:
    """What ninja has noted from the compilers' dependency files."""
    listing = subprocess.run(
        ["ninja", "-t", "deps"], cwd=build_folder, check=True, capture_output=True, text=True
    ).stdout
    names = {line.strip() for line in listing.splitlines() if line.startswith(" ")}
    return sorted(str((build_folder / name).resolve()) for name in names)


def _escape(path: str) -> str:
    return path.replace("\\", "\\\\").replace(" ", "\\ ").replace("#", "\\#").replace("$", "$$")


def build(spec: dict[str, Any]) -> None:
    build_folder = pathlib.Path(spec["build_folder"]).resolve()
    name = spec["name"]
    # load() ends by importing what it built; this is the only part of it that is not wanted.
    if not hasattr(cpp_extension, "_import_module_from_library"):
        raise RuntimeError("this version of PyTorch imports an extension in a way that solmark does not know")
    cpp_extension._import_module_from_library = _do_not_import
    try:
        cpp_extension.load(
            name=name,
            sources=distinct_objects(
                [pathlib.Path(source).resolve() for source in spec["sources"]], build_folder
            ),
            extra_cflags=spec["cflags"],
            extra_cuda_cflags=spec["cuda_cflags"],
            extra_ldflags=spec["ld_flags"],
            extra_include_paths=[str(pathlib.Path(path).resolve()) for path in spec["include_paths"]],
            build_directory=str(build_folder),
            with_cuda=spec["with_cuda"],
            verbose=True,
        )
    except RuntimeError as error:
        if not isinstance(error.__cause__, subprocess.CalledProcessError):
            raise
        # The compilers have printed their own errors; torch's traceback would only bury them.
        sys.exit(f"{error}")
    shutil.copyfile(build_folder / f"{name}.so", spec["output"])
    lines = " \\\n  ".join(_escape(path) for path in _headers(build_folder))
    pathlib.Path(spec["depfile"]).write_text(f"{name}.so: {lines}\n", encoding="utf-8")


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:
        build(json.load(file))
