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

import tempfile
import wave
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
# Sound and subtitles
# -------------------
# The same model finds words in recordings. So that this page needs no recordings, six "words" are made of four sounds,
# each a chord with noise, spoken in fourteen sentences with pauses. A folder has each sentence as a WAV file with its
# transcript beside it; a dictionary says which sounds a word consists of. No time is given.

WORDS = {"ab": "a b", "ca": "c a", "bad": "b a d", "dc": "d c", "bc": "b c", "cda": "c d a"}
CHORDS = {"a": (300, 900), "b": (600, 1700), "c": (1200, 2500), "d": (450, 3100), "pause": ()}
RATE = 16000


def speak(words):
    """Return the samples of a sentence, and when each of its words begins."""
    parts, starts, n = [], [], 0
    for word in ["", *words, ""]:
        for position, name in enumerate(WORDS[word].split() if word else ["pause"]):
            t = np.arange(int(rng.uniform(0.06, 0.16) * RATE)) / RATE
            tones = [np.sin(2 * np.pi * f * t + rng.uniform(0, 6)) for f in CHORDS[name]]
            if word and position == 0:
                starts.append(n / RATE)
            parts.append(0.2 * sum(tones) + 0.004 * rng.normal(size=len(t)))
            n += len(t)
    return np.concatenate(parts), starts


folder = Path(tempfile.mkdtemp())
begun = {}
for i in range(14):
    said = [str(word) for word in rng.choice(list(WORDS), rng.integers(2, 5))]
    samples, begun[f"{i:02}"] = speak(said)
    with wave.open(str(folder / f"{i:02}.wav"), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes(np.round(32767 * np.clip(samples, -1, 1)).astype("<i2").tobytes())
    (folder / f"{i:02}.txt").write_text(" ".join(said))

# %%
# Features are mel-frequency cepstra every 10 ms. Nothing is known about the sounds, except that silence is quiet.

corpus = hs.AudioFolder(folder, words=WORDS)
aligner = hs.TranscriptAligner(2, dictionary=WORDS, silence="sil", step=corpus.step, start={"sil": corpus.quiet()})
speech = aligner.fit(corpus, corpus.transcripts).align(corpus, corpus.transcripts)
off = np.array([
    abs(part.start - at)
    for name, one in zip(corpus.names, speech, strict=True)
    for part, at in zip(one.words, begun[name], strict=True)
])  # fmt: skip
print(f"{len(off)} words, median error {1000 * np.median(off):.0f} ms, {np.mean(off <= 0.05):.0%} within 50 ms")
hs.plot_alignment(speech[0], sound=corpus.samples(0), level="words")

# %%
# ``write`` makes subtitles, or a TextGrid, CSV or JSON file.

speech[0].write(folder / "00.srt")
print((folder / "00.srt").read_text())

# %%
# What was said?
# --------------
# To recognise a word among a few, find the transcript under which the recording is most probable.

samples, _ = speak(["bad"])
heard = hs.mfcc(samples, RATE)
scores = {word: aligner.score([heard], [word]) for word in WORDS}
print("most probable:", max(scores, key=scores.get))

plt.show()
