"""Sound and its transcripts: WAV files, cepstra, TextGrids, captions, dictionaries, folders."""

import os
import pickle
import struct

import numpy as np
import pytest

import halfseen as hs
from halfseen.errors import DataError
from halfseen.families.transcript.recordings import words_of
from halfseen.families.transcript.sound.features import spectrogram
from halfseen.families.transcript.sound.level import is_speech
from halfseen.families.transcript.written.captions import Caption, write_captions
from halfseen.families.transcript.written.textgrid import Interval, write_textgrid
from tests.shared_data import shared_data
from tests.sounds import CHORDS, WORDS, corpus, sound, write_wav

# ---- sound ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [1, 2, 3, 4])
def test_samples_of_any_width_are_read(tmp_path, width):
    samples = np.sin(np.arange(500) / 7) * 0.9
    write_wav(tmp_path / "a.wav", samples, 8000, width)
    found, rate = hs.read_wav(tmp_path / "a.wav")
    assert rate == 8000
    np.testing.assert_allclose(found, samples, atol=2.0 ** (2 - 8 * width))


def riff(form, raw, size=None, before=b""):
    """Return a WAV file from the chunk that tells its form, and its samples."""
    body = b"WAVE" + before + b"fmt " + struct.pack("<I", len(form)) + form
    body += b"data" + struct.pack("<I", len(raw) if size is None else size) + raw
    return b"RIFF" + struct.pack("<I", len(body)) + body


SAMPLES = np.sin(np.arange(500) / 7) * 0.9
SHORTS = np.round(SAMPLES * 32767).astype("<i2").tobytes()


@pytest.mark.parametrize(
    "file",
    [
        riff(struct.pack("<HHIIHH", 3, 1, 8000, 32000, 4, 32), SAMPLES.astype("<f4").tobytes()),
        riff(struct.pack("<HHIIHH", 3, 1, 8000, 64000, 8, 64), SAMPLES.astype("<f8").tobytes()),
        riff(struct.pack("<HHIIHHHHIH14x", 0xFFFE, 1, 8000, 16000, 2, 16, 22, 16, 4, 1), SHORTS),
        riff(struct.pack("<HHIIHH", 1, 1, 8000, 16000, 2, 16), SHORTS, size=0xFFFFFFFF),
        riff(struct.pack("<HHIIHH", 1, 1, 8000, 16000, 2, 16), SHORTS + b"x"),
        riff(struct.pack("<HHIIHH", 1, 1, 8000, 16000, 2, 16), SHORTS, before=b"LIST\3\0\0\0abc\0"),
    ],
    ids=["float", "double", "extensible", "of unknown size", "half a sample too many", "with notes"],
)
def test_floats_and_files_of_other_programs_are_read(tmp_path, file):
    (tmp_path / "a.wav").write_bytes(file)
    found, rate = hs.read_wav(tmp_path / "a.wav")
    assert rate == 8000
    np.testing.assert_allclose(found, SAMPLES, atol=1e-4)


@pytest.mark.parametrize(
    ("file", "match"),
    [
        (b"", "does not begin with RIFF"),
        (riff(b"12", SHORTS), "ends before"),
        (riff(struct.pack("<HHIIHH", 1, 1, 8000, 16000, 2, 16), SHORTS)[:30], "ends before"),
        (riff(struct.pack("<HHIIHH", 2, 1, 8000, 16000, 2, 4), SHORTS), "format 2 with 4 bits.*ffmpeg"),
        (riff(struct.pack("<HHIIHH", 1, 0, 8000, 16000, 2, 16), SHORTS), "0 channels"),
        (b"RIFF\0\0\0\0WAVEdata\4\0\0\0abcd", "before the header that describes them"),
        (riff(struct.pack("<HHIIHH", 3, 1, 8000, 32000, 4, 32), np.float32([0, np.nan]).tobytes()), "sample 1 is not"),
    ],
    ids=["empty", "short form", "cut", "compressed", "no channels", "no form", "nan"],
)
def test_files_that_are_cut_or_cannot_be_are_told(tmp_path, file, match):
    (tmp_path / "a.wav").write_bytes(file)
    with pytest.raises(DataError, match=match):
        hs.read_wav(tmp_path / "a.wav")


