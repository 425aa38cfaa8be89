"""Classes, decisions and what is taken home, in a browser: names, labels, costs, files, numbers of classes."""

import csv
import re

import pytest

import halfseen as hs
from tests.app.in_process import run
from tests.studio.browser import expect

pytestmark = pytest.mark.slow

PENGUINS = ("example:penguins", "--model", "gaussian", "-k", "3", "--ignore", "species,island,sex,year")
NAMES = ["Adelie", "Gentoo", "Chinstrap"]


def chosen_number(main):
    """The number of classes that the table of what was tried marks as shown."""
    return main.get_by_role("region", name=re.compile("^Numbers of")).locator("tr[aria-current] th")


def test_numbers_of_classes_are_compared_and_the_view_comes_back(open_studio):
    studio = open_studio("example:penguins", "--model", "gaussian", "--ignore", "species,island,sex,year")
    main = studio.screen("Fit")
    number = main.get_by_label("Number of classes")
    number.fill("2..4")
    number.press("Enter")
    studio.until(lambda state: state["spec"]["classes"] == "2..4")
    state = studio.fit()
    tried = studio.get("compare")["tried"]
    main = studio.screen("Compare")
    table = main.get_by_role("region", name="Numbers of classes that were tried")
    expect(table.get_by_role("row")).to_have_count(1 + len(tried))
    [best] = [row["n_components"] for row in tried if row["chosen"]]
    assert best == state["versions"][0]["n_components"]
    expect(chosen_number(main)).to_have_text(str(best))
    other = next(row["n_components"] for row in tried if row["n_components"] != best)
    main.get_by_role("button", name=f"Use {other} classes").click()
    state = studio.until(lambda state: state["version"] == 2)
    expect(chosen_number(main)).to_have_text(str(other))
    assert len(state["components"]) == other

    main.get_by_role("checkbox", name=re.compile("^1: ")).uncheck()
    studio.page.wait_for_url(re.compile("versions=2"))
    side = main.get_by_role("region", name="Models side by side")
    expect(side.get_by_role("columnheader", name=re.compile("^1: "))).to_have_count(0)
    expect(side.get_by_role("columnheader", name=re.compile("^2: "))).to_have_count(1)
    before = side.inner_text()
    studio.page.reload()
    expect(main.get_by_role("checkbox", name=re.compile("^1: "))).not_to_be_checked()
    expect(side.get_by_role("columnheader", name=re.compile("^1: "))).to_have_count(0)
    expect(side).to_have_text(re.compile(r"\S"))
    assert side.inner_text() == before
    studio.screen("Data")
    studio.page.go_back()
    expect(main.get_by_role("checkbox", name=re.compile("^1: "))).not_to_be_checked()
    studio.page.go_back()
    expect(main.get_by_role("checkbox", name=re.compile("^1: "))).to_be_checked()
    studio.page.go_back()
    expect(main.get_by_label("Number of classes")).to_have_value("2..4")


def test_names_are_everywhere(open_studio, tmp_path):
    studio = open_studio(*PENGUINS)
    studio.fit()
    main = studio.screen("Classes")
    main.get_by_role("button", name="Name the classes").click()
    for k, name in enumerate(NAMES):
        main.get_by_role("textbox", name=f"Name of class {k}").fill(name)
    main.get_by_role("button", name="Save the names").click()
    for name in NAMES:
        expect(main.get_by_role("heading", name=name, exact=True)).to_be_visible()
        heat = main.get_by_role("region", name="Profile of each class")
        expect(heat.get_by_role("columnheader", name=name, exact=True)).to_be_visible()
    main.get_by_role("link", name="Rows of this class").nth(1).click()
    grid = main.get_by_role("grid", name="Rows")
    expect(grid.get_by_role("gridcell", name="Gentoo", exact=True).first).to_be_visible()
    assert grid.get_by_role("gridcell", name="Adelie", exact=True).count() == 0
    grid = studio.screen("Data").get_by_role("grid", name="Rows")
    expect(grid.get_by_role("gridcell", name="Adelie", exact=True).first).to_be_visible()
    main = studio.screen("Export")
    report = studio.downloaded(main.get_by_role("button", name="Download the report").click, tmp_path / "report.html")
    assert all(name in report.read_text() for name in NAMES)
    path = studio.downloaded(main.get_by_role("button", name="Download the model").click, tmp_path / "m.halfseen")
    model = hs.load(path)
    assert list(model.class_names_) == NAMES
    assert model.loglik_ == studio.state()["versions"][-1]["loglik"]
    rows = studio.downloaded(main.get_by_role("button", name="Download the rows").click, tmp_path / "rows.csv")
    with rows.open() as file:
        assert {row["class"] for row in csv.DictReader(file)} == set(NAMES)


