// Sums, best paths and draws over the ways a transcript can lie on its frames. All in logs and over every arc: a node
// far below the best one may be the only one from which the end can still be reached.
#include "align.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace halfseen {

namespace {

constexpr double INF = std::numeric_limits<double>::infinity();
constexpr double NOTHING = -37.0;  // exp of less, added to 1, is 1
constexpr double GONE = 1e-100;    // a use this small is none

// log of the sum, or the largest, of what the arcs into node j bring from `past` (null: the beginning).
template <bool BEST>
double brought(const AlignGraph& graph, std::size_t j, const double* past) {
    const std::int64_t first = graph.firsts[j], last = graph.firsts[j + 1];
    double top = -INF, rest = 0;
    for (std::int64_t a = first; a < last; ++a) {
        const std::int64_t from = graph.source[a];
        if ((from < 0) != (past == nullptr)) continue;
        const double value = (past ? past[from] : 0.0) + graph.logs[a];
        if (value > top) {
            if (!BEST && top - value > NOTHING) rest = (1.0 + rest) * std::exp(top - value);
            else rest = 0;
            top = value;
        } else if (!BEST && value - top > NOTHING) {
            rest += std::exp(value - top);
        }
    }
    return rest > 0 ? top + std::log1p(rest) : top;
}

// Rows of forward values, each lowered by its largest: all of them, or one block and the first row of every block.
template <bool BEST>
struct Forward {
    const AlignGraph& graph;
    Matrix<const double> scores;
    Matrix<double> work;
    std::size_t length, stride, n_nodes, block = 0;
    double level = 0;

    Forward(const AlignGraph& graph, Matrix<const double> scores, Matrix<double> work)
        : graph(graph), scores(scores), work(work), length(scores.rows), n_nodes(graph.owner.size) {
        stride = std::max<std::size_t>(length, 1);  // as many rows as fit: see align_rows
        if (work.rows < length + 1)
            for (stride = 2; stride + (length + stride - 1) / stride > work.rows; ) ++stride;
    }

    double* row(std::size_t t) const { return work[t % stride]; }
    double* kept(std::size_t number) const { return work[stride + number]; }

    // Compute row t from row t - 1; return what it was lowered by.
    double step(std::size_t t, double* out) const {
        const double* past = t == 0 ? nullptr : row(t - 1);
        const double* own = scores[t];
        double top = -INF;
        bool whole = true;
        for (std::size_t j = 0; j < n_nodes; ++j) {
            const double score = own[graph.owner[j]];
            whole &= score == score;
            out[j] = brought<BEST>(graph, j, past) + score;
            if (!(out[j] == out[j])) out[j] = -INF;
            top = std::max(top, out[j]);
        }
        if (!whole) return std::numeric_limits<double>::quiet_NaN();
        if (top != -INF && top != 0)
            for (std::size_t j = 0; j < n_nodes; ++j) out[j] -= top;
        return top;
    }

    // Return the log-evidence, or the log-probability of the best way.
    double run() {
        if (length == 0) return brought<BEST>(graph, n_nodes, nullptr);
        for (std::size_t t = 0; t < length; ++t) {
            const double top = step(t, row(t));
            level += top;
            if (!(level > -INF)) return level;
            if (t % stride == 0) std::copy(row(t), row(t) + n_nodes, kept(t / stride));
        }
        block = (length - 1) / stride;
        return level + brought<BEST>(graph, n_nodes, row(length - 1));
    }

