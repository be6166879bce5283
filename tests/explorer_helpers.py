"""What the explorers' tests share: their JavaScript run in node, their picture, and traits that refuse bad input.

Node is the one that Playwright's wheel carries, so that no test needs more than requirements.txt.
"""

import json
import re
import subprocess
from pathlib import Path

import playwright
import pytest
import torch
from traitlets import TraitError

from attention_live.explorers.base import FOLDER

NODE = Path(playwright.__file__).parent / "driver" / "node"
PROGRAM = """
const [path, name, calls] = JSON.parse(require("fs").readFileSync(0, "utf8"));
import(path).then((module) => console.log(JSON.stringify(calls.map((call) => module[name](...call)))));
"""


def javascript(module, name, *calls):
    """The results of one exported function for several argument lists."""
    request = json.dumps([(FOLDER / module).as_uri(), name, calls])
    done = subprocess.run([NODE, "-e", PROGRAM], input=request, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def vectors(*size, seed):
    return torch.randn(*size, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def equal(results, expected):
    torch.testing.assert_close(torch.tensor(results, dtype=torch.float64), expected, rtol=0, atol=1e-6)


def picture(explorer):
    """What an explorer on a page shows, its controls' own values aside."""
    drawn = "".join(svg.inner_html() for svg in explorer.locator("svg").all())
    return explorer.inner_text() + drawn.replace(' class=""', "")


def refuses(explorer, name, value, message):
    """A trait refuses a value with a message that names the rule and the offender, and nothing changes."""
    before = explorer.state()
    with pytest.raises(TraitError, match=re.escape(message)):
        setattr(explorer, name, value)
    assert explorer.state() == before
