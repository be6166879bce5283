"""The site's search, as a reader uses it: in English and in Chinese, and what it answers."""

import sys
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

pytest_plugins = ["browser", "built_site"]

sys.path.insert(0, str(Path(__file__).parents[1] / "book/_extensions"))
from book_search import BookSearch  # noqa: E402

CHAPTERS = {
    "start here": "00_start_here",
    "recurrent": "01_why_self_attention",
    "LSTM": "01_why_self_attention",
    "softmax": "02_queries_keys_values",
    "temperature": "02_queries_keys_values",
    "qkv-3": "02_queries_keys_values",
    "√d_k": "03_scaling_by_sqrt_dk",
    "sqrt": "03_scaling_by_sqrt_dk",
    "Jacobian": "03_scaling_by_sqrt_dk",
    "multi-head attention": "04_multi_head_attention",
    "W^O": "04_multi_head_attention",
    "RoPE": "05_positional_encoding",
    "PE(pos, 2i)": "05_positional_encoding",
    "mask": "06_masks",
    "padding mask": "06_masks",
    "循环神经网络": "01_why_self_attention",
    "查询": "02_queries_keys_values",
    "标准差": "03_scaling_by_sqrt_dk",
    "多头": "04_multi_head_attention",
    "旋转位置编码": "05_positional_encoding",
    "掩码": "06_masks",
}

PAGE_TEXT = """async (address) => {
  const html = await (await fetch(address)).text();
  return new DOMParser().parseFromString(html, "text/html").querySelector("article").textContent;
}"""


@pytest.fixture(scope="module")
def search(chromium, address):
    """A function that searches for something and returns the results: pairs of an address and an excerpt."""
    page = chromium.new_page()
    page.complaints = []
    page.on("console", lambda line: line.type in ("warning", "error") and page.complaints.append(line.text))
    page.on("pageerror", lambda error: page.complaints.append(str(error)))

    def results(query):
        page.goto(f"{address}search.html?q={quote(query)}")
        expect(page.locator("#search-results h2")).to_have_text("Search Results")
        found = page.locator("#search-results li")
        expect(found.locator("p.context")).to_have_count(found.count())
        assert page.complaints == []
        return [(li.locator("a").get_attribute("href"), li.locator("p").inner_text()) for li in found.all()]

    results.page = page
    yield results
    page.close()


def chapters(results):
    """The pages of some results, without the glossary."""
    return {link.split("#")[0] for link, _ in results} - {"glossary.html"}


@pytest.mark.parametrize("query", CHAPTERS)
def test_the_chapter_of_a_term_comes_first_after_the_glossary(query, search):
    found = [link for link, _ in search(query) if not link.startswith("glossary.html")]
    assert found[0].split("#")[0] == f"notebooks/{CHAPTERS[query]}.html"


@pytest.mark.parametrize("query", ["softmax", "rope", "LayerNorm", "vanishing gradient", "注意力", "头"])
def test_a_term_of_the_glossary_is_explained_at_once(query, search):
    link, excerpt = search(query)[0]
    assert link.startswith("glossary.html#term-")
    term, explanation = excerpt.split(": ", 1)
    assert query.lower() in term.lower()
    assert len(explanation.split()) > 5


def test_a_part_of_a_chinese_term_finds_the_term(search):
    whole, part = (chapters(search(query)) for query in ("自注意力", "注意力"))
    assert {"notebooks/01_why_self_attention.html", "notebooks/02_queries_keys_values.html"} <= whole < part


def test_a_longer_chinese_query_is_cut_into_what_the_book_knows(search):
    known = chapters(search("自注意力"))
    assert chapters(search("什么是自注意力机制")) == known
    both = chapters(search("softmax和注意力"))
    assert "notebooks/02_queries_keys_values.html" in both


def test_an_excerpt_is_of_the_text(search):
    for query in ("softmax", "√d_k", "掩码", "variance"):
        for link, excerpt in search(query):
            assert query.strip("√") in excerpt.lower(), link
            assert "On this page" not in excerpt
            assert "dkd" not in excerpt, "a formula is quoted twice"
            assert "\\" not in excerpt, "a formula is quoted in TeX"


def test_an_excerpt_is_cut_between_words(search):
    for link, excerpt in search("shape"):
        text = search.page.evaluate(PAGE_TEXT, link.split("#")[0])
        first, *_, last = excerpt.removeprefix("… ").removesuffix(" …").split()
        assert first in text.split(), excerpt
        assert last in text.split(), excerpt


def test_a_result_leads_to_the_section_of_its_first_match(search):
    found = dict(search("softmax"))
    link = next(link for link in found if link.startswith("notebooks/06"))
    search.page.locator(f"#search-results a[href='{link}']").click()
    search.page.wait_for_load_state("networkidle")
    section = search.page.locator(f"[id='{link.split('#')[1]}']")
    expect(section.locator(".highlighted").first).to_be_visible()
    assert section.evaluate("(section) => section.contains(document.querySelector('article .highlighted'))")
    expect(section.locator("h2, h3").first).to_be_in_viewport()
    hide = search.page.locator(".highlight-link a")
    assert hide.evaluate("(link) => getComputedStyle(link, '::before').content") == "none"
    hide.click()
    expect(search.page.locator(".highlighted")).to_have_count(0)


def test_the_glossary_stands_once_under_the_name_of_the_term(search):
    search("softmax")
    titles = search.page.locator("#search-results li > a").all_inner_texts()
    assert [title for title in titles if "Glossary" in title] == ["Glossary: softmax"]
    assert search.page.locator(".search-summary").inner_text() == f"{len(titles)} results"


def test_the_field_has_the_focus(search):
    search("softmax")
    expect(search.page.locator(".bd-search-container input")).to_be_focused()


@pytest.mark.parametrize("query", ["zzyzx", "注射"])
def test_who_finds_nothing_is_told_what_to_do(query, search):
    assert search(query) == []
    search.page.locator(".search-summary a").click()
    search.page.wait_for_url("**/glossary.html")


def test_a_query_stays_text(search):
    search('<img src="x" onerror="window.broken = true"> softmax')
    assert search.page.locator("article img").count() == 0
    assert search.page.evaluate("window.broken") is None


@pytest.mark.parametrize("width", [360, 1280])
def test_the_keyboard_reaches_the_search_from_any_page(width, chromium, address):
    page = chromium.new_page(viewport={"width": width, "height": 800})
    page.goto(f"{address}notebooks/06_masks.html", wait_until="networkidle")
    page.keyboard.press("Control+k")
    field = page.locator("input[name=q]:focus")
    expect(field).to_be_visible()
    page.keyboard.press("Escape")
    expect(field).to_have_count(0)
    page.keyboard.press("Control+k")
    page.keyboard.type("旋转")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search.html?q=*")
    expect(page.locator("#search-results a[href^='notebooks/05_positional_encoding.html']")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.close()


def test_the_words_of_a_text_with_chinese_in_it():
    assert sorted(BookSearch({}).split("softmax函数 (掩码) d_k")) == sorted(
        ["softmax", "函", "数", "函数", "掩", "码", "掩码", "d_k"]
    )
