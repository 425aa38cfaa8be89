"""Families of models at the command line.

A family is a module with a function for each verb that it knows: ``fit(request)`` reads the data its own way and
returns a `Fitted`; ``predict``, ``impute``, ``sample``, ``score`` and the others take a loaded model and the options;
``describe``, ``outcome``, ``summary`` and ``facts`` say what was found: as tables, in a sentence, as plain values, and
in the first lines of ``halfseen info``. ``WORDS`` is what it calls one class and several. ``RESUMES = False`` says that
its fits keep no checkpoint.
To add one, write the module and name it here, twice: by the word that ``--model`` takes, and by its estimators.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module
from types import ModuleType
from typing import Any

from halfseen.errors import ParameterError

BY_WORD = {
    "classes": "halfseen.families.mixture.cli",
    "gaussian": "halfseen.families.mixture.cli",
    "hmm": "halfseen.families.hmm.cli",
    "kmeans": "halfseen.families.kmeans.cli",
    "transcript": "halfseen.families.transcript.cli",
    "words": "halfseen.families.words.cli",
}
BY_ESTIMATOR = {
    "BayesNet": "halfseen.families.network.cli",
    "HMM": "halfseen.families.hmm.cli",
    "GaussianClassifier": "halfseen.families.mixture.cli",
    "GaussianMixture": "halfseen.families.mixture.cli",
    "KMeans": "halfseen.families.kmeans.cli",
    "LatentClass": "halfseen.families.mixture.cli",
    "NaiveBayes": "halfseen.families.mixture.cli",
    "PCFG": "halfseen.families.grammar.cli",
    "TranscriptAligner": "halfseen.families.transcript.cli",
    "WordAligner": "halfseen.families.words.cli",
}

ONLY_FOR = {  # options of fit -> values of --model
    **dict.fromkeys(("group", "time"), ("hmm", "transcript")),
    **dict.fromkeys(("emission", "transitions", "min_dwell"), ("hmm",)),
    **dict.fromkeys(("dictionary", "transcripts", "silence", "unknown", "states", "mixtures", "tier"), ("transcript",)),
    **dict.fromkeys(("aligner", "direction", "symmetrize", "dirichlet", "lowercase", "links"), ("words",)),
}
ONLY_OF = dict.fromkeys(("path", "sequences"), "HMM") | dict.fromkeys(  # options of other verbs -> estimator
    ("symmetrize", "probs", "word"), "WordAligner"
)


@dataclass(frozen=True)
class Fitted:
    """What a family gives back from a fit.

    Attributes
    ----------
    model : the fitted estimator
    X : what it was fitted to, for the report
    reading : dict           how the data was read; kept in the model file, so that other verbs read alike
    """

    model: Any
    X: Any
    reading: dict[str, Any] = field(default_factory=dict)


def named(word: str) -> ModuleType:
    """Return the family that ``--model`` asks for."""
    if is_network(word):
        return import_module(BY_ESTIMATOR["BayesNet"])
    if is_grammar(word):
        return import_module(BY_ESTIMATOR["PCFG"])
    if word not in BY_WORD:
        raise ParameterError(
            f"--model {word!r} is not one of {', '.join(BY_WORD)}, nor a network (net.bif or 'A -> B'), nor a grammar "
            "(rules.cfg or trees.mrg)."
        )
    return import_module(BY_WORD[word])


OF_CLASSES = ("text", "text_model", "words", "document_length", "unlabeled_weight", "components_per_class")


def is_network(word: str) -> bool:
    """Whether ``--model`` is a file of a network, or edges."""
    return is_network_file(word) or "->" in word or "<-" in word


def is_network_file(word: str) -> bool:
    """Whether a name ends as those of BIF and XMLBIF files do."""
    from halfseen.families.network.formats import NETWORK_FILES

    return word.lower().endswith(NETWORK_FILES)


def is_grammar(word: str) -> bool:
    """Whether ``--model`` is a file of rules, or of trees to read them off."""
    return word.lower().endswith((".cfg", ".pcfg", ".mrg", ".trees"))


def check_options(request: dict[str, Any]) -> None:
    """Refuse options of a fit that another model has."""
    for option in OF_CLASSES:
        if request[option] is not None and request["model"] != "classes":
            raise ParameterError(f"--{option.replace('_', '-')} needs --model classes.")
    for option, words in ONLY_FOR.items():
        if option == "unknown" and is_grammar(request["model"]):
            continue
        if request[option] is not None and request["model"] not in words:
            raise ParameterError(f"--{option.replace('_', '-')} needs --model {' or '.join(words)}.")
    if request["hidden"] is not None and not is_network(request["model"]):
        raise ParameterError("--hidden needs a network: --model net.bif, or --model 'A -> B'.")
    for option in ("brackets", "unparsable"):
        if request[option] and not is_grammar(request["model"]):
            raise ParameterError(f"--{option} needs a grammar: --model rules.cfg.")


def check_use(model: Any, request: dict[str, Any]) -> None:
    """Refuse options of a verb that another model has."""
    for option, estimator in ONLY_OF.items():
        if request.get(option) and type(model).__name__ != estimator:
            raise ParameterError(f"--{option} has no meaning for a {type(model).__name__} model.")
    if request.get("target") is not None and type(model).__name__ != "WordAligner":
        raise ParameterError(
            f"one file is needed for a {type(model).__name__} model, got a second: {request['target']}."
        )


def verb_of(model: Any, verb: str) -> Any:
    """Return what a verb does with a model."""
    estimator = type(model).__name__
    found = getattr(import_module(BY_ESTIMATOR[estimator]), verb, None)
    if found is None:
        asked = {"data": "report", "truth": "compare --truth"}.get(verb, verb)
        raise ParameterError(f"{asked} has no meaning for a {estimator} model.")
    return found


def own_code(model: Any) -> Any:
    """Return the function by which a family writes the Python of a fit; None where its data are one table."""
    family = BY_ESTIMATOR.get(type(model).__name__)
    return None if family is None else getattr(import_module(family), "code", None)


def reading_of(model: Any) -> dict[str, Any]:
    """Return how the data of a fit was read; nothing for a model that was not made at the command line."""
    return model._origin.reading or {}
