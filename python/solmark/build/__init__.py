"""Builds candidates with the torch binding; run by src/build in a process of its own."""