@pytest.mark.parametrize(
    ("how", "match"),
    [
        ({"deltas": 3}, "deltas=3"),
        ({"n_cepstra": 27}, "n_cepstra=27"),
        ({"rate": 0}, "rate=0"),
        ({"step": 0}, "step=0"),
        ({"samples": np.array([0.0, np.nan])}, "finite"),
        ({"samples": np.zeros((3, 2))}, "shape"),
    ],
)
def test_features_that_cannot_be_made_are_told(how, match):
    with pytest.raises(ValueError, match=match):
        hs.mfcc(**{"samples": SAMPLES, "rate": 8000, **how})


def test_channels_are_averaged(tmp_path):
    both = np.stack([np.full(100, 0.5), np.full(100, -0.25)], axis=1)
    write_wav(tmp_path / "a.wav", both.ravel(), 8000, 2, 2)
    np.testing.assert_allclose(hs.read_wav(tmp_path / "a.wav")[0], 0.125, atol=1e-4)


def test_what_is_no_wav_file_is_told(tmp_path):
    (tmp_path / "a.wav").write_bytes(b"ID3 an MP3 in disguise")
    with pytest.raises(DataError, match=r"a\.wav: this is not an uncompressed WAV file .*ffmpeg"):
        hs.read_wav(tmp_path / "a.wav")
    with pytest.raises(DataError, match="no such file"):
        hs.read_wav(tmp_path / "b.wav")
    write_wav(tmp_path / "c.wav", np.zeros(0))
    with pytest.raises(DataError, match="no samples"):
        hs.read_wav(tmp_path / "c.wav")


@pytest.mark.parametrize("rate", [8000, 11025, 16000, 22050, 44100, 48000])
def test_frames_are_ten_milliseconds_apart_at_any_rate(rate):
    rng = np.random.default_rng(0)
    found = hs.mfcc(rng.normal(size=int(1.234 * rate)), rate)
    assert found.shape == (123, 26)
    assert hs.mfcc(rng.normal(size=int(1.234 * rate)), rate, deltas=0, step=0.005).shape == (246, 13)
    assert np.isfinite(hs.mfcc(np.zeros(rate), rate)).all()
    assert np.isfinite(hs.mfcc(np.full(rate, 0.5), rate)).all()
    assert hs.mfcc(np.zeros(1), rate).shape == (1, 26)


def test_silence_around_speech_changes_nothing():
    """The mean is that of the speech, and the floor of a band is a share of its loud frames."""
    samples, _ = sound(["a", "c", "sil", "d", "b"], np.random.default_rng(0))
    silent = np.zeros(3 * 16000)
    alone = hs.mfcc(samples, 16000)
    inside = hs.mfcc(np.concatenate([silent, samples, silent]), 16000)[300 : 300 + len(alone)]
    assert (
        np.abs(inside - alone)[5:-5].max() < 0.1 * alone.std()
    )  # the level also has the frames where the sound begins
    assert np.abs(hs.mfcc(0.01 * samples, 16000) - alone).max() < 1e-6  # and loudness changes nothing


def test_speech_is_what_is_louder_than_pauses():
    rng = np.random.default_rng(0)
    loud, pause = rng.normal(-2, 1, size=200), rng.normal(-14, 0.3, size=2000)
    found = is_speech(np.concatenate([loud, pause]))
    assert found[:200].mean() > 0.99
    assert found[200:].mean() < 0.01
    assert is_speech(np.full(10, -3.0)).all()  # constant sound


