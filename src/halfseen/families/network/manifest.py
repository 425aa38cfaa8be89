"""The manifest of Bayesian networks."""

from halfseen.families.family import Family, Option
from halfseen.families.options import GROUP, only

NO_CLASSES = "a network has no classes"
CLASSES = "class-network"  # the model word of latent classes as a network

FAMILY = Family(
    name="network",
    title="Bayesian networks",
    estimators={"BayesNet": "estimator"},
    public={"plot_network": "plots", "read_bif": "files", "write_bif": "files"},
    models={CLASSES: "latent classes with groups or local dependence"},
    forms=("net.bif", "'A -> B'"),
    endings=(".bif", ".xmlbif", ".bifxml", ".xml"),
    marks=("->", "<-"),
    component=("state", "states"),
    verbs=("fit", "predict", "impute", "sample", "score", "query", "data", "errors", "read", "rename", "table"),
    options={
        "fit": (
            Option("hidden", "Hidden variables with their numbers of states: C=2,D=2..4.", "SIZES"),
            Option("order", "States of columns in their order: size=small/middle/large,age=young/old.", "STATES"),
            only(GROUP, CLASSES),
            only(
                Option("vary", "Items that are distributed differently in the groups: q3,q5, or all.", "NAMES"), CLASSES
            ),
            only(
                Option("depend", "Pairs of items that are not independent given the class: D:F,A:B.", "PAIRS"), CLASSES
            ),
        ),
        "rename": (Option("variable", "The hidden variable, where there are several.", "NAME"),),
    },
    refused={
        "fit": {
            "target": "a network predicts every column: use halfseen query",
            "columns": "all its columns are categories",
            "covariance": "it has no covariances",
        },
        "predict": dict.fromkeys(("cost", "reject", "why"), NO_CLASSES),
        "report": {"cost": NO_CLASSES},
    },
    of_rows=True,
    reports={"BayesNet": "Report on a Bayesian network"},
)
