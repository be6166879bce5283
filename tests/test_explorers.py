"""The explorers: joined modules, stored form and traits in Python, and the figure at work on a page with no kernel."""

import html
import json
import re
import subprocess

import pytest
import torch
from explorer_helpers import NODE, refuses
from playwright.sync_api import expect
from traitlets import TraitError

from attention_live.explorers import AttentionExplorer
from attention_live.explorers.base import FOLDER, join_modules

pytest_plugins = ["browser"]

# Joining modules for anywidget


def joined(tmp_path, **modules):
    """What join_modules makes of some modules: main.mjs and those beside it."""
    for name, text in modules.items():
        (tmp_path / f"{name}.mjs").write_text(text)
    return join_modules(tmp_path / "main.mjs")


def run_module(text):
    """What a module prints."""
    done = subprocess.run(
        [NODE, "--input-type=module"], input=text, capture_output=True, text=True, timeout=60, check=True
    )
    return done.stdout.split()


def test_joined_modules_keep_their_names_apart_and_run_once(tmp_path):
    text = joined(
        tmp_path,
        main=(
            'import { twice, both } from "./a.mjs";\nimport { one } from "./b.mjs";\n'
            "const hidden = 1;\nconsole.log(hidden, one, twice(one), both);\nexport default {};\n"
        ),
        a=(
            'import { one, Two } from "./b.mjs";\nconst hidden = 2;\n'
            "export function twice(x) {\n  return hidden * x;\n}\nexport const both = one + new Two().value;\n"
        ),
        b=(
            'const hidden = 3;\nconsole.log("once");\nexport const one = hidden - 2;\n'
            "export class Two {\n  value = 2;\n}\n"
        ),
    )
    assert run_module(text) == ["once", "1", "1", "2", "3"]
    assert not re.search(r"^import", text, re.MULTILINE)
    assert re.findall(r"^export.*", text, re.MULTILINE) == ["export default {};"]


