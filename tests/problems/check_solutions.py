"""Runs the example problems' solutions against their references; each verdict must be the expected one.

    python tests/problems/check_solutions.py [--device cpu|cuda] [--problem NAME…] [--solution NAME…] [--all]

Without --all only workloads under 16 MiB run. Three input sets a workload: one cannot tell a stale result.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

import torch

from problem_files import PROBLEMS, Problem, as_tuple, load_candidate, verdict

SMALL_BYTES = 16 << 20
SETS = 3
EXPECTED = {
    "wrong_row": "INCORRECT_NUMERICAL",
    "wrong_stale": "INCORRECT_NUMERICAL",
    "wrong_dtype": "INCORRECT_DTYPE",
}


def runs_on(folder: Path, device: str) -> bool:
    languages = json.loads((folder / "solution.json").read_text())["spec"]["languages"]
    if device == "cpu":
        return languages in (["cpp"], ["pytorch"])
    return languages != ["cpp"]


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--problem", nargs="*")
    parser.add_argument("--solution", nargs="*")
    parser.add_argument("--all", action="store_true")
    options = parser.parse_args()
    torch.manual_seed(20240611)
    surprises = 0
    with tempfile.TemporaryDirectory() as build:
        for folder in sorted(p.parent for p in PROBLEMS.glob("*/definition.json")):
            if options.problem and folder.name not in options.problem:
                continue
            problem = Problem(folder)
            reference = problem.module()["run"]
            workloads = [w for w in problem.workloads if options.all or problem.bytes(w) < SMALL_BYTES]
            candidates = [
                load_candidate(problem, f.parent, Path(build))
                for f in sorted(folder.glob("solutions/*/solution.json"))
                if runs_on(f.parent, options.device)
                and (not options.solution or f.parent.name in options.solution)
            ]
            for candidate in candidates:
                wanted = EXPECTED.get(candidate.name, "PASSED")
                for workload in workloads:
                    worst, status = 0.0, "PASSED"
                    for _ in range(SETS):
                        inputs = problem.inputs(workload, options.device)
                        expected = as_tuple(reference(*inputs.values()))
                        got = candidate.call(inputs, problem.empty_outputs(workload, options.device))
                        one, excess = verdict(got, expected, workload["tolerance"])
                        worst = max(worst, excess)
                        status = status if status != "PASSED" else one
                    mark = "ok " if status == wanted else "BAD"
                    surprises += status != wanted
                    axes = " ".join(f"{k}={v}" for k, v in workload["axes"].items())
                    print(
                        f"{mark} {folder.name:20} {candidate.name:12} {status:20} {worst:9.3g}  {axes}",
                        flush=True,
                    )
    print(f"{surprises} unexpected verdicts")
    return 1 if surprises else 0


if __name__ == "__main__":
    sys.exit(main())
