"""The attention explorer in a real JupyterLab, with a real kernel: what the hand does Python sees, and the reverse."""

import contextlib
import json
import os
import re
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import expect

pytest_plugins = ["browser"]

CHAPTER = Path(__file__).parent.parent / "notebooks" / "02_queries_keys_values.ipynb"
PATIENCE = 300_000  # milliseconds: a busy machine may take its time to start a server and run a chapter
SETTINGS = {
    "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
    "notebook-extension/tracker": {"windowingMode": "none"},  # cells out of sight stay in the page
}
SET = "explorer.query, explorer.temperature = 1, 0.01"
READ = 'print("Python reads", explorer.query, explorer.temperature, explorer.q[3][1])'


def write_notebook(path):
    """A copy of the chapter, with two cells at its end that set the explorer's traits and read them."""
    notebook = nbformat.read(CHAPTER, as_version=4)
    notebook.cells += [nbformat.v4.new_code_cell(source) for source in (SET, READ)]
    nbformat.write(notebook, path)


@pytest.fixture(scope="module")
def lab(chromium, tmp_path_factory):
    """The notebook, opened in JupyterLab: a page. (Chromium comes first: without it nothing has to be started.)"""
    folder = tmp_path_factory.mktemp("lab")
    for name, settings in SETTINGS.items():
        file = folder / "settings" / "@jupyterlab" / f"{name}.jupyterlab-settings"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(settings))
    root = folder / "notebooks"
    root.mkdir()
    write_notebook(root / "chapter.ipynb")
    own = {"CONFIG_DIR": "config", "RUNTIME_DIR": "runtime", "DATA_DIR": "data"}
    environment = {
        **os.environ,
        **{f"JUPYTER_{name}": str(folder / value) for name, value in own.items()},
        "JUPYTERLAB_SETTINGS_DIR": str(folder / "settings"),
        "JUPYTERLAB_WORKSPACES_DIR": str(folder / "workspaces"),
    }
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--ServerApp.port=0"]
    with (folder / "log").open("w") as log:
        server = subprocess.Popen(command, cwd=root, env=environment, stdout=log, stderr=subprocess.STDOUT)
    try:
        page = chromium.new_page(viewport={"width": 1200, "height": 1000})
        page.set_default_timeout(PATIENCE)
        page.goto(address(folder / "runtime", server, folder / "log"))
        yield page
        page.close()
    finally:
        server.terminate()
        server.wait()


def address(runtime, server, log):
    """The notebook's address in the server, which says in its runtime folder where it listens; once it answers."""
    deadline = time.monotonic() + PATIENCE / 1000
    while server.poll() is None and time.monotonic() < deadline:
        for file in runtime.glob("jpserver-*.json"):
            with contextlib.suppress(json.JSONDecodeError, urllib.error.URLError):
                about = json.loads(file.read_text())
                urllib.request.urlopen(about["url"] + "api", timeout=10).close()
                return f"{about['url']}lab/tree/chapter.ipynb?token={about['token']}"
        time.sleep(0.1)
    raise RuntimeError(f"JupyterLab did not start:\n{log.read_text()}")


@pytest.fixture(scope="module")
def figure(lab):
    """The explorer's figure after Run All."""
    expect(lab.get_by_text("Python 3 (ipykernel) | Idle")).to_be_visible(timeout=PATIENCE)
    lab.get_by_role("menuitem", name="Run", exact=True).click()
    lab.get_by_role("menuitem", name="Run All Cells", exact=True).click()
    expect(output(lab, READ)).to_contain_text("Python reads 1 0.01", timeout=PATIENCE)
    return lab.locator(".explorer-figure")


def cell(lab, source):
    return lab.locator(".jp-CodeCell").filter(has_text=source)


def output(lab, source):
    return cell(lab, source).locator(".jp-OutputArea-output")


def run(lab, source):
    cell(lab, source).locator(".cm-content").click()
    lab.keyboard.press("Control+Enter")


def sentence(figure):
    return figure.locator(".sentence")


def test_run_all_shows_the_live_figure_alone(lab, figure):
    expect(figure).to_have_count(1)
    expect(lab.locator("[data-explorer]")).to_have_count(0)
    expect(lab.locator(".jp-OutputArea-output").filter(has_text="AttentionExplorer(")).to_have_count(0)


def test_python_reads_what_the_hand_changed(lab, figure):
    figure.get_by_role("radio", name="home").click()
    expect(sentence(figure)).to_contain_text("home looks at")
    temperature = figure.get_by_role("slider", name="Temperature τ")
    temperature.press("End")
    temperature.press("ArrowLeft")
    expect(temperature).to_have_attribute("aria-valuetext", "89.1")
    figure.get_by_label("query of home, component 2").fill("1.25")
    run(lab, READ)
    expect(output(lab, READ)).to_have_text("Python reads 3 89.1 1.25")


def test_a_trait_set_from_python_redraws_the_figure(lab, figure):
    figure.get_by_role("radio", name="the").click()
    expect(sentence(figure)).to_contain_text("the looks at")
    run(lab, SET)
    expect(sentence(figure)).to_have_text(re.compile(r"^group looks at \w+ with 1\.00; the output is"))
    expect(figure.get_by_role("slider", name="Temperature τ")).to_have_attribute("aria-valuetext", "0.0100")
    expect(figure.get_by_role("radio", name="group")).to_be_checked()


def test_arrow_keys_belong_to_the_figure_and_not_to_the_notebook(lab, figure):
    active = lab.locator(".jp-Cell.jp-mod-active .jp-InputArea-editor")
    figure.get_by_role("radio", name="group").click()
    before = active.text_content()
    lab.keyboard.press("ArrowDown")
    expect(figure.get_by_role("radio", name="went")).to_be_checked()
    number = figure.get_by_label("key of group, component 2")
    value = number.input_value()
    figure.get_by_role("slider", name="key of group").press("ArrowDown")
    expect(number).not_to_have_value(value)
    assert active.text_content() == before
