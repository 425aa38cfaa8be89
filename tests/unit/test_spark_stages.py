"""Stages of Spark ML without Spark: their names are there, and the error says what to install."""

import sys

import pytest

from halfseen import spark


def test_names_are_listed_without_spark():
    assert "LatentClass" in dir(spark)
    assert "KMeansModel" in dir(spark)
    with pytest.raises(AttributeError, match="has no attribute 'HMM'"):
        _ = spark.HMM


def test_without_pyspark_the_error_says_what_to_install(monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] == "pyspark"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pyspark", None)
    with pytest.raises(ImportError, match=r'a stage of Spark ML needs pyspark.*pip install "halfseen\[spark\]"'):
        spark.__getattr__("LatentClass")
