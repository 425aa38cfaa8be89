"""Stages in the folders of saved pipelines: parameters as JSON, the model as a model file in a table of one row.

Loading reads numbers and text, and runs no code of the folder.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pyspark.errors import PySparkException
from pyspark.ml.util import DefaultParamsReader, DefaultParamsWriter, MLReader, MLWriter

from halfseen.app.model_file import load, save
from halfseen.errors import ModelFileError
from halfseen.temporary import TemporaryFolder

FILE = "model.halfseen"


class StageWriter(MLWriter):
    """Writes the parameters of a stage."""

    def __init__(self, stage: Any) -> None:
        super().__init__()
        self._stage = stage

    def saveImpl(self, path: str) -> None:
        """Write to a folder that is not there yet."""
        self._check_parameters()
        try:
            DefaultParamsWriter.saveMetadata(self._stage, path, self.sparkSession)
            self._save_model(path)
        except PySparkException as error:
            raise ModelFileError(
                f"{path}: Spark cannot write there ({str(error).splitlines()[0]}). Choose a new folder that the "
                "executors can write to, or save the model on this machine: halfseen.save(stage.model, file)."
            ) from error

    def _handleOverwrite(self, path: str) -> None:
        if not hasattr(self.sparkSession, "_jsparkSession"):
            raise ModelFileError(f"{path}: Spark Connect cannot overwrite a stage. Choose a new folder.")
        super()._handleOverwrite(path)

    def _check_parameters(self) -> None:
        for param, value in self._stage.extractParamMap().items():
            try:
                json.dumps(value)
            except TypeError:
                raise ModelFileError(
                    f"{param.name} is a {type(value).__name__}, which cannot be saved with a pipeline. Give it as "
                    "numbers, text, lists and dictionaries of these."
                ) from None

    def _save_model(self, path: str) -> None:
        """Write what is beside the parameters."""


class ModelWriter(StageWriter):
    """Writes the parameters of a stage and its fitted model."""

    def _save_model(self, path: str) -> None:
        with TemporaryFolder() as folder:
            file = Path(folder, FILE)
            save(self._stage.model, file)
            content = file.read_bytes()
        row = self.sparkSession.createDataFrame([(FILE, bytearray(content))], "name string, content binary")
        row.coalesce(1).write.parquet(f"{path}/model")


class StageReader(MLReader):
    """Reads a stage."""

    def __init__(self, stage: type[Any]) -> None:
        super().__init__()
        self._stage = stage

    def load(self, path: str) -> Any:
        """Return the stage that was saved in a folder."""
        stage = self._stage()
        metadata = DefaultParamsReader.loadMetadata(path, self.sparkSession)
        wanted = f"{self._stage.__module__}.{self._stage.__name__}"
        if metadata.get("class") != wanted:
            raise ModelFileError(f"{path} holds a {metadata.get('class')}, not a {wanted}.")
        stage._resetUid(metadata["uid"])
        try:
            DefaultParamsReader.getAndSetParams(stage, metadata)
        except (KeyError, ValueError, TypeError, AttributeError) as error:
            raise ModelFileError(f"{path}: the parameters cannot be read ({error}).") from error
        self._load_model(stage, path)
        return stage

    def _load_model(self, stage: Any, path: str) -> None:
        """Read what is beside the parameters."""


class ModelReader(StageReader):
    """Reads a stage with its fitted model."""

    def _load_model(self, stage: Any, path: str) -> None:
        rows = self.sparkSession.read.parquet(f"{path}/model").collect()
        if len(rows) != 1 or not hasattr(rows[0], "content"):
            raise ModelFileError(f"{path}/model: expected a table of one row with a model file in it.")
        with TemporaryFolder() as folder:
            file = Path(folder, FILE)
            file.write_bytes(rows[0].content)
            model = load(file)
        if type(model) is not stage._family:
            raise ModelFileError(f"{path}: the model is a {type(model).__name__}, not a {stage._family.__name__}.")
        stage.model = model
