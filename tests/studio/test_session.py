"""A session: fits as on the command line, versions that never change, labels, names, undo, a file to keep it in."""

import io
import json
import zipfile

import numpy as np
import pandas as pd
import pytest

import halfseen as hs
from halfseen.errors import DataError, HalfseenError, ModelFileError, ParameterError
from halfseen.studio import archive
from tests.app.in_process import run
from tests.studio.served import studio

PENGUINS = ("example:penguins", "--model", "gaussian", "-k", "3", "--ignore", "species,island,sex,year")


@pytest.fixture
def fitted():
    with studio(*PENGUINS) as found:
        found.run()
        yield found


def test_columns_are_those_of_the_file():
    with studio("example:penguins") as page:
        frame = hs.load_penguins()
        shown = {column["name"]: column for column in page.get("columns")["columns"]}
        assert page.get("state")["n_rows"] == len(frame) == 344
        assert {name: column["missing"] for name, column in shown.items()} == frame.isna().sum().to_dict()
        assert {name: column["distinct"] for name, column in shown.items()} == frame.nunique().to_dict()
        kinds = hs.LatentClass(1).fit(frame).columns_
        assert {name: column["kind"] for name, column in shown.items()} == kinds
        for name, column in shown.items():
            assert sum(bar["count"] for bar in column["sketch"]["bars"]) == frame[name].notna().sum()


def test_a_fit_is_that_of_the_command_line(fitted, tmp_path):
    [version] = fitted.get("state")["versions"]
    found = json.loads(run("fit", *PENGUINS, "--json").stdout)
    assert version["loglik"] == found["loglik"]
    assert version["bic"] == found["bic"]
    assert version["n"] == found["n"]
    assert version["estimate"] == found["estimate"]
    assert fitted.get("code")["command"] == (
        "halfseen fit example:penguins --model gaussian --classes 3 --ignore species,island,sex,year -o model.halfseen"
    )


def test_options_are_refused_before_anything_starts():
    with studio("example:penguins") as page:
        page.post("spec", changes={"model": "kmeans", "classes": "2..4"})
        assert page.refused("fit")[0] == 422
        page.post("spec", changes={"classes": "3", "options": {"restarts": "many"}})
        assert page.refused("fit")[0] == 422
        page.post("spec", changes={"model": "classes", "options": {"covariance": "full"}})
        status, words = page.refused("fit")
        assert (status, "--covariance" in words) == (422, True)
        assert page.get("state")["job"] is None


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"model": "/etc/passwd.bif"}, "is not one of"),
        ({"columns": {"colour": "poisson"}}, "no column 'colour'"),
        ({"ignore": ["colour"]}, "no column 'colour'"),
        ({"options": {"seed": "-1"}}, "seed"),
        ({"data": ["/etc/passwd"]}, "cannot be changed"),
        ([], "an object is needed"),
    ],
)
def test_what_cannot_be_chosen_changes_nothing(changes, says):
    with studio("example:penguins") as page:
        before = page.get("state")
        status, words = page.refused("spec", changes=changes)
        assert status == 422
        assert says in words
        assert page.get("state") == before


def test_one_fit_at_a_time(fitted):
    started = []
    fitted.session.jobs.start("fit", lambda job: started.append(job) or (job.stop.wait(30) and {}) or {})
    assert fitted.refused("fit")[0] == 409
    assert fitted.refused("test", draws=9)[0] == 409
    fitted.post("stop")
    assert fitted.session.jobs.wait(10)
    assert len(started) == 1


def test_names_make_a_version_and_undo_takes_it_back(fitted):
    first = fitted.get("state")
    named = fitted.post("names", names=["Adelie", "Gentoo", "Chinstrap"])
    assert named["components"] == ["Adelie", "Gentoo", "Chinstrap"]
    assert [version["how"] for version in named["versions"]] == ["fit", "rename"]
    assert named["versions"][0] == first["versions"][0]
    assert "Gentoo" in fitted.file("report").decode()
    back = fitted.post("undo")
    assert (back["version"], back["components"], back["redo"]) == (1, first["components"], "rename")
    assert fitted.post("redo")["components"] == ["Adelie", "Gentoo", "Chinstrap"]
    assert fitted.refused("names", names=["a", "b"])[0] == 422
    assert fitted.refused("names", names=["a", "a", "b"])[0] == 422


