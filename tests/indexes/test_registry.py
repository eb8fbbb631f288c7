"""Index lookup by name and by entry point."""

import subprocess
import sys
from importlib.metadata import EntryPoint, EntryPoints
from types import SimpleNamespace

import pytest

from toolsearch.benchmarks.index_options import all_indexes, default_indexes
from toolsearch.errors import ConfigurationError
from toolsearch.indexes import Bm25ToolIndex, RegexToolIndex, ToolIndex, registry, resolve_index


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Register valid and invalid indexes of another distribution."""
    points = [
        EntryPoint("mine", "toolsearch.indexes.regex.index:RegexToolIndex", registry.ENTRY_POINT_GROUP),
        EntryPoint("bm25", "toolsearch.indexes.regex.index:RegexToolIndex", registry.ENTRY_POINT_GROUP),
        EntryPoint("broken", "no_such_module_anywhere:Index", registry.ENTRY_POINT_GROUP),
        EntryPoint("wrong", "os:getcwd", registry.ENTRY_POINT_GROUP),
    ]
    monkeypatch.setattr(registry, "entry_points", lambda group: EntryPoints(p for p in points if p.group == group))


def test_an_index_object_is_returned_unchanged() -> None:
    """Any object with `build` is an index."""
    index = Bm25ToolIndex()
    own = SimpleNamespace(build=lambda tools: None)
    assert resolve_index(index) is index
    assert resolve_index(own) is own


@pytest.mark.parametrize(
    ("name", "kind"), [("bm25", Bm25ToolIndex), ("regex", RegexToolIndex), (" BM25 ", Bm25ToolIndex)]
)
def test_a_built_in_name_makes_an_index(name: str, kind: type[ToolIndex]) -> None:
    assert isinstance(resolve_index(name), kind)


def test_an_entry_point_makes_an_index(registered: None) -> None:
    assert isinstance(resolve_index("mine"), RegexToolIndex)


def test_an_entry_point_cannot_replace_a_built_in_index(registered: None) -> None:
    assert isinstance(resolve_index("bm25"), Bm25ToolIndex)


def test_an_unknown_name_lists_the_known_ones(registered: None) -> None:
    with pytest.raises(
        ConfigurationError,
        match=r"'bm26'; expected one of: bm25, broken, .*, vector, wrong, or the name of an installed",
    ):
        resolve_index("bm26")


def test_a_failing_entry_point_is_named(registered: None) -> None:
    """The cause is kept."""
    with pytest.raises(ConfigurationError, match=r"'broken'.*no_such_module_anywhere") as caught:
        resolve_index("broken")
    assert isinstance(caught.value.__cause__, ImportError)


def test_an_entry_point_that_makes_no_index_is_refused(registered: None) -> None:
    with pytest.raises(ConfigurationError, match=r"'wrong'.*build"):
        resolve_index("wrong")


@pytest.mark.parametrize("thing", [None, 3, object(), Bm25ToolIndex, ["bm25"]])
def test_objects_without_build_are_refused(thing: object) -> None:
    """This includes a class in place of an instance."""
    with pytest.raises(ConfigurationError, match=r"build|instance"):
        resolve_index(thing)  # type: ignore[arg-type]  # wrong on purpose


def test_importing_the_package_loads_no_engine() -> None:
    heavy = ["tantivy", "re2", "numpy", "faiss", "torch", "sentence_transformers"]
    code = f"import sys, toolsearch.indexes; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_plug_ins_are_measured_beside_the_built_in_indexes(registered: None) -> None:
    """The command line measures everything that can be used."""
    assert registry.plug_in_names() == ("broken", "mine", "wrong")
    assert all_indexes() == ("regex", "bm25", "vector", "hybrid", "broken", "mine", "wrong")
    assert {"regex", "bm25", "mine"} <= set(default_indexes())
