// Blocks of numbers, jointly normal or independent given the component: scores, expectations, and both at once.
// Formulas: plain.py.
//
// Compiled once per instruction set (HALFSEEN_ISA names it); `dispatch.cpp` picks one at run time.
// A tile of rows is turned, so that scores have rows side by side in registers, whatever the numbers of columns and
// components; sums have columns side by side. Deviations from the component's own mean are taken first, so that nothing
// cancels. Rows with the same cells missing that follow each other share their regression.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <new>

#include "kernels.hpp"
#include "lanes.hpp"

#ifndef HALFSEEN_ISA
#define HALFSEEN_ISA baseline
#endif

namespace halfseen {
namespace HALFSEEN_ISA {

namespace {

constexpr std::size_t TILE = 64;       // rows; with 16 columns their deviations take 8 KB
constexpr std::size_t BLOCK = 4;       // columns of the factor, or rows of the sums, done together
constexpr double SLIGHT = 1e-25;       // a row used less than this share of the mass so far adds nothing but rounding
constexpr double LEAST = -1e300;       // stands for log 0 in arithmetic, where infinity less infinity would be NaN
constexpr double IMPOSSIBLE = -1e299;  // log-probabilities below this stand for log 0
constexpr double INF = std::numeric_limits<double>::infinity();
constexpr double LOG_2PI = 1.83787706640934548356;

constexpr std::size_t padded(std::size_t n, std::size_t to) { return (n + to - 1) / to * to; }

// Zeros that live as long as a chunk: their number depends on K and D, so that they do not fit on the stack. Not a
// std::vector, whose functions would be shared between instruction sets.
template <class T>
struct Array {
    T* at;
    std::size_t size;

    explicit Array(std::size_t size) : at(static_cast<T*>(std::calloc(size + 1, sizeof(T)))), size(size) {
        if (!at) throw std::bad_alloc();
    }
    Array(const Array&) = delete;
    Array& operator=(const Array&) = delete;
    ~Array() { std::free(at); }

