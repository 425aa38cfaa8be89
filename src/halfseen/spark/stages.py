"""Estimators of halfseen as estimators of Spark ML, and fitted models as its transformers.

An estimator's parameters are parameters of its stage, under their names. Columns are given as in Spark ML:
`featuresCols`, `weightCol`, `labelCol`, `predictionCol`, `probabilityCol`.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from pyspark.ml import Estimator, Model
from pyspark.ml.functions import array_to_vector
from pyspark.ml.param import Param, Params
from pyspark.ml.util import MLReadable, MLWritable
from sklearn.base import is_classifier

import halfseen
from halfseen.errors import DataError, ParameterError
from halfseen.optional import optional
from halfseen.runners.spark_mapped import mapped
from halfseen.spark.saved import ModelReader, ModelWriter, StageReader, StageWriter

COLUMNS = {
    "featuresCols": "names of the columns to fit to; all but those of weights and labels by default",
    "weightCol": "name of a column that says how often each row counts",
    "labelCol": "name of the column of labels, null where there is none",
    "predictionCol": "name of the column of predicted classes",
    "probabilityCol": "name of the column of class probabilities, a vector; an empty name: none",
}


def stages(name: str) -> dict[str, Any]:
    """Return the stage of an estimator and that of its models, by their names."""
    family = getattr(halfseen, name)
    columns = {column: Param(Params._dummy(), column, says) for column, says in COLUMNS.items()}
    if not hasattr(family, "predict_proba"):
        del columns["probabilityCol"]
    if not is_classifier(family()) and "labels" not in inspect.signature(family.fit).parameters:
        del columns["labelCol"]
    defaults = family().get_params(deep=False)
    parameters = {key: Param(Params._dummy(), key, f"see halfseen.{name}") for key in defaults}
    home = {"__module__": "halfseen.spark", "_family": family}
    model = type(f"{name}Model", (FittedStage,), home | columns | {"__doc__": f"A fitted `halfseen.{name}`."})
    about = f"`halfseen.{name}` as an estimator of Spark ML. Columns: {', '.join(columns)}."
    shown = {key: list(value) if isinstance(value, tuple) else value for key, value in defaults.items()}
    own = {"__doc__": about, "_defaults": shown, "_model": model}
    stage = type(name, (Stage,), home | columns | parameters | own)
    return {name: stage, f"{name}Model": model}


class Columns(Params):
    """The columns that a stage reads and adds, as parameters of Spark ML."""

    _family: ClassVar[Any]

    def _begin(self, given: dict[str, Any], defaults: dict[str, Any]) -> None:
        usual = {"predictionCol": "prediction", "probabilityCol": "probability"}
        if is_classifier(self._family()):
            usual["labelCol"] = "label"
        self._setDefault(**{name: value for name, value in usual.items() if self.hasParam(name)}, **defaults)
        self.setParams(**given)

    def setParams(self, **given: Any) -> Any:
        """Set parameters by name."""
        for name, value in given.items():
            if not self.hasParam(name):
                known = ", ".join(param.name for param in self.params)
                raise ParameterError(f"{type(self).__name__} has no parameter {name!r}. Parameters: {known}.")
            self.set(self.getParam(name), value)  # `_set` would skip None
        return self

    def _column(self, name: str) -> Any:
        """Return the name of a column; None if there is none."""
        if not self.hasParam(name):
            return None
        param = self.getParam(name)
        return self.getOrDefault(param) or None if self.isDefined(param) else None


class Stage(Columns, Estimator, MLReadable, MLWritable):
    """An estimator of halfseen in a pipeline of Spark ML. Parameters are given by name."""

    _defaults: ClassVar[dict[str, Any]]
    _model: ClassVar[type[FittedStage]]

    def __init__(self, **given: Any) -> None:
        super().__init__()
        self._begin(given, self._defaults)

    def _fit(self, dataset: Any) -> FittedStage:
        weight, label, features = (self._column(name) for name in ("weightCol", "labelCol", "featuresCols"))
        unknown = [name for name in (*(features or ()), weight, label) if name and name not in dataset.columns]
        if unknown:
            raise DataError(f"there is no column {unknown[0]!r}. Columns: {', '.join(dataset.columns)}.")
        if features is None:
            features = [name for name in dataset.columns if name not in (weight, label)]
        estimator = self._family(**{name: self.getOrDefault(name) for name in self._defaults if self.isSet(name)})
        given = {} if weight is None else {"sample_weight": weight}
        if label is not None:
            given["y" if is_classifier(estimator) else "labels"] = label
        fitted = estimator.fit(dataset.select(*features, *(name for name in (weight, label) if name)), **given)
        return self._copyValues(self._model(fitted))

    def write(self) -> StageWriter:
        """Return the writer that saves the parameters."""
        return StageWriter(self)

    @classmethod
    def read(cls) -> StageReader:
        """Return the reader of a saved estimator."""
        return StageReader(cls)


class FittedStage(Columns, Model, MLReadable, MLWritable):
    """A fitted model as a transformer of Spark ML: adds the columns of predicted classes and their probabilities.

    Attributes
    ----------
    model : the fitted estimator of halfseen
    """

    def __init__(self, model: Any = None) -> None:
        super().__init__()
        self.model = model
        self._begin({}, {})

    def _transform(self, dataset: Any) -> Any:
        prediction, probability = (self._column(name) for name in ("predictionCol", "probabilityCol"))
        if prediction is None:
            raise ParameterError("predictionCol is empty: give the column of predicted classes a name.")
        added = mapped(dataset, self.model, Classes(prediction, probability))
        return added if probability is None else added.withColumn(probability, array_to_vector(probability))

    def write(self) -> ModelWriter:
        """Return the writer that saves the parameters and the model file."""
        return ModelWriter(self)

    @classmethod
    def read(cls) -> ModelReader:
        """Return the reader of a saved model."""
        return ModelReader(cls)


@dataclass(frozen=True)
class Classes:
    """What is asked of a model: the class of each row, and the probabilities of all classes.

    Parameters
    ----------
    prediction, probability : str or None     names of the columns
    """

    prediction: str
    probability: str | None
    replaces = False  # the columns are added

    def answer(self, rows: Any, model: Any, *key: int) -> tuple[Any, Any]:
        """Return classes and probabilities."""
        classes = model.predict(rows)
        if classes.dtype.kind in "iufb":  # as in Spark ML: labels are doubles, clusters integers
            classes = classes.astype(np.float64 if is_classifier(model) else np.int32)
        return classes, None if self.probability is None else model.predict_proba(rows)

    def columns(self, answer: tuple[Any, Any]) -> dict[str, Any]:
        """Return them by columns."""
        classes, probabilities = answer
        if self.probability is None:
            return {self.prediction: classes}
        pa = optional("pyarrow", "Spark frames", "spark")
        n_rows, n_classes = probabilities.shape
        ends = pa.array(np.arange(n_rows + 1, dtype=np.int32) * n_classes, pa.int32())
        vectors = pa.ListArray.from_arrays(ends, pa.array(probabilities.ravel()))
        return {self.prediction: classes, self.probability: vectors}
