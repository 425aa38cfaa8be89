"""Sound and images embedded in a page, and the picture of a clip: sizes, times, labels, bands."""

import base64
import io
import re
import struct
from itertools import pairwise

import numpy as np
import pytest

from halfseen.app.report import audio
from halfseen.app.report.charts import png, sound
from halfseen.app.report.charts.sound import PIXELS, UNITS, WIDEST, Clip, Mark, cut_times, tiles
from halfseen.app.report.charts.svg import LETTER

WORD = re.compile(r'<g class="said( rest)?" data-from="([\d.]+)" data-to="([\d.]+)">(.*?)</g>')


def decoded(codes):
    """The samples of codes in mu-law, by the formula of G.711."""
    code = ~codes.astype(np.int64) & 255
    size = ((((code & 15) << 3) + 132) << ((code >> 4) & 7)) - 132
    return np.where(code & 128, -size, size) / 32768


def chunks(file):
    """The chunks of a WAV file, by name."""
    assert file[:4] == b"RIFF"
    assert struct.unpack("<I", file[4:8])[0] == len(file) - 8
    found, at = {}, 12
    while at < len(file):
        name, size = struct.unpack("<4sI", file[at : at + 8])
        found[name] = file[at + 8 : at + 8 + size]
        at += 8 + size + size % 2
    return found


def test_mu_law_keeps_samples_to_four_bits_of_their_size():
    samples = np.concatenate([np.linspace(-1, 1, 4001), np.geomspace(1e-5, 1, 400), -np.geomspace(1e-5, 1, 400)])
    back = decoded(audio.mu_law(samples))
    loud = np.minimum(np.abs(samples), audio.CLIP / 32768)
    assert np.abs(np.abs(back) - loud).max() <= 512 / 32768
    assert (np.abs(np.abs(back) - loud) <= loud / 32 + 4.5 / 32768).all()
    assert (np.sign(back[np.abs(samples) > 1e-3]) == np.sign(samples[np.abs(samples) > 1e-3])).all()
    assert audio.mu_law([5.0, -5.0]).tolist() == [128, 0]


