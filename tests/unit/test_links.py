"""The checks of links and wording find what is broken, and nothing in the pages is."""

import pytest

from tools import links, prose


@pytest.mark.parametrize("page", links.markdown_files(), ids=lambda page: page.name)
def test_links_of_the_pages_lead_somewhere(page):
    assert list(links.markdown_faults(page)) == []


def test_wording_of_the_pages():
    assert prose.main() == 0


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("[a](b.md)", "a.md: b.md: no such file"),
        ("# One `two`\n[a](#three)", "a.md: #three: a.md has no heading #three"),
        ("[a](https://localhost)", "a.md: https://localhost: not a complete address"),
        ("![a](_static/x.png)", "a.md: _static/x.png: no such file"),
        ("{doc}`some words <nowhere>`", "a.md: no page 'nowhere'"),
    ],
)
def test_a_broken_link_of_a_page_is_named(tmp_path, text, fault):
    page = tmp_path / "a.md"
    page.write_text(text, encoding="utf-8")
    assert list(links.markdown_faults(page, tmp_path)) == [fault]


def test_good_links_of_a_page_are_no_fault(tmp_path):
    page = tmp_path / "a.md"
    page.write_text(
        "# One `two`, three\n[a](#one-two-three) [b](https://example.org/x_(y)) `[c](no)`\n", encoding="utf-8"
    )
    assert list(links.markdown_faults(page, tmp_path)) == []


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ('<a href="other.html">', "index.html: other.html: no such file"),
        ('<a href="index.html#gone">', "index.html: index.html#gone: no #gone there"),
        (
            '<script src="https://cdn.example.org/x.js">',
            "index.html: https://cdn.example.org/x.js: loaded from another site",
        ),
    ],
)
def test_a_broken_link_of_the_site_is_named(tmp_path, body, fault):
    (tmp_path / "index.html").write_text(f'<h1 id="here">x</h1><a href="index.html#here">y</a>{body}', encoding="utf-8")
    assert list(links.site_faults(tmp_path)) == [fault]


def test_a_phrase_to_avoid_is_named_and_code_is_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr(prose, "ROOT", tmp_path)
    page = tmp_path / "a.md"
    page.write_text("A row with holes.\n```\nholes\n```\n`holes` and `a_hole`\n", encoding="utf-8")
    assert list(prose.faults(page)) == ["a.md:1: 'holes'. Write: missing values"]
