"""The example problems as tests: no weak oracle, files that name each other rightly, every kind of solution there."""

from __future__ import annotations

import json
import uuid
from pathlib import Path

import pytest
import torch

from audit_oracles import MUTANTS, Audit, audit
from problem_files import PROBLEMS, Problem

FOLDERS = sorted(p.parent for p in PROBLEMS.glob("*/definition.json"))
USUAL = {"cpp", "cuda", "triton", "pytorch", "wrong_row", "wrong_stale", "wrong_dtype"}
SMALL_BYTES = 4 << 20


def test_every_problem_has_mutants() -> None:
    assert {f.name for f in FOLDERS} == set(MUTANTS)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda f: f.name)
def test_no_weak_oracle(folder: Path) -> None:
    torch.manual_seed(7)
    report = Audit()
    audit(Problem(folder), report)
    assert report.failures == 0


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda f: f.name)
def test_files_agree(folder: Path) -> None:
    problem = Problem(folder)
    assert problem.definition["name"] == folder.name
    assert len(problem.workloads) >= 6
    assert sum(problem.bytes(w) < SMALL_BYTES for w in problem.workloads) >= 2
    names = [str(uuid.UUID(w["uuid"])) for w in problem.workloads]
    assert len(set(names)) == len(names)
    solutions = {f.parent.name: json.loads(f.read_text()) for f in folder.glob("solutions/*/solution.json")}
    assert USUAL <= set(solutions)
    for kind, solution in solutions.items():
        assert solution["definition"] == folder.name
        place = folder / "solutions" / kind
        listed = {s["path"] for s in solution["sources"]}
        assert listed == {f.name for f in place.iterdir() if f.suffix in (".py", ".cpp", ".cu", ".h")}
        assert solution["spec"]["entry_point"].split("::")[0] in listed


def test_uuids_are_unique_over_all_problems() -> None:
    names = [w["uuid"] for f in FOLDERS for w in Problem(f).workloads]
    assert len(set(names)) == len(names)
