"""Reports of benchmarks: terminal, JSON, HTML, Markdown and plots."""
