"""Tests that need an NVIDIA GPU: skipped with the reason where there is none. Run by ci/gpu.sh."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "faults"))


def _why_not() -> str:
    binary = os.environ.get("SOLMARK_BIN", "")
    if not binary:
        return "SOLMARK_BIN does not name the solmark program"
    report = subprocess.run([binary, "doctor"], capture_output=True, text=True).stdout
    lines = [line for line in report.splitlines() if "device_cuda" in line]
    return "" if lines and lines[0].startswith("ok") else " ".join(lines) or "solmark doctor does not run"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    reason = _why_not()
    if reason:
        for item in items:
            item.add_marker(pytest.mark.skip(reason=reason))
