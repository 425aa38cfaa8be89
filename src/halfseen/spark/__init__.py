"""Stages of Spark ML pipelines: estimators of halfseen for `pyspark.ml.Pipeline`.

`LatentClass`, `GaussianMixture`, `KMeans`, `NaiveBayes`, `GaussianClassifier`, and the models that they return, such as
`LatentClassModel`. They need the extra `spark`, which is imported when one of them is first used.
"""

from __future__ import annotations

from typing import Any

from halfseen.optional import optional

NAMES = ("GaussianClassifier", "GaussianMixture", "KMeans", "LatentClass", "NaiveBayes")

__all__ = [*NAMES, *(f"{name}Model" for name in NAMES)]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    optional("pyspark.ml", "a stage of Spark ML", "spark")
    from halfseen.spark.stages import stages

    found = stages(name.removesuffix("Model"))
    globals().update(found)
    return found[name]


def __dir__() -> list[str]:
    return __all__
