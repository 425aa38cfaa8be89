"""The lesson `em`: two points, coins, watermelons, the bound, ways to assign, k-means, and where EM can end."""

from __future__ import annotations

from dataclasses import replace

from halfseen.studio.lessons.page import Figure, Page, after, before, cell, in_class, of_bound
from halfseen.studio.lessons.tables import (
    ALIKE,
    APART,
    BOUND,
    COINS,
    CORNERS,
    HARD,
    MELONS,
    NEW,
    NUMBERS,
    OVERLAP,
    POINTS,
    SAMPLED,
    melons,
)

TITLE = "Expectation-maximization, number by number"


def pages() -> list[Page]:
    """Return the lesson."""
    return [
        *two_points(),
        *one_iteration(),
        *coins(),
        *watermelons(),
        *likelihood(),
        *ways_to_assign(),
        *k_means(),
        *ends(),
    ]


def two_points() -> list[Page]:
    """Return the pages on two rows of two yes/no columns, and how they could be completed."""
    return [
        Page(
            "Something was never seen",
            (
                "Two rows, two columns. Each row came from one of two classes, but the column that says which one was "
                "never written down. It is hidden.",
                "With that column, learning would be counting. Without it, there seems to be nothing to count. "
                "Expectation-maximization (EM) counts all the same: it completes the rows, in expectation.",
            ),
            replace(POINTS, section=0, grid="data"),
        ),
        Page(
            "Begin with a guess",
            (
                "EM begins with some model, however poor. Here class 1 has {share} of the rows, and a 1 in column x1 is"
                " more frequent in it: {one} against {zero}.",
                "The two classes must differ. If they are the same, no row belongs to one rather than to the other; the"
                " last page shows what happens then.",
            ),
            replace(POINTS, section=0, grid="parameters"),
            {
                "share": Figure(cell(0, "parameters", ("P(class)",), "class 1"), 1),
                "one": Figure(cell(0, "parameters", ("P(x1 = 1)",), "class 1"), 1),
                "zero": Figure(cell(0, "parameters", ("P(x1 = 1)",), "class 0"), 1),
            },
        ),
        Page(
            "All ways to complete the rows",
            (
                "Two rows and two classes: four ways to complete them. Each has a probability together with the rows, "
                "such as {both} for class 1 twice and {mixed} for class 1 and then class 0.",
                "Divided by their sum they are probabilities given the rows: {both_given} and {mixed_given}.",
                "N rows and C classes have C to the power of N ways. Thirty rows and two classes have a billion.",
            ),
            replace(POINTS, grid="completions"),
            {
                "both": Figure(cell(1, "completions", ("class 1", "class 1"), "P(rows, classes)"), 6),
                "mixed": Figure(cell(1, "completions", ("class 1", "class 0"), "P(rows, classes)"), 6),
                "both_given": Figure(cell(1, "completions", ("class 1", "class 1"), "P(classes | rows)"), 4),
                "mixed_given": Figure(cell(1, "completions", ("class 1", "class 0"), "P(classes | rows)"), 4),
            },
        ),
        Page(
            "One row at a time is enough",
            (
                "The rows are independent, so the long table is a product of short ones: for each row, P(class) times "
                "the probability of each of its cells in that class. That is N times C numbers.",
                "Row 1 with class 1: {joint}. Its sum over the classes, {evidence}, is the probability of the row when "
                "the class is not known.",
            ),
            POINTS,
            {
                "joint": Figure(cell(1, "joint", ("1",), "class 1"), 3),
                "evidence": Figure(cell(1, "joint", ("1",), "sum"), 3),
            },
        ),
    ]


