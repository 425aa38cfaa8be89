"""Run campaigns: ``python -m tests.faults [CAMPAIGN] [SUBJECT ...] [-n CASES] [--case NUMBER]``.

Prints a table of cases tried, refused in words and failed, and for every failure the command that shows it. Exit code 1
if any case failed. ``make faults`` runs all campaigns in full.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from importlib import import_module

from tests.faults.campaign import ROOT, Campaign, Outcome, run_campaign, run_case

NAMES = ("fits", "model_files", "readers", "writes", "kills")


def campaign_named(name: str) -> Campaign:
    return import_module(f"tests.faults.{name}").CAMPAIGN


def main(arguments: list[str] | None = None) -> int:
    given = _parser().parse_args(arguments)
    for number in (signal.SIGINT, signal.SIGTERM):  # also in the background: the table of what was done so far
        signal.signal(number, signal.default_int_handler)
    names = [given.campaign] if given.campaign else list(NAMES)
    n_failed = 0
    for name in names:
        campaign = campaign_named(name)
        unknown = set(given.subjects) - set(campaign.subjects)
        if unknown:
            raise SystemExit(f"{name} has no {', '.join(sorted(unknown))}. It has: {', '.join(campaign.subjects)}.")
        subjects = given.subjects or campaign.subjects
        if given.case is not None:
            _ready(name)
            n_failed += sum(_show(run_case(campaign, subject, given.case)) for subject in subjects)
            continue
        tally = run_campaign(campaign, subjects, given.n, given.workers, given.first, progress=True)
        print(tally.table())
        if given.reasons:
            for subject, reasons in tally.reasons.items():
                print(f"answers of {subject}")
                print("\n".join(f"{n:8,} x {reason}" for reason, n in reasons.most_common(given.reasons)))
        if tally.failures:
            print(tally.account())
            print(f"All failures, with tracebacks: {tally.write(ROOT / 'build' / 'faults').relative_to(ROOT)}")
        n_failed += len(tally.failures)
        print(flush=True)
    return 1 if n_failed else 0


def _ready(name: str) -> None:
    """Prepare what a campaign needs for a case in this process, which may have to start once more for it."""
    prepare = getattr(import_module(f"tests.faults.{name}"), "prepare", None)
    if prepare is not None and not os.environ.get("LD_PRELOAD"):
        prepare()
        os.execv(sys.executable, [sys.executable, "-m", "tests.faults", *sys.argv[1:]])


def _show(outcome: Outcome) -> int:
    """Print what came of one case."""
    print(f"{outcome.subject} {outcome.number}: {outcome.result}. {outcome.cause}")
    print(outcome.detail)
    return outcome.result == "failed"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("campaign", nargs="?", choices=NAMES, help="default: all")
    parser.add_argument("subjects", nargs="*", help="parts of it; default: all")
    parser.add_argument("-n", type=int, metavar="CASES", help="cases of each subject; default: the campaign's own")
    parser.add_argument("--first", type=int, default=0, metavar="NUMBER", help="the first case")
    parser.add_argument("--case", type=int, metavar="NUMBER", help="run this case alone, in this process")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--reasons", type=int, default=0, metavar="N", help="also show the N most frequent answers")
    return parser


if __name__ == "__main__":
    sys.exit(main())
