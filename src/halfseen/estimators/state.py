"""A fitted mixture over a table as plain values and arrays, and back: what is in a model file.

What all families share is public here; those that are no mixture over a table have a module of their own beside this
one (`chain_state`).

Vocabulary
----------
State     a record of plain values, and named arrays; no class, no function
Origin    where a fit came from: its data, seed and time
taken     estimator -> State
restored  State -> estimator, checked as a thing from outside: every name, type, shape and value
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from hashlib import blake2b
from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar, get_args

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from halfseen.data import Column, Schema, frame_from_dict
from halfseen.data.columns import Kind
from halfseen.data.counts import Counts
from halfseen.data.template import described, rebuilt
from halfseen.data.text import read_options
from halfseen.errors import ParameterError
from halfseen.estimators import options
from halfseen.estimators.table import emission_builder
from halfseen.estimators.table.cells import decoded
from halfseen.leaves import Leaf, Normal
from halfseen.leaves.leaf import Floats, frozen
from halfseen.leaves.limits import Params
from halfseen.leaves.product import Bundle
from halfseen.leaves.wrappers import unwrapped
from halfseen.runners.threads import read_jobs

if TYPE_CHECKING:
    from halfseen.families.mixture.fit import TableEM

Estimator = TypeVar("Estimator", bound="TableEM")
Shape = tuple[int, ...]
Training = dict[str, tuple[str, Callable[[Any], bool]]]

TREATMENTS = ("fixed", "tied", "bernoulli", "complement")


class State(NamedTuple):
    """A fitted estimator without its class.

    Attributes
    ----------
    record : dict        plain values: None, bool, int, float, str, list, tuple, range, set, dict and small arrays
    tensors : dict       float64 arrays by name; parts of a name are separated by "/"
    """

    record: dict[str, Any]
    tensors: dict[str, Floats]


class Origin(NamedTuple):
    """Where a fit came from.

    Attributes
    ----------
    fingerprint : str or None    of the table: see `fingerprint`; None without a table, or with one in pieces
    seed : int, list or None     what `random_state` led to: passed as `random_state` it gives the same fit again
    fitted_at : str or None      time of the fit in UTC
    command : str or None        what was typed, for a fit at the command line
    reading : dict or None       and how its data was read: file, query, missing markers, columns set aside
    """

    fingerprint: str | None = None
    seed: Any = None
    fitted_at: str | None = None
    command: str | None = None
    reading: dict[str, Any] | None = None

    @classmethod
    def of_fit(
        cls, recipe: Learned, n_rows: float, seed: np.random.SeedSequence, lengths: NDArray[np.int64] | None = None
    ) -> Origin:
        """Return the origin of a fit that ends now; `lengths` are those of sequences."""
        return cls.now(fingerprint(recipe, n_rows, lengths), seed)

    @classmethod
    def now(cls, print_of_data: str | None, seed: np.random.SeedSequence) -> Origin:
        """Return the origin of a fit that ends now, to data with this fingerprint (None: not taken)."""
        return cls(print_of_data, seed.entropy, _now())

    def in_pieces(self) -> Origin:
        """Return the origin after one more batch, now: the rows are not one table any more."""
        return self._replace(fingerprint=None, fitted_at=_now())


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


class Learned(Protocol):
    """What a model was built from, as far as it says what was learned of the data."""

    @property
    def schema(self) -> Schema:
        """The columns."""

    @property
    def summary(self) -> emission_builder.Summary:
        """Moments and frequencies."""


def fingerprint(recipe: Learned, n_rows: float, lengths: NDArray[np.int64] | None = None) -> str:
    """Return a fingerprint of a table, as 32 hexadecimal digits.

    It covers names, kinds and categories of the columns, the sum of the weights, the weighted count of every category,
    mean and variance of every column of numbers to nine digits, and the lengths of sequences. It tells whether a model
    was fitted to this table or to another; it does not see every cell, nor the order of the rows.
    """
    counts = list(recipe.summary.frequencies.values())
    moments = [part for mean, var in recipe.summary.moments.values() for part in (in_units(mean, var), var)]
    return digested(recipe.schema, np.array([n_rows]), *counts, *moments, lengths=lengths)


def digested(schema: Schema, *figures: Floats, lengths: NDArray[np.int64] | None = None) -> str:
    """Return a digest of the columns of a table, of figures about it to nine digits, and of lengths of sequences."""
    digest = blake2b(repr(schema.columns).encode("utf-8", "surrogatepass"), digest_size=16)
    for numbers in figures:
        digits, power = np.frexp(numbers)  # nine digits: the last ones differ between machines
        digest.update(np.round(digits, 9).astype("<f8").tobytes() + power.astype("<i4").tobytes())
    if lengths is not None:
        digest.update(np.sort(lengths).astype("<i8").tobytes())
    return digest.hexdigest()


def in_units(mean: Floats, var: Floats) -> Floats:
    """Return means in standard deviations, to nine places: a mean of nearly 0 has no digits of its own."""
    return np.round(mean / np.sqrt(np.where(var > 0, var, 1.0)), 9) + 0.0


# ---- out ---------------------------------------------------------------------------------------------------------


def taken(model: TableEM) -> State:
    """Return the state of a fitted estimator."""
    recipe = model._recipe
    record = common(model, TRAINING) | {
        "class_names": list(model.class_names_),
        "model": {
            "n_components": recipe.n_components,
            "prior": recipe.prior,
            "variance_floor": recipe.variance_floor,
            "fixed": list(recipe.fixed),
            "covariance": recipe.covariance,
            "ridge": recipe.ridge,
            "observed": recipe.observed,
            "from_params": model._without_data,
        },
    }
    tensors = arrays_of(model, recipe.summary)
    return State(record, tensors if recipe.masses is None else {**tensors, "masses": recipe.masses})


def common(model: Any, training: Training) -> dict[str, Any]:
    """Return what the record of every family holds."""
    schema, origin = model._schema, model._origin
    return {
        "options": _options(model),
        "columns": [_column(schema, j) for j in range(len(schema.columns))],
        "named": schema.named,
        "feature_names": getattr(model, "feature_names_in_", np.zeros(0)).tolist(),
        "container": described(model._template),
        "training": _training(model, training),
        "data_fingerprint": origin.fingerprint,
        "seed": origin.seed,
        "fitted_at": origin.fitted_at,
        "command": origin.command,
        "reading": origin.reading,
    }


def _options(model: Any) -> dict[str, Any]:
    """Return the constructor's arguments; a generator, which moves on, is left out."""
    found = dict(model.get_params(deep=False))
    if not isinstance(found["random_state"], int | np.integer):
        found["random_state"] = None
    return found


