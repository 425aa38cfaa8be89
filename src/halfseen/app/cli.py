"""The command line: the verb first, then the model or the data. This file declares it and imports nothing heavy.

A verb is declared by a function without a body: its parameters are the arguments and the options that all models share,
its docstring is the help. Options that only some families of models have come from their manifests and are listed
in the help under the name of the family. The code of a verb is in `verbs`, imported when it is used: help stays fast.
Results go to standard output or a file, everything else to standard error.

Exit codes: 0 success, 1 error in data or files, 2 error in the command, 130 interrupted by Ctrl-C, 143 by SIGTERM.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from inspect import Parameter, signature
from pathlib import PurePath
from typing import Annotated, Any

from typer import Argument, Context, Exit, Option, Typer, echo

from halfseen import families
from halfseen.app import help, signals, status_line
from halfseen.app.arguments import (
    Assign,
    Columns,
    Cost,
    Data,
    Glob,
    Ignore,
    Jobs,
    Json,
    Memory,
    Missing,
    Model,
    Out,
    SafeCsv,
    Second,
    Seed,
    Sql,
    Weight,
)
from halfseen.families.family import Option as FamilyOption

app = Typer(
    name="halfseen",
    cls=help.Group,
    rich_markup_mode=None,  # help is written by `help`: Typer's decorated one takes three times as long
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Find hidden groups, states and structure in your data, even with missing values.",
)

# ---- declaration of verbs --------------------------------------------------------------------------------------------


def _parameter(option: FamilyOption) -> Parameter:
    """Return an option of a family as a parameter of a command."""
    declared = Option(option.flag, metavar=option.metavar, help=option.help, min=option.least)
    annotation: Any = Annotated[option.type | None, declared]
    return Parameter(option.name, Parameter.KEYWORD_ONLY, default=None, annotation=annotation)


def _verb(declared: Callable[..., None]) -> None:
    """Declare a verb: its own parameters, and the options that families have for it."""
    verb = declared.__name__
    own = {option.name: option for known in families.FAMILIES for option in known.options.get(verb, ())}
    context = Parameter("context", Parameter.POSITIONAL_OR_KEYWORD, annotation=Context)
    shared = signature(declared, eval_str=True).parameters.values()

    def command(context: Context, **values: Any) -> None:
        _run(verb, context)

    command.__signature__ = signature(command).replace(  # type: ignore[attr-defined]
        parameters=[context, *shared, *map(_parameter, own.values())]
    )
    command.__doc__ = declared.__doc__
    app.command(verb, cls=help.Command)(command)


def _run(verb: str, context: Context) -> None:
    """Run a verb; errors in data and commands end with a message, never with a traceback."""
    status_line.begin(_first_words(verb, context.params))
    try:
        raise Exit(_code(verb, context))
    finally:
        status_line.end()


def _first_words(verb: str, params: dict[str, Any]) -> str:
    """Return what the status line says before anything is loaded: the file that is read first."""
    first = params.get("data") if verb in ("fit", "explain") else params.get("model")
    path = first[0] if isinstance(first, list) and first else first
    return "reading standard input" if path == "-" else f"reading {PurePath(path).name}" if path else verb


def _code(verb: str, context: Context) -> int:
    """Run a verb and return the exit code."""
    from halfseen.app import requests, verbs

    try:
        return verbs.run(verb, requests.parsed(context, ["halfseen", *sys.argv[1:]]))
    except KeyboardInterrupt:  # while it loads what it needs, or a second one while it ends
        return signals.exit_code()


MODELS = "; ".join(
    [f"{word}: {title}" for own in families.FAMILIES for word, title in own.models.items()]
    + [f"{' or '.join(own.forms)}: {own.title}" for own in families.FAMILIES if own.forms]
)


@app.callback(invoke_without_command=True)
def _root(
    context: Context,
    version: Annotated[bool, Option("--version", help="Print the version.", is_eager=True)] = False,
    kinds: Annotated[
        str | None,
        Option("--kinds", metavar="NAMES", help="Kinds of columns of other packages that model files may use."),
    ] = None,
) -> None:
    if version:
        from halfseen import __version__

        echo(__version__)
        raise Exit()
    if kinds is not None:
        _load_kinds(kinds)
    if context.invoked_subcommand is None:
        echo(help.beginning())


def _load_kinds(names: str) -> None:
    """Load kinds of columns through their entry points: a model file alone never does."""
    from halfseen.app import console, verbs
    from halfseen.errors import ParameterError
    from halfseen.registry import kinds

    try:
        for name in names.split(","):
            kinds[name.strip()]
    except ParameterError as error:
        console.fail(f"--kinds: {error}")
        raise Exit(verbs.WRONG_COMMAND) from None


# ---- verbs -----------------------------------------------------------------------------------------------------------


@_verb
def fit(
    data: Annotated[list[str] | None, Argument(metavar="DATA", help="The file or files; - is CSV on stdin.")] = None,
    output: Annotated[
        str | None, Option("--output", "-o", metavar="FILE", help="Model file to write, for example M.halfseen.")
    ] = None,
    model: Annotated[str, Option("--model", metavar="NAME", help=MODELS)] = "classes",
    classes: Annotated[
        str,
        Option("--classes", "-k", metavar="K", help="Number of classes, clusters or states: 3, 2..8, or auto."),
    ] = "auto",
    names: Annotated[
        str | None,
        Option("--names", metavar="NAMES", help="Names of the classes in order, largest first: mild,severe."),
    ] = None,
    columns: Columns = None,
    ignore: Ignore = None,
    missing: Missing = None,
    codes: Annotated[
        str | None,
        Option("--codes", metavar="NAMES", help="Columns of SPSS or Stata files: use codes, not value labels."),
    ] = None,
    no_quotes: Annotated[
        bool, Option("--no-quotes", help="Quotes in CSV are characters like others: they enclose no cells.")
    ] = False,
    weight: Weight = None,
    sql: Sql = None,
    glob: Glob = None,
    assign: Assign = "soft",
    prior: Annotated[
        str | None,
        Option(
            "--prior",
            metavar="PRIOR",
            help="row (one pseudo-row), none (maximum likelihood) or pseudo-counts such as 1.0; hidden Markov models: "
            "categories; networks: bdeu; grammars: lhs. The default depends on the model.",
        ),
    ] = None,
    ml: Annotated[
        bool, Option("--ml", help="Maximum likelihood, as for publication: the same as --prior none.")
    ] = False,
    criterion: Annotated[
        str,
        Option(
            "--criterion",
            metavar="NAME",
            help="Chooses the number of classes: bic, aic, or icl (BIC + 2 x entropy of the posteriors).",
        ),
    ] = "bic",
    restarts: Annotated[
        str, Option("--restarts", metavar="N", help="Number of random starts; auto: 16 to 128, until three agree.")
    ] = "auto",
    max_iter: Annotated[
        int, Option("--max-iter", metavar="N", min=1, help="Maximum number of iterations of the best start.")
    ] = 1000,
    seed: Seed = 0,
    jobs: Jobs = -1,
    memory: Annotated[
        str | None,
        Option(
            "--memory",
            metavar="SIZE",
            help="Memory for the data, such as 500MB, besides the library itself; more goes to temporary files.",
        ),
    ] = None,
    on: Annotated[
        str | None,
        Option(
            "--on",
            metavar="CLUSTER",
            help="Workers that read the files and hold the rows: dask (on this machine) or dask://host:port.",
        ),
    ] = None,
    report: Annotated[str | None, Option("--report", metavar="FILE", help="Also write an HTML report.")] = None,
    resume: Annotated[
        bool, Option("--resume", help="Continue an interrupted fit; the result is the same as without interruption.")
    ] = False,
    dry_run: Annotated[
        bool, Option("--dry-run", help="Estimate time, memory and disk by a fit to the first rows; write no model.")
    ] = False,
    json: Json = False,
) -> None:
    """Fit a model to a file: hidden classes by default, a classifier with --target, other models with --model."""


@_verb
def predict(
    model: Model,
    data: Data = "-",
    output: Out = "-",
    cost: Cost = None,
    reject: Annotated[float | None, Option("--reject", metavar="COST", help="Cost of not deciding.")] = None,
    why: Annotated[bool, Option("--why", help="Add the reasons for the class of each row.")] = False,
    sql: Sql = None,
    glob: Glob = None,
    missing: Missing = None,
    safe_csv: SafeCsv = False,
    jobs: Jobs = -1,
    memory: Memory = None,
) -> None:
    """Write the class, cluster or state of each row: the input columns, the class, its probabilities, its certainty."""


@_verb
def align(
    model: Annotated[
        str, Argument(metavar="MODEL", help="A model file; without one the starter model aligns sound (English).")
    ],
    data: Annotated[
        str | None,
        Argument(metavar="DATA", help="A sound file or a folder of them, a table of steps, or a file of sentences."),
    ] = None,
    target: Second = None,
    model_file: Annotated[
        str | None, Option("--model", metavar="FILE", help="The model file, in place of the first argument.")
    ] = None,
    output: Annotated[
        str,
        Option(
            "--output",
            "-o",
            metavar="PATH",
            help="File for one recording (format by extension) or a table; folder for several; - is stdout.",
        ),
    ] = "-",
    missing: Missing = None,
    safe_csv: SafeCsv = False,
    jobs: Jobs = -1,
) -> None:
    """Time-align a transcript, or link the words of sentences and their translations."""


@_verb
def pronounce(
    model: Model,
    data: Annotated[
        str, Argument(metavar="WORDS", help="A file of words, with blanks or lines between; - is standard input.")
    ] = "-",
    text: Annotated[str | None, Option("--text", metavar="WORDS", help="Words, in place of a file.")] = None,
    output: Annotated[
        str,
        Option("--output", "-o", metavar="FILE", help="File to write: a dictionary, or a table (.csv); - is stdout."),
    ] = "-",
    n_best: Annotated[
        int, Option("--n-best", "-n", metavar="N", min=1, help="Number of pronunciations of each word.")
    ] = 1,
    probs: Annotated[bool, Option("--probs", help="Also write probabilities; tables have them always.")] = False,
    jobs: Jobs = -1,
) -> None:
    """Pronounce words: write a dictionary of them, as fit and align read it."""


@_verb
def parse(
    model: Model,
    data: Annotated[str, Argument(metavar="DATA", help="A sentence on each line; - is standard input.")] = "-",
    text: Annotated[str | None, Option("--text", metavar="TEXT", help="One sentence, in place of a file.")] = None,
    output: Annotated[str, Option("--output", "-o", metavar="FILE", help="File to write; - is standard output.")] = "-",
    format: Annotated[
        str, Option("--format", metavar="NAME", help="brackets (after the log-probability), picture, or svg.")
    ] = "brackets",
    draws: Annotated[
        int, Option("--draws", metavar="N", min=0, help="Number of random trees of each sentence; 0: the best tree.")
    ] = 0,
    brackets: Annotated[bool, Option("--brackets", help="Round brackets enclose known phrases.")] = False,
    seed: Seed = 0,
    jobs: Jobs = -1,
) -> None:
    """Find the trees of sentences under a grammar. The exit code is 1 if a sentence has none."""


@_verb
def impute(
    model: Model,
    data: Data = "-",
    output: Out = "-",
    draws: Annotated[
        int,
        Option("--draws", metavar="N", min=0, help="Number of random completions, stacked; 0: the most likely values."),
    ] = 0,
    check: Annotated[
        bool, Option("--check", help="Hide known cells, impute them, and print the errors instead.")
    ] = False,
    sql: Sql = None,
    glob: Glob = None,
    missing: Missing = None,
    safe_csv: SafeCsv = False,
    seed: Seed = 0,
    memory: Memory = None,
) -> None:
    """Fill the missing cells of a table; observed cells stay as they are."""


@_verb
def sample(
    model: Model,
    rows: Annotated[int, Option("--rows", "-n", metavar="N", min=1, help="Number of rows, steps or sentences.")] = 10,
    output: Out = "-",
    safe_csv: SafeCsv = False,
    seed: Seed = 0,
) -> None:
    """Draw new rows from a model."""


@_verb
def forecast(
    model: Model,
    data: Data = "-",
    steps: Annotated[int, Option("--steps", metavar="N", min=1, help="Number of steps ahead.")] = 1,
    output: Out = "-",
    safe_csv: SafeCsv = False,
    sql: Sql = None,
    glob: Glob = None,
    missing: Missing = None,
) -> None:
    """Forecast the steps after the last one of each sequence: probabilities of states, and expected values."""


@_verb
def query(
    model: Annotated[str, Argument(metavar="MODEL", help="A model file of a network, or a BIF or XMLBIF file.")],
    variables: Annotated[
        list[str], Argument(metavar="VARIABLES", help="Variables whose joint probabilities to print.")
    ],
    known: Annotated[
        list[str] | None, Option("--given", metavar="NAME=STATE", help="A known state; may be repeated.")
    ] = None,
    json: Json = False,
) -> None:
    """Print the probabilities of variables of a Bayesian network, given the known states of others."""


@_verb
def score(
    model: Model,
    data: Data = "-",
    target: Second = None,
    sql: Sql = None,
    glob: Glob = None,
    missing: Missing = None,
    weight: Weight = None,
    details: Annotated[
        bool, Option("--details", help="Criteria, entropies, classification table, and G2 and X2 of patterns instead.")
    ] = False,
    bootstrap: Annotated[
        int | None,
        Option(
            "--bootstrap",
            metavar="N",
            min=2,
            help="With --details: p-values of the residuals between columns, by N tables drawn from the model.",
        ),
    ] = None,
    memory: Memory = None,
    json: Json = False,
) -> None:
    """Print how well a model describes data: log-likelihood, BIC and its N; for a classifier also accuracy."""


@_verb
def test(
    model: Model,
    data: Data = "-",
    draws: Annotated[int, Option("--draws", metavar="N", min=2, help="Number of tables drawn from the model.")] = 99,
    starts: Annotated[
        int, Option("--starts", metavar="N", min=2, help="Starts of the model with one class more, for each table.")
    ] = 20,
    sql: Sql = None,
    missing: Missing = None,
    seed: Seed = 0,
    jobs: Jobs = -1,
    json: Json = False,
) -> None:
    """Test the number of classes of a model against one more, by the bootstrap likelihood ratio test."""


@_verb
def relate(
    model: Model,
    data: Data = "-",
    covariates: Annotated[
        str | None,
        Option("--covariates", metavar="FORMULA", help='What may explain the classes: "age + C(party)".'),
    ] = None,
    outcomes: Annotated[
        str | None, Option("--outcomes", metavar="NAMES", help="Columns that may follow from the classes: income,vote.")
    ] = None,
    method: Annotated[
        str | None,
        Option(
            "--method",
            metavar="NAME",
            help="ml (default for covariates), bch (default for outcomes), two-step, or naive, which is not corrected.",
        ),
    ] = None,
    assign: Annotated[
        str, Option("--assign", metavar="NAME", help="Assign rows to classes: modal or proportional.")
    ] = "modal",
    reference: Annotated[
        str | None, Option("--reference", metavar="CLASS", help="Class that the others are compared with.")
    ] = None,
    columns: Columns = None,
    drop_missing: Annotated[
        bool, Option("--drop-missing", help="Leave out rows in which a covariate is missing.")
    ] = False,
    known: Annotated[
        bool, Option("--classes-known", help="Leave the uncertainty of the classes out of the errors.")
    ] = False,
    sql: Sql = None,
    glob: Glob = None,
    missing: Missing = None,
    weight: Weight = None,
    json: Json = False,
) -> None:
    """Relate classes to covariates or outcomes, with errors that know that assigned classes may be wrong."""


@_verb
def report(
    model: Model,
    data: Data,
    target: Second = None,
    output: Annotated[str, Option("--output", "-o", metavar="FILE", help="HTML file to write.")] = "report.html",
    cost: Cost = None,
    sql: Sql = None,
    missing: Missing = None,
) -> None:
    """Write a report on a model and its data: one self-contained HTML file."""


@_verb
def export(
    model: Model,
    sql: Annotated[
        str, Option("--sql", metavar="DIALECT", help="Dialect of SQL: duckdb, postgres, spark, bigquery or snowflake.")
    ] = "duckdb",
    table: Annotated[
        str, Option("--table", metavar="NAME", help='Table to read: survey, main.survey or "my.survey".')
    ] = "data",
    keep: Annotated[
        str | None, Option("--keep", metavar="NAMES", help="Columns of the table to keep, such as its key: id,name.")
    ] = None,
    onnx: Annotated[bool, Option("--onnx", help="Write a graph of ONNX instead of SQL.")] = False,
    output: Annotated[str, Option("--output", "-o", metavar="FILE", help="File to write; - is standard output.")] = "-",
) -> None:
    """Write a model for other programs, which then compute class, probabilities and log-likelihood: as SQL or ONNX."""


@_verb
def table(
    model: Model,
    data: Annotated[
        str | None,
        Argument(metavar="DATA", help="The data of the fit: adds standard errors, and of latent classes G2 and more."),
    ] = None,
    output: Annotated[
        str, Option("--output", "-o", metavar="FILE", help="File to write: .tex, .docx, .html or .md; - is text.")
    ] = "-",
    error_kind: Annotated[
        str | None,
        Option(
            "--error-kind",
            metavar="KIND",
            help="With DATA: hessian, opg (outer products), robust, bootstrap or none. By default hessian or, with a "
            "design, robust.",
        ),
    ] = None,
    strata: Annotated[
        str | None, Option("--strata", metavar="COLUMN", help="With DATA: column with the stratum of each row.")
    ] = None,
    cluster: Annotated[
        str | None,
        Option("--cluster", metavar="COLUMN", help="With DATA: column with the sampling cluster of each row."),
    ] = None,
    digits: Annotated[
        int, Option("--digits", metavar="N", min=1, help="Decimals of shares; significant digits of other numbers.")
    ] = 3,
    sql: Sql = None,
    missing: Missing = None,
) -> None:
    """Write a table for a paper: shares, probabilities and means by class, and figures of fit."""


@_verb
def info(
    model: Model,
    code: Annotated[bool, Option("--code", help="Print the Python that reproduces the fit.")] = False,
    parameters: Annotated[bool, Option("--parameters", help="Print all parameters as a table.")] = False,
    errors: Annotated[
        str | None,
        Option(
            "--errors", metavar="DATA", help="Print all parameters with standard errors; DATA are those of the fit."
        ),
    ] = None,
    error_kind: Annotated[
        str | None,
        Option(
            "--error-kind",
            metavar="KIND",
            help="With --errors: hessian, opg (outer products), robust or bootstrap. By default hessian or, with a "
            "design, robust.",
        ),
    ] = None,
    strata: Annotated[
        str | None, Option("--strata", metavar="COLUMN", help="With --errors: column with the stratum of each row.")
    ] = None,
    cluster: Annotated[
        str | None,
        Option("--cluster", metavar="COLUMN", help="With --errors: column with the sampling cluster of each row."),
    ] = None,
    methods: Annotated[bool, Option("--methods", help="Print a paragraph on methods for a paper.")] = False,
    json: Json = False,
) -> None:
    """Show what is in a model file."""


@_verb
def rename(
    model: Model,
    names: Annotated[
        list[str],
        Argument(
            metavar="NAMES", help="NUMBER=NAME, such as 0=mild 2=severe; or all names in order, such as mild severe."
        ),
    ],
    output: Annotated[
        str | None, Option("--output", "-o", metavar="FILE", help="Model file to write. Default: the same file.")
    ] = None,
) -> None:
    """Name the classes, states or clusters of a model: in its file, and in everything that is made from it."""


@_verb
def explain(
    data: Data,
    model: Annotated[str, Option("--model", metavar="NAME", help="classes, gaussian or kmeans.")] = "classes",
    classes: Annotated[int, Option("--classes", "-k", metavar="K", min=1, help="Number of classes.")] = 2,
    steps: Annotated[int, Option("--steps", metavar="N", min=1, help="Number of iterations to show.")] = 3,
    assign: Assign = "soft",
    columns: Columns = None,
    ignore: Ignore = None,
    missing: Missing = None,
    sql: Sql = None,
    seed: Seed = 0,
    output: Annotated[str, Option("--output", "-o", metavar="FILE", help="- for text, or an HTML file.")] = "-",
) -> None:
    """Show EM number by number on a table of a few rows."""


@_verb
def compare(
    model: Annotated[str, Argument(metavar="MODEL | LINKS", help="A model file, or a file of links i-j.")],
    other: Annotated[
        str,
        Argument(metavar="MODEL | DATA", help="Another model, data with a column of true classes, or gold links."),
    ],
    truth: Annotated[
        str | None, Option("--truth", metavar="COLUMN", help="Column of DATA with the true class.")
    ] = None,
    sql: Sql = None,
    missing: Missing = None,
    json: Json = False,
) -> None:
    """Compare two models class by class, a model with true classes, or word links with links made by hand."""


@_verb
def studio(
    data: Annotated[
        list[str] | None, Argument(metavar="DATA", help="The file or files; a model file may stand before them.")
    ] = None,
    model: Annotated[str, Option("--model", metavar="NAME", help=MODELS)] = "classes",
    classes: Annotated[
        str,
        Option("--classes", "-k", metavar="K", help="Number of classes, clusters or states: 3, 2..8, or auto."),
    ] = "auto",
    columns: Columns = None,
    ignore: Ignore = None,
    missing: Missing = None,
    codes: Annotated[
        str | None,
        Option("--codes", metavar="NAMES", help="Columns of SPSS or Stata files: use codes, not value labels."),
    ] = None,
    no_quotes: Annotated[
        bool, Option("--no-quotes", help="Quotes in CSV are characters like others: they enclose no cells.")
    ] = False,
    weight: Weight = None,
    sql: Sql = None,
    seed: Seed = 0,
    session: Annotated[
        str | None,
        Option(
            "--session", metavar="FILE", help="Keep models, names, labels and undo in this file; open it if it exists."
        ),
    ] = None,
    lesson: Annotated[
        str | None, Option("--lesson", metavar="NAME", help="Open a guided tour: em. Needs no data.")
    ] = None,
    upload: Annotated[bool, Option("--upload", help="Allow files of up to 200 MB to be sent from the page.")] = False,
    port: Annotated[int, Option("--port", metavar="N", min=0, max=65535, help="Port; 0: one that is free.")] = 0,
    host: Annotated[str, Option("--host", metavar="ADDRESS", help="Address to listen at.")] = "127.0.0.1",
    i_know: Annotated[
        bool, Option("--i-know", help="Allow a --host that other machines reach: nothing is encrypted.")
    ] = False,
    no_browser: Annotated[bool, Option("--no-browser", help="Print the address, and open no browser.")] = False,
) -> None:
    """Open a page on this machine: see the table, fit live, name classes, correct labels, decide, export."""


@_verb
def doctor(json: Json = False) -> None:
    """Print versions, the kernels in use and missing libraries: for bug reports."""