@pytest.mark.parametrize(("normalise", "least"), [("none", 6.0), ("speech", 6.0), ("window", 0.0)])
def test_a_window_follows_a_channel_that_changes(normalise, least):
    """Speech of two channels: what differs between them is left by "none" and "speech", and removed by "window"."""
    rng, units = np.random.default_rng(0), ["a", "b", "c", "d"] * 12
    samples, _ = sound(units, rng)
    half = len(samples) // 2
    muffled = np.concatenate([samples[:half], np.convolve(samples[half:], [0.5, 0.5, 0.3], "same")])
    found = hs.mfcc(muffled, 16000, normalise=normalise)
    n = len(found) // 2
    apart = np.abs(found[: n - 150, 1].mean() - found[n + 150 :, 1].mean())
    assert apart >= least
    assert normalise != "window" or apart < 4.0


def test_a_change_of_sound_is_seen_at_its_frame():
    """The features of a frame are those of the sound around its middle."""
    samples, [_, (_, start, _)] = sound(["a", "c"], np.random.default_rng(0), low=0.3, high=0.4)
    found = hs.mfcc(samples, 16000, step=0.01)
    jump = np.abs(np.diff(found, axis=0)).sum(axis=1).argmax() + 1
    assert abs(jump * 0.01 - start) < 0.011


def test_slopes_are_those_of_a_line():
    found = hs.mfcc(np.random.default_rng(0).normal(size=16000), 16000, deltas=1)
    assert found.shape == (100, 26)
    t = 50
    by_hand = sum(i * (found[t + i, :13] - found[t - i, :13]) for i in (1, 2)) / 10
    np.testing.assert_allclose(found[t, 13:26], by_hand)


def test_the_loudest_frequency_of_a_tone_is_its_own():
    _, frequencies, logs = spectrogram(np.sin(2 * np.pi * 1000 * np.arange(16000) / 16000), 16000)
    assert abs(frequencies[logs.mean(axis=1).argmax()] - 1000) < 41
    assert logs.shape[1] == 100


# ---- texts ----------------------------------------------------------------------------------------------------------

LONG = '''File type = "ooTextFile"
Object class = "TextGrid"

xmin = 0
xmax = 2.5
tiers? <exists>
size = 2
item []:
    item [1]:
        class = "IntervalTier"
        name = "words"
        xmin = 0
        xmax = 2.5
        intervals: size = 2
        intervals [1]:
            xmin = 0
            xmax = 1.5e0
            text = "two 2 ""quoted"""
        intervals [2]:
            xmin = 1.5
            xmax = 2.5
            text = ""
    item [2]:
        class = "TextTier"
        name = "points"
        xmin = 0
        xmax = 2.5
        points: size = 1
        points [1]:
            number = 0.75
            mark = "here"
'''


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_long_textgrids_are_read(tmp_path, encoding):
    (tmp_path / "a.TextGrid").write_text(LONG, encoding=encoding)
    found = hs.read_textgrid(tmp_path / "a.TextGrid")
    assert found["words"] == [Interval(0, 1.5, 'two 2 "quoted"'), Interval(1.5, 2.5, "")]
    assert found["points"] == [Interval(0.75, 0.75, "here")]


def test_textgrids_that_break_off_or_are_none_are_told(tmp_path):
    (tmp_path / "a.TextGrid").write_text(LONG[:400])
    with pytest.raises(DataError, match="ends too early"):
        hs.read_textgrid(tmp_path / "a.TextGrid")
    (tmp_path / "a.TextGrid").write_text("something else")
    with pytest.raises(DataError, match=r"a\.TextGrid"):
        hs.read_textgrid(tmp_path / "a.TextGrid")


def test_intervals_that_overlap_are_cut_as_a_tier_cannot_hold_them(tmp_path):
    write_textgrid(tmp_path / "a.TextGrid", {"words": [(0.0, 0.5, "a"), (0.4, 0.8, "b"), (0.5, 0.7, "c")]}, 1.0)
    found = hs.read_textgrid(tmp_path / "a.TextGrid")["words"]
    assert found == [Interval(0, 0.5, "a"), Interval(0.5, 0.8, "b"), Interval(0.8, 1, "")]