    T* data() const { return at; }
    T& operator[](std::size_t i) const { return at[i]; }
    void grow(std::size_t to) {
        if (to <= size) return;
        T* more = static_cast<T*>(std::calloc(to + 1, sizeof(T)));
        if (!more) throw std::bad_alloc();
        std::free(at);
        at = more;
        size = to;
    }
};
using Work = Array<double>;

// ---- what every tile does -------------------------------------------------------------------------------------------

// Turn rows [first, first + size) into columns of TILE numbers; rows that are not there are zeros. Whether all are seen.
bool turn(Matrix<const double> values, std::size_t first, std::size_t size, double* turned) {
    bool whole = true;
    for (std::size_t t = 0; t < size; ++t) {
        const double* row = values[first + t];
        for (std::size_t d = 0; d < values.cols; ++d) {
            whole &= row[d] == row[d];
            turned[d * TILE + t] = row[d];
        }
    }
    for (std::size_t t = size; t < TILE; ++t) {
        for (std::size_t d = 0; d < values.cols; ++d) turned[d * TILE + t] = 0;
    }
    return whole;
}

double total_of(const double* usage) {
    Lanes total = all(0.0);
    for (std::size_t t = 0; t < TILE; t += WIDTH) total += load(usage + t);
    return sum(total);
}

// List the rows of a tile that count beside a mass; return how many.
std::size_t list_used(const double* usage, double mass, std::size_t* rows) {
    const double least = SLIGHT * mass;
    Lanes lowest = load(usage);
    for (std::size_t t = WIDTH; t < TILE; t += WIDTH) lowest = choose(load(usage + t) < lowest, load(usage + t), lowest);
    bool every = true;
    for (int i = 0; i < WIDTH; ++i) every &= lowest[i] > least;
    if (every) {
        for (std::size_t t = 0; t < TILE; ++t) rows[t] = t;
        return TILE;
    }
    std::size_t n = 0;
    for (std::size_t t = 0; t < TILE; ++t) {
        rows[n] = t;
        n += usage[t] > least;
    }
    return n;
}

// Overwrite the log-joints of a tile, (K, TILE), with weighted responsibilities; return the log-likelihood.
double complete(double* joint, std::size_t n_components, const double* weight, std::size_t size, double* mix_usage) {
    alignas(64) double weights[TILE] = {};
    std::copy_n(weight, size, weights);
    Lanes loglik = all(0.0);
    for (std::size_t t = 0; t < size; t += WIDTH) {
        Lanes best = load(joint + t);
        for (std::size_t k = 1; k < n_components; ++k) best = larger(best, load(joint + k * TILE + t));
        Lanes total = all(0.0);
        for (std::size_t k = 0; k < n_components; ++k) {
            const Lanes used = exp_below_zero(load(joint + k * TILE + t) - best);
            store(joint + k * TILE + t, used);
            total += used;
        }
        const Lanes w = load(weights + t);
        const Bits impossible = best < all(IMPOSSIBLE);
        const Lanes log_evidence = choose(impossible, all(-INF), log_positive(total) + best);
        loglik += only(all(0.0) < w, w * log_evidence);  // a row of weight 0 may be impossible
        const Lanes share = choose(impossible, all(0.0), w / total);
        for (std::size_t k = 0; k < n_components; ++k) {
            store(joint + k * TILE + t, load(joint + k * TILE + t) * share);
        }
    }
    for (std::size_t k = 0; k < n_components; ++k) {
        for (std::size_t t = padded(size, WIDTH); t < TILE; ++t) joint[k * TILE + t] = 0;
        mix_usage[k] += total_of(joint + k * TILE);
    }
    return sum(loglik);
}

// ---- jointly normal -------------------------------------------------------------------------------------------------

// Neighbouring rows of a tile with the same cells missing.
struct Run {
    std::size_t from, to, n_missing, n_observed;
    const std::size_t *missing, *observed;  // columns
};

struct Normal {
    const Normals m;
    const std::size_t K, D, high, wide;  // columns padded to blocks, and to whole registers
    Work packed;                         // factors, block of columns by block of columns
    Work turned;                         // (D, TILE)  the rows of the tile as columns
    Work deviations;                     // (K or 1, high, TILE)  from the mean, completed
    Work extra;                          // (K, TILE)  what missing cells add to the score
    Work values, mean;                   // (TILE, wide) and (K, wide)  padded with zeros
    Work rows, weighted;                 // (TILE, wide)  deviations as rows, and times their usage
    Work second;                         // (K, high, wide)  sums of products
    Work inner, slopes;                  // (D, D)  of one pattern in one component
    Array<std::size_t> columns;          // (TILE, D)  of every run, those missing first
    Run runs[TILE];
    std::size_t n_runs = 0;
    const bool scoring;
    bool whole = true;

    Normal(const Normals& m, bool scoring)
        : m(m), K(m.mean.rows), D(m.mean.cols), high(padded(D, BLOCK)), wide(padded(D, WIDTH)), packed(0),
          turned(D * TILE), deviations(high * TILE), extra(0), values(TILE * wide), mean(K * wide), rows(TILE * wide), weighted(TILE * padded(wide, BLOCK)),
          second(K * high * wide), inner(0), slopes(0), columns(0), scoring(scoring) {
        for (std::size_t k = 0; k < K; ++k) std::copy_n(m.mean[k], D, mean.data() + k * wide);
        if (scoring) pack();
    }

    // Factors so that a block of BLOCK columns is read from one end to the other; zeros below the diagonal.
    void pack() {
        const std::size_t blocks = high / BLOCK;
        packed.grow(K * BLOCK * BLOCK * blocks * (blocks + 1) / 2);
        double* to = packed.data();
        for (std::size_t k = 0; k < K; ++k) {
            for (std::size_t j0 = 0; j0 < high; j0 += BLOCK) {
                for (std::size_t i = 0; i < j0 + BLOCK; ++i, to += BLOCK) {
                    for (std::size_t j = j0; j < j0 + BLOCK; ++j) {
                        if (i < D && j < D && i <= j) to[j - j0] = m.factor[k][i][j];
                    }
                }
            }
        }
    }

