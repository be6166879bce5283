"""What the browser tests share: a headless Chromium, and a web server for a folder.

A test module asks for both with one line, `pytest_plugins = ["browser"]`, and then uses the fixtures by name:

    def test_title(chromium, serve, tmp_path):
        page = chromium.new_page(viewport={"width": 390, "height": 844}, color_scheme="dark")
        page.goto(serve(tmp_path) + "/index.html")
        page.close()

The tests of explorers have a fixture of their own, which makes a page of some explorers and opens it:

    def test_reset(open_page):
        page = open_page(AttentionExplorer(), width=390)
"""

import functools
import os
import shutil
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect, sync_playwright

from attention_live.explorers.base import FOLDER

MOUNT = Path(__file__).parent.parent / "book" / "_static" / "mount-explorers.mjs"
NAMES = ("chromium", "chromium-browser", "google-chrome")
ARGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def find_chromium():
    """The path of an installed Chromium. Without one the test fails in CI and is skipped elsewhere."""
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        reason = f"this test needs a browser, and none of {', '.join(NAMES)} is installed"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    return path


@pytest.fixture(scope="module")
def chromium():
    """A Playwright `Browser`. For one module only: its event loop must not outlive the tests that need it."""
    path = find_chromium()
    expect.set_options(timeout=30_000)  # milliseconds: a busy machine is slow, not wrong
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=ARGS)
        yield browser
        browser.close()


class QuietHandler(SimpleHTTPRequestHandler):
    """Serves files without a line on stderr for each of them."""

    def log_message(self, *args):
        pass


@pytest.fixture(scope="module")
def serve():
    """A function that serves a folder on a free local port and returns its address, without a final slash."""
    servers = []

    def start(folder):
        handler = functools.partial(QuietHandler, directory=str(folder))
        server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        return f"http://127.0.0.1:{server.server_port}"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.fixture
def open_page(chromium, serve, tmp_path):
    """A function that opens a page with some explorers, or HTML, as the website would show them."""
    shutil.copytree(FOLDER, tmp_path / "_static", ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    shutil.copy(MOUNT, tmp_path / "_static")
    address = serve(tmp_path)
    pages = []

    def start(*contents, width=760, **options):
        html = [part if isinstance(part, str) else part._repr_mimebundle_()[0]["text/html"] for part in contents]
        (tmp_path / "index.html").write_text(
            '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
            '<title>Explorers</title><link rel="icon" href="data:,">'
            '<script type="module" src="_static/mount-explorers.mjs"></script>'
            f"<main><h1>Explorers</h1>{''.join(html)}</main></html>",
            encoding="utf-8",
        )
        page = chromium.new_page(viewport={"width": width, "height": 1200}, **options)
        pages.append(page)
        page.errors = []
        page.on("pageerror", lambda error: page.errors.append(str(error)))
        page.on("console", lambda line: page.errors.append(line.text))
        page.goto(f"{address}/index.html")
        alive = [part for part in contents if not isinstance(part, str)]
        expect(page.locator(".sentence")).to_have_count(len(alive))
        return page

    yield start
    for page in pages:
        page.close()


@pytest.fixture
def check_page():
    """A function: a page needs no sideways scrolling, axe finds nothing on it, and nothing went wrong."""

    def check(page):
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert Axe().run(page).response["violations"] == []
        assert page.errors == []

    return check
