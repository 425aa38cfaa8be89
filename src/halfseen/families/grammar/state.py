"""A grammar with its probabilities as plain values and arrays, and back: what is in its model file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from halfseen.errors import DataError, ParameterError
from halfseen.estimators import options, state
from halfseen.estimators.state import ORIGIN, State, is_number, is_texts, options_of
from halfseen.families.grammar import reading
from halfseen.families.grammar.model import ContextFree
from halfseen.leaves import Frozen, Leaf, Tables
from halfseen.leaves.leaf import Floats, frozen
from halfseen.structures.grammar import Grammar
from halfseen.structures.rules import Right
from halfseen.structures.tree import Derivations
from halfseen.structures.trees import Word

if TYPE_CHECKING:
    from halfseen.families.grammar.estimator import PCFG

Estimator = TypeVar("Estimator", bound="PCFG")

RECORD = {"options", "start", "rules", "model", "training"} | ORIGIN
TRAINING = {name: own for name, own in state.OF_ALL.items() if name != "n_components_"} | {
    "n_rows": ("_n_rows", lambda value: is_number(value) and value > 0),
    "column": ("_column", lambda value: isinstance(value, str)),
    "unparsable_": ("unparsable_", lambda value: isinstance(value, list) and all(map(state.is_whole, value))),
}


class GrammarRecipe(NamedTuple):
    """All that a model is built from beside its grammar: options changed later do not change it."""

    prior: Any
    fixed: tuple[str, ...]

    def model(self, grammar: Grammar) -> ContextFree:
        """Return the model."""
        leaf: Leaf = Tables(grammar.rows, reading.read_prior(self.prior, grammar))
        if self.fixed:
            mask = np.zeros((1, grammar.n_cells), dtype=bool)
            mask[0, reading.read_cells("fixed", self.fixed, grammar)] = True
            leaf = Frozen(leaf, mask)
        return ContextFree(Derivations(), {"rules": leaf})


def taken(model: PCFG) -> State:
    """Return the state of a grammar."""
    grammar = model._grammar
    record = {
        "options": options_of(model) | {"fixed": list(model.fixed or ())},
        "start": grammar.start,
        "rules": [
            [left, [[int(isinstance(part, Word)), part.text if isinstance(part, Word) else part] for part in right]]
            for left, right in grammar.rules
        ],
        "model": {"prior": model._recipe.prior, "fixed": list(model._recipe.fixed)},
        "training": state.training_of(model, TRAINING),
        **model._origin.record(),
    }
    tensors = {"params/rules": model._params["rules"]}
    if hasattr(model, "_stats"):
        tensors |= {"stats/rules": model._stats[None], "first/rules": model._first}
    return State(record, tensors)


def restored(cls: type[Estimator], found: State) -> Estimator:
    """Return the grammar whose state this is; raise `ParameterError` for what cannot be one."""
    record, tensors = found
    model: Estimator = state.created(cls, record, RECORD)
    model._grammar = _grammar(record["start"], record["rules"])
    _check_text(model.grammar, model._grammar)
    inside = options.mapping("model", record["model"])
    if not is_texts(inside["fixed"]):
        raise ParameterError("model: fixed is not a list of rules.")
    model._recipe = GrammarRecipe(inside["prior"], tuple(inside["fixed"]))
    model._model = model._recipe.model(model._grammar)
    reading.check_unknown(model._grammar, model.unknown)
    fitted = "stats/rules" in tensors
    names = ["params/rules", *(["stats/rules", "first/rules"] if fitted else [])]
    state.check_shapes(tensors, dict.fromkeys(names, (1, model._grammar.n_cells)))
    model._params = {"rules": _table(model, tensors["params/rules"])}
    state.restore_training(model, record["training"], TRAINING)
    if fitted != ("n_rows" in record["training"]) or fitted != ("loglik_" in record["training"]):
        raise ParameterError("training: the number of sentences is not there, or should not be.")
    if fitted:
        model._stats, model._first = tensors["stats/rules"][0], _table(model, tensors["first/rules"])
        state.check_counts(model._stats)
    return model


def _check_text(text: Any, grammar: Grammar) -> None:
    """Refuse a text of the grammar that says something else than its rules."""
    if text is None:
        return
    try:
        same = set(reading.read_given(text).grammar.rules) == set(grammar.rules)
    except DataError as error:
        raise ParameterError(f"options: {error}") from error
    if not same:
        raise ParameterError("options: the text of the grammar has other rules than the model.")


def _table(model: PCFG, cells: Floats) -> Floats:
    state.check_params(model._model, {"rules": cells})
    model._grammar.closure(np.append(cells[0], 1.0))
    return frozen(cells)


def _grammar(start: Any, rules: Any) -> Grammar:
    """Return the grammar, once its rules are known to be such as a text has."""
    if not isinstance(rules, list) or not rules:
        raise ParameterError("rules: there are none.")
    found: list[tuple[str, Right]] = []
    for rule in rules:
        left, right = rule
        parts = tuple(_part(part) for part in right)
        if not isinstance(left, str) or not parts:
            raise ParameterError(f"rules: {rule!r:.80} is not a rule.")
        found.append((left, parts))
    grammar = Grammar.of(start, found)
    if start not in grammar.number or list(grammar.rules) != found:
        raise ParameterError("rules: they are not grouped by their left-hand sides, or the start has none.")
    return grammar


def _part(part: Any) -> str | Word:
    kind, text = part
    if kind not in (0, 1) or not isinstance(text, str) or not text:
        raise ParameterError(f"rules: {part!r:.80} is neither a symbol nor a word.")
    return Word(text) if kind else text
