"""What the rest of the library knows about mixtures over a table: latent classes, Gaussian mixtures, classifiers."""

from halfseen.families.family import Family, Option
from halfseen.families.options import COVARIANCE, VARIANCE_FLOOR, only

TEXT = Option("text", "Columns of text: their words are counted.", "NAMES", models=("classes",))

FAMILY = Family(
    name="mixture",
    title="latent classes and classifiers",
    estimators={
        "GaussianClassifier": "gaussian_classifier",
        "GaussianMixture": "gaussian_mixture",
        "LatentClass": "latent_class",
        "NaiveBayes": "naive_bayes",
    },
    models={"classes": "latent classes", "gaussian": "Gaussian mixtures"},
    verbs=(
        "fit",
        "predict",
        "impute",
        "check",
        "sample",
        "score",
        "data",
        "details",
        "errors",
        "relate",
        "rename",
        "truth",
        "explain",
        "export",
        "table",
        "test",
    ),
    options={
        "fit": (
            Option("target", "Column to predict: makes a classifier. Its cells may be missing.", "COLUMN"),
            Option(
                "labels",
                "Column with the class of some rows, empty for the others: classes stay hidden, and these rows are "
                "held in theirs. With -k above the number of labels there are further classes.",
                "COLUMN",
            ),
            Option(
                "start",
                "Begin at the parameters of a model file, fitted to the same columns; its classes keep their order and "
                "their names.",
                "MODEL",
            ),
            Option(
                "covariates",
                'What class membership depends on: a formula over columns, such as "age + C(party)".',
                "FORMULA",
            ),
            Option("drop_missing", "With --covariates: leave out rows in which one is missing.", type=bool),
            only(COVARIANCE, "gaussian"),
            VARIANCE_FLOOR,
            TEXT,
            Option(
                "text_model",
                "Model of text: multinomial, bernoulli (whether a word occurs) or complement.",
                "NAME",
                parameter="text",
                models=("classes",),
            ),
            Option(
                "words",
                "How text is split into words: stop_words=english,min_df=2,ngram_range=1-2.",
                "OPTIONS",
                models=("classes",),
            ),
            Option(
                "document_length",
                "Scale every text to this many words: a number, or mean.",
                "N",
                models=("classes",),
            ),
            Option(
                "weight_kind",
                "With --weight: frequency (how often a row was seen) or survey (how many of the population it stands "
                "for). Default: frequency.",
                "KIND",
            ),
            Option(
                "choose",
                "Of the numbers of classes that are tried, keep N in place of the best by --criterion.",
                "N",
                type=int,
                least=1,
            ),
            Option(
                "blrt",
                "Test each number of classes against one more by the bootstrap likelihood ratio test with N drawn "
                "tables, such as 99.",
                "N",
                type=int,
                least=2,
            ),
            Option(
                "unlabeled_weight",
                "With --target: weight of rows without a label, 0 to 1. Default: auto, chosen by cross-validation.",
                "W",
            ),
            Option(
                "components_per_class",
                "With --target: number of components in each class.",
                "N",
                type=int,
                least=1,
                models=("classes",),
            ),
        ),
        "explain": (TEXT,),
    },
    of_rows=True,
    reports={
        "GaussianClassifier": "Report on a classifier",
        "GaussianMixture": "Report on hidden classes",
        "LatentClass": "Report on hidden classes",
        "NaiveBayes": "Report on a classifier",
    },
)
