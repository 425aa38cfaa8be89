"""Affine transforms of numeric columns towards the densities of a model, by maximum likelihood.

    y[t] = centre + A (x[t] - centre) + b,      log p(x[t]) = log p(y[t]) + log |det A|

Given the posterior of densities (means `mean[k]` and variances `var[k]`) at each row, what EM maximises over A and b is

    value = mass log |det A| - sum over d of (w[d] G[d] w[d]' / 2 - w[d] h[d]'),       w[d] = (A[d], b[d])
    G[d]  = sum_t precision[t, d] z[t] z[t]',  precision[t, d] = sum_k resp[t, k] / var[k, d]
    h[d]  = sum_t pull[t, d] z[t],             pull[t, d] = sum_k resp[t, k] (mean[k, d] - centre[d]) / var[k, d]

with z = (x - centre, 1). Row d, given the other rows, is w[d] = (alpha c + h[d]) G[d]^-1, where c are the cofactors of
A[d] (0 for b) and alpha the better root of a quadratic (constrained MLLR: Gales 1998, Computer Speech and Language 12).

- *kind*: "mean" estimates b alone, "diagonal" also the diagonal of A, "full" all of A.
- *moments*: G, h and mass of some rows. They add.
- *pull*: means of the densities at a row, weighted by their precision.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Self

import numpy as np

from halfseen.leaves.leaf import Floats, frozen

MEAN, DIAGONAL, FULL = KINDS = ("mean", "diagonal", "full")
SWEEPS = 2  # over the rows of A: more take longer than they save passes


class Transform(NamedTuple):
    """An affine transform.

    Attributes
    ----------
    kind : str
    matrix : (D, D) array      A
    offset : (D,) array        b
    centre : (D,) array        where the transform is b alone: no digits are lost far from 0

    Examples
    --------
    >>> louder = Transform("diagonal", np.diag([2.0]), np.array([1.0]), np.zeros(1))
    >>> louder(np.array([[0.0], [3.0]])).ravel().tolist()
    [1.0, 7.0]
    """

    kind: str
    matrix: Floats
    offset: Floats
    centre: Floats

    @classmethod
    def identity(cls, kind: str, centre: Floats) -> Self:
        """Return the transform that changes nothing."""
        return cls(kind, frozen(np.eye(len(centre))), frozen(np.zeros(len(centre))), frozen(np.array(centre)))

    def __call__(self, x: Floats) -> Floats:
        """Return transformed rows, (T, D)."""
        away = np.asarray(x, dtype=np.float64) - self.centre
        moved = away @ self.matrix.T if self.kind == FULL else away * np.diag(self.matrix)
        return np.asarray(moved + (self.centre + self.offset))

    def log_det(self, mass: Floats) -> float:
        """Return what the change of units adds to the log-likelihood, for so many values of each column, (D,)."""
        if self.kind == FULL:
            return float(mass[0] * np.linalg.slogdet(self.matrix)[1])
        return float(mass @ np.log(np.abs(np.diag(self.matrix))))


class Moments(NamedTuple):
    """What estimating a transform needs from some rows; J is D + 1 if it is full, else 2: each column and 1.

    Attributes
    ----------
    square : (D, J, J) array     G
    cross : (D, J) array         h
    mass : (D,) array            rows, without missing values
    """

    square: Floats
    cross: Floats
    mass: Floats

    def __add__(self, other: tuple[Any, ...]) -> Moments:
        return Moments(*(own + its for own, its in zip(self, other, strict=True)))

    def value(self, transform: Transform) -> float:
        """Return the part of the expected log-likelihood that depends on the transform."""
        w = _rows(transform)
        quadratic = np.einsum("di,dij,dj->", w, self.square, w)
        return transform.log_det(self.mass) + float((w * self.cross).sum()) - 0.5 * float(quadratic)


def gather(kind: str, away: Floats, precision: Floats, pull: Floats) -> Moments:
    """Return the moments of rows about the centre, (T, D), which have these precisions and pulls, (T, D) each.

    Missing values add nothing; a full transform cannot have any.
    """
    if kind == FULL:
        z = np.concatenate([away, np.ones((len(away), 1))], axis=1)
        square = np.stack([(z * weight[:, None]).T @ z for weight in precision.T])
        return Moments(square, pull.T @ z, np.full(away.shape[1], float(len(away))))
    seen = away == away
    x, precision, pull = np.where(seen, away, 0.0), precision * seen, pull * seen
    first = (precision * x).sum(axis=0)
    square = np.array([[(precision * x**2).sum(axis=0), first], [first, precision.sum(axis=0)]])
    cross = np.stack([(pull * x).sum(axis=0), pull.sum(axis=0)], axis=1)
    return Moments(np.ascontiguousarray(square.transpose(2, 0, 1)), cross, seen.sum(axis=0).astype(np.float64))


def pseudo(kind: str, weight: Floats, mean: Floats, var: Floats) -> Moments:
    """Return the expected moments of rows drawn from densities, `weight` (K,) of each; means are about the centre.

    Their value is largest at the identity: as a prior they are rows that need no transform.
    """
    share = weight[:, None] / var  # (K, D)
    total = np.full(mean.shape[1], weight.sum())
    first = (share * mean).sum(axis=0)
    if kind != FULL:
        second = (share * mean**2).sum(axis=0)
        square = np.array([[second + total, first], [first, share.sum(axis=0)]])
        return Moments(np.ascontiguousarray(square.transpose(2, 0, 1)), np.stack([second, first], axis=1), total)
    z = np.concatenate([mean, np.ones((len(mean), 1))], axis=1)
    square = np.stack([(z * own[:, None]).T @ z for own in share.T])
    at = np.arange(mean.shape[1])
    square[:, at, at] += share.T @ var
    return Moments(square, (share * mean).T @ z, total)


def maximise(moments: Moments, transform: Transform) -> Transform:
    """Return a transform of the same kind of which the value is at least as large; the largest, unless it is full.

    Raises LinAlgError where the rows do not determine it.
    """
    square, cross = moments.square, moments.cross
    if not (moments.mass > 0).all():
        raise np.linalg.LinAlgError("a column has no values")
    if transform.kind == MEAN:
        return transform._replace(offset=frozen((cross[:, 1] - square[:, 0, 1]) / square[:, 1, 1]))
    inverse = np.asarray(np.linalg.inv(square), dtype=np.float64)
    plain = np.einsum("dij,dj->di", inverse, cross)  # the rows if there were no determinant
    if transform.kind == FULL:
        return _full(moments, inverse, plain, transform)
    ahead = inverse[:, :, 0]
    alpha = [
        _alpha(*each) for each in zip(ahead[:, 0].tolist(), plain[:, 0].tolist(), moments.mass.tolist(), strict=True)
    ]
    scale, offset = (np.array(alpha)[:, None] * ahead + plain).T
    return transform._replace(matrix=frozen(np.diag(scale)), offset=frozen(offset))


def _full(moments: Moments, inverse: Floats, plain: Floats, transform: Transform) -> Transform:
    """Maximise row by row, a few times: EM goes on from there."""
    matrix, n = np.array(transform.matrix), len(transform.offset)
    offset, mass = np.array(transform.offset), float(moments.mass[0])
    for _ in range(SWEEPS):
        back = np.linalg.inv(matrix)
        for d in range(n):
            cofactors = back[:, d]  # but for det A, which alpha makes up for
            ahead = inverse[d, :, :n] @ cofactors
            alpha = _alpha(float(cofactors @ ahead[:n]), float(cofactors @ plain[d, :n]), mass)
            row = alpha * ahead + plain[d]
            change = (row[:n] - matrix[d]) @ back
            back = back - np.outer(cofactors, change / (1 + change[d]))  # the inverse of A with the new row
            matrix[d], offset[d] = row[:n], row[n]
    found = transform._replace(matrix=frozen(matrix), offset=frozen(offset))
    return found if moments.value(found) > moments.value(transform) else transform


def _alpha(u: float, v: float, mass: float) -> float:
    """Return the root of u a^2 + v a = mass at which mass log |u a + v| - u a^2 / 2 is larger."""
    root = math.sqrt(v * v + 4 * u * mass)
    far = (-v - root if v > 0 else -v + root) / 2  # of the two, the one without cancellation
    roots = (far / u, -mass / far)
    return max(roots, key=lambda a: mass * math.log(abs(u * a + v)) - u * a * a / 2)


def _rows(transform: Transform) -> Floats:
    """Return w, (D, J)."""
    matrix = transform.matrix if transform.kind == FULL else np.diag(transform.matrix)[:, None]
    return np.concatenate([matrix, transform.offset[:, None]], axis=1)
