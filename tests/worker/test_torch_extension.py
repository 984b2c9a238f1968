"""How the sources of a torch extension are handed to torch."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))

from solmark.build.torch_extension import distinct_objects  # noqa: E402


def test_sources_of_one_name_get_objects_of_their_own(tmp_path: Path) -> None:
    sources = [tmp_path / name for name in ("a/util.cpp", "b/util.cpp", "b/util.cu", "c/util.cc", "kernel.cpp")]
    given = [Path(path) for path in distinct_objects(sources, tmp_path)]
    assert given[2] == sources[2] and given[4] == sources[4]  # torch calls util.cu's object util.cuda.o
    assert len({path.stem for path in given if path.suffix != ".cu"}) == 4
    for number in (0, 1, 3):
        assert given[number].suffix == sources[number].suffix
        assert given[number].read_text() == f'#include "{sources[number]}"\n'
