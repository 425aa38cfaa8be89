// One sweep of k-means over a chunk: nearest centre of each row, and sums of the rows that changed theirs, in one pass.
//
// Compiled once per instruction set. Distances, squares and sums are float64, of differences. Most of them are never
// computed, for two filters say which centres cannot be the nearest:
//
// - Bounds. Centres stand in a few groups. For each row and group there is a distance below which no centre of the group
//   is, but the row's own; it falls by no more than the centres moved. The own centre's distance has a bound too, from
//   above. While the own centre is nearer than all others the row stays, and is not even read; otherwise the own distance
//   is computed, and if that is not enough the groups whose bounds are too low are looked at.
// - float32. These groups are compared by |x - c|^2 = |x|^2 - 2 (x . c - |c|^2 / 2), as a small matrix product that stays
//   in registers: SEVERAL rows times a panel of PANEL centres. What rounding may have done is bounded, see `Rounding`, and
//   centres that it leaves possible are compared in float64. So the nearest is the nearest, whatever the numbers.
//
// Of a row with holes the product has twice the columns: its cells (0 in a hole) beside the centres', and a 1 for each
// cell seen beside -c^2 / 2 of the centres.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <tuple>
#include <utility>

#include "kernels.hpp"

#if defined(__AVX512F__)
#define HALFSEEN_BYTES 64
#elif defined(__AVX__)
#define HALFSEEN_BYTES 32
#else
#define HALFSEEN_BYTES 16
#endif

