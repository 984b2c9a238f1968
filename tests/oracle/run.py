"""Runs the tests of this folder; exits with 77 (skipped) and the reason where PyTorch or pytest is missing."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path


def main() -> int:
    missing = [
        name
        for name in ("pytest", "torch", "numpy", "safetensors", "jsonschema")
        if not importlib.util.find_spec(name)
    ]
    if missing:
        print(f"skipped: {sys.executable} has no {', '.join(missing)}")
        return 77
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # the tensors are small; other tests run beside these
    import pytest

    return int(pytest.main(["-q", "-p", "no:cacheprovider", str(Path(__file__).parent), *sys.argv[1:]]))


if __name__ == "__main__":
    sys.exit(main())
