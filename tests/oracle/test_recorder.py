"""The recorder: an oracle process that sees no GPU and only records, for problems of any device."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from conftest import Bound, OracleProcess, load_body, workload_body

X = [("x", "float32", [4, 8])]


@pytest.fixture(scope="module")
def recorder() -> Iterator[OracleProcess]:
    process = OracleProcess("--recorder")
    process.ok({"type": "hello", "version": 1, "device": "cuda:0"})
    yield process
    process.close()


def test_a_gpu_problem_is_recorded_without_a_gpu(recorder: OracleProcess) -> None:
    source = "import torch\ndef run(x):\n    return x @ torch.ones(8, 3, device=x.device)\n"
    recorder.ok(load_body(source, X, [("o", "float32", [4, 3])], device="cuda:0", window={"base": 0, "bytes": 0}))
    recorder.ok(workload_body(X, [("o", "float32", [4, 3])]))
    graph = recorder.ok({"type": "record"})["graph"]
    assert graph["mode"] == "fake"
    assert "aten.mm.default" in [op["op"] for op in graph["ops"]]


def test_values_are_left_to_the_oracle(recorder: OracleProcess) -> None:
    Bound(recorder, "def run(x):\n    return x * int((x > 0).sum())\n", X, X)
    reply = recorder.ask({"type": "record"})
    assert reply["kind"] == "values", reply


def test_scalars_are_never_drawn_here(recorder: OracleProcess) -> None:
    declared = [*X, ("k", "float32", None)]
    bound = Bound(recorder, "def run(x, k):\n    return x * k\n", declared, X)
    assert recorder.ask({"type": "record"})["kind"] == "values"
    recorder.ok(workload_body(declared, X) | {"scalars": {"k": 0.5}})
    assert recorder.ok({"type": "record"})["graph"]["mode"] == "fake"
    del bound


def test_it_makes_no_inputs_and_times_nothing(recorder: OracleProcess) -> None:
    bound = Bound(recorder, "def run(x):\n    return x\n", X, X)
    assert bound.set(1)["kind"] == "request"
    assert recorder.ask({"type": "time", "seconds": 0.1})["kind"] == "request"


def test_compiled_references_get_the_real_compiler(recorder: OracleProcess) -> None:
    # Compiled when imported, and only when run: both bring in what the recorder otherwise does without.
    at_import = "import torch\n@torch.compile\ndef f(x):\n    return x.exp() + 1\ndef run(x):\n    return f(x)\n"
    when_run = "import torch\ndef run(x):\n    return torch.compile(lambda y: y.exp() + 1)(x)\n"
    for source in (when_run, at_import):
        Bound(recorder, source, X, X)
        graph = recorder.ok({"type": "record"})["graph"]
        assert [op["op"] for op in graph["ops"]] == ["aten.exp.default", "aten.add.Tensor"]


def test_constants_made_before_and_after_the_first_recording() -> None:
    process = OracleProcess("--recorder")
    process.ok({"type": "hello", "version": 1})
    source = "import torch\nc = torch.tensor([1.0, 2, 3, 4, 5, 6, 7, 8])\ndef run(x):\n    return x * c\n"
    graphs = []
    for _ in range(3):  # a new module, and the same again
        Bound(process, source, X, X)
        graphs += [process.ok({"type": "record"})["graph"] for _ in range(2)]
    assert any("constant" in json.dumps(storage) for storage in graphs[0]["storages"]), graphs[0]
    assert all(graph == graphs[0] for graph in graphs)
    process.close()
