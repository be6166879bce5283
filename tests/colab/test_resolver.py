"""What pip would install beside what Colab has, for the Pythons that Colab has had."""

import json
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PIP = "pip==26.3"
"""Older ones download all that they would install, only to say so."""


@pytest.fixture(scope="module")
def newer_pip(pip, tmp_path_factory):
    """Where a newer pip lies than the one of the virtual environment."""
    folder = tmp_path_factory.mktemp("pip")
    pip("install", "--quiet", "--target", str(folder), PIP)
    return folder


@pytest.fixture(scope="module")
def hollow_torch(colab_versions, tmp_path_factory):
    """A wheel of Colab's torch that holds and needs nothing: what the real one asks for is gigabytes of CUDA."""
    version = colab_versions["torch"]
    path = tmp_path_factory.mktemp("torch") / f"torch-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        about = f"torch-{version}.dist-info"
        wheel.writestr(f"{about}/METADATA", f"Metadata-Version: 2.1\nName: torch\nVersion: {version}\n")
        wheel.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{about}/RECORD", "")
    return path


@pytest.mark.parametrize("python", ["3.12", "3.13"])
def test_the_package_goes_with_what_colab_has(python, pip, newer_pip, hollow_torch, colab_versions, tmp_path):
    report = tmp_path / "report.json"
    others = [f"{name}=={version}" for name, version in colab_versions.items() if name != "torch"]
    options = ["--python-version", python, "--only-binary=:all:", "--target", str(tmp_path / "target")]
    wanted = [str(hollow_torch), *others, str(ROOT)]
    pip("install", "--dry-run", "--quiet", "--report", str(report), *options, *wanted, PYTHONPATH=str(newer_pip))
    install = [entry["metadata"] for entry in json.loads(report.read_text(encoding="utf-8"))["install"]]
    found = {package["name"]: package["version"] for package in install}
    assert "attention-live" in found
    assert {name: found[name] for name in colab_versions} == colab_versions
