"""Acoustic models of CMU Sphinx: what is in their files, and messages about files that are damaged or not supported."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import halfseen as hs
from halfseen.errors import DataError, ParameterError
from halfseen.families.transcript import sphinx_files
from tests.app.test_command_line import halfseen
from tests.sounds import sound, write_wav
from tests.sphinx_model import (
    FEATURES,
    PHONES,
    STATES,
    STREAMS,
    binary_mdef,
    codebooks,
    s3,
    sendump,
    tables,
    text_mdef,
    write_model,
)

WORDS = {"ab": "a b", "cad": "c a d", "dab": "d a b"}
SAID = ["ab", "cad", "dab", "ab"]
FILES = ("mdef", "means", "variances", "sendump", "transition_matrices", "feat.params")


@pytest.fixture(scope="module")
def en(tmp_path_factory):
    return write_model(tmp_path_factory.mktemp("sphinx") / "en")


def spoken(path, seed=1):
    """Write a recording of SAID with its transcript; return the start of each word."""
    rng = np.random.default_rng(seed)
    units, firsts = ["sil"], []
    for word in SAID:
        firsts.append(len(units))
        units += [*WORDS[word].split(), "sil"]
    samples, times = sound(units, rng)
    write_wav(path, samples)
    path.with_suffix(".txt").write_text(" ".join(SAID))
    return [times[first][1] for first in firsts]


# ---- files -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", "<>")
def test_numbers_of_either_byte_order(tmp_path, order):
    mean, _, mix, moves = tables()
    (tmp_path / "means").write_bytes(codebooks(mean, order))
    (tmp_path / "moves").write_bytes(s3(moves.shape, 3 * moves, order, checksum=False))
    (tmp_path / "sendump").write_bytes(sendump(mix, order))
    streams, found = sphinx_files.read_codebooks(tmp_path / "means")
    assert streams == list(STREAMS)
    assert_allclose(found, mean, rtol=1e-6)
    assert_allclose(sphinx_files.read_transitions(tmp_path / "moves"), moves, rtol=1e-6)
    by_byte = sphinx_files.read_weights(tmp_path, 5)
    assert by_byte.shape == (5, *mix.shape[1:])
    assert_allclose(by_byte, mix[:5], rtol=0.06)  # a byte is a step of 10 %
    (tmp_path / "mixture_weights").write_bytes(s3(mix.shape, 7 * mix, order))
    assert_allclose(sphinx_files.read_weights(tmp_path, 5), mix[:5], rtol=1e-6)


@pytest.mark.parametrize("content", [text_mdef(), binary_mdef("<"), binary_mdef(">")], ids=["text", "little", "big"])
def test_phones(tmp_path, content):
    (tmp_path / "mdef").write_bytes(content)
    found = sphinx_files.read_phones(tmp_path / "mdef")
    assert found.names == PHONES
    assert found.senones.tolist() == np.arange(len(PHONES) * STATES).reshape(-1, STATES).tolist()
    assert found.matrices.tolist() == list(range(len(PHONES)))
    assert found.n_senones == len(PHONES) * STATES


# ---- models ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["ptm", "semi", "cont"])
def test_scores_are_those_of_the_files(tmp_path, kind):
    model = hs.read_sphinx(write_model(tmp_path, kind, dump=False))
    mean, var, mix, moves = tables(kind)
    frames = np.random.default_rng(0).normal(mean.mean(axis=(0, 1)), 2.0, (4, 39))
    leaf = model._model.leaves["emit"]
    found = leaf.score(leaf.prepare(model._params["emit"]), {"gaussian": frames}, None)
    book = {"ptm": lambda s: s // STATES, "semi": lambda s: 0, "cont": lambda s: s}[kind]
    expected = np.zeros((4, len(PHONES) * STATES))
    for s in range(expected.shape[1]):
        for f in range(3):
            cut = slice(13 * f, 13 * f + 13)
            z = (frames[:, None, cut] - mean[book(s)][:, cut]) ** 2 / var[book(s)][:, cut]
            logs = -0.5 * (z + np.log(2 * np.pi * var[book(s)][:, cut])).sum(axis=2)
            expected[:, s] += np.log(np.exp(logs) @ mix[s, f])
    assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
    assert model.units_ == PHONES
    assert_allclose(model._params["moves"][0, : 2 * expected.shape[1]].reshape(-1, STATES, 2)[..., 1],
                    [np.diag(own[:, 1:]) for own in moves], rtol=1e-6)  # fmt: skip
    assert model.dwell_["a"] == pytest.approx(0.01 * (1 / np.diag(moves[2][:, 1:])).sum(), rel=1e-6)


@pytest.mark.parametrize("kind", ["ptm", "semi", "cont"])
def test_recordings_are_aligned_at_once(tmp_path, kind):
    truth = spoken(tmp_path / "talk.wav")
    model = hs.read_sphinx(write_model(tmp_path / "en", kind, order=">", binary=kind != "cont"), WORDS)
    corpus = hs.AudioFolder(tmp_path / "talk.wav", features=model.front_end_)
    [found] = model.align(corpus, corpus.transcripts)
    assert [word.name for word in found.words] == SAID
    assert_allclose([word.start for word in found.words], truth, atol=0.03)
    assert found.surprise == 0.0
    with pytest.raises(
        ParameterError, match=r"features='mfcc -deltas 1 -step 0\.01', but this model is of features='sphinx'"
    ):
        model.align(hs.AudioFolder(tmp_path / "talk.wav"), [SAID])


def test_transcripts_of_phones_then_words(en, tmp_path):
    spoken(tmp_path / "talk.wav")
    model = hs.read_sphinx(en)
    corpus = hs.AudioFolder(tmp_path / "talk.wav", features=model.front_end_)
    [by_phone] = model.align(corpus, [" ".join(WORDS[word] for word in SAID)])
    [by_word] = model.with_dictionary(WORDS).align(corpus, [SAID])
    assert by_phone.words[2].start == by_word.words[1].start
    [unknown] = hs.read_sphinx(en, {"ab": "a b"}, unknown="+SPN+").align(corpus, [SAID])
    assert [part.name for part in unknown.units if part.word == 1] == ["+SPN+"]


def test_a_model_file_keeps_it_all(en, tmp_path):
    spoken(tmp_path / "talk.wav")
    features = FEATURES.replace("-nfilt 25", "-nfilt 20").encode()
    model = hs.read_sphinx(write_model(tmp_path / "other", feat_params=features), WORDS)
    assert model.front_end_ == "sphinx -nfilt 20"
    hs.save(model, tmp_path / "en.halfseen")
    again = hs.load(tmp_path / "en.halfseen")
    assert again.front_end_ == model.front_end_
    corpus = hs.AudioFolder(tmp_path / "talk.wav", features=again.front_end_)
    [before], [after] = model.align(corpus, [SAID]), again.align(corpus, [SAID])
    assert (after.words, after.states, after.loglik) == (before.words, before.states, before.loglik)


def test_the_command_line_reads_recordings_with_the_front_end_of_the_model(en, tmp_path):
    truth = spoken(tmp_path / "talk.wav")
    hs.save(hs.read_sphinx(en, WORDS), tmp_path / "en.halfseen")
    halfseen("align", tmp_path / "en.halfseen", tmp_path / "talk.wav", tmp_path / "talk.txt", "-o", tmp_path / "t.csv",
             "--format", "csv")  # fmt: skip
    rows = [line.split(",") for line in (tmp_path / "t.csv").read_text().splitlines()]
    at = rows[0].index("start")
    starts = [float(row[at]) for row in rows[1:] if "word" in row]
    assert_allclose(starts, truth, atol=0.03)


# ---- messages --------------------------------------------------------------------------------------------------------


def test_it_says_how_long_phones_last_but_not_how_frequent_they_are(en):
    assert "of frames" not in hs.read_sphinx(en).describe()


def test_what_is_no_model(tmp_path, en):
    with pytest.raises(DataError, match=r"nowhere: there is no such folder\. An acoustic model of Sphinx is a folder"):
        hs.read_sphinx(tmp_path / "nowhere")
    with pytest.raises(DataError, match=r"it has no mdef, means, .*, sendump\. Did you mean .*en\?"):
        hs.read_sphinx(en.parent)
    with pytest.raises(DataError, match="it has no variances"):
        hs.read_sphinx(write_model(tmp_path / "a", variances=None))
    with pytest.raises(DataError, match="feature_transform"):
        hs.read_sphinx(write_model(tmp_path / "b", feature_transform=b""))
    with pytest.raises(DataError, match=r"there is no phone SIL, the pause\. Phones: "):
        hs.read_sphinx(write_model(tmp_path / "c", mdef=binary_mdef(phones=("+SPN+", "sil", "a", "b", "c", "d"))))


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("-feat s2_4x", "-feat s2_4x is not supported: expected 1s_c_d_dd"),
        ("-lda feature_transform", "-lda feature_transform is not supported"),
        ("-transform legacy", "-transform legacy is not supported: expected dct"),
        ("-samprate 8000", "-samprate 8000 is not supported: expected 16000"),
        ("-alpha high", "-alpha 'high' is not a number"),
        ("-varnorm yes", "-varnorm yes is not supported: expected no"),
        ("-nfilt many", "-nfilt 'many' is not a number"),
        ("-upperf nan", "expected rising frequencies"),
        ("-colour red", "the option -colour is not known"),
        ("-nfilt", "expected a name such as -nfilt and a value"),
    ],
)
def test_features_that_are_not_supported(tmp_path, line, what):
    with pytest.raises(DataError, match=what) as raised:
        hs.read_sphinx(write_model(tmp_path, feat_params=(FEATURES + line + "\n").encode()))
    assert "feat.params" in str(raised.value)


def test_what_feat_params_does_not_say_is_as_sphinx_has_it(tmp_path):
    short = "-transform dct\n-lowerf 200\n"
    model = hs.read_sphinx(write_model(tmp_path / "a", feat_params=short.encode()))
    assert model.front_end_ == "sphinx -nfilt 40 -lowerf 200 -upperf 6855.4976 -lifter 0"
    with pytest.raises(DataError, match="-transform legacy is not supported"):
        hs.read_sphinx(write_model(tmp_path / "b", feat_params=b"-lowerf 200\n"))


def test_a_variance_of_zero_is_raised_to_the_floor_of_sphinx(tmp_path):
    mean, var, _, _ = tables()
    var = var.copy()
    var[2, 0, 5] = 0.0
    model = hs.read_sphinx(write_model(tmp_path, variances=codebooks(var)))
    leaf = model._model.leaves["emit"]
    frames = mean[2, :1].copy()
    assert np.isfinite(leaf.score(leaf.prepare(model._params["emit"]), {"gaussian": frames}, None)).all()


def test_features_of_the_same_kind_in_other_words(tmp_path):
    more = "-samprate 16000.0\n-wlen 0.0256\n-cmn current\n-remove_dc no\n-seed 7\n"
    assert hs.read_sphinx(write_model(tmp_path, feat_params=(FEATURES + more).encode())).front_end_ == "sphinx"


def test_files_that_do_not_belong_together(tmp_path):
    mean, var, mix, moves = tables()
    skips = moves.copy()
    skips[2, 0] = [0.5, 0.3, 0.2, 0.0]
    flaws = {
        "a phone can skip a state": {"transition_matrices": s3(skips.shape, skips)},
        "5 matrices of 3 states": {"transition_matrices": s3(moves[:5].shape, moves[:5])},
        r"variances: numbers \(5, 2, 39\)": {"variances": codebooks(var[:5])},
        "a variance is below 0": {"variances": codebooks(-var)},
        "26 columns, expected 39": {
            "means": codebooks(mean[..., :26], streams=(13, 13)),
            "variances": codebooks(var[..., :26], streams=(13, 13)),
        },
        "5 codebooks, expected 1, 6": {"means": codebooks(mean[:5]), "variances": codebooks(var[:5])},
        "weights of 3 streams and 1 components": {"sendump": sendump(mix[..., :1])},
        "0 to 40|senones, expected 18": {"sendump": sendump(mix[:4])},
    }
    for i, (what, files) in enumerate(flaws.items()):
        with pytest.raises(DataError, match=what):
            hs.read_sphinx(write_model(tmp_path / str(i), **files))


def is_refused(folder):
    """Whether a model is refused, in words that name the folder."""
    message = ""
    try:
        hs.read_sphinx(folder)
    except DataError as error:
        message = str(error)
    assert not message or str(folder) in message
    return bool(message)


@pytest.mark.parametrize("name", FILES)
def test_truncated_and_damaged_files_are_named(tmp_path, en, name):
    whole = (en / name).read_bytes()
    rng, refused = np.random.default_rng(0), 0
    for trial in range(24):
        damaged = bytearray(whole)
        if trial % 3:
            first = 200 if trial % 3 == 1 else len(whole)  # headers, and anywhere
            for at in rng.integers(0, min(first, len(whole)), 3):
                damaged[at] = rng.integers(256)
        else:
            del damaged[int(rng.integers(len(whole))) :]
        folder = write_model(tmp_path, **{name.replace(".", "_"): bytes(damaged)})
        refused += is_refused(folder)
    assert refused >= (8 if name in ("sendump", "feat.params") else 16)  # bytes of weights may have any value


def test_a_number_that_is_none(tmp_path):
    whole = s3((2, 1, 2), [0.5, 0.5, 0.1, 0.9], checksum=False)
    (tmp_path / "moves").write_bytes(whole[:-4] + b"\x01\x00\xa0\x7f")  # a signalling NaN
    with pytest.raises(DataError, match=r"moves, byte \d+: number 3 is not finite"):
        sphinx_files.read_transitions(tmp_path / "moves")


@pytest.mark.parametrize("content", [b"", b"\xef", b"\xef\xbb", b"\xef\xbb\xbf", b"\xff\xfe"])
@pytest.mark.parametrize("name", ["mdef", "feat_params"])
def test_files_of_a_few_bytes(tmp_path, name, content):
    with pytest.raises(DataError):
        hs.read_sphinx(write_model(tmp_path, **{name: content}))


@pytest.mark.parametrize("name", ["means", "mdef", "sendump", "transition_matrices"])
def test_huge_sizes_take_no_memory(tmp_path, en, name):
    whole, refused = (en / name).read_bytes(), 0
    for at in range(0, min(len(whole), 120), 4):
        damaged = whole[:at] + b"\xff\xff\xff\x0f" + whole[at + 4 :]
        refused += is_refused(write_model(tmp_path, **{name: damaged}))
    assert refused > 2