    void read(Matrix<const double> data, std::size_t first, std::size_t size) {
        whole = turn(data, first, size, turned.data());
        for (std::size_t t = 0; t < size; ++t) std::copy_n(data[first + t], D, values.data() + t * wide);
        if (whole) return;
        deviations.grow(K * high * TILE);
        extra.grow(K * TILE);
        inner.grow(D * D);
        slopes.grow(D * D);
        columns.grow(TILE * D);
        find_runs(size);
    }

    bool hidden(std::size_t d, std::size_t t) const { return turned[d * TILE + t] != turned[d * TILE + t]; }

    void find_runs(std::size_t size) {
        n_runs = 0;
        for (std::size_t t = 0; t < size; ++t) {
            bool same = t > 0;
            for (std::size_t d = 0; same && d < D; ++d) same = hidden(d, t) == hidden(d, t - 1);
            if (same) {
                ++runs[n_runs - 1].to;
            } else {
                runs[n_runs] = run_at(t, columns.data() + n_runs * D);
                ++n_runs;
            }
        }
    }

    Run run_at(std::size_t t, std::size_t* sorted) const {
        std::size_t n_missing = 0, n_observed = 0;
        for (std::size_t d = 0; d < D; ++d) n_missing += hidden(d, t);
        for (std::size_t d = 0, at = 0; d < D; ++d) {
            if (hidden(d, t)) sorted[at++] = d;
            else sorted[n_missing + n_observed++] = d;
        }
        return {t, t + 1, n_missing, n_observed, sorted, sorted + n_missing};
    }

    double* deviations_of(std::size_t k) { return deviations.data() + (whole ? 0 : k * high * TILE); }

    // Deviations from the mean of component k, with missing ones completed.
    void deviate(std::size_t k) {
        double* to = deviations_of(k);
        for (std::size_t d = 0; d < D; ++d) {
            const Lanes mean = all(m.mean[k][d]);
            for (std::size_t t = 0; t < TILE; t += WIDTH) {
                store(to + d * TILE + t, load(turned.data() + d * TILE + t) - mean);
            }
        }
        std::fill(to + D * TILE, to + high * TILE, 0.0);
        if (whole) return;
        std::fill_n(extra.data() + k * TILE, TILE, 0.0);
        for (std::size_t r = 0; r < n_runs; ++r) {
            if (runs[r].n_missing) fill(k, runs[r], to);
        }
    }

    void fill(std::size_t k, const Run& run, double* to) {
        double said = 0;
        if (run.n_observed) {
            said = 0.5 * double(run.n_missing) * LOG_2PI - factor_inner(k, run);
            regress(k, run);
        } else if (scoring) {
            said = -m.offset[k];
        }
        std::fill(extra.data() + k * TILE + run.from, extra.data() + k * TILE + run.to, said);
        for (std::size_t a = 0; a < run.n_missing; ++a) {
            double* out = to + run.missing[a] * TILE;
            std::fill(out + run.from, out + run.to, 0.0);
            for (std::size_t b = 0; b < run.n_observed; ++b) {
                const double* in = to + run.observed[b] * TILE;
                const double slope = slopes[a * D + b];
                for (std::size_t t = run.from; t < run.to; ++t) out[t] -= slope * in[t];
            }
        }
    }

    // inner = L with L L' = precision of the missing cells; returns log |L|.
    double factor_inner(std::size_t k, const Run& run) {
        double log_root = 0;
        for (std::size_t a = 0; a < run.n_missing; ++a) {
            for (std::size_t b = 0; b <= a; ++b) {
                double left = m.precision[k][run.missing[a]][run.missing[b]];
                for (std::size_t c = 0; c < b; ++c) left -= inner[a * D + c] * inner[b * D + c];
                inner[a * D + b] = a == b ? std::sqrt(left) : left / inner[b * D + b];
            }
            log_root += std::log(inner[a * D + a]);
        }
        return log_root;
    }

