"""Plots of sound or features with aligned words and units."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from halfseen.errors import ParameterError
from halfseen.families.transcript.alignment import Alignment
from halfseen.families.transcript.sound.features import spectrogram
from halfseen.plots.style import BLUE, axes, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SURE = 0.5  # segments with lower confidence are drawn pale


def plot_alignment(
    alignment: Alignment,
    features: Any = None,
    *,
    sound: tuple[Any, float] | None = None,
    level: str = "units",
    ax: Axes | None = None,
) -> Axes:
    """Draw sound or features of an utterance with the boundaries found and their uncertainty.

    A line marks the start of a unit; the band around it is two standard deviations wide on both sides. Words are
    above the units. Grey segments have a confidence below one half.

    Parameters
    ----------
    alignment : Alignment          one of those that `TranscriptAligner.align` returns
    features : (T, D) array, optional
        Drawn as an image, or as a line if there is one feature.
    sound : (samples, rate), optional
        Drawn as a spectrogram instead; times are seconds.
    level : {"units", "words", "states"}, default "units"
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes
    """
    if not isinstance(alignment, Alignment):
        raise ParameterError(f"plot_alignment draws an Alignment, got {type(alignment).__name__}.")
    if level not in ("units", "words", "states"):
        raise ParameterError(f"level={level!r} is not one of 'units', 'words', 'states'.")
    ax = axes(ax, "plot_alignment", (10, 3.5))
    if sound is not None:
        _draw_sound(ax, *sound)
    elif features is not None:
        _draw_features(ax, np.asarray(features, dtype=np.float64), alignment.duration)
    dark = sound is not None or (features is not None and np.ndim(features) == 2 and np.shape(features)[1] > 1)
    _draw_segments(ax, alignment, level, "white" if dark else "black")
    ax.set(xlim=(0, alignment.duration), xlabel="time")
    title = short(alignment.name, 60)
    ax.set_title(title, loc="left", pad=32 if level != "words" else 18, fontsize="medium", parse_math=False)
    return ax


def _draw_sound(ax: Axes, samples: Any, rate: float) -> None:
    times, frequencies, logs = spectrogram(samples, rate)
    low, high = np.quantile(logs, [0.3, 0.999])
    ax.pcolormesh(times, frequencies / 1000, logs, cmap="magma", vmin=low, vmax=high, rasterized=True)
    ax.set_ylabel("frequency, kHz")
    ax.set_ylim(0, min(8.0, rate / 2000))


def _draw_features(ax: Axes, features: Any, duration: float) -> None:
    if features.ndim == 1 or features.shape[1] == 1:
        times = (np.arange(len(features)) + 0.5) * duration / len(features)
        ax.plot(times, features.reshape(-1), color=BLUE, linewidth=1)
        ax.set_ylabel("feature")
        return
    scaled = (features - np.nanmean(features, axis=0)) / np.maximum(np.nanstd(features, axis=0), 1e-300)
    extent = (0.0, duration, -0.5, features.shape[1] - 0.5)
    ax.imshow(scaled.T, aspect="auto", origin="lower", extent=extent, cmap="magma", vmin=-2.5, vmax=2.5)
    ax.set_ylabel("feature")


def _draw_segments(ax: Axes, alignment: Alignment, level: str, colour: str) -> None:
    top = ax.get_xaxis_transform()
    for part in alignment.tier(level):
        if part.start > 0:
            ax.axvline(part.start, color=colour, linewidth=0.8)
            if part.start_sd > 0:
                span = (part.start - 2 * part.start_sd, part.start + 2 * part.start_sd)
                ax.axvspan(*span, color=colour, alpha=0.25, linewidth=0)
        shade = "black" if part.confidence >= SURE else "0.6"
        middle = (part.start + part.end) / 2
        ax.text(
            middle,
            1.02,
            part.name,
            transform=top,
            ha="center",
            va="bottom",
            fontsize="x-small",
            color=shade,
            parse_math=False,
        )
    names = [part.name for part in alignment.tier(level) if part.word >= 0]
    if names == [part.name for part in alignment.words]:
        return  # one legend entry
    for part in alignment.words:
        middle = (part.start + part.end) / 2
        ax.text(
            middle,
            1.10,
            part.name,
            transform=top,
            ha="center",
            va="bottom",
            fontsize="small",
            weight="bold",
            parse_math=False,
        )