def _column(schema: Schema, j: int) -> dict[str, Any]:
    column = schema.columns[j]
    block = next(name for name, members in schema.blocks.items() if j in members)
    treatment = block.partition(".")[2] or None
    categories = None if column.categories is None else list(column.categories)
    found = {"name": column.name, "kind": column.kind, "categories": categories, "treatment": treatment}
    return found | ({"options": dict(column.options)} if column.kind == "text" else {})


def _training(model: Any, training: Training) -> dict[str, Any]:
    """Return what the fit left beside the parameters: whatever of it there is."""
    own = vars(model)
    found = {name: own[attribute] for name, (attribute, _) in training.items() if attribute in own}
    if "selection_" in own:
        found["selection_"] = nw.from_native(own["selection_"], eager_only=True).to_dict(as_series=False)
    return found


def arrays_of(model: Any, summary: emission_builder.Summary) -> dict[str, Floats]:
    """Return parameters, statistics and summary as named arrays."""
    found = _named("params", model._params)
    for block, (mean, var) in summary.moments.items():
        found |= {f"summary/{block}/mean": mean, f"summary/{block}/var": var}
    found |= {f"summary/{block}/counts": counts for block, counts in summary.frequencies.items()}
    return found | (_named_stats("stats", model._model, model._stats) if hasattr(model, "_stats") else {})


def _named(name: str, params: Params) -> dict[str, Floats]:
    """Return the arrays in a tree of parameters, each by its place in the tree."""
    if isinstance(params, Mapping):
        inside = dict(params)
    elif isinstance(params, tuple):
        inside = dict(zip(params._fields, params, strict=True))  # type: ignore[attr-defined]
    else:
        return {name: params}
    return {key: array for part, value in inside.items() for key, array in _named(f"{name}/{part}", value).items()}


