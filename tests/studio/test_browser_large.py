"""A million rows in a browser: only those in sight are in the page, and a fit of them stops when it is told to."""

import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.studio.browser import expect

pytestmark = pytest.mark.slow

N = 1_000_000


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A Parquet file of a million rows and eight columns of numbers, whose classes overlap."""
    rng = np.random.default_rng(0)
    classes = rng.integers(0, 5, N)
    columns = {f"x{j}": rng.normal(classes * ((j % 3) - 1) * 0.7, 1 + 0.1 * classes) for j in range(8)}
    path = tmp_path_factory.mktemp("large") / "large.parquet"
    pq.write_table(pa.table(columns), path)
    return path


def test_the_last_of_a_million_rows_and_a_stop(open_studio, large, record_property):
    studio = open_studio(large, "--model", "gaussian", "--classes", "8")
    grid = studio.screen("Data").get_by_role("grid", name="Rows")
    grid.get_by_role("gridcell", name="0", exact=True).first.wait_for()
    assert grid.get_attribute("aria-rowcount") == str(N + 1)
    began = time.perf_counter()
    grid.focus()
    studio.page.keyboard.press("Control+End")
    grid.get_by_role("gridcell", name=f"{N - 1:,}", exact=True).wait_for()
    took = time.perf_counter() - began
    record_property("scroll_seconds", took)
    print(f"last row after {took:.2f} s")
    assert took < 30  # 1 on a machine that does nothing else
    assert 5 < grid.get_by_role("row").count() < 300
    last = studio.get("rows", start=N - 1, count=1)["rows"][0]["cells"]
    shown = grid.get_by_role("row").last.get_by_role("gridcell").all_inner_texts()
    assert len(shown) > 5
    assert [float(text.replace("−", "-")) for text in shown[1:]] == last[1 - len(shown) :]  # the first are out of sight

    main = studio.screen("Fit")
    main.get_by_role("button", name="Fit", exact=True).click()
    studio.wait_for("document.querySelector('.live .lead')?.textContent.includes('iteration')")
    began = time.perf_counter()
    main.get_by_role("button", name="Stop", exact=True).click()
    state = studio.until(lambda state: state["version"] == 1 and state["job"] is None)
    took = time.perf_counter() - began
    record_property("stop_seconds", took)
    print(f"model {took:.2f} s after Stop")
    assert took < 30  # 2 on a machine that does nothing else
    [version] = state["versions"]
    assert version["converged"] is False
    assert version["n"] == N
    expect(studio.role("combobox", "Version").locator("option:checked")).to_contain_text("(not converged)")
    expect(main.locator(".outcome")).to_contain_text("interrupted")
