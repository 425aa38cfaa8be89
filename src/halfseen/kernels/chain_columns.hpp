// One sequence under way: emissions of its steps from scores or columns, and the way of usage back to them.
//
// Part of chain.cpp, compiled once per instruction set.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "chain.hpp"
#include "lanes.hpp"

namespace halfseen {
namespace HALFSEEN_ISA {

namespace {

constexpr double LEAST = 1e-100;     // of what is left after some steps: below, rounding may have lost what matters
constexpr double TINY = 1e-307;      // stands for emissions that are smaller, but possible: any share of it is cut
constexpr double NEVER = -1e299;     // a log-probability below stands for log 0
constexpr double SAME = 1e-12;       // bounds that differ by this part are the same but for rounding
constexpr double NAN_ = std::numeric_limits<double>::quiet_NaN();

// x where it is not too small; else the least of what is possible, or zero. NaN stays.
inline Lanes raised(Lanes x, double least, Bits possible) {
    return choose(x < all(least), only(possible, all(least)), x);
}

// A product of many factors, exact but for the rounding of its digits.
struct Scale {
    double digits = 1;
    double exponent = 0;

    void take(double factor) {
        digits *= factor;
        if (digits < 1e-150 || digits > 1e150) {
            int shift;
            digits = std::frexp(digits, &shift);
            exponent += shift;
        }
    }
    double log() const { return exponent * 0.69314718055994530942 + std::log(digits); }
    bool agrees(const Scale& other) const {
        return std::fabs(std::ldexp(digits / other.digits, int(exponent - other.exponent)) - 1) <= SAME;
    }
};

// One sequence under way. Rows of `filtered` and `emit` are those of steps from `base` on; forward values of lanes side
// by side alternate, so that those of a few steps are one matrix.
struct Lane {
    std::size_t length, base, width;
    std::size_t stride;              // from the forward values of a step to those of the next
    double* filtered;                // (held, W), and before them the values of the step before `base`
    double* emit;                    // (held, W); unused where emissions are rows of a table
    double* inverse;                 // (held,)   what the step was multiplied with, where it was
    double* ahead;                   // (W,)
    double* scores;                  // (length, K) or null
    const ChainSteps* steps;         // or null: the columns of all sequences,
    const ChainEmissions* model;     // and what states make of them
    const double* table;             // the model's, and the sequence's own cells, at hand
    const std::uint16_t* cells;
    std::size_t first;               // row of the sequence's first step
    std::size_t n_states;
    bool numeric;                    // numbers or counts
    bool whole;                      // no number is missing
    bool careful;                    // emissions too small for a float are not zero
    double weight, logs;             // logs of what was divided out of emissions
    Scale scale;                     // and what was divided out of shares
    bool kept;                       // whether no digits were lost so far

