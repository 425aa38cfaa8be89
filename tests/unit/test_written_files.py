"""Files of alignments: what is written is read again as it was, or is as its format demands."""

import csv
import json
import re
from itertools import pairwise
from xml.etree import ElementTree as xml

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halfseen.errors import ParameterError
from halfseen.families.transcript.alignment import Alignment, Segment
from halfseen.families.transcript.recordings import Recording
from halfseen.families.transcript.written.captions import Caption, read_captions, write_captions
from halfseen.families.transcript.written.cues import Rules
from halfseen.families.transcript.written.elan import write_elan
from halfseen.families.transcript.written.files import FORMATS, ending_of, write
from halfseen.families.transcript.written.rough import retimed
from halfseen.families.transcript.written.textgrid import read_textgrid, write_textgrid
from halfseen.families.transcript.written.tokens import tokens_of

TEXT = 'ANNA: Hello, "world" & <all>! [music]\nA --> B; it\'s Dr. Lee…'


def aligned(text=TEXT, offset=0.0):
    """Return a text with times; every word has two units, and a pause is after the second."""
    tokens, words, units, at = tokens_of(text), [], [], 0.25
    for i, token in enumerate(tokens):
        words.append(Segment(token.word, at, at + 0.3, -3.5, 0.875, 0.01, 0.02, i))
        middle = at + 0.125
        units += [
            Segment("x", at, middle, -1.0, 0.9, 0.01, 0.01, i),
            Segment("y", middle, at + 0.3, -2.5, 0.8, 0.01, 0.02, i),
        ]
        at += 0.3
        if i == 1:
            units.append(Segment("sil", at, at + 0.75, -1.0, 1.0, 0.02, 0.01, -1))
            at += 0.75
    found = Alignment("talks/one", tuple(words), tuple(units), (), at + 0.5, -9.0, -8.0, 0.5)
    return found.with_text(tokens, "talks/one").shifted(offset)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("written")


times = st.lists(st.integers(0, 8_000_000), min_size=2, max_size=8, unique=True).map(sorted)
signs = st.characters(blacklist_categories=["Cs", "Cc", "Zl", "Zp"])
shown = st.text(signs, max_size=20).map(lambda text: " ".join(text.split()))
plain = st.text("abc ,.!?\"'é你", max_size=20).map(lambda text: text.strip() or "x")


@settings(max_examples=25)
@given(times, st.lists(shown.filter(bool), min_size=8, max_size=8))
def test_webvtt_keeps_any_text(folder, marks, texts):
    """Also one with arrows, markup and entities: it is escaped."""
    path = folder / "a.vtt"
    given = [Caption(a / 1000, b / 1000, text) for (a, b), text in zip(pairwise(marks), texts, strict=False)]
    write_captions(path, given)
    raw = path.read_text(encoding="utf-8")
    assert raw.startswith("WEBVTT\n\n")
    assert raw.count("-->") == len(given)  # an arrow in a text would be a time
    assert read_captions(path) == given


@settings(max_examples=25)
@given(times, st.lists(plain, min_size=8, max_size=8))
def test_srt_keeps_texts(folder, marks, texts):
    path = folder / "a.srt"
    given = [Caption(a / 1000, b / 1000, text) for (a, b), text in zip(pairwise(marks), texts, strict=False)]
    write_captions(path, given)
    blocks = path.read_text(encoding="utf-8").strip().split("\n\n")
    assert [block.split("\n")[0] for block in blocks] == [str(i + 1) for i in range(len(given))]
    assert all(re.fullmatch(r"\d\d:\d\d:\d\d,\d{3} --> \d\d:\d\d:\d\d,\d{3}", block.split("\n")[1]) for block in blocks)
    assert [(c.start, c.end, c.text.split()) for c in read_captions(path)] == [
        (c.start, c.end, c.text.split()) for c in given
    ]


@settings(max_examples=25)
@given(times, st.lists(shown, min_size=8, max_size=8))
def test_textgrids_are_read_as_they_were_written(folder, marks, texts):
    path = folder / "a.TextGrid"
    given = [(a / 1000, b / 1000, text) for (a, b), text in zip(pairwise(marks), texts, strict=False)]
    write_textgrid(path, {'t "1"': given}, marks[-1] / 1000 + 1)
    found = read_textgrid(path)['t "1"']
    assert [tuple(one) for one in found if one.start >= marks[0] / 1000 and one.end <= marks[-1] / 1000] == given
    assert found[0].start == 0.0
    assert found[-1].end == pytest.approx(marks[-1] / 1000 + 1)
    assert all(a.end == b.start for a, b in pairwise(found))


