// Sums, best paths and draws over the ways a transcript can lie on its frames. All in logs and over every arc of the
// band: a node far below the best one may be the only one from which the end can still be reached.
#include "align.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "pick.hpp"

namespace halfseen {

namespace {

constexpr double INF = std::numeric_limits<double>::infinity();
constexpr double NOTHING = -37.0;  // exp of less, added to 1, is 1
constexpr double GONE = 1e-100;    // a use this small is none

// The values of a row, by node.
struct Row {
    const double* data;
    std::int64_t low;
    std::uint64_t size;

    Row(const AlignGraph& graph, Matrix<const double> values, std::size_t r)
        : data(values[r]), low(graph.band[r][0]), size(std::uint64_t(graph.band[r][1] - graph.band[r][0])) {}

    bool has(std::int64_t j) const { return std::uint64_t(j - low) < size; }
    double operator[](std::int64_t j) const { return data[j - low]; }
};

// log of the sum of what the arcs into node j bring.
inline double brought(const AlignGraph& graph, std::int64_t j, const Row& past) {
    double top = -INF, rest = 0;
    for (std::int64_t a = graph.firsts[j], last = graph.firsts[j + 1]; a < last; ++a) {
        const std::int64_t from = graph.source[a];
        if (!past.has(from)) continue;
        const double value = past[from] + graph.logs[a];
        if (value > top) {
            if (top - value > NOTHING) rest = (1.0 + rest) * std::exp(top - value);
            else rest = 0;
            top = value;
        } else if (value - top > NOTHING) {
            rest += std::exp(value - top);
        }
    }
    return rest > 0 ? top + std::log1p(rest) : top;
}

// Return the arc by which node j was reached: the best, or that at `share` of their probabilities.
template <bool BEST>
std::int64_t chosen(const AlignGraph& graph, std::int64_t j, const Row& past, double share) {
    const std::int64_t first = graph.firsts[j], last = graph.firsts[j + 1];
    const auto value = [&](std::int64_t a) {
        return past.has(graph.source[a]) ? past[graph.source[a]] + graph.logs[a] : -INF;
    };
    std::int64_t best = first;
    for (std::int64_t a = first + 1; a < last; ++a)
        if (value(a) > value(best)) best = a;
    if (BEST) return best;
    const double top = value(best);
    double total = 0, passed = 0;
    for (std::int64_t a = first; a < last; ++a) total += std::exp(value(a) - top);
    for (std::int64_t a = first; a < last; ++a) {
        passed += std::exp(value(a) - top);
        if (share * total < passed) return a;
    }
    return best;
}

}  // namespace

#define HALFSEEN_DECLARE(isa)                                                                                        \
    namespace isa {                                                                                                  \
    double align_forward(const AlignGraph&, Span<const std::int64_t>, Matrix<const double>, bool, double,            \
                         Matrix<double>);                                                                            \
    double align_free(std::size_t, Matrix<const double>, double, Matrix<const double>, Span<std::int64_t>);          \
    void align_match(Span<const std::int64_t>, Matrix<const float>, Span<const float>, double, Span<std::int64_t>);  \
    }
HALFSEEN_FOR_EACH_ISA(HALFSEEN_DECLARE)
#undef HALFSEEN_DECLARE

double align_forward(const AlignGraph& graph, Span<const std::int64_t> owner, Matrix<const double> scores, bool best,
                     double level, Matrix<double> values) {
    HALFSEEN_PICK(align_forward(graph, owner, scores, best, level, values));
}

double align_free(std::size_t n_states, Matrix<const double> logs, double enter, Matrix<const double> scores,
                  Span<std::int64_t> states) {
    HALFSEEN_PICK(align_free(n_states, logs, enter, scores, states));
}

void align_match(Span<const std::int64_t> units, Matrix<const float> scores, Span<const float> extra, double skip,
                 Span<std::int64_t> places) {
    HALFSEEN_PICK(align_match(units, scores, extra, skip, places));
}

void align_back(const AlignGraph& graph, Span<const std::int64_t> owner, Matrix<const double> values, double outer,
                std::int64_t first, Span<double> now, Matrix<double> usage, Span<double> arc_usage,
                Matrix<double> times, Stack<const std::int64_t> spans, Matrix<double> held) {
    std::vector<double> before(now.size);
    for (std::size_t r = graph.band.rows; --r > 0;) {
        const Row past(graph, values, r - 1);
        const std::int64_t low = graph.band[r][0], high = graph.band[r][1];
        const bool frame = low < std::int64_t(owner.size);
        double* own = frame && usage.rows > 0 ? usage[r - 1] : nullptr;
        if (own) std::fill(own, own + usage.cols, 0.0);
        std::fill(before.begin(), before.end(), 0.0);
        double total = 0;  // 1 up to rounding, which must not grow over many frames
        for (std::int64_t j = 0; j < high - low; ++j) total += now[j];
        for (std::int64_t j = low; j < high; ++j) {
            double& used = now[j - low];
            if (used < GONE) {
                used = 0;
                continue;
            }
            used /= total;
            if (own) own[owner[j]] += outer * used;
            if (frame) {
                times[0][j] += used;
                times[1][j] += double(2 * (first + std::int64_t(r)) - 1) * used;
            }
            const double all = brought(graph, j, past);
            for (std::int64_t a = graph.firsts[j]; a < graph.firsts[j + 1]; ++a) {
                const std::int64_t from = graph.source[a];
                if (!past.has(from)) continue;
                const double part = used * std::exp(past[from] + graph.logs[a] - all);
                arc_usage[a] += outer * part;
                before[from - past.low] += part;
            }
        }
        if (frame) {
            for (std::size_t q = 0; q < held.rows; ++q) {
                const std::int64_t* span = spans[q][r - 1];
                double sum = 0;
                for (std::int64_t j = std::max(span[0], low); j < std::min(span[1], high); ++j) sum += now[j - low];
                held[q][r - 1] = sum;
            }
        }
        std::copy(before.begin(), before.end(), now.data);
    }
}

std::int64_t align_trace(const AlignGraph& graph, Matrix<const double> values, std::int64_t node,
                         Span<std::int64_t> arcs) {
    for (std::size_t r = graph.band.rows; --r > 0;) {
        arcs[r - 1] = chosen<true>(graph, node, Row(graph, values, r - 1), 0.0);
        node = graph.source[arcs[r - 1]];
    }
    return node;
}

void align_draw(const AlignGraph& graph, Matrix<const double> values, Matrix<const double> uniforms,
                Span<std::int64_t> nodes, Matrix<std::int64_t> arcs) {
    for (std::size_t r = graph.band.rows; --r > 0;) {
        const Row past(graph, values, r - 1);
        for (std::size_t n = 0; n < nodes.size; ++n) {
            arcs[n][r - 1] = chosen<false>(graph, nodes[n], past, uniforms[n][r - 1]);
            nodes[n] = graph.source[arcs[n][r - 1]];
        }
    }
}

}  // namespace halfseen