namespace halfseen::HALFSEEN_ISA {

namespace {

constexpr float INFINITE = std::numeric_limits<float>::infinity();
constexpr int WIDTH = HALFSEEN_BYTES / sizeof(float);

#if defined(__GNUC__) || defined(__clang__)

typedef float Lanes __attribute__((vector_size(HALFSEEN_BYTES)));

inline void multiply_add(Lanes& sum, float x, Lanes c) { sum += x * c; }
#if HALFSEEN_BYTES == 32
inline Lanes larger(Lanes a, Lanes b) { return __builtin_ia32_maxps256(a, b); }
#else
inline Lanes larger(Lanes a, Lanes b) { return a > b ? a : b; }
#endif
inline Lanes plus(Lanes a, Lanes b) { return a + b; }

#else

struct Lanes {
    float v[WIDTH];
    float operator[](int i) const { return v[i]; }
};

inline void multiply_add(Lanes& sum, float x, Lanes c) {
    for (int i = 0; i < WIDTH; ++i) sum.v[i] += x * c.v[i];
}
inline Lanes larger(Lanes a, Lanes b) {
    for (int i = 0; i < WIDTH; ++i) a.v[i] = std::max(a.v[i], b.v[i]);
    return a;
}
inline Lanes plus(Lanes a, Lanes b) {
    for (int i = 0; i < WIDTH; ++i) a.v[i] += b.v[i];
    return a;
}

#endif

inline Lanes all(float x) {
    Lanes out;
    float copies[WIDTH];
    for (float& copy : copies) copy = x;
    std::memcpy(&out, copies, sizeof out);
    return out;
}

inline Lanes load(const float* from) {
    Lanes x;
    std::memcpy(&x, from, sizeof x);
    return x;
}
inline void store(float* to, Lanes x) { std::memcpy(to, &x, sizeof x); }

constexpr std::size_t PANEL = 16;            // centres that are never apart: a group has some panels
constexpr int VECTORS = int(PANEL) / WIDTH;  // registers that hold a panel
constexpr int SEVERAL = 12 / VECTORS;        // rows multiplied at once: 12 registers of sums leave a few for the rest
constexpr int QUEUE = 96;                    // rows that wait until there are enough
constexpr int BLOCK = 256;                   // rows whose bounds are compared before any of them is read
constexpr int AHEAD = 12;                    // rows prefetched
static_assert(QUEUE % SEVERAL == 0 && PANEL % WIDTH == 0);

// A register of float64, from float32 too, and back.
#if defined(__GNUC__) || defined(__clang__)
typedef double Wide __attribute__((vector_size(HALFSEEN_BYTES)));
typedef float Narrow __attribute__((vector_size(HALFSEEN_BYTES / 2)));
constexpr int DOUBLES = HALFSEEN_BYTES / sizeof(double);

inline Wide wide(const double* from) {
    Wide x;
    std::memcpy(&x, from, sizeof x);
    return x;
}
inline Wide wide(const float* from) {
    Narrow x;
    std::memcpy(&x, from, sizeof x);
    return __builtin_convertvector(x, Wide);
}
inline double sum(Wide x) {
    double total = x[0] + x[1];
    for (int i = 2; i < DOUBLES; i += 2) total += x[i] + x[i + 1];
    return total;
}
inline float sum(Narrow x) {
    float total = x[0] + x[1];
    for (std::size_t i = 2; i < sizeof x / sizeof(float); i += 2) total += x[i] + x[i + 1];
    return total;
}
inline float sum(Lanes x) {
    Narrow halves[2];
    std::memcpy(halves, &x, sizeof halves);
    return sum(halves[0] + halves[1]);
}
inline float largest(Lanes x) {
    Narrow halves[2];
    std::memcpy(halves, &x, sizeof halves);
    const Narrow y = halves[0] > halves[1] ? halves[0] : halves[1];
    float most = std::max(y[0], y[1]);
    for (std::size_t i = 2; i < sizeof y / sizeof(float); i += 2) most = std::max(most, std::max(y[i], y[i + 1]));
    return most;
}

// Some cells of a row less the pivot, in units, as float32.
inline Lanes cells_of(const float* row, const float* pivot, double unit) {
    return (load(row) - load(pivot)) * float(unit);
}
inline Narrow cells_of(const double* row, const double* pivot, double unit) {
    return __builtin_convertvector((wide(row) - wide(pivot)) * unit, Narrow);
}
#else
typedef double Wide;
constexpr int DOUBLES = 1;
inline Wide wide(const double* from) { return *from; }
inline Wide wide(const float* from) { return *from; }
inline double sum(Wide x) { return x; }
template <class T>
float cells_of(const T* row, const T* pivot, double unit) {
    return float(row[0] - pivot[0]) * float(unit);
}
inline float sum(float x) { return x; }
inline float largest(Lanes x) { return *std::max_element(x.v, x.v + WIDTH); }
#endif

// The sum of a few squares. A function of its own, so that rows of float32 and the same numbers in float64 have the same
// bits: inside of loops over either, the compiler would fuse some products and additions and not others.
constexpr std::size_t FEW = 16;

template <bool HOLES>
[[gnu::noinline]] double squares(const double* cells, const double* pivot, const double* centre, std::size_t size) {
    double total = 0.0;
    for (std::size_t d = 0; d < size; ++d) {
        const double gap = (cells[d] - pivot[d]) - centre[d];
        total += HOLES && cells[d] != cells[d] ? 0.0 : gap * gap;
    }
    return total;
}

// Rows that some centre but their own may be nearest to, and some that none is.
struct Queue {
    float* rows;            // (QUEUE, n_columns), in units
    std::size_t n_columns;  // D, or 2 D of rows with holes
    const float* half;
    int size = 0;
    std::size_t at[QUEUE] = {};
    float norm[QUEUE] = {};     // squared, of what is seen
    float label[QUEUE] = {};    // the own centre, or -1
    float low[QUEUE] = {};      // its squared distance is not below this,
    float high[QUEUE] = {};     // nor above this; infinite if there is none
    unsigned need[QUEUE] = {};  // a bit for each group that is to be looked at; none: the row stays
};

// The best score of each row of a queue in each group, but the own centre's; -inf if the group was not looked at.
template <int G>
struct Found {
    float best[QUEUE][G];
};

// -inf stands where the own centre's score is not to count: read from OWN - its place in the panel on, or from OTHERS.
constexpr int OWN = int(PANEL) - 1, OTHERS = int(PANEL);
struct Masks {
    float at[2 * PANEL] = {};
    constexpr Masks() { at[OWN] = -INFINITE; }
};
constexpr Masks MASKS;

constexpr float BEYOND = 1e24f;          // squared numbers, in units, that float32 is not used for
constexpr std::size_t WIDEST = 1 << 20;  // columns up to which `Rounding` holds
constexpr float LESS = 1 - 0x1p-22f;     // times this, what was rounded to float32 is not above what it was
constexpr float MORE = 1 + 0x1p-20f;     // and times this not below, and above what float64 rounds to the same

// What float32 may do to a score x . c - |c|^2 / 2 of n products.
//
// Factors are rounded, products too, and n + 1 numbers added: the error is at most e (|x| |c| + |c|^2 / 2) with
// e = (n + 5) 2^-24, and `under` / 2 for what is too small for float32. As |c| <= |x| + d for a centre at distance d, that
// is at most e (5 |x|^2 + 3 d^2) / 2 + under / 2. |x|^2 itself is off by e |x|^2 at most. So, with s = |x|^2 - 2 score,
//     s - 6 e |x|^2 - under <= d^2 (1 + 3 e)      and      d^2 (1 - 3 e) <= s + 6 e |x|^2 + under.
// e is taken a little larger, for the few operations here.
struct Rounding {
    float off, under, wide, narrow;

