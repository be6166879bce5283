"""Settings for every pytest run, of the tests and of the notebooks alike."""

import os
import tempfile

# Progress bars are for a reader who waits; in a stored or compared output they would be noise.
os.environ["TQDM_DISABLE"] = "1"


def pytest_configure(config):
    """Let every run begin with no exercise solved, and leave the progress of whoever runs it alone."""
    empty = tempfile.TemporaryDirectory()
    os.environ["ATTENTION_LIVE_PROGRESS"] = empty.name
    config.add_cleanup(empty.cleanup)
