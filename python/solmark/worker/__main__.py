"""`python3 -m solmark.worker --channel 3 --library libsolmark_worker.so`, started by the judge."""

import argparse
import sys


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="solmark.worker", description="Hosts one candidate. Started by solmark."
    )
    parser.add_argument("--channel", type=int, required=True, help="descriptor of the channel to the judge")
    parser.add_argument("--library", required=True, help="path of libsolmark_worker.so")
    options = parser.parse_args()

    # Before torch: what the library interposes must stand first in the order of symbol lookup.
    from .library import WorkerLibrary

    library = WorkerLibrary(options.library)
    from .host import CandidateHost

    return library.run(options.channel, CandidateHost(library))


if __name__ == "__main__":
    sys.exit(main())