def one_iteration() -> list[Page]:
    """Return the pages on the steps of an iteration on these two rows."""
    resp = "responsibilities"
    return [
        Page(
            "E-step: how much each row belongs to each class",
            (
                "Divide each number by the sum of its row. Row 0 belongs to class 1 with probability {first}, row 1 "
                "with probability {second}. These are the responsibilities.",
                "Think of each row written once for each class, with its responsibility as a weight. Nothing is rounded"
                " to the more probable class.",
            ),
            replace(POINTS, grid=resp),
            {
                "first": Figure(cell(1, resp, ("0", "class 1"), "weight"), 1),
                "second": Figure(cell(1, resp, ("1", "class 1"), "weight"), 6),
            },
        ),
        Page(
            "Count the completed rows",
            (
                "Now counting works, with weights instead of rows. Class 1 has {rows_1} rows and class 0 has {rows_0}: "
                "two in all.",
                "Of the rows of class 1, {ones} hold x1 = 1, {zeros} hold x1 = 0, and all {all_ones} hold x2 = 1. These"
                " expected counts are all that has to be kept. The data may be far larger than the memory.",
            ),
            replace(POINTS, grid="counts"),
            {
                "rows_1": Figure(cell(1, "counts", ("rows",), "class 1"), 6),
                "rows_0": Figure(cell(1, "counts", ("rows",), "class 0"), 6),
                "ones": Figure(cell(1, "counts", ("count of x1 = 1",), "class 1"), 6),
                "zeros": Figure(cell(1, "counts", ("count of x1 = 0",), "class 1"), 1),
                "all_ones": Figure(cell(1, "counts", ("count of x2 = 1",), "class 1"), 6),
            },
        ),
        Page(
            "M-step: divide",
            (
                "The parameters follow as they would from real counts. P(class 1) = {rows_1} / 2 = {share}.",
                "P(x1 = 1 | class 1) = {ones} / {rows_1} = {theta_1}, and P(x1 = 1 | class 0) = {theta_0}. Column x2 is"
                " 1 in both rows, so its probability becomes {certain} in both classes.",
            ),
            replace(POINTS, grid="m-step"),
            {
                "rows_1": Figure(cell(1, "counts", ("rows",), "class 1"), 6),
                "ones": Figure(cell(1, "counts", ("count of x1 = 1",), "class 1"), 6),
                "share": Figure(cell(1, "m-step", ("P(class)",), "class 1"), 6),
                "theta_1": Figure(cell(1, "m-step", ("P(x1 = 1)",), "class 1"), 5),
                "theta_0": Figure(cell(1, "m-step", ("P(x1 = 1)",), "class 0"), 6),
                "certain": Figure(cell(1, "m-step", ("P(x2 = 1)",), "class 1"), 0),
            },
        ),
        Page(
            "The rows have become more probable",
            (
                "The log-likelihood is the sum of the logs of the rows' sums. It was {before} and is {after} after one "
                "iteration: each row now has a probability of one half.",
                "The second iteration changes nothing: {again}. EM has converged. Here that is the best there is; often"
                " it takes many iterations, and the end depends on the beginning.",
            ),
            replace(POINTS, section=2),
            {
                "before": Figure(before(1), 7),
                "after": Figure(after(1), 7),
                "again": Figure(after(2), 7),
            },
        ),
    ]


def coins() -> list[Page]:
    """Return the pages on the coins of Do and Batzoglou."""
    resp, heads = "responsibilities", ("p of heads",)
    return [
        Page(
            "Two coins: which one was tossed?",
            (
                "A coin is drawn from two, each as often, and tossed ten times; this is done five times. We see the "
                "heads, not which coin it was. (Do and Batzoglou, 2008.)",
                "Begin with probabilities of heads of {start_0} for class 0 and {start_1} for class 1. Nine heads speak"
                " for class 0, with {nine}; five heads for class 1, so that class 0 has {five}.",
            ),
            COINS,
            {
                "start_0": Figure(cell(0, "parameters", heads, "class 0"), 1),
                "start_1": Figure(cell(0, "parameters", heads, "class 1"), 1),
                "nine": Figure(cell(1, resp, ("1", "class 0"), "weight"), 2),
                "five": Figure(cell(1, resp, ("0", "class 0"), "weight"), 2),
            },
        ),
        Page(
            "Two coins: heads and tails are shared out",
            (
                "Each series is split over the coins by its responsibilities: {heads_0} heads and {tails_0} tails for "
                "class 0, {heads_1} heads and {tails_1} tails for class 1.",
                "Heads over tosses gives {p_0} and {p_1}: after one iteration the coins are farther apart than the "
                "guess.",
            ),
            replace(COINS, grid="m-step"),
            {
                "heads_0": Figure(cell(1, "counts", ("successes of heads",), "class 0"), 1),
                "tails_0": Figure(cell(1, "counts", ("failures of heads",), "class 0"), 1),
                "heads_1": Figure(cell(1, "counts", ("successes of heads",), "class 1"), 1),
                "tails_1": Figure(cell(1, "counts", ("failures of heads",), "class 1"), 1),
                "p_0": Figure(cell(1, "m-step", heads, "class 0"), 3),
                "p_1": Figure(cell(1, "m-step", heads, "class 1"), 3),
            },
        ),
        Page(
            "Two coins: after ten iterations",
            (
                "The steps become smaller and smaller. After ten iterations the coins are at {first} and {second}.",
                "The gain of an iteration tells how far EM is: the first one gained {gain} of log-likelihood, the "
                "second {then}, the fifth {little}.",
            ),
            replace(COINS, section=10, grid="m-step"),
            {
                "first": Figure(cell(10, "m-step", heads, "class 0"), 2),
                "second": Figure(cell(10, "m-step", heads, "class 1"), 2),
                "gain": Figure(lambda found: after(1)(found) - before(1)(found), 2),
                "then": Figure(lambda found: after(2)(found) - before(2)(found), 3),
                "little": Figure(lambda found: after(5)(found) - before(5)(found), 3),
            },
        ),
    ]


