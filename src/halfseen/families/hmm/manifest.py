"""The manifest of hidden Markov models."""

from halfseen.families.family import Family, Option
from halfseen.families.options import COVARIANCE, GROUP, TIME, VARIANCE_FLOOR

WHOLE = "sequences are read as a whole"
WEIGHT = "weights of sequences are given in Python, as sample_weight="

FAMILY = Family(
    name="hmm",
    title="hidden Markov models",
    estimators={"HMM": "estimator"},
    public={"plot_paths": "plots", "plot_timeline": "plots", "plot_transitions": "plots"},
    models={"hmm": "hidden Markov models"},
    component=("state", "states"),
    verbs=(
        "fit",
        "predict",
        "impute",
        "check",
        "sample",
        "forecast",
        "score",
        "data",
        "errors",
        "rename",
        "truth",
        "table",
    ),
    options={
        "fit": (
            GROUP,
            TIME,
            Option(
                "emission",
                "Kind of all columns: gaussian, categorical, poisson, negbin, 'binomial(10)'. Default: auto, by value.",
                "KIND",
            ),
            COVARIANCE,
            VARIANCE_FLOOR,
            Option("transitions", "left-right: states follow each other and do not return.", "SHAPE"),
            Option("min_dwell", "Minimum duration of a state, in steps.", "N", type=int, least=1),
        ),
        "predict": (Option("path", "Also write the state of each step on the most likely path.", type=bool),),
        "studio": (GROUP, TIME),
        "sample": (Option("sequences", "Number of sequences, each of --rows steps.", "N", type=int, least=1),),
    },
    refused={
        "fit": {
            "target": "labels of steps are given in Python, as labels=",
            "weight": WEIGHT,
        },
        "predict": {"why": "the state of a step depends on the steps around it", "memory": WHOLE},
        "impute": {"memory": WHOLE},
        "score": {"weight": WEIGHT, "memory": WHOLE},
        "report": {"cost": "its report has no decisions"},
        "table": dict.fromkeys(("strata", "cluster"), "strata and clusters of sequences are given in Python"),
        "info": dict.fromkeys(("strata", "cluster"), "strata and clusters of sequences are given in Python"),
    },
    of_rows=True,
    reports={"HMM": "Report on hidden states"},
)
