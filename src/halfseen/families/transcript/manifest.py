"""The manifest of transcript alignment: audio or other sequences with their transcripts."""

from halfseen.families.family import Family, Option
from halfseen.families.options import GROUP, TIME, UNKNOWN, VARIANCE_FLOOR

TRANSCRIPTS = Option("transcripts", "CSV or TSV file: the name of each recording or group, and its transcript.", "FILE")
LANGUAGE = Option("language", "Language of the words, for CMUdict (en) and espeak-ng: en, en-gb, de, fr, ...", "NAME")
G2P = Option("g2p", "Model file that pronounces words which no dictionary has: halfseen fit --model g2p.", "FILE")
DICTIONARY = Option("dictionary", "Pronunciations: a word, a tab and its units on each line.", "FILE")
TIER = Option("tier", "Tier of TextGrid files that has the words.", "NAME")
A_FOLDER = "give a folder of audio, or one file of steps"
ONE_START = "there is one start"

FAMILY = Family(
    name="transcript",
    title="transcripts",
    estimators={"TranscriptAligner": "estimator"},
    public={
        "AudioFolder": "recordings",
        "load_speech": "starter",
        "mfcc": "sound.features",
        "plot_alignment": "plots",
        "pronunciations_of": "pronounce",
        "read_captions": "written.captions",
        "read_dictionary": "dictionary",
        "read_sound": "sound.files",
        "read_sphinx": "sphinx",
        "read_textgrid": "written.textgrid",
        "read_wav": "sound.wav",
    },
    models={"transcript": "transcripts"},
    component=("unit", "units"),
    verbs=("fit", "align", "score", "data"),
    options={
        "fit": (
            GROUP,
            TIME,
            TRANSCRIPTS,
            TIER,
            VARIANCE_FLOOR,
            DICTIONARY,
            LANGUAGE,
            G2P,
            Option("silence", "Unit of pauses, or none. Default for audio: sil.", "NAME"),
            UNKNOWN,
            Option("states", "States of each unit. Default: 3.", "N", type=int, least=1, parameter="states_per_unit"),
            Option(
                "mixtures",
                "Gaussian components of each state. Default: 1.",
                "N",
                type=int,
                least=1,
                parameter="n_mix",
            ),
        ),
        "align": (
            TRANSCRIPTS,
            TIER,
            DICTIONARY,
            LANGUAGE,
            G2P,
            UNKNOWN,
            Option("report", "Also write an HTML page: sound to play, boundaries, doubtful words.", "FILE"),
            Option(
                "format",
                "Files in a folder: TextGrid (default), srt, vtt, words.vtt, eaf, json, csv, ctm; several with commas.",
                "NAMES",
            ),
            Option(
                "left_out", "Probability that a word of the transcript was not spoken, such as 0.01.", "P", type=float
            ),
            Option("inserted", "Probability of something else in a gap, such as 0.01.", "P", type=float),
            Option("line_length", "Characters in a line of a caption. Default: 42.", "N", type=int, least=1),
            Option("lines", "Lines of a caption. Default: 2.", "N", type=int, least=1),
            Option(
                "adapt", "To the speakers: auto (default), none, mean, diagonal, full; model: also the model.", "KIND"
            ),
            Option("level", "What to write on standard output and for tables: words (default) or units.", "NAME"),
        ),
    },
    refused={
        "fit": {
            "dry_run": "it estimates fits to tables",
            "on": "recordings are read on one machine",
            "classes": "the units are those of the transcripts",
            "names": "the units are those of the transcripts",
            "target": "there is no column to predict",
            "weight": "all recordings count alike",
            "codes": "its features are numbers",
            "no_quotes": "its tables are of numbers",
            "covariance": "the variances of its columns are independent",
            "glob": A_FOLDER,
            "restarts": ONE_START,
            "criterion": ONE_START,
        },
        "score": {"memory": "recordings are read one by one", "weight": "all recordings count alike", "glob": A_FOLDER},
        "report": {"cost": "it has no classes to decide on"},
    },
    two_files=True,
    without_model={"align": "sound.endings:is_audio"},
    reports={"TranscriptAligner": "Report on transcript alignment"},
)