    // slopes = precision[missing, missing]^-1 precision[missing, observed].
    void regress(std::size_t k, const Run& run) {
        for (std::size_t b = 0; b < run.n_observed; ++b) {
            for (std::size_t a = 0; a < run.n_missing; ++a) {
                slopes[a * D + b] = m.precision[k][run.missing[a]][run.observed[b]];
            }
            solve(run.n_missing, slopes.data() + b);
        }
    }

    // x = (L L')^-1 x for one column of a (D, D) array.
    void solve(std::size_t n, double* x) const {
        for (std::size_t a = 0; a < n; ++a) {
            for (std::size_t c = 0; c < a; ++c) x[a * D] -= inner[a * D + c] * x[c * D];
            x[a * D] /= inner[a * D + a];
        }
        for (std::size_t a = n; a-- > 0;) {
            for (std::size_t c = a + 1; c < n; ++c) x[a * D] -= inner[c * D + a] * x[c * D];
            x[a * D] /= inner[a * D + a];
        }
    }

    // scores[t] = offset + extra - |deviation factor|^2 / 2.
    void score(std::size_t k, double* scores) {
        deviate(k);
        const double* e = deviations_of(k);
        const std::size_t blocks = high / BLOCK;
        const double* factors = packed.data() + k * BLOCK * BLOCK * blocks * (blocks + 1) / 2;
        for (std::size_t t = 0; t < TILE; t += 2 * WIDTH) {
            const double* u = factors;
            Lanes left = all(0.0), right = all(0.0);
            for (std::size_t j0 = 0; j0 < high; j0 += BLOCK) {
                Lanes one[BLOCK], two[BLOCK];
                for (std::size_t j = 0; j < BLOCK; ++j) one[j] = two[j] = all(0.0);
                for (std::size_t i = 0; i < j0 + BLOCK; ++i, u += BLOCK) {
                    const Lanes x = load(e + i * TILE + t), y = load(e + i * TILE + t + WIDTH);
                    for (std::size_t j = 0; j < BLOCK; ++j) {
                        const Lanes factor = all(u[j]);
                        one[j] += factor * x;
                        two[j] += factor * y;
                    }
                }
                for (std::size_t j = 0; j < BLOCK; ++j) {
                    left += one[j] * one[j];
                    right += two[j] * two[j];
                }
            }
            store(scores + t, all(m.offset[k]) - all(0.5) * left);
            store(scores + t + WIDTH, all(m.offset[k]) - all(0.5) * right);
        }
        if (whole) return;
        for (std::size_t t = 0; t < TILE; ++t) scores[t] += extra[k * TILE + t];
    }

    // Add the tile's moments, used usage[t] times, to the sums of component k. Rows without observed cells add nothing.
    void expect(std::size_t size, std::size_t k, double* usage, double* sums) {
        if (!whole) {
            for (std::size_t r = 0; r < n_runs; ++r) {
                if (!runs[r].n_observed) std::fill(usage + runs[r].from, usage + runs[r].to, 0.0);
            }
        }
        std::size_t used[TILE];
        const std::size_t n_used = list_used(usage, sums[0], used);
        sums[0] += total_of(usage);
        if (!n_used) return;
        if (!whole) {
            line_up_completed(size, k);
            for (std::size_t r = 0; r < n_runs; ++r) add_spread(k, runs[r], usage, sums);
        }
        for (std::size_t j = 0; j < wide; j += WIDTH) {
            const Lanes total = n_used == TILE && whole ? weigh_all(k, j, usage) : weigh(used, n_used, k, j, usage);
            for (std::size_t d = j; d < std::min(j + WIDTH, D); ++d) sums[2 + d] += total[d - j];
        }
        add_products(k, n_used);
    }

    // Completed deviations as rows.
    void line_up_completed(std::size_t size, std::size_t k) {
        const double* e = deviations_of(k);
        for (std::size_t t = 0; t < size; ++t) {
            for (std::size_t d = 0; d < D; ++d) rows[t * wide + d] = e[d * TILE + t];
        }
    }

