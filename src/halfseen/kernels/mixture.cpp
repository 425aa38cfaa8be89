// A mixture over a table in one go: score, infer and expect for a tile of rows while it is in cache.
//
// Compiled once per instruction set (HALFSEEN_ISA names it); `dispatch.cpp` picks one at run time.
// Probabilities of categories are multiplied, never logged: a group of columns costs one look-up, one product and one
// sum. Rows whose product runs out of range are done again in logs.
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels.hpp"
#include "lanes.hpp"

#ifndef HALFSEEN_ISA
#define HALFSEEN_ISA baseline
#endif

namespace halfseen {
namespace HALFSEEN_ISA {

namespace {

constexpr std::size_t TILE = 64;         // rows; with 8 components their usage takes 4 KB
constexpr std::size_t RESCALE = 16;      // groups multiplied before the product is brought back to 1
constexpr double TINY = 1e-200;          // a smaller product has lost digits, or will
constexpr double IMPOSSIBLE = -1e299;    // log-probabilities below this stand for log 0
constexpr double INF = std::numeric_limits<double>::infinity();

// Views are passed by value in here: a store through a pointer might change what a reference refers to, and every
// pointer would be loaded again after every store.

template <int W>
struct Row {
    Lanes at[W / WIDTH];
};

template <int W>
inline Row<W> load_row(const double* from) {
    Row<W> row;
    for (int b = 0; b < W / WIDTH; ++b) row.at[b] = load(from + b * WIDTH);
    return row;
}

template <int W>
inline Lanes folded(const Row<W>& row) {
    Lanes total = row.at[0];
    for (int b = 1; b < W / WIDTH; ++b) total += row.at[b];
    return total;
}

template <int W>
inline double row_largest(const Row<W>& row) {
    Lanes best = row.at[0];
    for (int b = 1; b < W / WIDTH; ++b) best = larger(best, row.at[b]);
    return largest(best);
}

// usage = mix * prod_g table[cell]; returns the log of what was divided out on the way.
template <int W>
inline double multiply(const std::uint16_t* cells, std::size_t n_groups, const Mixture m, Row<W>& usage) {
    double log_scale = 0;
    usage = load_row<W>(m.mix.data);
    for (std::size_t g = 0; g < n_groups; ++g) {
        const double* factor = m.table.data + std::size_t(cells[g]) * W;
        for (int b = 0; b < W / WIDTH; ++b) usage.at[b] *= load(factor + b * WIDTH);
        if (g % RESCALE == RESCALE - 1) {
            const double best = row_largest(usage);
            if (best > 0) {
                for (int b = 0; b < W / WIDTH; ++b) usage.at[b] *= all(1 / best);
                log_scale += std::log(best);
            }
        }
    }
    return log_scale;
}

// logs -= half_log + half_precision (x - mean)^2 over observed numbers; logs += log Poisson over observed counts.
template <int W>
inline Row<W> log_densities(const double* values, const double* counts, const double* log_factorials,
                                 const Mixture m) {
    Row<W> logs;
    for (int b = 0; b < W / WIDTH; ++b) logs.at[b] = all(0.0);
    for (std::size_t d = 0; d < m.mean.rows; ++d) {
        const Lanes x = all(values[d]);
        const Bits observed = seen(x);
        for (int b = 0; b < W / WIDTH; ++b) {
            const Lanes deviation = x - load(m.mean[d] + b * WIDTH);
            const Lanes loss = load(m.half_log[d] + b * WIDTH) +
                               deviation * deviation * load(m.half_precision[d] + b * WIDTH);
            logs.at[b] -= only(observed, loss);
        }
    }
    for (std::size_t p = 0; p < m.rate.rows; ++p) {
        if (counts[p] != counts[p]) continue;
        for (int b = 0; b < W / WIDTH; ++b) {
            logs.at[b] += all(counts[p]) * load(m.log_rate[p] + b * WIDTH) - load(m.rate[p] + b * WIDTH) -
                          all(log_factorials[p]);
        }
    }
    return logs;
}

// The same row in logs throughout: slower, and safe for any number of columns. Returns the log-evidence.
template <int W>
double rescue(const std::uint16_t* cells, std::size_t n_groups, const Row<W>& logs, const Mixture m, Row<W>& usage) {
    double scores[W], best = -INF, total = 0;
    for (int k = 0; k < W; ++k) {
        scores[k] = std::log(m.mix[k]) + logs.at[k / WIDTH][k % WIDTH];
        for (std::size_t g = 0; g < n_groups; ++g) scores[k] += std::log(m.table[cells[g]][k]);
        best = std::max(best, scores[k]);
    }
    const bool possible = best > IMPOSSIBLE;
    for (int k = 0; k < W; ++k) total += scores[k] = possible ? std::exp(scores[k] - best) : 0.0;
    for (int k = 0; k < W; ++k) scores[k] /= possible ? total : 1.0;
    usage = load_row<W>(scores);
    return possible ? best + std::log(total) : -INF;
}

template <int W>
struct Tile {
    alignas(64) double usage[TILE * W];       // unnormalised, then (for numbers) weighted responsibilities
    alignas(64) double folds[TILE * WIDTH];   // each row's usage folded to one register
    alignas(64) double totals[TILE];
    alignas(64) double offsets[TILE];         // logs of what was divided out of each row
    alignas(64) double best[TILE];            // largest log-density of each row