def test_undo_ends_where_the_session_began(fitted):
    while fitted.get("state")["undo"] is not None:
        fitted.post("undo")
    assert fitted.get("state")["version"] is None
    assert fitted.refused("undo") == (422, "There is nothing to undo.")
    assert fitted.refused("classes", "GET")[0] == 404


def test_labels_are_checked(fitted):
    assert fitted.post("labels", row=3, label="class 1")["labels"] == {"3": "class 1"}
    assert fitted.refused("labels", row=344, label="class 1") == (422, "there is no row 344.")
    assert fitted.refused("labels", row=-1, label="class 1")[0] == 422
    assert fitted.refused("labels", row=True, label="class 1")[0] == 422
    assert "is not one of class 0" in fitted.refused("labels", row=3, label="class 7")[1]
    assert fitted.post("labels", row=3, label=None)["labels"] == {}


def test_a_model_file_is_opened_with_its_data(tmp_path):
    path = tmp_path / "m.halfseen"
    model = hs.LatentClass(2, random_state=0).fit(hs.open_table("example:votes", ignore=["party"]))
    hs.save(model, path)
    with studio(path, "example:votes") as page:
        state = page.get("state")
        assert state["versions"][0]["loglik"] == model.loglik_
        assert page.get("classes")["cards"][0]["name"] == "class 0"
        expected = model.predict(hs.open_table("example:votes", ignore=["party"]))
        seen = [row["class"] for row in page.get("rows", count=200)["rows"]]
        assert seen == [f"class {k}" for k in expected[:200]]


# ---- the file of a session -----------------------------------------------------------------------------------------


def test_a_session_is_reopened_as_it_was(tmp_path):
    path = tmp_path / "work.session"
    with studio(*PENGUINS, "--session", path) as page:
        page.run()
        page.post("names", names=["a", "b", "c"])
        page.post("labels", row=5, label="b")
        page.post("spec", changes={"classes": "4"})
        page.post("undo")
        before = page.get("state")
        rows = page.get("rows", count=10)
    with studio(*PENGUINS, "--session", path) as page:
        after = page.get("state")
        changing = ("revision", "event")
        assert {k: v for k, v in after.items() if k not in changing} == {
            k: v for k, v in before.items() if k not in changing
        }
        assert page.get("rows", count=10) == rows
        assert page.post("redo")["spec"]["classes"] == "4"


def test_other_data_are_not_those_of_the_session(tmp_path):
    path, table = tmp_path / "work.session", tmp_path / "t.csv"
    pd.DataFrame({"a": np.arange(30) % 3, "b": np.arange(30) / 7}).to_csv(table, index=False)
    with studio(table, "--session", path):
        pass
    with pytest.raises(DataError, match=r"this session is about .*t\.csv"), studio("example:votes", "--session", path):
        pass
    pd.DataFrame({"a": np.arange(31) % 3, "b": np.arange(31) / 7}).to_csv(table, index=False)
    with pytest.raises(DataError, match="30 rows then, 31 now"), studio(table, "--session", path):
        pass


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """The content of the file of a session with a model, and a session that may read such files."""
    path = tmp_path_factory.mktemp("kept") / "work.session"
    with studio(*PENGUINS, "--session", path) as page:
        page.run()
        yield path.read_bytes(), page.session


