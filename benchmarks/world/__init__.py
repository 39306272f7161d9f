"""The parts of `python -m benchmarks.world`: files as the world writes them, run through lamr and checked."""