def _named_stats(name: str, leaf: Leaf, stats: Floats) -> dict[str, Floats]:
    """Return the statistics of the leaves inside a leaf, each by its place in the tree."""
    if not isinstance(leaf, Bundle):
        return {name: stats}
    parts = [_named_stats(f"{name}/{part}", leaf.leaves[part], own) for part, own in leaf.view(stats).items()]
    return {key: array for part in parts for key, array in part.items()}


# ---- in ----------------------------------------------------------------------------------------------------------


def restored(cls: type[Estimator], state: State) -> Estimator:
    """Return the estimator whose state this is; raise `ParameterError` for what cannot be one."""
    record, tensors = state
    model = opened(cls, record, RECORD)
    recipe = _recipe(model._schema, record["model"], tensors)
    model._recipe, model._model = recipe, recipe.model()
    others = {"masses": recipe.masses.shape} if recipe.masses is not None else {}
    put_arrays(model, tensors, others)
    _restore_names(model, record)
    restore_columns(model, record)
    restore_training(model, record["training"], TRAINING)
    found = record["training"]
    if "n_rows" not in found or found.get("n_components_", recipe.n_components) != recipe.n_components:
        raise ParameterError("training: the number of rows or of components is not there or wrong.")
    if record["model"]["from_params"] is True:
        model._without_data = True
    elif not hasattr(model, "_stats"):
        raise ParameterError("the statistics of the fit are missing.")
    return model


COMMON = {
    *("options", "columns", "named", "feature_names", "container", "model", "training"),
    *("data_fingerprint", "seed", "fitted_at", "command", "reading"),
}
RECORD = COMMON | {"class_names"}


def opened(cls: type[Any], record: Mapping[str, Any], keys: set[str]) -> Any:
    """Return an estimator with the options, the columns and the origin of a record, all checked."""
    _check_keys(record, keys)
    model = cls(**_known_options(cls, record["options"]))
    model._check_options()
    read_jobs(model.n_jobs)
    options.whole("random_state", model.random_state or 0, 0)
    model._schema = _schema(record["columns"], record["named"])
    model._origin = _origin(record)
    return model


def put_arrays(model: Any, tensors: Mapping[str, Floats], others: Mapping[str, Shape]) -> None:
    """Give a model its parameters and statistics, once every array is known to be what its leaves expect."""
    shapes = {name: array.shape for name, array in _named("params", model._model.blank()).items()}
    with_stats = any(name.startswith("stats/") for name in tensors)
    if with_stats:
        blank = np.broadcast_to(np.zeros(()), model._model.stats_shape)
        shapes |= {name: array.shape for name, array in _named_stats("stats", model._model, blank).items()}
    check_shapes(tensors, shapes | summary_shapes(model._schema) | dict(others))
    model._params = _rebuilt("params", model._model.blank(), tensors)
    flaw = model._model.flaw(model._params)
    if flaw is not None:
        raise ParameterError(flaw)
    if with_stats:
        model._stats = np.concatenate(list(_stats("stats", model._model, tensors)))


def _check_keys(record: Mapping[str, Any], keys: set[str]) -> None:
    if set(record) != keys:
        wrong = sorted(map(str, set(record) ^ keys))
        raise ParameterError(f"its record has too many or too few entries: {', '.join(wrong)}.")


def _known_options(cls: type[Any], found: Any) -> dict[str, Any]:
    known = cls._get_param_names()
    unknown = sorted(set(options.mapping("options", found)) - set(known))
    if unknown:
        raise ParameterError(f"{cls.__name__} has no option {unknown[0]!r}.")
    return dict(found)


def _schema(columns: Any, named: Any) -> Schema:
    """Return the schema; names, kinds, categories and treatments must be such as a fit learns."""
    if not isinstance(columns, list) or not columns:
        raise ParameterError("there are no columns.")
    found = Schema(tuple(map(_read_column, columns)), {}, named is True)
    if len(set(found.names)) < len(found.names):
        raise ParameterError("two columns have one name.")
    treated = {column["name"]: column["treatment"] for column in columns if column["treatment"] is not None}
    wrong = [word for word in treated.values() if word not in TREATMENTS]
    if wrong:
        raise ParameterError(f"a column cannot be {wrong[0]!r:.80}.")
    return found.arrange(treated)