    explicit Rounding(std::size_t n_columns)
        : off(float(6 * e(n_columns))),
          under(float(double(n_columns + 4) * 0x1p-83)),  // numbers are below 2^41, and 2^-126 is lost at most
          wide(float(1 / (1 + 4 * e(n_columns)))),
          narrow(float(1 / (1 - 4 * e(n_columns)))) {}

    static double e(std::size_t n_columns) { return double(n_columns + 16) * 1.1 * 0x1p-24; }
    // The squared distance of a centre with this score is not below `least` and not above `most`.
    float least(float norm, float score) const { return ((norm - 2 * score) - (off * norm + under)) * wide; }
    float most(float norm, float score) const { return ((norm - 2 * score) + (off * norm + under)) * narrow; }
    // The distance of a centre with this score is not below this.
    float bound(float norm, float score) const { return std::sqrt(std::max(least(norm, score), 0.0f)) * LESS; }
    // Centres with lower scores than this are not nearer than the squared distance.
    float score_at(float norm, float squared) const {
        return 0.5f * ((norm - (off * norm + under)) - squared / wide) - 0x1p-20f * (norm + squared);
    }
};

// The first number if `yes` is 1, the second if it is 0: without a branch, which would be a guess each time.
inline float either(unsigned yes, float a, float b) {
    std::uint32_t bits[2];
    std::memcpy(bits, &a, 4), std::memcpy(bits + 1, &b, 4);
    bits[0] = bits[1] ^ ((bits[0] ^ bits[1]) & (0u - yes));
    std::memcpy(&a, bits, 4);
    return a;
}

// Rows and the sums of their centres in float64; what does not depend on the number of groups is compiled once.
template <class T>
struct Places {
    const Lloyd<T>& in;
    const LloydSums& out;
    double gained = 0.0;   // squares about the anchors of the rows that came, less those of the rows that went
    double inertia = 0.0;  // of rows with holes
    std::size_t changed = 0;

    // Squared distance of a complete row to a place; NaN if it has holes.
    HALFSEEN_APART double distance(const T* row, const double* place) const {
        const std::size_t n_columns = in.centres.cols;
        const double* pivot = in.pivot.data;
        std::size_t d = 0;
        double rest = 0.0, cells[FEW];
        Wide even = {}, odd = {};  // one sum alone would wait for each addition
        for (; d + 2 * DOUBLES <= n_columns; d += 2 * DOUBLES) {
            const std::size_t e = d + DOUBLES;
            const Wide x = (wide(row + d) - wide(pivot + d)) - wide(place + d);
            const Wide y = (wide(row + e) - wide(pivot + e)) - wide(place + e);
            even += x * x, odd += y * y;
        }
        while (d < n_columns) {
            const std::size_t size = std::min(FEW, n_columns - d);
            for (std::size_t i = 0; i < size; ++i) cells[i] = double(row[d + i]);
            rest += squares<false>(cells, pivot + d, place + d, size);
            d += size;
        }
        return sum(even + odd) + rest;
    }

