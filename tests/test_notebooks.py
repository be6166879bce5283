"""The notebooks keep the rules of the house (CONTRIBUTING.md). That their outputs hold is nbval's business."""

import ast
import json
import re
import sys
from collections import Counter
from pathlib import Path

import pytest
import yaml

from attention_live.trial import CLAIMS

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))
import set_repository  # noqa: E402

PATHS = sorted((ROOT / "notebooks").glob("*.ipynb"))
CHAPTERS = [path for path in PATHS if not path.name.startswith("00")]
CONFIG = yaml.safe_load((ROOT / "book" / "_config.yml").read_text(encoding="utf-8"))
REPOSITORY = CONFIG["repository"]["url"]

each_notebook = pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
each_chapter = pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)


def cells(path, kind=None):
    """The cells of a notebook as (type, source, cell), all of them or those of one kind."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    made = [(cell["cell_type"], "".join(cell["source"]), cell) for cell in notebook["cells"]]
    return [entry for entry in made if kind in (None, entry[0])]


def prose(path):
    """All Markdown of a notebook, without its code blocks and code spans."""
    text = "\n\n".join(source for _, source, _ in cells(path, "markdown"))
    return re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.DOTALL)


def tags(cell):
    return cell["metadata"].get("tags", [])


def test_there_are_notebooks_in_order():
    numbers = [path.name[:2] for path in PATHS]
    assert numbers[0] == "00"
    assert len(CHAPTERS) >= 1
    assert len(set(numbers)) == len(numbers)


@each_notebook
def test_size(path):
    assert path.stat().st_size < 400_000


@each_notebook
def test_every_code_cell_was_run_in_order(path):
    counts = [cell["execution_count"] for _, _, cell in cells(path, "code")]
    assert counts == list(range(1, len(counts) + 1))


@each_notebook
def test_few_outputs_are_not_compared_and_those_assert_their_point(path):
    code = cells(path, "code")
    ignored = [source for _, source, cell in code if "nbval-ignore-output" in tags(cell)]
    assert len(ignored) * 10 <= len(code)
    assert all(re.search(r"^\s*assert\b|assert_close|^    because=", source, re.MULTILINE) for source in ignored)


@each_notebook
def test_only_known_tags(path):
    assert {tag for _, _, cell in cells(path) for tag in tags(cell)} <= {"hide-input", "nbval-ignore-output"}


@each_notebook
def test_no_widget_state_no_errors_no_stderr(path):
    text = path.read_text(encoding="utf-8")
    assert "application/vnd.jupyter.widget" not in text
    outputs = [output for _, _, cell in cells(path, "code") for output in cell["outputs"]]
    assert not [output for output in outputs if output["output_type"] == "error" or output.get("name") == "stderr"]


@each_notebook
def test_every_figure_says_in_words_what_it_shows(path):
    for _, source, cell in cells(path, "code"):
        if any("image/png" in output.get("data", {}) for output in cell["outputs"]):
            alt = cell["metadata"].get("mystnb", {}).get("image", {}).get("alt", "")
            assert len(alt.split()) >= 8, f"a text alternative is missing for\n{source}"


@each_notebook
def test_markdown_is_what_three_renderers_agree_on(path):
    text = prose(path)
    assert not re.search(r"^:::|^\(\S+\)=$|\{[a-z:-]+\}`|^```\{", text, re.MULTILINE), "MyST-only syntax"
    assert not re.search(r"^```\{", "\n".join(source for _, source, _ in cells(path, "markdown")), re.MULTILINE)
    assert set(re.findall(r"</?([a-z]+)\b", text)) <= {"details", "summary"}
    for _, source, _ in cells(path, "markdown"):
        assert source.count("<details>") == source.count("</details>") <= 1
        if "<details>" in source:
            assert re.fullmatch(r"<details><summary>[^<\n]+</summary>\n\n.*\n\n</details>", source, re.DOTALL)


@each_notebook
def test_links_and_images_are_absolute_but_for_links_to_chapters_of_a_book_without_an_address(path):
    chapters = {f"{other.stem}.ipynb" for other in PATHS}
    for target in re.findall(r"\]\(([^)\s]*)\)", prose(path)):
        assert target.startswith("https://") or (not REPOSITORY and target.split("#")[0] in chapters), target


@pytest.mark.parametrize("path", set_repository.files(ROOT), ids=lambda path: path.name)
def test_addresses_agree_with_the_books_settings(path):
    """If one does not, `make set-repository URL=…` writes all of them anew."""
    text = path.read_text(encoding="utf-8")
    assert set_repository.rewrite(text, path.name, "", REPOSITORY) == text
    without = set_repository.rewrite(text, path.name, REPOSITORY, "")
    own = r"colab\.research\.google\.com/github/|github\.io/[\w.-]*/?notebooks/|github[\w./]*/[\w-]+/attention-live"
    assert not re.findall(own, without)


def test_the_settings_have_the_site_s_address():
    assert CONFIG["html"]["baseurl"] == set_repository.site_address(REPOSITORY)


@each_notebook
def test_opening(path):
    opening, setup = cells(path)[:2]
    assert re.match(r"# (\d+ )?\w.*\n", opening[1])
    colab = re.escape(set_repository.phrases(REPOSITORY, path.name)[3])
    assert re.search(rf"^\*\d+ minutes(, .*)?\. {colab}\*$", opening[1], re.MULTILINE)
    assert "hide-input" in tags(setup[2])
    assert "torch.set_num_threads(1)" in setup[1]


def test_the_set_up_cells_begin_alike_and_have_the_address():
    beginnings = {cells(path)[1][1].partition("importlib.invalidate_caches()\n\n")[0] for path in PATHS}
    assert len(beginnings) == 1
    assert re.findall(r"^REPOSITORY = (\".*\")", beginnings.pop(), re.MULTILINE) == [f'"{REPOSITORY}"']


@each_chapter
def test_number_of_the_title_is_that_of_the_file(path):
    assert re.match(r"# (\d+) ", cells(path)[0][1])[1] == str(int(path.name[:2]))


@each_chapter
def test_anatomy(path):
    text = "\n\n".join(source for _, source, _ in cells(path, "markdown"))
    headings = re.findall(r"^## (.+)$", text, re.MULTILINE)
    for wanted in ("The question", "On trial", "What goes wrong", "Exercises", "Recap"):
        assert wanted in headings
    assert "Predict, then look" in text
    assert "**Further reading.**" in text
    assert "| letter |" in text
    assert any("data-explorer=" in json.dumps(cell["outputs"]) for _, _, cell in cells(path, "code"))


def claims_on_trial(path):
    """The ids in the headings of the trial, each with the code cells under it."""
    trial, current = {}, None
    for kind, source, _ in cells(path):
        if kind == "markdown":
            for heading in re.findall(r"^##+ (.+)$", source, re.MULTILINE):
                found = re.match(r"([a-z]+-\d+): \w", heading)
                current = found[1] if found else None
                if found:
                    assert current not in trial
                    trial[current] = []
        elif current:
            trial[current].append(source)
    return trial


@each_chapter
def test_every_claim_of_the_chapter_has_a_verdict_with_its_reasons(path):
    trial = claims_on_trial(path)
    families = {claim.split("-")[0] for claim in trial}
    assert len(families) == 1
    assert list(trial) == [claim for claim in CLAIMS if claim.split("-")[0] in families]
    for claim, code in trial.items():
        verdicts = [call for call in map(verdict_call, code) if call and ast.literal_eval(call.args[0]) == claim]
        assert len(verdicts) == 1, claim
        given = {keyword.arg: keyword.value for keyword in verdicts[0].keywords}
        assert not isinstance(given["because"], ast.Constant), f"the verdict on {claim} needs a measured reason"
        numbers = [node for node in ast.walk(given["measured"]) if isinstance(node, ast.FormattedValue)]
        assert numbers, f"the number that decided {claim} has to be put in from what was measured"


def verdict_call(source):
    """The call of `verdict` that a code cell ends in, parsed, or None."""
    if not re.search(r"^verdict\(", source, re.MULTILINE):
        return None
    last = ast.parse(source).body[-1]
    assert ast.unparse(last).startswith("verdict("), f"a cell with a verdict has to end in it:\n{source}"
    return last.value


def test_no_claim_is_tried_in_two_chapters():
    counts = Counter(claim for path in CHAPTERS for claim in claims_on_trial(path))
    assert max(counts.values()) == 1


@each_notebook
def test_every_exercise_has_task_stub_check_hint_and_solution(path):
    made = cells(path)
    starts = [i for i, (kind, source, _) in enumerate(made) if kind == "markdown" and "### Exercise " in source]
    assert len(starts) >= (1 if path.name.startswith("00") else 5)
    for start in starts:
        heading = re.search(
            r"^### Exercise (\d+)\.\d+ (●○○|●●○|●●●) \d+ min\n\n(.{40,})", made[start][1], re.M | re.DOTALL
        )
        assert heading, made[start][1]
        assert int(heading[1]) == int(path.name[:2])
        (_, stub, _), (_, check, _) = made[start + 1 : start + 3]
        assert re.search(r"raise NotImplementedError|= \.\.\.$", stub)
        assert re.fullmatch(r"check\.\w+\(\w+\)", check)
        summaries = []
        for kind, source, _ in made[start + 3 :]:
            found = re.match(r"<details><summary>(.+)</summary>", source)
            if kind == "markdown" and found:
                summaries.append(found[1])
            elif summaries or not source.startswith("The check says"):
                break
        assert len(summaries) >= 2
        assert all(summary.startswith("Hint") for summary in summaries[:-1])
        assert summaries[-1] == "Solution"


@each_chapter
def test_the_minutes_leave_time_to_read(path):
    text = "\n".join(source for _, source, _ in cells(path, "markdown"))
    exercises = sum(int(minutes) for minutes in re.findall(r"^### Exercise .* (\d+) min$", text, re.MULTILINE))
    assert exercises <= 0.7 * int(re.search(r"\*(\d+) minutes", text)[1])


@each_chapter
def test_the_front_page_lists_the_chapter_and_its_minutes(path):
    front = "\n".join(source for _, source, _ in cells(PATHS[0], "markdown"))
    row = re.search(rf"^\| \[.*\]\((\S+/)?{path.stem}\.(html|ipynb)\) .*\|$", front, re.MULTILINE)
    minutes = re.search(r"\*(\d+) minutes", cells(path)[0][1])[1]
    assert row[0].endswith(f"| {minutes} min |")


@each_chapter
def test_the_table_of_contents_lists_the_chapter(path):
    assert f"notebooks/{path.stem}\n" in (ROOT / "book" / "_toc.yml").read_text(encoding="utf-8")


def test_the_front_page_counts_the_statements_right():
    front = "\n".join(source for _, source, _ in cells(PATHS[0], "markdown"))
    tried = sum(len(claims_on_trial(path)) for path in CHAPTERS)
    assert f"{tried} of the {len(CLAIMS)} statements" in front
