// A tile of rows whose columns are independent and normal given the component. Formulas: plain.py.
#pragma once

#include "sieve.hpp"

namespace halfseen {
namespace HALFSEEN_ISA {

namespace {

struct Diagonal {
    const Diagonals m;
    const std::size_t K, D, wide;
    Work pivot;                       // (D,)  the middle of the means
    Work scale, shift, offsets;       // (K, wide), (K, wide) and (K,)  loss = |(row - pivot) scale - shift|^2
    Array<float> small_scale, small_shift;  // the same in float32
    Doubt doubt;                      // of float32 scores
    Array<unsigned char> near;        // (K,)  whether that loses no digits
    Work turned, centred;             // (D, TILE)
    Work rows, away;                  // (TILE, wide)  the rows, and less the pivot
    Work sums;                        // (3, K, wide)  of usage, deviations from the mean and their squares
    Work raw;                         // (2, K, wide)  the last two about the pivot, of components that lie beside it
    Array<unsigned char> beside;      // (K,)
    Work mean, mass, raw_mass;        // (K, wide), (K,) and (K,)
    bool direct = true;               // whether all components lie beside the pivot: nothing else is needed of whole rows
    bool whole = true;

    explicit Diagonal(const Diagonals& m)
        : m(m), K(m.mean.rows), D(m.mean.cols), wide(padded(D, WIDTH)), pivot(D), scale(K * wide), shift(K * wide), offsets(K),
          small_scale(K * wide), small_shift(K * wide),
          near(K), turned(D * TILE), centred(D * TILE), rows(TILE * wide), away((BATCH + 1) * wide),
          sums(3 * K * wide), raw(2 * K * wide), beside(K), mean(K * wide), mass(K), raw_mass(K) {
        middle(m.mean, pivot.data());
        for (std::size_t k = 0; k < K; ++k) {
            std::copy_n(m.mean[k], D, mean.data() + k * wide);
            double farthest = 0, sizes = 0;
            for (std::size_t d = 0; d < D; ++d) {
                const double times = std::sqrt(m.half_precision[k][d]), less = times * (m.mean[k][d] - pivot[d]);
                scale[k * wide + d] = times;
                shift[k * wide + d] = less;
                small_scale[k * wide + d] = doubt.round(times);
                small_shift[k * wide + d] = doubt.round(less);
                offsets[k] -= m.half_log[k][d];
                farthest = std::max(farthest, std::abs(less));
                sizes += less * less;
            }
            doubt.meet(D, 1, sizes);
            near[k] = farthest < FAR;
            beside[k] = farthest > 0 && farthest < BESIDE;  // with a precision of 0 nothing is scored
            direct &= beside[k] != 0;
        }
    }

    void read(Matrix<const double> values, std::size_t first, std::size_t size) {
        whole = centre(values, first, size, pivot.data(), wide, away.data());
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
        score_from<TILE, Lanes>(centred.data(), scale.data() + k * wide, shift.data() + k * wide, more + offsets[k], scores);
    }

    // scores[t] = begin - |rows[:, t] scales - shifts|^2 for ROWS rows.
    template <std::size_t ROWS, class V, class T>
    void score_from(const T* rows, const T* scales, const T* shifts, T begin, T* scores) const {
        constexpr std::size_t W = sizeof(V) / sizeof(T);
        const std::size_t n = D;
        for (std::size_t t = 0; t < ROWS; t += SIDE * W) {
            V left[SIDE];
            for (int b = 0; b < SIDE; ++b) left[b] = all(begin);
            const T* in = rows + t;
            for (std::size_t d = 0; d < n; ++d, in += ROWS) {
                const V times = all(scales[d]), less = all(shifts[d]);
                for (int b = 0; b < SIDE; ++b) {
                    const V root = load(in + b * W) * times - less;
                    left[b] -= root * root;
                }
            }
            for (int b = 0; b < SIDE; ++b) store(scores + t + b * W, left[b]);
        }
    }

    // ---- for the sieve ----

    double offset(std::size_t k) const { return offsets[k]; }

