"""The data of the workloads: drawn from known classes, the same in every process."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Workload:
    """A table, its columns, and how many iterations to time."""

    name: str
    n_rows: int
    n_categorical: int
    n_numbers: int
    n_components: int
    missing: float
    n_values: int = 4
    seed: int = 0
    iterations: tuple[int, int] = (10, 210)  # seconds per iteration = difference in time / difference in iterations
    peer_iterations: tuple[int, int] = (1, 7)  # rivals that need much longer

    @property
    def size(self) -> str:
        """Say the size in words."""
        parts = [f"{self.n_categorical} columns of {self.n_values} categories"] if self.n_categorical else []
        parts += [f"{self.n_numbers} columns of numbers"] if self.n_numbers else []
        holes = f", {self.missing:.0%} missing" if self.missing else ""
        return f"{self.n_rows:,} rows, {' + '.join(parts)}, {self.n_components} classes{holes}"

    def classes(self) -> NDArray[np.int64]:
        """Return the class of each row of `data`."""
        return np.random.default_rng(self.seed).integers(0, self.n_components, self.n_rows)

    def data(self) -> NDArray[np.float64]:
        """Draw the table: categories first, then numbers; NaN where missing."""
        rng = np.random.default_rng(self.seed)
        hidden = rng.integers(0, self.n_components, self.n_rows)
        tables = rng.dirichlet(np.ones(self.n_values), (self.n_categorical, self.n_components))
        edges = np.cumsum(tables, axis=2)[:, :, :-1]
        columns = [(rng.random(self.n_rows)[:, None] > edge[hidden]).sum(axis=1) for edge in edges]
        means = rng.normal(0, 2, (self.n_numbers, self.n_components))
        columns += [rng.normal(mean[hidden], 1.0) for mean in means]
        X = np.column_stack(columns).astype(np.float64)
        X[rng.random(X.shape) < self.missing] = np.nan
        return X

    def write(self, path: str) -> None:
        """Write the table into a CSV file, categories as words and numbers to four digits."""
        import pyarrow as pa
        from pyarrow import csv

        X = self.data()
        words = pa.array([f"level {v}" for v in range(self.n_values)])
        columns = {}
        for d, cells in enumerate(X.T):
            if d < self.n_categorical:
                codes = pa.array(np.where(np.isnan(cells), 0, cells).astype(np.int32), mask=np.isnan(cells))
                columns[f"c{d}"] = pa.DictionaryArray.from_arrays(codes, words).cast(pa.string())
            else:
                columns[f"x{d}"] = pa.array(cells.round(4), from_pandas=True)
        csv.write_csv(pa.table(columns), path, csv.WriteOptions(quoting_style="none"))


@dataclass(frozen=True)
class Clusters:
    """Rows around centres, and where k-means begins."""

    name: str
    n_rows: int
    n_columns: int
    n_clusters: int
    dtype: str
    seed: int = 0
    iterations: tuple[int, int] = (2, 22)

    @property
    def size(self) -> str:
        """Say the size in words."""
        return f"{self.n_rows:,} rows, {self.n_columns} columns of {self.dtype}, {self.n_clusters} clusters"

    def data(self) -> tuple[NDArray[np.floating], NDArray[np.floating]]:
        """Draw the rows; the start is some of them."""
        rng = np.random.default_rng(self.seed)
        centres = rng.normal(size=(self.n_clusters, self.n_columns))
        X = centres[rng.integers(0, self.n_clusters, self.n_rows)] + rng.normal(size=(self.n_rows, self.n_columns))
        X = X.astype(self.dtype)
        return X, X[rng.choice(self.n_rows, self.n_clusters, replace=False)]


@dataclass(frozen=True)
class Normals:
    """Rows of a mixture of normal distributions, and where everybody starts."""

    name: str
    n_rows: int
    n_columns: int
    n_components: int
    covariance: str
    missing: float = 0.0
    seed: int = 0
    iterations: tuple[int, int] = (2, 22)

    @property
    def size(self) -> str:
        """Say the size in words."""
        holes = f", {self.missing:.0%} missing" if self.missing else ""
        return (
            f"{self.n_rows:,} rows, {self.n_columns} columns, {self.n_components} components, {self.covariance}{holes}"
        )

    def data(self) -> NDArray[np.float64]:
        """Draw the rows."""
        rng = np.random.default_rng(self.seed)
        hidden = rng.integers(0, self.n_components, self.n_rows)
        means = rng.normal(0, 1.5, (self.n_components, self.n_columns))
        X = rng.normal(size=(self.n_rows, self.n_columns))
        for k in range(self.n_components):
            turn = np.eye(self.n_columns) + 0.3 * rng.normal(size=(self.n_columns, self.n_columns))
            X[hidden == k] = means[k] + (X[hidden == k] @ turn if self.covariance == "full" else X[hidden == k])
        X[rng.random(X.shape) < self.missing] = np.nan
        return X

    def start(self, X: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
        """Return weights, means and covariances to start from: rows, and the columns' variances."""
        rows = np.random.default_rng(1).choice(np.flatnonzero(~np.isnan(X).any(axis=1)), self.n_components, False)
        var = np.nanvar(X, axis=0)
        shape = (self.n_components, 1, 1) if self.covariance == "full" else (self.n_components, 1)
        return {
            "weights": np.full(self.n_components, 1 / self.n_components),
            "means": X[rows],
            "covariances": np.tile(np.diag(var) if self.covariance == "full" else var, shape),
        }


NORMALS = {
    work.name: work
    for work in [
        Normals("gmm_full", 200_000, 16, 16, "full"),
        Normals("gmm_diag", 500_000, 32, 32, "diag"),
        Normals("gmm_holes", 200_000, 16, 16, "full", missing=0.1),
    ]
}
WORKLOADS = {
    work.name: work
    for work in [
        Workload("lca", 200_000, 20, 0, 8, 0.0),
        Workload("lca_missing", 200_000, 20, 0, 8, 0.2),
        Workload("mixed_missing", 100_000, 8, 8, 6, 0.2),
    ]
}
NAIVE_BAYES = {
    "nb_gaussian": Workload("nb_gaussian", 1_000_000, 0, 20, 10, 0.0),
    "nb_categorical": Workload("nb_categorical", 1_000_000, 20, 0, 10, 0.0),
}
CSV = Workload("csv", 1_000_000, 10, 10, 4, 0.05, n_values=12)
KMEANS = {
    "kmeans_f64": Clusters("kmeans_f64", 500_000, 32, 64, "float64"),
    "kmeans_f32": Clusters("kmeans_f32", 500_000, 32, 64, "float32"),
}
OPTIMUM = Workload("optimum", 5_000, 10, 0, 5, 0.1, n_values=3, seed=3)
MEMORY = Workload("memory", 1_000_000, 20, 0, 8, 0.0)
