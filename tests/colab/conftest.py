"""What the tests of Colab share: the versions it preinstalls, and pip, which needs a network."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

CONSTRAINTS = Path(__file__).with_name("constraints.txt")


@pytest.fixture(scope="session")
def colab_versions():
    """The versions of constraints.txt by name."""
    return dict(re.findall(r"^([\w-]+)==(\S+)$", CONSTRAINTS.read_text(encoding="utf-8"), re.MULTILINE))


@pytest.fixture(scope="session")
def pip():
    """A function that runs pip. Without a network the test fails in CI and is skipped elsewhere."""

    def run(*arguments, **environment):
        command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--retries=1", *arguments]
        done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True)
        if done.returncode:
            offline = re.search(r"NewConnectionError|NameResolutionError|ConnectTimeoutError|ProxyError", done.stderr)
            if offline and not os.environ.get("CI"):
                pytest.skip("this test needs PyPI, and there is no network")
            pytest.fail(f"{' '.join(command)}\n{done.stderr}")
        return done.stdout

    return run