def test_all_formats_are_written(tmp_path):
    one = aligned()
    for ending in FORMATS:
        one.write(tmp_path / f"a{ending}")
        assert (tmp_path / f"a{ending}").stat().st_size > 50
    assert ending_of("A.WORDS.VTT") == ".words.vtt"
    assert ending_of("a.b/c") is None
    with pytest.raises(ParameterError, match=r"a.doc: alignments are written as one of .TextGrid, .json"):
        one.write(tmp_path / "a.doc")
    with pytest.raises(ParameterError, match="lines=0"):
        one.write(tmp_path / "a.srt", lines=0)


def test_captions_have_the_text_of_the_transcript(tmp_path):
    one = aligned()
    one.write(tmp_path / "a.srt", line_length=30)
    raw = (tmp_path / "a.srt").read_text(encoding="utf-8")
    lines = [line for block in raw.strip().split("\n\n") for line in block.split("\n")[2:]]
    assert " ".join(lines).split() == TEXT.split()
    assert max(map(len, lines)) <= 30
    one.write(tmp_path / "a.vtt")
    vtt = (tmp_path / "a.vtt").read_text(encoding="utf-8")
    assert "&lt;all&gt;!" in vtt
    assert "A --&gt; B;" in vtt
    assert " ".join(c.text for c in read_captions(tmp_path / "a.vtt")).split() == TEXT.split()


def test_webvtt_of_words_has_their_times(tmp_path):
    one = aligned()
    one.write(tmp_path / "a.words.vtt")
    raw = (tmp_path / "a.words.vtt").read_text(encoding="utf-8")
    stamps = [_seconds(time) for time in re.findall(r"<(\d\d:\d\d:\d\d\.\d{3})>", raw)]
    starts = [part.start for part in one.words]
    assert stamps == sorted(stamps)
    assert len(stamps) >= len(starts) - len(read_captions(tmp_path / "a.words.vtt"))
    assert all(min(abs(stamp - start) for start in starts) < 1e-3 for stamp in stamps)
    for block in raw.split("\n\n")[1:]:
        low, high = map(_seconds, block.split("\n")[0].split(" --> "))
        inside = [_seconds(time) for time in re.findall(r"<([\d:.]+)>", block)]
        assert all(low < time < high for time in inside)  # else a WebVTT parser ignores them


def _seconds(clock):
    hours, minutes, seconds = clock.split(":")
    return 3600 * int(hours) + 60 * int(minutes) + float(seconds)


def test_textgrid_tiers_are_sentences_words_and_phones(tmp_path):
    one = aligned()
    one.write(tmp_path / "a.TextGrid")
    tiers = read_textgrid(tmp_path / "a.TextGrid")
    assert list(tiers) == ["sentences", "words", "phones"]
    assert [part.text for part in tiers["words"] if part.text] == [part.name for part in one.words]
    assert [part.text for part in tiers["phones"] if part.text] == [part.name for part in one.units]
    assert " ".join(part.text for part in tiers["sentences"]).split() == TEXT.split()
    assert [tier[-1].end for tier in tiers.values()] == pytest.approx([one.duration] * 3)
    write(tmp_path / "b.TextGrid", [aligned("One."), aligned("Two.", 5.0)])
    assert [part.text for part in read_textgrid(tmp_path / "b.TextGrid")["utterances"] if part.text] == ["One.", "Two."]


def test_elan_documents_are_as_their_schema_demands(tmp_path):
    one = aligned()
    media = tmp_path / "sound" / "talk one.wav"
    write(tmp_path / "out" / ".." / "a.eaf", [one], media=media)
    root = xml.parse(tmp_path / "a.eaf").getroot()
    assert root.tag == "ANNOTATION_DOCUMENT"
    assert {"AUTHOR", "DATE", "FORMAT", "VERSION"} <= set(root.attrib)
    order = [child.tag for child in root]
    assert order == ["HEADER", "TIME_ORDER", *["TIER"] * 3, *["LINGUISTIC_TYPE"] * 2, "CONSTRAINT"]
    descriptor = root.find("HEADER/MEDIA_DESCRIPTOR")
    assert descriptor.get("MEDIA_URL").startswith("file:///")
    assert descriptor.get("MEDIA_URL").endswith("talk%20one.wav")
    assert descriptor.get("RELATIVE_MEDIA_URL") == "sound/talk one.wav"
    slots = {slot.get("TIME_SLOT_ID"): int(slot.get("TIME_VALUE")) for slot in root.iter("TIME_SLOT")}
    kinds = {kind.get("LINGUISTIC_TYPE_ID"): kind.get("CONSTRAINTS") for kind in root.iter("LINGUISTIC_TYPE")}
    assert kinds == {"spans": None, "parts": "Included_In"}
    names, used = [], []
    for tier in root.iter("TIER"):
        assert tier.get("LINGUISTIC_TYPE_REF") in kinds
        assert tier.get("PARENT_REF") in (None, *names)
        names.append(tier.get("TIER_ID"))
        spans = []
        for inner in tier.iter("ALIGNABLE_ANNOTATION"):
            used += [inner.get("TIME_SLOT_REF1"), inner.get("TIME_SLOT_REF2"), inner.get("ANNOTATION_ID")]
            spans.append((slots[used[-3]], slots[used[-2]]))
        assert all(a < b for a, b in spans)
        assert all(a[1] <= b[0] for a, b in pairwise(spans))
    assert names == ["sentences", "words", "phones"]
    assert len(used) == len(set(used))
    words = [inner.text for inner in root.findall("TIER[@TIER_ID='words']/*/*/ANNOTATION_VALUE")]
    assert " ".join(words).split() == TEXT.split()