    // The same as `weigh` for a tile without holes in which every row is used.
    Lanes weigh_all(std::size_t k, std::size_t j, const double* usage) {
        const Lanes centre = load(mean.data() + k * wide + j);
        const double* in = values.data() + j;
        double *out = rows.data() + j, *times = weighted.data() + j;
        Lanes total = all(0.0);
        for (std::size_t t = 0; t < TILE; ++t, in += wide, out += wide, times += wide) {
            const Lanes deviation = load(in) - centre, product = deviation * all(usage[t]);
            store(out, deviation);
            store(times, product);
            total += product;
        }
        return total;
    }

    // WIDTH columns of the deviations of the rows used, moved together, and times their usage; returns their sums.
    Lanes weigh(const std::size_t* used, std::size_t n_used, std::size_t k, std::size_t j, const double* usage) {
        const Lanes centre = load(mean.data() + k * wide + j);
        const double* in = values.data() + j;
        double *out = rows.data() + j, *times = weighted.data() + j;
        Lanes total = all(0.0);
        for (std::size_t a = 0; a < n_used; ++a) {
            const std::size_t t = used[a];
            const Lanes deviation = whole ? load(in + t * wide) - centre : load(out + t * wide);
            const Lanes product = deviation * all(usage[t]);
            store(out + a * wide, deviation);
            store(times + a * wide, product);
            total += product;
        }
        return total;
    }

    // Add the conditional covariances of the missing cells.
    void add_spread(std::size_t k, const Run& run, const double* usage, double* sums) {
        const std::size_t n = run.n_missing;
        if (!n || !run.n_observed) return;
        double used = 0;
        for (std::size_t t = run.from; t < run.to; ++t) used += usage[t];
        if (used == 0) return;
        factor_inner(k, run);
        double* out = sums + 2 + D;
        for (std::size_t b = 0; b < n; ++b) {
            for (std::size_t a = 0; a < n; ++a) slopes[a * D] = a == b;
            solve(n, slopes.data());
            for (std::size_t a = 0; a < n; ++a) out[run.missing[a] * D + run.missing[b]] += used * slopes[a * D];
        }
    }

    // second[i][j] += sum_t weighted[t][i] rows[t][j] for j from the block of i on; the rest is its mirror image.
    void add_products(std::size_t k, std::size_t size) {
        double* out = second.data() + k * high * wide;
        for (std::size_t i0 = 0; i0 < D; i0 += BLOCK) {
            std::size_t j = i0 / WIDTH * WIDTH;
            for (; j + 4 * WIDTH <= wide || j + 2 * WIDTH == wide; j += 2 * WIDTH) products<2>(i0, j, size, out);
            if (j + 3 * WIDTH == wide) products<3>(i0, j, size, out);
            if (j + WIDTH == wide) products<1>(i0, j, size, out);
        }
    }

    template <int N>
    void products(std::size_t i0, std::size_t j, std::size_t size, double* out) {
        Lanes total[BLOCK][N];
        for (std::size_t i = 0; i < BLOCK; ++i) {
            for (int b = 0; b < N; ++b) total[i][b] = all(0.0);
        }
        const double *left = weighted.data() + i0, *right = rows.data() + j;
        for (std::size_t t = 0; t < size; ++t, left += wide, right += wide) {
            Lanes x[N];
            for (int b = 0; b < N; ++b) x[b] = load(right + b * WIDTH);
            for (std::size_t i = 0; i < BLOCK; ++i) {
                const Lanes y = all(left[i]);
                for (int b = 0; b < N; ++b) total[i][b] += y * x[b];
            }
        }
        for (std::size_t i = 0; i < BLOCK; ++i) {
            double* to = out + (i0 + i) * wide + j;
            for (int b = 0; b < N; ++b) store(to + b * WIDTH, load(to + b * WIDTH) + total[i][b]);
        }
    }

