"""How heavy the site's pages are and how fast, beside the same chapters in Jupyter Book's defaults.

    .venv/bin/python benchmarks/bench_site.py --readme  # all of it, into README.md: 20 minutes of a quiet machine
    .venv/bin/python benchmarks/bench_site.py --weight  # without Lighthouse: a minute

Both sites are built cold and served on this machine as GitHub Pages would, with gzip. In a first view (Chromium, cache
empty, 390 × 844) every answer is counted as it came over the wire. An explorer's time goes from the start of the
navigation to the first explorer that has its controls, on a connection that costs no time: the network's part is in
Lighthouse's. Lighthouse, the npm package of the version below, is run by npx on every page as a phone, on simulated
slow 4G with a processor slowed down four times, and as a desktop. Performance differs by a few points from run to run,
and by more on a busy machine: where it is below the goal, three runs are made and their medians taken.

The defaults' formulas and widgets come from other hosts, which no test here may ask: their requests are counted, their
bytes are not, and a page without MathJax has less to do than it would have.
"""

import argparse
import functools
import gzip
import json
import mimetypes
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from datetime import date
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).parents[1]
LIGHTHOUSE = "lighthouse@12.8.2"
LONGEST_BUILD = 60  # seconds
HEADING = "How heavy the pages are"
CATEGORIES = ("performance", "accessibility", "best-practices", "seo")
GOAL = 95
FORMS = ([], ["--preset=desktop"])  # a phone, which is Lighthouse's default, and a desktop
BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
FLAGS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
FLAGS += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
# What `jupyter-book create` writes, less its example's bibliography and logo. The outputs are those stored, as here.
DEFAULTS = """
title: Attention, Live
author: The Jupyter Book Community
execute: {execute_notebooks: "off"}
repository: {url: https://github.com/executablebooks/jupyter-book, branch: master}
html: {use_issues_button: true, use_repository_button: true}
"""
# In the page before anything of its own: when the first explorer has its controls, and how far anything was shifted.
WATCH = """
  window.shift = 0;
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) window.shift += entry.value;
  }).observe({ type: "layout-shift", buffered: true });
  new MutationObserver((_, observer) => {
    if (!document.querySelector("[data-explorer] :is(input, button, select)")) return;
    window.answering = performance.now() / 1000;
    observer.disconnect();
  }).observe(document, { childList: true, subtree: true });
"""


class PagesHandler(BaseHTTPRequestHandler):
    """Serves a folder as GitHub Pages does: text with gzip, everything to be kept for ten minutes."""

    protocol_version = "HTTP/1.1"

    def __init__(self, *args, folder):
        self.folder = folder
        super().__init__(*args)

    def do_GET(self):
        """Answer with the file, or with 404."""
        path = self.folder / unquote(urlsplit(self.path).path).lstrip("/")
        path = path / "index.html" if path.is_dir() else path
        body = path.read_bytes() if path.is_file() else b"not found"
        self.send_response(200 if path.is_file() else 404)
        kind = "text/javascript" if path.suffix == ".mjs" else mimetypes.guess_type(path)[0] or "text/html"
        self.send_header("Content-Type", f"{kind}; charset=utf-8" if kind.startswith("text/") else kind)
        self.send_header("Cache-Control", "max-age=600")
        if kind.startswith("text/") or kind in ("image/svg+xml", "application/json", "application/xml"):
            body = gzip.compress(body, 6)
            self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        """Say nothing."""


@contextmanager
def serving(folder):
    """The address at which a folder is served meanwhile, with a final slash."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(PagesHandler, folder=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


def copy_book(folder):
    """Copy into a folder what the site is built from."""
    for name in ("book", "notebooks", "src"):
        ignore = shutil.ignore_patterns("_build", "__pycache__", ".ipynb_checkpoints", "*.egg-info")
        shutil.copytree(ROOT / name, folder / name, symlinks=True, ignore=ignore)
    return folder / "book"


def copy_chapters(folder):
    """Copy the chapters into a book with Jupyter Book's default settings."""
    book = folder / "book"
    shutil.copytree(ROOT / "notebooks", book / "notebooks", ignore=shutil.ignore_patterns("ruff.toml", ".*"))
    first, *others = (f"notebooks/{path.stem}" for path in sorted((ROOT / "notebooks").glob("*.ipynb")))
    toc = "".join(f"- file: {chapter}\n" for chapter in others)
    (book / "_toc.yml").write_text(f"format: jb-book\nroot: {first}\nchapters:\n{toc}")
    (book / "_config.yml").write_text(DEFAULTS)
    return book


def build(book):
    """Build a book that was never built; return its site and the seconds it took."""
    start = time.perf_counter()
    command = [Path(sys.executable).with_name("jupyter-book"), "build", book, "--quiet"]
    subprocess.run(command, check=True, capture_output=True)
    return book / "_build/html", time.perf_counter() - start


def find_pages(site):
    """The paths of a site's pages."""
    found = [path.relative_to(site).as_posix() for path in site.rglob("*.html")]
    return sorted(path for path in found if not path.startswith(("_static/", "genindex")))


