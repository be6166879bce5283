"""The built site for the tests that look at it, built once for all: `pytest_plugins = ["browser", "built_site"]`."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from filelock import FileLock

ROOT = Path(__file__).parents[1]
BUILD = [Path(sys.executable).with_name("jupyter-book"), "build", "book", "-n", "-W", "--keep-going"]


@pytest.fixture(scope="session")
def build_site():
    """A function that builds the site of the project in a folder, once, and returns where it lies."""

    def build(project):
        log = project / "log"
        if not log.exists():
            done = subprocess.run(BUILD, cwd=project, capture_output=True, text=True)
            log.write_text(done.stderr + f"\nended with {done.returncode}")
        text = log.read_text()
        assert text.endswith("ended with 0"), text
        assert "WARNING" not in text, text
        return project / "book/_build/html"

    return build


@pytest.fixture(scope="session")
def site(tmp_path_factory, build_site):
    """The site of the working tree, built in a folder whose name has a space and that holds nothing but its sources.

    Several workers of pytest-xdist share it: the first one builds, and the others wait.
    """
    base = tmp_path_factory.getbasetemp()
    project = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "a project"
    with FileLock(f"{project}.lock"):
        if not project.exists():
            for name in ("book", "notebooks", "src"):
                ignore = shutil.ignore_patterns("_build", "__pycache__", ".ipynb_checkpoints", "*.egg-info")
                shutil.copytree(ROOT / name, project / name, symlinks=True, ignore=ignore)
        return build_site(project)


@pytest.fixture(scope="session")
def pages(site):
    """The paths of all pages."""
    found = [path.relative_to(site).as_posix() for path in site.rglob("*.html")]
    return sorted(path for path in found if not path.startswith("_static/"))


@pytest.fixture(scope="module")
def address(serve, site):
    """Where the site is served: below the host's root, as GitHub Pages does."""
    return f"{serve(site.parent)}/{site.name}/"