    // Add the sums of products to the statistics, mirrored.
    void finish(Matrix<double> sums) const {
        for (std::size_t k = 0; k < K; ++k) {
            const double* in = second.data() + k * high * wide;
            double* out = sums[k] + 2 + D;
            for (std::size_t i = 0; i < D; ++i) {
                for (std::size_t j = i; j < D; ++j) {
                    out[i * D + j] += in[i * wide + j];
                    if (j > i) out[j * D + i] += in[i * wide + j];
                }
            }
        }
    }
};

// ---- independent ----------------------------------------------------------------------------------------------------

struct Diagonal {
    const Diagonals m;
    const std::size_t K, D, wide;
    Work turned;                      // (D, TILE)
    Work rows;                        // (TILE, wide)
    Work sums;                        // (3, K, wide)
    Work mean, mass;                  // (K, wide) and (K,)
    bool whole = true;

    explicit Diagonal(const Diagonals& m)
        : m(m), K(m.mean.rows), D(m.mean.cols), wide(padded(D, WIDTH)), turned(D * TILE), rows(TILE * wide),
          sums(3 * K * wide), mean(K * wide), mass(K) {
        for (std::size_t k = 0; k < K; ++k) std::copy_n(m.mean[k], D, mean.data() + k * wide);
    }

    void read(Matrix<const double> values, std::size_t first, std::size_t size) {
        whole = turn(values, first, size, turned.data());
        for (std::size_t t = 0; t < size; ++t) std::copy_n(values[first + t], D, rows.data() + t * wide);
    }

    void score(std::size_t k, double* scores) const { whole ? score<true>(k, scores) : score<false>(k, scores); }

    template <bool WHOLE>
    void score(std::size_t k, double* scores) const {
        constexpr int N = 4;
        double offset = 0;
        for (std::size_t d = 0; d < D; ++d) offset -= m.half_log[k][d];
        for (std::size_t t = 0; t < TILE; t += N * WIDTH) {
            Lanes loss[N];
            for (int b = 0; b < N; ++b) loss[b] = all(0.0);
            for (std::size_t d = 0; d < D; ++d) {
                const Lanes centre = all(m.mean[k][d]), half = all(m.half_precision[k][d]);
                const double* in = turned.data() + d * TILE + t;
                for (int b = 0; b < N; ++b) {
                    const Lanes x = load(in + b * WIDTH), deviation = x - centre;
                    if constexpr (WHOLE) {
                        loss[b] += deviation * half * deviation;
                    } else {
                        loss[b] += only(seen(x), all(m.half_log[k][d]) + deviation * half * deviation);
                    }
                }
            }
            for (int b = 0; b < N; ++b) store(scores + t + b * WIDTH, all(WHOLE ? offset : 0.0) - loss[b]);
        }
    }

    void expect(std::size_t k, const double* usage) {
        std::size_t used[TILE], j = 0;
        const std::size_t size = list_used(usage, mass[k], used);
        mass[k] += total_of(usage);
        if (!size) return;
        for (; j + 2 * WIDTH <= wide; j += 2 * WIDTH) whole ? add<2, true>(used, size, k, j, usage) : add<2, false>(used, size, k, j, usage);
        if (j < wide) whole ? add<1, true>(used, size, k, j, usage) : add<1, false>(used, size, k, j, usage);
    }

    template <int N, bool WHOLE>
    void add(const std::size_t* used, std::size_t size, std::size_t k, std::size_t j, const double* usage) {
        Lanes centre[N], mass[N], first[N], second[N];
        for (int b = 0; b < N; ++b) {
            centre[b] = load(mean.data() + k * wide + j + b * WIDTH);
            mass[b] = first[b] = second[b] = all(0.0);
        }
        for (std::size_t a = 0; a < size; ++a) {
            const double* row = rows.data() + used[a] * wide + j;
            const Lanes times = all(usage[used[a]]);
            for (int b = 0; b < N; ++b) {
                const Lanes x = load(row + b * WIDTH);
                const Lanes deviation = WHOLE ? x - centre[b] : only(seen(x), x - centre[b]);
                const Lanes weighted = times * deviation;
                mass[b] += WHOLE ? times : only(seen(x), times);
                first[b] += weighted;
                second[b] += weighted * deviation;
            }
        }
        for (int b = 0; b < N; ++b) {
            const Lanes parts[3] = {mass[b], first[b], second[b]};
            for (std::size_t p = 0; p < 3; ++p) {
                double* to = sums.data() + (p * K + k) * wide + j + b * WIDTH;
                store(to, load(to) + parts[p]);
            }
        }
    }

