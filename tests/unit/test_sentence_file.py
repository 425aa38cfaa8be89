"""Sentences of a file that does not fit into memory: the same fit, bit for bit, as in memory."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_array_equal
from sklearn.exceptions import ConvergenceWarning

import halfseen as hs
from halfseen.data.encodings import encoding_of
from halfseen.errors import DataError, UnknownCategoryWarning
from halfseen.families.grammar import model, sentence_file
from halfseen.families.grammar.sentence_file import SentenceFile, ordered, read_line

RULES = """
S -> NP VP
VP -> V NP | VP PP
NP -> NP PP | 'astronomers' | 'ears' | 'saw' | 'stars' | 'telescopes'
PP -> P NP
P -> 'with'
V -> 'saw'
"""
OPTIONS = {"n_init": 1, "random_state": 0, "max_iter": 3}


def corpus(brackets):
    _, trees = hs.PCFG.from_string(RULES, random_state=3).sample(300, random_state=1, max_length=10**4)
    rng = np.random.default_rng(0)
    lines = [_written(tree, brackets and rng.random() < 0.5) for tree in trees if len(tree.words()) < 13]
    lines[70:70] = ["stars", "saw the moon", "", "  "]
    return lines


def _written(tree, brackets):
    inside = [part if isinstance(part, str) else _written(part, brackets) for part in tree.children]
    return f"({' '.join(inside)})" if brackets and len(inside) > 1 else " ".join(inside)


def fitted(rules, *sentences, **given):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return hs.PCFG(rules, **{**OPTIONS, "on_unparsable": "skip", **given}).fit(*sentences)


@pytest.mark.parametrize("brackets", [False, True], ids=["words", "brackets"])
@pytest.mark.parametrize("least", [1 << 16, 400], ids=["one piece", "many pieces"])
def test_the_bits_of_a_corpus_in_memory(tmp_path, monkeypatch, brackets, least):
    monkeypatch.setattr(sentence_file, "LEAST", least)
    monkeypatch.setattr(model, "WORK", 5000)  # several chunks
    lines, path = corpus(brackets), tmp_path / "corpus.txt"
    path.write_text("\n".join(lines))
    read = [read_line(line, brackets, "") for line in lines if line.strip()]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        here = hs.PCFG(RULES, on_unparsable="skip", **OPTIONS)
        here.fit([words for words, _ in read], brackets=[spans for _, spans in read] if brackets else None)
    found = fitted(RULES, SentenceFile(str(path), 1, brackets))
    assert found.loglik_ == here.loglik_
    assert found.trace_ == here.trace_
    assert_array_equal(found._params["rules"], here._params["rules"])
    assert_array_equal(found._stats, here._stats)
    assert found.unparsable_ == here.unparsable_ == [70, 71]
    assert found.events_ == here.events_
    assert found._n_rows == here._n_rows
    assert found._origin.fingerprint == here._origin.fingerprint


@given(
    arrays(np.int32, st.tuples(st.integers(1, 40), st.integers(2, 5)), elements=st.integers(-1, 3)),
    st.integers(1, 12),
    st.integers(1, 5),
)
def test_rows_are_ordered_and_merged_in_pieces_of_any_size(rows, most, n_blocks):
    rows[:, -1] = 1 + np.abs(rows[:, -1])
    blocks = [block for block in np.array_split(rows, n_blocks) if len(block)]
    found = np.concatenate(list(ordered(blocks, most)))
    expected = {}
    for row in rows.tolist():
        expected[tuple(row[:-1])] = expected.get(tuple(row[:-1]), 0) + row[-1]
    assert found.tolist() == [[*key, expected[key]] for key in sorted(expected)]


def test_unknown_words_that_are_missing_are_told_of_once(tmp_path):
    path = tmp_path / "corpus.txt"
    path.write_text("stars saw moons\n" * 5 + "stars saw suns\n")
    with pytest.warns(UnknownCategoryWarning, match="2 words are not in the grammar") as told:
        fitted(RULES, SentenceFile(str(path), 1), unknown="missing")
    assert len(told) == 1


def test_files_without_sentences_and_brackets_without_words_are_refused(tmp_path):
    path = tmp_path / "corpus.txt"
    path.write_text("\n \n")
    with pytest.raises(DataError, match="the file has no sentences"):
        fitted(RULES, SentenceFile(str(path), 1))
    path.write_text("stars saw ears\n()\n")
    with pytest.raises(DataError, match=r"corpus.txt, line 2: there are brackets and no words"):
        fitted(RULES, SentenceFile(str(path), 1, True))
    path.write_text("moon\n")
    with pytest.raises(DataError, match=r"1 of 1 sentence has no parse: .* There is nothing to fit"):
        fitted(RULES, SentenceFile(str(path), 1))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
def test_encodings_are_found_in_pieces(tmp_path, monkeypatch, encoding):
    monkeypatch.setattr("halfseen.data.encodings.PIECE", 3)
    path = tmp_path / "a.txt"
    path.write_text("écouté là\n", encoding=encoding)
    assert path.read_text(encoding=encoding_of(path)) == "écouté là\n"