    // Squared distance over what is seen.
    HALFSEEN_APART double holed_distance(const T* row, const double* centre) const {
        double total = 0.0, cells[FEW];
        for (std::size_t d = 0; d < in.centres.cols; d += FEW) {
            const std::size_t size = std::min(FEW, in.centres.cols - d);
            for (std::size_t i = 0; i < size; ++i) cells[i] = double(row[d + i]);
            total += squares<true>(cells, in.pivot.data + d, centre + d, size);
        }
        return total;
    }

    template <bool HOLES>
    double apart(const T* row, std::size_t k) const {
        return HOLES ? holed_distance(row, in.centres[k]) : distance(row, in.centres[k]);
    }

    // A complete row is added to the sums of a centre, or with a negative weight taken from them.
    HALFSEEN_APART void add(const T* row, std::size_t k, double weight, double count) {
        const double* anchor = in.anchors[k];
        double* sums = out.sums[k];
        for (std::size_t d = 0; d < in.centres.cols; ++d)
            sums[d] += weight * ((double(row[d]) - in.pivot[d]) - anchor[d]);
        out.mass[0][k] += weight;
        out.mass[1][k] += count;
        gained += weight * distance(row, anchor);
    }

    // A row with holes counts as if what is not seen of it were as far as what is.
    HALFSEEN_APART void add_holed(const T* row, std::size_t k, double weight) {
        const std::size_t n_columns = in.centres.cols;
        std::size_t n_seen = 0;
        for (std::size_t d = 0; d < n_columns; ++d) n_seen += row[d] == row[d];
        if (n_seen == 0) return;
        weight *= double(n_columns) / double(n_seen);
        double *sums = out.cell_sums[k], *mass = out.cell_mass[k];
        for (std::size_t d = 0; d < n_columns; ++d) {
            if (row[d] != row[d]) continue;
            mass[d] += weight;
            sums[d] += weight * ((double(row[d]) - in.pivot[d]) - in.anchors[k][d]);
        }
        inertia += weight * holed_distance(row, in.centres[k]);
    }

    // A row joins its centre. They do so in their order, whatever the bounds say, so that sums have the same bits.
    template <bool HOLES>
    void join(std::size_t n, const T* row, std::size_t k) {
        const std::int32_t old = out.labels[n];
        const double weight = in.weight[n], count = weight > 0;
        const bool moves = old != std::int32_t(k);
        changed += moves;
        out.labels[n] = std::int32_t(k);
        if constexpr (HOLES) return add_holed(row, k, weight);
        if (moves && !in.fresh && old >= 0) add(row, std::size_t(old), -weight, -count);
        if (moves || in.fresh) add(row, k, weight, count);
    }

    // Compare with all centres, by differences.
    template <bool HOLES>
    HALFSEEN_APART void join_nearest(std::size_t n, const T* row) {
        double least = apart<HOLES>(row, 0);
        std::size_t best = 0;
        for (std::size_t k = 1; k < in.centres.rows; ++k) {
            const double squared = apart<HOLES>(row, k);
            if (squared < least) least = squared, best = k;
        }
        std::fill(out.bounds[n], out.bounds[n] + out.bounds.cols, 0.0f);
        join<HOLES>(n, row, best);
    }

    // Copy a row with holes less the pivot, in units, to a queue, and what of it is seen; returns its squared norm.
    HALFSEEN_APART float copy_holed(const T* from, float* row) const {
        const std::size_t n_columns = in.values.cols;
        float norm = 0.0f;
        for (std::size_t d = 0; d < n_columns; ++d) {
            const bool seen = from[d] == from[d];
            row[d] = seen ? float((from[d] - in.near[d]) * T(in.unit)) : 0.0f;
            row[n_columns + d] = float(seen);
            norm += row[d] * row[d];
        }
        return norm;
    }
};

template <class T, int G>
struct Sweep : Places<T> {
    using Places<T>::in, Places<T>::out, Places<T>::distance, Places<T>::holed_distance, Places<T>::copy_holed;
    const std::size_t per_group;  // centres
    const Rounding whole, holed;

    Sweep(const Lloyd<T>& in, const LloydSums& out)
        : Places<T>{in, out},
          per_group(PANEL * ((in.panels.layers + G - 1) / G)),
          whole(in.values.cols),
          holed(2 * in.values.cols) {}

    // ---- float32 -------------------------------------------------------------------------------------------------

