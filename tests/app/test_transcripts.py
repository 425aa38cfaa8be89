"""Transcripts at the command line: folders of audio and tables of steps in, TextGrids, captions and tables out."""

import csv
import io
import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import halfseen as hs
from halfseen.errors import CheckpointError
from halfseen.families.transcript.recordings import AudioFolder
from halfseen.families.transcript.written.captions import Caption, write_captions
from tests.app.test_command_line import app, halfseen
from tests.sounds import WORDS, corpus, write_wav

pytestmark = pytest.mark.thorough


def table(text):
    return list(csv.DictReader(io.StringIO(text)))


@pytest.fixture(scope="module")
def speech(tmp_path_factory):
    """A folder of made-up speech, its dictionary, the truth, and a model of it."""
    folder = tmp_path_factory.mktemp("speech")
    truth = corpus(folder / "corpus", 12, speakers=("ann", "ben"))
    (folder / "words.dict").write_text("".join(f"{word}\t{units}\n" for word, units in WORDS.items()))
    model = folder / "m.halfseen"
    how = ("--model", "transcript", "--dictionary", folder / "words.dict", "--states", 2)
    done = halfseen("fit", folder / "corpus", *how, "-o", model)
    assert "12 utterances" in done.stderr
    assert "sil: " in done.stdout
    return folder, truth, model


def test_a_folder_becomes_textgrids(speech, tmp_path):
    folder, truth, model = speech
    done = halfseen("align", model, folder / "corpus", "-o", tmp_path / "out", "--format", "TextGrid,json,csv")
    assert "12 recordings aligned" in done.stderr
    errors = []
    for name, words in truth.items():
        grid = hs.read_textgrid(tmp_path / "out" / f"{name}.TextGrid")
        found = [interval for interval in grid["words"] if interval.text]
        assert [interval.text for interval in found] == [word for word, _, _ in words]
        errors += [abs(i.start - start) for i, (_, start, _) in zip(found, words, strict=True)]
        assert json.loads((tmp_path / "out" / f"{name}.json").read_text())["words"][0]["name"] == words[0][0]
    assert np.median(errors) < 0.02
    own = next((folder / "corpus").rglob("*.wav")).with_suffix(".TextGrid")
    own.write_text("made by hand")
    refused = halfseen("align", model, folder / "corpus", "-o", folder / "corpus", code=2)
    assert f"{own} is next to the recordings and would be lost" in refused.stderr.replace("\n", "")
    assert own.read_text() == "made by hand"
    own.unlink()
    rows = table((tmp_path / "out" / f"{next(iter(truth))}.csv").read_text())
    assert {row["level"] for row in rows} == {"word", "unit"}
    assert all(0 <= float(row["confidence"]) <= 1 for row in rows)


def test_features_beyond_the_memory_are_computed_in_every_pass(speech, tmp_path, monkeypatch):
    folder, _, model = speech
    seen = []
    monkeypatch.setattr(AudioFolder, "_cepstra", counting(AudioFolder._cepstra, seen))
    how = ("--model", "transcript", "--dictionary", folder / "words.dict", "--states", 2)
    halfseen("fit", folder / "corpus", *how, "--memory", "1KB", "-o", tmp_path / "small.halfseen")
    assert len(seen) > 100  # 12 recordings are read again in every pass
    small, large = hs.load(tmp_path / "small.halfseen"), hs.load(model)
    assert small.loglik_ == large.loglik_


def counting(function, seen):
    def counted(*given):
        seen.append(given)
        return function(*given)

    return counted


