"""Models as ONNX: `to_onnx`, through converters that are registered with skl2onnx."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from halfseen import families
from halfseen.app import dispatch
from halfseen.errors import ParameterError
from halfseen.export.formula import PROBABILITIES
from halfseen.export.onnx import ML_OPSET, ONNX, OPSET, Graph, label_array
from halfseen.optional import optional

__all__ = ["to_onnx"]

PURPOSE = "ONNX"
EXTRA = "onnx"


def to_onnx(model: Any, initial_types: Sequence[tuple[str, Any]] | None = None) -> Any:
    """Return a model as a graph of ONNX, in float64.

    A model of numbers has one input, X: (N, D) of float64. One with categories that are texts has an input (N, 1) for
    each column, texts or float64; its name is that of the column, with underscores for all but letters and digits. NaN
    is missing, and so is any text that is no category. Where Python raises an error, as for an infinite number, and
    where some but not all cells of a row with a full or tied covariance are missing, probabilities and log-likelihood
    are NaN, and the class is -1 (or the next smaller number), NaN or an empty text.

    Parameters
    ----------
    model : LatentClass, NaiveBayes, GaussianMixture, GaussianClassifier or KMeans
        Fitted, without columns of text; or a Pipeline of scikit-learn that ends in such a model.
    initial_types : sequence of (name, type), optional
        The inputs of a Pipeline, in types of skl2onnx; by default X, of float64.

    Returns
    -------
    onnx.ModelProto
        Its outputs are class (N,), p (N, C) and loglik (N,); for k-means class and squared_distance (N,).

    Examples
    --------
    >>> import halfseen as hs
    >>> model = hs.GaussianMixture.from_params([0.5, 0.5], [[0.0], [3.0]], [[1.0], [1.0]], covariance_type="diag")
    >>> [output.name for output in hs.to_onnx(model).graph.output]
    ['class', 'p', 'loglik']
    """
    skl2onnx = optional("skl2onnx", PURPOSE, EXTRA)
    check_is_fitted(model)
    register_converters()
    if families.of_class(type(model)) is not None:
        dispatch.family_with(model, "export")
        initial_types = _inputs(model)
    elif initial_types is None:
        initial_types = [("X", _double(model.n_features_in_))]
    return skl2onnx.convert_sklearn(
        model, initial_types=list(initial_types), target_opset={"": OPSET, "ai.onnx.ml": ML_OPSET}
    )


def register_converters() -> None:
    """Make all models that can be exported known to skl2onnx."""
    skl2onnx = optional("skl2onnx", PURPOSE, EXTRA)
    for family in families.offering("export"):
        for name, module in family.estimators.items():
            skl2onnx.update_registered_converter(
                getattr(family.module(module), name), f"Halfseen{name}", _shapes, _convert, parser=_parse
            )


def _double(width: int) -> Any:
    return optional("skl2onnx.common.data_types", PURPOSE, EXTRA).DoubleTensorType([None, width])


def _inputs(model: Any) -> list[tuple[str, Any]]:
    """Return the inputs of a model with their types: all numbers together, or every column apart."""
    types = optional("skl2onnx.common.data_types", PURPOSE, EXTRA)
    texts = _texts(model)
    if not any(texts.values()):
        return [("X", _double(len(texts)))]
    return [
        (name, (types.StringTensorType if text else types.DoubleTensorType)([None, 1])) for name, text in texts.items()
    ]


def _texts(model: Any) -> dict[str, bool]:
    """Return whether each column is read as text, by name."""
    return {column.name: column.kind.exported_as_text(column) for column in model._schema.columns}


def _module(model: BaseEstimator) -> Any:
    return dispatch.family_with(model, "export").module("export")


def _parse(scope: Any, model: Any, inputs: Sequence[Any], custom_parsers: Any = None) -> Any:
    """Declare the outputs of a model."""
    types = optional("skl2onnx.common.data_types", PURPOSE, EXTRA)
    alias = optional("skl2onnx", PURPOSE, EXTRA).get_model_alias(type(model))
    operator = scope.declare_local_operator(alias, model)
    operator.inputs = list(inputs)
    exported = _module(model)
    kinds = {"i": types.Int64TensorType, "f": types.DoubleTensorType, "U": types.StringTensorType}
    labels = label_array(exported.labels(model))
    declared = {"class": kinds[labels.dtype.kind]([None])}
    for name in exported.NUMBERS:
        declared[name] = types.DoubleTensorType([None, len(labels)] if name == PROBABILITIES else [None])
    for name, kind in declared.items():
        operator.outputs.append(scope.declare_local_variable(name, kind))
    return operator.outputs


def _shapes(operator: Any) -> None:
    """Leave the shapes as they were declared."""


def _convert(scope: Any, operator: Any, container: Any) -> None:
    """Write the nodes of a model."""
    model, graph = operator.raw_operator, Graph(scope, container)
    language = ONNX(graph, _cells(model, operator.inputs, graph))
    outputs = _module(model).outputs(model, language)
    for variable, (name, formula) in zip(operator.outputs, outputs.items(), strict=True):
        flat = name in ("class", PROBABILITIES)
        value = formula.value if flat else language.flat(formula.value)
        container.add_node("Identity", [value], [variable.full_name], op_version=OPSET)


def _cells(model: Any, inputs: Sequence[Any], graph: Graph) -> dict[str, str]:
    """Return the tensor (N, 1) of each column: an input of its own, or a column of the only one."""
    texts = _texts(model)
    if len(inputs) == len(texts):
        pairs = zip(texts.items(), inputs, strict=True)
        return {
            name: variable.full_name if text else graph.double(variable.full_name) for (name, text), variable in pairs
        }
    if len(inputs) > 1 or any(texts.values()):
        named = [name for name, text in texts.items() if text]
        raise ParameterError(
            f"ONNX: {len(inputs)} inputs for {len(texts)} columns, of which {named!r:.80} are texts: give each column "
            "an input of its own."
        )
    matrix = graph.double(inputs[0].full_name)
    return {name: graph.node("Gather", matrix, graph.array(np.array([d])), axis=1) for d, name in enumerate(texts)}