def _read_column(column: Any) -> Column:
    name, kind, categories = column["name"], column["kind"], column["categories"]
    if not isinstance(name, str):
        raise ParameterError(f"column {name!r:.80}: names of columns must be text.")
    if kind not in get_args(Kind):
        raise ParameterError(f"column {name!r} is of no known kind: {kind!r:.80}.")
    if not isinstance(categories, list if kind in ("categorical", "text") else type(None)):
        raise ParameterError(f"column {name!r}: a {kind} column has categories or not, by its kind.")
    if kind == "text":
        return _read_text(name, categories or [], column["options"])
    for category in categories or ():
        if not isinstance(category, str | int | float) or category != category:
            raise ParameterError(f"column {name!r}: {category!r:.80} cannot be a category.")
    if len(set(categories or ())) != len(categories or ()):
        raise ParameterError(f"column {name!r} has a category twice.")
    return Column(name, kind, None if categories is None else tuple(categories))


def _read_text(name: str, words: list[Any], found: Any) -> Column:
    """Return a column of text: its words are texts, or the numbers from 0 of a matrix."""
    spelt = all(isinstance(word, str) for word in words) and len(set(words)) == len(words)
    if not words or not (spelt or words == list(range(len(words)))):
        raise ParameterError(f"column {name!r}: its words must be texts, each once, or the numbers from 0.")
    if not isinstance(found, dict):
        raise ParameterError(f"column {name!r}: options={found!r:.80} do not say how its text is cut.")
    how = dict(found)
    length = how.pop("document_length", None)
    if length is not None and not (is_number(length) and length > 0):
        raise ParameterError(f"column {name!r}: document_length={length!r:.80} is not a number above 0.")
    kept = read_options(how)
    return Column(name, "text", tuple(words), kept if length is None else (*kept, ("document_length", length)))


def _recipe(schema: Schema, found: Any, tensors: Mapping[str, Floats]) -> emission_builder.Recipe:
    """Return the recipe, once the arrays it is made of are known to have the shapes it implies."""
    n_components = options.whole("n_components", found["n_components"])
    shares = {name: array for name, array in tensors.items() if name == "params/mix"}
    check_shapes(shares, {"params/mix": (1, n_components)})  # before anything of that size is made
    masses = tensors.get("masses")
    groups = 1 if masses is None else len(masses)
    if groups == 0 or n_components % groups:
        raise ParameterError(f"{groups} given shares do not fit {n_components} components.")
    check_shapes({} if masses is None else {"masses": masses}, {} if masses is None else {"masses": (groups,)})
    if masses is not None and not (masses.min() >= 0 and abs(masses.sum() - 1) < 1e-6):
        raise ParameterError(f"masses: given shares must be at least 0 and sum to 1, got {masses.tolist()!r:.80}.")
    covariance = options.one_of("covariance", found.get("covariance", "diag"), emission_builder.COVARIANCES)
    return emission_builder.Recipe(
        schema,
        read_summary(schema, tensors),
        n_components,
        emission_builder.read_prior(found["prior"]),
        options.number("variance_floor", found["variance_floor"], 0, 1),
        emission_builder.read_names(found["fixed"], schema, "fixed"),
        masses,
        covariance,
        options.number("ridge", found.get("ridge", 0.0)),
        options.flag("observed", found.get("observed", False)),
    )


def summary_shapes(schema: Schema) -> dict[str, Shape]:
    """Return the name and shape of every array of a summary."""
    shapes: dict[str, Shape] = {}
    for block, members in schema.blocks.items():
        if block.startswith(emission_builder.DISCRETE):
            shapes[f"summary/{block}/counts"] = (emission_builder.n_frequencies(schema, block),)
        else:
            shapes |= {f"summary/{block}/{part}": (len(members),) for part in ("mean", "var")}
    return shapes


def check_shapes(tensors: Mapping[str, Floats], shapes: Mapping[str, Shape]) -> None:
    """Refuse arrays that are missing, not expected, of another shape, or not finite."""
    for name in sorted(set(tensors) ^ set(shapes)):
        raise ParameterError(f"array {name!r} is {'missing' if name in shapes else 'not expected'}.")
    for name, shape in shapes.items():
        if tensors[name].shape != shape:
            raise ParameterError(f"array {name!r} has shape {tensors[name].shape}, expected {shape}.")
        if not np.isfinite(tensors[name]).all():
            raise ParameterError(f"array {name!r} has entries that are not finite.")