def test_one_file_and_captions(speech, tmp_path):
    """Captions come out with the times at which their words were said."""
    folder, truth, model = speech
    name, words = max(truth.items(), key=lambda item: len(item[1]))
    wav = tmp_path / "talk.wav"
    wav.write_bytes((folder / "corpus" / f"{name}.wav").read_bytes())
    middle = (words[1][2] + words[2][1]) / 2
    said = [" ".join(word for word, _, _ in part) for part in (words[:2], words[2:])]
    rough = [Caption(0.0, middle, said[0].capitalize() + "!"), Caption(middle, 9.0, said[1])]
    write_captions(tmp_path / "talk.srt", rough)
    halfseen("align", model, wav, "-o", tmp_path / "out", "--format", "vtt,TextGrid")
    found = hs.read_captions(tmp_path / "out" / "talk.vtt")
    assert [caption.text for caption in found] == [caption.text for caption in rough]
    assert abs(found[0].start - words[0][1]) < 0.03
    assert abs(found[1].start - words[2][1]) < 0.05
    grid = hs.read_textgrid(tmp_path / "out" / "talk.TextGrid")
    assert [i.text for i in grid["words"] if i.text] == [word for word, _, _ in words]


def test_standard_output_and_transcripts_in_a_file(speech, tmp_path):
    folder, truth, model = speech
    (tmp_path / "said.tsv").write_text(
        "".join(f"{name}\t{' '.join(word for word, _, _ in words)}\n" for name, words in truth.items())
    )
    done = halfseen("align", model, folder / "corpus", "--transcripts", tmp_path / "said.tsv", "--level", "units")
    rows = table(done.stdout)
    assert {row["name"] for row in rows} == set(truth)
    assert {row["unit"] for row in rows} == {"a", "b", "c", "d", "sil"}
    found = json.loads(halfseen("score", model, folder / "corpus", "--json").stdout)
    assert found["loglik"] == pytest.approx(hs.load(model).loglik_, rel=1e-9)
    assert "units" in halfseen("info", model).stdout
    code = halfseen("info", model, "--code").stdout
    assert "corpus.quiet()" in code
    compile(code, "code", "exec")


def test_a_folder_of_audio_needs_a_folder_and_formats_that_are_known(speech, tmp_path):
    folder, _, model = speech
    done = halfseen("align", model, folder / "corpus", "-o", tmp_path / "out.srt", code=2)
    assert (
        "out.srt is the name of a file. For a folder of recordings, name a folder and add --format srt" in done.stderr
    )
    done = halfseen("align", model, folder / "corpus", "-o", tmp_path / "out", "--format", "doc", code=2)
    assert "--format 'doc' is not one or more of TextGrid, json, csv, srt, vtt" in done.stderr
    assert not list(tmp_path.iterdir())


def test_words_outside_the_dictionary_end_with_a_message(speech, tmp_path):
    folder, _, model = speech
    (tmp_path / "said.csv").write_text("ann/u00,zebra\n")
    done = halfseen("align", model, folder / "corpus", "--transcripts", tmp_path / "said.csv", code=1)
    assert "1 word has no pronunciation: zebra in ann/u00, line 1. Name their --language" in done.stderr


@pytest.fixture(scope="module")
def talk(speech, tmp_path_factory):
    """A recording and its text in a folder, with other files that may be named by mistake."""
    folder, truth, model = speech
    own = tmp_path_factory.mktemp("talk")
    name, words = max(truth.items(), key=lambda item: len(item[1]))
    (own / "talk.wav").write_bytes((folder / "corpus" / f"{name}.wav").read_bytes())
    (own / "talk.txt").write_text(f"ANNA: {' '.join(word for word, _, _ in words).capitalize()}!")
    (own / "m.halfseen").write_bytes(model.read_bytes())
    samples, rate = hs.read_wav(own / "talk.wav")
    write_wav(own / "short.wav", samples[:200], rate)
    write_wav(own / "none.wav", samples[:0], rate)
    texts = {"empty.txt": "", "music.txt": "[music]", "other.txt": "Zebra ab!", "talk.docx": "PK", "zero.wav": ""}
    texts |= {"film.mp4": "x", "bad.mp3": "nonsense", "bad.wav": "nonsense", "short.txt": "ab ca"}
    for file, text in texts.items():
        (own / file).write_text(text)
    (own / "folder").mkdir()
    (own / "folder" / "x.wav").write_bytes((own / "talk.wav").read_bytes())
    return own