def watermelons() -> list[Page]:
    """Return the pages on watermelons, with and without their label."""
    some, every = melons((NEW, MELONS[0], MELONS[-1]), 1, "joint", 1), melons(MELONS, 10, "responsibilities", 10)
    flat = [n for n, melon in enumerate(MELONS) if melon[4] == "flat"]
    others = [n for n in range(len(MELONS)) if n not in flat]
    return [
        Page(
            "Watermelons: when the label is known",
            (
                "Seventeen melons, eight of them ripe, six attributes. Where the label is known, a class is learned by "
                "counting; one is added to every count, so that nothing is impossible.",
                "A new melon, row 0, is green, curly, crisp, clear, hollow and hard. Its joint with ripe (class 0) is "
                "{ripe}, with unripe (class 1) {unripe}: it is ripe with probability {probability}. That is already an "
                "E-step.",
            ),
            some,
            {
                "ripe": Figure(cell(1, "joint", ("0",), "class 0"), 8),
                "unripe": Figure(cell(1, "joint", ("0",), "class 1"), 8),
                "probability": Figure(cell(1, "responsibilities", ("0", "class 0"), "weight"), 6),
            },
        ),
        Page(
            "Watermelons: take the label away",
            (
                "Now the label of all seventeen is hidden, and EM begins at what the labels said. The objective rises "
                "from {before} to {after} in ten iterations.",
                "It does not stay with the labels. In the end class 1 has {flat} melons, exactly those with a flat "
                "umbilicus, and class 0 the other {others}, ripe or not.",
                "Hidden classes are groups that explain the table. They need not be the groups that somebody had in "
                "mind.",
            ),
            every,
            {
                "before": Figure(before(1), 2),
                "after": Figure(after(10), 2),
                "flat": Figure(in_class(10, "class 1", flat), 0),
                "others": Figure(in_class(10, "class 0", others), 0),
            },
        ),
    ]


def likelihood() -> list[Page]:
    """Return the pages on the bound."""
    second = replace(BOUND, iteration=2)
    return [
        Page(
            "A bound that touches the likelihood",
            (
                "Seven numbers, two normal distributions. The upper curve is the log-likelihood along a line through "
                "parameter space: from the parameters now, through those after the M-step.",
                "The lower curve is made in the E-step. It lies below the likelihood everywhere, and touches it at the "
                "parameters now, at {touch}. It is easy to maximise: its maximum is what counting and dividing find.",
            ),
            BOUND,
            {"touch": Figure(of_bound("touch", "objective"), 4)},
        ),
        Page(
            "Why the likelihood never falls",
            (
                "The M-step goes to the top of the bound, here {bound}. The likelihood there is at least as high: "
                "{end}. So it has risen from {touch}, by at least what the bound rose.",
                "The next E-step makes a new bound, which touches at {next}, and so on. This holds in every step, and "
                "halfseen checks it in every iteration: a likelihood that falls is an error in the program.",
            ),
            second,
            {
                "touch": Figure(of_bound("touch", "objective"), 4, BOUND),
                "bound": Figure(of_bound("end", "bound"), 4, BOUND),
                "end": Figure(of_bound("end", "objective"), 4, BOUND),
                "next": Figure(of_bound("touch", "objective"), 4),
            },
        ),
    ]