    // Scores of R rows and a panel of centres from k on; keeps them, and the best of each lane.
    template <int R>
    static void compare(const float* const (&rows)[R], std::size_t n_columns, const float* panel, const float* half,
                        const int (&own)[R], float* const (&scores)[R], std::size_t k, Lanes (&best)[R]) {
        Lanes sums[R][VECTORS];
        for (int r = 0; r < R; ++r)
            for (int v = 0; v < VECTORS; ++v) sums[r][v] = load(half + k + v * WIDTH);
        for (std::size_t d = 0; d < n_columns; ++d, panel += PANEL)
            for (int r = 0; r < R; ++r)
                for (int v = 0; v < VECTORS; ++v) multiply_add(sums[r][v], rows[r][d], load(panel + v * WIDTH));
        for (int r = 0; r < R; ++r) {
            const int place = own[r] - int(k);
            const float* mask = MASKS.at + (place >= 0 && place < int(PANEL) ? OWN - place : OTHERS);
            for (int v = 0; v < VECTORS; ++v) {
                const Lanes score = plus(sums[r][v], load(mask + v * WIDTH));
                store(scores[r] + k + v * WIDTH, score);
                best[r] = larger(score, best[r]);
            }
        }
    }

    // Compare R rows of a queue with the centres of a group.
    template <int R>
    void look_at(const Queue& queue, const int* list, std::size_t group, float* scores, Found<G>& found) const {
        const float* rows[R];
        float* to[R];
        int own[R];
        Lanes best[R];
        const std::size_t n_padded = in.panels.layers * PANEL, layer = in.panels.rows * PANEL;
        for (int r = 0; r < R; ++r) {
            rows[r] = queue.rows + std::size_t(list[r]) * queue.n_columns;
            to[r] = scores + std::size_t(list[r]) * n_padded;
            own[r] = int(queue.label[list[r]]);
            best[r] = all(-INFINITE);
        }
        const std::size_t end = std::min(n_padded, (group + 1) * per_group);
        for (std::size_t k = group * per_group; k < end; k += PANEL)
            compare<R>(rows, queue.n_columns, in.panels.data + k / PANEL * layer, queue.half, own, to, k, best);
        for (int r = 0; r < R; ++r) found.best[list[r]][group] = largest(best[r]);
    }

    // Compare the rows of a queue with the centres of the groups that they need.
    void look(const Queue& queue, float* scores, Found<G>& found) const {
        constexpr int HALF = SEVERAL / 2;
        std::fill(found.best[0], found.best[queue.size], -INFINITE);
        int list[QUEUE + SEVERAL];
        for (int g = 0; g < G; ++g) {
            int size = 0;
            for (int r = 0; r < queue.size; ++r) {
                list[size] = r;
                size += queue.need[r] >> g & 1;
            }
            if (size == 0) continue;
            std::fill(list + size, list + size + SEVERAL, list[0]);  // looked at twice, to no harm
            for (int i = 0; i < size; i += SEVERAL)
                if (size - i > HALF) look_at<SEVERAL>(queue, list + i, g, scores, found);
                else look_at<HALF>(queue, list + i, g, scores, found);
        }
    }

    // Find the nearest centres of the rows of a queue, and what bounds the distances of the others.
    template <bool HOLES>
    void flush(Queue& queue) {
        const Rounding& rounding = HOLES ? holed : whole;
        float* scores = out.workspace.data + QUEUE * 3 * in.values.cols;
        Found<G> found;
        look(queue, scores, found);
        for (int r = 0; r < queue.size; ++r) {
            const std::size_t n = queue.at[r];
            const float norm = queue.norm[r], *best = found.best[r];
            if (!HOLES && !(norm < BEYOND)) {
                if (norm == norm) compare_all(n);
                continue;
            }
            const bool stays =
                queue.need[r] == 0 || rounding.least(norm, *std::max_element(best, best + G)) > queue.high[r];
            const std::size_t k = stays ? std::size_t(queue.label[r])
                                        : settle<HOLES>(queue, r, scores + r * in.panels.layers * PANEL, best);
            if (stays) renew(rounding, norm, best, in.moved[k], queue.need[r], out.bounds[n]);
            if (HOLES || in.fresh || float(k) != queue.label[r]) this->template join<HOLES>(n, in.values[n], k);
        }
        queue.size = 0;
    }