    // Read a batch; whether it is whole.
    bool read_batch(Matrix<const double> values, std::size_t first, float* rounded) {
        whole = centre(values, first, BATCH, pivot.data(), wide, away.data());
        if (whole) turn_rounded<BATCH>(away.data(), wide, D, rounded);
        return whole;
    }

    // scores[t] = begin - the loss of a batch, in float32.
    void sift(std::size_t k, float begin, const float* rounded, float* scores) const {
        score_from<BATCH, Floats>(rounded, small_scale.data() + k * wide, small_shift.data() + k * wide, begin, scores);
    }

    // The same for some rows of the batch, in float64, columns side by side.
    void score_rows(std::size_t k, double begin, const unsigned char* list, std::size_t n, double* scores) const {
        const double *scales = scale.data() + k * wide, *shifts = shift.data() + k * wide;
        const std::size_t step = wide;
        for (std::size_t a = 0; a < n; a += WIDTH) {
            const double* row[WIDTH];
            Lanes loss[WIDTH];
            for (int r = 0; r < WIDTH; ++r) {
                row[r] = away.data() + list[a + r] * step;
                loss[r] = all(0.0);
            }
            for (std::size_t j = 0; j < step; j += WIDTH) {
                const Lanes times = kept(load(scales + j)), less = kept(load(shifts + j));
                for (int r = 0; r < WIDTH; ++r) {
                    const Lanes root = load(row[r] + j) * times - less;
                    loss[r] += root * root;
                }
            }
            alignas(64) double parts[WIDTH * WIDTH];
            for (int r = 0; r < WIDTH; ++r) store(parts + r * WIDTH, loss[r]);
            store(scores + a, all(begin) - sums_of(parts));
        }
    }

    template <bool WHOLE>
    void score(std::size_t k, double more, double* scores) const {
        const Lanes begin = all(WHOLE ? more + offsets[k] : more);
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
    void expect(std::size_t, std::size_t k, const double*, const Used& used) {
        mass[k] += used.total;
        if (!used.size) return;
        std::size_t j = 0;
        if (whole && beside[k]) {
            raw_mass[k] += used.total;
            for (; j + 4 * WIDTH <= wide; j += 4 * WIDTH) add_raw<4>(used, k, j);
            for (; j < wide; j += WIDTH) add_raw<1>(used, k, j);
        }
        for (; j + 4 * WIDTH <= wide; j += 4 * WIDTH) add<4>(used, k, j);
        for (; j < wide; j += WIDTH) add<1>(used, k, j);
    }

    // Sums about the pivot, which cost half as much as those about the component's own mean.
    template <int N>
    void add_raw(const Used& used, std::size_t k, std::size_t j) {
        Lanes first[N], second[N];
        double *firsts = raw.data() + k * wide + j, *seconds = firsts + K * wide;
        for (int b = 0; b < N; ++b) {
            first[b] = load(firsts + b * WIDTH);
            second[b] = load(seconds + b * WIDTH);
        }
        for (std::size_t a = 0; a < used.size; ++a) {
            const double* row = away.data() + used.rows[a] * wide + j;
            const Lanes times = all(used.roots[a] * used.roots[a]);
            for (int b = 0; b < N; ++b) {
                const Lanes x = kept(load(row + b * WIDTH)), product = times * x;
                first[b] += product;
                second[b] += product * x;
            }
        }
        for (int b = 0; b < N; ++b) {
            store(firsts + b * WIDTH, first[b]);
            store(seconds + b * WIDTH, second[b]);
        }
    }

    template <int N>
    void add(const Used& used, std::size_t k, std::size_t j) {
        whole ? add<N, true>(used, k, j) : add<N, false>(used, k, j);
    }

    template <int N, bool WHOLE>
    void add(const Used& used, std::size_t k, std::size_t j) {
        Lanes centre[N], mass[N], first[N], second[N];
        for (int b = 0; b < N; ++b) {
            centre[b] = load(mean.data() + k * wide + j + b * WIDTH);
            mass[b] = first[b] = second[b] = all(0.0);
        }
        for (std::size_t a = 0; a < used.size; ++a) {
            const double* row = rows.data() + used.rows[a] * wide + j;
            const Lanes times = all(used.roots[a] * used.roots[a]);
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

}  // namespace

}  // namespace HALFSEEN_ISA
}  // namespace halfseen
