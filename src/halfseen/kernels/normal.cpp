// Blocks of numbers, jointly normal or independent given the component: scores, expectations, and both at once.
// Formulas: plain.py.
//
// Compiled once per instruction set (HALFSEEN_ISA names it); `dispatch.cpp` picks one at run time.
// A tile of rows is turned, so that scores have rows side by side in registers, whatever the numbers of columns and
// components; sums have columns side by side. Deviations from the component's own mean are taken first, so that nothing
// cancels. Rows with the same cells missing that follow each other share their regression.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
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

constexpr std::size_t TILE = 48;       // rows: three registers of any width go into it
constexpr int SIDE = 6;                // registers of rows whose losses are summed side by side
constexpr int ABREAST = 2;             // registers of rows whose exponentials are taken side by side
constexpr std::size_t BLOCK = 4;       // columns of the factor, or rows of the sums, done together
constexpr double BESIDE = 30;          // standard deviations: sums about a point so near a mean keep all but three digits
constexpr double SLIGHT = 1e-21;       // a row used less than this share of the mass so far adds nothing but rounding
constexpr double LEAST = -1e300;       // stands for log 0
constexpr double IMPOSSIBLE = -1e299;  // log-probabilities below this stand for log 0
constexpr double INF = std::numeric_limits<double>::infinity();
constexpr double HALF_ROOT = 0.70710678118654752440;
constexpr double LOG_2PI = 1.83787706640934548356;

constexpr std::size_t padded(std::size_t n, std::size_t to) { return (n + to - 1) / to * to; }

// Zeros that live as long as a chunk: their number depends on K and D, so that they do not fit on the stack. Not a
// std::vector, whose functions would be shared between instruction sets.
template <class T>
struct Array {
    void* block = nullptr;
    T* at = nullptr;  // a multiple of LINE: registers read across two cache lines are read twice
    std::size_t size = 0;

    explicit Array(std::size_t size) { take(size); }
    Array(const Array&) = delete;
    Array& operator=(const Array&) = delete;
    ~Array() { std::free(block); }

    T* data() const { return at; }
    T& operator[](std::size_t i) const { return at[i]; }
    void grow(std::size_t to) {
        if (to > size) take(to);
    }

private:
    static constexpr std::size_t LINE = 64;  // bytes

    void take(std::size_t n) {
        std::free(block);
        block = std::calloc(n * sizeof(T) + LINE, 1);
        if (!block) throw std::bad_alloc();
        at = reinterpret_cast<T*>((reinterpret_cast<std::uintptr_t>(block) + LINE - 1) / LINE * LINE);
        size = n;
    }
};
using Work = Array<double>;

// ---- what every tile does -------------------------------------------------------------------------------------------

// away[t, d] = values[first + t, d] - pivot[d] in rows of `wide` numbers, and their squares. Whether all are seen.
template <bool SQUARES>
bool centre(Matrix<const double> values, std::size_t first, std::size_t size, const double* pivot, std::size_t wide,
            double* away, double* squares) {
    const std::size_t D = values.cols;
    Bits whole = seen(all(0.0));
    bool rest = true;
    for (std::size_t t = 0; t < size; ++t, away += wide, squares += wide) {
        const double* row = values[first + t];
        std::size_t d = 0;
        for (; d + WIDTH <= D; d += WIDTH) {
            const Lanes less = load(row + d) - load(pivot + d);
            store(away + d, less);
            if constexpr (SQUARES) store(squares + d, less * less);
            whole = whole & seen(less);
        }
        for (; d < D; ++d) {
            away[d] = row[d] - pivot[d];
            if constexpr (SQUARES) squares[d] = away[d] * away[d];
            rest &= away[d] == away[d];
        }
    }
    return rest && lanes_set(whole) == (1u << WIDTH) - 1;
}

// to[d] = from[d] - what[d] for the columns of a tile.
void subtract(const double* from, const double* what, std::size_t n_columns, double* to) {
    for (std::size_t d = 0; d < n_columns; ++d) {
        const Lanes less = all(what[d]);
        for (std::size_t t = 0; t < TILE; t += WIDTH) store(to + d * TILE + t, load(from + d * TILE + t) - less);
    }
}

void middle(Matrix<const double> means, double* pivot) {
    for (std::size_t k = 0; k < means.rows; ++k) {
        for (std::size_t d = 0; d < means.cols; ++d) pivot[d] += means[k][d] / double(means.rows);
    }
}

// The places of the bits that are set in four of them, and how many they are.
constexpr unsigned char PLACES[16][4] = {{}, {0}, {1}, {0, 1}, {2}, {0, 2}, {1, 2}, {0, 1, 2},
                                         {3}, {0, 3}, {1, 3}, {0, 1, 3}, {2, 3}, {0, 2, 3}, {1, 2, 3}, {0, 1, 2, 3}};
constexpr unsigned char COUNTS[16] = {0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4};

// List the places of the bits that are set, four at a time: whether a row counts cannot be foretold, so no branch asks.
inline std::size_t list_bits(std::uint64_t bits, unsigned char* places) {
    std::size_t n = 0;
    for (std::uint32_t t = 0; t < TILE; t += 4, bits >>= 4) {
        std::uint32_t four;
        std::memcpy(&four, PLACES[bits & 15], sizeof four);
        four += t * 0x01010101u;  // t to each byte
        std::memcpy(places + n, &four, sizeof four);
        n += COUNTS[bits & 15];
    }
    return n;
}