def test_one_recording_and_its_text_in_either_order(talk, monkeypatch):
    monkeypatch.chdir(talk)
    text = (talk / "talk.txt").read_text()
    commands = [
        ("m.halfseen", "talk.wav"),
        ("m.halfseen", "talk.wav", "talk.txt"),
        ("m.halfseen", "talk.txt", "talk.wav"),
        ("talk.wav", "talk.txt", "--model", "m.halfseen"),
        ("talk.txt", "talk.wav", "--model", "m.halfseen"),
    ]
    found = set()
    for i, command in enumerate(commands):
        done = halfseen("align", *command, "-o", f"new/{i}.srt")
        assert f"1 recording aligned: new/{i}.srt" in done.stderr
        found.add((talk / "new" / f"{i}.srt").read_text())
    assert len(found) == 1
    assert found.pop().split("\n")[2] == text
    halfseen("align", "m.halfseen", "talk.wav", "-o", "new/words.vtt", "--line-length", 12, "--lines", 1)
    shown = [line for caption in hs.read_captions(talk / "new" / "words.vtt") for line in caption.text.split("\n")]
    assert max(map(len, shown)) <= 12
    assert " ".join(shown) == text


@pytest.mark.parametrize("ending", ["flac", "ogg", "mp3"])
def test_compressed_sound_is_aligned_as_well(talk, tmp_path, ending):
    soundfile = pytest.importorskip("soundfile")
    samples, rate = hs.read_wav(talk / "talk.wav")
    soundfile.write(tmp_path / f"talk.{ending}", samples, rate)
    rows = []
    for sound in (talk / "talk.wav", tmp_path / f"talk.{ending}"):
        done = halfseen("align", talk / "m.halfseen", sound, talk / "talk.txt")
        rows.append([float(row["start"]) for row in table(done.stdout)])
    assert rows[0] == pytest.approx(rows[1], abs=0.1)  # compression changes the made-up chords


