"""Options that estimators share: declared once, and the same in every constructor, docstring, check and plan."""

import ast
import inspect
import re
from collections import defaultdict

import numpy as np
import pytest

import halfseen as hs
from halfseen.assign import Assign
from halfseen.engine.loop.stopping import never
from halfseen.errors import ParameterError
from halfseen.estimators import options

ESTIMATORS = [
    hs.LatentClass,
    hs.GaussianMixture,
    hs.NaiveBayes,
    hs.GaussianClassifier,
    hs.KMeans,
    hs.HMM,
    hs.TranscriptAligner,
    hs.BayesNet,
    hs.PCFG,
    hs.WordAligner,
    hs.G2P,
]

# one name with different meanings in different families
APART = {
    "lowercase": "off for sentences (WordAligner), on for the words of a dictionary (G2P)",
    "unknown": "a unit of the dictionary (TranscriptAligner); what to do with unknown words (PCFG)",
}

# a value of a wrong type, and a wrong value
WRONG = {
    "n_components": [1.5, 0],
    "criterion": [3, "dic"],
    "columns": ["poisson", [("visits", "poisson")]],
    "emission": [None, "round"],
    "n_mix": [1.5, 0],
    "covariance_type": [3, "round"],
    "assign": [None, "firm"],
    "draws": [2.5, 0],
    "prior": [[1.0], -1.0],
    "init": [3, "nowhere"],
    "start": [[1.0], "weights"],
    "fixed": [3, "weights"],
    "tied": [3, "weights"],
    "n_init": [2.5, 0],
    "stop": [3, "soon"],
    "tol": ["small", -1.0],
    "max_iter": [2.5, 0],
    "method": [None, "newton"],
    "accelerate": [1, "yes"],
    "anneal": [0.5, (0.9, 0.4)],
    "variance_floor": ["low", 1.0],
    "n_jobs": ["all", 0],
    "random_state": ["seed", -1],
}


def defaults(cls):
    return {name: one.default for name, one in inspect.signature(cls).parameters.items()}


def documented(cls):
    """Return header and text of every parameter in a docstring, by name."""
    text = inspect.getdoc(cls).split("Parameters\n----------\n")[1].split("\nAttributes\n")[0]
    found = {}
    for entry in re.split(r"\n(?=\S)", text.strip()):
        header, _, body = entry.partition("\n")
        names, _, kind = header.partition(" : ")
        found |= dict.fromkeys(names.split(", "), (kind, " ".join(body.split())))
    return found


CASES = [pytest.param(cls, name, id=f"{cls.__name__}-{name}") for cls in ESTIMATORS for name in options.declared(cls)]


def test_what_families_share_is_declared():
    families = defaultdict(set)
    for cls in ESTIMATORS:
        for name in defaults(cls):
            families[name].add(cls.__module__.split(".")[2])
    several = {name for name, own in families.items() if len(own) > 1}
    assert several - set(APART) == set(options.SHARED)
    assert set(APART) <= several


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_every_parameter_is_documented_once_and_in_order(cls):
    assert list(documented(cls)) == list(defaults(cls))


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_deviations_deviate_and_have_a_reason(cls):
    for name, deviation in getattr(cls, "_deviations", {}).items():
        if name in defaults(cls):
            assert len(deviation.reason) > 10
            assert deviation.of(options.SHARED[name]) != options.SHARED[name]
        else:
            assert name not in vars(cls).get("_deviations", {})  # inherited from a class that has the option


@pytest.mark.parametrize(("cls", "name"), CASES)
def test_defaults_are_as_declared(cls, name):
    default, wanted = defaults(cls)[name], options.declared(cls)[name].default
    assert default == wanted
    assert type(default) is type(wanted)


@pytest.mark.parametrize(("cls", "name"), CASES)
def test_documentation_is_as_declared(cls, name):
    option = options.declared(cls)[name]
    header, text = documented(cls)[name]
    if header.endswith(", optional"):
        assert header == f"{option.type}, optional"
        assert option.default in (None, ())
    else:
        kind, _, default = header.rpartition(", default ")
        assert kind == option.type
        assert ast.literal_eval(default) == option.default
    assert text.startswith(option.text)


