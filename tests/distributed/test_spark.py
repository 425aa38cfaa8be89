"""Spark frames: the same bits as the same partitions in this process, whatever happens to workers and files."""

import io
import os
import re
import shutil
import signal
import subprocess
import sys
from contextlib import redirect_stdout
from pathlib import Path

import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import halfseen as hs
from halfseen import spark as stages
from halfseen.engine.services.progress import watching
from halfseen.engine.tables.lane_source import LaneSource
from halfseen.errors import DataError, FitError, ModelFileError, ParameterError
from halfseen.runners import environment, spark_tasks
from halfseen.runners.local import LocalCluster
from halfseen.runners.spark import ADAPTIVE, SparkCluster
from tests.distributed import test_dask_sequences as sequences
from tests.distributed.clusters import spark_partitions
from tests.distributed.test_dask import DATA, FEATURES, dd, distributed, fitted, same_bits
from tests.unit.test_docs import assert_alike

pytest.importorskip("pyspark.sql", reason="needs pyspark")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),  # of pyspark
    pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java (Debian: default-jre-headless)"),
]

STARTS = 3  # of a cluster of executors, whose processes may fail to come up on a busy machine
FEW = {"n_init": 1, "random_state": 0, "max_iter": 2}


def cases():
    yield "soft", hs.LatentClass(3, columns={"visits": "poisson"}, **FEW), FEATURES, {}
    yield (
        "sample, weights",
        hs.LatentClass(2, assign="sample", **FEW),
        [*FEATURES, "weight"],
        {"sample_weight": "weight"},
    )
    yield "hard, labels", hs.LatentClass(3, assign="hard", **FEW), [*FEATURES, "kind"], {"labels": "kind"}
    yield "full", hs.GaussianMixture(2, **FEW), ["size", "visits"], {}
    yield "classifier", hs.NaiveBayes(unlabeled_weight=1.0, **FEW), [*FEATURES, "kind"], {"y": "kind"}
    yield "normal", hs.GaussianClassifier(unlabeled_weight=0.5, **FEW), ["size", "visits", "kind"], {"y": "kind"}