    double* row(std::size_t t) const { return filtered + (t - base) * stride; }
    double* emission_row(std::size_t t) const { return emit + (t - base) * width; }
    void take(double factor) {
        if (factor >= LEAST) {
            scale.take(factor);
        } else {
            kept = false;
        }
    }
};

// Largest of a row of lanes.
inline double row_largest(const double* row, std::size_t width) {
    Lanes best = load(row);
    for (std::size_t k = WIDTH; k < width; k += WIDTH) best = larger(best, load(row + k));
    return largest(best);
}

// Log-densities of the numbers of `N` steps from the n-th on. WHOLE: none is missing.
template <bool WHOLE, int N>
void score_numbers(const ChainSteps s, const ChainEmissions m, std::size_t n, double* out, std::size_t width) {
    for (std::size_t k = 0; k < width; k += WIDTH) {
        Lanes logs[N], begin = all(0.0);
        for (std::size_t d = 0; WHOLE && d < m.mean.rows; ++d) begin -= load(m.half_log[d] + k);
        for (int i = 0; i < N; ++i) logs[i] = begin;
        for (std::size_t d = 0; d < m.mean.rows; ++d) {
            const Lanes mean = load(m.mean[d] + k), half = load(m.half_precision[d] + k);
            for (int i = 0; i < N; ++i) {
                const Lanes x = all(s.values[n + i][d]), deviation = x - mean;
                if constexpr (WHOLE) {
                    logs[i] -= deviation * deviation * half;
                } else {
                    logs[i] -= only(seen(x), load(m.half_log[d] + k) + deviation * deviation * half);
                }
            }
        }
        for (int i = 0; i < N; ++i) store(out + i * width + k, logs[i]);
    }
}

// Emissions from their logs less the largest. CAREFUL: what is too small for a float is not zero.
template <bool CAREFUL>
inline void exponentiate(double* row, double best, std::size_t width) {
    for (std::size_t k = 0; k < width; k += WIDTH) {
        const Lanes logs = load(row + k) - all(best), found = exp_below_zero(logs);
        store(row + k, CAREFUL ? raised(found, TINY, all(NEVER) < logs) : found);
    }
}

// Emissions of a step from its columns: densities of numbers, in logs in `out` already, and of counts up to their
// largest, times the product over groups of categories. Returns the log of what was divided out.
template <bool CAREFUL>
double emit_columns(const ChainSteps s, const ChainEmissions m, std::size_t n, double* out, std::size_t width) {
    double best = 0;
    if (m.mean.rows + m.rate.rows) {
        const double *counts = s.counts[n], *constants = s.constants[n];
        for (std::size_t p = 0; p < m.rate.rows; ++p) {
            if (counts[p] != counts[p]) continue;
            for (std::size_t k = 0; k < width; k += WIDTH) {
                const Lanes logs = all(counts[p]) * load(m.log_rate[p] + k) - load(m.rate[p] + k) + all(constants[p]);
                store(out + k, load(out + k) + logs);
            }
        }
        best = row_largest(out, width);
        exponentiate<CAREFUL>(out, best, width);
    } else {
        for (std::size_t k = 0; k < width; k += WIDTH) store(out + k, all(1.0));
    }
    const std::uint16_t* cells = s.cells[n];
    for (std::size_t g = 0; g < s.cells.cols; ++g) {
        const double* factor = m.table[cells[g]];
        for (std::size_t k = 0; k < width; k += WIDTH) {
            const Lanes before = load(out + k), f = load(factor + k), product = before * f;
            store(out + k, CAREFUL ? raised(product, TINY, (all(0.0) < before) & (all(0.0) < f)) : product);
        }
    }
    if (!(best > NEVER)) out[0] = NAN_;  // impossible, or not a number: the scale will not be a number either
    return best;
}

// Emissions of a step from its scores, up to the largest, whose log is returned.
template <bool CAREFUL>
double emit_scores(const double* scores, std::size_t n, double* out, std::size_t width) {
    double best = scores[0];
    for (std::size_t k = 1; k < n; ++k) best = best < scores[k] ? scores[k] : best;
    bool whole = true;
    for (std::size_t k = 0; k < n; ++k) {
        out[k] = scores[k];
        whole &= scores[k] == scores[k];
    }
    for (std::size_t k = n; k < width; ++k) out[k] = -1e300;
    exponentiate<CAREFUL>(out, best, width);
    if (!whole || !(best > -1e300)) out[0] = NAN_;
    return best;
}

template <bool CAREFUL>
double fill_steps(const Lane lane, std::size_t from, std::size_t to) {
    double logs = 0;
    if (lane.scores != nullptr) {
        for (std::size_t t = from; t < to; ++t) {
            const double* scores = lane.scores + t * lane.n_states;
            logs += emit_scores<CAREFUL>(scores, lane.n_states, lane.emission_row(t), lane.width);
        }
        return logs;
    }
    constexpr std::size_t ABREAST = 4;  // steps for which parameters are read once, and whose sums do not wait
    const ChainSteps s = *lane.steps;
    const ChainEmissions m = *lane.model;
    std::size_t t = from;
    for (; lane.whole && t + ABREAST <= to; t += ABREAST) {
        score_numbers<true, ABREAST>(s, m, lane.first + t, lane.emission_row(t), lane.width);
    }
    for (; lane.numeric && t < to; ++t) {
        score_numbers<false, 1>(s, m, lane.first + t, lane.emission_row(t), lane.width);
    }
    for (t = from; t < to; ++t) logs += emit_columns<CAREFUL>(s, m, lane.first + t, lane.emission_row(t), lane.width);
    return logs;
}

// Fill the emissions of steps [from, to); returns what was divided out of them, in logs.
double fill_emissions(const Lane& lane, std::size_t from, std::size_t to) {
    return lane.careful ? fill_steps<true>(lane, from, to) : fill_steps<false>(lane, from, to);
}

struct Sink {
    const ChainSums* sums;           // or null: usage goes to the scores
    double* table;                   // (R, W)  the first of the sums, at hand
    double* start;                   // (W,)
};

// Add the usage of a register of states at step t to where it belongs; that of numbers waits in the place of emissions.
inline void put(const Lane& lane, std::size_t t, std::size_t k, Lanes usage, const Sink sink) {
    double* scores = lane.scores;
    const std::size_t n = lane.n_states;
    if (lane.numeric) store(lane.emission_row(t) + k, usage);
    if (scores == nullptr) {
        const Matrix<const std::uint16_t> cells = lane.steps->cells;
        const Matrix<double> table = sink.sums->table;
        for (std::size_t g = 0; g < cells.cols; ++g) {
            double* to = table[cells[lane.first + t][g]] + k;
            store(to, load(to) + usage);
        }
    } else if (k + WIDTH <= n) {
        store(scores + t * n + k, usage);
    } else {
        for (std::size_t j = k; j < n; ++j) scores[t * n + j] = usage[int(j - k)];
    }
}

// Add the sums of numbers and counts over steps [from, to), whose usage waits in the place of the emissions: column by
// column, so that sums stay in registers.
template <int V, bool WHOLE>
void add_sums(const Lane lane, std::size_t from, std::size_t to, const Sink sink) {
    constexpr std::size_t TILE = 128;  // steps whose usage stays in cache
    const ChainSteps s = *lane.steps;
    const ChainEmissions m = *lane.model;
    const ChainSums sums = *sink.sums;
    for (std::size_t begin = from; begin < to; begin += TILE) {
        const std::size_t end = std::min(begin + TILE, to);
        for (std::size_t first = 0; first < lane.width; first += V * WIDTH) {
            for (std::size_t d = 0; d < m.mean.rows; ++d) {
                Lanes mean[V], total[3][V];
                for (int v = 0; v < V; ++v) {
                    mean[v] = load(m.mean[d] + first + v * WIDTH);
                    for (int p = 0; p < 3; ++p) total[p][v] = all(0.0);
                }
                for (std::size_t t = begin; t < end; ++t) {
                    const double* usage = lane.emission_row(t) + first;
                    const Lanes x = all(s.values[lane.first + t][d]);
                    const Bits observed = seen(x);
                    for (int v = 0; v < V; ++v) {
                        const Lanes used = load(usage + v * WIDTH), r = WHOLE ? used : only(observed, used);
                        const Lanes deviation = WHOLE ? x - mean[v] : only(observed, x - mean[v]);
                        const Lanes weighted = r * deviation;
                        total[0][v] += r;
                        total[1][v] += weighted;
                        total[2][v] += weighted * deviation;
                    }
                }
                for (std::size_t p = 0; p < 3; ++p)
                    for (int v = 0; v < V; ++v) {
                        double* out = sums.moments[p][d] + first + v * WIDTH;
                        store(out, load(out) + total[p][v]);
                    }
            }
            for (std::size_t c = 0; c < m.rate.rows; ++c) {
                for (std::size_t t = begin; t < end; ++t) {
                    const double count = s.counts[lane.first + t][c], constant = s.constants[lane.first + t][c];
                    if (count != count) continue;
                    const double* usage = lane.emission_row(t) + first;
                    for (int v = 0; v < V; ++v) {
                        const Lanes r = load(usage + v * WIDTH);
                        const Lanes parts[3] = {r, r * all(count), r * all(constant)};
                        for (std::size_t p = 0; p < 3; ++p) {
                            double* out = sums.sums[p][c] + first + v * WIDTH;
                            store(out, load(out) + parts[p]);
                        }
                    }
                }
            }
        }
    }
}

template <int V>
void add_moments(const Lane lane, std::size_t from, std::size_t to, const Sink sink) {
    if (!lane.numeric) return;
    lane.whole ? add_sums<V, true>(lane, from, to, sink) : add_sums<V, false>(lane, from, to, sink);
}

}  // namespace

}  // namespace HALFSEEN_ISA
}  // namespace halfseen
