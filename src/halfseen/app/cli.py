"""The command line: the verb first, then the model or the data. This file is its grammar and loads nothing heavy.

What each verb does lives in `verbs`; each is imported when it is used, so that help is quick. A verb gets plain values
and returns nothing; results go to standard output or a file, everything else to standard error.

Exit codes: 0 done, 1 something is wrong with data or files, 2 with the command, 130 interrupted.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Annotated, Any

from typer import Argument, Context, Exit, Option, Typer, echo

app = Typer(
    name="halfseen",
    no_args_is_help=True,
    rich_markup_mode=None,  # plain help: the drawn one takes three times as long to appear
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Find what was never written down: hidden types behind the rows of a table, even when the table has holes.",
    epilog="A first try: halfseen fit penguins.csv -o penguins.halfseen",
)

# ---- options that several verbs share ------------------------------------------------------------------------------

Data = Annotated[
    str, Argument(metavar="DATA", help="CSV, TSV, Parquet, JSON lines, DuckDB or SQLite file; - is CSV on stdin.")
]
Model = Annotated[str, Argument(metavar="MODEL", help="A model file, made by halfseen fit.")]
Second = Annotated[str | None, Argument(metavar="[TARGET]", help="Of words: the file of translations, line by line.")]
Sql = Annotated[
    str | None, Option("--sql", metavar="QUERY", help="A query (or table) of a database, or any SQL over files.")
]
Missing = Annotated[
    str | None, Option("--missing", metavar="LIST", help='Cells that mean missing: "?,NA,-99". Empty cells always do.')
]
Ignore = Annotated[str | None, Option("--ignore", metavar="NAMES", help="Columns to leave out: id,name.")]
Out = Annotated[
    str, Option("--output", "-o", metavar="FILE", help="Where to write, format by extension; - is CSV on stdout.")
]
Seed = Annotated[int, Option("--seed", metavar="N", min=0, help="Same seed, same result.")]
Json = Annotated[bool, Option("--json", help="Print the result as JSON.")]
Jobs = Annotated[int, Option("--jobs", metavar="N", help="Threads; -1 is all cores. The result is the same.")]


@app.callback(invoke_without_command=True)
def _root(
    version: Annotated[bool, Option("--version", help="Print the version.", is_eager=True)] = False,
) -> None:
    if version:
        from halfseen import __version__

        echo(__version__)
        raise Exit()


@app.command(epilog="Example: halfseen fit survey.csv -k 2..6 --missing '?' --ignore id -o survey.halfseen")
def fit(
    context: Context,
    data: Annotated[list[str] | None, Argument(metavar="DATA...", help="The file or files; - is CSV on stdin.")] = None,
    output: Annotated[
        str | None, Option("--output", "-o", metavar="FILE", help="Model file to write, for instance M.halfseen.")
    ] = None,
    model: Annotated[
        str,
        Option(
            "--model",
            metavar="NAME",
            help="classes; of numbers gaussian, kmeans; of sequences hmm, transcript; of translations words; "
            "a network: net.bif or 'A -> B'; a grammar: rules.cfg.",
        ),
    ] = "classes",
    k: Annotated[
        str, Option("-k", "--classes", metavar="K", help="Number of classes or states: 3, 2..8, or auto: by BIC.")
    ] = "auto",
    target: Annotated[
        str | None, Option("--target", metavar="COLUMN", help="Column to predict: makes a classifier.")
    ] = None,
    columns: Annotated[
        str | None, Option("--columns", metavar="KINDS", help="Kinds: age=gaussian,visits=poisson.")
    ] = None,
    text: Annotated[
        str | None, Option("--text", metavar="NAMES", help="Columns of text: their words are counted.")
    ] = None,
    text_model: Annotated[
        str | None,
        Option("--text-model", metavar="NAME", help="Of text: multinomial, bernoulli (there or not) or complement."),
    ] = None,
    words: Annotated[
        str | None,
        Option("--words", metavar="OPTIONS", help="How text is cut: stop_words=english,min_df=2,ngram_range=1-2."),
    ] = None,
    document_length: Annotated[
        str | None, Option("--document-length", metavar="N", help="Words every text counts as: a number, or mean.")
    ] = None,
    unlabeled_weight: Annotated[
        str | None,
        Option("--unlabeled-weight", metavar="W", help="What a row without a target counts as: 0 to 1, or cv."),
    ] = None,
    components_per_class: Annotated[
        int | None,
        Option("--components-per-class", metavar="N", min=1, help="With --target: hidden kinds inside each class."),
    ] = None,
    covariance: Annotated[
        str | None,
        Option("--covariance", metavar="SHAPES", help="Of gaussian and hmm: full, tied, diag, spherical, or several."),
    ] = None,
    group: Annotated[
        str | None, Option("--group", metavar="COLUMN", help="Of sequences: column that says whose row it is.")
    ] = None,
    time: Annotated[
        str | None,
        Option("--time", metavar="COLUMN", help="Of sequences: column that says when it was, or file order."),
    ] = None,
    emission: Annotated[
        str | None,
        Option("--emission", metavar="KIND", help="Of hmm: auto, gaussian, categorical or poisson, all columns alike."),
    ] = None,
    transitions: Annotated[
        str | None, Option("--transitions", metavar="SHAPE", help="Of hmm: left-right, states come in their order.")
    ] = None,
    min_dwell: Annotated[
        int | None, Option("--min-dwell", metavar="N", min=1, help="Of hmm: fewest steps of a stay in a state.")
    ] = None,
    transcripts: Annotated[
        str | None, Option("--transcripts", metavar="FILE", help="Of transcript: name and what was said, CSV or TSV.")
    ] = None,
    dictionary: Annotated[
        str | None, Option("--dictionary", metavar="FILE", help="Of transcript: words and their units, TAB between.")
    ] = None,
    silence: Annotated[
        str | None,
        Option("--silence", metavar="NAME", help="Of transcript: unit of pauses, or none; of audio, sil by default."),
    ] = None,
    unknown: Annotated[
        str | None, Option("--unknown", metavar="NAME", help="Of transcript and grammars: what unknown words are.")
    ] = None,
    states: Annotated[
        int | None, Option("--states", metavar="N", min=1, help="Of transcript: states of each unit, 3 by default.")
    ] = None,
    mixtures: Annotated[
        int | None, Option("--mixtures", metavar="N", min=1, help="Of transcript: components of each state, grown.")
    ] = None,
    tier: Annotated[
        str | None, Option("--tier", metavar="NAME", help="Of transcript: tier of TextGrid files with the words.")
    ] = None,
    aligner: Annotated[
        str | None, Option("--aligner", metavar="NAME", help="Of words: hmm (by default), diagonal or ibm1.")
    ] = None,
    direction: Annotated[
        str | None, Option("--direction", metavar="NAME", help="Of words: both (by default), forward or reverse.")
    ] = None,
    symmetrize: Annotated[
        str | None,
        Option("--symmetrize", metavar="HOW", help="Of words: intersection, union, grow-diag, grow-diag-final(-and)."),
    ] = None,
    dirichlet: Annotated[
        float | None, Option("--dirichlet", metavar="A", help="Of words: prior of the lexicon, 0.01 is usual; or none.")
    ] = None,
    lowercase: Annotated[
        bool | None, Option("--lowercase", help="Of words: do not tell capitals from small letters.")
    ] = None,
    links: Annotated[
        str | None, Option("--links", metavar="FILE", help="Of words: links that are known, i-j, a line for each pair.")
    ] = None,
    hidden: Annotated[
        str | None, Option("--hidden", metavar="SIZES", help="Of a network: states of hidden variables, C=2,D=2..4.")
    ] = None,
    brackets: Annotated[
        bool, Option("--brackets", help="Of a grammar: round brackets in the sentences stand around known phrases.")
    ] = False,
    unparsable: Annotated[
        str | None,
        Option("--unparsable", metavar="HOW", help="Of a grammar: sentences without a parse, error or skip."),
    ] = None,
    ignore: Ignore = None,
    missing: Missing = None,
    weight: Annotated[
        str | None, Option("--weight", metavar="COLUMN", help="Column that says how often each row counts.")
    ] = None,
    sql: Sql = None,
    assign: Annotated[str, Option("--assign", metavar="HOW", help="soft, hard or sample.")] = "soft",
    prior: Annotated[
        str | None, Option("--prior", metavar="PRIOR", help="row, none, pseudo-counts such as 1.0, or bdeu.")
    ] = None,
    criterion: Annotated[
        str, Option("--criterion", metavar="NAME", help="bic, aic or icl: chooses the number of classes.")
    ] = "bic",
    restarts: Annotated[int, Option("--restarts", metavar="N", min=1, help="Number of random starts.")] = 16,
    max_iter: Annotated[
        int, Option("--max-iter", metavar="N", min=1, help="Most passes over the data for one start.")
    ] = 1000,
    seed: Seed = 0,
    jobs: Jobs = -1,
    memory: Annotated[
        str | None,
        Option("--memory", metavar="SIZE", help="What the table may take, such as 500MB; beyond, files are used."),
    ] = None,
    report: Annotated[str | None, Option("--report", metavar="FILE", help="Also write an HTML report.")] = None,
    resume: Annotated[bool, Option("--resume", help="Go on with an interrupted fit, to the identical result.")] = False,
    json: Json = False,
) -> None:
    """Learn a model from a file: hidden classes, with --target a classifier, with --model hmm states of sequences."""
    _run("fit", context.params | {"given": _given(context)})


@app.command(epilog="Example: halfseen predict survey.halfseen new.csv -o classes.csv")
def predict(
    context: Context,
    model: Model,
    data: Data = "-",
    output: Out = "-",
    cost: Annotated[
        str | None, Option("--cost", metavar="FILE", help="CSV of costs: a row per decision, a column per truth.")
    ] = None,
    reject: Annotated[float | None, Option("--reject", metavar="COST", help="Cost of not deciding.")] = None,
    why: Annotated[bool, Option("--why", help="Add the reasons for each row's class.")] = False,
    path: Annotated[bool, Option("--path", help="Of hmm: add the state on the best path as a whole.")] = False,
    sql: Sql = None,
    missing: Missing = None,
    jobs: Jobs = -1,
) -> None:
    """Tell the class (or state) of each row: the input columns, then class, p_<name> for each class, and certainty."""
    _run("predict", context.params)


@app.command(
    epilog="Examples: halfseen align speech.halfseen corpus/ -o aligned/ --format TextGrid,srt; "
    "halfseen align words.halfseen a.de a.en -o links.txt"
)
def align(
    context: Context,
    model: Model,
    data: Annotated[
        str, Argument(metavar="DATA", help="A folder of audio, a WAV file, a table of steps, or a file of sentences.")
    ],
    target: Second = None,
    output: Annotated[
        str, Option("--output", "-o", metavar="PATH", help="Folder for audio, file for tables; - is CSV on stdout.")
    ] = "-",
    form: Annotated[
        str, Option("--format", metavar="NAMES", help="Of audio: TextGrid, json, csv, srt, vtt, or several.")
    ] = "TextGrid",
    transcripts: Annotated[
        str | None, Option("--transcripts", metavar="FILE", help="Name and what was said, CSV or TSV.")
    ] = None,
    tier: Annotated[str | None, Option("--tier", metavar="NAME", help="Tier of TextGrid files with the words.")] = None,
    symmetrize: Annotated[
        str | None, Option("--symmetrize", metavar="HOW", help="Of words: how both directions are made one.")
    ] = None,
    probs: Annotated[bool, Option("--probs", help="Of words: write the probability of each link, i-j:0.97.")] = False,
    level: Annotated[str, Option("--level", metavar="NAME", help="On stdout and of tables: words or units.")] = "words",
    missing: Missing = None,
    jobs: Jobs = -1,
) -> None:
    """Find when everything of a transcript was said, or which word of a translation belongs to which."""
    _run("align", context.params)


@app.command(epilog='Example: halfseen parse english.halfseen --text "the dog barks" --format picture')
def parse(
    context: Context,
    model: Model,
    data: Annotated[str, Argument(metavar="DATA", help="A sentence on each line; - is standard input.")] = "-",
    text: Annotated[str | None, Option("--text", metavar="TEXT", help="One sentence, in place of a file.")] = None,
    output: Annotated[
        str, Option("--output", "-o", metavar="FILE", help="Where to write; - is standard output.")
    ] = "-",
    form: Annotated[
        str, Option("--format", metavar="NAME", help="brackets, behind their log-probability; picture, or svg.")
    ] = "brackets",
    draws: Annotated[int, Option("--draws", metavar="N", min=0, help="So many random trees in place of the best.")] = 0,
    brackets: Annotated[bool, Option("--brackets", help="Round brackets stand around known phrases.")] = False,
    seed: Seed = 0,
    jobs: Jobs = -1,
) -> None:
    """Find the trees of sentences under a grammar."""
    _run("parse", context.params)


@app.command(epilog="Example: halfseen impute survey.halfseen survey.csv -o filled.csv")
def impute(
    context: Context,
    model: Model,
    data: Data = "-",
    output: Out = "-",
    draws: Annotated[
        int,
        Option(
            "--draws", metavar="N", min=0, help="So many random completions, stacked, column 'draw'; 0: best guesses."
        ),
    ] = 0,
    check: Annotated[bool, Option("--check", help="Hide known cells, guess them, and print how far off.")] = False,
    sql: Sql = None,
    missing: Missing = None,
    seed: Seed = 0,
) -> None:
    """Fill the holes of a table; observed cells stay as they are."""
    _run("impute", context.params)


@app.command(epilog="Example: halfseen sample survey.halfseen -n 1000 -o made_up.csv")
def sample(
    context: Context,
    model: Model,
    n: Annotated[int, Option("--rows", "-n", metavar="N", min=1, help="Number of rows; of hmm, steps.")] = 10,
    sequences: Annotated[
        int | None, Option("--sequences", metavar="N", min=1, help="Of hmm: so many sequences, of N steps each.")
    ] = None,
    output: Out = "-",
    seed: Seed = 0,
) -> None:
    """Draw new rows from a model."""
    _run("sample", context.params)


@app.command(epilog="Example: halfseen forecast pumps.halfseen pumps.csv --steps 5 -o next.csv")
def forecast(
    context: Context,
    model: Model,
    data: Data = "-",
    steps: Annotated[int, Option("--steps", metavar="N", min=1, help="How far to look ahead.")] = 1,
    output: Out = "-",
    sql: Sql = None,
    missing: Missing = None,
) -> None:
    """Say what follows the last step of each sequence: probabilities of states, and what they lead to."""
    _run("forecast", context.params)


@app.command(epilog="Example: halfseen query asia.halfseen lung --given smoke=yes --given xray=no")
def query(
    context: Context,
    model: Annotated[str, Argument(metavar="MODEL", help="A model file of a network, or a BIF or XMLBIF file.")],
    variables: Annotated[list[str], Argument(metavar="VARIABLES...", help="What to ask for, jointly.")],
    given: Annotated[
        list[str] | None, Option("--given", metavar="NAME=STATE", help="What is known; may be given again.")
    ] = None,
    json: Json = False,
) -> None:
    """Ask a Bayesian network: the probabilities of variables, given what is known of others."""
    _run("query", context.params)


@app.command(epilog="Example: halfseen score survey.halfseen held_out.csv")
def score(
    context: Context,
    model: Model,
    data: Data = "-",
    target: Second = None,
    sql: Sql = None,
    missing: Missing = None,
    weight: Annotated[
        str | None, Option("--weight", metavar="COLUMN", help="Column that says how often each row counts.")
    ] = None,
    json: Json = False,
) -> None:
    """Say how well a model describes a table: log-likelihood, BIC; for a classifier also accuracy."""
    _run("score", context.params)


@app.command(epilog="Example: halfseen report survey.halfseen survey.csv -o survey.html")
def report(
    context: Context,
    model: Model,
    data: Data,
    target: Second = None,
    output: Annotated[str, Option("--output", "-o", metavar="FILE", help="HTML file to write.")] = "report.html",
    cost: Annotated[
        str | None, Option("--cost", metavar="FILE", help="CSV of costs: a row per decision, a column per truth.")
    ] = None,
    sql: Sql = None,
    missing: Missing = None,
) -> None:
    """Write a report on a model and its data: one HTML file that needs nothing else."""
    _run("report", context.params)


@app.command(epilog="Example: halfseen info survey.halfseen --code")
def info(
    context: Context,
    model: Model,
    code: Annotated[bool, Option("--code", help="Print the Python that reproduces the fit.")] = False,
    parameters: Annotated[bool, Option("--parameters", help="Print all parameters as a table.")] = False,
    word: Annotated[
        str | None, Option("--word", metavar="WORD", help="Of words: print the translations of a word.")
    ] = None,
    json: Json = False,
) -> None:
    """Show what is in a model file."""
    _run("info", context.params)


@app.command(epilog="Example: halfseen explain toy.csv -k 2 -o em.html")
def explain(
    context: Context,
    data: Data,
    k: Annotated[int, Option("-k", "--classes", metavar="K", min=1, help="Number of classes.")] = 2,
    steps: Annotated[int, Option("--steps", metavar="N", min=1, help="Number of iterations to show.")] = 3,
    assign: Annotated[str, Option("--assign", metavar="HOW", help="soft, hard or sample.")] = "soft",
    columns: Annotated[
        str | None, Option("--columns", metavar="KINDS", help="Kinds: age=gaussian,visits=poisson.")
    ] = None,
    text: Annotated[
        str | None, Option("--text", metavar="NAMES", help="Columns of text: their words are counted.")
    ] = None,
    ignore: Ignore = None,
    missing: Missing = None,
    sql: Sql = None,
    seed: Seed = 0,
    output: Annotated[str, Option("--output", "-o", metavar="FILE", help="- for text, or an HTML file.")] = "-",
) -> None:
    """Show EM number by number on a table of a few rows."""
    _run("explain", context.params)


@app.command(
    epilog="Examples: halfseen compare a.halfseen b.halfseen; halfseen compare a.halfseen data.csv --truth kind; "
    "halfseen compare links.txt gold.txt"
)
def compare(
    context: Context,
    model: Annotated[str, Argument(metavar="MODEL | LINKS", help="A model file, or a file of links i-j.")],
    other: Annotated[
        str,
        Argument(metavar="MODEL | DATA", help="Another model, data with a column of truth, or links made by hand."),
    ],
    truth: Annotated[
        str | None, Option("--truth", metavar="COLUMN", help="The column of DATA that says what is true.")
    ] = None,
    sql: Sql = None,
    missing: Missing = None,
    json: Json = False,
) -> None:
    """Compare two models class by class, a model with what is true, or links with those made by hand."""
    _run("compare", context.params)


@app.command()
def doctor(context: Context, json: Json = False) -> None:
    """Print versions, the kernels in use and what is missing: for bug reports."""
    _run("doctor", context.params)


# ---- running a verb ------------------------------------------------------------------------------------------------


def _given(context: Context) -> set[str]:
    """Return the names of the options that were typed: what was not has its default, or the family's own."""
    return {name for name in context.params if str(context.get_parameter_source(name)).endswith("COMMANDLINE")}


def _run(verb: str, params: dict[str, Any]) -> None:
    """Run a verb; mistakes of data and command end with a message, never with a traceback."""
    from halfseen.app import verbs

    raise Exit(verbs.run(verb, params))


def main() -> None:
    """Enter from the shell."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a script's `halfseen fit ... &`: kill -INT ends it too
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        app(prog_name="halfseen")
    except BrokenPipeError:  # the reader has gone, as in `halfseen predict ... | head`: nothing is left to say
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