alignas(64) const struct Ones {
    double at[TILE];
    constexpr Ones() : at() {
        for (double& one : at) one = 1;
    }
    operator const double*() const { return at; }
} ONES;

// How a component uses the rows of a tile.
struct Used {
    double total = 0;        // over all rows
    std::size_t size = 0;    // rows that count beside a mass
    unsigned char rows[TILE];
};

// Multiply the usage of a tile by the share of each row; list the rows that count beside the mass so far.
void settle(double* usage, const double* share, double mass, Used& used) {
    const Lanes least = all(SLIGHT * mass);
    Lanes one = all(0.0), two = all(0.0), three = all(0.0);  // sums that do not wait for each other
    std::uint64_t counting = 0;
    for (std::size_t t = 0; t < TILE; t += 3 * WIDTH) {
        const Lanes a = load(usage + t) * load(share + t);
        const Lanes b = load(usage + t + WIDTH) * load(share + t + WIDTH);
        const Lanes c = load(usage + t + 2 * WIDTH) * load(share + t + 2 * WIDTH);
        store(usage + t, a);
        store(usage + t + WIDTH, b);
        store(usage + t + 2 * WIDTH, c);
        one += a;
        two += b;
        three += c;
        const std::uint64_t set = lanes_set(least < a) | lanes_set(least < b) << WIDTH | lanes_set(least < c) << 2 * WIDTH;
        counting |= set << t;
    }
    used.total = sum(one + two + three);
    used.size = list_bits(counting, used.rows);
}

// Overwrite log-joints, whose components are TILE apart, with exponentials of what they are above the best.
inline void exponentiate(double* joint, std::size_t n_components, Lanes* best, Lanes* total) {
    for (int b = 0; b < ABREAST; ++b) {
        best[b] = all(LEAST);  // infinity less infinity would be NaN
        total[b] = all(0.0);
    }
    for (std::size_t k = 0; k < n_components; ++k) {
        for (int b = 0; b < ABREAST; ++b) best[b] = larger(best[b], load(joint + k * TILE + b * WIDTH));
    }
    for (std::size_t k = 0; k < n_components; ++k) {
        for (int b = 0; b < ABREAST; ++b) {
            double* at = joint + k * TILE + b * WIDTH;
            const Lanes used = exp_below_zero(load(at) - best[b]);
            store(at, used);
            total[b] += used;
        }
    }
}

