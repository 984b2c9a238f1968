"""Solmark's Python side: the oracle (inputs, reference, recording) and the host for Python candidates.

Python decides nothing: verdicts, scores and traces are the C++ judge's.
"""

PROTOCOL_VERSION = 1
