"""Native candidates that misbehave: one record a workload, the right verdict in each, later workloads still judged."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from judging import Judge, Run, write_problem, write_solution
from native_candidates import IN_CALLS, WHOLE, Fault, Whole, gauntlet, matches

LIMITS = ("--load-timeout", "20", "--first-call-timeout", "3", "--call-timeout", "3", "--batch-timeout", "3")


@pytest.fixture(scope="module")
def run_of_all(session_judge: Judge, tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("gauntlet")
    problem = write_problem(folder / "problem", workloads=2 * len(IN_CALLS) + 1)
    solution = write_solution(folder / "gauntlet", "cpp", gauntlet())
    return session_judge.run(problem, solution, *LIMITS, limit=500)


def _in_calls() -> list[object]:
    marks = [[pytest.mark.xfail(strict=True, reason=f.broken)] if f.broken else [] for f in IN_CALLS]
    return [pytest.param(i, id=f.name, marks=marks[i]) for i, f in enumerate(IN_CALLS)]


@pytest.mark.parametrize("index", _in_calls())
def test_call(index: int, run_of_all: Run) -> None:
    fault: Fault = IN_CALLS[index]
    number = 2 * index + 2
    log = run_of_all.log(number)
    assert matches(fault.wanted, run_of_all.status(number)), log
    assert re.search(fault.words, log), log
    assert run_of_all.seconds_of(number) < fault.within
    assert len(json.dumps(run_of_all.traces[number - 1])) < 400_000  # a flood does not end up in the record
    assert run_of_all.traces[number - 1]["solution"] == "gauntlet"
    # Its neighbours are judged as if nothing had happened.
    assert run_of_all.status(number - 1) == "PASSED", run_of_all.log(number - 1)
    assert run_of_all.status(number + 1) == "PASSED", run_of_all.log(number + 1)


def test_nan_is_told(run_of_all: Run) -> None:
    for name, key in (("nan", "has_nan"), ("infinity", "has_inf")):
        number = 2 * [f.name for f in IN_CALLS].index(name) + 2
        assert run_of_all.traces[number - 1]["evaluation"]["correctness"][key] is True


def test_an_exit_with_0_is_no_success(run_of_all: Run) -> None:
    assert run_of_all.exit_code == 1


@pytest.mark.parametrize("case", WHOLE, ids=lambda c: c.name)
def test_program(case: Whole, judge: Judge, tmp_path: Path) -> None:
    problem = write_problem(tmp_path / "problem", workloads=2)
    solution = write_solution(tmp_path / case.name, "cpp", case.source, cflags=case.cflags)
    run = judge.run(problem, solution, *case.options)
    for number in (1, 2):
        assert matches(case.wanted, run.status(number)), run.log(number)
        assert re.search(case.words, run.log(number)), run.log(number)


def test_all_right_is_exit_code_0(judge: Judge, affine: Path, tmp_path: Path) -> None:
    right = Whole("right", "PASSED")
    run = judge.run(affine, write_solution(tmp_path / "right", "cpp", right.source), "--arch", "h200-sxm")
    assert run.statuses == ["PASSED"] * 6
    assert run.exit_code == 0
    for trace in run.traces:
        solmark = trace["evaluation"]["solmark"]
        assert solmark["mode"] == "live" and solmark["machine"]["device"] == "cpu"
        assert solmark["t_sol_ns"] > 0 and solmark["bound"]["arch"] == "h200-sxm"
        assert solmark["input_sets"] >= 14


def test_outputs_that_rely_on_zeros(judge: Judge, tmp_path: Path) -> None:
    """SOL-ExecBench hands out zeros: leaving right zeros unwritten passes with a finding, leaving out others fails."""
    reference = "import torch\n\n\ndef run(x, y):\n    out = x * 2 + y\n    out[1::2] = 0\n    return out\n"
    problem = write_problem(tmp_path / "problem", reference=reference, workloads=4)
    body = """long step = workload == 3 ? 4 : 2;
      if (workload == 4) memset(out, 0, 4 * n);
      for (long i = 0; i < n; i += step) out[i] = x[i] * 2 + y[i];
      if (workload == 1) for (long i = 1; i < n; i += 2) out[i] = 0;
      return 0;"""
    solution = write_solution(tmp_path / "zeros", "cpp", Whole("zeros", "", body=body).source)
    run = judge.run(problem, solution)
    assert run.statuses == ["PASSED", "PASSED", "INCORRECT_NUMERICAL", "PASSED"]
    assert [run.findings(i) for i in (1, 2, 3, 4)] == [[], ["relies_on_zeroed_outputs"], [], []]
    assert "never written" in run.log(3)
    assert run.traces[1]["evaluation"]["solmark"]["input_sets"] >= 14


@pytest.mark.xfail(strict=True, reason="the candidate runs as the judge's user: SIGTERM ends the judge, and records are missing")
def test_a_candidate_that_ends_its_parent(judge: Judge, tmp_path: Path) -> None:
    """It runs as the same user, so it may; what it must not get is a pass, or a record that it wrote."""
    problem = write_problem(tmp_path / "problem", workloads=3)
    body = "if (workload == 2) kill(getppid(), SIGTERM), sleep(1); affine(); return 0;"
    solution = write_solution(tmp_path / "killer", "cpp", Whole("killer", "", body=body).source)
    run = judge.run(problem, solution)
    assert run.status(1) == "PASSED" and run.status(3) == "PASSED"
