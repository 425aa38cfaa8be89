// Forward values of transcripts. Formulas: align.py. Compiled once per instruction set.
//
// Most nodes are reached from themselves and from the node before, so that a row is computed for as many nodes at a time
// as a register holds. Further arcs are in lists: the first further arc of every node that has one, then the second, ...
#include "align.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "lanes.hpp"

namespace halfseen::HALFSEEN_ISA {

namespace {

constexpr double INF = std::numeric_limits<double>::infinity();
constexpr double LOWEST = -1e300;  // above -inf, so that differences from it are numbers

struct Further {  // one further arc of each of some nodes, by rising node
    std::vector<std::int64_t> node, source;
    std::vector<double> log;
};

// The arcs into the nodes low to high.
struct Arcs {
    std::int64_t low;
    std::vector<double> stay, next;  // logs of the arcs from the node itself and from the one before, or -inf
    std::vector<Further> further;

    Arcs(const AlignGraph& graph, std::int64_t low, std::int64_t high)
        : low(low), stay(std::size_t(high - low) + WIDTH, -INF), next(stay) {
        for (std::int64_t j = low; j < high; ++j) {
            std::size_t n_further = 0;
            for (std::int64_t a = graph.firsts[j]; a < graph.firsts[j + 1]; ++a) {
                double& near = graph.source[a] == j ? stay[j - low] : next[j - low];
                if (graph.source[a] >= j - 1 && near == -INF) {
                    near = graph.logs[a];
                    continue;
                }
                if (n_further == further.size()) further.emplace_back();
                Further& list = further[n_further++];
                list.node.push_back(j);
                list.source.push_back(graph.source[a]);
                list.log.push_back(graph.logs[a]);
            }
        }
    }
};

// log(exp a + exp b), or the larger of the two.
template <bool BEST>
inline Lanes both(Lanes a, Lanes b) {
    const Lanes high = larger(a, b);
    if (BEST) return high;
    const Lanes low = choose(a < b, a, b), top = larger(high, all(LOWEST));
    return high + log_positive(all(1.0) + exp_below_zero(low - top));
}

template <bool BEST>
struct Rows {
    const AlignGraph& graph;
    const Arcs& arcs;
    std::vector<double> past, fresh, mine, other;  // values by node, padded

    Rows(const AlignGraph& graph, const Arcs& arcs, std::size_t width)
        : graph(graph), arcs(arcs), past(width + 2 * WIDTH), fresh(past), mine(past), other(past) {}

    // Fill `fresh` with what arcs bring to the nodes of row r.
    void gather(std::size_t r, Matrix<double> values) {
        const std::int64_t low = graph.band[r][0], high = graph.band[r][1];
        const std::int64_t from = graph.band[r - 1][0], until = graph.band[r - 1][1];
        const double* before = values[r - 1];
        // past[i] is the value of node low - 1 + i
        const std::int64_t begin = std::max(from, low - 1), end = std::max(begin, std::min(until, high));
        std::fill(past.begin(), past.end(), -INF);
        std::copy(before + (begin - from), before + (end - from), past.begin() + (begin - (low - 1)));
        const double* stay = arcs.stay.data() + (low - arcs.low);
        const double* next = arcs.next.data() + (low - arcs.low);
        for (std::int64_t i = 0; i < high - low; i += WIDTH)
            store(&fresh[i], both<BEST>(load(&past[i + 1]) + load(stay + i), load(&past[i]) + load(next + i)));
        for (const Further& list : arcs.further) {
            const auto nodes = list.node.begin();
            const std::size_t first = std::size_t(std::lower_bound(nodes, list.node.end(), low) - nodes);
            std::size_t n = 0;
            for (std::size_t k = first; k < list.node.size() && list.node[k] < high; ++k, ++n) {
                const std::int64_t source = list.source[k];
                mine[n] = fresh[list.node[k] - low];
                other[n] = source >= from && source < until ? before[source - from] + list.log[k] : -INF;
            }
            for (std::size_t i = 0; i < n; i += WIDTH) store(&mine[i], both<BEST>(load(&mine[i]), load(&other[i])));
            for (std::size_t i = 0; i < n; ++i) fresh[list.node[first + i] - low] = mine[i];
        }
    }

    // Compute row r; return what it was lowered by.
    double step(std::size_t r, Span<const std::int64_t> owner, const double* own, Matrix<double> values) {
        gather(r, values);
        const std::int64_t low = graph.band[r][0], n = graph.band[r][1] - low;
        double* out = values[r];
        if (own) {
            const std::int64_t* of = owner.data + low;
            for (std::int64_t i = 0; i < n; ++i) fresh[i] += own[of[i]];
        }
        for (int i = 0; i < WIDTH; ++i) fresh[n + i] = -INF;
        Lanes highest = all(-INF), whole = all(0.0);
        for (std::int64_t i = 0; i < n; i += WIDTH) {
            const Lanes value = load(&fresh[i]);
            highest = larger(highest, value);
            whole += choose(seen(value), all(0.0), value);
        }
        double top = -INF;
        for (int i = 0; i < WIDTH; ++i) top = std::max(top, highest[i]);
        if (!(sum(whole) == 0)) return std::numeric_limits<double>::quiet_NaN();
        const double level = top == -INF ? 0.0 : top;
        for (std::int64_t i = 0; i < n; ++i) out[i] = fresh[i] - level;
        return top;
    }
};

template <bool BEST>
double forward(const AlignGraph& graph, Span<const std::int64_t> owner, Matrix<const double> scores, double level,
               Matrix<double> values) {
    std::int64_t low = graph.band[0][1], high = low;
    for (std::size_t r = 1; r < graph.band.rows; ++r) {
        low = std::min(low, graph.band[r][0]);
        high = std::max(high, graph.band[r][1]);
    }
    const Arcs arcs(graph, low, high);
    Rows<BEST> rows(graph, arcs, values.cols);
    for (std::size_t r = 1; r < graph.band.rows; ++r) {
        level += rows.step(r, owner, r <= scores.rows ? scores[r - 1] : nullptr, values);
        if (!(level > -INF)) return level;
    }
    return level;
}

}  // namespace

double align_forward(const AlignGraph& graph, Span<const std::int64_t> owner, Matrix<const double> scores, bool best,
                     double level, Matrix<double> values) {
    return best ? forward<true>(graph, owner, scores, level, values)
                : forward<false>(graph, owner, scores, level, values);
}

}  // namespace halfseen::HALFSEEN_ISA
