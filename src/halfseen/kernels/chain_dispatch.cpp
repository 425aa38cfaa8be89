// Picks the instruction set of the scaled kernels of chains; those in logs, which are seldom used, stand here.
#include <algorithm>
#include <cmath>
#include <limits>

#include "chain.hpp"
#include "pick.hpp"

namespace halfseen {

#define HALFSEEN_DECLARE(isa)                                                                                        \
    namespace isa {                                                                                                  \
    std::size_t chain_room(Span<const std::int64_t>, std::size_t);                                                   \
    void chain_soft(Span<const double>, Matrix<const double>, Span<const std::int64_t>, Span<const double>,          \
                    Matrix<double>, Span<double>, Span<double>, Matrix<double>, Span<double>);                       \
    void chain_fused(Span<const double>, Matrix<const double>, const ChainEmissions&, Span<const std::int64_t>,      \
                     Span<const double>, const ChainSteps&, Span<double>, Span<double>, Matrix<double>,              \
                     const ChainSums&, Span<double>);                                                                \
    void chain_filter(Span<const double>, Matrix<const double>, Span<const std::int64_t>, Matrix<double>,            \
                      Span<double>, Span<double>);                                                                   \
    void chain_best(Span<const double>, Matrix<const double>, std::size_t, double*, std::int32_t*);                  \
    }
HALFSEEN_FOR_EACH_ISA(HALFSEEN_DECLARE)
#undef HALFSEEN_DECLARE

std::size_t chain_room(Span<const std::int64_t> lengths, std::size_t n_states) {
    HALFSEEN_PICK(chain_room(lengths, n_states));
}

void chain_soft(Span<const double> start, Matrix<const double> trans, Span<const std::int64_t> lengths,
                Span<const double> outer, Matrix<double> scores, Span<double> work, Span<double> start_usage,
                Matrix<double> trans_usage, Span<double> log_evidence) {
    HALFSEEN_PICK(chain_soft(start, trans, lengths, outer, scores, work, start_usage, trans_usage, log_evidence));
}

void chain_fused(Span<const double> start, Matrix<const double> trans, const ChainEmissions& model,
                 Span<const std::int64_t> lengths, Span<const double> outer, const ChainSteps& steps,
                 Span<double> work, Span<double> start_usage, Matrix<double> trans_usage, const ChainSums& sums,
                 Span<double> log_evidence) {
    HALFSEEN_PICK(chain_fused(start, trans, model, lengths, outer, steps, work, start_usage, trans_usage, sums,
                              log_evidence));
}

void chain_filter(Span<const double> start, Matrix<const double> trans, Span<const std::int64_t> lengths,
                  Matrix<double> scores, Span<double> work, Span<double> log_evidence) {
    HALFSEEN_PICK(chain_filter(start, trans, lengths, scores, work, log_evidence));
}

namespace {

constexpr double INF = std::numeric_limits<double>::infinity();

void best_paths(Span<const double> start, Matrix<const double> trans, std::size_t length, double* scores,
                std::int32_t* back) {
    HALFSEEN_PICK(chain_best(start, trans, length, scores, back));
}

// log sum exp of n values that lie `stride` apart; -inf where all are, NaN where one is.
double log_sum(const double* values, std::size_t n, std::size_t stride = 1) {
    double best = -INF, total = 0;
    for (std::size_t i = 0; i < n; ++i) {
        if (values[i * stride] != values[i * stride]) return values[i * stride];
        best = std::max(best, values[i * stride]);
    }
    if (best == -INF) return -INF;
    for (std::size_t i = 0; i < n; ++i) total += std::exp(values[i * stride] - best);
    return best + std::log(total);
}

// log sum_i exp(x[i] + matrix[i * stride]).
double log_product(const double* x, const double* matrix, std::size_t n, std::size_t stride) {
    double best = -INF, total = 0;
    for (std::size_t i = 0; i < n; ++i) {
        const double value = x[i] + matrix[i * stride];
        if (value != value) return value;
        best = std::max(best, value);
    }
    if (best == -INF) return -INF;
    for (std::size_t i = 0; i < n; ++i) total += std::exp(x[i] + matrix[i * stride] - best);
    return best + std::log(total);
}

// out[t] = log p(z_t | x_1..t), which may stand where the scores stood; returns log p(x_1..T).
double log_forward(Span<const double> start, Matrix<const double> trans, std::size_t length, const double* scores,
                   double* out) {
    const std::size_t n = start.size;
    double total = 0;
    for (std::size_t t = 0; t < length; ++t) {
        double* own = out + t * n;
        for (std::size_t j = 0; j < n; ++j) {
            const double prior = t == 0 ? start[j] : log_product(own - n, trans.data + j, n, n);
            own[j] = prior + scores[t * n + j];
        }
        const double step = log_sum(own, n);
        total += step;
        if (step != -INF)
            for (std::size_t j = 0; j < n; ++j) own[j] -= step;
    }
    return total;
}

// usage[i, j] += weight p(i, j), p ~ exp(past[i] + trans[i, j] + after[j]).
void add_pairs(Matrix<const double> trans, const double* past, const double* after, double weight,
               Matrix<double> usage) {
    const std::size_t n = trans.cols;
    double top = -INF, mass = 0;
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < n; ++j) top = std::max(top, past[i] + trans[i][j] + after[j]);
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < n; ++j) mass += std::exp(past[i] + trans[i][j] + after[j] - top);
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < n; ++j)
            usage[i][j] += weight * std::exp(past[i] + trans[i][j] + after[j] - top) / mass;
}

}  // namespace

