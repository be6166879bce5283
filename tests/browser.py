"""What the browser tests share: a headless Chromium, and a web server for a folder.

A test module asks for both with one line, `pytest_plugins = ["browser"]`, and then uses the fixtures by name:

    def test_title(chromium, serve, tmp_path):
        page = chromium.new_page(viewport={"width": 390, "height": 844}, color_scheme="dark")
        page.goto(serve(tmp_path) + "/index.html")
        page.close()
"""

import functools
import os
import shutil
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.sync_api import expect, sync_playwright

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
