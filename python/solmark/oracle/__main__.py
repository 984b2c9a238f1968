"""python3 -m solmark.oracle --channel 3"""

from __future__ import annotations

import argparse
import sys

from ..channel import Channel
from .server import Server


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="solmark.oracle", description="Solmark's oracle; started by the judge."
    )
    parser.add_argument("--channel", type=int, required=True, help="descriptor of the connected socket")
    parser.add_argument("--recorder", action="store_true", help="only record references, on fake tensors")
    arguments = parser.parse_args()
    return Server(Channel(arguments.channel), arguments.recorder).serve()


if __name__ == "__main__":
    sys.exit(main())