void chain_soft_log(Span<const double> start, Matrix<const double> trans, Span<const std::int64_t> lengths,
                    Span<const double> outer, Matrix<double> scores, Matrix<double> work, Span<double> start_usage,
                    Matrix<double> trans_usage, Span<double> log_evidence) {
    const std::size_t n = start.size;
    double* own = scores.data;
    for (std::size_t b = 0; b < lengths.size; own += lengths[b] * n, ++b) {
        const std::size_t length = lengths[b];
        log_evidence[b] = log_forward(start, trans, length, own, work.data);
        if (log_evidence[b] == -INF) {
            std::fill(own, own + length * n, 0.0);
            continue;
        }
        double *ahead = work[work.rows - 2], *after = work[work.rows - 1];
        std::fill(ahead, ahead + n, 0.0);
        for (std::size_t t = length; t-- > 0;) {
            double* row = own + t * n;
            const double* filtered = work[t];
            const double level = log_product(filtered, ahead, n, 1);
            for (std::size_t j = 0; j < n; ++j) {
                after[j] = row[j] + ahead[j];
                row[j] = outer[b] * std::exp(filtered[j] + ahead[j] - level);
            }
            if (t == 0) break;
            add_pairs(trans, work[t - 1], after, outer[b], trans_usage);
            double highest = -INF;
            for (std::size_t i = 0; i < n; ++i) highest = std::max(highest, ahead[i] = log_product(after, trans[i], n, 1));
            for (std::size_t i = 0; i < n; ++i) ahead[i] -= highest == -INF ? 0.0 : highest;
        }
        for (std::size_t j = 0; j < n; ++j) start_usage[j] += own[j];
    }
}

void chain_filter_log(Span<const double> start, Matrix<const double> trans, Span<const std::int64_t> lengths,
                      Matrix<double> scores, Span<double> log_evidence) {
    double* own = scores.data;
    for (std::size_t b = 0; b < lengths.size; own += lengths[b] * start.size, ++b)
        log_evidence[b] = log_forward(start, trans, lengths[b], own, own);
}

void chain_hard(Span<const double> start, Matrix<const double> trans, Span<const std::int64_t> lengths,
                Span<const double> outer, Matrix<double> scores, Matrix<std::int32_t> back, Span<std::int64_t> path,
                Span<double> start_usage, Matrix<double> trans_usage, Span<double> log_evidence) {
    const std::size_t n = start.size;
    std::size_t first = 0;
    for (std::size_t b = 0; b < lengths.size; first += lengths[b], ++b) {
        const std::size_t length = lengths[b], last = first + length - 1;
        double* own = scores[first];
        bool whole = true;
        for (std::size_t c = 0; c < length * n; ++c) whole &= own[c] == own[c];
        best_paths(start, trans, length, own, back[first]);
        const double* ends = scores[last];
        path[last] = std::max_element(ends, ends + n) - ends;
        log_evidence[b] = whole ? ends[path[last]] : std::numeric_limits<double>::quiet_NaN();
        for (std::size_t t = last; t > first; --t) path[t - 1] = back[t][path[t]];
        const bool possible = log_evidence[b] > -INF;  // nor is NaN
        std::fill(own, own + length * n, 0.0);
        if (!possible) continue;
        for (std::size_t t = first; t <= last; ++t) {
            scores[t][path[t]] = outer[b];
            if (t > first) trans_usage[path[t - 1]][path[t]] += outer[b];
        }
        start_usage[path[first]] += outer[b];
    }
}

void chain_draw(Matrix<const double> trans, Span<const std::int64_t> lengths, Matrix<const double> log_filtered,
                Span<const double> uniforms, Span<std::int64_t> path) {
    const std::size_t n = trans.cols;
    std::size_t first = 0;
    for (std::size_t b = 0; b < lengths.size; first += lengths[b], ++b) {
        for (std::size_t t = first + lengths[b]; t-- > first;) {
            const bool last = t + 1 == first + lengths[b];
            const auto chance = [&](std::size_t i) {
                return log_filtered[t][i] + (last ? 0.0 : trans[i][path[t + 1]]);
            };
            double best = -INF, total = 0;
            for (std::size_t i = 0; i < n; ++i) best = std::max(best, chance(i));
            if (best == -INF) best = 0;
            for (std::size_t i = 0; i < n; ++i) total += std::exp(chance(i) - best);
            const double level = uniforms[t] * total;
            double passed = 0;
            std::size_t chosen = n - 1;
            for (std::size_t i = 0; i < n; ++i) {
                passed += std::exp(chance(i) - best);
                if (level < passed) {
                    chosen = i;
                    break;
                }
            }
            path[t] = std::int64_t(chosen);
        }
    }
}

}  // namespace halfseen
