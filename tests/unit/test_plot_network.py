"""plot_network: boxes in layers that do not overlap, edges around them, probabilities of states as bars."""

from itertools import combinations

import numpy as np
import pytest

import halfseen as hs
from halfseen.errors import ParameterError
from halfseen.families.network.layout import layout
from halfseen.structures.graph import Graph

pytest.importorskip("matplotlib")
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

BIF = """
network asia { }
variable asia { type discrete [ 2 ] { yes, no }; }
variable tub { type discrete [ 2 ] { yes, no }; }
variable smoke { type discrete [ 2 ] { yes, no }; }
variable dysp { type discrete [ 2 ] { yes, no }; }
probability ( asia ) { table 0.01, 0.99; }
probability ( tub | asia ) { (yes) 0.05, 0.95; (no) 0.01, 0.99; }
probability ( smoke ) { table 0.5, 0.5; }
probability ( dysp | tub, smoke ) { (yes, yes) 0.9, 0.1; (yes, no) 0.7, 0.3; (no, yes) 0.4, 0.6; (no, no) 0.1, 0.9; }
"""


@pytest.fixture
def ax():
    return Figure(layout="constrained").subplots()


@pytest.fixture
def net(tmp_path):
    file = tmp_path / "asia.bif"
    file.write_text(BIF)
    return hs.read_bif(file)


def parts(ax, kind):
    return [patch for patch in ax.patches if isinstance(patch, kind)]


def texts(ax):
    return [text.get_text() for text in ax.texts]


def test_every_variable_and_every_edge_is_drawn(net, ax):
    assert hs.plot_network(net, ax) is ax
    assert sorted(texts(ax)) == ["asia", "dysp", "smoke", "tub"]
    assert len(parts(ax, FancyBboxPatch)) == 4
    assert len(parts(ax, FancyArrowPatch)) == 3
    ax.figure.canvas.draw()


def test_bars_are_the_probabilities_of_states(net, ax):
    hs.plot_network(net, ax, marginals=True)
    bars = [bar[0].get_width() for bar in ax.containers]
    shares = [net.query(name)[state] for name in net.nodes_ for state in ("yes", "no")]
    np.testing.assert_allclose(np.array(bars[1::2]) / bars[0], shares)
    assert "1%" in texts(ax)


def test_bars_given_evidence_of_one_state_of_a_set_and_soft(net):
    for given, own in (("yes", [1, 0]), ({"yes", "no"}, None), ([0.2, 0.4], None)):
        ax = hs.plot_network(net, Figure().subplots(), evidence={"dysp": given})
        found = np.array([bar[0].get_width() for bar in ax.containers][1::2]).reshape(4, 2)
        found = dict(zip(net.nodes_, found / found.sum(axis=1, keepdims=True), strict=True))
        np.testing.assert_allclose(found["tub"], np.asarray(net.query("tub", {"dysp": given})))
        if own is not None:
            np.testing.assert_allclose(found["dysp"], own)
        assert sum(patch.get_linewidth() > 2 for patch in parts(ax, FancyBboxPatch)) == 1


def test_hidden_variables_are_dashed(ax):
    rows = [["a", "a", "a"]] * 6 + [["b", "b", "b"]] * 3
    net = hs.BayesNet("C -> x0; C -> x1; C -> x2", hidden={"C": 2}, random_state=0, n_init=1).fit(rows)
    hs.plot_network(net, ax)
    dashed = [patch.get_linestyle() != "-" for patch in parts(ax, FancyBboxPatch)]
    assert [name for name, is_dashed in zip(net.nodes_, dashed, strict=True) if is_dashed] == ["C"]


def test_many_states_are_counted(ax):
    rows = [[f"s{i}", "x"] for i in range(12)]
    hs.plot_network(hs.BayesNet("x0 -> x1").fit(rows), ax, marginals=True)
    assert "4 more" in texts(ax)


def test_text_shrinks_with_the_axes(net):
    large, small = (hs.plot_network(net, Figure(size).subplots()) for size in ((8, 8), (1.5, 1.5)))
    assert small.texts[0].get_fontsize() < 0.7 * large.texts[0].get_fontsize()
    assert large.texts[0].get_fontsize() == 10


def random_graph(rng, n):
    parents = tuple(
        tuple(sorted(rng.choice(v, size=min(v, int(rng.integers(0, 4))), replace=False).tolist())) for v in range(n)
    )
    return Graph(tuple(f"v{v}" for v in range(n)), (2,) * n, parents)


@pytest.mark.parametrize("seed", range(8))
def test_boxes_keep_apart_and_edges_pass_beside_them(seed):
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, 20)
    sizes = [(float(rng.integers(20, 120)), float(rng.integers(15, 80))) for _ in graph.names]
    found = layout(graph, sizes, gap=10)
    frames = [(x - w / 2, y - h / 2, x + w / 2, y + h / 2) for (x, y), (w, h) in zip(found.places, sizes, strict=True)]
    for one, two in combinations(frames, 2):
        assert one[2] < two[0] or two[2] < one[0] or one[3] < two[1] or two[3] < one[1]
    assert set(found.edges) == {(p, v) for v, parents in enumerate(graph.parents) for p in parents}
    for (parent, child), points in found.edges.items():
        assert found.places[parent][1] < found.places[child][1]
        for (x1, y1), (_, y2) in zip(points[1:-1:2], points[2:-1:2], strict=True):  # vertical parts beside boxes
            assert not any(left < x1 < right and top < y2 and y1 < bottom for left, top, right, bottom in frames)
    assert min(frame[0] for frame in frames) >= -1e-9
    assert max(frame[2] for frame in frames) <= found.width + 1e-9
    assert max(frame[3] for frame in frames) <= found.height + 1e-9


def test_what_cannot_be_drawn(net, ax):
    with pytest.raises(ParameterError, match="draws a fitted BayesNet, got KMeans"):
        hs.plot_network(hs.KMeans(2), ax)
    with pytest.raises(ParameterError, match="no variable 'x'"):
        hs.plot_network(net, ax, evidence={"x": 1})
