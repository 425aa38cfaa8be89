"""The screen Data in a browser: what is in the file, and what is chosen about it."""

import pytest

import halfseen as hs

pytestmark = pytest.mark.slow


def table_of(locator):
    """Return the cells of a table by the text of their row's and column's heads."""
    rows = locator.evaluate(
        """table => [...table.rows].map(row => [...row.cells].map(cell => cell.innerText.trim()))"""
    )
    head, *rest = rows
    return {row[0]: dict(zip(head[1:], row[1:], strict=True)) for row in rest}


def test_penguins_are_as_pandas_counts_them(open_studio):
    studio = open_studio("example:penguins")
    frame = hs.load_penguins()
    assert studio.role("banner").get_by_text("344 rows", exact=True).is_visible()
    main = studio.screen("Data")
    main.get_by_role("region", name="Columns").wait_for()
    shown = table_of(main.get_by_role("region", name="Columns").get_by_role("table"))
    assert {name: int(row["missing"]) for name, row in shown.items()} == frame.isna().sum().to_dict()
    assert {name: int(row["distinct"]) for name, row in shown.items()} == frame.nunique().to_dict()
    kinds = hs.LatentClass(1).fit(frame).columns_
    for name, kind in kinds.items():
        chosen = main.get_by_role("combobox", name=f"Kind of {name}").locator("option:checked")
        assert chosen.inner_text() == f"automatic: {kind}"
    grid = main.get_by_role("grid", name="Rows")
    assert grid.get_attribute("aria-rowcount") == "345"  # with its head
    assert grid.get_by_role("columnheader").all_inner_texts()[1:] == list(frame.columns)


def test_changes_at_once_are_all_kept(open_studio):
    studio = open_studio("example:penguins")
    studio.screen("Data").get_by_role("combobox", name="Kind of year").wait_for()
    studio.page.evaluate(
        """names => names.forEach((name) => {
            const one = document.querySelector(`select[aria-label="Kind of ${name}"]`);
            one.value = "leave out";
            one.dispatchEvent(new Event("change", { bubbles: true }));
        })""",
        ["species", "island", "year"],
    )
    studio.until(lambda state: state["spec"]["ignore"] == ["species", "island", "year"])
