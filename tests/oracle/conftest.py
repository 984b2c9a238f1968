"""What the oracle's tests share: problems in a few words, an oracle process as the judge sees it, the schema."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

import torch  # noqa: E402
from solmark.channel import Channel  # noqa: E402
from solmark.oracle.flags import FlagGuard  # noqa: E402
from solmark.oracle.problem import Problem, Workload  # noqa: E402
from solmark.oracle.record import record  # noqa: E402
from solmark.oracle.reference import Reference  # noqa: E402

Declared = tuple[str, str, list[int] | None]  # name, dtype, shape (None: a scalar)


def load_body(reference: str, inputs: list[Declared], outputs: list[Declared], **more: Any) -> dict[str, Any]:
    return {
        "type": "load",
        "definition_name": "problem under test",
        "op_type": "",
        "reference": reference,
        "inputs": [{"name": n, "dtype": d, "scalar": s is None, "description": ""} for n, d, s in inputs],
        "outputs": [{"name": n, "dtype": d} for n, d, _ in outputs],
        "custom_inputs_entrypoint": "",
        "device": "cpu",
    } | more


def workload_body(
    inputs: list[Declared],
    outputs: list[Declared],
    sources: dict[str, dict[str, Any]] | None = None,
    axes: dict[str, int] | None = None,
) -> dict[str, Any]:
    sources = sources or {}
    return {
        "type": "workload",
        "axes": axes or {},
        "inputs": [
            {"name": n, "dtype": d, "shape": s, "source": sources.get(n, {"type": "random"})}
            for n, d, s in inputs
        ],
        "outputs": [{"name": n, "dtype": d, "shape": s} for n, d, s in outputs],
    }


class OracleProcess:
    """A running oracle, spoken to over its channel; regions are memfds."""

    def __init__(self, *flags: str) -> None:
        ours, theirs = socket.socketpair()
        environment = os.environ | {"PYTHONPATH": str(ROOT / "python"), "CUDA_VISIBLE_DEVICES": ""}
        fd = theirs.fileno()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "solmark.oracle", "--channel", str(fd), *flags],
            pass_fds=[fd],
            env=environment,
        )
        theirs.close()
        self.channel = Channel(ours.detach())
        self._next = 1

    def ask(self, body: dict[str, Any], descriptors: list[int] | None = None) -> dict[str, Any]:
        self._next += 1
        self.channel.send(body | {"id": self._next}, descriptors)
        reply = self.channel.receive().body
        assert reply["id"] == self._next
        return reply

    def ok(self, body: dict[str, Any], descriptors: list[int] | None = None) -> dict[str, Any]:
        reply = self.ask(body, descriptors)
        assert reply["type"] == "ok", reply
        return reply

    def close(self) -> None:
        self.channel.close()
        assert self.process.wait(30) == 0


class Bound:
    """A problem and a workload in an oracle process, with one region for inputs and one for outputs."""

    def __init__(
        self,
        oracle: OracleProcess,
        reference: str,
        inputs: list[Declared],
        outputs: list[Declared],
        **more: Any,
    ) -> None:
        self.oracle = oracle
        sources = more.pop("sources", None)
        axes = more.pop("axes", None)
        self.load_reply = oracle.ask(load_body(reference, inputs, outputs, **more))
        self.inputs, self.input_bytes = self._place(inputs, 0)
        self.outputs, self.output_bytes = self._place(outputs, 1)
        if self.load_reply["type"] == "ok":
            oracle.ok(workload_body(inputs, outputs, sources, axes))
        self.fds = [os.memfd_create("test") for _ in range(2)]
        for fd, size in zip(self.fds, (self.input_bytes, self.output_bytes), strict=True):
            os.ftruncate(fd, max(size, 1))

    @staticmethod
    def _place(declared: list[Declared], region: int) -> tuple[list[dict[str, Any]], int]:
        from solmark.oracle import dtypes

        placed, at = [], 0
        for name, dtype, shape in declared:
            if shape is None:
                placed.append({"name": name, "dtype": dtype, "scalar": None})
                continue
            placed.append({"name": name, "dtype": dtype, "shape": shape, "region": region, "offset": at})
            placed[-1]["slot_stride"] = 0
            at += -(-torch.Size(shape).numel() * dtypes.from_name(dtype).itemsize // 256) * 256
        return placed, at

    def set(self, seed: int, expected: bool = True, mapped: bool = False) -> dict[str, Any]:
        """`mapped`: in the regions of the set before."""
        regions = [
            {"fd": k, "address": 0, "bytes": size, "access": "rw"}
            for k, size in enumerate((self.input_bytes, self.output_bytes))
        ]
        body = {"type": "set", "seed": seed, "inputs": self.inputs}
        body["expected"] = self.outputs if expected else []
        if mapped:
            return self.oracle.ask(body)
        return self.oracle.ask(body | {"regions": regions}, self.fds)

    def tensor(self, name: str) -> torch.Tensor:
        from solmark.oracle import dtypes

        item = next(i for i in (*self.inputs, *self.outputs) if i["name"] == name)
        dtype = dtypes.from_name(item["dtype"])
        size = torch.Size(item["shape"]).numel() * dtype.itemsize
        content = bytearray(os.pread(self.fds[item["region"]], size, item["offset"]))
        return torch.frombuffer(content, dtype=torch.uint8).view(dtype).reshape(item["shape"])


@pytest.fixture(scope="session")
def oracle() -> Iterator[OracleProcess]:
    process = OracleProcess()
    process.ok({"type": "hello", "version": 1})
    yield process
    process.close()


@pytest.fixture(scope="session")
def validate() -> Callable[[Any], None]:
    import jsonschema

    schema = json.loads((ROOT / "schemas" / "opgraph.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema).validate


@pytest.fixture
def trace(validate: Callable[[Any], None]) -> Callable[..., dict[str, Any]]:
    """Records a reference in this process; checks the graph against the schema and its own ids."""

    def run(reference: str, inputs: list[Declared], outputs: list[Declared], **more: Any) -> dict[str, Any]:
        sources, axes = more.pop("sources", None), more.pop("axes", None)
        problem = Problem.decode(load_body(reference, inputs, outputs, **more))
        workload = Workload.decode(workload_body(inputs, outputs, sources, axes), problem)
        loaded = Reference(problem)
        try:
            graph = json.loads(json.dumps(record(loaded, workload, FlagGuard().watch), allow_nan=False))
        finally:
            loaded.close()
        validate(graph)
        check_ids(graph)
        return graph

    return run


def check_ids(graph: dict[str, Any]) -> None:
    """Ids are positions; views stay inside their storages; what is read was there before."""
    for kind in ("storages", "tensors"):
        assert [entry["id"] for entry in graph[kind]] == list(range(len(graph[kind])))
    for tensor in graph["tensors"]:
        assert tensor["storage"] < len(graph["storages"])
        if 0 not in tensor["shape"]:
            last = tensor["offset"] + sum(
                (n - 1) * s for n, s in zip(tensor["shape"], tensor["strides"], strict=True)
            )
            size = (last + 1) * getattr(torch, tensor["dtype"]).itemsize
            assert size <= graph["storages"][tensor["storage"]]["bytes"], tensor
    live = {graph["tensors"][b["tensor"]]["storage"] for b in graph["inputs"] if "tensor" in b}
    live |= {s["id"] for s in graph["storages"] if s["role"] == "constant"}
    for op in graph["ops"]:
        for number in tensors_of(op):
            assert graph["tensors"][number]["storage"] in live, op
        live |= {graph["tensors"][n]["storage"] for n in op["outputs"] if n is not None}
    for output in graph["outputs"]:
        assert "scalar" in output or graph["tensors"][output["tensor"]]["storage"] in live


def tensors_of(op: dict[str, Any]) -> list[int]:
    found: list[int] = []

    def walk(value: Any) -> None:
        if isinstance(value, dict):
            if set(value) == {"t"}:
                found.append(value["t"])
        elif isinstance(value, list):
            for item in value:
                walk(item)

    walk(op["args"])
    walk(list(op.get("kwargs", {}).values()))
    return found
