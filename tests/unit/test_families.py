"""Manifests of families: what they name is there, and nothing is declared twice in two ways."""

import inspect

import pytest
from typer.main import get_command

from halfseen import families
from halfseen.app.cli import app
from halfseen.app.dispatch import family_named
from halfseen.app.flags import in_flags, parameter_flags
from halfseen.errors import ParameterError

FAMILIES = pytest.mark.parametrize("family", families.FAMILIES, ids=lambda family: family.name)
SAID = ("outcome", "summary")  # what every family can say
COMMANDS = get_command(app).commands


def option_flags(verb):
    return {
        param.name: max(param.opts, key=len) for param in COMMANDS[verb].params if param.param_type_name == "option"
    }


@FAMILIES
def test_what_a_manifest_names_is_there(family):
    for name, module in {**family.estimators, **family.public}.items():
        assert hasattr(family.module(module), name)
    cli = family.module("cli")
    for verb in (*family.verbs, *SAID):
        assert callable(getattr(cli, verb)), verb
    for name in ("describe", "facts"):
        assert callable(getattr(family.module("description"), name)), name
    if "export" in family.verbs:
        assert callable(family.module("export").outputs)
    if family.reports:
        report = family.module("report")
        assert set(family.reports) <= set(family.estimators)
        assert report.SECTIONS
        assert callable(report.MATERIAL)


@FAMILIES
def test_every_verb_of_a_family_is_in_its_manifest(family):
    """A function of `cli` that could answer a verb does: none is there that no command reaches."""
    known = {verb for other in families.FAMILIES for verb in other.verbs}
    cli = family.module("cli")
    has = {name for name in known if inspect.isfunction(getattr(cli, name, None))}
    assert has == set(family.verbs)


@FAMILIES
def test_refused_options_exist(family):
    for verb, refused in family.refused.items():
        assert set(refused) <= set(option_flags(verb)), verb
        own = {option.name for option in family.options.get(verb, ())}
        assert not own & set(refused), verb


@FAMILIES
def test_options_set_parameters_that_exist(family):
    estimators = [getattr(family.module(module), name) for name, module in family.estimators.items()]
    known = {name for estimator in estimators for name in inspect.signature(estimator).parameters}
    for option in family.options.get("fit", ()):
        assert option.parameter is None or option.parameter in known, option.name


def test_an_option_of_several_families_is_the_same_everywhere():
    """Flag, type and help agree; only the models that take it may differ."""
    for verb in COMMANDS:
        seen = {}
        for family in families.FAMILIES:
            for option in family.options.get(verb, ()):
                facts = (option.help, option.metavar, option.type, option.least, option.parameter)
                assert seen.setdefault(option.name, facts) == facts, (verb, option.name)


def test_no_value_of_model_asks_for_two_families():
    shown = [word for family in families.FAMILIES for word in family.asked]
    for word in shown:
        assert sum(family.accepts(word.strip("'")) for family in families.FAMILIES) == 1, word


@pytest.mark.parametrize(
    ("model", "name"),
    [
        *(("classes", "mixture"), ("kmeans", "kmeans"), ("net.BIF", "network"), ("A <- B", "network")),
        *(
            ("x.xmlbif", "network"),
            ("rules.cfg", "grammar"),
            ("wsj.mrg", "grammar"),
            ("words", "words"),
            ("g2p", "pronunciation"),
        ),
    ],
)
def test_model_names_a_family(model, name):
    assert family_named(model).name == name


def test_an_unknown_model_is_refused_with_those_that_are_known():
    with pytest.raises(ParameterError, match=r"'gausian' is not known\. Did you mean gaussian\? It takes classes, "):
        family_named("gausian")
    with pytest.raises(ParameterError, match=r"'forest' is not known\. It takes .*net\.bif or 'A -> B' \(Bayesian"):
        family_named("forest")


@pytest.mark.parametrize(
    ("model", "said", "shown"),
    [
        ("classes", "n_components=0 is not a whole number", "--classes 0 is not a whole number"),
        ("kmeans", "n_clusters=9 is too many", "--classes 9 is too many"),
        ("words", "model='ibm7' is not one of 'ibm1'", "--aligner 'ibm7' is not one of 'ibm1'"),
        ("g2p", "or use on_unknown='replace'", "or use on_unknown='replace'"),
        ("g2p", "max_letters=12 and", "--max-letters 12 and"),
        ("classes", "text='x' is not one of", "--text-model 'x' is not one of"),
        ("A -> B", "states={'A': [0]} is not", "states={'A': [0]} is not"),  # --states is of transcripts
        ("hmm", "use HMM(n_components=3, prior=None)", "use HMM(n_components=3, prior=None)"),
        ("hmm", "covariance_type='full' with prior=None", "--covariance 'full' with --prior none"),
        ("hmm", "columns={'a': 'poisson', 'b': 'text'}", "--columns a=poisson,b=text"),
        ("hmm", "the time of a prior is over", "the time of a prior is over"),
    ],
)
def test_messages_name_options_as_they_are_typed(model, said, shown):
    flags = parameter_flags("fit", option_flags("fit"), families.of_model(model))
    assert in_flags(said, flags) == shown
