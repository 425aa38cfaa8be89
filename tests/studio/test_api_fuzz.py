"""Whatever is asked of a session, it answers or refuses in words; what it refuses changes nothing."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from halfseen.app.requests import request_of
from halfseen.errors import HalfseenError
from halfseen.studio import routes, start
from halfseen.studio.routes import Ask, Download

WORDS = [
    "model", "classes", "columns", "ignore", "missing", "options", "row", "rows", "label", "names", "version",
    "versions", "changes", "cost", "decisions", "reject", "draws", "n_components", "n_iter", "assign", "kinds",
    "start", "shares", "seed", "prior", "iteration", "name", "ask", "view", "filters", "sort", "column", "op",
    "value", "descending", "class", "labelled", "count", "x", "y", "against", "page", "target",
]  # fmt: skip
VALUES = [
    "party", "crime", "y", "n", "soft", "hard", "sample", "gaussian", "kmeans", "hmm", "is", "contains",
    "below", "missing", "(class)", "(certainty)", "(row)", "auto", "2..4", "none", "equal", "1", "-1", "1e999",
    "nan", "em", "timeline", "categorical", "binomial(3)", "../../etc/passwd",
    "class 0", "class 1", "", "'; DROP TABLE x; --", "\x00", "\ud800", "𝔘" * 9,
]  # fmt: skip
numbers = st.one_of(
    st.sampled_from([0, 1, 2, 3, -1, 434, 435, 2**31, 2**63, 10**30]),
    st.floats(allow_nan=True, allow_infinity=True),
    st.booleans(),
)
leaves = st.one_of(st.none(), numbers, st.sampled_from(VALUES), st.text(max_size=8))
keys = st.one_of(st.sampled_from(WORDS + VALUES), st.text(max_size=5))
anything = st.recursive(
    leaves,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(keys, inner, max_size=4)),
    max_leaves=12,
)
texts = st.one_of(
    st.sampled_from(VALUES), numbers.map(str), anything.map(lambda one: json.dumps(one)), st.text(max_size=12)
)
LONG = ("fit", "refit", "test")  # start jobs
SLOW = ("em", "bound", "download/decisions", "download/report", "download/rows")  # take a while each time
MOVES = ("undo", "redo")  # need no body, and would take the model away


def few(words, values):
    """Mappings of some of these words."""
    return st.dictionaries(st.sampled_from(words), values, max_size=5)


# What each route reads, so that most of what is asked is near to something that makes sense.
READS = {
    "spec": ["changes"],
    "labels": ["row", "label"],
    "names": ["names"],
    "show": ["version"],
    "view": ["name", "ask", "version"],
    "decide": ["cost", "decisions", "reject", "version"],
    "download/decisions": ["cost", "decisions", "reject", "version"],
    "use": ["n_components", "version"],
    "em": ["rows", "columns", "n_iter", "assign", "model", "classes", "kinds", "start", "shares", "seed", "prior"],
    "rows": ["start", "count", "view"],
    "why": ["row", "version", "against"],
    "scatter": ["version", "x", "y"],
}  # fmt: skip
changes = few(["model", "classes", "columns", "ignore", "missing", "options"], anything)


@pytest.fixture(scope="module")
def session():
    """A session with a model of two classes."""
    session = start.opened(request_of("studio", ["example:votes", "--classes", "2"]))
    fitted(session)
    yield session
    session.close()


def fitted(session):
    routes.answer("POST", "fit", Ask(session, {}, {}))
    assert session.jobs.wait(60)
    assert session.jobs.running is None
    return session.version()


def seen(session):
    """The session as pages see it."""
    return {name: value for name, value in session.state().items() if name != "event"}


def check(session, method, path, params, body):
    """Ask, and check what comes of it."""
    before, position = seen(session), session.position
    try:
        found = routes.answer(method, path, Ask(session, params, body))
    except HalfseenError as error:
        found, refused = None, str(error)
    else:
        refused = None
        if not isinstance(found, Download):
            json.dumps(found, allow_nan=False)
    assert refused != ""
    if refused is not None or method == "GET":
        assert seen(session) == before
    while session.position > position:  # the next question finds the same session
        session.undo()


def routes_of(method):
    return sorted(path for one, path in routes.table() if one == method and path not in (*LONG, *MOVES))


@pytest.mark.parametrize("path", routes_of("POST"))
def test_no_body_of_a_post_is_an_accident(session, path):
    own = READS.get(path, WORDS)

    @settings(max_examples=30 if path in SLOW else 60, suppress_health_check=list(HealthCheck))
    @given(st.one_of(few(own, anything), st.dictionaries(keys, anything, max_size=3)), few(["version"], texts))
    def asks(body, params):
        check(session, "POST", path, params, body)

    asks()


@settings(max_examples=150)
@given(changes)
def test_no_change_of_what_is_chosen_is_an_accident(session, given):
    check(session, "POST", "spec", {}, {"changes": given})


@pytest.mark.parametrize("path", routes_of("GET"))
def test_no_address_of_a_get_is_an_accident(session, path):
    own = READS.get(path, ["version", "versions", "row", "x", "y", "against", "name", "view"])

    @settings(max_examples=8 if path in SLOW else 40, suppress_health_check=list(HealthCheck))
    @given(few(own, texts))
    def asks(params):
        check(session, "GET", path, params, {})

    asks()


filters = st.fixed_dictionaries(
    {},
    optional={
        "filters": st.lists(st.fixed_dictionaries({"column": keys, "op": keys, "value": leaves}), max_size=3),
        "sort": st.one_of(st.none(), st.fixed_dictionaries({"column": keys, "descending": leaves})),
        "class": leaves,
        "labelled": leaves,
    },
)


@settings(max_examples=150)
@given(filters, st.sampled_from(["0", "434", "99999999999999999999"]))
def test_no_view_of_rows_is_an_accident(session, view, first):
    check(session, "GET", "rows", {"view": json.dumps(view), "start": first}, {})


@pytest.mark.parametrize("draws", [1, True, None, 10**12, [2], "9"])
def test_jobs_that_cannot_be_are_refused_before_they_start(session, draws):
    for path in ("refit", "test"):
        check(session, "POST", path, {}, {"draws": draws})
        assert session.jobs.running is None


def test_it_still_fits_in_the_end(session):
    before = session.versions[0]
    after = fitted(session)
    assert after.model.loglik_ == before.model.loglik_
    assert after.summary["bic"] == before.summary["bic"]
