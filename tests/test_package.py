"""What `pip install` makes of the package."""

import json
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
DEPENDENCIES = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
FLOORS = dict(dependency.split(">=") for dependency in DEPENDENCIES)
COLAB = {
    "torch": "2.11.0",
    "numpy": "2.1.3",
    "matplotlib": "3.10.0",
    "seaborn": "0.13.2",
    "tqdm": "4.67.3",
    "ipython": "7.34.0",
    "anywidget": "0.9.21",
    "ipywidgets": "7.7.1",
}
"""What Colab had installed on 2026-08-19."""


def pip(*arguments, **environment):
    command = [
        sys.executable,
        "-m",
        "pip",
        "--disable-pip-version-check",
        *arguments,
        "--no-build-isolation",
        str(ROOT),
    ]
    return subprocess.run(command, env=environment or None, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("installed", [COLAB, FLOORS], ids=["Colab", "the floors themselves"])
def test_installing_replaces_nothing_that_is_there(installed, tmp_path):
    for name, version in installed.items():
        folder = tmp_path / f"{name}-{version}.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        (folder / "INSTALLER").write_text("pip")
    report = tmp_path / "report.json"
    pip("install", "--dry-run", "--no-index", "--report", str(report), PYTHONPATH=str(tmp_path), PATH="")
    install = json.loads(report.read_text(encoding="utf-8"))["install"]
    assert [package["metadata"]["name"] for package in install] == ["attention-live"]


def test_only_lower_bounds_and_all_at_or_below_colabs():
    def numbers(version):
        return [int(part) for part in version.split(".")]

    assert all(re.fullmatch(r"[a-z]+>=[\d.]+", dependency) for dependency in DEPENDENCIES)
    assert set(FLOORS) == set(COLAB)
    for name, floor in FLOORS.items():
        assert numbers(floor) <= numbers(COLAB[name]), name


def test_the_wheel_holds_all_that_the_package_reads(tmp_path):
    pip("wheel", "--no-deps", "--no-index", "--wheel-dir", str(tmp_path))
    (wheel,) = tmp_path.glob("*.whl")
    packed = {name for name in zipfile.ZipFile(wheel).namelist() if name.startswith("attention_live/")}
    source = ROOT / "src"
    kinds = ("*.py", "*.mjs", "*.toml")
    assert packed == {path.relative_to(source).as_posix() for kind in kinds for path in source.rglob(kind)}
