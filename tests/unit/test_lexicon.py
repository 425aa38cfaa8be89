"""Transcripts as graphs: which ways there are, and that their probabilities are a distribution."""

import numpy as np
import pytest

from halfseen.assign import SOFT
from halfseen.errors import DataError, ParameterError
from halfseen.families.transcript.chunks import TranscriptSteps
from halfseen.families.transcript.lexicon import Lexicon, read_pronunciations, read_transcripts
from halfseen.structures.transcript import LeftRight

WAYS = {"ab": (("a", "b"), ("b",)), "c": (("c",),)}


def moves_of(lexicon, seed=0):
    """Return random moves whose rows sum to one; states are left soon."""
    rng, rows = np.random.default_rng(seed), []
    for size in lexicon.cardinalities:
        row = rng.random(size) + 0.5
        rows.append(row / row.sum())
    return np.log(np.concatenate(rows))[None]


@pytest.mark.parametrize("said", [["ab"], ["c", "ab", "ab"], []])
@pytest.mark.parametrize("n_states", [1, 2])
def test_all_ways_of_all_lengths_have_probability_one(said, n_states):
    """Every choice has probabilities that sum to one, so that the ways of all lengths do."""
    lexicon = Lexicon(("a", "b", "c", "sil"), n_states, "sil", WAYS)
    graph, moves, total = lexicon.layout(said).graph, moves_of(lexicon), 0.0
    for n_frames in range(1, 150):
        frames = TranscriptSteps({}, np.array([n_frames]), [graph])
        scores = {"moves": moves, "emit": np.zeros((n_frames, lexicon.n_emissions))}
        found = LeftRight().infer(scores, np.ones((1, 1)), SOFT, data=frames).log_evidence[0, 0]
        assert np.isfinite(found) == (n_frames >= graph.n_least)
        total += np.exp(found)
    np.testing.assert_allclose(total, 1.0, rtol=1e-9)


def test_the_mean_duration_is_the_sum_of_the_stays():
    """A state is left with probability p at every frame: it lasts 1 / p frames."""
    lexicon = Lexicon(("a", "b"), 2)
    leave = np.array([0.5, 0.25, 0.8, 0.4])
    moves = np.log(np.stack([1 - leave, leave], axis=1).reshape(1, -1))
    graph, mean = lexicon.layout(["a", "b"]).graph, 0.0
    for n_frames in range(4, 200):
        scores = {"moves": moves, "emit": np.zeros((n_frames, 4))}
        found = LeftRight().infer(
            scores, np.ones((1, 1)), SOFT, data=TranscriptSteps({}, np.array([n_frames]), [graph])
        )
        mean += n_frames * np.exp(found.log_evidence[0, 0])
    np.testing.assert_allclose(mean, (1 / leave).sum(), rtol=1e-9)


def test_pieces_tell_which_nodes_belong_to_what():
    lexicon = Lexicon(("a", "b", "c", "sil"), 2, "sil", WAYS)
    layout = lexicon.layout(["ab", "c"])
    told = [(lexicon.units[part.unit], part.word, part.first, part.last) for part in layout.pieces]
    assert told == [
        ("sil", -1, 0, 2), ("a", 0, 2, 4), ("b", 0, 4, 6), ("b", 0, 6, 8), ("sil", -1, 8, 10), ("c", 1, 10, 12),
        ("sil", -1, 12, 14),
    ]  # fmt: skip
    assert layout.graph.n_least == 4
    assert layout.piece_of.tolist() == np.repeat(np.arange(7), 2).tolist()


def test_strangers_are_found_with_and_without_a_dictionary():
    assert Lexicon(("a", "b")).unknown_words(["a", "z"]) == ["z"]
    assert Lexicon(("a", "b", "c"), 1, None, WAYS).unknown_words(["ab", "a", "c"]) == ["a"]
    assert Lexicon(("a", "b", "c", "spn"), 1, None, WAYS, "spn").unknown_words(["ab", "a"]) == []
    assert Lexicon(("a", "c"), 1, None, WAYS).unknown_words(["ab"]) == ["ab"]


@pytest.mark.parametrize("bad", [{"a": ""}, {"a": 3}, {"a": []}, {"a": [""]}, "a b"])
def test_a_dictionary_that_cannot_be_is_refused(bad):
    with pytest.raises(ParameterError, match="dictionary"):
        read_pronunciations(bad)


def test_pronunciations_are_read_in_three_forms_and_once_each():
    found = read_pronunciations({"x": ["a b", "a b", "c d"], "y": [["a"], ["b"]], "z": ["a", "b"]})
    assert found == {"x": (("a", "b"), ("c", "d")), "y": (("a",), ("b",)), "z": (("a", "b"),)}


def test_transcripts_are_texts_or_lists():
    assert read_transcripts(["a b", ["c", 4], np.array(["d"])]) == [("a", "b"), ("c", "4"), ("d",)]
    with pytest.raises(DataError, match="utterance 1 is 7"):
        read_transcripts(["a", 7])
    with pytest.raises(DataError, match="not a list"):
        read_transcripts("a b")