def ways_to_assign() -> list[Page]:
    """Return the pages on soft, hard and sampled assignment."""
    resp, means, sds = "responsibilities", ("mean of x",), ("sd of x",)
    ended = {
        f"{what}_{k}": Figure(cell(5, "m-step", labels, f"class {k}"), 2)
        for what, labels in (("mean", means), ("sd", sds))
        for k in (0, 1)
    }
    soft = {f"soft_{name}": figure._replace(shown=OVERLAP) for name, figure in ended.items()}
    return [
        Page(
            "Soft: rows are split",
            (
                "Eight other numbers, and two normal distributions that overlap. The fifth number, 0.6, lies between "
                "the two means: class 0 has {between} of it, class 1 the rest.",
                "Soft assignment uses all that is known about a row. Its objective is the likelihood of what was seen: "
                "{after} after five iterations.",
            ),
            OVERLAP,
            {"between": Figure(cell(1, resp, ("4", "class 0"), "weight"), 2), "after": Figure(after(5), 3)},
        ),
        Page(
            "Hard: each row to its most probable class",
            (
                "Hard assignment leaves {none} of the number 0.6 in class 0, where soft assignment left {between}. "
                "Counts are whole numbers, and EM ends when no assignment changes: here after one iteration.",
                "The objective is another one: the probability of the rows and their assignments together, {hard} in "
                "the end.",
                "Its best parameters are others too. The means are {mean_0} and {mean_1} with standard deviations "
                "{sd_0} and {sd_1}; soft assignment has {soft_mean_0} and {soft_mean_1} with {soft_sd_0} and "
                "{soft_sd_1}. Hard classes look farther apart and narrower than they are.",
            ),
            HARD,
            {
                "none": Figure(cell(1, resp, ("4", "class 0"), "weight"), 0),
                "between": Figure(cell(1, resp, ("4", "class 0"), "weight"), 2, OVERLAP),
                "hard": Figure(after(5), 3),
                **ended,
                **soft,
            },
        ),
        Page(
            "Sampled: each row to a class that is drawn",
            (
                "The class of each row is drawn with its responsibility as the probability; then rows are counted. The "
                "seed makes the draws repeatable.",
                "The likelihood need not rise: it is {first}, {second} and {third} after the first three iterations. It"
                " wanders about good parameters, and can leave bad ones. The mean of many draws is soft assignment "
                "again.",
            ),
            SAMPLED,
            {"first": Figure(after(1), 3), "second": Figure(after(2), 3), "third": Figure(after(3), 3)},
        ),
    ]


def k_means() -> list[Page]:
    """Return the page on k-means as hard EM."""
    return [
        Page(
            "k-means is hard EM",
            (
                "Take a mixture of normal distributions with equal shares and a variance of 1 that does not change. The"
                " most probable class of a row is then the one with the nearest mean: hard EM is k-means.",
                "E-step: squared distances, and the nearest centre. M-step: each centre becomes the mean of its rows. "
                "Six numbers from two centres at the left end: the inertia, the sum of the squared distances, falls "
                "from {first} to {second}, {third} and {fourth}.",
            ),
            NUMBERS,
            {
                "first": Figure(before(1), 0),
                "second": Figure(before(2), 0),
                "third": Figure(before(3), 2),
                "fourth": Figure(before(4), 2),
            },
        ),
    ]


def ends() -> list[Page]:
    """Return the pages on where EM can end badly."""
    heads = ("p of heads",)
    return [
        Page(
            "A bad start can stay bad",
            (
                "Four corners of a rectangle, and centres that lie one above the other. Each corner is nearest to the "
                "centre at its own height, and the means of these rows are the centres again: nothing moves. The "
                "inertia stays at {bad}.",
                "From centres at the left and the right it is {good}. EM only climbs from where it stands. So many "
                "starts are made, and the best result is kept.",
            ),
            CORNERS,
            {"bad": Figure(after(2), 0), "good": Figure(after(2), 0, APART)},
        ),
        Page(
            "A start that tells nothing apart",
            (
                "The coins once more, from {start} for both. Every series is split in halves, both coins get the same "
                "heads and tails, and both become {share}, the share of heads in all tosses. There EM stands still.",
                "The log-likelihood is {here}; the two coins of before have {there}. So this is no maximum, only a "
                "stationary point: a small step aside, and EM would leave it.",
                "What EM promises is that the likelihood never falls, and that it ends where the slope is zero or a "
                "parameter is at its limit, such as a probability of 0. It does not promise the highest maximum. "
                "Symmetry must be broken, and one start is never enough.",
            ),
            ALIKE,
            {
                "start": Figure(cell(0, "parameters", heads, "class 0"), 1),
                "share": Figure(cell(1, "m-step", heads, "class 0"), 2),
                "here": Figure(after(3), 3),
                "there": Figure(after(10), 3, COINS),
            },
        ),
    ]
