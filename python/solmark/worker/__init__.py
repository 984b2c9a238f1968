"""Hosts untrusted Python candidates and torch extensions; the protocol itself is libsolmark_worker.so's."""
