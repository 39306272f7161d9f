"""What the benchmarks of a front share, and the parts of `benchmarks.fleet`, a module each."""
