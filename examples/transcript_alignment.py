"""
Transcript alignment: when each unit occurs
===========================================

Often the order of events is known but not their timing: a transcript of a recording, the steps of a recipe, the phases
of a process. `TranscriptAligner` finds when each began, from many such sequences and only the order.
"""

# %%
# The phases of a machine
# -----------------------
# Twelve runs of a furnace. A log lists the phases of each run, but its clock was wrong, so only the order is known.
# Temperature and current were recorded every minute, with noise and missing values.

import csv
import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import halfseen as hs

rng = np.random.default_rng(0)
LEVELS = {"heat": (300, 9.0), "hold": (420, 4.0), "cool": (150, 0.5)}
runs, logs, truth = [], [], []
for r in range(12):
    phases = ["heat", "hold", "cool"] if r % 3 else ["heat", "hold", "heat", "hold", "cool"]
    lengths = rng.integers(8, 20, len(phases))
    levels = np.repeat([LEVELS[phase] for phase in phases], lengths, axis=0)
    readings = levels + rng.normal(size=levels.shape) * [90, 3.0]
    readings[rng.random(readings.shape) < 0.1] = np.nan
    runs.append(readings)
    logs.append(" ".join(phases))
    truth.append(np.cumsum(lengths) - lengths)

model = hs.TranscriptAligner(states_per_unit=1).fit(runs, logs)
print(model.describe())
found = model.align(runs, logs)
errors = [
    abs(part.start - at)
    for one, starts in zip(found, truth, strict=True)
    for part, at in zip(one.words, starts, strict=True)
]
print(f"starts that are off by one minute or less: {np.mean(np.array(errors) <= 1):.0%}")

# %%
# Every boundary has a standard deviation, and every phase a confidence: the mean probability that its minutes belong
# to it.

for part in found[0].words:
    print(f"{part.name}: {part.start:.0f} to {part.end:.0f}, ± {part.start_sd:.2f}, confidence {part.confidence:.3f}")

ax = hs.plot_alignment(found[0], runs[0][:, 0], level="words")
ax.set_ylabel("temperature")

# %%
# Speech
# ------
# The same model finds phones in speech. The recordings are not part of the library; if they are not available, this
# part says so. They are eight sentences of a speech synthesiser with the time of every phone (15 seconds in all, 45
# phones), and spoken digits of two people.

places = [os.environ.get("HALFSEEN_DATA"), "../shared/data", "../../shared/data"]
data = next((Path(place) for place in places if place and Path(place, "espeak_dev").exists()), None)
if data is None:
    print("no recordings here: set HALFSEEN_DATA to the folder that has them")

# %%
# Features are mel-frequency cepstra every 10 ms. Units are phones; pauses may occur anywhere. Nothing is known about
# their sound, except that silence is quiet.

if data is not None:
    phones: dict[str, list[tuple[str, float]]] = {}
    with open(data / "espeak_dev" / "phones.csv", newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if not row["phone"].startswith("_"):
                phones.setdefault(row["file"], []).append((row["phone"], int(row["start_sample"]) / 22050))
    said = {name: " ".join(phone for phone, _ in listed) for name, listed in phones.items()}
    known = {phone for listed in phones.values() for phone, _ in listed}
    corpus = hs.AudioFolder(data / "espeak_dev", transcripts=said, words=known)
    aligner = hs.TranscriptAligner(2, silence="sil", step=corpus.step, start={"sil": corpus.quiet()})
    speech = aligner.fit(corpus, corpus.transcripts).align(corpus, corpus.transcripts)
    off = np.array([
        abs(part.start - at)
        for name, one in zip(corpus.names, speech, strict=True)
        for part, (_, at) in zip(one.words, phones[f"{name}.wav"], strict=True)
    ])  # fmt: skip
    print(f"{len(off)} boundaries, median error {1000 * np.median(off):.0f} ms")
    print(f"{np.mean(off <= 0.0201):.0%} within 20 ms, {np.mean(off <= 0.0501):.0%} within 50 ms")
    hs.plot_alignment(speech[0], sound=corpus.samples(0))

# %%
# Recognising digits
# ------------------
# A unit for each digit. To recognise a digit, find the transcript under which the recording is most probable. Trained
# on recordings 5 to 9 of each digit and person, tested on 0 to 4.

if data is not None:
    names = sorted(path.stem for path in (data / "fsdd").glob("*.wav"))
    folder = hs.AudioFolder(data / "fsdd", transcripts={name: name[0] for name in names})
    late = np.array([int(name[-1]) > 4 for name in folder.names])
    train, test = ([folder[b] for b in np.flatnonzero(which)] for which in (late, ~late))
    digits = [name[0] for name in folder.names]
    recogniser = hs.TranscriptAligner(5, step=0.01, tol=1.0)
    recogniser.fit(train, [digit for digit, own in zip(digits, late, strict=True) if own])
    scores = [recogniser.score_samples(test, [digit] * len(test)) for digit in "0123456789"]
    heard = np.array(list("0123456789"))[np.argmax(scores, axis=0)]
    right = heard == np.array(digits)[~late]
    print(f"{right.mean():.0%} of {len(right)} digits recognised")

plt.show()