def first_view(browser, address, page, width=390, height=844, latency=0):
    """What a browser with an empty cache does when it opens a page.

    Args:
        browser: a Playwright `Browser`, a Chromium.
        address: where the site is served, with a final slash.
        page: the page's path.
        width, height: the size of the window in pixels.
        latency: how many milliseconds every answer takes longer.

    Returns:
        A dict: `bytes` as they came over the wire, `requests`, those of them that went to another host (`foreign`), the
        seconds to the first `explorer` with controls (None on a page without), and the sum of all layout `shift`s.
    """
    context = browser.new_context(viewport={"width": width, "height": height})
    tab = context.new_page()
    tab.add_init_script(WATCH)
    sizes, requests = [], []
    session = context.new_cdp_session(tab)
    session.send("Network.enable")
    limits = {"offline": False, "latency": latency, "downloadThroughput": -1, "uploadThroughput": -1}
    session.send("Network.emulateNetworkConditions", limits)
    session.on("Network.loadingFinished", lambda event: sizes.append(event["encodedDataLength"]))
    tab.on("request", lambda request: requests.append(request.url))
    tab.goto(address + page, wait_until="networkidle")
    seen = tab.evaluate("({ explorer: window.answering ?? null, shift: window.shift })")
    context.close()
    asked = [url for url in requests if not url.startswith("data:")]
    foreign = [url for url in asked if not url.startswith(address)]
    return {"bytes": sum(sizes), "requests": len(asked), "foreign": len(foreign), **seen}


def lighthouse(url, flags):
    """The four scores of one run, 0 to 100."""
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        command = ["npx", "--yes", LIGHTHOUSE, url, "--quiet", "--output=json", f"--output-path={report.name}"]
        command += [f"--only-categories={','.join(CATEGORIES)}", f"--chrome-flags={' '.join(FLAGS)}", *flags]
        subprocess.run(command, check=True, capture_output=True, env={**os.environ, "CHROME_PATH": BROWSER})
        found = json.load(report)
    return [round(100 * found["categories"][category]["score"]) for category in CATEGORIES]


def scores(url):
    """The four scores as a phone, and the four as a desktop: of one run, or the medians of three."""
    found = []
    for form in FORMS:
        runs = [lighthouse(url, form)]
        if runs[0][0] < GOAL:
            runs += [lighthouse(url, form) for _ in range(2)]
        found.append(" ".join(str(statistics.median(values)) for values in zip(*runs, strict=True)))
    return found


def measure(browser, site, pages, with_lighthouse):
    """`{page: the cells of its row}` for pages of a site."""
    rows = {}
    with serving(site) as address:
        for page in pages:
            seen = first_view(browser, address, page)
            foreign = f" + {seen['foreign']}" if seen["foreign"] else ""
            explorer = f"{seen['explorer']:.1f} s" if seen["explorer"] else "–"
            rows[page] = [f"{seen['bytes'] / 1000:.0f} kB", f"{seen['requests'] - seen['foreign']}{foreign}", explorer]
            rows[page] += scores(address + page) if with_lighthouse else []
    return rows


def report(ours, theirs, seconds):
    """What README.md says: a paragraph and a table."""
    forms = ["phone", "desktop"][: len(next(iter(ours.values()))) - 3]
    columns = ["page", "bytes", "requests", "explorer answers", *forms]
    columns += [f"defaults: {name}" for name in ("bytes", "requests", *forms)]
    lines = [
        f"Measured on {date.today():%d %B %Y} by `{Path(__file__).relative_to(ROOT)}`, which says how: the first view",
        "of each page, and Lighthouse's scores as a phone and as a desktop, for performance, accessibility, best",
        f"practices and SEO (where performance is below {GOAL}, the medians of three runs). To the right, the same",
        "chapters in Jupyter Book's defaults, whose requests to other hosts (“+ 1”) are not in the bytes.",
        f"The site is built cold in {seconds[0]:.0f} s, the defaults in {seconds[1]:.0f} s.",
        "",
        f"| {' | '.join(columns)} |",
        f"|{'---|' * len(columns)}",
    ]
    for page, cells in ours.items():
        size, requests, _, *their_scores = theirs.get(page, ["–"] * len(cells))
        lines.append(f"| {' | '.join([page.removesuffix('.html'), *cells, size, requests, *their_scores])} |")
    return "\n".join(lines)


def main():
    """Build, measure, and print or store the report."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--weight", action="store_true", help="leave Lighthouse out")
    parser.add_argument("--readme", action="store_true", help=f"write it into README.md, below “{HEADING}”")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=BROWSER, args=FLAGS)
        rows, seconds = [], []
        for name, copy in (("ours", copy_book), ("theirs", copy_chapters)):
            (Path(folder) / name).mkdir()
            site, took = build(copy(Path(folder) / name))
            seconds.append(took)
            pages = [page for page in find_pages(site) if name == "ours" or page.startswith("notebooks/")]
            rows.append(measure(browser, site, pages, not options.weight))
        browser.close()
    text = report(*rows, seconds)
    print(text)
    if options.readme:
        readme = ROOT / "README.md"
        before, rest = readme.read_text(encoding="utf-8").split(f"## {HEADING}\n", 1)
        after = rest[rest.index("\n## ") :]
        readme.write_text(f"{before}## {HEADING}\n\n{text}\n{after}", encoding="utf-8")
    if seconds[0] > LONGEST_BUILD:
        sys.exit(f"the site took {seconds[0]:.0f} s to build, more than {LONGEST_BUILD}")


if __name__ == "__main__":
    main()
