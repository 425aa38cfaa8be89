"""The manifest of k-means."""

from halfseen.families.family import Family

NO_PROBABILITIES = "it has no probabilities"

FAMILY = Family(
    name="kmeans",
    title="k-means",
    estimators={"KMeans": "estimator"},
    models={"kmeans": "k-means"},
    component=("cluster", "clusters"),
    verbs=("fit", "predict", "impute", "check", "score", "data", "rename", "truth", "export", "table"),
    refused={
        "fit": {
            "target": "k-means has no column to predict; --model classes and gaussian do",
            "columns": "all its columns are numbers",
            "covariance": "k-means has no covariances; --model gaussian has",
            "assign": "each row belongs to its nearest centre",
            "prior": NO_PROBABILITIES,
            "ml": NO_PROBABILITIES,
            "criterion": "give one number of clusters, such as -k 3",
            "resume": "its fits are short and leave no checkpoint",
        },
        "predict": dict.fromkeys(("cost", "reject", "why"), NO_PROBABILITIES),
        "impute": {"draws": NO_PROBABILITIES},
        "report": {"cost": NO_PROBABILITIES},
    },
    of_rows=True,
    reports={"KMeans": "Report on clusters"},
)
