"""Speed benchmarks for pytest-benchmark, run by ``make bench``."""
