"""Published classifiers: the confusion tables of e1071's naive Bayes on the votes of the House, 1984."""

import pandas as pd
import pytest
from sklearn.metrics import confusion_matrix

import halfseen as hs
from tests.shared_data import shared_data

pytestmark = pytest.mark.thorough


@pytest.fixture(scope="module")
def votes():
    table = pd.read_csv(shared_data("housevotes84/HouseVotes84.csv"))
    return table.drop(columns="Class"), table["Class"]


@pytest.mark.parametrize(
    ("prior", "published"), [(None, [[238, 13], [29, 155]]), (3.0, [[237, 12], [30, 156]])], ids=["none", "add 3"]
)
def test_house_votes(votes, prior, published):
    """Missing votes are skipped, as e1071 does; its class shares are never smoothed."""
    X, y = votes
    shares = y.value_counts(normalize=True).sort_index().to_numpy()
    model = hs.NaiveBayes(prior=prior, class_prior=shares).fit(X, y)
    assert confusion_matrix(model.predict(X), y).tolist() == published