// Overwrite the log-joints of a tile, (K, TILE), with what is used before a row's share (TILE,) is multiplied to it:
// responsibilities, weighted. Return the log-likelihood.
double complete(double* joint, std::size_t n_components, const double* weight, std::size_t size, double* share) {
    alignas(64) double weights[TILE] = {};
    std::copy_n(weight, size, weights);
    Lanes loglik = all(0.0);
    for (std::size_t t = 0; t < size; t += ABREAST * WIDTH) {
        Lanes best[ABREAST], total[ABREAST];
        exponentiate(joint + t, n_components, best, total);
        for (int b = 0; b < ABREAST; ++b) {
            const Lanes w = load(weights + t + b * WIDTH);
            const Bits impossible = best[b] < all(IMPOSSIBLE);
            const Lanes log_evidence = choose(impossible, all(-INF), log_positive(total[b]) + best[b]);
            loglik += only(all(0.0) < w, w * log_evidence);  // a row of weight 0 may be impossible
            store(share + t + b * WIDTH, choose(impossible, all(0.0), w / total[b]));
        }
    }
    for (std::size_t t = padded(size, ABREAST * WIDTH); t < TILE; ++t) {
        share[t] = 0;
        for (std::size_t k = 0; k < n_components; ++k) joint[k * TILE + t] = 0;  // it may be infinite
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
    Work pivot;                          // (D,)  the middle of the means
    Work shift;                          // (K, high)  sqrt(1/2) factor' (mean - pivot); kept where that loses no digits
    Work nothing;                        // (high,)  zeros
    Array<unsigned char> near;           // (K,)  whether it is kept
    Array<unsigned char> beside;         // (K,)  whether sums about the pivot lose hardly a digit
    Work turned, centred;                // (high, TILE)  the rows of the tile as columns, and less the pivot
    Work deviations;                     // (K or 1, high, TILE)  from the mean, completed
    Work extra;                          // (K, TILE)  what missing cells add to the score
    Work values, away, mean;             // (TILE, wide), (TILE, wide) and (K, wide)  rows, less the pivot; padded with zeros
    Work rows, weighted;                 // (TILE, wide)  deviations as rows, and times their usage
    Work mass, first, second;            // (K,), (K, wide) and (K, high, wide)  sums of usage, deviations and products
    Work raw_mass, raw_first, raw;       // (K,), (K, wide) and (K, high, wide)  sums about the pivot
    Work inner, inverse, slopes;         // (D, D), (D,), (D, wide)  of one pattern in one component
    alignas(64) double lanes[WIDTH];     // 0, 1, 2, ...
    Array<std::size_t> columns;          // (TILE, D)  of every run, those missing first
    Run runs[TILE];
    std::size_t n_runs = 0;
    const bool scoring;
    bool direct = true;                  // whether all components lie beside the pivot: nothing else is needed of whole rows
    bool whole = true;

    Normal(const Normals& m, bool scoring)
        : m(m), K(m.mean.rows), D(m.mean.cols), high(padded(D, BLOCK)), wide(padded(D, WIDTH)), packed(0),
          pivot(D), shift(K * high), nothing(high), near(K), beside(K), turned(D * TILE), centred(high * TILE),
          deviations(high * TILE), extra(0), values(TILE * wide), away(TILE * wide), mean(K * wide), rows(TILE * wide),
          weighted(TILE * padded(wide, BLOCK)), mass(K), first(K * wide), second(K * high * wide), raw_mass(K), raw_first(K * wide),
          raw(K * high * wide), inner(0), inverse(0), slopes(0), columns(0), scoring(scoring) {
        for (std::size_t k = 0; k < K; ++k) std::copy_n(m.mean[k], D, mean.data() + k * wide);
        for (int i = 0; i < WIDTH; ++i) lanes[i] = i;
        if (scoring) {
            pack();
            place();
        }
        for (std::size_t k = 0; k < K; ++k) direct &= beside[k] != 0;
    }

    // Factors times sqrt(1/2), so that a block of BLOCK columns is read from one end to the other; zeros below the diagonal.
    void pack() {
        const std::size_t blocks = high / BLOCK;
        packed.grow(K * BLOCK * BLOCK * blocks * (blocks + 1) / 2);
        double* to = packed.data();
        for (std::size_t k = 0; k < K; ++k) {
            for (std::size_t j0 = 0; j0 < high; j0 += BLOCK) {
                for (std::size_t i = 0; i < j0 + BLOCK; ++i, to += BLOCK) {
                    for (std::size_t j = j0; j < j0 + BLOCK; ++j) {
                        if (i < D && j < D && i <= j) to[j - j0] = HALF_ROOT * m.factor[k][i][j];
                    }
                }
            }
        }
    }

    // |deviation factor|^2 is computed as |(row - pivot) factor - shift|^2, which spares a subtraction for each component,
    // wherever the component lies so near the pivot that twelve digits are left.
    void place() {
        middle(m.mean, pivot.data());
        inner.grow(D * D);
        for (std::size_t k = 0; k < K; ++k) {
            double farthest = 0, apart = 0;
            for (std::size_t j = 0; j < D; ++j) {
                double size = 0;
                for (std::size_t i = 0; i <= j; ++i) {
                    const double part = HALF_ROOT * m.factor[k][i][j] * (m.mean[k][i] - pivot[i]);
                    shift[k * high + j] += part;
                    size += std::abs(part);
                }
                farthest = std::max(farthest, size);
                const double away = m.mean[k][j] - pivot[j];
                apart = std::max(apart, away * away / variance(k, j));
            }
            near[k] = farthest < FAR;
            beside[k] = near[k] && apart < BESIDE * BESIDE;
        }
    }

    // The variance of column j: that column of the inverse of the factor, squared and summed.
    double variance(std::size_t k, std::size_t j) {
        double total = 0;
        double* column = inner.data();
        for (std::size_t i = j + 1; i-- > 0;) {
            const double* row = m.factor[k][i];
            double left = i == j;
            for (std::size_t l = i + 1; l <= j; ++l) left -= row[l] * column[l];
            column[i] = left / row[i];
            total += column[i] * column[i];
        }
        return total;
    }

    void read(Matrix<const double> data, std::size_t first, std::size_t size) {
        whole = centre<false>(data, first, size, pivot.data(), wide, away.data(), nullptr);
        if (whole && scoring) turn_rows<TILE>(away.data(), wide, size, D, centred.data());
        if (whole && direct) return;
        turn_rows<TILE>(data[first], D, size, D, turned.data());
        for (std::size_t t = 0; t < size; ++t) std::copy_n(data[first + t], D, values.data() + t * wide);
        if (whole) return;
        deviations.grow(K * high * TILE);
        extra.grow(K * TILE);
        inner.grow(D * D);
        inverse.grow(D);
        slopes.grow(D * wide);
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
        subtract(turned.data(), m.mean[k], D, to);
        std::fill(to + D * TILE, to + high * TILE, 0.0);
        if (whole) return;
        std::fill_n(extra.data() + k * TILE, TILE, 0.0);
        for (std::size_t r = 0; r < n_runs; ++r) {
            if (runs[r].n_missing) fill(k, runs[r], to);
        }
    }

    // deviation[missing] = -slopes deviation[observed]; and what the missing cells add to the score.
    void fill(std::size_t k, const Run& run, double* to) {
        double said = 0;
        if (run.n_observed) {
            said = 0.5 * double(run.n_missing) * LOG_2PI - factor_inner(k, run);
            for (std::size_t a = 0; a < run.n_missing; ++a) {
                std::copy_n(m.precision[k][run.missing[a]], D, slopes.data() + a * wide);
            }
            solve(run.n_missing, wide);
        } else if (scoring) {
            said = -m.offset[k];
        }
        std::fill(extra.data() + k * TILE + run.from, extra.data() + k * TILE + run.to, said);
        for (std::size_t a = 0; a < run.n_missing; ++a) {
            const double* slope = slopes.data() + a * wide;
            double* out = to + run.missing[a] * TILE;
            for (std::size_t t = run.from / WIDTH * WIDTH; t < run.to; t += WIDTH) {
                Lanes total = all(0.0);
                for (std::size_t b = 0; b < run.n_observed; ++b) {
                    const std::size_t d = run.observed[b];
                    total -= all(slope[d]) * load(to + d * TILE + t);
                }
                const Lanes at = load(lanes) + all(double(t));
                const Bits inside = (all(double(run.from) - 0.5) < at) & (at < all(double(run.to) - 0.5));
                store(out + t, choose(inside, total, load(out + t)));
            }
        }
    }

    // inner = L with L L' = precision of the missing cells, with the inverse of its diagonal; returns log |L|.
    double factor_inner(std::size_t k, const Run& run) {
        double root = 1, log_root = 0;
        for (std::size_t a = 0; a < run.n_missing; ++a) {
            const double* row = m.precision[k][run.missing[a]];
            double* to = inner.data() + a * D;
            for (std::size_t b = 0; b <= a; ++b) {
                const double* other = inner.data() + b * D;
                double left = row[run.missing[b]];
                for (std::size_t c = 0; c < b; ++c) left -= to[c] * other[c];
                to[b] = a == b ? std::sqrt(left) : left * inverse[b];
            }
            inverse[a] = 1 / to[a];
            root *= to[a];
            if (!(root > 1e-100 && root < 1e100)) {  // before it can leave the range of numbers: columns may be in any unit
                log_root += std::log(root);
                root = 1;
            }
        }
        return log_root + std::log(root);
    }

    // The first n rows of slopes = (L L')^-1 times these rows, as far as `width`.
    void solve(std::size_t n, std::size_t width) {
        for (std::size_t a = 0; a < n; ++a) {
            for (std::size_t c = 0; c < a; ++c) add_row(a, -inner[a * D + c], c, width);
            scale_row(a, inverse[a], width);
        }
        for (std::size_t a = n; a-- > 0;) {
            for (std::size_t c = a + 1; c < n; ++c) add_row(a, -inner[c * D + a], c, width);
            scale_row(a, inverse[a], width);
        }
    }

    void add_row(std::size_t to, double times, std::size_t from, std::size_t width) {
        double* out = slopes.data() + to * wide;
        const double* in = slopes.data() + from * wide;
        for (std::size_t j = 0; j < width; j += WIDTH) store(out + j, load(out + j) + all(times) * load(in + j));
    }

    void scale_row(std::size_t to, double times, std::size_t width) {
        double* out = slopes.data() + to * wide;
        for (std::size_t j = 0; j < width; j += WIDTH) store(out + j, load(out + j) * all(times));
    }

    // roots[j] += factor[j] * deviation, for three registers of rows.
    template <std::size_t FIRST>
    static inline void add(const double* from, const double* u, Lanes* one, Lanes* two, Lanes* three) {
        const Lanes x = kept(load(from)), y = kept(load(from + WIDTH)), z = kept(load(from + 2 * WIDTH));
        for (std::size_t j = FIRST; j < BLOCK; ++j) {
            const Lanes factor = all(u[j]);
            one[j] += factor * x;
            two[j] += factor * y;
            three[j] += factor * z;
        }
    }

    static void lose(double* scores, const Lanes* roots) {
        Lanes left = load(scores);
        for (std::size_t j = 0; j < BLOCK; ++j) left -= roots[j] * roots[j];
        store(scores, left);
    }

    // scores[t] = more + offset + extra - |deviation factor|^2 / 2.
    void score(std::size_t k, double more, double* scores) {
        const bool direct = whole && near[k];
        if (!direct) deviate(k);
        const double* e = direct ? centred.data() : deviations_of(k);
        const double* begin = direct ? shift.data() + k * high : nothing.data();
        const std::size_t blocks = high / BLOCK;
        const double* factors = packed.data() + k * BLOCK * BLOCK * blocks * (blocks + 1) / 2;
        std::fill_n(scores, TILE, more + m.offset[k]);
        for (std::size_t j0 = 0; j0 < high; factors += BLOCK * (j0 + BLOCK), j0 += BLOCK) {
            for (std::size_t t = 0; t < TILE; t += 3 * WIDTH) {
                Lanes one[BLOCK], two[BLOCK], three[BLOCK];
                for (std::size_t j = 0; j < BLOCK; ++j) one[j] = two[j] = three[j] = all(-begin[j0 + j]);
                const double *from = e + t, *u = factors;
                for (std::size_t i = 0; i < j0; ++i, from += TILE, u += BLOCK) add<0>(from, u, one, two, three);
                add<0>(from, u, one, two, three);
                add<1>(from + TILE, u + BLOCK, one, two, three);
                add<2>(from + 2 * TILE, u + 2 * BLOCK, one, two, three);
                add<3>(from + 3 * TILE, u + 3 * BLOCK, one, two, three);
                lose(scores + t, one);
                lose(scores + t + WIDTH, two);
                lose(scores + t + 2 * WIDTH, three);
            }
        }
        if (whole) return;
        for (std::size_t t = 0; t < TILE; ++t) scores[t] += extra[k * TILE + t];
    }

    // Add the tile's moments, used usage[t] times. Rows without observed cells add nothing.
    void expect(std::size_t size, std::size_t k, double* usage, Used& used) {
        if (!whole) {
            for (std::size_t r = 0; r < n_runs; ++r) {
                if (!runs[r].n_observed) std::fill(usage + runs[r].from, usage + runs[r].to, 0.0);
            }
            settle(usage, ONES, mass[k], used);
        }
        mass[k] += used.total;
        if (!used.size) return;
        if (whole && beside[k]) return expect_beside(k, usage, used);
        if (!whole) {
            line_up_completed(size, k);
            for (std::size_t r = 0; r < n_runs; ++r) add_spread(k, runs[r], usage);
        }
        for (std::size_t j = 0; j < wide; j += WIDTH) whole ? weigh<true>(k, j, usage, used) : weigh<false>(k, j, usage, used);
        for (std::size_t a = 0; a < used.size; ++a) used.rows[a] = static_cast<unsigned char>(a);  // they are moved together
        add_products(rows.data(), used, second.data() + k * high * wide);
    }

    // The same about the pivot, which spares a deviation for each component.
    void expect_beside(std::size_t k, const double* usage, const Used& used) {
        raw_mass[k] += used.total;
        std::size_t j = 0;
        for (; j + 4 * WIDTH <= wide; j += 4 * WIDTH) weigh_away<4>(k, j, usage, used);
        for (; j < wide; j += WIDTH) weigh_away<1>(k, j, usage, used);
        add_products(away.data(), used, raw.data() + k * high * wide);
    }

    // N registers of columns of the rows used, less the pivot, times their usage.
    template <int N>
    void weigh_away(std::size_t k, std::size_t j, const double* usage, const Used& used) {
        const std::size_t step = wide;
        double *to = raw_first.data() + k * step + j, *times = weighted.data() + j;
        Lanes total[N];
        for (int b = 0; b < N; ++b) total[b] = load(to + b * WIDTH);
        for (std::size_t a = 0; a < used.size; ++a, times += step) {
            const double* in = away.data() + used.rows[a] * step + j;
            const Lanes often = all(usage[used.rows[a]]);
            for (int b = 0; b < N; ++b) {
                const Lanes product = load(in + b * WIDTH) * often;
                store(times + b * WIDTH, product);
                total[b] += product;
            }
        }
        for (int b = 0; b < N; ++b) store(to + b * WIDTH, total[b]);
    }

    // Completed deviations as rows.
    void line_up_completed(std::size_t size, std::size_t k) {
        const double* e = deviations_of(k);
        const std::size_t square = D / WIDTH * WIDTH;
        for (std::size_t t = 0; t < size; t += WIDTH) {
            for (std::size_t d = 0; d < square; d += WIDTH) {
                turn_square(e + d * TILE + t, TILE, rows.data() + t * wide + d, wide);
            }
            for (std::size_t i = t; i < t + WIDTH; ++i) {
                for (std::size_t d = square; d < D; ++d) rows[i * wide + d] = e[d * TILE + i];
            }
        }
    }

    // WIDTH columns of the deviations of the rows used, moved together, and times their usage.
    template <bool WHOLE>
    void weigh(std::size_t k, std::size_t j, const double* usage, const Used& used) {
        const std::size_t step = wide;
        const Lanes centre = load(mean.data() + k * step + j);
        const double* in = (WHOLE ? values : rows).data() + j;
        double *out = rows.data() + j, *times = weighted.data() + j;
        Lanes total = load(first.data() + k * step + j);
        for (std::size_t a = 0; a < used.size; ++a, out += step, times += step) {
            const std::size_t t = used.rows[a];
            const Lanes deviation = WHOLE ? load(in + t * step) - centre : load(in + t * step);
            const Lanes product = deviation * all(usage[t]);
            store(out, deviation);
            store(times, product);
            total += product;
        }
        store(first.data() + k * step + j, total);
    }

    // Add the conditional covariances of the missing cells.
    void add_spread(std::size_t k, const Run& run, const double* usage) {
        const std::size_t n = run.n_missing;
        if (!n || !run.n_observed) return;
        double used = 0;
        for (std::size_t t = run.from; t < run.to; ++t) used += usage[t];
        if (!(used > SLIGHT * mass[k])) return;
        factor_inner(k, run);
        for (std::size_t a = 0; a < n; ++a) {
            std::fill_n(slopes.data() + a * wide, padded(n, WIDTH), 0.0);
            slopes[a * wide + a] = used;
        }
        solve(n, padded(n, WIDTH));
        double* out = second.data() + k * high * wide;
        for (std::size_t a = 0; a < n; ++a) {  // columns ascend: the upper triangle is all that is read
            for (std::size_t b = a; b < n; ++b) out[run.missing[a] * wide + run.missing[b]] += slopes[a * wide + b];
        }
    }

    // out[i][j] += sum_a weighted[a][i] right[used[a]][j] for j from the block of i on; the rest is its mirror image.
    void add_products(const double* right, const Used& used, double* out) const {
        for (std::size_t i0 = 0; i0 < D; i0 += BLOCK) {
            std::size_t j = i0 / WIDTH * WIDTH;
            for (; j + 4 * WIDTH <= wide || j + 2 * WIDTH == wide; j += 2 * WIDTH) products<2>(i0, j, right, used, out);
            if (j + 3 * WIDTH == wide) products<3>(i0, j, right, used, out);
            if (j + WIDTH == wide) products<1>(i0, j, right, used, out);
        }
    }

    template <int N>
    void products(std::size_t i0, std::size_t j, const double* right, const Used& used, double* out) const {
        Lanes total[BLOCK][N];
        for (std::size_t i = 0; i < BLOCK; ++i) {
            for (int b = 0; b < N; ++b) total[i][b] = all(0.0);
        }
        const double* left = weighted.data() + i0;
        right += j;
        const std::size_t step = wide, size = used.size;
        for (std::size_t a = 0; a < size; ++a, left += step) {
            const double* row = right + used.rows[a] * step;
            Lanes x[N];
            for (int b = 0; b < N; ++b) x[b] = load(row + b * WIDTH);
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

    // Add all sums to the statistics, products mirrored; those about the pivot p are moved to the mean m, with a = m - p:
    // sum r (x - m) (x - m)' = sum r (x - p) (x - p)' - a (sum r (x - p))' - (sum r (x - m)) a'.
    void finish(Matrix<double> sums) const {
        for (std::size_t k = 0; k < K; ++k) {
            const double *in = second.data() + k * high * wide, *about = raw.data() + k * high * wide;
            const double *centre = m.mean[k], *away = raw_first.data() + k * wide;
            double* out = sums[k] + 2 + D;
            sums[k][0] += mass[k];
            for (std::size_t i = 0; i < D; ++i) {
                const double apart = centre[i] - pivot[i], moved = away[i] - apart * raw_mass[k];
                sums[k][2 + i] += first[k * wide + i] + moved;
                for (std::size_t j = i; j < D; ++j) {
                    const double other = centre[j] - pivot[j];
                    const double total = in[i * wide + j] + (about[i * wide + j] - apart * away[j] - moved * other);
                    out[i * D + j] += total;
                    if (j > i) out[j * D + i] += total;
                }
            }
        }
    }
};

// ---- independent ----------------------------------------------------------------------------------------------------

struct Diagonal {
    const Diagonals m;
    const std::size_t K, D, wide;
    Work pivot;                       // (D,)  the middle of the means
    Work scale, shift, offset;        // (K, D), (K, D) and (K,)  loss = |(row - pivot) scale - shift|^2
    Array<unsigned char> near;        // (K,)  whether that loses no digits
    Work turned, centred;             // (D, TILE)
    Work rows, away, squares;         // (TILE, wide)  the rows, less the pivot, and squares of that
    Work sums;                        // (3, K, wide)  of usage, deviations from the mean and their squares
    Work raw;                         // (2, K, wide)  the last two about the pivot, of components that lie beside it
    Array<unsigned char> beside;      // (K,)
    Work mean, mass, raw_mass;        // (K, wide), (K,) and (K,)
    bool direct = true;               // whether all components lie beside the pivot: nothing else is needed of whole rows
    bool whole = true;

    explicit Diagonal(const Diagonals& m)
        : m(m), K(m.mean.rows), D(m.mean.cols), wide(padded(D, WIDTH)), pivot(D), scale(K * D), shift(K * D), offset(K),
          near(K), turned(D * TILE), centred(D * TILE), rows(TILE * wide), away(TILE * wide), squares(TILE * wide),
          sums(3 * K * wide), raw(2 * K * wide), beside(K), mean(K * wide), mass(K), raw_mass(K) {
        middle(m.mean, pivot.data());
        for (std::size_t k = 0; k < K; ++k) {
            std::copy_n(m.mean[k], D, mean.data() + k * wide);
            double farthest = 0;
            for (std::size_t d = 0; d < D; ++d) {
                scale[k * D + d] = std::sqrt(m.half_precision[k][d]);
                shift[k * D + d] = scale[k * D + d] * (m.mean[k][d] - pivot[d]);
                offset[k] -= m.half_log[k][d];
                farthest = std::max(farthest, std::abs(shift[k * D + d]));
            }
            near[k] = farthest < FAR;
            beside[k] = farthest > 0 && farthest < BESIDE;  // a precision of 0 says nothing: nothing is scored
            direct &= beside[k] != 0;
        }
    }

    void read(Matrix<const double> values, std::size_t first, std::size_t size) {
        whole = centre<true>(values, first, size, pivot.data(), wide, away.data(), squares.data());
        if (whole) turn_rows<TILE>(away.data(), wide, size, D, centred.data());
        if (whole && direct) return;
        turn_rows<TILE>(values[first], D, size, D, turned.data());
        for (std::size_t t = 0; t < size; ++t) std::copy_n(values[first + t], D, rows.data() + t * wide);
    }

    // scores[t] = more + the log-density of each row of the tile.
    void score(std::size_t k, double more, double* scores) const {
        if (whole && near[k]) return score_near(k, more, scores);
        whole ? score<true>(k, more, scores) : score<false>(k, more, scores);
    }

    void score_near(std::size_t k, double more, double* scores) const {
        const double *scales = scale.data() + k * D, *shifts = shift.data() + k * D;
        const Lanes begin = all(more + offset[k]);
        const std::size_t n = D;
        for (std::size_t t = 0; t < TILE; t += SIDE * WIDTH) {
            Lanes left[SIDE];
            for (int b = 0; b < SIDE; ++b) left[b] = begin;
            const double* in = centred.data() + t;
            for (std::size_t d = 0; d < n; ++d, in += TILE) {
                const Lanes times = all(scales[d]), less = all(shifts[d]);
                for (int b = 0; b < SIDE; ++b) {
                    const Lanes root = load(in + b * WIDTH) * times - less;
                    left[b] -= root * root;
                }
            }
            for (int b = 0; b < SIDE; ++b) store(scores + t + b * WIDTH, left[b]);
        }
    }

    template <bool WHOLE>
    void score(std::size_t k, double more, double* scores) const {
        const Lanes begin = all(WHOLE ? more + offset[k] : more);
        for (std::size_t t = 0; t < TILE; t += SIDE * WIDTH) {
            Lanes loss[SIDE];
            for (int b = 0; b < SIDE; ++b) loss[b] = all(0.0);
            for (std::size_t d = 0; d < D; ++d) {
                const Lanes centre = all(m.mean[k][d]), half = all(m.half_precision[k][d]);
                const double* in = turned.data() + d * TILE + t;
                for (int b = 0; b < SIDE; ++b) {
                    const Lanes x = load(in + b * WIDTH), deviation = x - centre;
                    if constexpr (WHOLE) {
                        loss[b] += deviation * half * deviation;
                    } else {
                        loss[b] += only(seen(x), all(m.half_log[k][d]) + deviation * half * deviation);
                    }
                }
            }
            for (int b = 0; b < SIDE; ++b) store(scores + t + b * WIDTH, begin - loss[b]);
        }
    }

    // Add the tile's moments, used usage[t] times.
    void expect(std::size_t, std::size_t k, const double* usage, const Used& used) {
        mass[k] += used.total;
        if (!used.size) return;
        std::size_t j = 0;
        if (whole && beside[k]) {
            raw_mass[k] += used.total;
            for (; j + 4 * WIDTH <= wide; j += 4 * WIDTH) add_raw<4>(used, k, j, usage);
            for (; j < wide; j += WIDTH) add_raw<1>(used, k, j, usage);
        }
        for (; j + 4 * WIDTH <= wide; j += 4 * WIDTH) add<4>(used, k, j, usage);
        for (; j < wide; j += WIDTH) add<1>(used, k, j, usage);
    }

    // Sums about the pivot, which cost half as much as those about the component's own mean.
    template <int N>
    void add_raw(const Used& used, std::size_t k, std::size_t j, const double* usage) {
        Lanes first[N], second[N];
        double *firsts = raw.data() + k * wide + j, *seconds = firsts + K * wide;
        for (int b = 0; b < N; ++b) {
            first[b] = load(firsts + b * WIDTH);
            second[b] = load(seconds + b * WIDTH);
        }
        for (std::size_t a = 0; a < used.size; ++a) {
            const std::size_t t = used.rows[a];
            const double *row = away.data() + t * wide + j, *squared = squares.data() + t * wide + j;
            const Lanes times = all(usage[t]);
            for (int b = 0; b < N; ++b) {
                first[b] += times * load(row + b * WIDTH);
                second[b] += times * load(squared + b * WIDTH);
            }
        }
        for (int b = 0; b < N; ++b) {
            store(firsts + b * WIDTH, first[b]);
            store(seconds + b * WIDTH, second[b]);
        }
    }

    template <int N>
    void add(const Used& used, std::size_t k, std::size_t j, const double* usage) {
        whole ? add<N, true>(used, k, j, usage) : add<N, false>(used, k, j, usage);
    }

    template <int N, bool WHOLE>
    void add(const Used& used, std::size_t k, std::size_t j, const double* usage) {
        Lanes centre[N], mass[N], first[N], second[N];
        for (int b = 0; b < N; ++b) {
            centre[b] = load(mean.data() + k * wide + j + b * WIDTH);
            mass[b] = first[b] = second[b] = all(0.0);
        }
        for (std::size_t a = 0; a < used.size; ++a) {
            const double* row = rows.data() + used.rows[a] * wide + j;
            const Lanes times = all(usage[used.rows[a]]);
            for (int b = 0; b < N; ++b) {
                const Lanes x = load(row + b * WIDTH);
                const Lanes deviation = WHOLE ? x - centre[b] : only(seen(x), x - centre[b]);
                const Lanes weighted = times * deviation;
                if constexpr (!WHOLE) mass[b] += only(seen(x), times);
                first[b] += weighted;
                second[b] += weighted * deviation;
            }
        }
        for (int b = 0; b < N; ++b) {
            if constexpr (WHOLE) mass[b] = all(used.total);
            const Lanes parts[3] = {mass[b], first[b], second[b]};
            for (std::size_t p = 0; p < 3; ++p) {
                double* to = sums.data() + (p * K + k) * wide + j + b * WIDTH;
                store(to, load(to) + parts[p]);
            }
        }
    }

    // Add all sums to the moments; those about the pivot p are moved to the mean m:
    // sum r (x - m)^2 = sum r (x - p)^2 - (m - p) (2 sum r (x - p) - (m - p) sum r).
    void finish(Stack<double> moments) const {
        for (std::size_t k = 0; k < K; ++k) {
            for (std::size_t d = 0; d < D; ++d) {
                const double apart = m.mean[k][d] - pivot[d], first = raw[k * wide + d];
                const double moved = first - apart * raw_mass[k];
                const double parts[3] = {raw_mass[k], moved, raw[(K + k) * wide + d] - apart * (first + moved)};
                for (std::size_t p = 0; p < 3; ++p) moments[p][k][d] += sums[(p * K + k) * wide + d] + parts[p];
            }
        }
    }
};

template <class Call>
void by_tiles(std::size_t n_rows, Call call) {
    for (std::size_t first = 0; first < n_rows; first += TILE) call(first, std::min(TILE, n_rows - first));
}

// Score, complete and expect, tile by tile; return the log-likelihood.
template <class Tile>
double soft(Tile& tile, Matrix<const double> values, Span<const double> weight, Span<const double> log_mix,
            Span<double> mix_usage) {
    Work joint(tile.K * TILE);
    alignas(64) double share[TILE];
    Used used;
    double loglik = 0;
    by_tiles(values.rows, [&](std::size_t first, std::size_t size) {
        tile.read(values, first, size);
        const Ahead next(values, first + TILE, TILE);
        for (std::size_t k = 0; k < tile.K; ++k) {
            next.part(k, tile.K);
            tile.score(k, log_mix[k], joint.data() + k * TILE);
        }
        loglik += complete(joint.data(), tile.K, weight.data + first, size, share);
        for (std::size_t k = 0; k < tile.K; ++k) {
            double* usage = joint.data() + k * TILE;
            settle(usage, share, tile.mass[k], used);
            mix_usage[k] += used.total;
            tile.expect(size, k, usage, used);
        }
    });
    return loglik;
}

// Expect a tile whose usage is given.
template <class Tile>
void expect_given(Tile& tile, std::size_t first, std::size_t size, std::size_t k, Matrix<const double> usage) {
    alignas(64) double own[TILE] = {};
    for (std::size_t t = 0; t < size; ++t) own[t] = usage[first + t][k];
    Used used;
    settle(own, ONES, tile.mass[k], used);
    tile.expect(size, k, own, used);
}

}  // namespace

void normal_score(Matrix<const double> values, const Normals& m, Matrix<double> scores) {
    Normal tile(m, true);
    alignas(64) double column[TILE];
    by_tiles(values.rows, [&](std::size_t first, std::size_t size) {
        tile.read(values, first, size);
        for (std::size_t k = 0; k < tile.K; ++k) {
            tile.score(k, 0.0, column);
            for (std::size_t t = 0; t < size; ++t) scores[first + t][k] += column[t];
        }
    });
}

void normal_expect(Matrix<const double> values, const Normals& m, Matrix<const double> usage, Matrix<double> sums) {
    Normal tile(m, false);
    by_tiles(values.rows, [&](std::size_t first, std::size_t size) {
        tile.read(values, first, size);
        for (std::size_t k = 0; k < tile.K; ++k) {
            if (!tile.whole) tile.deviate(k);
            expect_given(tile, first, size, k, usage);
        }
    });
    tile.finish(sums);
}

double normal_soft(Matrix<const double> values, Span<const double> weight, Span<const double> log_mix,
                   const Normals& m, Span<double> mix_usage, Matrix<double> sums) {
    Normal tile(m, true);
    const double loglik = soft(tile, values, weight, log_mix, mix_usage);
    tile.finish(sums);
    return loglik;
}

void gaussian_score(Matrix<const double> values, Matrix<const double> mean, Matrix<const double> var,
                    Matrix<double> scores) {
    const std::size_t K = mean.rows, D = mean.cols;
    Work half_precision(K * D), half_log(K * D);
    for (std::size_t i = 0; i < K * D; ++i) {
        half_precision[i] = 0.5 / var.data[i];
        half_log[i] = 0.5 * (LOG_2PI + std::log(var.data[i]));
    }
    Diagonal tile({mean, {half_precision.data(), K, D}, {half_log.data(), K, D}});
    alignas(64) double column[TILE];
    by_tiles(values.rows, [&](std::size_t first, std::size_t size) {
        tile.read(values, first, size);
        for (std::size_t k = 0; k < K; ++k) {
            tile.score(k, 0.0, column);
            for (std::size_t t = 0; t < size; ++t) scores[first + t][k] += column[t];
        }
    });
}

void gaussian_expect(Matrix<const double> values, Matrix<const double> mean, Matrix<const double> usage,
                     Stack<double> moments) {
    Work none(mean.rows * mean.cols);  // nothing is scored
    const Matrix<const double> unused{none.data(), mean.rows, mean.cols};
    Diagonal tile({mean, unused, unused});
    by_tiles(values.rows, [&](std::size_t first, std::size_t size) {
        tile.read(values, first, size);
        for (std::size_t k = 0; k < mean.rows; ++k) expect_given(tile, first, size, k, usage);
    });
    tile.finish(moments);
}

double diagonal_soft(Matrix<const double> values, Span<const double> weight, Span<const double> log_mix,
                     const Diagonals& m, Span<double> mix_usage, Stack<double> moments) {
    Diagonal tile(m);
    const double loglik = soft(tile, values, weight, log_mix, mix_usage);
    tile.finish(moments);
    return loglik;
}

}  // namespace HALFSEEN_ISA
}  // namespace halfseen
