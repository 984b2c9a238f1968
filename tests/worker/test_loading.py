"""How the sources of a Python candidate import each other."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

from solmark.worker.library import _describe  # noqa: E402

HELPER = "def help():\n    return 'helped'\n"
# As `python3 -P -m solmark.worker` does: the folder of the sources is the working folder.
LOAD = """
import sys
from solmark.worker.loading import load_entry
from solmark.worker.library import CandidateError
try:
    print(load_entry({"kind": "python_file", "path": sys.argv[1], "entry": "run"})())
except CandidateError as error:
    print("error:", error)
"""


def load(folder: Path, entry: str, sources: dict[str, str]) -> str:
    for name, content in sources.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    environment = os.environ | {"PYTHONPATH": str(ROOT / "python"), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-P", "-c", LOAD, str(folder / entry)], cwd=folder, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def using(statement: str) -> str:
    return f"{statement}\ndef run():\n    return help()\n"


@pytest.mark.parametrize(
    ("entry", "statement", "helper"),
    [
        ("kernel.py", "from helpers import help", "helpers.py"),
        ("kernel.py", "from .helpers import help", "helpers.py"),
        ("kernel.py", "from src.helpers import help", "src/helpers.py"),
        ("kernel.py", "from .src.helpers import help", "src/helpers.py"),
        ("src/kernel.py", "from .helpers import help", "src/helpers.py"),
        ("src/kernel.py", "from helpers import help", "src/helpers.py"),
        ("src/kernel.py", "from src.helpers import help", "src/helpers.py"),
        ("src/kernel.py", "from helpers import help", "helpers.py"),
        ("src/deep/kernel.py", "from ..helpers import help", "src/helpers.py"),
        ("v1.2/kernel.v2.py", "from .helpers import help", "v1.2/helpers.py"),
        ("triton/kernel.py", "import json\nfrom .helpers import help", "triton/helpers.py"),
    ],
)
def test_neighbours(tmp_path: Path, entry: str, statement: str, helper: str) -> None:
    assert load(tmp_path, entry, {entry: using(statement), helper: HELPER}) == "helped"


def test_packages(tmp_path: Path) -> None:
    """The folders' __init__.py are run, and the file is imported once even where they import it."""
    entry = "import builtins\nbuiltins.count = getattr(builtins, 'count', 0) + 1\nfrom . import NAME\ndef run():\n    return NAME, count\n"
    sources = {"pkg/__init__.py": "NAME = 'pkg'\nfrom .kernel import run\n", "pkg/kernel.py": entry}
    assert load(tmp_path, "pkg/kernel.py", sources) == "('pkg', 1)"


def test_a_module_is_found_by_its_name(tmp_path: Path) -> None:
    source = (
        "from __future__ import annotations\nimport dataclasses, pickle\n"
        "@dataclasses.dataclass\nclass Tile:\n    rows: int = 4\n"
        "def run():\n    return pickle.loads(pickle.dumps(Tile())).rows\n"
    )
    assert load(tmp_path, "src/kernel.py", {"src/kernel.py": source}) == "4"


def test_what_cannot_be_loaded(tmp_path: Path) -> None:
    assert load(tmp_path, "kernel.txt", {"kernel.txt": HELPER}) == "error: kernel.txt cannot be imported: its name must end in .py"
    assert load(tmp_path, "kernel.py", {"kernel.py": HELPER}) == "error: kernel.py has no function `run`"


def test_an_error_for_want_of_a_gpu_says_so() -> None:
    """Triton's own words do not."""
    words = _describe(RuntimeError("0 active drivers ([]). There should only be one."), 4096)
    assert words.startswith("RuntimeError: 0 active drivers ([]). There should only be one.; there is no GPU here: evaluate with --device cuda")
    assert _describe(RuntimeError("tile too large"), 4096) == "RuntimeError: tile too large"
