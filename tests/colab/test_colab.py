"""The book in an environment like Colab's: a fresh venv with the versions it preinstalls, and a stub of `google.colab`.

Two things differ from Colab: Python is the one that runs the tests, and torch is the one of requirements.txt, for the
one of constraints.txt is on PyPI only as gigabytes of CUDA. test_resolver.py looks after Colab's own of both.
"""

import contextlib
import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
import venv
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook
from playwright.sync_api import expect

pytest_plugins = ["browser"]

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
PATIENCE = 300  # seconds: a busy machine may take its time
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"

STUB = {
    "google/colab/__init__.py": "from google.colab import output\n",
    "google/colab/output.py": "calls = []\n\n\ndef enable_custom_widget_manager():\n    calls.append(1)\n\n\n"
    'class _widgets:\n    _installed_url = "https://colab.invalid/widgets"\n',
    "sitecustomize.py": "import google.colab\n",
}
"""What every Python of the environment has loaded before anything else, as in Colab."""

EXECUTE = """
import contextlib
import sys
import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
notebook = nbformat.reads(sys.stdin.read(), as_version=4)
with contextlib.suppress(CellExecutionError):
    NotebookClient(notebook, timeout=300).execute()
print(nbformat.writes(notebook))
"""
"""Runs the notebook that it reads, up to the first error, and prints it."""

HIDE = """
import importlib.util
find_spec = importlib.util.find_spec
importlib.util.find_spec = lambda name: None if name == "attention_live" else find_spec(name)
"""
"""A cell after which the package is missing."""


@dataclass
class Colab:
    """The environment: its Python, and what its processes find in `os.environ`."""

    python: Path
    environment: dict

    def run(self, *arguments, text=None):
        """What a call of its Python prints."""
        command = [self.python, *arguments]
        done = subprocess.run(command, env=self.environment, input=text, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def freeze(self):
        """What is installed, as `{name: version or address}`."""
        lines = self.run("-m", "pip", "--disable-pip-version-check", "freeze", "--all").splitlines()
        return dict(re.split("==| @ ", line, maxsplit=1) for line in lines)

    def execute(self, *sources, **environment):
        """Run a notebook of these code cells, as Run All does, up to the first error; return the cells."""
        notebook = new_notebook(cells=[new_code_cell(source) for source in sources])
        there = Colab(self.python, self.environment | environment)
        return nbformat.reads(there.run("-c", EXECUTE, text=nbformat.writes(notebook)), as_version=4).cells


@pytest.fixture(scope="module")
def colab(pip, colab_versions, tmp_path_factory):
    """The environment, without the book's package."""
    folder = tmp_path_factory.mktemp("colab")
    python = folder / "venv/bin/python"
    venv.create(folder / "venv", with_pip=False)
    versions = colab_versions | {"torch": version("torch").partition("+")[0]}
    wanted = [f"{name}=={version}" for name, version in versions.items()]
    pip("--python", str(python), "install", "--quiet", *wanted)
    for name, text in STUB.items():
        path = folder / "stub" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    own = {"PYTHONPATH": str(folder / "stub"), "JUPYTER_PREFER_ENV_PATH": "1", "TQDM_DISABLE": "1"}
    own |= {f"JUPYTER_{name}_DIR": str(folder / name.lower()) for name in ("CONFIG", "RUNTIME", "DATA")}
    return Colab(python, {**os.environ, **own, "PYDEVD_DISABLE_FILE_VALIDATION": "1"})


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    """The address of a repository that holds the package as it is in the working tree."""
    folder = tmp_path_factory.mktemp("clone") / "attention-live"
    for path in [*ROOT.glob("*.*"), *ROOT.glob("LICENSE*"), *(ROOT / "src").rglob("*")]:
        if path.is_file() and "__pycache__" not in path.parts and not path.parent.name.endswith(".egg-info"):
            target = folder / path.relative_to(ROOT)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())
    identity = ["-c", "user.name=a reader", "-c", "user.email=reader@example.org"]
    for arguments in (["init", "--quiet"], ["add", "."], [*identity, "commit", "--quiet", "--message", "The book"]):
        subprocess.run(["git", *arguments], cwd=folder, check=True)
    return folder.as_uri()


