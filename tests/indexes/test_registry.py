"""An index is passed as an object or by name."""

import subprocess
import sys
from importlib.metadata import EntryPoint, EntryPoints
from types import SimpleNamespace

import pytest

from toolsearch.errors import ConfigurationError
from toolsearch.indexes import Bm25ToolIndex, RegexToolIndex, ToolIndex, registry, resolve_index


@pytest.fixture
def offered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another distribution offers indexes, good and bad ones."""
    points = [
        EntryPoint("mine", "toolsearch.indexes.regex.index:RegexToolIndex", registry.ENTRY_POINT_GROUP),
        EntryPoint("bm25", "toolsearch.indexes.regex.index:RegexToolIndex", registry.ENTRY_POINT_GROUP),
        EntryPoint("broken", "no_such_module_anywhere:Index", registry.ENTRY_POINT_GROUP),
        EntryPoint("wrong", "os:getcwd", registry.ENTRY_POINT_GROUP),
    ]
    monkeypatch.setattr(registry, "entry_points", lambda group: EntryPoints(p for p in points if p.group == group))


def test_an_object_is_returned_as_it_is() -> None:
    """Whatever has `build` is an index."""
    index = Bm25ToolIndex()
    own = SimpleNamespace(build=lambda tools: None)
    assert resolve_index(index) is index
    assert resolve_index(own) is own


@pytest.mark.parametrize(
    ("name", "kind"), [("bm25", Bm25ToolIndex), ("regex", RegexToolIndex), (" BM25 ", Bm25ToolIndex)]
)
def test_a_built_in_name_gives_a_new_index(name: str, kind: type[ToolIndex]) -> None:
    """Made with its defaults."""
    assert isinstance(resolve_index(name), kind)


def test_an_entry_point_gives_an_index(offered: None) -> None:
    """Of the group `toolsearch.indexes`."""
    assert isinstance(resolve_index("mine"), RegexToolIndex)


def test_an_entry_point_cannot_take_over_a_built_in_name(offered: None) -> None:
    """A name means the same whatever is installed."""
    assert isinstance(resolve_index("bm25"), Bm25ToolIndex)


def test_an_unknown_name_is_answered_with_those_that_exist(offered: None) -> None:
    """Built-in and offered ones."""
    with pytest.raises(ConfigurationError, match=r"'bm26'.*bm25, broken, hybrid, mine, regex, vector"):
        resolve_index("bm26")


def test_an_entry_point_that_cannot_be_loaded_is_named(offered: None) -> None:
    """The cause stays visible."""
    with pytest.raises(ConfigurationError, match=r"'broken'.*no_such_module_anywhere") as caught:
        resolve_index("broken")
    assert isinstance(caught.value.__cause__, ImportError)


def test_an_entry_point_that_gives_no_index_is_refused(offered: None) -> None:
    """It is named, with what is missing."""
    with pytest.raises(ConfigurationError, match=r"'wrong'.*build"):
        resolve_index("wrong")


@pytest.mark.parametrize("thing", [None, 3, object(), Bm25ToolIndex, ["bm25"]])
def test_what_cannot_build_is_refused(thing: object) -> None:
    """A class in place of an instance, too."""
    with pytest.raises(ConfigurationError, match=r"build|instance"):
        resolve_index(thing)  # type: ignore[arg-type]  # wrong on purpose


def test_importing_the_package_loads_no_engine() -> None:
    """tantivy, re2, numpy, faiss and torch are loaded by the indexes that need them, when they do."""
    heavy = ["tantivy", "re2", "numpy", "faiss", "torch", "sentence_transformers"]
    code = f"import sys, toolsearch.indexes; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
