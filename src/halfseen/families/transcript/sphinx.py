"""Acoustic models of CMU Sphinx as aligners: phones without context, with the front end that they were trained for.

means, variances, weights   densities in codebooks, one for each phone (ptm), for all (semi) or for each state (cont)
transition_matrices         probability of leaving each state; three states from left to right, of which none is skipped
mdef                        phones; `SIL` is the optional pause, `+NSN+` and `+SPN+` (noise, speech) are units too
feat.params                 front end, "sphinx" of `AudioFolder`; noise removal stays off
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from halfseen.errors import DataError, ParameterError
from halfseen.families.transcript.estimator import TranscriptAligner
from halfseen.families.transcript.phones import SIL
from halfseen.families.transcript.sound.features import N_CEPSTRA
from halfseen.families.transcript.sound.sphinx_features import RATE, SPHINX_STEP, WINDOW, SphinxFrontEnd
from halfseen.families.transcript.sphinx_files import (
    Phones,
    read_codebooks,
    read_options,
    read_phones,
    read_transitions,
    read_weights,
)
from halfseen.leaves.leaf import Floats

__all__ = ["read_sphinx"]

LEAST_VARIANCE, LEAST_WEIGHT, LEAST_MOVE = 1e-4, 1e-7, 1e-4  # floors of Sphinx, which its decoder applies too
# Chosen for en-us on joined digits (fsdd), with speech_mfa in view: 92.5 % of the digits begin within two standard
# deviations and 5 ms; see benchmarks/sphinx.
SCALE = 0.15  # acoustic
BOUNDARY = 0.02  # standard deviation, in seconds
FEATURES = "1s_c_d_dd"
FILES = ("mdef", "means", "variances", "transition_matrices", "feat.params")

# Options of feat.params that have no counterpart here, and the values with which the features are those of `sphinx`.
FIXED: Mapping[str, frozenset[str]] = {
    "feat": frozenset({FEATURES}),
    "transform": frozenset({"dct"}),
    "agc": frozenset({"none"}),
    "varnorm": frozenset({"no"}),
    "cmn": frozenset({"batch", "live", "current", "prior"}),
    "remove_dc": frozenset({"no"}),
    "unit_area": frozenset({"yes"}),
    "round_filters": frozenset({"yes"}),
    "doublebw": frozenset({"no"}),
    "warp_params": frozenset(),
    "lda": frozenset(),
}
NUMBERS = {"samprate": RATE, "frate": round(1 / SPHINX_STEP), "wlen": WINDOW / RATE, "nfft": 512, "ncep": N_CEPSTRA,
           "ceplen": N_CEPSTRA, "alpha": 0.97}  # fmt: skip
NEAR = 1e-3  # relative difference of numbers that are written with few digits: wlen is 0.025625 or 0.0256
SETTINGS = ("nfilt", "lowerf", "upperf", "lifter")
# What Sphinx takes where feat.params does not say it.
DEFAULTS = {"nfilt": "40", "lowerf": "133.33334", "upperf": "6855.4976", "lifter": "0", "transform": "legacy"}
IGNORED = frozenset({"remove_noise", "remove_silence", "dither", "svspec", "model", "cmninit", "vad_prespeech",
                     "vad_postspeech", "vad_threshold", "vad_startspeech", "seed", "input_endian",
                     "nchans"})  # fmt: skip


class Densities(NamedTuple):
    """Densities of the states of phones.

    Attributes
    ----------
    books : (U, S) ints
    mean, var : (C, M, D) arrays
    mix : (U, S, F, M) array
    streams : tuple of int       columns of each stream
    """

    books: NDArray[np.int64]
    mean: Floats
    var: Floats
    mix: Floats
    streams: tuple[int, ...]


def read_sphinx(
    folder: str | os.PathLike[str],
    dictionary: Mapping[str, Any] | None = None,
    *,
    unknown: str | None = None,
    acoustic_scale: float = SCALE,
    boundary_sd: float = BOUNDARY,
    n_jobs: int | None = None,
) -> TranscriptAligner:
    """Read an acoustic model of CMU Sphinx, to align recordings at once.

    Its phones without context (context-independent) become the units of a `TranscriptAligner`, with three states each,
    their mixtures and transitions, and `SIL` as optional pause. Triphones are not read. Models are semi-continuous,
    phonetically tied or continuous, with features `1s_c_d_dd` of sound at 16 kHz.

    Parameters
    ----------
    folder : path
        A folder with mdef, means, variances, transition_matrices, feat.params, and sendump or mixture_weights.
    dictionary : mapping, optional
        Pronunciations of words, such as those of `pronunciations_of` or `read_dictionary`. Without it transcripts are
        of phones, and `with_dictionary` adds words.
    unknown : str, optional
        Unit for words that are not in the dictionary, such as "+SPN+".
    acoustic_scale, boundary_sd : float
        As in `TranscriptAligner`. There are no training data to measure them on: the defaults were chosen on
        spoken digits and read speech with the model en-us.
    n_jobs : int, optional

    Returns
    -------
    TranscriptAligner
        Its `front_end_` is what `AudioFolder` takes in features=. `hs.save` writes it to a model file, which
        ``halfseen align`` reads. `surprise` of its alignments is 0: what is usual is not known.

    Raises
    ------
    DataError
        A file is missing, damaged, or of a kind of model that is not supported; it is named.

    Examples
    --------
    >>> aligner = hs.read_sphinx("en-us/", hs.pronunciations_of(["hello", "world"]))  # doctest: +SKIP
    >>> corpus = hs.AudioFolder("talks/", features=aligner.front_end_)  # doctest: +SKIP
    >>> found = aligner.align(corpus, corpus.transcripts)  # doctest: +SKIP
    """
    path = Path(folder)
    _check_folder(path)
    front = _front_end(path / "feat.params")
    phones = read_phones(path / "mdef")
    if SIL not in phones.names:
        raise DataError(
            f"{path / 'mdef'}: there is no phone {SIL}, the pause. Phones: {', '.join(phones.names)[:200]}."
        )
    found = _densities(path, phones)
    model = TranscriptAligner.from_params(
        phones.names, found.mean, found.var, found.mix, _leave(path / "transition_matrices", phones),
        codebooks=found.books, streams=found.streams, dictionary={} if dictionary is None else dictionary,
        unknown=unknown, silence=SIL, step=SPHINX_STEP, acoustic_scale=acoustic_scale, boundary_sd=boundary_sd,
        n_jobs=n_jobs,
    )  # fmt: skip
    model._front_end = str(front)
    return model


def _check_folder(path: Path) -> None:
    """Refuse what is not a folder with the files of a model."""
    if not path.is_dir():
        raise DataError(
            f"{path}: there is no such folder. An acoustic model of Sphinx is a folder with mdef and means."
        )
    missing = [name for name in FILES if not (path / name).is_file()]
    missing += [] if any((path / name).is_file() for name in ("sendump", "mixture_weights")) else ["sendump"]
    if missing:
        inside = sorted(one.parent for one in path.glob("*/mdef"))
        hint = f" Did you mean {inside[0]}?" if inside else ""
        raise DataError(f"{path} is not an acoustic model of Sphinx: it has no {', '.join(missing)}.{hint}")
    if (path / "feature_transform").exists():
        raise DataError(f"{path}: the model has a feature_transform (LDA), which is not supported.")


def _front_end(path: Path) -> SphinxFrontEnd:
    """Return the front end that `feat.params` describes; options that would change the features are refused."""
    options = read_options(path)
    given = {"transform": DEFAULTS["transform"], **options}
    for name, value in given.items():
        allowed = FIXED.get(name)
        if allowed is not None and value not in allowed:
            wanted = f": expected {' or '.join(sorted(allowed))}" if allowed else ""
            raise DataError(f"{path}: -{name} {value} is not supported{wanted}.")
        if name in NUMBERS and not _near(path, name, value):
            raise DataError(f"{path}: -{name} {value} is not supported: expected {NUMBERS[name]:g}.")
        if allowed is None and name not in (*NUMBERS, *SETTINGS, *IGNORED):
            raise DataError(f"{path}: the option -{name} is not known.")
    try:
        return SphinxFrontEnd.of({name: options.get(name, DEFAULTS[name]) for name in SETTINGS})
    except ParameterError as error:
        raise DataError(f"{path}: {error}") from None


def _near(path: Path, name: str, value: str) -> bool:
    try:
        return abs(float(value) - NUMBERS[name]) <= NEAR * NUMBERS[name]
    except ValueError:
        raise DataError(f"{path}: -{name} {value!r:.40} is not a number.") from None


def _densities(folder: Path, phones: Phones) -> Densities:
    """Return the densities of the phones without context, checked against each other."""
    (streams, mean), (other, var) = (read_codebooks(folder / name) for name in ("means", "variances"))
    if streams != other or mean.shape != var.shape:
        raise DataError(
            f"{folder / 'variances'}: numbers {var.shape} in streams {other}, means {mean.shape} {streams}."
        )
    if sum(streams) != 3 * N_CEPSTRA:
        raise DataError(f"{folder / 'means'}: {sum(streams)} columns, expected {3 * N_CEPSTRA} ({FEATURES}).")
    if (var < 0).any():
        raise DataError(f"{folder / 'variances'}: a variance is below 0.")
    mix = read_weights(folder, int(phones.senones.max()) + 1)
    if mix.shape[1:] != (len(streams), mean.shape[1]):
        raise DataError(
            f"{folder}: weights of {mix.shape[1]} streams and {mix.shape[2]} components, but means has {len(streams)} "
            f"and {mean.shape[1]}."
        )
    books = _books(folder, phones, len(mean))
    used, numbers = np.unique(books, return_inverse=True)
    mix = np.maximum(mix, LEAST_WEIGHT)
    mix = (mix / mix.sum(axis=2, keepdims=True))[phones.senones]
    own = numbers.reshape(books.shape)
    return Densities(own, mean[used], np.maximum(var[used], LEAST_VARIANCE), mix, tuple(streams))


def _books(folder: Path, phones: Phones, n_books: int) -> NDArray[np.int64]:
    """Return the codebook of each state, by their number: one for all, for each phone, or for each senone."""
    n_phones, n_states = phones.senones.shape
    if n_books == 1:
        return np.zeros((n_phones, n_states), dtype=np.int64)
    if n_books == phones.n_senones:
        return phones.senones
    if n_books == n_phones:
        return np.repeat(np.arange(n_phones), n_states).reshape(n_phones, n_states)
    raise DataError(
        f"{folder / 'means'}: {n_books} codebooks, expected 1, {n_phones} (one for each phone) or {phones.n_senones} "
        "(one for each state)."
    )


def _leave(path: Path, phones: Phones) -> Floats:
    """Return the probability of leaving each state, (U, S); a matrix that skips a state or goes back is refused."""
    matrices = read_transitions(path)
    n_states = phones.senones.shape[1]
    if matrices.shape[1] != n_states or phones.matrices.max() >= len(matrices):
        raise DataError(
            f"{path}: {len(matrices)} matrices of {matrices.shape[1]} states, but mdef has phones of {n_states} states "
            f"with matrices up to number {phones.matrices.max()}."
        )
    at = np.arange(n_states)
    own = matrices[phones.matrices]
    stay, leave = own[:, at, at], own[:, at, at + 1]
    if not np.allclose(stay + leave, 1.0, atol=1e-6):
        raise DataError(f"{path}: a phone can skip a state or go back, which is not supported.")
    return np.clip(leave, LEAST_MOVE, 1.0)