def test_elan_leaves_out_what_xml_cannot_have(tmp_path):
    write_elan(tmp_path / "a.eaf", {"words": [(0.0, 0.0, "a\0\x08b"), (0.0, 1.0, "c")]})
    root = xml.parse(tmp_path / "a.eaf").getroot()
    assert [value.text for value in root.iter("ANNOTATION_VALUE")] == ["ab", "c"]
    assert [int(slot.get("TIME_VALUE")) for slot in root.iter("TIME_SLOT")] == [0, 1, 1, 1000]


def test_ctm_json_and_csv(tmp_path):
    one = aligned()
    for ending in ("ctm", "json", "csv"):
        one.write(tmp_path / f"a.{ending}")
    lines = [line.split(" ") for line in (tmp_path / "a.ctm").read_text(encoding="utf-8").splitlines()]
    assert [line[:2] for line in lines] == [["talks/one", "1"]] * len(one.words)
    assert [(line[4], float(line[2]), float(line[3])) for line in lines] == [
        (part.name, pytest.approx(part.start, abs=1e-3), pytest.approx(part.end - part.start, abs=1e-3))
        for part in one.words
    ]
    found = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))
    assert found == one.to_dict()
    assert found["text"] == " ".join(TEXT.split())
    assert [word["text"] for word in found["words"]] == [part.text for part in one.words]
    assert [word["sentence"] for word in found["words"]] == [token.sentence for token in one.tokens]
    rows = list(csv.DictReader((tmp_path / "a.csv").read_text(encoding="utf-8").splitlines()))
    assert [(row["name"], float(row["start"])) for row in rows if row["level"] == "word"] == [
        (part.name, pytest.approx(part.start)) for part in one.words
    ]


def test_rough_captions_keep_their_text_and_can_be_read(tmp_path):
    """They begin with their first word, stay until they are read, and the next is not covered."""
    rough = tmp_path / "talk.srt"
    said = [
        "Hello there,\nhow are you?",
        "[door slams]",
        "Yes!",
        "It is a long one\nthat nobody reads at once.",
    ]
    starts = [0.5, 3.0, 4.0, 4.6]
    write_captions(rough, [Caption(a, a + 0.4, text) for a, text in zip(starts, said, strict=True)])
    pairs = []
    for number in (0, 2, 3):
        name = f"talk#{number + 1}"
        recording = Recording.of(
            name, tmp_path / "talk.wav", said[number], None, "s", start=0.0, end=9.0, transcript=rough
        )
        tokens = tokens_of(said[number])
        at = starts[number] + 0.1
        words = tuple(
            Segment(token.word, at + 0.1 * i, at + 0.1 * i + 0.1, -1.0, 0.9, 0.01, 0.01, i)
            for i, token in enumerate(tokens)
        )
        one = Alignment(name, words, (), (), 9.0, -1.0, -1.0, 0.0).with_text(tokens, name)
        pairs.append((recording, one))
    cues = retimed(pairs)
    assert [cue.caption.text for cue in cues] == said
    assert [cue.start for cue in cues] == pytest.approx([0.6, 3.0, 4.1, 4.7])
    assert cues[0].end == pytest.approx(0.6 + len(said[0]) / Rules().speed, abs=1e-3)
    assert cues[2].end == pytest.approx(4.7 - 0.083, abs=2e-3)
    assert all(a.end <= b.start for a, b in pairwise(cues))
    assert retimed([(pairs[0][0]._replace(end=None), pairs[0][1])]) is None
    lost = retimed([(pairs[0][0], None), pairs[1], pairs[2]])
    assert (lost[0].start, lost[0].caption.text) == (0.5, said[0])