def test_an_alignment_has_a_report(talk, machine, tmp_path, monkeypatch):
    monkeypatch.chdir(talk)
    done = halfseen("align", "m.halfseen", "talk.wav", "-o", tmp_path / "talk.srt", "--report", tmp_path / "a.html")
    assert "report: " in done.stderr
    page = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert "<audio" in page
    assert "ANNA:" in page
    monkeypatch.chdir(machine[0])
    how = ("--model", "transcript", "--group", "run", "--time", "t", "--transcripts", "runs.csv", "--ignore", "note")
    halfseen("fit", "steps.csv", *how, "--states", 1, "-o", tmp_path / "m.halfseen")
    halfseen("align", tmp_path / "m.halfseen", "steps.csv", "--report", tmp_path / "b.html")
    assert "Utterances that fit worst" in (tmp_path / "b.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("command", "match"),
    [
        ("m.halfseen", "m.halfseen is taken for a model, and there are no data after it"),
        ("nowhere.wav talk.txt", "nowhere.wav: there is no such file or folder"),
        ("talk.wav nowhere.txt", "nowhere.txt: there is no such file"),
        ("nowhere.halfseen talk.wav", "nowhere.halfseen: cannot be read: No such file"),
        ("talk.txt talk.wav --model talk.txt", "talk.txt: this is not a model file"),
        ("m.halfseen nowhere.wav", "nowhere.wav: there is no such file"),
        ("m.halfseen nowhere.wav talk.txt", "nowhere.wav: there is no such file"),
        ("m.halfseen talk.txt nowhere.wav", "nowhere.wav: there is no such file"),
        ("m.halfseen talk.wav nowhere.txt", "nowhere.txt: there is no such file"),
        ("m.halfseen talk.wav talk.wav", "talk.wav is sound, not a transcript"),
        ("m.halfseen talk.wav talk.docx", "talk.docx: a transcript is one of .lab, .txt, .TextGrid, .srt, .vtt. Save"),
        ("m.halfseen talk.wav empty.txt", "empty.txt: no words: the transcript is empty"),
        ("m.halfseen talk.wav music.txt", "music.txt: the transcript has no words that are spoken"),
        ("m.halfseen talk.wav other.txt", "1 word has no pronunciation: zebra in talk, line 1"),
        (
            "m.halfseen talk.wav other.txt --unknown spn",
            "--unknown 'spn' is none of the units of the model: a, b, c, d",
        ),
        ("m.halfseen talk.wav --g2p talk.txt", "talk.txt: this is not a model file"),
        ("m.halfseen talk.wav --g2p m.halfseen", "TranscriptAligner does not pronounce words"),
        ("m.halfseen talk.wav --dictionary nowhere.dict", "nowhere.dict"),
        ("m.halfseen talk.wav --tier words", "--tier words is for transcripts in TextGrid files"),
        ("m.halfseen short.wav", "short is too short for its 2 words"),
        ("m.halfseen none.wav talk.txt", "none.wav: the file has no samples"),
        ("m.halfseen zero.wav talk.txt", "zero.wav: this is not an uncompressed WAV file"),
        ("m.halfseen bad.wav talk.txt", "bad.wav: this is not an uncompressed WAV file"),
        (
            "m.halfseen film.mp4 talk.txt",
            "film.mp4: .mp4 cannot be read. Take the sound out of it, for example: ffmpeg",
        ),
        ("m.halfseen folder", "1 without a transcript: write that of x to x.txt beside it"),
        ("m.halfseen folder talk.txt", "talk.txt is one file, but folder is a folder"),
        ("m.halfseen talk.wav -o talk.doc", "-o talk.doc: the extension is none of TextGrid, json, csv, srt"),
        ("m.halfseen talk.wav -o talk.srt --format vtt", "-o talk.srt and --format vtt differ"),
        ("m.halfseen talk.wav -o out --format nonsense", "--format 'nonsense' is not one or more of TextGrid"),
        ("m.halfseen talk.wav --format srt", "--format is for files: add -o, for example -o talk.srt"),
        ("m.halfseen talk.wav --report nowhere/a.html", "--report nowhere/a.html: there is no folder nowhere"),
        ("m.halfseen talk.wav --lines 2", "--lines is for files: add -o, for example -o talk.srt"),
        ("m.halfseen talk.wav --line-length 0", "--line-length"),
        ("m.halfseen talk.wav --level phones", "--level 'phones' is not words or units"),
    ],
)
def test_wrong_uses_say_what_to_do(talk, command, match, monkeypatch):
    monkeypatch.chdir(talk)
    before = sorted(talk.iterdir())
    done = CliRunner().invoke(app, ["align", *command.split()], catch_exceptions=False)
    assert done.exit_code in (1, 2)
    assert match in done.stderr
    assert sorted(talk.iterdir()) == before


def test_sound_that_no_library_reads_is_told(talk):
    pytest.importorskip("soundfile")
    done = halfseen("align", talk / "m.halfseen", talk / "bad.mp3", talk / "talk.txt", code=1)
    assert "this is not sound that the library soundfile can read, or it is damaged" in done.stderr