def test_real_textgrids_are_read():
    """Short and long, with signs beyond ASCII and tiers of points."""
    mary = hs.read_textgrid(shared_data("speech_praatio/mary.TextGrid"))
    assert [interval.text for interval in mary["word"]] == ["", "mary", "rolled", "the", "barrel", ""]
    assert len(mary["phone"]) == 16
    bobby = hs.read_textgrid(shared_data("speech_praatio/bobby_words.TextGrid"))
    assert [interval.text for interval in bobby["word"] if interval.text] == ["BOBBY", "RIPPED", "THE", "LEDGER"]
    talk = hs.read_textgrid(shared_data("speech_mfa/acoustic_corpus.TextGrid"))
    assert len(talk["words"]) == 71
    for tiers in (mary, bobby, talk):
        for intervals in tiers.values():
            assert all(interval.start <= interval.end for interval in intervals)


def test_captions_are_read_from_both_forms(tmp_path):
    said = [Caption(1.5, 2.25, "Hello <there> & you"), Caption(3661.001, 3662.0, "later")]
    for name in ("a.srt", "a.vtt"):
        write_captions(tmp_path / name, [Caption(1.5, 2.25, "Hello & you"), said[1]])
        assert hs.read_captions(tmp_path / name) == [Caption(1.5, 2.25, "Hello & you"), said[1]]
    assert "01:01:01,001 -->" in (tmp_path / "a.srt").read_text()
    (tmp_path / "b.vtt").write_text(
        "WEBVTT - a title\n\nNOTE not\nshown\n\nid-1\n00:01.500 --> 00:02.250 align:start\n<v Ann>Hello\n<i>there</i>\n"
    )
    assert hs.read_captions(tmp_path / "b.vtt") == [Caption(1.5, 2.25, "Hello\nthere")]


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("1\n00:00:05 --> x\nhello", "not of the form"),
        ("nothing", "no caption"),
        ("00:02.000 --> 00:01.000\na", "ends before"),
    ],
)
def test_captions_that_cannot_be_are_told(tmp_path, text, match):
    (tmp_path / "a.srt").write_text(text)
    with pytest.raises(DataError, match=match):
        hs.read_captions(tmp_path / "a.srt")


def test_dictionaries_are_read(tmp_path):
    path = tmp_path / "a.dict"
    path.write_text(";;; a comment\nthe\tdh ah\nTHE(2)  DH IY\nthe\t0.9\tdh iy\na 0.5 ah\nnine n 9 n\n\n")
    assert hs.read_dictionary(path) == {
        "the": [["dh", "ah"], ["dh", "iy"]],
        "THE": [["DH", "IY"]],
        "a": [["ah"]],
        "nine": [["n", "9", "n"]],
    }
    path.write_text("the\tdh ah\n\tdh\n")
    with pytest.raises(DataError, match=r"line 2: .* has units without a word"):
        hs.read_dictionary(path)
    path.write_text("the\tdh ah\nlonely\n")
    with pytest.raises(DataError, match="line 2: 'lonely' has a word without units"):
        hs.read_dictionary(path)


def test_words_are_written_as_the_dictionary_does():
    assert words_of("“Don’t!” SHE said -- 'twas", {"don't", "she", "Said"}) == ("don't", "she", "said", "'twas")
    assert words_of("Mary, (Ann); O'Brien's") == ("mary", "ann", "o'brien's")


# ---- folders --------------------------------------------------------------------------------------------------------