@pytest.mark.parametrize(
    ("main", "message"),
    [
        ('import a from "./a.mjs";', "an import must read"),
        ('import * as a from "./a.mjs";', "an import must read"),
        ('import { one as a } from "./a.mjs";', "an import must read"),
        ('import "./a.mjs";', "an import must read"),
        ('import { one } from "https://example.org/a.mjs";', "an import must read"),
        ("import {\n  one\n} from './a.mjs';", "an import must read"),
        ('import { two } from "./a.mjs";', "main.mjs imports two, which ./a.mjs does not export"),
        ('import { one } from "./b.mjs";', "b.mjs: only functions, consts and classes may be exported"),
    ],
)
def test_what_cannot_be_joined_is_an_error(tmp_path, main, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        joined(tmp_path, main=main, a="export const one = 1;\nconst two = 2;\n", b="const one = 1;\nexport { one };\n")


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.mjs")), ids=lambda path: path.stem)
def test_every_explorer_joined_is_a_module_that_renders(path):
    """It parses, and it exports what anywidget looks for."""
    text = join_modules(path).replace("export default", "const exported =")
    assert run_module(f"{text}\nconsole.log(typeof exported.render);") == ["function"]


def test_anywidget_is_given_the_joined_text():
    assert AttentionExplorer()._esm == join_modules(FOLDER / "attention.mjs")


# The stored form


def stored(explorer):
    return explorer._repr_mimebundle_()[0]


def test_the_stored_form_is_stable_and_says_what_the_figure_shows():
    first, second = (stored(AttentionExplorer(temperature=1 / 3)) for _ in range(2))
    view = first.pop("application/vnd.jupyter.widget-view+json")
    assert view != second.pop("application/vnd.jupyter.widget-view+json")
    assert first == second
    state = json.loads(html.unescape(re.search('data-state="(.*?)"', first["text/html"])[1]))
    assert state == AttentionExplorer(temperature=0.3333).state()
    assert list(state) == ["k", "q", "query", "temperature", "tokens", "v"]
    assert first["text/html"].startswith('<div class="explorer" data-explorer="attention" data-state=')
    assert "needs JavaScript" in first["text/html"]
    assert first["text/plain"].startswith("AttentionExplorer(k=[[0.0, 0.0], ")


def test_the_stored_form_is_the_present_state():
    explorer = AttentionExplorer()
    explorer.query = 3
    assert "&quot;query&quot;: 3" in stored(explorer)["text/html"]


def test_a_token_cannot_break_out_of_the_stored_form():
    tokens = ['"><script>alert(1)</script>', "&amp;", "'", "爱"]
    text = stored(AttentionExplorer(tokens=tokens))["text/html"]
    assert "<script>" not in text
    assert json.loads(html.unescape(re.search('data-state="(.*?)"', text)[1]))["tokens"] == tokens


# The traits


def test_the_default_went_finds_group_and_home():
    explorer = AttentionExplorer()
    q, k = torch.tensor(explorer.q), torch.tensor(explorer.k)
    weights = torch.softmax(q @ k.T / 2**0.5, dim=-1)[explorer.query]
    assert explorer.tokens[explorer.query] == "went"
    assert {explorer.tokens[i] for i in weights.topk(2).indices} == {"group", "home"}
    assert weights.topk(2).values.min() > 0.3


def test_tensors_and_arrays_become_lists():
    explorer = AttentionExplorer(tokens=["a", "b"], query=0, q=torch.eye(2), k=torch.eye(2).numpy(), v=((1, 2), (3, 4)))
    assert explorer.q == explorer.k == [[1.0, 0.0], [0.0, 1.0]]
    assert explorer.v == [[1.0, 2.0], [3.0, 4.0]]


def test_explorers_do_not_share_their_defaults():
    AttentionExplorer().q[0][0] = 99.0
    assert AttentionExplorer().q[0][0] == 1.0


FOUR = [[0.0, 1.0]] * 4
BAD = [
    ("q", FOUR[:3], "q has 3 vectors, but there are 4 tokens"),
    ("k", [*FOUR, [1, 2]], "k has 5 vectors, but there are 4 tokens"),
    ("v", [[1, 2, 3], *FOUR[1:]], "every vector must have 2 components, but v[0] is [1, 2, 3]"),
    ("v", torch.ones(4), "every vector must have 2 components, but v[0] is 1.0"),
    ("q", 5, "q must be a list of vectors, got 5"),
    ("q", [[0, float("nan")], *FOUR[1:]], "components must be numbers from -100 to 100, but q[0] is [0, nan]"),
    ("k", [*FOUR[1:], [0, 101]], "components must be numbers from -100 to 100, but k[3] is [0, 101]"),
    ("k", [*FOUR[1:], ["0", 1]], "components must be numbers from -100 to 100, but k[3] is ['0', 1]"),
    ("tokens", ["a"], "q has 4 vectors, but there are 1 tokens"),
    ("query", 4, "query must be from 0 to 3, got 4"),
    ("query", -1, "query must be from 0 to 3, got -1"),
    ("temperature", 0.0, "temperature must be positive and finite, got 0.0"),
    ("temperature", -1.0, "temperature must be positive and finite, got -1.0"),
    ("temperature", float("nan"), "temperature must be positive and finite, got nan"),
    ("temperature", float("inf"), "temperature must be positive and finite, got inf"),
]


@pytest.mark.parametrize(("name", "value", "message"), BAD)
def test_bad_input_names_the_rule_and_the_offender_and_changes_nothing(name, value, message):
    refuses(AttentionExplorer(), name, value, message)
    with pytest.raises(TraitError, match=re.escape(message)):
        AttentionExplorer(**{name: value})


def test_traits_that_only_fit_together_are_set_together():
    explorer = AttentionExplorer()
    with explorer.hold_trait_notifications():
        explorer.tokens, explorer.query = ["a", "b"], 1
        explorer.q = explorer.k = explorer.v = [[1, 2], [3, 4]]
    assert explorer.state()["tokens"] == ["a", "b"]
    before = explorer.state()

    def set_badly():
        with explorer.hold_trait_notifications():
            explorer.tokens = ["a", "b", "c"]
            explorer.q = [[1, 2]]

    with pytest.raises(TraitError, match="vectors, but there are"):
        set_badly()
    assert explorer.state() == before


# The figure on a page with no kernel


def example(**traits):
    """An explorer in which no two keys fit a query equally well."""
    q = [[2, -1], [-2, -1], [2, 1], [-2, 0]]
    k = [[0, -1], [1.5, 0], [-1, 0], [0, 2.5]]
    v = [[-2, -1], [2, 1], [1, -2], [-1, 2]]
    return AttentionExplorer(**{"q": q, "k": k, "v": v, **traits})


def sentence(page):
    return page.locator(".sentence")


def field(page, label):
    return page.get_by_label(label, exact=True)


def centre(locator):
    box = locator.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_choosing_the_query_with_mouse_and_keyboard(open_page):
    page = open_page(example())
    expect(sentence(page)).to_have_text("went looks at group with 0.56 and home with 0.39; the output is (0.68, 1.28).")
    page.get_by_role("radio", name="group").click()
    expect(sentence(page)).to_contain_text("group looks at went")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(sentence(page)).to_contain_text("home looks at went")
    expect(page.get_by_role("slider", name="query of home")).to_be_visible()
    expect(page.get_by_role("slider", name="query of group")).to_be_hidden()
    assert page.errors == []


def test_the_temperature_turns_the_look_up_hard_and_uniform(open_page):
    page = open_page(example())
    temperature = page.get_by_role("slider", name="Temperature τ")
    assert temperature.get_attribute("aria-valuetext") == "1.00"
    temperature.press("Home")
    expect(sentence(page)).to_have_text("went looks at group with 1.00; the output is (2, 1).")
    assert temperature.get_attribute("aria-valuetext") == "0.0100"
    temperature.press("End")
    temperature.press("ArrowLeft")
    expect(sentence(page)).to_contain_text("home with 0.25")
    page.get_by_role("button", name="Reset").click()
    expect(sentence(page)).to_contain_text("group with 0.56")


def test_the_table_shows_each_step_of_the_score(open_page):
    page = open_page(example(temperature=0.5))
    row = page.get_by_role("row", name="group").first
    expect(row.get_by_role("cell")).to_have_text(["3.00", "2.12", "4.24", "0.67"])
    expect(page.locator(".compare .sum")).to_have_text("group: q·k = 2 × 1.5 + 1 × 0 = 3")


@pytest.mark.parametrize("touch", [False, True])
def test_dragging_a_value_moves_the_output(open_page, touch):
    page = open_page(example(temperature=0.01), width=390, has_touch=touch)
    value = page.get_by_role("slider", name="value of group")
    x, y = centre(value)
    unit = (x - centre(page.locator(".mix .axes"))[0]) / 2  # the value lies 2 to the right
    if touch:
        client = page.context.new_cdp_session(page)
        client.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": x, "y": y}]})
        target = {"x": x - unit, "y": y - unit}
        client.send("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": [target]})
        client.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    else:
        page.mouse.move(x, y)
        page.mouse.down()
        page.mouse.move(x - unit, y - unit, steps=5)
        page.mouse.up()
        page.mouse.move(x, y)  # let go: the point stays
    expect(sentence(page)).to_have_text("went looks at group with 1.00; the output is (1, 2).")
    expect(field(page, "value of group, component 1")).to_have_value("1")