    // Write the bounds of the groups that were looked at, one for each bit.
    static void renew(const Rounding& rounding, float norm, const float* best, const float* moved, unsigned need,
                      float* to) {
        float bounds[G];
        for (int g = 0; g < G; ++g) bounds[g] = (rounding.bound(norm, best[g]) + moved[g]) * LESS;
        for (int g = 0; g < G; ++g) to[g] = either(need >> g & 1, bounds[g], to[g]);
    }

    // The nearest centre of a row that may change its own, whose bounds it writes.
    template <bool HOLES>
    std::size_t settle(const Queue& queue, int r, const float* scores, const float* best) {
        const Rounding& rounding = HOLES ? holed : whole;
        const float norm = queue.norm[r];
        const int home = int(std::max_element(best, best + G) - best);
        float own = std::min(rounding.most(norm, best[home]) * MORE, queue.high[r]);
        const float above = rounding.score_at(norm, own), *first = scores + home * per_group;
        std::size_t k = std::find(first, first + per_group, best[home]) - scores;
        float next = but(scores, k);
        for (int g = 0; g < G; ++g)
            if (g != home) next = std::max(next, best[g]);
        if (!(next < above && queue.low[r] > own * MORE)) {
            double squared;
            std::tie(k, squared) = nearest<HOLES>(queue, r, scores, above);
            own = in_units(squared);
        }
        const std::size_t n = queue.at[r];
        if (float(k) == queue.label[r]) {
            renew(rounding, norm, best, in.moved[k], queue.need[r], out.bounds[n]);
            return k;
        }
        float bounds[G];
        for (int g = 0; g < G; ++g) bounds[g] = rounding.bound(norm, best[g]);
        bounds[k / per_group] = rounding.bound(norm, but(scores, k));
        if (queue.label[r] >= 0) leave(queue, r, bounds);
        for (int g = 0; g < G; ++g) out.bounds[n][g] = (bounds[g] * LESS + in.moved[k][g]) * LESS;
        out.own[n] = HOLES ? INFINITE : upper(std::sqrt(own) * MORE, k);
        return k;
    }

    // The best score of a row in the group of a centre, but that centre's.
    float but(const float* row, std::size_t k) const {
        const std::size_t first = k / per_group * per_group, end = std::min(in.panels.layers * PANEL, first + per_group);
        float best = -INFINITE;
        for (std::size_t i = first; i < end; ++i) best = std::max(best, i == k ? -INFINITE : row[i]);
        return best;
    }

    // A row goes to another centre: the old one is in the bound of its group, and others are not measured from it any more.
    void leave(const Queue& queue, int r, float (&bounds)[G]) const {
        const float distance = std::sqrt(std::max(queue.low[r], 0.0f));
        const std::size_t old = std::size_t(queue.label[r]), home = old / per_group;
        const float* kept = out.bounds[queue.at[r]];
        for (std::size_t g = 0; g < G; ++g)
            if (!(queue.need[r] >> g & 1)) bounds[g] = kept[g] * LESS - in.moved[old][g];
        bounds[home] = std::min(bounds[home], distance * LESS);
    }

    // The nearest of the own centre and of those that rounding leaves possible, by differences; and its squared distance.
    template <bool HOLES>
    std::pair<std::size_t, double> nearest(const Queue& queue, int r, const float* scores, float above) const {
        const T* row = in.values[queue.at[r]];
        const bool none = queue.label[r] < 0;
        std::size_t best = none ? 0 : std::size_t(queue.label[r]);
        double squared = none ? std::numeric_limits<double>::infinity() : this->template apart<HOLES>(row, best);
        for (std::size_t g = 0; g < G; ++g) {
            if (!(queue.need[r] >> g & 1)) continue;
            const std::size_t end = std::min(in.centres.rows, (g + 1) * per_group);
            for (std::size_t k = g * per_group; k < end; ++k) {
                if (scores[k] < above) continue;
                const double other = this->template apart<HOLES>(row, k);
                if (other < squared || (other == squared && k < best)) squared = other, best = k;
            }
        }
        return {best, squared};
    }

