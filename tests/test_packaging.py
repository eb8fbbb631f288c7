"""The wheel: one top-level name, every module and data file inside, and links that point where they should."""

from __future__ import annotations

import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MAPPED = ("benchmarks", "eviction", "indexes")
LINKED = {(name,) for name in MAPPED}
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["setuptools"]


def folder_of(package: str) -> Path:
    mapped = SETTINGS["package-dir"].get(package)
    return ROOT / (mapped or package.replace(".", "/"))


def test_every_folder_with_code_is_listed_as_a_package() -> None:
    found = {"toolsearch"}
    for top, package in {"toolsearch": "toolsearch", **{name: f"toolsearch.{name}" for name in MAPPED}}.items():
        folders = (path.parent.relative_to(ROOT / top) for path in (ROOT / top).rglob("__init__.py"))
        found |= {".".join([package, *folder.parts]) for folder in folders if folder.parts[:1] not in LINKED}
    assert found == set(SETTINGS["packages"])


@pytest.mark.parametrize("name", MAPPED)
def test_links_in_the_package_point_to_the_folders_at_the_root(name: str) -> None:
    link = ROOT / "toolsearch" / name
    assert link.is_symlink()
    assert str(link.readlink()) == f"../{name}"
    tracked = subprocess.run(["git", "ls-files", "-s", str(link)], cwd=ROOT, capture_output=True, text=True, check=True)
    assert tracked.stdout.startswith("120000 ")


@pytest.fixture(scope="module")
def wheel_names(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The files in the wheel that is built from the sdist of what git tracks."""
    copy, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("dist")
    files = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    for name in filter(None, files.stdout.split("\0")):
        source, target = ROOT / name, copy / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_symlink():
            target.symlink_to(source.readlink())
        elif source.exists():
            target.write_bytes(source.read_bytes())
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), str(copy)]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stdout[-3000:] + built.stderr[-3000:]
    (wheel,) = out.glob("*.whl")
    return zipfile.ZipFile(wheel).namelist()


@pytest.mark.slow
def test_toolsearch_is_the_only_top_level_name(wheel_names: list[str]) -> None:
    tops = {name.split("/")[0] for name in wheel_names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"toolsearch"}


@pytest.mark.slow
def test_the_license_is_inside(wheel_names: list[str]) -> None:
    assert [name for name in wheel_names if name.endswith(".dist-info/licenses/LICENSE")]
    assert "Apache License\n" in (ROOT / "LICENSE").read_text("utf-8")


@pytest.mark.slow
def test_every_module_and_data_file_is_inside(wheel_names: list[str]) -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    tracked = listed.stdout.splitlines()
    expected = set()
    for name in tracked:
        top, _, rest = name.partition("/")
        if not (ROOT / name).is_file() or (ROOT / name).is_symlink() or "results/" in name:
            continue
        if top in MAPPED:
            expected.add(f"toolsearch/{top}/{rest}")
        elif top == "toolsearch":
            expected.add(name)
    assert expected - set(wheel_names) == set()
    assert "toolsearch/py.typed" in wheel_names
