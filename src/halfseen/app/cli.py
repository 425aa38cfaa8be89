"""The command line: the verb first, then the model or the data. This file declares it and imports nothing heavy.

A verb is declared by a function without a body: its parameters are the arguments and the options that all models share,
its docstring is the help. Options that only some families of models have come from their manifests and are listed
in the help under the name of the family. The code of a verb is in `verbs`, imported when it is used: help stays fast.
Results go to standard output or a file, everything else to standard error.

Exit codes: 0 success, 1 error in data or files, 2 error in the command, 130 interrupted by Ctrl-C, 143 by SIGTERM.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import Parameter, signature
from typing import Annotated, Any

from typer import Argument, Context, Exit, Option, Typer, echo
from typer.core import TyperCommand

from halfseen import families
from halfseen.app import signals
from halfseen.families.family import Family
from halfseen.families.family import Option as FamilyOption

app = Typer(
    name="halfseen",
    no_args_is_help=True,
    rich_markup_mode=None,  # plain help: the decorated one takes three times as long
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Find hidden groups, states and structure in your data, even with missing values.",
    epilog="A first try: halfseen fit example:penguins -o penguins.halfseen",
)

# ---- declaration of verbs --------------------------------------------------------------------------------------------


class _Command(TyperCommand):
    """A verb whose help has the shared options first, then those of each family."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        records = {param.name: param.get_help_record(ctx) for param in self.get_params(ctx)}
        positional = {param.name for param in self.get_params(ctx) if param.param_type_name == "argument"}
        panels = [_panel(own, str(self.name), records) for own in families.FAMILIES]
        of_families = {option.name for own in families.FAMILIES for option in own.options.get(str(self.name), ())}
        arguments = [record for name, record in records.items() if name in positional]
        shared = [record for name, record in records.items() if name not in positional | of_families]
        for title, listed in (("Arguments", arguments), ("Options", shared), *panels):
            shown = [record for record in listed if record is not None]
            if shown:
                with formatter.section(title):
                    formatter.write_dl(shown)


def _panel(own: Family, verb: str, records: Mapping[str, Any]) -> tuple[str, list[Any]]:
    """Return the heading and the options of a family; for a fit, with the values of --model."""
    models = f" (--model {', '.join(own.asked)})" if verb == "fit" else ""
    listed = []
    for option in own.options.get(verb, ()):
        flag, text = records[option.name]
        listed.append((flag, f"{text}  [--model {', '.join(option.models)}]" if models and option.models else text))
    return f"Options of {own.title}{models}", listed


def _parameter(option: FamilyOption) -> Parameter:
    """Return an option of a family as a parameter of a command."""
    declared = Option(option.flag, metavar=option.metavar, help=option.help, min=option.least)
    annotation: Any = Annotated[option.type | None, declared]
    return Parameter(option.name, Parameter.KEYWORD_ONLY, default=None, annotation=annotation)


def _verb(epilog: str | None = None) -> Callable[[Callable[..., None]], None]:
    """Declare a verb: its own parameters, and the options that families have for it."""

    def declare(declared: Callable[..., None]) -> None:
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
        app.command(verb, epilog=epilog, cls=_Command)(command)

    return declare


def _run(verb: str, context: Context) -> None:
    """Run a verb; errors in data and commands end with a message, never with a traceback."""
    from halfseen.app import verbs

    typed = {name for name in context.params if str(context.get_parameter_source(name)).endswith("COMMANDLINE")}
    options = [param for param in context.command.params if param.param_type_name == "option"]
    flags = {param.name: max(param.opts, key=len) for param in options}
    try:
        code = verbs.run(verb, context.params | {"given": typed, "flags": flags})
    except KeyboardInterrupt:  # while it loads what it needs, or a second one while it ends
        code = signals.exit_code()
    raise Exit(code)


# ---- arguments and options that several verbs share ------------------------------------------------------------------

Data = Annotated[
    str,
    Argument(metavar="DATA", help="CSV, Parquet, JSON lines, DuckDB, SQLite, SPSS, Stata or SAS file; - is CSV."),
]
Model = Annotated[str, Argument(metavar="MODEL", help="A model file, made by halfseen fit.")]
Second = Annotated[
    str | None, Argument(metavar="TARGET", help="For word alignment: the file of translations, line by line.")
]
Sql = Annotated[
    str | None, Option("--sql", metavar="QUERY", help="A query (or table) of a database, or any SQL over files.")
]
Glob = Annotated[
    str | None,
    Option("--glob", metavar="PATTERN", help="In place of a file: all files that match are one table: 'visits/*.csv'."),
]
Missing = Annotated[
    str | None, Option("--missing", metavar="LIST", help='Cells that mean missing: "?,NA,-99". Empty cells always do.')
]
Ignore = Annotated[str | None, Option("--ignore", metavar="NAMES", help="Columns to leave out: id,name.")]
Columns = Annotated[
    str | None, Option("--columns", metavar="KINDS", help="Kinds of columns: age=gaussian,visits=poisson.")
]
Weight = Annotated[str | None, Option("--weight", metavar="COLUMN", help="Column with the weight of each row.")]
Cost = Annotated[
    str | None, Option("--cost", metavar="FILE", help="CSV file of costs: a row per decision, a column per class.")
]
Assign = Annotated[str, Option("--assign", metavar="HOW", help="How hidden values are assigned: soft, hard or sample.")]
Out = Annotated[
    str, Option("--output", "-o", metavar="FILE", help="File to write, format by extension; - is CSV on stdout.")
]
SafeCsv = Annotated[
    bool,
    Option("--safe-csv", help="Put ' before texts in CSV that spreadsheets would run: those with =, +, -, @ first."),
]
Seed = Annotated[int, Option("--seed", metavar="N", min=0, help="Seed of random numbers: same seed, same result.")]
Json = Annotated[bool, Option("--json", help="Print the result as JSON.")]
Jobs = Annotated[int, Option("--jobs", metavar="N", help="Threads; -1 is all cores. The result is the same.")]


