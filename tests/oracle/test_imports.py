"""References that import more of PyTorch while the oracle is still importing it."""

from __future__ import annotations

import sys

import pytest
from conftest import Bound, OracleProcess
from solmark.oracle.imports import may_import_more

X = [("x", "float32", [4, 8])]


@pytest.mark.parametrize(
    "source",
    [
        "import torch\n@torch.compile(backend='eager')\ndef f(x):\n    return x.exp() + 1\ndef run(x):\n    return f(x)\n",
        "import torch\nimport torch._inductor.utils\ndef run(x):\n    return x.exp() + 1\n",
    ],
)
def test_an_import_at_the_first_request(source: str) -> None:
    process = OracleProcess()
    process.ok({"type": "hello", "version": 1, "device": "cpu"})  # on a CPU the oracle records too
    bound = Bound(process, source, X, X)
    assert bound.load_reply["type"] == "ok", bound.load_reply
    assert bound.set(1)["type"] == "ok"
    graph = process.ok({"type": "record"})["graph"]
    assert [op["op"] for op in graph["ops"]] == ["aten.exp.default", "aten.add.Tensor"]
    process.close()


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        ("import math\nimport torch.nn.functional as F\nfrom torch import nn\ndef run(x):\n    return x\n", False),
        ("def run(x):\n    import no_such_module_as_this\n", True),
        ("from torch.nn.no_such import thing\n", True),
        ("import torch\nrun = torch.compile(lambda x: x)\n", True),
        ("def run(x:\n", False),
    ],
)
def test_most_references_import_nothing_new(source: str, wanted: bool) -> None:
    assert may_import_more(source, set(sys.modules)) is wanted
