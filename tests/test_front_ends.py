"""What runs elsewhere for the reader, not on this machine: Binder, a dev container, the weekly run in Colab's image."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
TITLE = "The notebooks fail in Colab's runtime"


def read(path):
    """A workflow as (events, jobs); YAML takes the key `on` for true."""
    workflow = yaml.safe_load(path.read_text(encoding="utf-8"))
    return workflow[True], workflow["jobs"]


def make_can(target):
    """Whether make has a rule for a target, without running it."""
    return subprocess.run(["make", "--dry-run", target], cwd=ROOT, capture_output=True).returncode == 0


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_the_workflows_commands_are_sound_and_name_what_is_there(path):
    _, jobs = read(path)
    for job in jobs.values():
        assert job["timeout-minutes"] <= 90
        for step in job["steps"]:
            assert ("run" in step) != ("uses" in step)
            script = step.get("run", "")
            assert subprocess.run(["bash", "-n"], input=script, text=True, capture_output=True).stderr == ""
            assert all((ROOT / name).is_file() for name in re.findall(r"tools/\w+\.py|\.ci/\w+", script))
            assert all(make_can(target) for target in re.findall(r"^make (\S+)", script, re.MULTILINE))


def weekly():
    """The steps of the weekly run by name."""
    events, jobs = read(ROOT / ".github/workflows/colab.yml")
    assert re.fullmatch(r"\d+ \d+ \* \* \d", events["schedule"][0]["cron"])
    assert "workflow_dispatch" in events
    return {step.get("name"): step for step in jobs["notebooks"]["steps"]}


def test_the_weekly_run_installs_as_the_set_up_cell_does_in_colab_s_image():
    step = weekly()["Run every notebook in Colab's runtime"]
    notebook = json.loads((ROOT / "notebooks/00_start_here.ipynb").read_text(encoding="utf-8"))
    assert '"-m", "pip", "install", "--quiet", f"git+{REPOSITORY}"' in "".join(notebook["cells"][1]["source"])
    assert 'python3 -m pip install --quiet "git+$REPOSITORY"' in step["run"]
    assert "us-docker.pkg.dev/colab-images/public/runtime" in step["run"]


@pytest.mark.parametrize(("open_issue", "asked"), [("", "issue create"), ("7", "issue comment 7")])
def test_a_failed_weekly_run_opens_one_issue_and_adds_to_it(open_issue, asked, tmp_path):
    step = weekly()["Open an issue, or add to the one that is open"]
    assert step["if"] == "failure()"
    assert step["env"]["TITLE"] == TITLE
    gh = tmp_path / "gh"
    gh.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/asked\n[ "$2" = list ] && echo "{open_issue}"\ntrue\n')
    gh.chmod(0o755)
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "TITLE": TITLE, "RUN": "https://run"}
    subprocess.run(["bash", "-e"], input=step["run"], text=True, env=environment, check=True)
    listed, done = (tmp_path / "asked").read_text().splitlines()
    assert listed.startswith(f'issue list --state open --search in:title "{TITLE}"')
    assert done.startswith(asked)
    assert done.endswith("https://run")


def test_binder_installs_the_package_in_the_versions_of_requirements_txt(tmp_path):
    lines = (ROOT / "binder/requirements.txt").read_text(encoding="utf-8").splitlines()
    assert {"--extra-index-url https://download.pytorch.org/whl/cpu", "-c ../requirements.txt"} <= set(lines)
    local = ROOT / "binder" / "requirements.txt"
    report = tmp_path / "report.json"
    command = [sys.executable, "-m", "pip", "install", "--dry-run", "--quiet", "--report", str(report)]
    command += ["--disable-pip-version-check", "--no-index", "--no-build-isolation", "--force-reinstall", "--no-deps"]
    subprocess.run([*command, "-r", str(local)], cwd=ROOT, check=True, capture_output=True)
    install = json.loads(report.read_text(encoding="utf-8"))["install"]
    assert [package["metadata"]["name"] for package in install] == ["attention-live"]
    assert re.fullmatch(r"python-3\.1[1-3]\n", (ROOT / "binder/runtime.txt").read_text())


def test_the_dev_container_runs_make_lab():
    container = json.loads((ROOT / ".devcontainer/devcontainer.json").read_text(encoding="utf-8"))
    for command, target in (("postCreateCommand", ".venv/.ready"), ("postAttachCommand", "lab")):
        assert container[command] == f"make {target}"
        assert make_can(target)
    assert container["forwardPorts"] == [8888]
