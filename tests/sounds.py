"""Made-up speech: every unit is a chord of its own, in noise, so that audio can be tested without a recording."""

import wave

import numpy as np

CHORDS = {"a": (300, 900), "b": (600, 1700), "c": (1200, 2500), "d": (450, 3100), "sil": ()}


def sound(units, rng, rate=16000, low=0.06, high=0.16):
    """Return samples of units one after the other, and (unit, start, end) of each in seconds."""
    parts, times, at = [], [], 0.0
    for unit in units:
        n = int(rng.uniform(low, high) * rate)
        t = np.arange(n) / rate
        tone = sum(np.sin(2 * np.pi * f * t + rng.uniform(0, 6)) for f in CHORDS[unit]) if CHORDS[unit] else 0 * t
        parts.append(0.2 * tone + 0.004 * rng.normal(size=n))
        times.append((unit, at, at + n / rate))
        at += n / rate
    return np.concatenate(parts), times


def write_wav(path, samples, rate=16000, width=2, n_channels=1):
    """Write PCM samples."""
    scaled = np.round(np.clip(samples, -1, 1) * (2 ** (8 * width - 1) - 1)).astype(np.int64)
    if width == 1:
        raw = (scaled + 128).astype(np.uint8).tobytes()
    else:
        raw = scaled.astype("<i8").view(np.uint8).reshape(-1, 8)[:, :width].tobytes()
    with wave.open(str(path), "wb") as file:
        file.setnchannels(n_channels)
        file.setsampwidth(width)
        file.setframerate(rate)
        file.writeframes(raw)


WORDS = {
    "ab": "a b",
    "ca": "c a",
    "bad": "b a d",
    "dc": "d c",
    "bc": "b c",
    "cda": "c d a",
}  # each unit beside every other


def corpus(folder, n=14, seed=0, rate=16000, speakers=("",)):
    """Write recordings with transcripts; return the truth of words, {name: [(word, start, end)]}."""
    rng, truth = np.random.default_rng(seed), {}
    for i in range(n):
        said = [str(word) for word in rng.choice(list(WORDS), rng.integers(2, 5))]
        units, owner = ["sil"], [-1]
        for w, word in enumerate(said):
            units += WORDS[word].split()
            owner += [w] * len(WORDS[word].split())
            if rng.random() < 0.3:
                units.append("sil")
                owner.append(-1)
        units.append("sil")
        owner.append(-1)
        samples, times = sound(units, rng, rate)
        place = folder / speakers[i % len(speakers)]
        place.mkdir(parents=True, exist_ok=True)
        write_wav(place / f"u{i:02d}.wav", samples, rate)
        (place / f"u{i:02d}.txt").write_text(" ".join(said).capitalize() + ".\n")
        name = (place / f"u{i:02d}").relative_to(folder).as_posix()
        truth[name] = [
            (word, min(t[1] for t, o in zip(times, owner, strict=True) if o == w),
             max(t[2] for t, o in zip(times, owner, strict=True) if o == w))
            for w, word in enumerate(said)
        ]  # fmt: skip
    return truth
