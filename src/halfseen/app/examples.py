"""Examples of the command line, as the help of each verb shows them; a test runs them all.

They use tables that come with the library and files that they write themselves: `after` are the commands that must have
been run before.
"""

from __future__ import annotations

from dataclasses import dataclass

PENGUINS = "halfseen fit example:penguins --model gaussian --ignore species,year,island,sex -k 3 -o penguins.halfseen"
VOTES = "halfseen fit example:votes --ignore party -k 2 -o votes.halfseen"
QUAKES = "halfseen fit example:earthquakes --model hmm --time year --columns count=poisson -k 3 -o quakes.halfseen"
NETWORK = 'halfseen fit example:votes --model "party -> crime; party -> immigration" -o net.halfseen'
ENGLISH = "halfseen fit example:english.txt --model example:english.cfg -o english.halfseen"
SAID = "halfseen fit example:english.dict --model g2p -o en.halfseen"
WORDS = "halfseen fit example:pairs.de example:pairs.en --model words -o words.halfseen"

BEGIN = (
    "halfseen fit example:penguins --model gaussian --ignore species,year,island,sex -o penguins.halfseen",
    "halfseen predict penguins.halfseen example:penguins -o classes.csv",
    "halfseen report penguins.halfseen example:penguins -o penguins.html",
)


@dataclass(frozen=True)
class Examples:
    """Examples of a verb.

    Attributes
    ----------
    commands : tuple of str     at least two
    after : tuple of str        commands of other verbs that write the files which these use
    """

    commands: tuple[str, ...]
    after: tuple[str, ...] = ()


EXAMPLES = {
    "fit": Examples(
        (
            PENGUINS,
            "halfseen fit example:votes --ignore party -k 1..3 -o classes.halfseen --report classes.html",
            "halfseen fit example:penguins --target species -o species.halfseen",
            QUAKES,
        )
    ),
    "predict": Examples(
        (
            "halfseen predict penguins.halfseen example:penguins -o classes.csv",
            "halfseen predict penguins.halfseen example:penguins --why -o reasons.csv",
        ),
        (PENGUINS,),
    ),
    "align": Examples(
        (
            "halfseen align words.halfseen example:pairs.de example:pairs.en",
            "halfseen align words.halfseen example:pairs.de example:pairs.en -o links.txt",
        ),
        (WORDS,),
    ),
    "pronounce": Examples(
        (
            'halfseen pronounce en.halfseen --text "unseen words"',
            "halfseen pronounce en.halfseen example:english.txt -n 3 -o said.csv",
        ),
        (SAID,),
    ),
    "parse": Examples(
        (
            'halfseen parse english.halfseen --text "the dog sees a cat" --format picture',
            "halfseen parse english.halfseen example:english.txt -o trees.txt",
        ),
        (ENGLISH,),
    ),
    "impute": Examples(
        (
            "halfseen impute votes.halfseen example:votes -o filled.csv",
            "halfseen impute votes.halfseen example:votes --check",
        ),
        (VOTES,),
    ),
    "sample": Examples(
        (
            "halfseen sample penguins.halfseen -n 5",
            "halfseen sample penguins.halfseen -n 1000 --seed 1 -o drawn.csv",
        ),
        (PENGUINS,),
    ),
    "forecast": Examples(
        (
            "halfseen forecast quakes.halfseen example:earthquakes --steps 5",
            "halfseen forecast quakes.halfseen example:earthquakes --steps 20 -o next.csv",
        ),
        (QUAKES,),
    ),
    "query": Examples(
        (
            "halfseen query net.halfseen party --given crime=y",
            "halfseen query net.halfseen party immigration --given crime=n --json",
        ),
        (NETWORK,),
    ),
    "score": Examples(
        (
            "halfseen score votes.halfseen example:votes",
            "halfseen score votes.halfseen example:votes --details",
        ),
        (VOTES,),
    ),
    "test": Examples(
        (
            "halfseen test votes.halfseen example:votes --draws 9 --starts 2",
            "halfseen test votes.halfseen example:votes --draws 19 --starts 2 --json",
        ),
        (VOTES,),
    ),
    "relate": Examples(
        (
            "halfseen relate votes.halfseen example:votes --outcomes party",
            'halfseen relate votes.halfseen example:votes --covariates "C(party)"',
        ),
        (VOTES,),
    ),
    "report": Examples(
        (
            "halfseen report penguins.halfseen example:penguins -o penguins.html",
            "halfseen report votes.halfseen example:votes -o votes.html",
        ),
        (PENGUINS, VOTES),
    ),
    "export": Examples(
        (
            "halfseen export penguins.halfseen --sql postgres --table birds --keep id -o penguins.sql",
            "halfseen export penguins.halfseen --onnx -o penguins.onnx",
        ),
        (PENGUINS,),
    ),
    "table": Examples(
        (
            "halfseen table votes.halfseen",
            "halfseen table votes.halfseen example:votes -o table1.docx",
        ),
        (VOTES,),
    ),
    "info": Examples(
        (
            "halfseen info penguins.halfseen",
            "halfseen info penguins.halfseen --code",
        ),
        (PENGUINS,),
    ),
    "rename": Examples(
        (
            "halfseen rename penguins.halfseen 0=Adelie 1=Gentoo 2=Chinstrap",
            "halfseen rename penguins.halfseen Chinstrap='Chinstrap penguin' -o named.halfseen",
        ),
        (PENGUINS,),
    ),
    "explain": Examples(
        (
            'halfseen explain example:votes --sql "SELECT crime, immigration FROM data LIMIT 6"',
            'halfseen explain example:votes --sql "SELECT crime FROM data LIMIT 6" --steps 2 -o em.html',
        )
    ),
    "compare": Examples(
        (
            "halfseen compare penguins.halfseen example:penguins --truth species",
            "halfseen compare votes.halfseen votes3.halfseen",
        ),
        (PENGUINS, VOTES, VOTES.replace("-k 2 -o votes", "-k 3 -o votes3")),
    ),
    "studio": Examples(
        (
            "halfseen studio example:penguins",
            "halfseen studio example:earthquakes --model hmm --time year -k 2 --session quakes.session",
            "halfseen studio --lesson em",
        )
    ),
    "doctor": Examples(("halfseen doctor", "halfseen doctor --json")),
}