def read_summary(schema: Schema, tensors: Mapping[str, Floats]) -> emission_builder.Summary:
    """Return the summary among the arrays, checked."""
    check_shapes(
        {name: array for name, array in tensors.items() if name.startswith("summary/")}, summary_shapes(schema)
    )
    moments, frequencies = {}, {}
    for block in schema.blocks:
        if block.startswith(emission_builder.DISCRETE):
            frequencies[block] = tensors[f"summary/{block}/counts"]
            continue
        moments[block] = (tensors[f"summary/{block}/mean"], tensors[f"summary/{block}/var"])
    low = [counts.min(initial=0.0) < 0 for counts in frequencies.values()]
    low += [not (var > 0 if block.startswith("gaussian") else var >= 0).all() for block, (_, var) in moments.items()]
    low += [mean.min() < 0 for block, (mean, _) in moments.items() if block.startswith("poisson")]
    if any(low):
        raise ParameterError("summary: a count or a variance is negative, or a variance 0.")
    return emission_builder.Summary(moments, frequencies)


def _rebuilt(name: str, blank: Params, tensors: Mapping[str, Floats]) -> Params:
    """Return a tree of parameters like `blank`, its arrays found by their places."""
    if isinstance(blank, Mapping):
        return {part: _rebuilt(f"{name}/{part}", value, tensors) for part, value in blank.items()}
    if isinstance(blank, tuple):
        return type(blank)(*(tensors[f"{name}/{part}"] for part in blank._fields))  # type: ignore[attr-defined]
    return frozen(tensors[name])


def _stats(name: str, leaf: Leaf, tensors: Mapping[str, Floats]) -> Iterator[Floats]:
    """Yield the statistics of the leaves inside a leaf, in their order."""
    if isinstance(leaf, Bundle):
        for part, inside in leaf.leaves.items():
            yield from _stats(f"{name}/{part}", inside, tensors)
        return
    if _mass(unwrapped(leaf), tensors[name]).min(initial=0.0) < 0:
        raise ParameterError("stats: an expected count is negative.")
    yield tensors[name].ravel()


def _mass(leaf: Leaf, stats: Floats) -> Floats:
    """Return the expected counts among the statistics of a leaf."""
    if isinstance(leaf, Normal):
        return leaf.parts(stats).mass
    return stats if stats.ndim == 2 else stats[0]


def _every_category(schema: Schema) -> dict[str, Any]:
    """Return blocks of rows with every category: what can be decoded and put into its container can be drawn."""
    n_rows = max(1, *(len(column.categories or ()) for column in schema.columns if column.kind != "text"), 1)
    found: dict[str, Any] = {}
    for block, members in schema.blocks.items():
        if block.startswith("text"):
            found[block] = Counts.of(sparse.csr_array((n_rows, sum(schema.cardinalities(block)))))
            continue
        found[block] = np.full((n_rows, len(members)), 0.5)
        if block.startswith("categorical"):
            last = np.array(schema.cardinalities(block)) - 1
            found[block] = np.minimum(np.arange(n_rows)[:, None], last)
    return found


def _restore_names(model: TableEM, record: Mapping[str, Any]) -> None:
    model.class_names_ = read_labels("class_names", record["class_names"], model._recipe.n_components)


def read_labels(what: str, names: Any, size: int) -> tuple[str, ...]:
    """Return the names of so many components."""
    if not is_texts(names) or len(names) != size:
        raise ParameterError(f"{what}={names!r:.80} do not name {size} components.")
    return tuple(names)


def n_features(schema: Schema) -> int:
    """Return the number of columns of the container: a sparse matrix has one for each word."""
    return len(schema.columns[0].categories or ()) if is_sparse(schema) else len(schema.columns)


def is_sparse(schema: Schema) -> bool:
    """Whether the data is a sparse matrix: one column of text whose words are numbers."""
    column = schema.columns[0]
    return column.kind == "text" and len(schema.columns) == 1 and column.categories[:1] == (0,)  # type: ignore[index]