def test_a_folder_is_a_sequence_of_features(tmp_path):
    truth = corpus(tmp_path, 4, speakers=("ann", "ben"))
    (tmp_path / "ann" / "lost.wav").write_bytes((tmp_path / "ann" / "u00.wav").read_bytes())
    found = hs.AudioFolder(tmp_path)
    assert found.names == ["ann/u00", "ann/u02", "ben/u01", "ben/u03"]
    assert [list(words) for words in found.transcripts] == [[w for w, _, _ in truth[name]] for name in found.names]
    assert found.without_text == ["ann/lost"]
    assert [one.speaker for one in found.recordings] == ["ann", "ann", "ben", "ben"]
    both = np.concatenate([found[0], found[1]])
    bare = hs.AudioFolder(tmp_path, normalise="none")
    speech = np.concatenate([is_speech(bare[b][:, 0]) for b in (0, 1)])
    np.testing.assert_allclose(both[speech][:, :13].mean(axis=0), 0, atol=1e-10)
    again = hs.AudioFolder(tmp_path, memory=0)
    np.testing.assert_array_equal(again[1], found[1])
    assert not again._kept


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
def test_transcripts_of_any_encoding_are_read(tmp_path, encoding):
    for name in ("a", "b"):
        write_wav(tmp_path / f"{name}.wav", SAMPLES, 8000)
    (tmp_path / "a.txt").write_text("Straße, écouté\r\n", encoding=encoding)
    (tmp_path / "b.srt").write_text("1\r\n00:00:00,000 --> 00:00:00,300\r\nÉcouté!\r\n", encoding=encoding)
    (tmp_path / "a.dict").write_text("écouté\te k u t e\n", encoding=encoding)
    words = hs.read_dictionary(tmp_path / "a.dict")
    assert hs.AudioFolder(tmp_path, words=words).transcripts == [("straße", "écouté"), ("écouté",)]


def test_one_name_in_two_folders_is_not_one_recording(tmp_path):
    for speaker in ("ann", "ben"):
        (tmp_path / speaker).mkdir()
        write_wav(tmp_path / speaker / "one.wav", SAMPLES, 8000)
        (tmp_path / speaker / "one.txt").write_text(speaker)
    write_wav(tmp_path / "ben" / "two.wav", SAMPLES, 8000)
    assert hs.AudioFolder(tmp_path).transcripts == [("ann",), ("ben",)]
    given = hs.AudioFolder(tmp_path, transcripts={"one": "x", "one.wav": "x", "ann/one": "y", "two": "z"})
    assert dict(zip(given.names, given.transcripts, strict=True)) == {"ann/one": ("y",), "ben/two": ("z",)}
    assert given.without_text == ["ben/one"]
    with pytest.raises(DataError, match=r"Transcripts: 'one'; recordings: 'ann/one', 'ben/one', 'ben/two'"):
        hs.AudioFolder(tmp_path, transcripts={"one": "x"})


def test_features_do_not_depend_on_what_was_asked_for_first(tmp_path):
    corpus(tmp_path, 5, speakers=("ann",))
    forward, backward = hs.AudioFolder(tmp_path), hs.AudioFolder(tmp_path)
    backward[4]
    for b in range(5):
        np.testing.assert_array_equal(forward[b], backward[b])


def test_a_recording_that_was_made_again_is_read_again(tmp_path):
    path = tmp_path / "a.wav"
    (tmp_path / "a.txt").write_text("a")
    for i, level in enumerate((0.5, 0.25)):
        write_wav(path, np.full(800, level), 8000)
        os.utime(path, (i, i))
        assert hs.AudioFolder(tmp_path).samples(0)[0].max() == pytest.approx(level, abs=1e-3)


def test_quiet_frames_are_those_of_pauses(tmp_path):
    corpus(tmp_path, 4)
    found = hs.AudioFolder(tmp_path)
    quiet = found.quiet()
    assert 0.05 < len(quiet) / sum(map(len, found)) < 0.5
    assert quiet[:, 0].max() < np.median(np.concatenate(list(found))[:, 0])