def test_a_dragged_point_stays_on_the_plane(open_page):
    page = open_page(example())
    page.mouse.move(*centre(page.get_by_role("slider", name="key of group")))
    page.mouse.down()
    page.mouse.move(2000, -500)
    page.mouse.up()
    expect(page.get_by_role("slider", name="key of group")).to_have_attribute("aria-valuetext", "(3, 3)")


def test_moving_a_key_with_the_keyboard(open_page):
    page = open_page(example())
    key = page.get_by_role("slider", name="key of group")
    for arrow in ["ArrowUp", "ArrowUp", "ArrowRight", "ArrowLeft", "ArrowLeft", "ArrowDown"]:
        key.press(arrow)
    expect(key).to_have_attribute("aria-valuetext", "(1.4, 0.1)")
    expect(field(page, "key of group, component 2")).to_have_value("0.1")
    assert page.errors == []


def test_typed_numbers_count_and_what_is_no_number_does_not(open_page):
    page = open_page(example())
    number = field(page, "query of went, component 1")
    number.fill("-2.25")
    expect(page.get_by_role("slider", name="query of went")).to_have_attribute("aria-valuetext", "(−2.25, 1)")
    before = sentence(page).text_content()
    for wrong in ["", "-", "e"]:
        number.fill("")
        number.press_sequentially(wrong)
        expect(number).to_have_attribute("aria-invalid", "true")
    number.fill("101")
    expect(number).to_have_attribute("aria-invalid", "true")
    assert sentence(page).text_content() == before
    page.get_by_role("radio", name="went").focus()
    expect(number).to_have_value("-2.25")
    expect(number).to_have_attribute("aria-invalid", "false")