@pytest.mark.parametrize(("cls", "name"), CASES)
def test_defaults_pass_their_own_check(cls, name):
    option = options.declared(cls)[name]
    option.check(name, option.default)


@pytest.mark.parametrize(("cls", "name"), CASES)
@pytest.mark.parametrize("place", [0, 1], ids=["type", "value"])
def test_wrong_values_are_refused(cls, name, place):
    """By `_check_options`, and so by `fit` before any look at the data."""
    value = WRONG[name][place]
    for refused in (cls(**{name: value})._check_options, lambda: cls(**{name: value}).fit(object(), object())):
        with pytest.raises(ParameterError, match=f"^{re.escape(f'{name}={value!r}')} (is not|must) "):
            refused()


CONTRADICTIONS = [
    ({"draws": 3}, "draws=3 has no meaning with assign='soft'"),
    ({"stop": "assignments"}, "stop='assignments' needs assign='hard'"),
    ({"stop": "counts", "assign": "sample"}, "stop='counts' has no meaning with assign='sample'"),
    ({"method": "lbfgs", "assign": "hard"}, "method='lbfgs' .* needs assign='soft'"),
    ({"anneal": (0.5,), "assign": "hard"}, r"anneal=\(0.5,\) has no meaning with assign='hard'"),
    ({"anneal": (0.2, 0.5), "max_iter": 20}, r"anneal=\(0.2, 0.5\) makes 20 iterations .* max_iter=20"),
]


@pytest.mark.parametrize(
    ("cls", "wrong", "said"),
    [
        (cls, wrong, said)
        for wrong, said in CONTRADICTIONS
        for cls in ESTIMATORS
        if set(wrong) <= set(defaults(cls)) and not (cls is hs.G2P and wrong.get("assign") == "sample")  # no such value
    ],
)
def test_options_that_contradict_each_other_are_refused(cls, wrong, said):
    with pytest.raises(ParameterError, match=said):
        cls(**wrong)._check_options()


def test_a_plan_has_all_options():
    model = hs.HMM(assign="sample", draws=3, max_iter=50, accelerate=False, anneal=[0.5])
    seed = np.random.SeedSequence(5)
    plan = options.plan(model, seed, map)
    assert plan.assign == Assign("sample", 3)
    assert plan.rule is never
    assert (plan.max_iter, plan.accelerate, plan.method, plan.anneal) == (50, False, "em", (0.5,))
    assert plan.runner is map
    assert (plan.seed.entropy, plan.seed.spawn_key) == (5, (1,))


def test_a_plan_of_an_estimator_without_some_options_has_what_is_declared():
    plan = options.plan(hs.NaiveBayes(max_iter=7), np.random.SeedSequence(0))
    assert (plan.max_iter, plan.accelerate, plan.method, plan.anneal) == (7, True, "em", ())
    assert options.plan(hs.WordAligner(), np.random.SeedSequence(0), accelerate=False).accelerate is False


@pytest.mark.parametrize("kind", [np.random.default_rng, np.random.RandomState])
def test_a_check_does_not_draw_from_a_generator(kind):
    used, fresh = kind(3), kind(3)
    options.check(hs.LatentClass(random_state=used))
    assert used.normal() == fresh.normal()


@pytest.mark.parametrize(
    ("cls", "how"),
    [
        (hs.LatentClass, {"n_components": 2, "tied": None}),
        (hs.HMM, {"n_components": 2, "emission": "auto", "tied": None}),
        (hs.BayesNet, {"edges": "x0 -> x1", "tied": None}),
    ],
)
def test_none_is_an_empty_list(cls, how):
    rows = [["a", "u"], ["b", None], ["a", "v"], ["b", "v"], [None, "u"]]
    given = cls(**how, fixed=None, random_state=0).fit(rows)
    assert given.loglik_ == cls(**how | {"tied": ()}, random_state=0).fit(rows).loglik_
