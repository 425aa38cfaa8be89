// A mixture over a table in one go: score, infer and expect for a tile of rows while it is in cache.
//
// Compiled once per instruction set (HALFSEEN_ISA names it); `dispatch.cpp` picks one at run time.
// Probabilities of categories are multiplied, never logged: a group of columns costs one look-up, one product and one
// sum. Rows whose product runs out of range are done again in logs.
#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

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

template <int W>
inline void add_row(double* to, const Row<W>& row) {
    for (int b = 0; b < W / WIDTH; ++b) store(to + b * WIDTH, load(to + b * WIDTH) + row.at[b]);
}

// usage *= prod_g table[cell] over groups [from, to).
template <int W>
inline void multiply(const std::uint16_t* cells, std::size_t from, std::size_t to, const Mixture m, Row<W>& usage) {
#pragma GCC unroll 4
    for (std::size_t g = from; g < to; ++g) {
        const double* factor = m.table.data + std::size_t(cells[g]) * W;
        for (int b = 0; b < W / WIDTH; ++b) usage.at[b] *= load(factor + b * WIDTH);
    }
}

// The same for any number of groups: every now and then the largest is divided out. Returns the log of the divisors.
template <int W>
double multiply_many(const std::uint16_t* cells, std::size_t from, std::size_t to, const Mixture m, Row<W>& usage) {
    double log_scale = 0;
    for (; from < to; from += RESCALE) {
        multiply<W>(cells, from, std::min(from + RESCALE, to), m, usage);
        const double best = row_largest(usage);
        if (best > 0) {
            for (int b = 0; b < W / WIDTH; ++b) usage.at[b] *= all(1 / best);
            log_scale += std::log(best);
        }
    }
    return log_scale;
}

