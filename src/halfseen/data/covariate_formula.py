"""Formulas of covariates, read by formulaic: which columns they name, and the matrix that they make of them.

A part of formulaic is allowed: names of columns, + : * ( ) between terms, and the functions of `FUNCTIONS`. Nothing
else is evaluated, because a formula may come from a model file.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from halfseen.data.frames import Source
from halfseen.errors import ParameterError
from halfseen.optional import optional

FUNCTIONS = ("C", "I", "log", "log10", "log2", "exp", "center", "scale")
ALLOWED = (
    ast.Expression, ast.BinOp, ast.UnaryOp, ast.Call, ast.Name, ast.Constant, ast.Load,
    ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow, ast.USub,
)  # fmt: skip


def variables_of(formula: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the columns that a formula names, in their order, and those inside C(): categories.

    Examples
    --------
    >>> variables_of("age + C(party) + log(income)")
    (('age', 'party', 'income'), ('party',))
    """
    parsed = _parsed(formula)
    terms = list(parsed) if type(parsed).__name__ == "SimpleFormula" else None
    if terms is None:
        raise ParameterError(f"covariates={formula!r}: give the right side of a formula only: 'age + C(party)'.")
    factors = [factor for term in terms for factor in term.factors]
    if not any(factor.expr == "1" for factor in factors) or all(factor.expr in ("0", "1") for factor in factors):
        raise ParameterError(f"covariates={formula!r}: it needs an intercept and at least one covariate.")
    found: dict[str, bool] = {}
    for factor in factors:
        if factor.eval_method.value == "lookup":
            found.setdefault(factor.expr, False)
        elif factor.eval_method.value == "python":
            for name, coded in _names_in(formula, factor.expr):
                found[name] = found.get(name, False) or coded
    return tuple(found), tuple(name for name, coded in found.items() if coded)


def _parsed(formula: str) -> Any:
    formulaic = optional("formulaic", "covariates=: a formula", "stats")
    try:
        return formulaic.Formula(formula)
    except (formulaic.errors.FormulaicError, SyntaxError, ValueError, TypeError) as error:
        said = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ParameterError(f"covariates={formula!r} is not a formula: {said} Example: 'age + C(party)'.") from None


def _names_in(formula: str, expression: str) -> list[tuple[str, bool]]:
    """Return the columns in an expression, and whether each is inside C(); refuse what is not allowed."""
    try:
        tree = ast.parse(expression, mode="eval")
    except SyntaxError:
        raise ParameterError(f"covariates={formula!r}: {expression!r} cannot be read.") from None
    for node in ast.walk(tree):
        wrong = isinstance(node, ast.Call) and not _plain_call(node)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):  # a power of numbers alone may have no end
            wrong = not _of_column(node.left) or not isinstance(node.right, ast.Constant)
        if wrong or not isinstance(node, ALLOWED):
            raise ParameterError(
                f"covariates={formula!r}: {expression!r} is not allowed. Use names of columns, numbers, + - * / ** and "
                f"the functions {', '.join(FUNCTIONS)}, each of one argument; C() takes the name of a column."
            )
    functions = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    inside = {
        id(node.args[0])
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "C"
    }
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and id(node) not in functions]
    return [(node.id, id(node) in inside) for node in names]


def _of_column(node: ast.AST) -> bool:
    """Whether an expression depends on a column."""
    return any(isinstance(part, ast.Name) and part.id not in FUNCTIONS for part in ast.walk(node))


def _plain_call(node: Any) -> bool:
    """Whether a call is one of the functions, with one argument; of C() a name."""
    if not isinstance(node.func, ast.Name) or node.func.id not in FUNCTIONS:
        return False
    single = len(node.args) == 1 and not node.keywords
    return single and (node.func.id != "C" or isinstance(node.args[0], ast.Name))


def modelled(formula: str, frame: Any) -> Any:
    """Return formulaic's matrix of a frame."""
    parsed = _parsed(formula)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return parsed.get_model_matrix(frame, context={}, na_action="ignore")
        except Exception as error:  # formulaic wraps whatever a function raises
            raise ParameterError(f"covariates={formula!r} cannot be computed: {error}") from None


def frame_of(source: Source, levels: Mapping[str, tuple[Any, ...]], names: Sequence[str]) -> Any:
    """Return variables as a pandas frame, which formulaic reads."""
    pandas = optional("pandas", "covariates=: a formula", "stats")
    return pandas.DataFrame(
        {name: categories(source.column(j).values, levels.get(name)) for j, name in enumerate(names)}
    )


def categories(values: Any, levels: tuple[Any, ...] | None) -> Any:
    """Return a variable as formulaic reads it: numbers, or categories where it has levels."""
    if levels is None:
        return np.asarray(values, dtype=np.float64)
    return optional("pandas", "covariates=: a formula", "stats").Categorical(values, categories=list(levels))