def test_a_token_can_be_typed_and_its_name_changes_everywhere(open_page):
    page = open_page(example())
    name = field(page, "token 3")
    name.fill("")
    name.press_sequentially("爱 it ")
    expect(name).to_be_focused()
    expect(name).to_have_value("爱 it ")
    expect(sentence(page)).to_contain_text("爱 it looks at group")
    expect(page.get_by_role("radio", name="爱 it")).to_be_checked()
    expect(page.get_by_role("slider", name="query of 爱 it")).to_be_visible()
    expect(field(page, "value of 爱 it, component 2")).to_have_value("-2")
    expect(page.locator(".mix .name")).to_have_text(["the", "group", "爱 it", "home"])
    assert page.get_by_text("went").count() == 0
    name.press("Tab")
    expect(name).to_have_value("爱 it")
    assert page.errors == []


def test_a_token_without_a_name_goes_by_its_number(open_page):
    page = open_page(example())
    name = field(page, "token 3")
    for nothing in ["", "   "]:
        name.fill(nothing)
        expect(sentence(page)).to_contain_text("3 looks at group")
        expect(name).to_have_value(nothing)
    name.blur()
    expect(name).to_have_value("3")
    page.get_by_role("button", name="Reset").click()
    expect(name).to_have_value("went")


def test_a_large_number_makes_the_plane_larger(open_page):
    page = open_page(example())
    field(page, "value of home, component 2").fill("40")
    expect(page.locator(".mix .tick").last).to_have_text("40")
    expect(page.locator(".compare .tick").last).to_have_text("3")
    field(page, "value of home, component 2").fill("2")
    expect(page.locator(".mix .tick").last).to_have_text("3")


def test_reset_brings_back_the_beginning(open_page):
    page = open_page(example(query=1))
    before = sentence(page).text_content()
    page.get_by_role("radio", name="home").check()
    field(page, "query of home, component 1").fill("2")
    page.get_by_role("slider", name="Temperature τ").press("Home")
    assert sentence(page).text_content() != before
    page.get_by_role("button", name="Reset").click()
    expect(sentence(page)).to_have_text(before)
    expect(field(page, "query of home, component 1")).to_have_value("-2")


