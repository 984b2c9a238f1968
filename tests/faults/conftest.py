from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import pytest

from judging import HERE, SOLMARK, Judge


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    reason = ""
    if not os.access(SOLMARK, os.X_OK):
        reason = "SOLMARK_BIN does not name the program"
    elif importlib.util.find_spec("torch") is None:
        reason = "this Python has no PyTorch, which the oracle needs"
    if not reason:
        return
    for item in items:
        if {"judge", "session_judge"} & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture
def judge(tmp_path: Path) -> Judge:
    return Judge(tmp_path)


@pytest.fixture(scope="session")
def session_judge(tmp_path_factory: pytest.TempPathFactory) -> Judge:
    return Judge(tmp_path_factory.mktemp("judge"))


@pytest.fixture
def affine() -> Path:
    return HERE / "affine"
