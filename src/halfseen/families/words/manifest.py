"""The manifest of word alignment."""

from halfseen.families.family import Family, Option

NO_COLUMNS = "there are no columns"
TEXT_FILES = "it reads files of text"
EMPTY_LINE = "an empty line is a pair without words"

FAMILY = Family(
    name="words",
    title="word alignment",
    estimators={"WordAligner": "estimator"},
    public={
        "link_matrix": "plots",
        "plot_links": "plots",
        "read_gold": "bitext",
        "read_links": "bitext",
        "score_links": "link_scores",
    },
    models={"words": "word alignment"},
    component=("word", "words"),
    verbs=("fit", "align", "score", "data", "compare_files", "show_word"),
    options={
        "fit": (
            Option("aligner", "Model of word order: hmm (default), diagonal or ibm1.", "NAME", parameter="model"),
            Option("direction", "both (default), forward or reverse.", "NAME"),
            Option(
                "symmetrize",
                "How to combine both directions: intersection, union, grow-diag, grow-diag-final or "
                "grow-diag-final-and (default).",
                "HOW",
            ),
            Option("dirichlet", "Prior of the translation table, such as 0.01. Default: none.", "A", type=float),
            Option("lowercase", "Ignore case.", type=bool),
            Option("links", "Known links, i-j, a line for each pair of sentences.", "FILE"),
        ),
        "align": (
            Option("symmetrize", "How to combine both directions. Default: as in the fit.", "HOW"),
            Option("probs", "Also write the probability of each link: i-j:0.97.", type=bool),
        ),
        "info": (Option("word", "Print the translations of a word.", "WORD"),),
    },
    refused={
        "fit": {
            "dry_run": "it estimates fits to tables",
            "on": "sentences are read on one machine",
            "classes": "there are no classes",
            "names": "there are no classes",
            "target": "give the file of translations second",
            "columns": NO_COLUMNS,
            "covariance": "it has no covariances",
            "prior": "see --dirichlet",
            "weight": NO_COLUMNS,
            "sql": TEXT_FILES,
            "glob": TEXT_FILES,
            "missing": EMPTY_LINE,
            "codes": TEXT_FILES,
            "no_quotes": TEXT_FILES,
            "ignore": NO_COLUMNS,
            "restarts": "there is one start",
            "criterion": "there is nothing to choose",
        },
        "align": {"missing": EMPTY_LINE},
        "score": {
            "memory": "sentences are read one by one",
            "sql": TEXT_FILES,
            "glob": TEXT_FILES,
            "missing": EMPTY_LINE,
            "weight": NO_COLUMNS,
        },
        "report": {"sql": TEXT_FILES, "missing": EMPTY_LINE, "cost": "its report has no decisions"},
    },
    reports={"WordAligner": "Report on word alignment"},
    two_files=True,
)