    // Fill usage and totals for rows [first, first + size); return their log-likelihood.
    double infer(const Rows rows, const Mixture m, std::size_t first, std::size_t size) {
        const std::size_t n_groups = rows.cells.cols;
        const bool numeric = m.mean.rows + m.rate.rows > 0;
        for (std::size_t t = 0; t < size; ++t) {
            const std::size_t n = first + t;
            Row<W> used;
            offsets[t] = multiply<W>(rows.cells[n], n_groups, m, used);
            best[t] = 0;
            if (numeric) {
                const Row<W> logs = log_densities<W>(rows.values[n], rows.counts[n], rows.log_factorials[n], m);
                best[t] = row_largest(logs);
                for (int b = 0; b < W / WIDTH; ++b) used.at[b] *= exp_below_zero(logs.at[b] - all(best[t]));
                offsets[t] += best[t];
            }
            for (int b = 0; b < W / WIDTH; ++b) store(usage + t * W + b * WIDTH, used.at[b]);
            store(folds + t * WIDTH, folded(used));
        }
        for (std::size_t t = 0; t < size; ++t) totals[t] = sum(load(folds + t * WIDTH));
        for (std::size_t t = 0; t < size; ++t) {
            if (!(totals[t] > TINY && best[t] > IMPOSSIBLE)) in_logs(rows, m, first, t);
        }
        return finish(rows, first, size);
    }

    // Do one row again in logs.
    void in_logs(const Rows rows, const Mixture m, std::size_t first, std::size_t t) {
        const std::size_t n = first + t;
        const Row<W> logs = log_densities<W>(rows.values[n], rows.counts[n], rows.log_factorials[n], m);
        Row<W> used;
        offsets[t] = rescue<W>(rows.cells[n], rows.cells.cols, logs, m, used);
        totals[t] = 1;
        for (int b = 0; b < W / WIDTH; ++b) store(usage + t * W + b * WIDTH, used.at[b]);
    }

    // Add up weight * (log total + offset), and leave in `totals` what each row's usage is to be multiplied with.
    double finish(const Rows rows, std::size_t first, std::size_t size) {
        alignas(64) double logs[TILE];
        std::fill(totals + size, totals + TILE, 1.0);
        std::fill(offsets + size, offsets + TILE, 0.0);
        for (std::size_t t = 0; t < size; t += WIDTH) {
            store(logs + t, log_positive(load(totals + t)) + load(offsets + t));
        }
        double loglik = 0;
        for (std::size_t t = 0; t < size; ++t) {
            const double weight = rows.weight[first + t];
            loglik += weight > 0 ? weight * logs[t] : 0.0;
            totals[t] = weight / totals[t];
        }
        return loglik;
    }

