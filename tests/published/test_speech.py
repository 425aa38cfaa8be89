"""Real and synthetic speech whose times are known: boundaries, and digits recognised."""

import itertools

import numpy as np
import pytest

import halfseen as hs
from benchmarks.speech import aligned, from_nothing
from benchmarks.spoken import recorded
from tests.shared_data import shared_data

pytestmark = pytest.mark.thorough


def shares(errors):
    """Return the share of errors within 20 and 50 ms, and their median, in seconds."""
    errors = np.abs(np.array(errors))
    return (errors <= 0.0201).mean(), (errors <= 0.0501).mean(), np.median(errors)


def test_phones_of_a_synthesiser_are_found_from_words_and_a_dictionary(tmp_path):
    """Eight sentences, 15 seconds, 45 phones, default settings: the synthesiser says exactly when each was."""
    spoken = recorded(shared_data("espeak_dev/phones.csv").parent)
    found = aligned(from_nothing(spoken, tmp_path), spoken, tmp_path, closures=True)
    within_20, within_50, median = shares(found.error)
    assert len(found.error) == 190
    assert within_20 > 0.7
    assert within_50 > 0.9
    assert median < 0.015


def test_digits_are_recognised_by_a_model_of_each():
    """Two speakers, ten digits: trained on recordings 5 to 9 of each, tested on 0 to 4."""
    folder = shared_data("fsdd/0_jackson_0.wav").parent
    features, keys = [], []
    for path in sorted(folder.glob("*.wav")):
        features.append(hs.mfcc(*hs.read_wav(path), normalise=False))
        keys.append(path.stem.split("_"))
    for speaker in {key[1] for key in keys}:
        own = [b for b, key in enumerate(keys) if key[1] == speaker]
        mean = np.concatenate([features[b] for b in own])[:, :13].mean(axis=0)
        for b in own:
            features[b][:, :13] -= mean
    train, test = ([b for b, key in enumerate(keys) if (int(key[2]) > 4) == late] for late in (True, False))
    model = hs.TranscriptAligner(3, step=0.005, max_iter=8, stop="iterations")
    model.fit([features[b] for b in train], [[keys[b][0]] for b in train])
    scores = [model.score_samples([features[b] for b in test], [[digit]] * len(test)) for digit in "0123456789"]
    heard = np.argmax(scores, axis=0)
    assert len(test) == 100
    assert np.mean([str(digit) == keys[b][0] for digit, b in zip(heard, test, strict=True)]) >= 0.97


@pytest.fixture(scope="module")
def talk():
    """A talk of 27 seconds: its features, words and phones."""
    grid = hs.read_textgrid(shared_data("speech_mfa/acoustic_corpus.TextGrid"))
    frames = hs.mfcc(*hs.read_wav(shared_data("speech_mfa/acoustic_corpus.wav")))
    words, phones = ([part for part in grid[tier] if part.text] for tier in ("words", "phones"))
    return frames, words, phones


def test_half_a_talk_with_known_times_shows_the_other_half(talk):
    """Frames of 13 seconds labelled by hand are examples; EM finds the words of the rest, better than they do alone."""
    frames, words, phones = talk
    ways, silent = {}, np.ones(len(frames), dtype=bool)
    for word in words:
        inside = [p.text for p in phones if word.start - 1e-6 <= p.start and p.end <= word.end + 1e-6]
        ways.setdefault(word.text, inside)
        silent[round(word.start * 100) : round(word.end * 100)] = False
    examples = {"sil": frames[:1300][silent[:1300]]}
    for phone in phones:
        if phone.end < 13:
            own = frames[round(phone.start * 100) : max(round(phone.end * 100), round(phone.start * 100) + 1)]
            examples[phone.text] = np.concatenate([examples.get(phone.text, own[:0]), own])
    groups = [[words[0]]]
    for word in words[1:]:
        groups.append([word]) if word.start - groups[-1][-1].end > 0.15 else groups[-1].append(word)
    cuts = [0, *(round(50 * (a[-1].end + b[0].start)) for a, b in itertools.pairwise(groups)), len(frames)]
    X = [frames[a:b] for a, b in itertools.pairwise(cuts)]
    said = [[word.text for word in group] for group in groups]
    errors = {}
    for max_iter in (1, 12):
        model = hs.TranscriptAligner(
            3,
            dictionary=ways,
            silence="sil",
            step=0.01,
            start=examples,
            prior=1.0,
            max_iter=max_iter,
            stop="iterations",
        ).fit(X, said)
        errors[max_iter] = [
            error
            for cut, group, one in zip(cuts, groups, model.align(X, said), strict=False)
            for part, word in zip(one.words, group, strict=True)
            if word.start > 13
            for error in (part.start + cut / 100 - word.start, part.end + cut / 100 - word.end)
        ]
    within_20, within_50, median = shares(errors[12])
    assert len(errors[12]) == 40
    assert within_20 > 0.65
    assert within_50 > 0.75
    assert median < 0.02
    assert within_20 > shares(errors[1])[0]


def test_recordings_of_any_rate_with_hand_labels_go_through():
    """1.2 and 1.9 seconds at 48 kHz are too little to learn from; each is aligned with the times of its own labels."""
    for name, tiers, tier in (("bobby", "bobby_phones", "phone"), ("mary", "mary", "phone")):
        grid = hs.read_textgrid(shared_data(f"speech_praatio/{tiers}.TextGrid"))[tier]
        frames = hs.mfcc(*hs.read_wav(shared_data(f"speech_praatio/{name}.wav")))
        phones = [part for part in grid if part.text]
        quiet = np.ones(len(frames), dtype=bool)
        examples = {}
        for part in phones:
            own = slice(round(part.start * 100), max(round(part.end * 100), round(part.start * 100) + 1))
            quiet[own] = False
            examples[part.text] = np.concatenate([examples.get(part.text, frames[:0]), frames[own]])
        examples["sil"] = frames[quiet]
        how = {"silence": "sil", "start": examples, "prior": 1.0, "max_iter": 3, "stop": "iterations"}
        said = [[part.text for part in phones]]
        [found] = hs.TranscriptAligner(1, step=0.01, **how).fit([frames], said).align([frames], said)
        within_20, within_50, _ = shares([a.start - b.start for a, b in zip(found.words, phones, strict=True)])
        assert within_20 > 0.7
        assert within_50 > 0.85