def test_what_is_read_is_not_overwritten(talk, tmp_path, monkeypatch):
    """Captions that are the transcript stay; so do all files beside recordings."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "talk.wav").write_bytes((talk / "talk.wav").read_bytes())
    write_captions(tmp_path / "talk.srt", [Caption(0.0, 9.0, (talk / "talk.txt").read_text())])
    done = halfseen("align", talk / "m.halfseen", "talk.wav", "-o", "talk.srt", code=2)
    assert "talk.srt is read, and would be lost" in done.stderr
    (tmp_path / "talk.TextGrid").write_text("by hand")
    done = halfseen("align", talk / "m.halfseen", "talk.wav", "talk.srt", "-o", ".", code=2)
    assert "talk.TextGrid is next to the recordings" in done.stderr
    assert (tmp_path / "talk.TextGrid").read_text() == "by hand"


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    """Runs of a machine: temperature and valve by the second, and which phases each run went through."""
    folder, rng = tmp_path_factory.mktemp("machine"), np.random.default_rng(0)
    lines, said, truth = ["run,t,temperature,valve,note"], ["run,phases"], {}
    for r in range(10):
        phases = ["heat", "hold", "cool"] if r % 2 else ["hold", "heat", "cool", "hold"]
        at, truth[f"r{r}"] = 0, []
        for phase in phases:
            n = int(rng.integers(4, 9))
            truth[f"r{r}"].append(100 + 5 * at)
            for i in range(at, at + n):
                level = {"heat": 80, "hold": 50, "cool": 10}[phase] + rng.normal()
                valve = "open" if phase == "cool" else "shut"
                lines.append(f"r{r},{100 + 5 * i},{'' if rng.random() < 0.1 else f'{level:.2f}'},{valve},x{i}")
            at += n
        said.append(f"r{r},{' '.join(phases)}")
    (folder / "steps.csv").write_text("\n".join(lines) + "\n")
    (folder / "runs.csv").write_text("\n".join(said) + "\n")
    return folder, truth


def test_a_table_of_steps(machine, tmp_path):
    folder, truth = machine
    how = ("--model", "transcript", "--group", "run", "--time", "t", "--transcripts", folder / "runs.csv")
    model = tmp_path / "m.halfseen"
    halfseen("fit", folder / "steps.csv", *how, "--states", 1, "--ignore", "note", "-o", model)
    rows = table(halfseen("align", model, folder / "steps.csv").stdout)
    for name, starts in truth.items():
        assert [int(float(row["start"])) for row in rows if row["name"] == name] == starts
    found = json.loads(halfseen("score", model, folder / "steps.csv", "--json").stdout)
    assert found["utterances"] == 10
    halfseen("align", model, folder / "steps.csv", "-o", tmp_path / "a.csv")
    assert len(table((tmp_path / "a.csv").read_text())) == len(rows)


@pytest.mark.parametrize(
    ("how", "code", "match"),
    [
        (("--group", "run"), 2, "--transcripts is needed"),
        (("--transcripts", "runs.csv"), 2, "--group is needed"),
        (("--transcripts", "runs.csv", "--group", "nobody"), 1, "--group nobody"),
        (("-k", "3"), 2, "--classes cannot be used"),
        (("--target", "valve"), 2, "--target cannot be used"),
        (("--restarts", "3"), 2, "--restarts cannot be used"),
    ],
)
def test_what_is_lacking_is_told(machine, how, code, match, monkeypatch):
    monkeypatch.chdir(machine[0])
    assert match in halfseen("fit", "steps.csv", "--model", "transcript", *how, code=code).stderr


def test_groups_may_be_numbers(tmp_path):
    """Columns of a table are numbers where they can be; names in the file of transcripts are texts."""
    rows = [f"{r},{3.0 if i < 4 else 9.0 + r}" for r in range(4) for i in range(9)]
    (tmp_path / "steps.csv").write_text("\n".join(["run,x", *rows]) + "\n")
    (tmp_path / "runs.csv").write_text("".join(f"{r},low high\n" for r in range(4)))
    how = ("--model", "transcript", "--group", "run", "--transcripts", tmp_path / "runs.csv", "--states", 1)
    halfseen("fit", tmp_path / "steps.csv", *how, "-o", tmp_path / "m")
    rows = table(halfseen("align", tmp_path / "m", tmp_path / "steps.csv").stdout)
    assert [(row["name"], row["unit"], row["start"]) for row in rows[:3]] == [
        ("0", "low", "0"), ("0", "high", "4"), ("1", "low", "0"),
    ]  # fmt: skip


def test_a_model_that_was_made_in_python_is_used_at_the_command_line(machine, tmp_path):
    folder, truth = machine[:2]
    steps = pd.read_csv(folder / "steps.csv").drop(columns=["valve", "note"])
    said = dict(pd.read_csv(folder / "runs.csv").itertuples(index=False))
    model = hs.TranscriptAligner(1, step=5.0).fit(steps, said, groups="run", time="t")
    hs.save(model, tmp_path / "m.halfseen")
    done = halfseen("align", tmp_path / "m.halfseen", folder / "steps.csv", "--transcripts", folder / "runs.csv")
    rows = [row for row in table(done.stdout) if row["name"] == "r0"]
    assert np.abs(np.array([int(row["start"]) for row in rows]) - truth["r0"]).max() <= 10


def test_reports_on_recordings_and_on_steps(speech, machine, tmp_path, monkeypatch):
    folder, _, model = speech
    halfseen("report", model, folder / "corpus", "-o", tmp_path / "speech.html")
    page = (tmp_path / "speech.html").read_text(encoding="utf-8")
    assert "<h1>Transcript alignment: corpus</h1>" in page
    assert page.count("<figure") >= 3  # examples, and doubtful places if there are some
    monkeypatch.chdir(machine[0])
    how = ("--model", "transcript", "--group", "run", "--time", "t", "--transcripts", "runs.csv", "--ignore", "note")
    halfseen(
        "fit", "steps.csv", *how, "--states", 1, "-o", tmp_path / "m.halfseen", "--report", tmp_path / "first.html"
    )
    halfseen("report", tmp_path / "m.halfseen", "steps.csv", "-o", tmp_path / "second.html")
    assert (tmp_path / "first.html").read_bytes() == (tmp_path / "second.html").read_bytes()
    assert "Utterances that fit worst" in (tmp_path / "first.html").read_text(encoding="utf-8")


def test_data_of_the_other_kind_and_verbs_without_a_meaning_are_told(speech, machine, tmp_path):
    folder, _, model = speech
    steps = machine[0] / "steps.csv"
    assert "no group column" in halfseen("align", model, steps, code=2).stderr
    assert "no such folder" in halfseen("align", model, f"{tmp_path}/nowhere/", code=1).stderr
    assert "--weight cannot be used" in halfseen("score", model, folder / "corpus", "--weight", "w", code=2).stderr
    assert "no group column" in halfseen("report", model, steps, "-o", tmp_path / "r.html", code=2).stderr
    assert "TranscriptAligner has no classes to compare" in halfseen("compare", model, model, code=2).stderr


def test_memory_is_for_recordings(machine, tmp_path):
    steps = machine[0] / "steps.csv"
    done = halfseen("fit", steps, "--model", "transcript", "--memory", "1MB", "-o", tmp_path / "m.halfseen", code=2)
    assert "--memory is for recordings" in done.stderr


def test_options_of_transcripts_are_refused_elsewhere(machine):
    done = halfseen("fit", machine[0] / "steps.csv", "--dictionary", "x", code=2)
    assert "--dictionary is an option of transcripts: add --model transcript" in done.stderr


def test_an_interrupted_fit_goes_on_only_with_the_same_transcripts(machine, tmp_path):
    """The record of a fit knows what was said: the same features with other transcripts are another run."""
    rng = np.random.default_rng(0)
    X = [np.concatenate([rng.normal(size=5), 4 + rng.normal(size=5)]) for _ in range(3)]

    def interrupted():
        with hs.checkpoint(tmp_path / "c"):
            hs.TranscriptAligner(1, max_iter=3, stop="iterations", random_state=0).fit(X, ["a b"] * 3)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    with pytest.raises(CheckpointError, match="another run"), hs.checkpoint(tmp_path / "c"):
        hs.TranscriptAligner(1, max_iter=3, stop="iterations", random_state=0).fit(X, ["b a"] * 3)


def test_a_line_without_a_transcript_is_named_by_its_line(tmp_path):
    """Lines of a file count from 1, its head and blank ones too."""
    from halfseen.families.transcript.cli import read_transcript_file

    path = tmp_path / "said.csv"
    path.write_text("name,text\n\na,yes no\nb\n")
    with pytest.raises(hs.errors.DataError, match=r"line 4: .*'b'.* has no transcript"):
        read_transcript_file(str(path))
    path.write_text("name,text\n\na,yes\na,no\n")
    assert read_transcript_file(str(path)) == {"a": "yes no"}
