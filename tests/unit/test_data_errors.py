"""The tree of exceptions and warnings."""

import pickle

import pytest

from halfseen import errors


@pytest.mark.parametrize(
    ("error", "builtin"),
    [
        (errors.DataError, ValueError),
        (errors.DataTypeError, TypeError),
        (errors.DataTypeError, ValueError),
        (errors.ParameterError, ValueError),
        (errors.FitError, RuntimeError),
        (errors.ObjectiveFell, errors.FitError),
    ],
)
def test_errors_are_ours_and_pythons(error, builtin):
    assert issubclass(error, errors.HalfseenError)
    assert issubclass(error, builtin)


def test_warnings_are_ours_and_pythons():
    for name in errors.__all__:
        if name.endswith("Warning"):
            assert issubclass(getattr(errors, name), errors.HalfseenWarning)
    assert issubclass(errors.HalfseenWarning, UserWarning)


def test_every_name_is_in_the_drawing():
    assert all(name in errors.__doc__ for name in errors.__all__)


def test_a_fallen_objective_carries_its_numbers_through_a_pickle():
    error = pickle.loads(pickle.dumps(errors.ObjectiveFell(step=7, before=-1.5, after=-2.0)))
    assert (error.step, error.before, error.after) == (7, -1.5, -2.0)
    assert "from -1.5 to -2.0 (by 0.5) at step 7" in str(error)
