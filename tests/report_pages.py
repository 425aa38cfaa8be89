"""A small report of every family, for tests of the page: quick fits, with all that the family's sections can show."""

import warnings

import numpy as np
import pandas as pd

import halfseen as hs
from tests.speech_page import speech

RULES = """S -> NP VP [1.0]
NP -> Det N [0.6] | Name [0.4]
VP -> V NP [0.5] | V [0.5]
Det -> 'the' [1.0]
N -> 'dog' [0.5] | 'cat' [0.5]
Name -> 'Ann' [0.5] | 'Bob' [0.5]
V -> 'sees' [0.5] | 'barks' [0.5]
"""
MEASURES = ["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]


def gaussian():
    birds = hs.load_penguins()[MEASURES]
    return hs.report(hs.GaussianMixture([2, 3, 4], n_init=4, random_state=0).fit(birds), birds, command=COMMAND)


COMMAND = "halfseen fit " + " ".join(f"a_rather_long_name_of_a_file_{i}.csv" for i in range(8)) + " -o birds.halfseen"


def classes():
    birds = hs.load_penguins().drop(columns=["species", "year"])
    return hs.report(hs.LatentClass(3, n_init=2, random_state=0).fit(birds), birds)


def nine_classes():
    votes = hs.load_votes()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return hs.report(hs.LatentClass(9, n_init=2, random_state=0).fit(votes), votes)


def classifier():
    birds = hs.load_penguins()
    species, birds = birds["species"], birds.drop(columns=["species", "year"])
    return hs.report(hs.NaiveBayes().fit(birds, species), birds, y=species)


def few_labels():
    birds = hs.load_penguins()[MEASURES]
    labels = hs.load_penguins()["species"].where(np.arange(len(birds)) % 8 == 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return hs.report(hs.GaussianClassifier(random_state=0).fit(birds, labels), birds, y=labels)


def clusters():
    birds = hs.load_penguins()[MEASURES]
    return hs.report(hs.KMeans(3, random_state=0).fit(birds), birds)


def states():
    rng = np.random.default_rng(1)
    hot = np.cumsum(rng.random(160) < 0.06) % 2
    steps = pd.DataFrame({"day": pd.date_range("2024-01-01", periods=160), "load": rng.normal(20 + 15 * hot, 3)})
    steps["alarms"] = np.where(rng.random(160) < 0.05 + 0.5 * hot, "yes", "no")
    steps.loc[::17, "load"] = np.nan
    return hs.report(hs.HMM(2, emission="auto", n_init=2, random_state=0, prior=1.0).fit(steps, time="day"), steps)


def several_sequences():
    rng = np.random.default_rng(2)
    runs = [rng.poisson(np.repeat(rng.permutation([3.0, 12.0, 3.0]), 20))[:, None] * 1.0 for _ in range(5)]
    return hs.report(hs.HMM(2, n_init=2, random_state=0).fit(runs), runs)


def network():
    votes = hs.load_votes()[["party", "crime", "mx_missile", "education_spending", "immigration"]]
    edges = [("party", "crime"), ("party", "mx_missile"), ("crime", "education_spending"), ("party", "immigration")]
    return hs.report(hs.BayesNet(edges, random_state=0).fit(votes), votes)


def class_network():
    votes = hs.load_votes()[["crime", "mx_missile", "education_spending", "immigration"]]
    edges = [("bloc", name) for name in votes]
    return hs.report(hs.BayesNet(edges, hidden={"bloc": 2}, n_init=2, random_state=0).fit(votes), votes)


def grammar():
    said = ["the dog barks", "Ann sees the cat", "Bob sees Ann", "the cat sees the dog", "Ann barks"] * 3
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = hs.PCFG.from_string(RULES, on_unparsable="skip").fit([*said, "the the"])
    return hs.report(model, [*said, "the the"])


def words():
    nouns = {"haus": "house", "buch": "book", "hund": "dog", "baum": "tree"}
    adjectives = {"kleine": "small", "grosse": "large", "alte": "old"}
    pairs = [
        (f"das {a} {n} ist sehr {b} .", f"the {x} {m} is very {y} .")
        for n, m in nouns.items()
        for a, x in adjectives.items()
        for b, y in adjectives.items()
    ]
    return hs.report(hs.WordAligner().fit(pairs), pairs)


def transcripts():
    rng = np.random.default_rng(1)
    levels = {"heat": 300.0, "hold": 420.0, "cool": 150.0}
    runs, logs = [], []
    for r in range(8):
        phases = ["heat", "hold", "cool"] if r % 2 else ["heat", "hold", "heat", "cool"]
        lengths = rng.integers(6, 15, len(phases))
        runs.append(np.repeat([levels[p] for p in phases], lengths) + 50 * rng.normal(size=lengths.sum()))
        logs.append(" ".join(phases))
    return hs.report(hs.TranscriptAligner(states_per_unit=1).fit(runs, logs), runs, y=logs)


def text():
    rng = np.random.default_rng(3)
    sides = {"sport": "goal match team win player", "money": "bank market price share rate"}
    rows = [
        (label, " ".join(rng.choice([*sides[label].split(), "the", "today", "new"], 8)))
        for label in sides
        for _ in range(60)
    ]
    table = pd.DataFrame(rows, columns=["label", "body"])
    model = hs.NaiveBayes(columns={"body": "text"}).fit(table[["body"]], table["label"])
    return hs.report(model, table[["body"]], y=table["label"])


PAGES = {  # by name: the function, and the most pages that it may take in print
    "gaussian": (gaussian, 5),
    "classes": (classes, 5),
    "nine classes": (nine_classes, 8),
    "classifier": (classifier, 6),
    "few labels": (few_labels, 6),
    "clusters": (clusters, 4),
    "states": (states, 5),
    "several sequences": (several_sequences, 5),
    "network": (network, 5),
    "class network": (class_network, 5),
    "grammar": (grammar, 4),
    "words": (words, 5),
    "transcripts": (transcripts, 4),
    "recordings": (speech, 5),
    "text": (text, 6),
}