CASES = list(cases())
each_case = pytest.mark.parametrize(
    ("model", "columns", "given"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)


def lane_files(folder):
    return sorted(folder.rglob("*.lane"))


@pytest.fixture(autouse=True)
def nothing_left(folder):
    yield
    assert not list(folder.rglob("halfseen-lanes-*"))


def spark_frame(session, columns, n_partitions=2):
    frame = session.createDataFrame(DATA[columns].astype(object).where(DATA[columns].notna(), None), schema(columns))
    return frame.repartition(n_partitions)


def schema(columns):
    kinds = {"color": "string", "size": "double", "visits": "long", "weight": "double", "kind": "string"}
    return ", ".join(f"{name} {kinds[name]}" for name in columns)


def lanes(frame, given, n_jobs=None):
    """Return the same partitions in this process."""
    target = given.get("labels", given.get("y"))
    return LaneSource(LocalCluster(spark_partitions(frame), n_jobs), given.get("sample_weight"), target)


@each_case
def test_the_same_partitions_give_the_same_bits(session, model, columns, given):
    frame = spark_frame(session, columns)
    same_bits(fitted(model, frame, given), fitted(model, lanes(frame, given), {}))


@pytest.mark.parametrize("n_partitions", [1, 2, 4])
def test_threads_dask_and_spark_give_the_same_bits(session, n_partitions):
    frame = spark_frame(session, FEATURES, n_partitions)
    model = hs.LatentClass(2, **FEW)
    found = fitted(model, frame, {})
    same_bits(found, fitted(model, lanes(frame, {}, n_jobs=3), {}))
    parts = spark_partitions(frame)
    with distributed.Client(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0"):
        same_bits(found, fitted(model, dd.concat([dd.from_pandas(part, npartitions=1) for part in parts]), {}))


def test_partitions_without_rows_change_nothing(session):
    some = spark_frame(session, FEATURES, 2)
    none = some.where("visits < 0").repartition(1)
    frame = none.unionAll(some).unionAll(none)
    model = hs.LatentClass(2, **FEW)
    found = fitted(model, frame, {})
    same_bits(found, fitted(model, some, {}))
    assert_allclose(found.score(frame), found.score(DATA[FEATURES]), rtol=1e-12)
    assert found.predict(frame).count() == len(DATA)


def test_frames_that_spark_cuts_as_it_runs_are_fitted(session):
    """Spark joins small partitions of a shuffle while it runs, and differently where the result is cached."""
    before = session.conf.get(ADAPTIVE)
    frame = session.range(0, 3000, 1, 2).selectExpr("id % 900 AS k", "rand(7) AS x", "id % 3 AS c")
    frame = frame.groupBy("k").agg({"x": "avg", "c": "max"}).drop("k")
    session.conf.set("spark.sql.shuffle.partitions", "20")
    try:
        found = fitted(hs.GaussianMixture(2, **FEW), frame, {})
    finally:
        session.conf.set("spark.sql.shuffle.partitions", "2")
    assert found.predict(frame).count() == 900
    assert session.conf.get(ADAPTIVE) == before


# ---- faults ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def in_pass(monkeypatch):
    """Let something happen before the job of some pass is sent."""

    def install(number, happens):
        asked, passes = SparkCluster.answers, []

        def answers(self, job, first_chunks):
            passes.append(1)
            return asked(self, happens(job) if len(passes) == number else job, first_chunks)

        monkeypatch.setattr(SparkCluster, "answers", answers)
        return passes

    return install


@pytest.fixture
def encoded_again(monkeypatch):
    found, encode = [], SparkCluster._encoded_again

    def counted(self, numbers):
        found.append(list(numbers))
        return encode(self, numbers)

    monkeypatch.setattr(SparkCluster, "_encoded_again", counted)
    return found


def test_lanes_that_are_deleted_are_encoded_again(session, folder, in_pass, encoded_again):
    frame = spark_frame(session, FEATURES)
    model = hs.LatentClass(3, **FEW)
    expected = fitted(model, lanes(frame, {}), {})

    def delete(job):
        files = lane_files(folder)
        assert len(files) == 2
        files[1].unlink()
        return job

    in_pass(6, delete)
    same_bits(fitted(model, frame, {}), expected)
    assert encoded_again == [[1]]


def once(marker, job):
    """Return a job whose worker is killed the first time."""

    def dies(*given):
        try:
            os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return job(*given)
        os.kill(os.getpid(), signal.SIGKILL)

    return dies


def test_a_worker_that_dies_in_a_pass_changes_no_bit(session, tmp_path, in_pass):
    frame = spark_frame(session, FEATURES)
    model = hs.LatentClass(3, **FEW)
    expected = fitted(model, lanes(frame, {}), {})
    marker = str(tmp_path / "died")
    in_pass(6, lambda job: once(marker, job))
    same_bits(fitted(model, frame, {}), expected)
    assert Path(marker).exists()


def test_a_worker_that_dies_while_it_encodes_changes_no_bit(session, tmp_path, monkeypatch):
    frame = spark_frame(session, FEATURES)
    model = hs.LatentClass(3, **FEW)
    expected = fitted(model, lanes(frame, {}), {})
    marker, encode = str(tmp_path / "died"), SparkCluster.encode
    monkeypatch.setattr(SparkCluster, "encode", lambda self, task, numbers: encode(self, once(marker, task), numbers))
    same_bits(fitted(model, frame, {}), expected)
    assert Path(marker).exists()


def test_servers_without_a_cache_give_the_same_bits(session, monkeypatch):
    from pyspark.errors import PySparkException

    frame = spark_frame(session, FEATURES)
    model = hs.LatentClass(3, **FEW)
    expected = fitted(model, lanes(frame, {}), {})

    def refuse(self, *_):
        raise PySparkException("PERSIST TABLE is not supported on serverless compute")

    monkeypatch.setattr(type(frame), "persist", refuse)
    same_bits(fitted(model, frame, {}), expected)


def changing(frame, marker):
    """Return a frame whose rows change when a file is there."""

    def rows(batches):
        for batch in batches:
            if os.path.exists(marker):
                batch = batch.set_column(0, "visits", batch.column(0)[::-1])
            yield batch if not os.path.exists(marker + ".fewer") else batch.slice(1)

    return frame.mapInArrow(rows, frame.schema)


def test_partitions_that_change_are_refused(session, tmp_path, folder, in_pass):
    marker = str(tmp_path / "changed")
    frame = changing(spark_frame(session, ["visits", "size"]), marker)

    def change(job):
        Path(marker).touch()
        for file in lane_files(folder):
            file.unlink()
        return job

    in_pass(6, change)
    with pytest.raises(DataError, match=r"the Spark frame: partition \d was read again"):
        fitted(hs.LatentClass(3, **FEW), frame, {})


def test_partitions_that_change_before_they_are_encoded_are_refused(session, tmp_path, monkeypatch):
    marker, encode = str(tmp_path / "changed"), SparkCluster.encode
    frame = changing(spark_frame(session, ["visits", "size"]), marker)

    def change(self, task, numbers):
        Path(marker + ".fewer").touch()
        return encode(self, task, numbers)

    monkeypatch.setattr(SparkCluster, "encode", change)
    with pytest.raises(DataError, match=r"partition \d holds other rows"):
        fitted(hs.LatentClass(3, **FEW), frame, {})


def test_an_interrupted_fit_resumes_from_its_checkpoint(session, tmp_path):
    frame = spark_frame(session, FEATURES, 2)
    model = hs.LatentClass(2, **FEW)
    passes = []

    def stop(*_):
        passes.append(1)
        if len(passes) == 2:
            raise RuntimeError("killed")

    with pytest.raises(RuntimeError, match="killed"), hs.checkpoint(tmp_path / "fit.ckpt"), watching(stop):
        fitted(model, frame, {})
    with hs.checkpoint(tmp_path / "fit.ckpt"):
        same_bits(fitted(model, frame, {}), fitted(model, lanes(frame, {}), {}))


# ---- refused ---------------------------------------------------------------------------------------------------------


def test_errors_of_workers_are_raised_here_as_they_are(session):
    frame = spark_frame(session, ["size"], 2).selectExpr("size", "IF(size > 1, double('inf'), size) AS visits")
    with pytest.raises(DataError, match=r"column 'visits'.*inf"):
        fitted(hs.GaussianMixture(2, **FEW), frame, {})


def test_parameters_that_are_too_large_are_refused(session, monkeypatch):
    monkeypatch.setattr(spark_tasks, "LARGEST", 1000)
    with pytest.raises(FitError, match=r"would be sent .* of parameters; at most 1.0 kB"):
        fitted(hs.LatentClass(2, **FEW), spark_frame(session, FEATURES), {})


def test_workers_that_would_give_other_sums_are_refused(session, monkeypatch):
    own = environment.environment()
    monkeypatch.setattr(environment, "environment", lambda: own | {"halfseen": "9.9"})
    with pytest.raises(FitError, match=r"differs from this process: halfseen .* \(here: 9.9\)"):
        fitted(hs.LatentClass(2, **FEW), spark_frame(session, FEATURES), {})


# ---- predictions -----------------------------------------------------------------------------------------------------


def test_predictions_are_lazy_frames_with_the_columns_that_were_there(session):
    model = fitted(hs.LatentClass(2, **FEW), DATA[FEATURES], {})
    frame = spark_frame(session, [*FEATURES, "weight"]).withColumnRenamed("weight", "customer")
    whole = frame.toPandas()
    columns = list(frame.columns)
    for method, added in (("predict", ["class"]), ("predict_proba", model.class_names_), ("score_samples", ["loglik"])):
        lazy = getattr(model, method)(frame)
        assert lazy.columns == [*columns, *added]
        found = lazy.toPandas()
        expected = getattr(model, method)(whole[FEATURES])
        assert_allclose(found[list(added)].to_numpy().squeeze(), expected, rtol=1e-12)
        assert_array_equal(found["customer"], whole["customer"])
    filled = model.impute(frame)
    assert filled.schema == frame.schema
    found = filled.toPandas()
    pd.testing.assert_frame_equal(found[FEATURES], model.impute(whole[FEATURES]), rtol=1e-12, check_dtype=False)
    assert_array_equal(found["customer"], whole["customer"])


def test_predicted_labels_have_their_type(session):
    model = fitted(hs.NaiveBayes(**FEW), DATA[FEATURES], {"y": DATA["kind"]})
    found = model.predict(spark_frame(session, [*FEATURES, "kind"]))
    assert found.schema["class"].dataType.simpleString() == "string"
    assert set(found.toPandas()["class"]) == {"k0", "k1", "k2"}


def test_draws_differ_between_partitions_and_not_between_evaluations(session):
    model = fitted(hs.GaussianMixture(1, **FEW), DATA[["size"]], {})
    blank = session.range(0, 40, 1, 4).selectExpr("id", "CAST(NULL AS DOUBLE) AS size")
    drawn = model.impute(blank, draw=True, random_state=0)
    values = drawn.toPandas()["size"]
    assert len(set(values)) == 40
    assert_array_equal(values, drawn.toPandas()["size"])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda frame: frame.withColumnRenamed("size", "sise"), "has no column 'size', which the model was fitted to"),
        (lambda frame: frame.selectExpr("*", "1 AS class"), "has a column 'class' already"),
    ],
)
def test_columns_that_do_not_fit_are_refused(session, change, said):
    model = fitted(hs.LatentClass(2, **FEW), DATA[FEATURES], {})
    with pytest.raises(DataError, match=said):
        model.predict(change(spark_frame(session, FEATURES)))


