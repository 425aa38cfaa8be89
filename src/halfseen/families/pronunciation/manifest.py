"""The manifest of models of pronunciation."""

from halfseen.families.family import Family, Option

NO_COLUMNS = "a dictionary has no columns"
A_TEXT_FILE = "a dictionary is a text file"
NO_CELLS = "a dictionary has no cells"
LETTERS = Option(
    "unknown_letters",
    "Letters that the dictionary of the fit did not have: error (default), replace (é is e) or skip (the word).",
    "HOW",
    parameter="on_unknown",
)

FAMILY = Family(
    name="pronunciation",
    title="pronunciation",
    estimators={"G2P": "estimator"},
    public={"score_pronunciations": "scores"},
    models={"g2p": "pronunciation"},
    component=("unit", "units"),
    verbs=("fit", "pronounce", "score", "data"),
    options={
        "fit": (
            Option("ngram", "Length of the n-grams of units. Default: 7.", "N", type=int, least=1, parameter="order"),
            Option("max_letters", "Most letters of a unit. Default: 1.", "N", type=int, least=1),
            Option("max_phones", "Most phones of a unit. Default: 1.", "N", type=int, least=1),
            Option("keep_case", "Capitals are letters of their own.", type=bool, parameter="lowercase"),
            Option("no_stress", "Leave out the digits of stress: AH0 is AH.", type=bool, parameter="stress"),
        ),
        "pronounce": (LETTERS,),
        "score": (LETTERS,),
    },
    refused={
        "fit": {
            "dry_run": "it estimates fits to tables",
            "on": "a dictionary is read on one machine",
            "classes": "there are no classes",
            "names": "there are no classes",
            "target": "there is no column to predict",
            "columns": NO_COLUMNS,
            "covariance": "it has no covariances",
            "prior": "it has none: orders above 1 are smoothed",
            "ml": "with --ngram 1 it is maximum likelihood; higher orders are smoothed",
            "weight": NO_COLUMNS,
            "sql": A_TEXT_FILE,
            "glob": A_TEXT_FILE,
            "missing": NO_CELLS,
            "codes": A_TEXT_FILE,
            "no_quotes": A_TEXT_FILE,
            "ignore": NO_COLUMNS,
            "restarts": "there is one start",
            "criterion": "there is nothing to choose",
            "seed": "nothing is random",
            "memory": "a dictionary is read as a whole",
            "resume": "its fits leave no checkpoint",
        },
        "score": {
            "memory": "a dictionary is read as a whole",
            "sql": A_TEXT_FILE,
            "glob": A_TEXT_FILE,
            "missing": NO_CELLS,
            "weight": NO_COLUMNS,
        },
        "report": {"sql": A_TEXT_FILE, "missing": NO_CELLS, "cost": "its report has no decisions"},
    },
    reports={"G2P": "Report on pronunciation"},
)
