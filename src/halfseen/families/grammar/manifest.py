"""The manifest of probabilistic grammars."""

from halfseen.families.family import Family, Option
from halfseen.families.options import UNKNOWN

NO_COLUMNS = "a corpus has no columns"
NO_CELLS = "a corpus has no cells"
A_TEXT_FILE = "a corpus is a text file"

FAMILY = Family(
    name="grammar",
    title="grammars",
    estimators={"PCFG": "estimator"},
    public={"plot_tree": "plots"},
    forms=("rules.cfg", "trees.mrg"),
    endings=(".cfg", ".pcfg", ".mrg", ".trees"),
    component=("rule", "rules"),
    verbs=("fit", "parse", "sample", "score", "data", "errors", "table"),
    options={
        "fit": (
            Option("brackets", "Round brackets in the sentences enclose known phrases.", type=bool),
            Option(
                "unparsable",
                "What to do with sentences without a parse: error (default) or skip.",
                "HOW",
                parameter="on_unparsable",
            ),
            UNKNOWN,
        ),
        "parse": (
            Option("unparsable", "Sentences without a parse: error (default, exit code 1) or skip (0).", "HOW"),
            UNKNOWN,
        ),
    },
    refused={
        "fit": {
            "dry_run": "it estimates fits to tables",
            "target": "there is no column to predict",
            "columns": NO_COLUMNS,
            "covariance": "it has no covariances",
            "classes": "the rules define the symbols",
            "names": "the rules define the symbols",
            "ignore": NO_COLUMNS,
            "missing": NO_CELLS,
            "codes": NO_CELLS,
            "no_quotes": NO_CELLS,
            "weight": NO_COLUMNS,
            "sql": A_TEXT_FILE,
            "glob": A_TEXT_FILE,
            "criterion": "there is nothing to choose",
        },
        "score": {
            "memory": "sentences are scored together",
            "sql": A_TEXT_FILE,
            "glob": A_TEXT_FILE,
            "missing": NO_CELLS,
            "weight": NO_COLUMNS,
        },
        "table": dict.fromkeys(("strata", "cluster", "sql", "missing"), NO_COLUMNS),
        "info": dict.fromkeys(("strata", "cluster"), NO_COLUMNS),
        "report": {"sql": A_TEXT_FILE, "missing": NO_CELLS, "cost": "its report has no decisions"},
    },
    reports={"PCFG": "Report on a grammar"},
)
