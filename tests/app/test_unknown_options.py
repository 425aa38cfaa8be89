"""An option that there is not: what it is called here, or what may be meant."""

import pytest

from tests.app.in_process import run


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("--n_clusters", "No such option: --n_clusters. Here it is --classes."),
        ("--random-state", "No such option: --random-state. Here it is --seed."),
        ("--alpha", "No such option: --alpha. Here it is --prior."),
        ("--reprot", "No such option: --reprot. (Possible options: --report)"),
        ("--quux", "No such option: --quux."),
    ],
)
def test_options_of_other_libraries_and_misspelt_ones(typed, told):
    assert run("fit", "example:votes", typed, 3, code=2).stderr.rstrip().endswith(told)