# ---- pipelines of Spark ML -------------------------------------------------------------------------------------------


def stage(**given):
    return stages.LatentClass(n_components=3, featuresCols=FEATURES, weightCol="weight", **FEW, **given)


def test_a_stage_fits_and_predicts_as_its_estimator(session):
    frame = spark_frame(session, [*FEATURES, "weight", "kind"])
    found = stage(prior=None, labelCol="kind", probabilityCol="share").fit(frame)
    expected = fitted(
        hs.LatentClass(3, prior=None, **FEW),
        frame.select(*FEATURES, "weight", "kind"),
        {"sample_weight": "weight", "labels": "kind"},
    )
    same_bits(found.model, expected)
    rows = found.transform(frame)
    assert rows.columns == [*frame.columns, "prediction", "share"]
    assert rows.schema["prediction"].dataType.simpleString() == "int"
    local = rows.toPandas()
    assert_array_equal(local["prediction"], expected.predict(local[FEATURES]))
    shares = [vector.toArray() for vector in local["share"]]
    assert_allclose(shares, expected.predict_proba(local[FEATURES]), rtol=1e-12)


def test_pipelines_are_saved_and_loaded_with_their_stages(session, tmp_path):
    from pyspark.ml import Pipeline, PipelineModel

    frame = spark_frame(session, [*FEATURES, "weight"])
    pipeline = Pipeline(stages=[stage(prior=None, tied=["size"])])
    pipeline.save(str(tmp_path / "pipeline"))
    again = Pipeline.load(str(tmp_path / "pipeline")).getStages()[0]
    assert again.extractParamMap() == pipeline.getStages()[0].extractParamMap()
    model = pipeline.fit(frame)
    model.save(str(tmp_path / "model"))
    model.write().overwrite().save(str(tmp_path / "model"))
    loaded = PipelineModel.load(str(tmp_path / "model"))
    same_bits(loaded.stages[0].model, model.stages[0].model)
    assert loaded.transform(frame).head() == model.transform(frame).head()


