"""Formulas as a graph of ONNX, in float64 throughout.

A formula is the name of a tensor, (N, 1) or (N, K); numbers are tensors (1, 1) or (1, K), and the operators broadcast.
A missing cell is NaN, and so is an undefined value; a text that is no category is a missing one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from halfseen.errors import ParameterError
from halfseen.export.formula import Case, Floats, Formula, Language, Operand

OPSET, ML_OPSET = 18, 3  # of the operators used here; runtimes read older ones
OPERATORS = {"+": "Add", "-": "Sub", "*": "Mul", "/": "Div", "<": "Less", ">": "Greater", "=": "Equal", "and": "And"}
FUNCTIONS = {"abs": "Abs", "log": "Log", "exp": "Exp", "floor": "Floor"}
OVER = {"sum": "ReduceSum", "largest": "ReduceMax"}


class Graph:
    """Adds nodes and arrays to a model that skl2onnx makes.

    Parameters
    ----------
    scope, container : what skl2onnx gives to a converter
    """

    def __init__(self, scope: Any, container: Any) -> None:
        self._scope, self._container = scope, container

    def node(self, operator: str, *inputs: str, ml: bool = False, **attributes: Any) -> str:
        """Add a node; return the name of its output."""
        output: str = self._scope.get_unique_variable_name(f"halfseen_{operator.lower()}")
        domain = {"op_domain": "ai.onnx.ml", "op_version": 2} if ml else {"op_version": OPSET}
        self._container.add_node(operator, list(inputs), [output], **domain, **attributes)
        return output

    def array(self, values: Any) -> str:
        """Add an array of float64, int64 or texts; return its name."""
        from onnx import TensorProto

        array = np.asarray(values)
        kinds = {"f": TensorProto.DOUBLE, "i": TensorProto.INT64, "U": TensorProto.STRING}
        name = self._scope.get_unique_variable_name("halfseen_constant")
        content = [text.encode() for text in array.ravel().tolist()] if array.dtype.kind == "U" else array.ravel()
        self._container.add_initializer(name, kinds[array.dtype.kind], list(array.shape), content)
        return str(name)

    def double(self, tensor: str) -> str:
        """Return a tensor as float64."""
        from onnx import TensorProto

        return self.node("Cast", tensor, to=TensorProto.DOUBLE)

    def whole(self, tensor: str) -> str:
        """Return a tensor as int64."""
        from onnx import TensorProto

        return self.node("Cast", tensor, to=TensorProto.INT64)


class ONNX(Language):
    """Writes formulas as nodes.

    Parameters
    ----------
    graph : Graph
    cells : dict      column -> name of a tensor (N, 1) of its cells, float64 or texts
    """

    name = "ONNX"

    def __init__(self, graph: Graph, cells: Mapping[str, str]) -> None:
        self._graph, self._cells = graph, cells
        self._constants: dict[tuple[float, ...], str] = {}

    def _formula(self, operator: str, *inputs: str, **attributes: Any) -> Formula:
        return Formula(self, self._graph.node(operator, *inputs, **attributes))

    @property
    def undefined(self) -> Formula:
        """NaN."""
        return self.constant(np.nan)

    def constant(self, numbers: float | Floats) -> Formula:
        row = np.atleast_1d(np.asarray(numbers, dtype=np.float64))
        key = tuple(row.view(np.int64).tolist())  # NaN is no key
        if key not in self._constants:
            self._constants[key] = self._graph.array(row[None])
        return Formula(self, self._constants[key])

    # ---- cells ---------------------------------------------------------------------------------------------------

    def number(self, column: str) -> Formula:
        return Formula(self, self._cells[column])

    def text(self, column: str) -> Formula:
        return Formula(self, self._cells[column])

    def truth(self, column: str) -> Formula:
        return self.number(column)

    # ---- operations ----------------------------------------------------------------------------------------------

    def binary(self, operator: str, first: Formula, second: Formula) -> Formula:
        return self._formula(OPERATORS[operator], first.value, second.value)

    def function(self, name: str, argument: Formula) -> Formula:
        return self._formula(FUNCTIONS[name], argument.value)

    def missing(self, formula: Formula) -> Formula:
        return self._formula("IsNaN", formula.value)

    def choose(self, *cases: Case, otherwise: Operand) -> Formula:
        found = self.formula(otherwise)
        for condition, value in reversed(cases):
            found = self._formula("Where", condition.value, self.formula(value).value, found.value)
        return found

    def lookup(
        self, cell: Formula, keys: Sequence[float] | Sequence[str], table: Floats, otherwise: Operand
    ) -> Formula:
        place = self._place(cell, keys)
        known = place > -1.0
        row = self._whole(self.choose((known, place), otherwise=0.0).value)
        found = self._formula("Gather", self._graph.array(np.asarray(table, dtype=np.float64)), row, axis=0)
        return self.choose((known, found), otherwise=otherwise)

    def _place(self, cell: Formula, keys: Sequence[Any]) -> Formula:
        """Return the place of a cell among the keys, (N, 1); -1 if it is none of them."""
        if isinstance(keys[0], str):
            numbers = {"keys_strings": list(keys), "values_int64s": list(range(len(keys))), "default_int64": -1}
            return self._double(self._graph.node("LabelEncoder", cell.value, ml=True, **numbers))
        if keys == range(len(keys)):
            within = self.all([cell > -1.0, cell < float(len(keys)), cell.floor().equals(cell)])
            return self.choose((within, cell), otherwise=-1.0)
        hits = self._double(cell.equals(np.array(keys, dtype=np.float64)).value)  # (N, V), at most one of them 1
        places = self._graph.array(np.arange(1.0, len(keys) + 1)[:, None])
        return self._formula("MatMul", hits.value, places) - 1.0

    def _double(self, tensor: str) -> Formula:
        return Formula(self, self._graph.double(tensor))

    def _whole(self, tensor: str) -> str:
        """Return the places of a tensor (N, 1) as int64, (N,)."""
        return self._graph.whole(self.flat(tensor))

    def flat(self, tensor: str) -> str:
        """Return a tensor (N, 1) as (N,)."""
        return self._graph.node("Squeeze", tensor, self._graph.array(np.array([1])))

    # ---- over components -----------------------------------------------------------------------------------------

    def step(self, *formulas: Formula) -> list[Formula]:
        """Return the formulas: every node is evaluated once."""
        return list(formulas)

    def total(self, formulas: Sequence[Formula]) -> Formula:
        return self._formula("Sum", *(formula.value for formula in formulas))

    def over_components(self, operation: str, wide: Formula) -> Formula:
        return self._formula(OVER[operation], wide.value, self._graph.array(np.array([1])), keepdims=1)

    def by_class(self, wide: Formula, inside: int) -> Formula:
        if inside == 1:
            return wide
        apart = self._graph.node("Reshape", wide.value, self._graph.array(np.array([0, -1, inside])))
        return self._formula("ReduceSum", apart, self._graph.array(np.array([2])), keepdims=0)

    def label(self, wide: Formula, largest: Formula, labels: Sequence[Any]) -> Formula:
        """Return the labels, (N,); `no_label` where there is nothing to compare."""
        listed = label_array(labels)
        best = self._graph.node("ArgMax", wide.value, axis=1, keepdims=0)
        nothing = self.flat(largest.missing().value)
        place = self._graph.node("Where", nothing, self._graph.array(np.array([len(labels)])), best)
        return self._formula("Gather", self._graph.array(np.append(listed, no_label(listed))), place)


def label_array(labels: Sequence[Any]) -> Any:
    """Return labels as an array of int64 (True and False too), float64 or texts."""
    array = np.asarray(labels)
    if array.dtype.kind in "bi":
        return array.astype(np.int64)
    if array.dtype.kind not in "fU":
        raise ParameterError(f"ONNX: the classes {list(labels)!r:.80} are neither texts nor numbers. Use rename.")
    return array


def no_label(labels: Any) -> Any:
    """Return what stands for no label: -1 or the next smaller number, NaN, or an empty text."""
    if labels.dtype.kind == "i":
        return min(-1, int(labels.min()) - 1)
    if labels.dtype.kind == "f":
        return np.nan
    if "" in labels.tolist():
        raise ParameterError("ONNX: a class is an empty text, which stands for rows without a class. Use rename.")
    return ""
