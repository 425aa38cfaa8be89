// A tile of rows that are jointly normal given the component. Formulas: plain.py.
//
// Deviations from the component's own mean are taken first wherever something could cancel. Rows with the same cells
// missing that follow each other share their regression.
#pragma once

#include "sieve.hpp"

namespace halfseen {
namespace HALFSEEN_ISA {

namespace {

// Neighbouring rows of a tile with the same cells missing.
struct Run {
    std::size_t from, to, n_missing, n_observed;
    const std::size_t *missing, *observed;  // columns
};

struct Normal {
    const Normals m;
    const std::size_t K, D, high, wide;  // columns padded to blocks, and to whole registers
    Work packed;                         // factors, block of columns by block of columns
    Array<float> small_packed;           // the same in float32
    Work upper;                          // (K, D, wide)  factors times sqrt(1/2), zeros below the diagonal
    Array<float> small_shift;            // (K, high)
    Work spread_shift;                   // (K, wide)
    Doubt doubt;                         // of float32 scores
    Work pivot;                          // (D,)  the middle of the means
    Work shift;                          // (K, high)  sqrt(1/2) factor' (mean - pivot); kept where that loses no digits
    Work nothing;                        // (high,)  zeros
    Array<unsigned char> near;           // (K,)  whether it is kept
    Array<unsigned char> beside;         // (K,)  whether sums about the pivot lose hardly a digit
    Work turned, centred;                // (high, TILE)  the rows of the tile as columns, and less the pivot
    Work deviations;                     // (K or 1, high, TILE)  from the mean, completed
    Work extra;                          // (K, TILE)  what missing cells add to the score
    Work values, away, mean;             // (TILE, wide), (TILE, wide) and (K, wide)  rows, less the pivot; padded with zeros
    Work rows, weighted;                 // (TILE, wide)  deviations as rows, and times the roots of their usage
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
        : m(m), K(m.mean.rows), D(m.mean.cols), high(padded(D, BLOCK)), wide(padded(D, WIDTH)), packed(0), small_packed(0),
          upper(0), small_shift(0), spread_shift(0),
          pivot(D), shift(K * high), nothing(high), near(K), beside(K), turned(0), centred(high * TILE),
          deviations(0), extra(0), values(0), away((BATCH + 1) * wide), mean(K * wide), rows(0),
          weighted(BATCH * padded(wide, BLOCK)), mass(K), first(K * wide), second(0), raw_mass(K), raw_first(K * wide),
          raw(K * high * wide), inner(0), inverse(0), slopes(0), columns(0), scoring(scoring) {
        for (std::size_t k = 0; k < K; ++k) std::copy_n(m.mean[k], D, mean.data() + k * wide);
        for (int i = 0; i < WIDTH; ++i) lanes[i] = i;
        if (scoring) {
            pack();
            place();
        }
        for (std::size_t k = 0; k < K; ++k) direct &= beside[k] != 0;
        if (scoring && direct) round();
    }

    std::size_t packed_size() const { return BLOCK * high / 2 * (high / BLOCK + 1); }