    // ---- rows ----------------------------------------------------------------------------------------------------

    // The groups in which a centre may be nearer than the own, which is not farther than `own`: a bit for each.
    unsigned possible(const float* bounds, const float* moved, float own) const {
        unsigned need = 0;
#if defined(__GNUC__) && defined(__SSE2__)
        if constexpr (G >= 4) {
            typedef float Four __attribute__((vector_size(16)));
            for (int g = 0; g < G; g += 4) {
                Four bound, way;
                std::memcpy(&bound, bounds + g, sizeof bound);
                std::memcpy(&way, moved + g, sizeof way);
                need |= unsigned(__builtin_ia32_movmskps(Four(~(bound * LESS - way > own)))) << g;
            }
            return need;
        }
#endif
        for (int g = 0; g < G; ++g) need |= unsigned(!(bounds[g] * LESS - moved[g] > own)) << g;
        return need;
    }

    // A squared distance in units, not below what float64 rounds to the same.
    float in_units(double squared) const { return float(squared * in.unit * in.unit) * MORE + 1e-37f; }

    // The bound to keep of a row at this distance from its centre, and what it says later, when the centre went farther.
    float upper(float distance, std::size_t k) const {
        return (distance - in.went[k]) + (distance + in.went[k]) * 0x1p-21f;
    }
    float farthest(std::size_t n, std::size_t k) const { return (out.own[n] + in.went[k]) * MORE; }

    // Copy a complete row less the pivot, in units, to a queue; sets its squared norm, and returns the score of a centre.
    float copy(const T* from, std::size_t k, float* row, float& norm) const {
        const std::size_t n_columns = in.values.cols;
        const double unit = in.unit;
        const T* pivot = in.near.data;
        const float* centre = in.rounded[k];
        decltype(cells_of(from, pivot, unit)) squares = {}, products = {};
        constexpr std::size_t STEP = sizeof squares / sizeof(float);
        std::size_t d = 0;
        for (; d + STEP <= n_columns; d += STEP) {
            auto cells = cells_of(from + d, pivot + d, unit), other = cells;
            std::memcpy(row + d, &cells, sizeof cells);
            std::memcpy(&other, centre + d, sizeof other);
            squares += cells * cells;
            products += cells * other;
        }
        norm = sum(squares);
        float score = sum(products);
        for (; d < n_columns; ++d) {
            row[d] = float((from[d] - pivot[d]) * T(unit));
            norm += row[d] * row[d];
            score += row[d] * centre[d];
        }
        return score + in.half[0][k];
    }

    void run() {
        const std::size_t n_columns = in.values.cols, n_rows = in.values.rows;
        const bool filtered = in.centres.rows > 1 && 2 * n_columns < WIDEST && in.half[0][0] == in.half[0][0] &&
                              T(in.unit) < std::numeric_limits<T>::infinity();
        for (std::size_t n = 0; !filtered && n < n_rows; ++n) compare_all(n);
        if (!filtered) return;
        Queue complete{out.workspace.data, n_columns, in.half[0]};
        Queue partial{out.workspace.data + QUEUE * n_columns, 2 * n_columns, in.half[1]};
        std::size_t list[QUEUE + BLOCK + AHEAD] = {};
        int size = 0;
        for (std::size_t n = 0; n < n_rows; n += BLOCK) {
            size = unsure(n, std::min(n + BLOCK, n_rows), list, size);
            int first = 0;
            for (; first + QUEUE <= size; first += QUEUE) take(list + first, QUEUE, complete, partial);
            size = int(std::copy(list + first, list + size, list) - list);
        }
        take(list, size, complete, partial);
        flush<true>(partial);
    }

    void compare_all(std::size_t n) {
        const T* row = in.values[n];
        const double any = distance(row, in.centres[0]);
        out.own[n] = INFINITE;
        any != any ? this->template join_nearest<true>(n, row) : this->template join_nearest<false>(n, row);
    }

    // Ask for a row that will be read soon.
    void ask(std::size_t n) const {
#if defined(__GNUC__) || defined(__clang__)
        for (std::size_t d = 0; d < in.values.cols; d += 64 / sizeof(T)) __builtin_prefetch(in.values[n] + d);
#endif
    }