LIVE = """async () => {
    const { default: explorer } = await import("/_static/attention.mjs");
    const state = JSON.parse(document.querySelector("[data-explorer]").dataset.state);
    const listeners = new Map();
    const on = (event, callback) => listeners.set(event, callback);
    const off = (event) => listeners.delete(event);
    const model = {
        get: (name) => state[name], set: (name, value) => { model.changes[name] = value; }, changes: {}, on, off,
        save_changes() { window.toPython = model.changes; },
    };
    const stop = explorer.render({ model, el: document.querySelector("main") });
    window.fromPython = (changes) => {
        for (const [name, value] of Object.entries(changes)) {
            state[name] = value;
            listeners.get(`change:${name}`)();
        }
    };
    window.stop = () => { stop(); return listeners.size; };
}"""


def test_traits_that_python_sets_one_by_one_are_drawn_when_they_fit_together(open_page):
    page = open_page(example())
    expect(sentence(page)).to_have_count(1)
    page.evaluate(LIVE)
    page.evaluate("fromPython({ tokens: ['soft', 'hard'], q: [[1, 0], [0, 1]], k: [[0, 0], [0, 0]] })")
    expect(sentence(page).last).to_contain_text("went looks at")
    page.evaluate("fromPython({ v: [[2, 0], [0, 2]], query: 1 })")
    expect(sentence(page).last).to_have_text("hard looks at all 2 tokens alike, each with 0.50; the output is (1, 1).")
    expect(page.get_by_role("radio", name="soft")).to_have_count(1)
    page.evaluate("fromPython({ tokens: ['one', 'two'] })")
    expect(field(page, "token 2").last).to_have_value("two")
    field(page, "token 1").last.fill("<b>uno</b>")
    assert page.evaluate("toPython") == {"tokens": ["<b>uno</b>", "two"]}
    assert page.errors == []
    assert page.evaluate("stop()") == 0


def test_explorers_on_one_page_do_not_disturb_each_other(open_page):
    broken = '<div class="explorer" data-explorer="{}" data-state="{}"><p>A sentence instead.</p></div>'
    page = open_page(
        broken.format("missing", "{}"),
        example(),
        broken.format("attention", "{}"),
        example(),
        broken.format("attention", "no JSON"),
    )
    expect(sentence(page)).to_have_count(2)
    page.get_by_role("radio", name="home").last.check()
    expect(sentence(page).first).to_contain_text("went looks at")
    expect(sentence(page).last).to_contain_text("home looks at")
    expect(page.get_by_text("A sentence instead.")).to_have_count(3)
    assert len([error for error in page.errors if "could not start" in error]) == 3


def test_tokens_are_text_and_never_markup(open_page):
    tokens = ["<img src=x onerror=document.title='broken'>", "&amp;", "爱", "a-token-that-is-rather-long"]
    page = open_page(example(tokens=tokens, query=0), width=390)
    expect(sentence(page)).to_contain_text(tokens[0])
    assert page.title() == "Explorers"
    assert page.locator("img").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 760])
def test_it_fits_and_is_accessible(open_page, check_page, width, scheme):
    page = open_page(example(), example(query=0), width=width, color_scheme=scheme)
    check_page(page)


def test_it_follows_the_theme_of_the_page(open_page):
    page = open_page(example(), color_scheme="dark")
    expect(sentence(page)).to_be_visible()
    background = "getComputedStyle(document.querySelector('.explorer-figure')).backgroundColor"
    dark = page.evaluate(background)
    page.evaluate("document.documentElement.dataset.theme = 'light'")
    light = page.evaluate(background)
    assert (light, dark) == ("rgb(255, 255, 255)", "rgb(22, 25, 31)")
    page.evaluate("delete document.documentElement.dataset.theme")
    page.evaluate("document.body.dataset.jpThemeLight = 'true'")
    assert page.evaluate(background) == light
    page.emulate_media(color_scheme="light")
    page.evaluate("document.body.dataset.jpThemeLight = 'false'")
    assert page.evaluate(background) == dark