    // Return the row before frame t, for falling t, or null before the first: the block it stands in is computed
    // again where it is not there.
    const double* before(std::size_t t) {
        if (t-- == 0) return nullptr;
        if (t / stride != block) {
            block = t / stride;
            std::copy(kept(block), kept(block) + n_nodes, row(block * stride));
            for (std::size_t u = block * stride + 1; u < (block + 1) * stride; ++u) step(u, row(u));
        }
        return row(t);
    }
};

// Return the arc by which node j was reached: the best, or that at `share` of their probabilities.
template <bool BEST>
std::int64_t chosen(const AlignGraph& graph, std::size_t j, const double* past, double share) {
    const std::int64_t first = graph.firsts[j], last = graph.firsts[j + 1];
    const auto value = [&](std::int64_t a) {
        const std::int64_t from = graph.source[a];
        if ((from < 0) != (past == nullptr)) return -INF;
        return (past ? past[from] : 0.0) + graph.logs[a];
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

template <bool BEST>
double traced(const AlignGraph& graph, Matrix<const double> scores, Matrix<const double> uniforms,
              Matrix<double> work, Matrix<std::int64_t> arcs) {
    const std::size_t length = scores.rows, n_nodes = graph.owner.size;
    Forward<BEST> forward(graph, scores, work);
    const double evidence = forward.run();
    if (!(evidence > -INF)) return evidence;
    std::vector<std::size_t> node(arcs.rows, n_nodes);
    for (std::size_t t = length + 1; t-- > 0;) {
        const double* past = forward.before(t);
        for (std::size_t r = 0; r < arcs.rows; ++r) {
            arcs[r][t] = chosen<BEST>(graph, node[r], past, BEST ? 0.0 : uniforms[r][t]);
            if (t > 0) node[r] = std::size_t(graph.source[arcs[r][t]]);
        }
    }
    return evidence;
}

}  // namespace

double align_soft(const AlignGraph& graph, double outer, Matrix<double> scores, Matrix<double> work,
                  Span<double> arc_usage, Matrix<double> times, Stack<const std::int64_t> spans, Matrix<double> held) {
    const std::size_t length = scores.rows, n_nodes = graph.owner.size;
    Forward<false> forward(graph, {scores.data, scores.rows, scores.cols}, work);
    const double evidence = forward.run();
    if (!(evidence > -INF)) {
        std::fill(scores.data, scores.data + scores.rows * scores.cols, 0.0);
        return evidence;
    }
    std::vector<double> now(n_nodes + 1, 0.0), before(n_nodes + 1, 0.0);
    const auto push = [&](std::size_t j, const double* past) {
        const std::int64_t first = graph.firsts[j], last = graph.firsts[j + 1];
        const double all = brought<false>(graph, j, past);
        for (std::int64_t a = first; a < last; ++a) {
            const std::int64_t from = graph.source[a];
            if ((from < 0) != (past == nullptr)) continue;
            const double part = now[j] * std::exp((past ? past[from] : 0.0) + graph.logs[a] - all);
            arc_usage[a] += outer * part;
            if (past) before[from] += part;
        }
    };
    now[n_nodes] = 1.0;
    push(n_nodes, forward.before(length));
    now[n_nodes] = 0.0;
    for (std::size_t t = length; t-- > 0;) {
        now.swap(before);
        std::fill(before.begin(), before.end(), 0.0);
        double total = 0;  // 1 up to rounding, which must not grow over many frames
        for (std::size_t j = 0; j < n_nodes; ++j) total += now[j];
        const double* past = forward.before(t);
        double* own = scores[t];
        std::fill(own, own + scores.cols, 0.0);
        for (std::size_t j = 0; j < n_nodes; ++j) {
            if (now[j] < GONE) {
                now[j] = 0;
                continue;
            }
            now[j] /= total;
            own[graph.owner[j]] += outer * now[j];
            times[0][j] += now[j];
            times[1][j] += double(2 * t + 1) * now[j];
            push(j, past);
        }
        for (std::size_t q = 0; q < held.rows; ++q) {
            const std::int64_t* span = spans[q][t];
            double sum = 0;
            for (std::int64_t j = span[0]; j < span[1]; ++j) sum += now[j];
            held[q][t] = sum;
        }
    }
    return evidence;
}

double align_hard(const AlignGraph& graph, Matrix<const double> scores, Matrix<double> work, Span<std::int64_t> arcs) {
    return traced<true>(graph, scores, {nullptr, 0, 0}, work, {arcs.data, 1, arcs.size});
}

double align_draw(const AlignGraph& graph, Matrix<const double> scores, Matrix<const double> uniforms,
                  Matrix<double> work, Matrix<std::int64_t> arcs) {
    return traced<false>(graph, scores, uniforms, work, arcs);
}

}  // namespace halfseen
