"""Faults of the reference are INVALID_REFERENCE, in the workloads where they show, and never the candidate's."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from judging import Judge, Run, write_problem, write_solution
from native_candidates import Whole

REFERENCE = """
import os
import time

import torch


def run(x, y):
    workload = x.shape[0] // 64
    out = x * 2 + y
    if workload == 2:
        raise ValueError("no reference for this size")
    if workload == 4:
        return out[:-1]
    if workload == 6:
        torch.set_default_dtype(torch.float64)
    if workload == 8:
        out[3] = float("nan")
    if workload == 10:
        return out, out
    if workload == 12:
        out[3] = float("inf")
    if workload == 14:
        print("a" * (8 << 20))
    return out
"""
WORDS = {
    2: "no reference for this size",
    4: "shape",
    6: "default_dtype|default dtype|flag",
    8: "(?i)nan",
    10: "2",
    12: "(?i)inf",
}


def _right(folder: Path) -> Path:
    return write_solution(folder, "cpp", Whole("right", "").source)


@pytest.fixture(scope="module")
def run_of_all(session_judge: Judge, tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("reference")
    problem = write_problem(folder / "problem", reference=REFERENCE, workloads=15)
    return session_judge.run(problem, _right(folder / "right"), limit=200)


@pytest.mark.parametrize("number", WORDS)
def test_one_workload(number: int, run_of_all: Run) -> None:
    assert run_of_all.status(number) == "INVALID_REFERENCE", run_of_all.log(number)
    assert re.search(WORDS[number], run_of_all.log(number)), run_of_all.log(number)
    assert run_of_all.status(number - 1) == "PASSED", run_of_all.log(number - 1)
    assert run_of_all.status(number + 1) == "PASSED", run_of_all.log(number + 1)


def test_a_reference_may_print(run_of_all: Run) -> None:
    assert run_of_all.status(14) == "PASSED"


WHOLE = {
    "raises_at_import": "raise RuntimeError('needs a licence')\n\n\ndef run(x, y):\n    return x\n",
    "is_no_python": "def run(x, y):\n    return (x\n",
    "has_other_parameters": "def run(a, b):\n    return a * 2 + b\n",
}


@pytest.mark.parametrize("name", WHOLE)
def test_all_workloads(name: str, judge: Judge, tmp_path: Path) -> None:
    problem = write_problem(tmp_path / "problem", reference=WHOLE[name], workloads=2)
    run = judge.run(problem, _right(tmp_path / "right"))
    assert run.statuses == ["INVALID_REFERENCE"] * 2, run.log(1)


LOST = {"hangs": "time.sleep(1000)", "exits": "os._exit(0)"}


@pytest.mark.parametrize("name", LOST)
def test_a_reference_that_loses_the_oracle(name: str, judge: Judge, tmp_path: Path) -> None:
    reference = f"import os\nimport time\n\n\ndef run(x, y):\n    if x.shape[0] == 128:\n        {LOST[name]}\n    return x * 2 + y\n"
    problem = write_problem(tmp_path / "problem", reference=reference, workloads=3)
    run = judge.run(problem, _right(tmp_path / "right"), "--reference-timeout", "6", limit=120)
    assert run.statuses == ["PASSED", "INVALID_REFERENCE", "PASSED"], [run.log(i) for i in (1, 2, 3)]


def test_a_reference_that_hangs_at_import(judge: Judge, tmp_path: Path) -> None:
    reference = "import time\ntime.sleep(1000)\n\n\ndef run(x, y):\n    return x * 2 + y\n"
    problem = write_problem(tmp_path / "problem", reference=reference, workloads=2)
    run = judge.run(problem, _right(tmp_path / "right"), "--reference-timeout", "2", limit=120)
    assert run.statuses == ["INVALID_REFERENCE"] * 2
