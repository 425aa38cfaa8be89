// What every tile of rows of numbers does: deviations from the middle of the means, exponentials of scores, its use.
//
// Compiled once per instruction set, as normal.cpp is.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>

#include "floats.hpp"
#include "kernels.hpp"
#include "lanes.hpp"

#ifndef HALFSEEN_ISA
#define HALFSEEN_ISA baseline
#endif

namespace halfseen {
namespace HALFSEEN_ISA {

namespace {

constexpr std::size_t TILE = 48;       // rows: three registers of any width go into it
constexpr std::size_t BATCH = 4 * TILE;  // rows that are sifted at once, below 256
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

// away[t, d] = values[first + t, d] - pivot[d] in rows of `wide` numbers. Whether all are seen.
inline bool centre(Matrix<const double> values, std::size_t first, std::size_t size, const double* pivot, std::size_t wide,
                   double* away) {
    const std::size_t D = values.cols;
    Bits whole = seen(all(0.0));
    bool rest = true;
    for (std::size_t t = 0; t < size; ++t, away += wide) {
        const double* row = values[first + t];
        std::size_t d = 0;
        for (; d + WIDTH <= D; d += WIDTH) {
            const Lanes less = load(row + d) - load(pivot + d);
            store(away + d, less);
            whole = whole & seen(less);
        }
        for (; d < D; ++d) {
            away[d] = row[d] - pivot[d];
            rest &= away[d] == away[d];
        }
    }
    return rest && lanes_set(whole) == (1u << WIDTH) - 1;
}

// to[d] = from[d] - what[d] for the columns of a tile.
inline void subtract(const double* from, const double* what, std::size_t n_columns, double* to) {
    for (std::size_t d = 0; d < n_columns; ++d) {
        const Lanes less = all(what[d]);
        for (std::size_t t = 0; t < TILE; t += WIDTH) store(to + d * TILE + t, load(from + d * TILE + t) - less);
    }
}

inline void middle(Matrix<const double> means, double* pivot) {
    for (std::size_t k = 0; k < means.rows; ++k) {
        for (std::size_t d = 0; d < means.cols; ++d) pivot[d] += means[k][d] / double(means.rows);
    }
}

// The places of the bits that are set in eight of them, and how many they are.
constexpr struct Places {
    unsigned char at[256][8], n[256];
    constexpr Places() : at(), n() {
        for (int bits = 0; bits < 256; ++bits) {
            for (unsigned char place = 0; place < 8; ++place) {
                if (bits >> place & 1) at[bits][n[bits]++] = place;
            }
        }
    }
} PLACES;
constexpr std::size_t SPARE = 8;  // places behind a list that are written over

// List t and the places behind it whose bits are set, eight at a time: whether a row counts cannot be foretold, so no
// branch asks. Return how many.
inline std::size_t list_eight(unsigned bits, std::size_t t, unsigned char* list) {
    std::uint64_t eight;
    std::memcpy(&eight, PLACES.at[bits & 255], sizeof eight);
    eight += t * 0x0101010101010101u;  // t to each byte
    std::memcpy(list, &eight, sizeof eight);
    return PLACES.n[bits & 255];
}

alignas(64) const struct Ones {
    double at[TILE];
    constexpr Ones() : at() {
        for (double& one : at) one = 1;
    }
    operator const double*() const { return at; }
} ONES;

// How a component uses rows. Sums of products have the square root of the usage in both factors, so that one array of rows is
// multiplied by itself; the exponential of half a score costs no more than that of the score.
struct Used {
    double total = 0;        // over all rows
    std::size_t size = 0;    // rows that count beside a mass
    unsigned char* rows;     // their places, and SPARE more
    double* roots;           // the square roots of how often they are used
};

// Overwrite the roots of a tile with the usage, each row times the square of its share; list the rows that count beside
// the mass so far.
inline void settle(double* roots, const double* share, double mass, Used& used) {
    const Lanes least = all(SLIGHT * mass);
    Lanes one = all(0.0), two = all(0.0), three = all(0.0);  // sums that do not wait for each other
    alignas(64) double own[TILE];
    std::uint64_t counting = 0;
    for (std::size_t t = 0; t < TILE; t += 3 * WIDTH) {
        const Lanes a = load(roots + t) * load(share + t);
        const Lanes b = load(roots + t + WIDTH) * load(share + t + WIDTH);
        const Lanes c = load(roots + t + 2 * WIDTH) * load(share + t + 2 * WIDTH);
        store(own + t, a);
        store(own + t + WIDTH, b);
        store(own + t + 2 * WIDTH, c);
        const Lanes aa = a * a, bb = b * b, cc = c * c;
        store(roots + t, aa);
        store(roots + t + WIDTH, bb);
        store(roots + t + 2 * WIDTH, cc);
        one += aa;
        two += bb;
        three += cc;
        const std::uint64_t set = lanes_set(least < aa) | lanes_set(least < bb) << WIDTH | lanes_set(least < cc) << 2 * WIDTH;
        counting |= set << t;
    }
    used.total = sum(one + two + three);
    used.size = 0;
    for (std::size_t t = 0; t < TILE; t += 8, counting >>= 8) {
        used.size += list_eight(unsigned(counting), t, used.rows + used.size);
    }
    for (std::size_t a = 0; a < used.size; ++a) used.roots[a] = own[used.rows[a]];
}

// Overwrite log-joints, whose components are TILE apart, with square roots of the exponentials of what they are above the
// best.
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
            const Lanes root = exp_below_zero(all(0.5) * (load(at) - best[b]));
            store(at, root);
            total[b] += root * root;
        }
    }
}

// Overwrite the log-joints of a tile, (K, TILE), with the roots of what is used before a row's share (TILE,) is multiplied
// to them: responsibilities, weighted. Return the log-likelihood.
inline double complete(double* joint, std::size_t n_components, const double* weight, std::size_t size, double* share) {
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
            store(share + t + b * WIDTH, choose(impossible, all(0.0), square_root(w / total[b])));
        }
    }
    for (std::size_t t = padded(size, ABREAST * WIDTH); t < TILE; ++t) {
        share[t] = 0;
        for (std::size_t k = 0; k < n_components; ++k) joint[k * TILE + t] = 0;  // it may be infinite
    }
    return sum(loglik);
}

}  // namespace

}  // namespace HALFSEEN_ISA
}  // namespace halfseen