// logs -= half_log + half_precision (x - mean)^2 over observed numbers; logs += log Poisson over observed counts.
template <int W>
inline Row<W> log_densities(const double* values, const double* counts, const double* constants,
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
            logs.at[b] += all(counts[p]) * load(m.log_rate[p] + b * WIDTH) - load(m.rate[p] + b * WIDTH) +
                          all(constants[p]);
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

// Rows done together. NUMERIC: there are numbers or counts beside the categories; without them their pointers would
// only crowd out the registers.
template <int W, bool NUMERIC>
struct Tile {
    alignas(64) double usage[TILE * W];       // unnormalised, then (for numbers) weighted responsibilities
    alignas(64) double folds[TILE * WIDTH];   // each row's usage folded to one register
    alignas(64) double totals[TILE];          // sums of usage, then what usage is to be multiplied with
    alignas(64) double offsets[TILE];         // logs of what was divided out of each row
    alignas(64) double logs[TILE];            // log-evidence of each row
    alignas(64) double best[TILE];            // NUMERIC: largest log-density of each row

    // Fill usage and totals for rows [first, first + size); return their log-likelihood.
    double infer(const Rows rows, const Mixture m, std::size_t first, std::size_t size) {
        const std::size_t n_groups = rows.cells.cols, leading = rows.in_order;
        const bool many = n_groups > RESCALE;
        set_all(offsets, 0.0);
        if (NUMERIC) set_all(best, 0.0);
        Row<W> front = lead(rows, m, first);
        for (std::size_t t = 0; t < size; ++t) {
            const std::size_t n = first + t;
            const std::uint16_t* cells = rows.cells[n];
            if (leading && t && cells[0] != rows.cells[n - 1][0]) front = lead(rows, m, n);
            Row<W> used = front;
            if (many) {
                offsets[t] = multiply_many<W>(cells, leading, n_groups, m, used);
            } else {
                multiply<W>(cells, leading, n_groups, m, used);
            }
            if (NUMERIC) {
                const Row<W> logs = log_densities<W>(rows.values[n], rows.counts[n], rows.constants[n], m);
                best[t] = row_largest(logs);
                for (int b = 0; b < W / WIDTH; ++b) used.at[b] *= exp_below_zero(logs.at[b] - all(best[t]));
                offsets[t] += best[t];
            }
            for (int b = 0; b < W / WIDTH; ++b) store(usage + t * W + b * WIDTH, used.at[b]);
            store(folds + t * WIDTH, folded(used));
        }
        for (std::size_t t = 0; t < size; t += WIDTH) store(totals + t, sums_of(folds + t * WIDTH));
        if (!all_in_range(size)) rescue_rows(rows, m, first, size);
        return finish(rows, first, size);
    }

    // Write out the responsibilities and log-evidence of the rows inferred.
    void write(std::size_t first, std::size_t size, Matrix<double> out, Span<double> log_evidence) const {
        for (std::size_t t = 0; t < size; ++t) {
            double* row = out[first + t];
            for (std::size_t k = 0; k < out.cols; ++k) row[k] = usage[t * W + k] * totals[t];
            log_evidence[first + t] = logs[t];
        }
    }

    static void set_all(double* values, double x) {
        for (std::size_t t = 0; t < TILE; t += WIDTH) store(values + t, all(x));
    }

    // What rows from the n-th on begin with: mix, and in ordered rows the first group's factor, which changes seldom.
    static Row<W> lead(const Rows rows, const Mixture m, std::size_t n) {
        Row<W> row = load_row<W>(m.mix.data);
        if (rows.in_order) multiply<W>(rows.cells[n], 0, 1, m, row);
        return row;
    }

    bool in_range(std::size_t t) const {
        return totals[t] > TINY && (!NUMERIC || best[t] > IMPOSSIBLE);
    }

    bool all_in_range(std::size_t size) const {
        bool fine = true;
        for (std::size_t t = 0; t < size; ++t) fine &= in_range(t);
        return fine;
    }

    // Do rows out of range again in logs. Rare, and kept out of the loop above.
    HALFSEEN_APART void rescue_rows(const Rows rows, const Mixture m, std::size_t first, std::size_t size) {
        for (std::size_t t = 0; t < size; ++t) {
            if (in_range(t)) continue;
            const std::size_t n = first + t;
            const Row<W> logs = log_densities<W>(rows.values[n], rows.counts[n], rows.constants[n], m);
            Row<W> used;
            offsets[t] = rescue<W>(rows.cells[n], rows.cells.cols, logs, m, used);
            totals[t] = 1;
            for (int b = 0; b < W / WIDTH; ++b) store(usage + t * W + b * WIDTH, used.at[b]);
        }
    }

    // Add up weight * (log total + offset), and leave in `totals` what each row's usage is to be multiplied with.
    double finish(const Rows rows, std::size_t first, std::size_t size) {
        alignas(64) double padded[TILE];
        const double* weights = rows.weight.data + first;
        if (size < TILE) {
            set_all(padded, 0.0);
            std::copy_n(weights, size, padded);
            std::fill(totals + size, totals + TILE, 1.0);
            weights = padded;
        }
        Lanes loglik = all(0.0);
        for (std::size_t t = 0; t < size; t += WIDTH) {
            const Lanes weight = load(weights + t), total = load(totals + t);
            const Lanes log_evidence = log_positive(total) + load(offsets + t);
            store(logs + t, log_evidence);
            loglik += only(all(0.0) < weight, weight * log_evidence);  // a row of weight 0 may be impossible
            store(totals + t, weight / total);
        }
        return sum(loglik);
    }

    // Add weighted responsibilities to all sums.
    void expect(const Rows rows, const Mixture m, std::size_t first, std::size_t size, const Sums out) {
        const std::size_t n_groups = rows.cells.cols, leading = rows.in_order;
        Row<W> mass = {};  // of rows with the same first cell
        for (std::size_t t = 0; t < size; ++t) {
            Row<W> used = load_row<W>(usage + t * W);
            const std::uint16_t* cells = rows.cells[first + t];
            if (leading && t && cells[0] != rows.cells[first + t - 1][0]) {
                add_mass(rows, first + t - 1, mass, out);
                mass = {};
            }
            for (int b = 0; b < W / WIDTH; ++b) {
                used.at[b] *= all(totals[t]);
                mass.at[b] += used.at[b];
                if (NUMERIC) store(usage + t * W + b * WIDTH, used.at[b]);
            }
#pragma GCC unroll 4
            for (std::size_t g = leading; g < n_groups; ++g) {
                add_row<W>(out.table.data + std::size_t(cells[g]) * W, used);
            }
        }
        add_mass(rows, first + size - 1, mass, out);
        if (!NUMERIC) return;
        for (std::size_t d = 0; d < m.mean.rows; ++d) add_moments(rows, m, first, size, d, out);
        for (std::size_t p = 0; p < m.rate.rows; ++p) add_events(rows, first, size, p, out);
    }

    // Add the mass of rows up to the n-th to mix, and in ordered rows to their first cell.
    static void add_mass(const Rows rows, std::size_t n, const Row<W>& mass, const Sums out) {
        add_row<W>(out.mix.data, mass);
        if (rows.in_order) add_row<W>(out.table[rows.cells[n][0]], mass);
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
            Lanes mass = all(0.0), events = all(0.0), constants = all(0.0);
            for (std::size_t t = 0; t < size; ++t) {
                const double count = rows.counts[first + t][p];
                if (count != count) continue;
                const Lanes used = load(usage + t * W + b * WIDTH);
                mass += used;
                events += used * all(count);
                constants += used * all(rows.constants[first + t][p]);
            }
            add(out.sums, p, b, mass, events, constants);
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

template <int W, bool NUMERIC>
double run(const Rows rows, const Mixture mixture, const Sums out) {
    Tile<W, NUMERIC> tile;
    double loglik = 0;
    for (std::size_t first = 0; first < rows.weight.size; first += TILE) {
        const std::size_t size = std::min(TILE, rows.weight.size - first);
        loglik += tile.infer(rows, mixture, first, size);
        tile.expect(rows, mixture, first, size, out);
    }
    return loglik;
}

template <int W>
double run(const Rows rows, const Mixture mixture, const Sums out) {
    const bool numeric = mixture.mean.rows + mixture.rate.rows > 0;
    return numeric ? run<W, true>(rows, mixture, out) : run<W, false>(rows, mixture, out);
}

template <int W, bool NUMERIC>
void posterior(const Rows rows, const Mixture mixture, Matrix<double> usage, Span<double> log_evidence) {
    Tile<W, NUMERIC> tile;
    for (std::size_t first = 0; first < rows.weight.size; first += TILE) {
        const std::size_t size = std::min(TILE, rows.weight.size - first);
        tile.infer(rows, mixture, first, size);
        tile.write(first, size, usage, log_evidence);
    }
}

template <int W>
void posterior(const Rows rows, const Mixture mixture, Matrix<double> usage, Span<double> log_evidence) {
    const bool numeric = mixture.mean.rows + mixture.rate.rows > 0;
    if (numeric) return posterior<W, true>(rows, mixture, usage, log_evidence);
    return posterior<W, false>(rows, mixture, usage, log_evidence);
}

constexpr int STEP = WIDTH > 4 ? WIDTH : 4;  // between widths

// Widths that are no multiple of a register do not occur: the caller pads.
template <int W, class Result, class Call>
Result of_width(std::size_t width, Call call) {
    if constexpr (W > 32) {
        return Result();
    } else {
        if (std::size_t(W) != width) return of_width<W + STEP, Result>(width, call);
        return call(std::integral_constant<int, W>());
    }
}

// The most probable component of some rows. Numbers are scored with rows side by side in a register: no component is
// padded, and the largest is found without looking across a register. Look-ups are done with components side by side.
struct Contest {
    static constexpr std::size_t ROWS = 32;    // a tile and its parameters stay in L1
    static constexpr std::size_t COLUMNS = 32; // numbers of a row turned at a time; also the most components
    static constexpr int ABREAST = 4;          // registers of rows for which a parameter is loaded once

    alignas(64) double joint[COLUMNS * ROWS];  // (K, ROWS) log p(row, component)
    alignas(64) double turned[COLUMNS * ROWS]; // (D, ROWS) numbers, a column after the other
    alignas(64) double rowwise[ROWS * COLUMNS];// (ROWS, W) logs of look-ups
    alignas(64) double pivot[COLUMNS];         // the middle of the means
    alignas(64) double scale[COLUMNS * COLUMNS], shift[COLUMNS * COLUMNS]; // (K, D) loss = |(x - pivot) scale - shift|^2
    alignas(64) double half_logs[COLUMNS];     // (K,) sums over the columns
    bool near = false;                         // whether the pivot costs no digits; only the first COLUMNS have one
    static constexpr std::size_t ROOM = 4096;  // numbers of joint look-ups: with them half of L1 is used
    static constexpr std::size_t MOST = 32;    // pairs of columns
    alignas(64) double pairs[ROOM];            // (cells of both columns, W) sums of their logs, pair after pair
    std::int64_t begins[MOST], heights[MOST];  // where a pair begins, and how many rows its second column has
    std::size_t n_pairs = 0;                   // 0 where there is no room: columns are looked up one by one

    template <class Code>
    void run(const Matrix<const Code> codes, const Span<const std::int64_t> starts, const Rows rows, const Mixture logs,
             Span<std::int64_t> best) {
        std::size_t n_components = logs.mix.size;
        while (n_components && logs.mix[n_components - 1] == -INF) --n_components;  // the padding cannot win
        place(logs, n_components);
        join(starts, logs);
        for (std::size_t first = 0; first < best.size; first += ROWS) {
            const std::size_t size = std::min(ROWS, best.size - first);
            begin(codes, starts, rows, logs, first, size);
            for (std::size_t d = 0; d < logs.mean.rows; d += COLUMNS) {
                const std::size_t stop = std::min(d + COLUMNS, logs.mean.rows);
                turn_rows<ROWS>(rows.values[first] + d, rows.values.cols, size, stop - d, turned);
                if (has_holes(stop - d)) {
                    subtract<true>(logs, d, stop, n_components);
                } else if (near) {
                    subtract_near(stop, n_components, Ahead(rows.values, first + ROWS, ROWS));
                } else {
                    subtract<false>(logs, d, stop, n_components);
                }
            }
            choose_best(n_components, best.data + first, size);
        }
    }

    // joint = log_mix + logs of look-ups.
    template <class Code>
    void begin(const Matrix<const Code> codes, const Span<const std::int64_t> starts, const Rows rows,
               const Mixture logs, std::size_t first, std::size_t size) {
        const std::size_t width = logs.mix.size;
        if (codes.cols + logs.rate.rows == 0) {
            for (std::size_t k = 0; k < width; ++k) {
                for (std::size_t t = 0; t < ROWS; t += WIDTH) store(joint + k * ROWS + t, all(logs.mix[k]));
            }
            return;
        }
        of_width<STEP, void>(width, [&](auto w) {
            constexpr int W = decltype(w)::value;
            for (std::size_t t = 0; t < size; ++t) {
                if (n_pairs) {
                    look_up_pairs<W>(codes[first + t], codes.cols, logs, rowwise + t * width);
                } else {
                    look_up<W>(codes[first + t], starts, logs, rowwise + t * width);
                }
            }
        });
        for (std::size_t t = 0; t < size && logs.rate.rows; ++t) {
            add_events(rows.counts[first + t], rows.constants[first + t], logs, rowwise + t * width);
        }
        turn_rows<ROWS>(rowwise, width, size, width, joint);
    }

    // Two columns are looked up at once where the sums for all their cells have room.
    HALFSEEN_APART void join(const Span<const std::int64_t> starts, const Mixture logs) {
        const std::size_t width = logs.mix.size, n_columns = starts.size;
        const auto row = [&](std::size_t d) {  // where column d begins: with 'missing'
            return d < n_columns ? std::size_t(starts[d]) + d : logs.table.rows;
        };
        std::size_t used = 0;
        n_pairs = 0;
        if ((n_columns + 1) / 2 > MOST) return;
        for (std::size_t d = 0; d < n_columns; d += 2) {
            const std::size_t first = row(d + 1) - row(d), second = d + 1 < n_columns ? row(d + 2) - row(d + 1) : 1;
            if (first > ROOM || second > ROOM || used + first * second * width > ROOM) return;
            begins[d / 2] = std::int64_t(used);
            heights[d / 2] = std::int64_t(second);
            for (std::size_t i = 0; i < first; ++i) {
                for (std::size_t j = 0; j < second; ++j, used += width) {
                    for (std::size_t k = 0; k < width; k += WIDTH) {
                        Lanes both = load(logs.table[row(d) + i] + k);
                        if (d + 1 < n_columns) both += load(logs.table[row(d + 1) + j] + k);
                        store(pairs + used + k, both);
                    }
                }
            }
        }
        n_pairs = (n_columns + 1) / 2;
    }

    // The same as `look_up`, two columns at a time.
    template <int W, class Code>
    void look_up_pairs(const Code* codes, std::size_t n_columns, const Mixture logs, double* row) const {
        Row<W> even = load_row<W>(logs.mix.data), odd = {};
        const auto cell = [&](std::size_t p) {
            const std::int64_t second = 2 * p + 1 < n_columns ? std::int64_t(codes[2 * p + 1]) + 1 : 0;
            return pairs + begins[p] + ((std::int64_t(codes[2 * p]) + 1) * heights[p] + second) * W;
        };
        std::size_t p = 0;
        for (; p + 2 <= n_pairs; p += 2) {
            add_at(even, cell(p));
            add_at(odd, cell(p + 1));
        }
        if (p < n_pairs) add_at(even, cell(p));
        for (int b = 0; b < W / WIDTH; ++b) store(row + b * WIDTH, even.at[b] + odd.at[b]);
    }

    // row = log_mix + sum_d table[code]. Odd columns are added up apart: no sum has to wait for the one before.
    template <int W, class Code>
    static void look_up(const Code* codes, const Span<const std::int64_t> starts, const Mixture logs, double* row) {
        const double* table = logs.table.data + W;  // a column begins with 'missing', whose code is -1
        Row<W> even = load_row<W>(logs.mix.data), odd = {};
        std::size_t d = 0;
        for (; d + 2 <= starts.size; d += 2) {
            const double* first = table + (starts[d] + std::int64_t(d) + codes[d]) * W;
            const double* second = table + (starts[d + 1] + std::int64_t(d + 1) + codes[d + 1]) * W;
            for (int b = 0; b < W / WIDTH; ++b) {
                even.at[b] += load(first + b * WIDTH);
                odd.at[b] += load(second + b * WIDTH);
            }
        }
        if (d < starts.size) add_at(even, table + (starts[d] + std::int64_t(d) + codes[d]) * W);
        for (int b = 0; b < W / WIDTH; ++b) store(row + b * WIDTH, even.at[b] + odd.at[b]);
    }

    template <int W>
    static void add_at(Row<W>& row, const double* from) {
        for (int b = 0; b < W / WIDTH; ++b) row.at[b] += load(from + b * WIDTH);
    }

    HALFSEEN_APART static void add_events(const double* counts, const double* constants, const Mixture logs, double* row) {
        for (std::size_t p = 0; p < logs.rate.rows; ++p) {
            if (counts[p] != counts[p]) continue;
            for (std::size_t b = 0; b < logs.mix.size; b += WIDTH) {
                store(row + b, load(row + b) + all(counts[p]) * load(logs.log_rate[p] + b) - load(logs.rate[p] + b) +
                                   all(constants[p]));
            }
        }
    }

    HALFSEEN_APART bool has_holes(std::size_t n_columns) const {
        Lanes found[4] = {all(0.0), all(0.0), all(0.0), all(0.0)};  // x - x is 0, or NaN: which stays
        for (std::size_t i = 0; i < n_columns * ROWS; i += 4 * WIDTH) {
            for (int j = 0; j < 4; ++j) {
                const Lanes x = load(turned + i + j * WIDTH);
                found[j] += x - x;
            }
        }
        const double any = sum(found[0] + found[1] + found[2] + found[3]);
        return any != any;
    }

    // Find the pivot. A square is then two operations instead of three.
    HALFSEEN_APART void place(const Mixture m, std::size_t n_components) {
        const std::size_t n_columns = m.mean.rows;
        near = n_columns && n_columns <= COLUMNS;
        for (std::size_t k = 0; k < n_components; ++k) half_logs[k] = 0;
        for (std::size_t d = 0; near && d < n_columns; ++d) {
            pivot[d] = 0;
            for (std::size_t k = 0; k < n_components; ++k) pivot[d] += m.mean[d][k] / double(n_components);
            for (std::size_t k = 0; k < n_components; ++k) {
                const double root = std::sqrt(m.half_precision[d][k]), away = root * (m.mean[d][k] - pivot[d]);
                scale[k * n_columns + d] = root;
                shift[k * n_columns + d] = away;
                half_logs[k] += m.half_log[d][k];
                near = near && std::abs(away) < FAR;
            }
        }
    }

    // The same as `subtract` without holes, by the pivot.
    HALFSEEN_APART void subtract_near(std::size_t n_columns, std::size_t n_components, const Ahead& next) {
        for (std::size_t d = 0; d < n_columns; ++d) {
            for (std::size_t t = 0; t < ROWS; t += WIDTH) {
                double* at = turned + d * ROWS + t;
                store(at, load(at) - all(pivot[d]));
            }
        }
        std::size_t k = 0;
        for (; k + 2 <= n_components; k += 2) {
            next.part(k / 2, n_components / 2);
            lose<2>(k, n_columns);
        }
        if (k < n_components) lose<1>(k, n_columns);
    }

    template <int N>
    void lose(std::size_t k, std::size_t n_columns) {
        for (std::size_t t = 0; t < ROWS; t += ABREAST * WIDTH) {
            Lanes loss[N][ABREAST];
            for (int j = 0; j < N; ++j) {
                for (int i = 0; i < ABREAST; ++i) loss[j][i] = all(half_logs[k + j]);
            }
            const double *x = turned + t, *times = scale + k * n_columns, *less = shift + k * n_columns;
            for (std::size_t d = 0; d < n_columns; ++d, x += ROWS) {
                for (int i = 0; i < ABREAST; ++i) {
                    const Lanes value = kept(load(x + i * WIDTH));
                    for (int j = 0; j < N; ++j) {
                        const Lanes root = value * all(times[j * n_columns + d]) - all(less[j * n_columns + d]);
                        loss[j][i] += root * root;
                    }
                }
            }
            for (int j = 0; j < N; ++j) {
                double* to = joint + (k + j) * ROWS + t;
                for (int i = 0; i < ABREAST; ++i) store(to + i * WIDTH, load(to + i * WIDTH) - loss[j][i]);
            }
        }
    }

    // joint[k, t] -= sum over observed numbers of half_log + half_precision (x - mean)^2.
    template <bool HOLES>
    HALFSEEN_APART void subtract(const Mixture m, std::size_t first, std::size_t stop, std::size_t n_components) {
        const std::size_t width = m.mix.size;
        alignas(64) double offsets[COLUMNS] = {};
        for (std::size_t d = first; d < stop && !HOLES; ++d) {
            for (std::size_t b = 0; b < width; b += WIDTH) {
                store(offsets + b, load(offsets + b) + load(m.half_log[d] + b));
            }
        }
        for (std::size_t k = 0; k < n_components; ++k) {
            for (std::size_t t = 0; t < ROWS; t += ABREAST * WIDTH) {
                Lanes loss[ABREAST];
                for (int i = 0; i < ABREAST; ++i) loss[i] = all(offsets[k]);
                const double* x = turned + t;
                const double *mean = m.mean[first] + k, *half_precision = m.half_precision[first] + k;
                for (std::size_t d = first; d < stop; ++d, x += ROWS, mean += width, half_precision += width) {
                    const Lanes centre = all(*mean), scale = all(*half_precision);
                    for (int i = 0; i < ABREAST; ++i) {
                        const Lanes value = load(x + i * WIDTH), deviation = value - centre;
                        if (HOLES) {
                            loss[i] += only(seen(value), all(m.half_log[d][k]) + deviation * deviation * scale);
                        } else {
                            loss[i] += deviation * deviation * scale;
                        }
                    }
                }
                double* to = joint + k * ROWS + t;
                for (int i = 0; i < ABREAST; ++i) store(to + i * WIDTH, load(to + i * WIDTH) - loss[i]);
            }
        }
    }

    // The first of the largest that is possible; -1 where none is.
    HALFSEEN_APART void choose_best(std::size_t n_components, std::int64_t* best, std::size_t size) const {
        alignas(64) double places[ROWS];
        for (std::size_t t = 0; t < ROWS; t += WIDTH) {
            Lanes most = all(IMPOSSIBLE), place = all(-1.0);
            for (std::size_t k = 0; k < n_components; ++k) {
                const Lanes own = load(joint + k * ROWS + t);
                const Bits above = most < own;
                most = choose(above, own, most);
                place = choose(above, all(double(k)), place);
            }
            store(places + t, place);
        }
        for (std::size_t t = 0; t < size; ++t) best[t] = std::int64_t(places[t]);
    }
};

}  // namespace

void mixture_posterior(const Rows& rows, const Mixture& mixture, Matrix<double> usage, Span<double> log_evidence) {
    of_width<STEP, void>(mixture.mix.size, [&](auto width) {
        posterior<decltype(width)::value>(rows, mixture, usage, log_evidence);
    });
}

template <class Code>
void mixture_best(const Matrix<const Code>& codes, const Span<const std::int64_t>& starts, const Rows& rows,
                  const Mixture& logs, Span<std::int64_t> best) {
    Contest contest;
    contest.run(codes, starts, rows, logs, best);
}

#define HALFSEEN_BEST(Code)                                                                                          \
    template void mixture_best(const Matrix<const Code>&, const Span<const std::int64_t>&, const Rows&,              \
                               const Mixture&, Span<std::int64_t>);
HALFSEEN_BEST(std::int8_t)
HALFSEEN_BEST(std::int16_t)
HALFSEEN_BEST(std::int32_t)
HALFSEEN_BEST(std::int64_t)
#undef HALFSEEN_BEST

double mixture_soft(const Rows& rows, const Mixture& mixture, const Sums& out) {
    return of_width<STEP, double>(
        mixture.mix.size, [&](auto width) { return run<decltype(width)::value>(rows, mixture, out); });
}

}  // namespace HALFSEEN_ISA
}  // namespace halfseen