    void finish(Stack<double> moments) const {
        for (std::size_t p = 0; p < 3; ++p) {
            for (std::size_t k = 0; k < K; ++k) {
                for (std::size_t d = 0; d < D; ++d) moments[p][k][d] += sums[(p * K + k) * wide + d];
            }
        }
    }
};

// Add the logs of the mixing weights to a tile of scores, and keep them above LEAST.
void mix_in(Span<const double> log_mix, double* joint) {
    for (std::size_t k = 0; k < log_mix.size; ++k) {
        for (std::size_t t = 0; t < TILE; t += WIDTH) {
            double* at = joint + k * TILE + t;
            store(at, larger(load(at) + all(log_mix[k]), all(LEAST)));
        }
    }
}

template <class Call>
void by_tiles(std::size_t n_rows, Call call) {
    for (std::size_t first = 0; first < n_rows; first += TILE) call(first, std::min(TILE, n_rows - first));
}

}  // namespace

void normal_score(Matrix<const double> values, const Normals& m, Matrix<double> scores) {
    Normal tile(m, true);
    alignas(64) double column[TILE];
    by_tiles(values.rows, [&](std::size_t first, std::size_t size) {
        tile.read(values, first, size);
        for (std::size_t k = 0; k < tile.K; ++k) {
            tile.score(k, column);
            for (std::size_t t = 0; t < size; ++t) scores[first + t][k] += column[t];
        }
    });
}

void normal_expect(Matrix<const double> values, const Normals& m, Matrix<const double> usage, Matrix<double> sums) {
    Normal tile(m, false);
    by_tiles(values.rows, [&](std::size_t first, std::size_t size) {
        tile.read(values, first, size);
        for (std::size_t k = 0; k < tile.K; ++k) {
            alignas(64) double used[TILE] = {};
            for (std::size_t t = 0; t < size; ++t) used[t] = usage[first + t][k];
            if (!tile.whole) tile.deviate(k);
            tile.expect(size, k, used, sums[k]);
        }
    });
    tile.finish(sums);
}

double normal_soft(Matrix<const double> values, Span<const double> weight, Span<const double> log_mix,
                   const Normals& m, Span<double> mix_usage, Matrix<double> sums) {
    Normal tile(m, true);
    Work joint(tile.K * TILE);
    double loglik = 0;
    by_tiles(values.rows, [&](std::size_t first, std::size_t size) {
        tile.read(values, first, size);
        for (std::size_t k = 0; k < tile.K; ++k) tile.score(k, joint.data() + k * TILE);
        mix_in(log_mix, joint.data());
        loglik += complete(joint.data(), tile.K, weight.data + first, size, mix_usage.data);
        for (std::size_t k = 0; k < tile.K; ++k) tile.expect(size, k, joint.data() + k * TILE, sums[k]);
    });
    tile.finish(sums);
    return loglik;
}

double diagonal_soft(Matrix<const double> values, Span<const double> weight, Span<const double> log_mix,
                     const Diagonals& m, Span<double> mix_usage, Stack<double> moments) {
    Diagonal tile(m);
    Work joint(tile.K * TILE);
    double loglik = 0;
    by_tiles(values.rows, [&](std::size_t first, std::size_t size) {
        tile.read(values, first, size);
        for (std::size_t k = 0; k < tile.K; ++k) tile.score(k, joint.data() + k * TILE);
        mix_in(log_mix, joint.data());
        loglik += complete(joint.data(), tile.K, weight.data + first, size, mix_usage.data);
        for (std::size_t k = 0; k < tile.K; ++k) tile.expect(k, joint.data() + k * TILE);
    });
    tile.finish(moments);
    return loglik;
}

}  // namespace HALFSEEN_ISA
}  // namespace halfseen
