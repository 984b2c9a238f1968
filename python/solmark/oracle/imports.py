"""Whether a reference may import more of PyTorch while another thread is still importing.

Two threads that enter PyTorch's circular imports from different ends see each other's half-made modules: then
`torch.compile` in a reference fails, though the reference is right.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Container, Iterator

# What makes PyTorch import more of itself when it is used, whatever the reference has imported.
_LAZY = re.compile(
    r"compile|dynamo|inductor|export|functorch|flex_attention|checkpoint|vmap|custom_op|import_module|__import__"
    r"|torch\._|\b(?:fx|func|cond|scan|while_loop|library|onnx|jit)\b"
)


def _imported(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def may_import_more(source: str, known: Container[str]) -> bool:
    """`known`: names of the modules that are complete."""
    if _LAZY.search(source):
        return True
    try:
        return any(name not in known for name in _imported(ast.parse(source)))
    except (SyntaxError, ValueError):  # it will not be imported either
        return False
