"""Writes expressions.tsv: random expressions and what Python's own evaluator says of each.

Columns: grammar (arithmetic, condition), expression, result. A result is `int:N`, `float:HEX` (float.hex), `bool:0|1`
for the truth of a condition, or `error`. Where Python would leave 64-bit integers on the way, the result is `error`:
Solmark's integers are 64 bits wide. Run once: python3 make_expressions.py > expressions.tsv
"""

import ast
import operator
import random
import sys

NAMES = {"B": 4, "S": 4096, "H": 128, "zero": 0, "odd": 7, "big": 3037000499, "huge": 9007199254740993, "one": 1}
LIMIT = 2**63
OPERATORS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
COMPARISONS = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


class Leaves64Bits(Exception):
    pass


def checked(value):
    if isinstance(value, complex):
        raise Leaves64Bits
    if isinstance(value, int) and not -LIMIT <= value < LIMIT:
        raise Leaves64Bits
    return value


def walk(node):
    """Evaluates in Python's order with Python's operators, and refuses what does not fit 64 bits."""
    if isinstance(node, ast.Expression):
        return walk(node.body)
    if isinstance(node, ast.Constant):
        return checked(node.value)
    if isinstance(node, ast.Name):
        return NAMES[node.id]
    if isinstance(node, ast.BinOp):
        left, right = walk(node.left), walk(node.right)
        if isinstance(node.op, ast.Pow) and isinstance(left, int) and isinstance(right, int):
            if abs(left) > 1 and right > 64:
                raise Leaves64Bits
        return checked(OPERATORS[type(node.op)](left, right))
    if isinstance(node, ast.UnaryOp):
        value = walk(node.operand)
        if isinstance(node.op, ast.Not):
            return not value
        return checked(-value if isinstance(node.op, ast.USub) else +value)
    if isinstance(node, ast.BoolOp):
        value = None
        for part in node.values:
            value = walk(part)
            if bool(value) != isinstance(node.op, ast.And):
                return value
        return value
    assert isinstance(node, ast.Compare)
    left = walk(node.left)
    for op, part in zip(node.ops, node.comparators):
        right = walk(part)
        if not COMPARISONS[type(op)](left, right):
            return False
        left = right
    return True


def atom(rng):
    kind = rng.randrange(10)
    if kind < 4:
        return rng.choice(list(NAMES))
    if kind < 7:
        return str(rng.choice([0, 1, 2, 3, 7, 8, 10, 64, 127, 1_000, 4096, 65537, 2**31, 2**53 + 1, 2**62]))
    if kind < 8:
        return rng.choice(["0x1f", "0b101", "0o17", "1_000", "00", "0XFF_ff"])
    return rng.choice(["0.5", "1e3", "2.5", "1.", ".25", "1e-3", "3.0", "1_0.5e1", "1e300", "0.1"])


def arithmetic(rng, depth):
    if depth == 0:
        return atom(rng)
    kind = rng.randrange(12)
    if kind < 7:
        op = rng.choice(["+", "-", "*", "/", "//", "%", "+", "-", "*", "//", "%"])
        return f"{arithmetic(rng, depth - 1)} {op} {arithmetic(rng, depth - 1)}"
    if kind < 8:
        return f"{arithmetic(rng, depth - 1)} ** {rng.choice(['2', '3', '-1', '0', '0.5', 'odd', '-2 ** 2'])}"
    if kind < 9:
        return rng.choice("+-") + arithmetic(rng, depth - 1)
    if kind < 11:
        return f"({arithmetic(rng, depth - 1)})"
    return atom(rng)


def condition(rng, depth):
    kind = rng.randrange(8)
    if depth == 0 or kind < 3:
        parts = [arithmetic(rng, rng.randrange(2)) for _ in range(rng.choice([1, 2, 2, 2, 3]))]
        text = parts[0]
        for part in parts[1:]:
            text += f" {rng.choice(['==', '!=', '<', '<=', '>', '>='])} {part}"
        return text
    if kind < 4:
        return f"not {condition(rng, depth - 1)}"
    if kind < 5:
        return f"({condition(rng, depth - 1)})"
    if kind < 6:
        return f"({condition(rng, depth - 1)}) {rng.choice(['+', '==', '<'])} {atom(rng)}"
    return f"{condition(rng, depth - 1)} {rng.choice(['and', 'or'])} {condition(rng, depth - 1)}"


def result(text, grammar):
    tree = ast.parse(text, mode="eval")
    try:
        value = walk(tree)
    except (Leaves64Bits, ZeroDivisionError, OverflowError):
        return "error"
    plain = eval(compile(tree, "<expression>", "eval"), {"__builtins__": {}}, dict(NAMES))
    assert type(plain) is type(value) and (plain == value or plain != plain), text
    if grammar == "condition":
        return f"bool:{int(bool(plain))}"
    return f"int:{plain}" if isinstance(plain, int) else f"float:{plain.hex()}"


def main():
    rng = random.Random(20240611)
    rows = set()
    for grammar, make, count in (("arithmetic", arithmetic, 360), ("condition", condition, 240)):
        wanted, errors = len(rows) + count, 0
        while len(rows) < wanted:
            text = make(rng, rng.randrange(5))
            if len(text) > 120:
                continue
            outcome = result(text, grammar)
            if outcome == "error":
                errors += 1
                if errors > count // 6:
                    continue
            rows.add((grammar, text, outcome))
    out = sys.stdout
    out.write("# names " + " ".join(f"{k}={v}" for k, v in NAMES.items()) + "\n")
    for row in sorted(rows):
        out.write("\t".join(row) + "\n")


main()