def test_transcripts_of_every_kind_are_found(tmp_path):
    samples, _ = sound(["a", "b"], np.random.default_rng(0), low=0.5, high=0.6)
    for name in ("lab", "grid", "cap", "none"):
        write_wav(tmp_path / f"{name}.wav", samples)
    (tmp_path / "lab.lab").write_text("ab ab\n")
    tiers = {"notes": [(0.0, 1.0, "x")], "words": [(0.0, 0.4, "ab"), (0.5, 1.0, "cd")]}
    write_textgrid(tmp_path / "grid.TextGrid", tiers, 1.1)
    write_captions(tmp_path / "cap.srt", [Caption(0.1, 0.3, "Ab!"), Caption(0.7, 0.9, "Cd?")])
    found = hs.AudioFolder(tmp_path)
    assert dict(zip(found.names, found.transcripts, strict=True)) == {
        "cap#1": ("ab",), "cap#2": ("cd",), "grid": ("ab", "cd"), "lab": ("ab", "ab"),
    }  # fmt: skip
    first, second = found.recordings[:2]
    assert (first.start, first.end, second.start) == (0.0, 0.5, 0.5)
    assert len(found[0]) == 50
    assert hs.AudioFolder(tmp_path, tier="notes").transcripts[2] == ("x",)
    with pytest.raises(DataError, match=r"no tier 'phones'\. Tiers: notes, words"):
        hs.AudioFolder(tmp_path, tier="phones")
    given = hs.AudioFolder(tmp_path, transcripts={"none.wav": "cd", "lab": "ab"})
    assert dict(zip(given.names, given.transcripts, strict=True)) == {"lab": ("ab",), "none": ("cd",)}


def test_folders_without_recordings_are_told(tmp_path):
    with pytest.raises(DataError, match="no recording"):
        hs.AudioFolder(tmp_path)
    with pytest.raises(DataError, match="no such file or folder"):
        hs.AudioFolder(tmp_path / "nowhere")


def test_made_up_speech_is_aligned_from_its_transcripts(tmp_path):
    truth = corpus(tmp_path, 10, rate=22050)
    folder = hs.AudioFolder(tmp_path, words=WORDS)
    model = hs.TranscriptAligner(3, dictionary=WORDS, silence="sil", step=folder.step, tol=1.0)
    found = model.fit(folder, folder.transcripts).align(folder, folder.transcripts)
    errors = []
    for name, one in zip(folder.names, found, strict=True):
        assert [part.name for part in one.words] == [word for word, _, _ in truth[name]]
        for part, (_, start, end) in zip(one.words, truth[name], strict=True):
            errors += [abs(part.start - start), abs(part.end - end)]
    assert np.mean(np.array(errors) <= 0.0201) > 0.9
    assert set(model.units_) == set(CHORDS)
    for ending in ("TextGrid", "json", "csv", "srt", "vtt"):
        found[0].write(tmp_path / f"out.{ending}")
    grid = hs.read_textgrid(tmp_path / "out.TextGrid")
    assert [i.text for i in grid["words"] if i.text] == [word for word, _, _ in truth["u00"]]
    assert {i.text for i in grid["phones"]} <= set(CHORDS)
    assert (tmp_path / "out.srt").read_text().startswith("1\n00:00:00,")


@pytest.mark.parametrize("level", ["units", "words", "states"])
def test_an_alignment_is_drawn(tmp_path, level):
    plt = pytest.importorskip("matplotlib.pyplot")
    corpus(tmp_path, 3)
    folder = hs.AudioFolder(tmp_path)
    model = hs.TranscriptAligner(1, max_iter=3, stop="iterations", step=folder.step).fit(folder, folder.transcripts)
    one = model.align(folder, folder.transcripts)[0]
    for how in ({"sound": folder.samples(0)}, {"features": folder[0]}, {"features": folder[0][:, 0]}, {}):
        ax = hs.plot_alignment(one, level=level, **how)
        assert ax.get_xlim() == (0, one.duration)
        texts = [text.get_text() for text in ax.texts]
        assert all(part.name in texts for part in one.words)
        plt.close(ax.figure)


@pytest.mark.parametrize("features", ["mfcc", "sphinx"])
def test_a_folder_can_be_pickled(tmp_path, features):
    """Other processes read the same features."""
    write_wav(tmp_path / "a.wav", np.sin(np.arange(16000) / 7), 16000)
    (tmp_path / "a.txt").write_text("low")
    folder = hs.AudioFolder(tmp_path, features=features)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(folder))[0], folder[0])