@pytest.mark.parametrize("rate", [6000, 8000, 11025, 16000, 22050, 44100, 48000, 95999])
def test_embedded_sound_lasts_as_long_as_the_original(rate):
    samples = 0.5 * np.sin(2 * np.pi * 300 * np.arange(rate + 1) / rate)
    parts = chunks(audio.wav(samples, rate))
    form = struct.unpack("<HHIIHHH", parts[b"fmt "])
    assert form[:2] == (audio.MU_LAW, 1)
    assert audio.LOWEST <= form[2] <= audio.HIGHEST
    assert len(parts[b"data"]) / form[2] == pytest.approx(len(samples) / rate, abs=2e-4)
    assert struct.unpack("<I", parts[b"fact"])[0] == len(parts[b"data"])
    back = decoded(np.frombuffer(parts[b"data"], np.uint8))
    middle = back[len(back) // 4 : len(back) // 2]
    assert np.abs(np.fft.rfft(middle)).argmax() == pytest.approx(300 * len(middle) / form[2], abs=1)
    assert np.abs(middle).max() == pytest.approx(0.5, abs=0.03)


def test_another_library_reads_the_same_sound():
    soundfile = pytest.importorskip("soundfile")
    samples = np.random.default_rng(0).uniform(-0.9, 0.9, 801)
    uri = audio.data_uri(samples, 8000)
    back, rate = soundfile.read(io.BytesIO(base64.b64decode(uri.removeprefix("data:audio/wav;base64,"))))
    assert rate == 8000
    np.testing.assert_allclose(back, decoded(audio.mu_law(samples)), atol=1e-12)


def test_an_image_is_read_as_it_was():
    image = pytest.importorskip("PIL.Image")
    levels = np.random.default_rng(0).integers(0, 256, (5, 9), dtype=np.uint8)
    uri = png.data_uri(levels)
    found = image.open(io.BytesIO(base64.b64decode(uri.removeprefix("data:image/png;base64,"))))
    assert found.mode == "L"
    assert (np.asarray(found) == levels).all()


@pytest.mark.parametrize(
    ("seconds", "starts"),
    [(0.4, []), (3.0, []), (1.36, []), (5.0, [0.1, 0.4, 0.9, 1.3, 1.5, 2.2, 4.1]), (9.0, [0.1]), (2.0, [1.3333])],
)
def test_tiles_cover_the_clip_and_none_is_too_wide(seconds, starts):
    cuts = cut_times(seconds, starts)
    widths = np.diff(cuts) * PIXELS
    assert (cuts[0], cuts[-1]) == (0.0, seconds)
    assert (widths <= WIDEST + 1e-6).all()
    assert widths[:-1].min(initial=99) > 99 - 1e-6
    assert all(at * PIXELS == pytest.approx(round(at * PIXELS)) for at in cuts[:-1])


def marked(name, start, end, confidence=1.0, sd=0.0, sure=True):
    return Mark(name, start, end, sd, sd, confidence, sure, f"{name}, note <of> it")


def clip(words, units=(), seconds=3.0, key="c"):
    rng = np.random.default_rng(0)
    return Clip(key, rng.normal(size=round(seconds * 1000)), 1000, rng.normal(size=(10, 300)), words, units)


def test_words_are_where_they_are_said():
    words = [marked("one", 0.2, 0.9), marked("two", 0.9, 1.2), marked("three", 1.25, 2.75)]
    drawn = tiles(clip(words), [(0.5, "0.5 s")])
    width = re.compile(r'viewBox="0 0 (\d+) ')
    assert sum(int(width.search(tile)[1]) for tile in drawn) == round(3.0 * PIXELS)
    found = [one for tile in drawn for one in WORD.findall(tile)]
    assert [(float(a), float(b)) for rest, a, b, _ in found if not rest] == [(w.start, w.end) for w in words]
    assert any(rest for rest, *_ in found)  # of the last, which is longer than a tile
    assert found[0][3].startswith("<title>one, note &lt;of&gt; it</title>")
    assert f'x="{0.2 * PIXELS:g}"' in found[0][3]
    assert "0.5 s</text>" in "".join(drawn)


def test_a_word_at_a_cut_is_drawn_once():
    words = [marked("one", 0.0, 1.0007), marked("two", 1.0007, 2.0)]
    drawn = tiles(clip(words, seconds=2.0), [])
    assert len(drawn) == 2
    assert [len(WORD.findall(tile)) for tile in drawn] == [1, 1]


def test_bands_are_two_standard_deviations_wide_on_both_sides():
    words = [marked("one", 0.4, 0.8, sd=0.02)]
    [drawn] = tiles(clip(words, seconds=1.0), [])
    bands = re.findall(r'<rect x="([\d.]+)" y="2" width="([\d.]+)"[^>]*class="band"/>', drawn)
    assert [(float(x), float(w)) for x, w in bands] == [
        (pytest.approx((t - 0.04) * PIXELS, abs=0.1), pytest.approx(0.08 * PIXELS, abs=0.1)) for t in (0.4, 0.8)
    ]


def test_the_less_certain_the_paler():
    words = [marked(str(i), 0.1 * i, 0.1 * i + 0.1, confidence=i / 4) for i in range(5)]
    [drawn] = tiles(clip(words, seconds=1.0), [])
    shades = [float(x) for x in re.findall(r'fill="var\(--blue\)" fill-opacity="([\d.]+)"', drawn) if x != "0"]
    assert shades == sorted(set(shades))
    doubtful = tiles(clip([marked("x", 0.1, 0.5, sure=False)], seconds=1.0), [])[0]
    assert "stroke-dasharray" in doubtful
    assert "stroke-dasharray" not in drawn


def test_labels_neither_overlap_nor_leave_their_tile():
    rng = np.random.default_rng(1)
    ends = np.cumsum(rng.uniform(0.02, 0.12, 60))
    units = [marked("sil" if i % 5 == 0 else "AA1", a, b) for i, (a, b) in enumerate(pairwise([0.0, *ends]))]
    drawn = tiles(clip([], units, seconds=float(ends[-1])), [])
    n_labels = 0
    for tile in drawn:
        width = float(re.search(r'viewBox="0 0 (\d+) ', tile)[1])
        rows = {}
        for x, y, words in re.findall(r'<text x="([\d.]+)" y="([\d.]+)"[^>]*>([^<]*)</text>', tile):
            half = len(words) * LETTER / 2
            assert half <= float(x) <= width + 1 - half
            assert UNITS[0] < float(y) < UNITS[1]
            rows.setdefault(y, []).append((float(x) - half, float(x) + half))
            n_labels += 1
        for spans in rows.values():
            assert all(a[1] <= b[0] for a, b in pairwise(spans))
    assert n_labels > 40


def test_ids_of_clips_differ():
    drawn = "".join(tiles(clip([], key="a"), []) + tiles(clip([], key="b"), []))
    ids = re.findall(r' id="([^"]+)"', drawn)
    assert len(ids) == len(set(ids)) > 3
    assert sorted(re.findall(r"url\(#([^)]+)\)", drawn)) == sorted(ids)


def test_a_silent_clip_and_a_short_one_are_drawn():
    silent = Clip("s", np.zeros(4000), 1000, np.zeros((4, 400)), [], [])
    assert len(tiles(silent, [])) == len(cut_times(4.0, [])) - 1
    short = Clip("s", np.ones(1), 8000, np.zeros((4, 1)), [marked("a", 0.0, 1 / 8000)], [])
    assert len(tiles(short, [])) == 1
    assert sound.greys(np.zeros((2, 2))).dtype == np.uint8