def test_labels_that_are_numbers_are_doubles_for_evaluators(session):
    from pyspark.ml.evaluation import MulticlassClassificationEvaluator

    frame = spark_frame(session, ["size", "visits", "kind"]).where("kind IS NOT NULL")
    frame = frame.selectExpr("size", "visits", "int(substr(kind, 2)) AS label")
    rows = stages.GaussianClassifier(random_state=0).fit(frame).transform(frame)
    accuracy = MulticlassClassificationEvaluator(metricName="accuracy").evaluate(rows)
    local = rows.toPandas()
    assert accuracy == (local["label"] == local["prediction"]).mean() > 0.8


def test_clusters_have_no_probabilities(session):
    frame = spark_frame(session, ["visits", "kind"])
    found = stages.KMeans(n_clusters=2, n_init=1, random_state=0, featuresCols=["visits"]).fit(frame)
    local = found.transform(frame).toPandas()
    assert list(local.columns) == ["visits", "kind", "prediction"]
    assert_array_equal(local["prediction"], found.model.predict(local[["visits"]]))
    with pytest.raises(ParameterError, match=r"KMeans has no parameter 'probabilityCol'. Parameters: .*n_clusters"):
        stages.KMeans(probabilityCol="p")


def test_what_cannot_be_saved_or_loaded_is_refused(session, tmp_path):
    path = str(tmp_path / "stage")
    with pytest.raises(ModelFileError, match="start is a ndarray, which cannot be saved"):
        stage(start=DATA["size"].to_numpy()).save(path)
    stage().save(path)
    with pytest.raises(ModelFileError, match=r"PATH_ALREADY_EXISTS.*Choose a new folder"):
        stage().save(path)
    with pytest.raises(ModelFileError, match=r"holds a halfseen.spark.LatentClass, not a halfseen.spark.KMeans"):
        stages.KMeans.load(path)
    with pytest.raises(DataError, match=r"there is no column 'wieght'. Columns: color"):
        stage().setParams(weightCol="wieght").fit(spark_frame(session, FEATURES))