def test_damaged_files_of_sessions_are_refused_in_words(kept, tmp_path):
    good, session = kept
    path, refused = tmp_path / "work.session", 0
    rng = np.random.default_rng(0)
    for _ in range(100):
        damaged = bytearray(good)
        for place in rng.integers(0, len(good), 3):
            damaged[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(
            bytes(damaged[: int(rng.integers(1, len(good) + 1))]) if rng.random() < 0.5 else bytes(damaged)
        )
        try:
            archive.reopen(session, str(path))  # some damage is harmless
        except ModelFileError as error:
            refused += 1
            assert "session" in str(error)  # noqa: PT017
    assert refused > 50


@pytest.mark.parametrize(
    "change",
    [
        lambda record: record.pop("moments"),
        lambda record: record.update(position=99),
        lambda record: record.update(version=2),
        lambda record: record["moments"][0]["spec"].update(options={"sql": "FROM '/etc/passwd'"}),
        lambda record: record["moments"][0].update(version=7),
        lambda record: record["versions"][0].update(number="../../x"),
        lambda record: record["moments"][0].update(labels=[1]),
    ],
)
def test_edited_sessions_are_refused_in_words(kept, tmp_path, change):
    good, session = kept
    path = tmp_path / "work.session"
    with zipfile.ZipFile(io.BytesIO(good)) as file:
        parts = {name: file.read(name) for name in file.namelist()}
    record = json.loads(parts["session.json"])
    change(record)
    with zipfile.ZipFile(path, "w") as file:
        for name, content in (parts | {"session.json": json.dumps(record).encode()}).items():
            file.writestr(name, content)
    with pytest.raises((ModelFileError, ParameterError)):
        archive.reopen(session, str(path))


def test_the_session_can_be_taken_home(fitted, tmp_path):
    path = tmp_path / "taken.session"
    path.write_bytes(fitted.file("session"))
    with studio(*PENGUINS, "--session", path) as page:
        assert page.get("state")["versions"] == fitted.get("state")["versions"]
    assert archive.VERSION == 1


# ---- files that are sent ---------------------------------------------------------------------------------------------


def test_files_are_sent_only_where_that_is_allowed(tmp_path):
    with studio("example:penguins") as page:
        answer = page.client.post("/api/upload", params={"name": "t.csv"}, content=b"a,b\n1,2\n")
        assert answer.status_code == 422
        assert "--upload" in answer.json()["error"]


def test_a_file_that_was_sent_takes_the_place_of_the_data():
    with studio("--upload") as page:
        assert page.get("state")["table"] is False

        def send(name, content):
            return page.client.post("/api/upload", params={"name": name}, content=content)

        state = send("../../etc/my data.csv", b"a,b\n1,x\n2,y\n").json()
        assert (state["title"], state["n_rows"]) == ("my data.csv", 2)
        assert page.get("rows")["rows"][1]["cells"] == [2.0, "y"]
        for name, content, says in (
            ("x.exe", b"a", "known endings"),
            ("e.csv", b"", "is empty"),
            ("bad.csv", b'a,b\n"1,2\n', ""),
        ):
            answer = send(name, content)
            assert answer.status_code in (413, 422)
            assert says in answer.json()["error"]
        assert page.get("state")["title"] == "my data.csv"


# ---- the command line ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), "name a file"),
        (("-",), "write standard input to a file"),
        (("no such.csv",), "there is no file"),
        (("example:penguins", "--lesson", "latin"), "is not one of em"),
        (("example:penguins", "--session", "/no such folder/x"), "there is no directory"),
        (("example:penguins", "--columns", "sex"), "not of the form column=kind"),
    ],
)
def test_commands_that_cannot_be(words, says):
    with pytest.raises(HalfseenError, match=says), studio(*words):
        pass


def test_other_machines_are_not_served_by_accident():
    done = run("studio", "example:penguins", "--host", "0.0.0.0", "--no-browser", code=2)
    assert "--i-know" in done.stderr


def test_what_is_asked_while_it_ends_is_no_accident(caplog):
    with studio("example:votes") as page:
        page.session.close()
        assert page.refused("columns", "GET") == (503, "The studio has ended.")
    assert caplog.records == []