    // Add weighted responsibilities to all sums.
    void expect(const Rows rows, const Mixture m, std::size_t first, std::size_t size, const Sums out) {
        const bool numeric = m.mean.rows + m.rate.rows > 0;
        Row<W> mass = load_row<W>(out.mix.data);
        for (std::size_t t = 0; t < size; ++t) {
            Row<W> used = load_row<W>(usage + t * W);
            const std::uint16_t* cells = rows.cells[first + t];
            for (int b = 0; b < W / WIDTH; ++b) {
                used.at[b] *= all(totals[t]);
                mass.at[b] += used.at[b];
                if (numeric) store(usage + t * W + b * WIDTH, used.at[b]);
            }
            for (std::size_t g = 0; g < rows.cells.cols; ++g) {
                double* cell = out.table.data + std::size_t(cells[g]) * W;
                for (int b = 0; b < W / WIDTH; ++b) store(cell + b * WIDTH, load(cell + b * WIDTH) + used.at[b]);
            }
        }
        for (int b = 0; b < W / WIDTH; ++b) store(out.mix.data + b * WIDTH, mass.at[b]);
        for (std::size_t d = 0; d < m.mean.rows; ++d) add_moments(rows, m, first, size, d, out);
        for (std::size_t p = 0; p < m.rate.rows; ++p) add_events(rows, first, size, p, out);
    }

    void add_moments(const Rows rows, const Mixture m, std::size_t first, std::size_t size, std::size_t d,
                     const Sums out) {
        for (int b = 0; b < W / WIDTH; ++b) {
            const Lanes mean = load(m.mean[d] + b * WIDTH);
            Lanes zeroth = all(0.0), one = all(0.0), two = all(0.0);
            for (std::size_t t = 0; t < size; ++t) {
                const Lanes x = all(rows.values[first + t][d]);
                const Bits observed = seen(x);
                const Lanes used = only(observed, load(usage + t * W + b * WIDTH));
                const Lanes deviation = only(observed, x - mean);
                const Lanes weighted = used * deviation;
                zeroth += used;
                one += weighted;
                two += weighted * deviation;
            }
            add(out.moments, d, b, zeroth, one, two);
        }
    }

    void add_events(const Rows rows, std::size_t first, std::size_t size, std::size_t p, const Sums out) {
        for (int b = 0; b < W / WIDTH; ++b) {
            Lanes mass = all(0.0), events = all(0.0), factorials = all(0.0);
            for (std::size_t t = 0; t < size; ++t) {
                const double count = rows.counts[first + t][p];
                if (count != count) continue;
                const Lanes used = load(usage + t * W + b * WIDTH);
                mass += used;
                events += used * all(count);
                factorials += used * all(rows.log_factorials[first + t][p]);
            }
            add(out.sums, p, b, mass, events, factorials);
        }
    }

    static void add(const Stack<double> stack, std::size_t row, int b, Lanes x, Lanes y, Lanes z) {
        const Lanes parts[3] = {x, y, z};
        for (int i = 0; i < 3; ++i) {
            double* to = stack[i][row] + b * WIDTH;
            store(to, load(to) + parts[i]);
        }
    }
};

template <int W>
double run(const Rows rows, const Mixture mixture, const Sums out) {
    Tile<W> tile;
    double loglik = 0;
    for (std::size_t first = 0; first < rows.weight.size; first += TILE) {
        const std::size_t size = std::min(TILE, rows.weight.size - first);
        loglik += tile.infer(rows, mixture, first, size);
        tile.expect(rows, mixture, first, size, out);
    }
    return loglik;
}

}  // namespace

double mixture_soft(const Rows& rows, const Mixture& mixture, const Sums& out) {
    switch (mixture.mix.size) {
        case 8: return run<8>(rows, mixture, out);
        case 16: return run<16>(rows, mixture, out);
        case 24: return run<24>(rows, mixture, out);
        default: return run<32>(rows, mixture, out);
    }
}

}  // namespace HALFSEEN_ISA
}  // namespace halfseen