def set_up(path=NOTEBOOKS[0], repository=None):
    """The set-up cell of a notebook, with the address of `repository` in it where one is given."""
    cell = next(cell for cell in json.loads(path.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code")
    source = "".join(cell["source"])
    return (
        source
        if repository is None
        else re.sub('^REPOSITORY = ".*"', f'REPOSITORY = "{repository}"', source, flags=re.M)
    )


@pytest.fixture(scope="module")
def installed(colab, repository):
    """The cells of the first run of a notebook in the environment, and what was installed before it and after."""
    before = colab.freeze()
    cells = colab.execute("import numpy", set_up(repository=repository), "print(check, numpy.e)")
    return cells, before, colab.freeze()


def test_the_environment_has_what_colab_has(installed, colab_versions):
    _, before, _ = installed
    assert {name: before[name] for name in colab_versions if name != "torch"} == {
        name: version for name, version in colab_versions.items() if name != "torch"
    }


def test_the_set_up_cell_installs_the_package_alone_and_goes_on(installed, repository):
    (_, cell, after), before, now = installed
    assert cell.outputs == []
    assert [output["text"].split()[0] for output in after.outputs] == ["<module"]
    assert set(now) - set(before) == {"attention-live"}
    assert {name: now[name] for name in before} == before
    assert now["attention-live"].startswith(f"git+{repository}@")


def sentence(cells):
    """What a notebook shows where its set-up cell stops it: the one error, and nothing but its message."""
    *_, cell, after = cells
    assert after.outputs == []
    assert after.execution_count is None
    (output,) = cell.outputs
    assert output.output_type == "error"
    assert output.traceback == [output.evalue]
    return output.evalue


def test_a_wrong_address_is_named(colab):
    cells = colab.execute(HIDE, set_up(repository="file:///no/such/book"), "print(1)")
    assert sentence(cells).startswith(
        "attention_live could not be installed from file:///no/such/book. Is there a network"
    )
    assert "'/no/such/book'" in sentence(cells)


def test_a_missing_network_is_told(colab, repository):
    no_network = {"PIP_INDEX_URL": "http://127.0.0.1:9/", "PIP_RETRIES": "0", "PIP_CONFIG_FILE": os.devnull}
    cells = colab.execute(HIDE, set_up(repository=repository), "print(1)", **no_network, PIP_FIND_LINKS="")
    assert "Is there a network, and is the address right? Then run this cell again." in sentence(cells)
    assert "Could not find a version that satisfies the requirement setuptools" in sentence(cells)


def test_a_copy_without_an_address_says_so(colab):
    cells = colab.execute(HIDE, set_up(repository=""), "print(1)")
    assert sentence(cells).startswith("This copy of the book has no public address to install the package")
    assert "`make set-repository URL=…`" in sentence(cells)


@pytest.mark.parametrize("kernel", ["old", "new"])
def test_elsewhere_a_missing_package_means_make_lab(kernel, colab):
    place = colab if kernel == "old" else Colab(Path(sys.executable), dict(os.environ))
    cells = place.execute("import sys; sys.modules.pop('google.colab', 0)", HIDE, set_up(), "print(1)")
    assert sentence(cells).startswith("The package attention_live is not installed here.")
    assert "`make lab`" in sentence(cells)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_chapter_runs_to_its_end(path, colab, installed):
    notebook = nbformat.read(path, as_version=4)
    code = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    outputs = [output for cell in colab.execute(*code) for output in cell.outputs]
    assert not [output for output in outputs if output.output_type == "error" or output.get("name") == "stderr"]
    live = [output for output in outputs if WIDGET_VIEW in output.get("data", {})]
    assert len(live) == sum("data-explorer=" in json.dumps(cell) for cell in notebook.cells)


SHOW = """
from IPython.display import display
from attention_live import explorers
shown = {name: getattr(explorers, name)() for name in explorers.__all__ if name != "Explorer"}
display(*shown.values())
"""
READ = 'print("Python reads", shown["AttentionExplorer"].query)'
SET = 'shown["AttentionExplorer"].query = 1'


@pytest.fixture
def classic(chromium, colab, installed, tmp_path):
    """A notebook that shows every explorer, open in the classic notebook server that ipywidgets 7 was made for."""
    cells = [new_code_cell(source) for source in (SHOW, READ, SET)]
    nbformat.write(new_notebook(cells=cells), tmp_path / "explorers.ipynb")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [colab.python, "-m", "notebook", "--no-browser", "--allow-root", f"--port={port}", "--port-retries=0"]
    with (tmp_path / "log").open("w") as log:
        server = subprocess.Popen(
            [*command, "--NotebookApp.token="], cwd=tmp_path, env=colab.environment, stdout=log, stderr=log
        )
    try:
        wait_for(f"http://127.0.0.1:{port}/api", server, tmp_path / "log")
        page = chromium.new_page(viewport={"width": 1200, "height": 1000})
        page.set_default_timeout(PATIENCE * 1000)
        page.goto(f"http://127.0.0.1:{port}/notebooks/explorers.ipynb")
        expect(page.locator("#kernel_indicator_icon.kernel_idle_icon")).to_be_visible(timeout=PATIENCE * 1000)
        yield page
        page.close()
    finally:
        server.terminate()
        server.wait()


def wait_for(url, server, log):
    """Return once the server answers at `url`."""
    deadline = time.monotonic() + PATIENCE
    while server.poll() is None and time.monotonic() < deadline:
        with contextlib.suppress(urllib.error.URLError):
            return urllib.request.urlopen(url, timeout=10).close()
        time.sleep(0.1)
    raise RuntimeError(f"the notebook server did not start:\n{log.read_text()}")


def run_cell(page, number):
    """Run a cell of the classic notebook, and return what it shows."""
    page.evaluate(f"Jupyter.notebook.execute_cells([{number}])")
    return page.locator(".code_cell").nth(number).locator(".output")


def test_every_explorer_lives_in_ipywidgets_7_and_python_and_the_hand_see_each_other(classic):
    shown = run_cell(classic, 0)
    expect(shown.locator(".explorer-figure .sentence")).to_have_count(6, timeout=PATIENCE * 1000)
    assert shown.locator(".explorer-figure .sentence").filter(has_text=re.compile(r"^\s*$")).count() == 0
    attention = shown.locator(".explorer-figure").first
    attention.get_by_role("radio", name="home").click()
    expect(attention.locator(".sentence")).to_contain_text("home looks at")
    expect(run_cell(classic, 1)).to_contain_text("Python reads 3")
    run_cell(classic, 2)
    expect(attention.locator(".sentence")).to_contain_text("group looks at")