MODELS = "; ".join(
    [f"{word}: {title}" for own in families.FAMILIES for word, title in own.models.items()]
    + [f"{' or '.join(own.forms)}: {own.title}" for own in families.FAMILIES if own.forms]
)


@app.callback(invoke_without_command=True)
def _root(
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


@_verb("Example: halfseen fit survey.csv -k 2..6 --missing '?' --ignore id -o survey.halfseen")
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
    columns: Columns = None,
    ignore: Ignore = None,
    missing: Missing = None,
    codes: Annotated[
        str | None,
        Option("--codes", metavar="NAMES", help="Columns of SPSS or Stata files: use codes, not value labels."),
    ] = None,
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
        Option("--memory", metavar="SIZE", help="Memory for the data, such as 500MB; more goes to temporary files."),
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


@_verb("Example: halfseen predict survey.halfseen new.csv -o classes.csv")
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
) -> None:
    """Write the class, cluster or state of each row: the input columns, the class, its probabilities, its certainty."""


@_verb(
    "Examples: halfseen align speech.halfseen corpus/ -o aligned/ --format TextGrid,srt; "
    "halfseen align words.halfseen a.de a.en -o links.txt"
)
def align(
    model: Model,
    data: Annotated[
        str, Argument(metavar="DATA", help="A folder of audio, a WAV file, a table of steps, or a file of sentences.")
    ],
    target: Second = None,
    output: Annotated[
        str, Option("--output", "-o", metavar="PATH", help="Folder for audio, file for tables; - is stdout.")
    ] = "-",
    missing: Missing = None,
    safe_csv: SafeCsv = False,
    jobs: Jobs = -1,
) -> None:
    """Time-align a transcript, or link the words of sentences and their translations."""


@_verb('Example: halfseen parse english.halfseen --text "the dog barks" --format picture')
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
    """Find the trees of sentences under a grammar."""


@_verb("Example: halfseen impute survey.halfseen survey.csv -o filled.csv")
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
) -> None:
    """Fill the missing cells of a table; observed cells stay as they are."""


@_verb("Example: halfseen sample survey.halfseen -n 1000 -o made_up.csv")
def sample(
    model: Model,
    rows: Annotated[int, Option("--rows", "-n", metavar="N", min=1, help="Number of rows, steps or sentences.")] = 10,
    output: Out = "-",
    safe_csv: SafeCsv = False,
    seed: Seed = 0,
) -> None:
    """Draw new rows from a model."""


@_verb("Example: halfseen forecast pumps.halfseen pumps.csv --steps 5 -o next.csv")
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


@_verb("Example: halfseen query asia.halfseen lung --given smoke=yes --given xray=no")
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


@_verb("Example: halfseen score survey.halfseen held_out.csv")
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
    json: Json = False,
) -> None:
    """Print how well a model describes data: log-likelihood, BIC and its N; for a classifier also accuracy."""


@_verb("Example: halfseen test survey.halfseen survey.csv --draws 199")
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


@_verb('Example: halfseen relate survey.halfseen survey.csv --covariates "age + C(party)"')
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


@_verb("Example: halfseen report survey.halfseen survey.csv -o survey.html")
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


@_verb(
    "Examples: halfseen export survey.halfseen --sql postgres --table survey --keep id -o survey.sql; "
    "halfseen export survey.halfseen --onnx -o survey.onnx"
)
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


@_verb("Example: halfseen table survey.halfseen survey.sav -o table1.docx")
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


@_verb("Example: halfseen info survey.halfseen --code")
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


@_verb("Example: halfseen explain toy.csv -k 2 -o em.html")
def explain(
    data: Data,
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


@_verb(
    "Examples: halfseen compare a.halfseen b.halfseen; halfseen compare a.halfseen data.csv --truth kind; "
    "halfseen compare links.txt gold.txt"
)
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


@_verb()
def doctor(json: Json = False) -> None:
    """Print versions, the kernels in use and missing libraries: for bug reports."""


def main() -> None:
    """Run from the shell, as `halfseen.app.start` does."""
    from halfseen.app.start import main as start

    start()
