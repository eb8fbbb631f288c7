"""Speed benchmarks for pytest-benchmark, run by ``make bench``. The package exports nothing."""

__all__ = ()