def test_the_page_runs_and_prints_what_it_shows(session, tmp_path):
    """Its blocks are not run by the tests of the other pages, which have no Java."""
    page = Path(__file__).parents[2] / "docs" / "distributed.md"
    section = page.read_text(encoding="utf-8").partition("\n## Spark\n")[2].partition("\n## ")[0]
    blocks = re.findall(r"^```py\n(.*?)^```\n\n```text\n(.*?)^```$", section, re.DOTALL | re.MULTILINE)
    assert len(blocks) == 2
    namespace = {}
    for code, shown in blocks:
        with redirect_stdout(io.StringIO()) as out:
            exec(code.replace("visits.pipeline", str(tmp_path / "visits.pipeline")), namespace)
        assert_alike(shown, out.getvalue().replace("\n\n", "\n"), page.name)


# ---- in processes of their own ---------------------------------------------------------------------------------------


def run(job, folder):
    """Run a program: one process has one kind of Spark. A cluster that does not come up is started again."""
    DATA[[*FEATURES, "weight"]].to_parquet(folder / "rows.parquet")
    for _ in range(STARTS):
        done = subprocess.run(
            [sys.executable, str(Path(__file__).with_name(job)), str(folder)],
            capture_output=True,
            text=True,
            timeout=300,
            env={
                **os.environ,
                "PYSPARK_PYTHON": sys.executable,
                "PYTHONWARNINGS": "ignore",
                "SPARK_LOCAL_IP": "127.0.0.1",
            },
        )
        if (folder / "up").exists():
            break
    raised = done.stderr.rfind("Traceback (most recent call last)")
    assert done.returncode == 0, done.stderr[raised : raised + 2000] + done.stderr[-1000:]
    rows = pd.read_parquet(folder / "predicted.parquet")
    parts = [part[[*FEATURES, "weight"]] for _, part in rows.groupby("part")]
    assert len(parts) == 3
    expected = fitted(hs.LatentClass(2, **FEW), LaneSource(LocalCluster(parts), "weight"), {})
    same_bits(hs.load(folder / "model.halfseen"), expected)
    assert not list(folder.rglob("halfseen-lanes-*"))
    return rows, expected


def test_spark_connect_gives_the_same_bits(tmp_path):
    pytest.importorskip("grpc", reason="Spark Connect needs grpcio")
    steps = sequences.DATA[["person", "day", "x"]]
    steps.to_parquet(tmp_path / "steps.parquet")
    rows, expected = run("connect_job.py", tmp_path)
    assert_array_equal(rows["class"], expected.predict(rows[FEATURES]))
    assert_allclose(rows["loglik"], expected.score_samples(rows[FEATURES]), rtol=1e-12)
    saved = pd.read_parquet(tmp_path / "pipeline.parquet")
    assert_array_equal(saved["prediction"], rows["class"])
    chain, states = hs.load(tmp_path / "chain.halfseen"), pd.read_parquet(tmp_path / "states.parquet")
    assert_allclose(chain.loglik_, fitted(hs.HMM(2, **FEW), steps, sequences.MARKS).loglik_, rtol=1e-10)
    assert_array_equal(states["state"], chain.predict(states[["person", "day", "x"]]))


def test_an_executor_that_dies_in_a_pass_changes_no_bit(tmp_path):
    run("executor_job.py", tmp_path)
    assert (tmp_path / "killed").exists()
