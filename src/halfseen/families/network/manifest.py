"""The manifest of Bayesian networks."""

from halfseen.families.family import Family, Option

NO_CLASSES = "a network has no classes"

FAMILY = Family(
    name="network",
    title="Bayesian networks",
    estimators={"BayesNet": "estimator"},
    public={"read_bif": "files", "write_bif": "files"},
    forms=("net.bif", "'A -> B'"),
    endings=(".bif", ".xmlbif", ".bifxml", ".xml"),
    marks=("->", "<-"),
    component=("state", "states"),
    verbs=("fit", "predict", "impute", "sample", "score", "query", "data", "errors", "read", "table"),
    options={
        "fit": (Option("hidden", "Hidden variables with their numbers of states: C=2,D=2..4.", "SIZES"),),
    },
    refused={
        "fit": {
            "target": "a network predicts every column: use halfseen query",
            "columns": "all its columns are categories",
            "covariance": "it has no covariances",
            "classes": "give the numbers of states of hidden variables: --hidden C=3",
        },
        "predict": dict.fromkeys(("cost", "reject", "why"), NO_CLASSES),
        "report": {"cost": NO_CLASSES},
    },
    reports={"BayesNet": "Report on a Bayesian network"},
)