def restore_columns(model: Any, record: Mapping[str, Any]) -> None:
    """Give a model the names of its columns and the container it returns."""
    schema = model._schema
    model.columns_ = {column.name: column.kind for column in schema.columns}
    model.n_features_in_ = n_features(schema)
    features = record["feature_names"]
    if features:
        if features != list(schema.names):
            raise ParameterError("feature_names are not the names of the columns.")
        model.feature_names_in_ = np.array(features, dtype=object)
    model._template = rebuilt(record["container"])
    if len(model._template.names) != len(schema.columns):
        raise ParameterError(f"container: it has not {len(schema.columns)} columns.")
    model._template.like(decoded(schema, _every_category(schema)))


def restore_training(model: Any, training: Any, known: Training) -> None:
    """Give a model what its fit left beside the parameters."""
    found = dict(options.mapping("training", training))
    selection = found.pop("selection_", None)
    for name, value in found.items():
        attribute, possible = known.get(name, (name, None))
        if possible is None or not possible(value):
            raise ParameterError(f"training: {name}={value!r:.80} cannot be.")
        setattr(model, attribute, value)
    if selection is not None:
        lists = [isinstance(name, str) and isinstance(column, list) for name, column in selection.items()]
        if not all(lists):
            raise ParameterError("training: selection_ is not a table.")
        model.selection_ = frame_from_dict(selection, model._template)


def restore_stages(model: Any, record: Mapping[str, Any], own: Sequence[str]) -> None:
    """The same for a model trained in stages: all of `own` must be there, and a table of each stage."""
    if set(options.mapping("training", record["training"])) != set(own):
        raise ParameterError(f"training: expected {', '.join(own)}.")
    restore_training(model, record["training"], TRAINING)
    stages = record["stages"]
    if not isinstance(stages, list) or not all(isinstance(stage, dict) for stage in stages):
        raise ParameterError("stages: expected a list of tables.")
    model.stages_ = stages


def _origin(record: Mapping[str, Any]) -> Origin:
    words = {name: record[name] for name in ("data_fingerprint", "fitted_at", "command")}
    if not all(text is None or isinstance(text, str) for text in words.values()):
        raise ParameterError(f"{', '.join(words)} must be text.")
    reading = record["reading"]
    if reading is not None and not _is_reading(reading):
        raise ParameterError("reading: how the data was read must be names and lists of names.")
    return Origin(words["data_fingerprint"], record["seed"], words["fitted_at"], words["command"], reading)


def _is_reading(value: Any) -> bool:
    entries = value.values() if isinstance(value, dict) and all(isinstance(key, str) for key in value) else [0]
    return all(entry is None or isinstance(entry, str) or is_texts(entry) for entry in entries)


# ---- what each value left by a fit may be ------------------------------------------------------------------------


def is_number(value: Any) -> bool:
    """Whether a value is a finite number."""
    return isinstance(value, float | int) and not isinstance(value, bool) and isfinite(value)


def is_whole(value: Any) -> bool:
    """Whether a value is a whole number of at least 0."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _numbers(value: Any) -> bool:
    return isinstance(value, list) and all(map(is_number, value))


def is_texts(value: Any) -> bool:
    """Whether a value is a list of texts."""
    return isinstance(value, list) and all(isinstance(text, str) for text in value)


def _restarts(value: Any) -> bool:
    if not isinstance(value, dict) or set(value) != {"n_init", "n_finalists", "n_reached_best", "objectives"}:
        return False
    counts = [value[name] for name in ("n_init", "n_finalists", "n_reached_best")]
    return all(map(is_whole, counts)) and isinstance(value["objectives"], list)


def _guard(value: Any) -> bool:
    return value is None or (isinstance(value, dict) and all(map(is_number, value.values())))


OF_ALL: Training = {  # name in the record -> attribute, and what it may be
    "n_components_": ("n_components_", is_whole),
    "loglik_": ("loglik_", is_number),
    "objective_": ("objective_", is_number),
    "trace_": ("trace_", _numbers),
    "n_iter_": ("n_iter_", is_whole),
    "converged_": ("converged_", lambda value: isinstance(value, bool)),
    "stop_reason_": ("stop_reason_", lambda value: isinstance(value, str)),
    "restarts_": ("restarts_", _restarts),
    "events_": ("events_", is_texts),
}
TRAINING: Training = OF_ALL | {
    "n_rows": ("_n_rows", lambda value: is_number(value) and value >= 0),
    "classification_entropy": ("_entropy", is_number),
    "n_rows_seen_": ("n_rows_seen_", lambda value: is_number(value) and value > 0),
    "guard_": ("guard_", _guard),
}
