"""Messages of estimators in terms of the command line: ``n_components=0`` is ``--classes 0`` there."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping
from typing import Any

from halfseen.families import FAMILIES, of_model
from halfseen.families.family import Family

PARAMETERS = {  # shared option -> parameters that it sets, if they have other names
    "classes": ("n_components", "n_clusters"),
    "restarts": ("n_init",),
    "seed": ("random_state",),
    "jobs": ("n_jobs",),
    "weight": ("sample_weight", "weight"),
    "sql": ("sql", "dialect"),
    "error_kind": ("kind",),
}
OF_FIT = {  # parameters that other verbs may speak of: options of `halfseen fit`
    "n_components": "--classes",
    "n_clusters": "--classes",
    "n_init": "--restarts",
    "max_iter": "--max-iter",
    "covariance_type": "--covariance",
    "weight_kind": "--weight-kind",
    "variance_floor": "--variance-floor",
}
WORDS = {  # what is said of Python -> the same on the command line
    r"\bn_samples=(\d+)(?= is\b)": r"the number of rows, \1,",  # as scikit-learn expects it in Python
    r"\(n_samples=(\d+)\)": r"(\1 of them)",
    r"\bmax_iter or tol\b": "max_iter",
    r"\bobjective_=": "objective ",
    r"\bloglik_=": "log-likelihood ",
    r"\bLatentClass or NaiveBayes, which take\b": "--model classes, which takes",
    r" on_unparsable='skip' \(--unparsable skip\)": " --unparsable skip",
    r"\bread the file with (missing=\[[^\]]*\]), or put NaN there": r"set \1",
    r"\bset quotes=False": "add --no-quotes",
    r" Or set delimiter=\.": "",
    r"\bSet unknown= to\b": "Use --unknown to",
}
CALL = r"in Python, as \w+=|\b\w+\([^()]*\)"  # Python code stays as it is
VALUE = (
    r"\{(?P<pairs>'[^{}]*)\}|\[(?P<items>[^\[\]]+)\]|(?P<none>None\b)|(?=[\w'\".-])"  # what can be typed after a flag
)


def in_flags(message: str, flags: Mapping[str, str]) -> str:
    """Return a message with parameters of estimators under the names of options.

    A word that is also plain English, such as `prior`, is a parameter only if ``=`` and a value follow.

    Parameters
    ----------
    message : str
    flags : dict          parameter -> flag

    Examples
    --------
    >>> flags = {"n_components": "--classes", "columns": "--columns", "prior": "--prior"}
    >>> in_flags("n_samples=4 is fewer than n_components=9. Lower n_components.", flags)
    'the number of rows, 4, is fewer than --classes 9. Lower --classes.'
    >>> in_flags("columns={'zip': 'gaussian'} makes it a quantity; the prior of prior=None is flat", flags)
    '--columns zip=gaussian makes it a quantity; the prior of --prior none is flat'
    >>> in_flags("If they are hidden, give hidden={'C': 2, 'D': 3}.", {"hidden": "--hidden"})
    'If they are hidden, give --hidden C=2,D=3.'
    """
    names = "|".join(map(re.escape, flags))
    pattern = rf"{CALL}|\b(?P<set>{names})=(?:{VALUE})|\b(?P<bare>{names})\b(?!=)"

    def translated(found: re.Match[str]) -> str:
        name = found["set"] or found["bare"]
        if name is None or (found["bare"] and "_" not in name):
            return found[0]
        if found["bare"]:
            return flags[name]
        return f"{flags[name]} {_typed(found)}"

    for said, instead in WORDS.items():
        message = re.sub(said, instead, message)
    return re.sub(pattern, translated, message)


def _typed(found: re.Match[str]) -> str:
    """Return a value as it is typed: none, pairs of names, a list; others stay, as they follow the match."""
    if found["items"]:
        return _listed(found["items"])
    if found["pairs"]:
        return re.sub(r"'?, '", ",", re.sub(r"': '?", "=", found["pairs"])).strip("'")
    return "none" if found["none"] else ""


def _listed(items: str) -> str:
    r"""Return the items of a list as they are typed after a flag.

    Examples
    --------
    >>> _listed("'n.a.', -99"), _listed("'not known', 'a,b', ...")
    ('n.a.,-99', '\'not known,"a,b",...\'')
    """
    found = [text if text else bare for text, bare in re.findall(r"'([^']*)'|([^\s,']+)", items)]
    return shlex.quote(",".join(f'"{item}"' if "," in item else item for item in found))


def parameter_flags(verb: str, flags: Mapping[str, str], family: Family | None) -> dict[str, str]:
    """Return the parameters of estimators that options of a verb set, each with the flag of its option.

    Parameters
    ----------
    verb : str
    flags : dict                option -> flag, of all options of the verb
    family : Family or None     leaves out the options of other families; None: of none
    """
    of_family = FAMILIES if family is None else (family,)
    own = {option.name: option for known in of_family for option in known.options.get(verb, ())}
    others = {option.name for known in FAMILIES for option in known.options.get(verb, ())} - set(own)
    named = {name: PARAMETERS.get(name, (name,)) for name in flags if name not in others}
    named |= {name: (option.parameter or name,) for name, option in own.items()}
    renamed = sorted(named, key=lambda name: name in own)  # --aligner sets `model`, and --model does not
    return {parameter: flags[name] for name in renamed for parameter in named[name]}


def own_flag(verb: str, typed: str, flags: Mapping[str, str]) -> str | None:
    """Return the flag of an option that was typed under the name of Python, or of another library; None if unknown.

    Examples
    --------
    >>> own_flag("doctor", "--n-clusters", {"classes": "--classes", "seed": "--seed"})
    '--classes'
    >>> own_flag("doctor", "--random_state", {"classes": "--classes", "seed": "--seed"})
    '--seed'
    """
    from halfseen.estimators.options.foreign_names import FOREIGN, Hint

    known, name = parameter_flags(verb, flags, None), typed.lstrip("-").replace("-", "_")
    meant = (name, *FOREIGN.get(name, Hint()).options)
    return next((known[option] for option in meant if option in known), None)


def translator(verb: str, request: Mapping[str, Any]) -> Callable[[str], str]:
    """Return a function that translates messages into the options of a command."""
    family = of_model(request["model"]) if verb == "fit" else None
    flags = ({} if verb == "fit" else OF_FIT) | parameter_flags(verb, request["flags"], family)
    return lambda message: in_flags(message, flags)