    // Append the rows that may change their centre to a list, and ask for the first of them.
    int unsure(std::size_t first, std::size_t end, std::size_t* list, int size) const {
        for (std::size_t n = first; n < end; ++n) {
            const std::int32_t k = out.labels[n];
            const std::size_t own = k < 0 ? 0 : std::size_t(k);
            list[size] = n;
            size += (k < 0) | in.fresh | (possible(out.bounds[n], in.moved[own], farthest(n, own)) != 0);
        }
        for (int i = 0; i < std::min(size, AHEAD); ++i) ask(list[i]);
        return size;
    }

    // Bound the own distances of some rows, which may be enough for them to stay, and find the others' centres.
    void take(const std::size_t* list, int size, Queue& queue, Queue& partial) {
        float score[QUEUE], own[QUEUE];
        for (int r = 0; r < size; ++r) {
            const std::int32_t label = out.labels[list[r]];
            ask(list[r + AHEAD]);
            score[r] = copy(in.values[list[r]], label < 0 ? 0 : std::size_t(label), queue.rows + r * queue.n_columns,
                            queue.norm[r]);
            queue.at[r] = list[r];
            queue.label[r] = float(label);
        }
        for (int r = 0; r < size; ++r) {
            queue.low[r] = whole.least(queue.norm[r], score[r]) * LESS;
            queue.high[r] = std::max(whole.most(queue.norm[r], score[r]), 0.0f) * MORE + 1e-37f;
            own[r] = std::sqrt(queue.high[r]) * MORE;
        }
        for (int r = 0; r < size; ++r) {
            const std::size_t n = list[r], k = queue.label[r] < 0 ? 0 : std::size_t(queue.label[r]);
            queue.need[r] = possible(out.bounds[n], in.moved[k], own[r]);
            out.own[n] = upper(own[r], k);
            if (queue.label[r] < 0) queue.low[r] = queue.high[r] = INFINITE, queue.need[r] = ~0u;
            if (queue.norm[r] < BEYOND) continue;
            queue.need[r] = 0, queue.label[r] = 0;
            if (queue.norm[r] != queue.norm[r]) take_holed(n, partial);
        }
        queue.size = size;
        flush<false>(queue);
    }

    void take_holed(std::size_t n, Queue& queue) {
        const std::int32_t label = out.labels[n];
        const std::size_t k = label < 0 ? 0 : std::size_t(label);
        const int r = queue.size;
        const float norm = copy_holed(in.values[n], queue.rows + r * queue.n_columns);
        out.own[n] = INFINITE;  // it is read in every sweep
        if (!(norm < BEYOND)) return this->template join_nearest<true>(n, in.values[n]);
        const float squared = label < 0 ? INFINITE : in_units(holed_distance(in.values[n], in.centres[k]));
        queue.at[r] = n;
        queue.norm[r] = norm;
        queue.label[r] = float(label);
        queue.low[r] = squared * (LESS * LESS);
        queue.high[r] = squared;
        queue.need[r] = label < 0 ? ~0u : possible(out.bounds[n], in.moved[k], std::sqrt(squared) * MORE);
        if (++queue.size == QUEUE) flush<true>(queue);
    }
};

template <class T, int G>
void sweep(const Lloyd<T>& in, const LloydSums& out) {
    Sweep<T, G> one{in, out};
    one.run();
    out.totals[0] += one.gained;
    out.totals[1] += one.inertia;
    out.totals[2] += double(one.changed);
}

template <class T>
void sweep(const Lloyd<T>& in, const LloydSums& out) {
    switch (out.bounds.cols) {
        case 1: return sweep<T, 1>(in, out);
        case 2: return sweep<T, 2>(in, out);
        case 4: return sweep<T, 4>(in, out);
        default: return sweep<T, 8>(in, out);
    }
}

}  // namespace

void lloyd(const Lloyd<double>& in, const LloydSums& out) { sweep(in, out); }
void lloyd(const Lloyd<float>& in, const LloydSums& out) { sweep(in, out); }

}  // namespace halfseen::HALFSEEN_ISA
