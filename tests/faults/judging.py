"""Runs `solmark eval` on a candidate written by a test and checks what every run must satisfy."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any


from records import check_execbench_rules, validator

HERE = Path(__file__).resolve().parent
SOLMARK = os.environ.get("SOLMARK_BIN", "")
# Short measurements: these tests ask for verdicts, not for times.
QUICK = ["--no-reference-time", "--max-slots", "16", "--budget", "1", "--target", "50"]


@dataclasses.dataclass
class Run:
    exit_code: int
    traces: list[dict[str, Any]]
    stdout: str
    stderr: str
    seconds: float

    @property
    def statuses(self) -> list[str]:
        return [t["evaluation"]["status"] for t in self.traces]

    def status(self, number: int) -> str:
        return self.statuses[number - 1]

    def seconds_of(self, number: int) -> float:
        spent = self.traces[number - 1]["evaluation"]["solmark"]["spent"]
        return sum(seconds for step, seconds in spent.items() if step != "build_s")

    def log(self, number: int) -> str:
        return self.traces[number - 1]["evaluation"]["log"]

    def findings(self, number: int) -> list[str]:
        return [f["id"] for f in self.traces[number - 1]["evaluation"]["solmark"]["findings"]]


def write_problem(
    folder: Path, *, reference: str | None = None, outputs: dict[str, Any] | None = None, workloads: int = 3, atol: float = 1e-6
) -> Path:
    """`affine` with another reference, other outputs or another number of workloads: workload i has 64 * i elements."""
    folder.mkdir(parents=True)
    definition = json.loads((HERE / "affine/definition.json").read_text())
    definition["reference"] = reference or definition["reference"]
    definition["outputs"] = outputs or definition["outputs"]
    (folder / "definition.json").write_text(json.dumps(definition))
    workload = json.loads((HERE / "affine/workload.jsonl").read_text().splitlines()[0])
    workload["tolerance"]["max_atol"] = atol
    with (folder / "workload.jsonl").open("w") as file:
        for i in range(1, workloads + 1):
            workload["uuid"] = f"00000000-0000-4000-8000-{i:012d}"
            workload["axes"]["n"] = 64 * i
            file.write(json.dumps(workload) + "\n")
    return folder


def write_solution(
    folder: Path, host: str, source: str, *, style: str = "destination", cflags: Sequence[str] = (), definition: str = "affine"
) -> Path:
    native = host == "cpp"
    entry = "kernel.cpp" if native else "kernel.py"
    spec: dict[str, Any] = {
        "languages": ["cpp" if native else "pytorch"],
        "target_hardware": ["LOCAL"],
        "entry_point": f"{entry}::run",
        "destination_passing_style": style == "destination",
    }
    if native:
        spec["binding"] = "dlpack"
        spec["compile_options"] = {"cflags": ["-O1", *cflags], "cuda_cflags": [], "ld_flags": ["-pthread"]}
    solution = {
        "name": folder.name,
        "definition": definition,
        "author": "tests",
        "spec": spec,
        "sources": [{"path": entry, "content": source}],
    }
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "solution.json"
    path.write_text(json.dumps(solution))
    return path


class Judge:
    """Has a build cache of its own, so that no test sees what another left."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def run(self, problem: Path, solution: Path, *options: str, limit: float = 120) -> Run:
        environment = dict(os.environ, XDG_CACHE_HOME=str(self.folder / "cache"), OMP_NUM_THREADS="1")
        output = self.folder / "traces.jsonl"
        command = [SOLMARK, "eval", str(problem), "-s", str(solution), "-o", str(output), "--json", *QUICK, *options]
        start = time.monotonic()
        # In a session of its own: a candidate that signals its process group must not reach the tests.
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=limit, start_new_session=True
        )
        seconds = time.monotonic() - start
        lines = output.read_text().splitlines() if output.exists() else []
        traces = [json.loads(line, parse_constant=_no_constant) for line in lines]
        run = Run(done.returncode, traces, done.stdout, done.stderr, seconds)
        self._check(run, problem)
        return run

    def _check(self, run: Run, problem: Path) -> None:
        """One record a workload, in order, on stdout and in the file alike; valid; the exit code fits."""
        uuids = [json.loads(line)["uuid"] for line in (problem / "workload.jsonl").read_text().splitlines()]
        assert [t["workload"]["uuid"] for t in run.traces] == uuids, run.stderr
        assert [json.loads(line) for line in run.stdout.splitlines()] == run.traces
        for trace in run.traces:
            validator("trace").validate(trace)
            check_execbench_rules(trace)
        passed = all(status == "PASSED" for status in run.statuses)
        assert run.exit_code == (0 if passed else 1), run.stderr


def _no_constant(name: str) -> float:
    raise AssertionError(f"{name} is no JSON")
