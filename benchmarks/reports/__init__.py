"""Reports of benchmarks: terminal, JSON, HTML, Markdown and plots."""

from .charts import Bar, BarChart, BarPanel, Line, LineChart
from .html_page import HtmlPage
from .plots import to_svg, write_plot
from .provenance import provenance

__all__ = [
    "Bar",
    "BarChart",
    "BarPanel",
    "HtmlPage",
    "Line",
    "LineChart",
    "provenance",
    "to_svg",
    "write_plot",
]