    // Factors times sqrt(1/2), so that a block of BLOCK columns is read from one end to the other; zeros below the diagonal.
    void pack() {
        packed.grow(K * packed_size());
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

    // What the sieve needs.
    void round() {
        small_packed.grow(K * packed_size());
        small_shift.grow(K * high);
        upper.grow(K * D * wide);
        spread_shift.grow(K * wide);
        for (std::size_t i = 0; i < K * packed_size(); ++i) small_packed[i] = doubt.round(packed[i]);
        for (std::size_t i = 0; i < K * high; ++i) small_shift[i] = doubt.round(shift[i]);
        for (std::size_t k = 0; k < K; ++k) {
            std::copy_n(shift.data() + k * high, D, spread_shift.data() + k * wide);
            for (std::size_t i = 0; i < D; ++i) {
                for (std::size_t j = i; j < D; ++j) upper[(k * D + i) * wide + j] = HALF_ROOT * m.factor[k][i][j];
            }
        }
    }

    // |deviation factor|^2 is computed as |(row - pivot) factor - shift|^2, which spares a subtraction for each component,
    // wherever the component lies so near the pivot that twelve digits are left.
    void place() {
        middle(m.mean, pivot.data());
        inner.grow(D * wide);
        Work sd(wide);
        for (std::size_t k = 0; k < K; ++k) {
            double farthest = 0, apart = 0, condition = 0, sizes = 0;
            deviations_of_columns(k, sd.data());
            for (std::size_t j = 0; j < D; ++j) {
                double size = 0, spread = 0;
                for (std::size_t i = 0; i <= j; ++i) {
                    const double factor = HALF_ROOT * m.factor[k][i][j], part = factor * (m.mean[k][i] - pivot[i]);
                    shift[k * high + j] += part;
                    size += std::abs(part);
                    spread += std::abs(m.factor[k][i][j]) * sd[i];
                }
                farthest = std::max(farthest, size);
                apart = std::max(apart, std::abs(m.mean[k][j] - pivot[j]) / sd[j]);
                condition += spread * spread;
                sizes += size * size;
            }
            near[k] = farthest < FAR;
            beside[k] = near[k] && apart < BESIDE;
            doubt.meet(D, std::sqrt(condition), sizes);
        }
    }

    // The standard deviations of component k: the columns of the inverse V of the factor U, squared and summed.
    // V[i] = (I[i] - sum_l U[i, l] V[l]) / U[i, i], from the last row up.
    void deviations_of_columns(std::size_t k, double* sd) {
        double* V = inner.data();
        std::fill_n(sd, wide, 0.0);
        for (std::size_t i = D; i-- > 0;) {
            const double *U = m.factor[k][i], *below = V + (i + 1) * wide;
            double* row = V + i * wide;
            const std::size_t begin = i / WIDTH * WIDTH;
            std::fill_n(row, wide, 0.0);
            row[i] = 1;
            for (std::size_t l = i + 1; l < D; ++l, below += wide) {
                const Lanes times = all(U[l]);
                for (std::size_t j = begin; j < wide; j += WIDTH) store(row + j, load(row + j) - times * load(below + j));
            }
            const Lanes inverse = all(1 / U[i]);
            for (std::size_t j = begin; j < wide; j += WIDTH) {
                const Lanes v = load(row + j) * inverse;
                store(row + j, v);
                store(sd + j, load(sd + j) + v * v);
            }
        }
        for (std::size_t j = 0; j < D; ++j) sd[j] = std::sqrt(sd[j]);
    }

    void read(Matrix<const double> data, std::size_t first, std::size_t size) {
        whole = centre(data, first, size, pivot.data(), wide, away.data());
        if (whole && scoring) turn_rows<TILE>(away.data(), wide, size, D, centred.data());
        if (whole && direct) return;
        turned.grow(D * TILE);
        values.grow(TILE * wide);
        rows.grow(TILE * wide);
        deviations.grow(high * TILE);
        second.grow(K * high * wide);
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
    template <std::size_t FIRST, class T, class V>
    static inline void add(const T* from, const T* u, V* one, V* two, V* three) {
        constexpr std::size_t W = sizeof(V) / sizeof(T);
        const V x = kept(load(from)), y = kept(load(from + W)), z = kept(load(from + 2 * W));
        for (std::size_t j = FIRST; j < BLOCK; ++j) {
            const V factor = all(u[j]);
            one[j] += factor * x;
            two[j] += factor * y;
            three[j] += factor * z;
        }
    }

    template <class T, class V>
    static void lose(T* scores, const V* roots) {
        V left = load(scores);
        for (std::size_t j = 0; j < BLOCK; ++j) left -= roots[j] * roots[j];
        store(scores, left);
    }

    // scores[t] -= |rows[:, t] factors - begin|^2 for ROWS rows.
    template <std::size_t ROWS, class V, class T>
    void subtract_losses(const T* rows, const T* factors, const T* begin, T* scores) const {
        constexpr std::size_t W = sizeof(V) / sizeof(T);
        for (std::size_t j0 = 0; j0 < high; factors += BLOCK * (j0 + BLOCK), j0 += BLOCK) {
            for (std::size_t t = 0; t < ROWS; t += 3 * W) {
                V one[BLOCK], two[BLOCK], three[BLOCK];
                for (std::size_t j = 0; j < BLOCK; ++j) one[j] = two[j] = three[j] = all(-begin[j0 + j]);
                const T *from = rows + t, *u = factors;
                for (std::size_t i = 0; i < j0; ++i, from += ROWS, u += BLOCK) add<0>(from, u, one, two, three);
                add<0>(from, u, one, two, three);
                add<1>(from + ROWS, u + BLOCK, one, two, three);
                add<2>(from + 2 * ROWS, u + 2 * BLOCK, one, two, three);
                add<3>(from + 3 * ROWS, u + 3 * BLOCK, one, two, three);
                lose(scores + t, one);
                lose(scores + t + W, two);
                lose(scores + t + 2 * W, three);
            }
        }
    }

    // scores[t] = more + offset + extra - |deviation factor|^2 / 2.
    void score(std::size_t k, double more, double* scores) {
        const bool direct = whole && near[k];
        if (!direct) deviate(k);
        std::fill_n(scores, TILE, more + m.offset[k]);
        subtract_losses<TILE, Lanes>(direct ? centred.data() : deviations_of(k), packed.data() + k * packed_size(),
                                     direct ? shift.data() + k * high : nothing.data(), scores);
        if (whole) return;
        for (std::size_t t = 0; t < TILE; ++t) scores[t] += extra[k * TILE + t];
    }

    // ---- for the sieve ----

    double offset(std::size_t k) const { return m.offset[k]; }

    // Read a batch; whether it is whole.
    bool read_batch(Matrix<const double> data, std::size_t first, float* rounded) {
        whole = centre(data, first, BATCH, pivot.data(), wide, away.data());
        if (whole) turn_rounded<BATCH>(away.data(), wide, D, rounded);
        return whole;
    }

    // scores[t] = begin - |deviation factor|^2 / 2 of a batch, in float32.
    void sift(std::size_t k, float begin, const float* rounded, float* scores) const {
        std::fill_n(scores, BATCH, begin);
        subtract_losses<BATCH, Floats>(rounded, small_packed.data() + k * packed_size(), small_shift.data() + k * high, scores);
    }

    // The same for some rows of the batch, in float64, columns side by side.
    void score_rows(std::size_t k, double begin, const unsigned char* list, std::size_t n, double* scores) const {
        for (std::size_t a = 0; a < n; a += WIDTH) {
            const double* row[WIDTH];
            Lanes loss[WIDTH];
            for (int r = 0; r < WIDTH; ++r) {
                row[r] = away.data() + list[a + r] * wide;
                loss[r] = all(0.0);
            }
            std::size_t j = 0;
            for (; j + 2 * WIDTH <= wide; j += 2 * WIDTH) add_losses<2>(k, j, row, loss);
            if (j < wide) add_losses<1>(k, j, row, loss);
            alignas(64) double parts[WIDTH * WIDTH];
            for (int r = 0; r < WIDTH; ++r) store(parts + r * WIDTH, loss[r]);
            store(scores + a, all(begin) - sums_of(parts));
        }
    }

    // root[r] += row[r][i] factor[i] from register FIRST on.
    template <int FIRST, int N>
    static inline void add_column(const double* const* row, std::size_t i, const double* u, Lanes (&root)[WIDTH][N]) {
        Lanes factor[N];
        for (int b = FIRST; b < N; ++b) factor[b] = kept(load(u + b * WIDTH));
        for (int r = 0; r < WIDTH; ++r) {
            const Lanes x = all(row[r][i]);
            for (int b = FIRST; b < N; ++b) root[r][b] += x * factor[b];
        }
    }

    // loss[r] += (row[r] factor - shift)^2 in N registers of columns.
    template <int N>
    void add_losses(std::size_t k, std::size_t j, const double* const* row, Lanes* loss) const {
        const double *u = upper.data() + k * D * wide + j, *begin = spread_shift.data() + k * wide + j;
        Lanes root[WIDTH][N];
        for (int r = 0; r < WIDTH; ++r) {
            for (int b = 0; b < N; ++b) root[r][b] = all(0.0) - load(begin + b * WIDTH);
        }
        std::size_t i = 0;
        for (; i < std::min(j + WIDTH, D); ++i) add_column<0>(row, i, u + i * wide, root);
        for (; i < std::min(j + N * WIDTH, D); ++i) add_column<N - 1>(row, i, u + i * wide, root);
        for (int r = 0; r < WIDTH; ++r) {
            for (int b = 0; b < N; ++b) loss[r] += root[r][b] * root[r][b];
        }
    }

    // Rows without observed cells add nothing.
    void leave_out_empty(double* usage, Used& used) const {
        for (std::size_t r = 0; r < n_runs; ++r) {
            if (!runs[r].n_observed) std::fill(usage + runs[r].from, usage + runs[r].to, 0.0);
        }
        std::size_t n = 0;
        for (std::size_t a = 0; a < used.size; ++a) {
            used.rows[n] = used.rows[a];
            used.roots[n] = used.roots[a];
            n += usage[used.rows[a]] > 0;
        }
        used.size = n;
        used.total = 0;
        for (std::size_t t = 0; t < TILE; ++t) used.total += usage[t];
    }

    // Add the tile's moments, used usage[t] times.
    void expect(std::size_t size, std::size_t k, double* usage, Used& used) {
        if (!whole) leave_out_empty(usage, used);
        mass[k] += used.total;
        if (!used.size) return;
        if (whole && beside[k]) return expect_beside(k, used);
        if (!whole) {
            line_up_completed(size, k);
            for (std::size_t r = 0; r < n_runs; ++r) add_spread(k, runs[r], usage);
        }
        for (std::size_t j = 0; j < wide; j += WIDTH) whole ? weigh<true>(k, j, used) : weigh<false>(k, j, used);
        add_products(used.size, second.data() + k * high * wide);
    }

    // The same about the pivot, which spares a deviation for each component.
    void expect_beside(std::size_t k, const Used& used) {
        raw_mass[k] += used.total;
        std::size_t j = 0;
        for (; j + 4 * WIDTH <= wide; j += 4 * WIDTH) weigh_away<4>(k, j, used);
        for (; j < wide; j += WIDTH) weigh_away<1>(k, j, used);
        add_products(used.size, raw.data() + k * high * wide);
    }

    // N registers of columns of the rows used, less the pivot, times the roots.
    template <int N>
    void weigh_away(std::size_t k, std::size_t j, const Used& used) {
        const std::size_t step = wide;
        double *to = raw_first.data() + k * step + j, *out = weighted.data() + j;
        Lanes total[N];
        for (int b = 0; b < N; ++b) total[b] = load(to + b * WIDTH);
        for (std::size_t a = 0; a < used.size; ++a, out += step) {
            const double* in = away.data() + used.rows[a] * step + j;
            const Lanes root = all(used.roots[a]);
            for (int b = 0; b < N; ++b) {
                const Lanes product = load(in + b * WIDTH) * root;
                store(out + b * WIDTH, product);
                total[b] += product * root;
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

    // WIDTH columns of the deviations of the rows used, times the roots.
    template <bool WHOLE>
    void weigh(std::size_t k, std::size_t j, const Used& used) {
        const std::size_t step = wide;
        const Lanes centre = load(mean.data() + k * step + j);
        const double* in = (WHOLE ? values : rows).data() + j;
        double* out = weighted.data() + j;
        Lanes total = load(first.data() + k * step + j);
        for (std::size_t a = 0; a < used.size; ++a, out += step) {
            const Lanes x = load(in + used.rows[a] * step), root = all(used.roots[a]);
            const Lanes product = (WHOLE ? x - centre : x) * root;
            store(out, product);
            total += product * root;
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

    // out[i][j] += sum_a weighted[a][i] weighted[a][j] for j from the block of i on; the rest is its mirror image.
    void add_products(std::size_t n, double* out) const {
        for (std::size_t i0 = 0; i0 < D; i0 += BLOCK) {
            std::size_t j = i0 / WIDTH * WIDTH;
            for (; j + 4 * WIDTH <= wide || j + 2 * WIDTH == wide; j += 2 * WIDTH) products<2>(i0, j, n, out);
            if (j + 3 * WIDTH == wide) products<3>(i0, j, n, out);
            if (j + WIDTH == wide) products<1>(i0, j, n, out);
        }
    }

    template <int N>
    void products(std::size_t i0, std::size_t j, std::size_t n, double* out) const {
        Lanes total[BLOCK][N];
        for (std::size_t i = 0; i < BLOCK; ++i) {
            for (int b = 0; b < N; ++b) total[i][b] = all(0.0);
        }
        const double *left = weighted.data() + i0, *right = weighted.data() + j;
        const std::size_t step = wide;
        for (std::size_t a = 0; a < n; ++a, left += step, right += step) {
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

    // Add all sums to the statistics, products mirrored; those about the pivot p are moved to the mean m, with a = m - p:
    // sum r (x - m) (x - m)' = sum r (x - p) (x - p)' - a (sum r (x - p))' - (sum r (x - m)) a'.
    void finish(Matrix<double> sums) const {
        for (std::size_t k = 0; k < K; ++k) {
            const double *in = second.size ? second.data() + k * high * wide : nullptr, *about = raw.data() + k * high * wide;
            const double *centre = m.mean[k], *away = raw_first.data() + k * wide;
            double* out = sums[k] + 2 + D;
            sums[k][0] += mass[k];
            for (std::size_t i = 0; i < D; ++i) {
                const double apart = centre[i] - pivot[i], moved = away[i] - apart * raw_mass[k];
                sums[k][2 + i] += first[k * wide + i] + moved;
                for (std::size_t j = i; j < D; ++j) {
                    const double other = centre[j] - pivot[j];
                    const double own = in ? in[i * wide + j] : 0;
                    const double total = own + (about[i * wide + j] - apart * away[j] - moved * other);
                    out[i * D + j] += total;
                    if (j > i) out[j * D + i] += total;
                }
            }
        }
    }
};

}  // namespace

}  // namespace HALFSEEN_ISA
}  // namespace halfseen
