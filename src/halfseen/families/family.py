"""`Family`: the description of a family of models, in its ``manifest.py``.

Manifests are read for every ``halfseen --help`` and for the first public name that is used, so that neither this module
nor any manifest imports anything heavy: modules of a family are named here as text and imported when they are used.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any


@dataclass(frozen=True)
class Option:
    """An option of the command line that only some families have. Its value is None unless it is given.

    Attributes
    ----------
    name : str                  key of its value; the flag is ``--name``, with dashes
    help : str
    metavar : str or None       placeholder of the value in the help; None for a switch
    type : type                 str, int, float or bool
    least : int or None         smallest number allowed
    parameter : str or None     the estimator's parameter, if it has another name: errors use that
    models : tuple of str       the values of ``--model`` that accept it; by default all of the family
    """

    name: str
    help: str
    metavar: str | None = None
    type: type = str
    least: int | None = None
    parameter: str | None = None
    models: tuple[str, ...] = ()

    @property
    def flag(self) -> str:
        """The flag on the command line."""
        return f"--{self.name.replace('_', '-')}"


@dataclass(frozen=True)
class Family:
    """The manifest of a family. Modules are named relative to its folder, ``halfseen.families.<name>``.

    Attributes
    ----------
    name : str                  the folder
    title : str                 name of its models in messages and help: "hidden Markov models"
    estimators : dict           class -> module
    public : dict               other public names, such as readers and plots -> module
    models : dict               value of ``--model`` -> name of such models
    forms : tuple of str        other values of ``--model``, as shown to the user: "net.bif"
    endings, marks : tuple      endings of such values, or texts that they contain
    component : (str, str)      singular and plural of its components
    verbs : tuple of str        functions of its module ``cli`` that verbs of the command line call
    options : dict              verb -> its own options there
    refused : dict              verb -> {shared option: why it does not apply}
    reports : dict              class -> title of its report; its module ``report`` has SECTIONS and MATERIAL
    two_files : bool            whether its data can come in two files
    without_model : dict        verb -> "module:function" that tells by a path whether data are used with a model of
                                the library's own: function `own_model` of its module ``cli``
    of_rows : bool              whether its data are the rows of one table, which the studio shows
    """

    name: str
    title: str
    estimators: Mapping[str, str]
    verbs: tuple[str, ...]
    public: Mapping[str, str] = field(default_factory=dict)
    models: Mapping[str, str] = field(default_factory=dict)
    forms: tuple[str, ...] = ()
    endings: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()
    component: tuple[str, str] = ("class", "classes")
    options: Mapping[str, tuple[Option, ...]] = field(default_factory=dict)
    refused: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    reports: Mapping[str, str] = field(default_factory=dict)
    two_files: bool = False
    without_model: Mapping[str, str] = field(default_factory=dict)
    of_rows: bool = False

    @property
    def resumes(self) -> bool:
        """Whether an interrupted fit leaves a checkpoint."""
        return "resume" not in self.refused.get("fit", {})

    @property
    def asked(self) -> tuple[str, ...]:
        """The values of ``--model``, as shown to the user."""
        return (*self.models, *self.forms)

    def home(self, name: str) -> str:
        """Return the dotted name of one of its modules."""
        return f"halfseen.families.{self.name}.{name}"

    def module(self, name: str) -> Any:
        """Import one of its modules."""
        return import_module(self.home(name))

    def has_model_for(self, verb: str, path: str) -> bool:
        """Whether a verb uses these data with a model of the library's own."""
        module, _, function = self.without_model.get(verb, "").partition(":")
        return bool(module) and bool(getattr(self.module(module), function)(path))

    def called(self, option: Option) -> list[str]:
        """Return the names of the models that accept an option."""
        return [self.models[word] for word in option.models] or [self.title]

    def accepts(self, model: str) -> bool:
        """Whether a value of ``--model`` asks for this family."""
        return model in self.models or self.reads(model) or any(mark in model for mark in self.marks)

    def reads(self, path: str) -> bool:
        """Whether a file has the extension of its models."""
        return bool(self.endings) and path.lower().endswith(self.endings)