def test_labels_by_hand_are_kept_by_a_refit_and_taken_back(open_studio):
    studio = open_studio(*PENGUINS)
    first = studio.fit()["versions"][0]
    main = studio.screen("Classes")
    main.get_by_role("link", name=re.compile("the least certain first")).click()
    grid = main.get_by_role("grid", name="Rows")
    grid.get_by_role("combobox").nth(2).wait_for()
    told = {}
    for place in range(3):
        field = grid.get_by_role("combobox").nth(place)
        row = int(re.search(r"row (\d+)", field.get_attribute("aria-label"))[1])
        now = field.locator("xpath=ancestor::*[@role='row']").get_by_role("gridcell").nth(1).inner_text()
        told[row] = next(name for name in first["names"] if name != now)
        field.select_option(label=told[row])
        studio.until(lambda state: state["labels"] == {str(row): name for row, name in told.items()})
    main.get_by_role("button", name="Refit with labels").click()
    state = studio.until(lambda state: state["version"] == 2 and state["job"] is None)
    assert state["pending"] is False
    assert state["versions"][1]["labels"] == 3
    assert state["versions"][1]["loglik"] != first["loglik"]
    for row, name in told.items():
        [found] = studio.get("rows", start=row, count=1)["rows"]
        assert (found["class"], found["label"], found["certainty"]) == (name, name, 1.0)
    main.get_by_role("combobox", name="Which rows").select_option(label="rows with a label")
    expect(grid.get_by_text("1 ✓")).to_have_count(3)
    studio.role("button", "Undo: refit").click()
    state = studio.until(lambda state: state["version"] == 1)
    assert state["versions"][0]["loglik"] == first["loglik"]
    assert state["pending"] is True
    expect(main.get_by_role("button", name="Refit with labels")).to_be_visible()


def test_what_is_not_decided_and_the_file_of_decisions(open_studio, tmp_path):
    studio = open_studio(*PENGUINS)
    names = studio.fit()["components"]
    main = studio.screen("Decide")
    main.get_by_role("spinbutton", name=f"Cost of {names[0]} when it is {names[1]}", exact=True).fill("5")
    main.get_by_role("spinbutton", name=f"Cost of {names[0]} when it is {names[1]}", exact=True).press("Enter")
    main.get_by_role("checkbox", name="A row may be left undecided").check()
    field = main.get_by_role("spinbutton", name="as a number")
    undecided = []
    for cost in ("0", "0.05", "0.2", "0.5", "1"):
        field.fill(cost)
        field.press("Enter")
        text = main.get_by_role("list", name="Decisions").get_by_role("listitem").filter(has_text="not decided")
        expect(main.get_by_role("slider", name=re.compile("^Cost of not deciding"))).to_have_value(cost)
        wanted = studio.post("decide", cost=[[0, 5, 1], [1, 0, 1], [1, 1, 0]], decisions=names, reject=float(cost))
        expect(text).to_contain_text(f"{wanted['counts'][-1]:,} ·")
        undecided.append(wanted["counts"][-1])
    assert undecided == sorted(undecided, reverse=True)
    assert undecided[0] > undecided[-1]
    field.fill("0.05")
    field.press("Enter")
    expect(text).to_contain_text(f"{undecided[1]:,} ·")
    file = studio.downloaded(
        main.get_by_role("button", name=re.compile("^Download the decisions")).click, tmp_path / "d.csv"
    )
    model = studio.downloaded(
        studio.screen("Export").get_by_role("button", name="Download the model").click, tmp_path / "m.halfseen"
    )
    costs = tmp_path / "costs.csv"
    costs.write_text(
        "\n".join([",".join(["decision", *names]), f"{names[0]},0,5,1", f"{names[1]},1,0,1", f"{names[2]},1,1,0"])
        + "\n"
    )
    run("predict", model, "example:penguins", "--cost", costs, "--reject", 0.05, "--safe-csv", "-o", tmp_path / "p.csv")
    assert file.read_bytes() == (tmp_path / "p.csv").read_bytes()
