// Posteriors, best links and draws of sentence pairs. Formulas: links.py. Compiled once per instruction set.
//
// The lexicon is larger than the caches. So it is read word by word of the source: the row of one word fits them, and
// what it is read for, the target words of the sentences in which the word stands, lies side by side. Loops over source
// words of a pair run over whole registers: rows are padded to PAD, with links that cannot be.
#include "links.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "lanes.hpp"

namespace halfseen::HALFSEEN_ISA {

namespace {

constexpr double INF = std::numeric_limits<double>::infinity();
constexpr std::size_t PAD = 8;
constexpr double GONE = 1e-100;     // a source word that is used less is not used
constexpr double WHOLE = 1 - 1e-9;  // a row that sums to less is not made of counts
constexpr double SMALL = 1e-100;    // products are kept above it: logarithms are dear
constexpr double LOW = 1e-200;      // chances of a target word that are all lower are lifted: products would vanish
const double LIFT = std::ldexp(1.0, 600), LOG_LIFT = 600 * std::log(2.0);
constexpr double MOST = 1e300;      // by which a chance is multiplied
constexpr std::size_t KEPT = 128;   // words of sentences whose moves are kept: those of long ones are large

// The logarithm of a product of many factors, taken now and then.
struct LogProduct {
    double sum = 0, product = 1;

    void times(double factor) {
        if (factor < SMALL) {
            sum += std::log(factor);
            return;
        }
        product *= factor;
        if (product < SMALL || product > 1 / SMALL) {
            sum += std::log(product);
            product = 1;
        }
    }
    double log() const { return sum + std::log(product); }
};

// How sentences of n source words go on: ahead[i', k] = p(k + 1 | i'), and the same turned; rows of `width`.
struct Moves {
    std::size_t n = 0;
    std::vector<double> ahead, back;
};

// Room for one pair; `post` is its (n + 1, m) matrix, others are (m, width) with width = n + 1 padded, or vectors.
struct Room {
    double* post = nullptr;
    std::vector<double> own, sums, stays, chance, words, nulls, lasts, onward, outer, fresh, last, after, along;
    std::vector<Moves> moves = std::vector<Moves>(KEPT + 1);  // by n
    Moves rare;                                               // of the last sentence that was longer
    std::size_t width = 0;

    void fit(std::size_t n, std::size_t m) {
        width = (n + PAD) / PAD * PAD;
        grow(sums, m);
    }

    void fit_chain(std::size_t n, std::size_t m) {
        for (std::vector<double>* table : {&chance, &words, &nulls, &lasts, &onward}) grow(*table, (m + 1) * width);
        for (std::vector<double>* row : {&last, &fresh, &after, &outer}) grow(*row, width);
        grow(stays, m);
        grow(along, 2 * width + n);
    }

    static void grow(std::vector<double>& vector, std::size_t size) {
        if (vector.size() < size) vector.resize(size + size / 2);
    }
};

// Lift the chances of target words that have low ones only; returns the log of what all were multiplied by.
inline double lift(double* post, std::size_t n, std::size_t m, double* tops) {
    std::copy(post, post + m, tops);
    for (std::size_t i = 1; i <= n; ++i)
        for (std::size_t j = 0; j < m; ++j) tops[j] = tops[j] < post[i * m + j] ? post[i * m + j] : tops[j];
    double log = 0;
    for (std::size_t j = 0; j < m; ++j) {
        if (!(tops[j] < LOW)) continue;
        for (std::size_t i = 0; i <= n; ++i) post[i * m + j] *= LIFT;
        log += LOG_LIFT;
    }
    return log;
}

// Make room for pair p, whose chances are in `post`; those of links that cannot be become 0. Returns the log of what
// chances were lifted by.
inline double open(const Bitext& text, std::size_t p, double* post, Room& room) {
    const std::size_t n = text.pairs[p][1], m = text.pairs[p][3];
    room.fit(n, m);
    room.post = post;
    if (!text.null) std::fill(post, post + m, 0.0);
    if (text.allowed.size) {
        const std::uint8_t* allowed = text.allowed.data + text.pairs[p][4];
        for (std::size_t c = 0; c < (n + 1) * m; ++c)
            if (!allowed[c]) post[c] = 0.0;
    }
    return lift(post, n, m, room.sums.data());
}

// The same with a copy: the chances are wanted again.
inline double open_copy(const Bitext& text, std::size_t p, const Span<const double>& chance, Room& room) {
    const std::size_t size = std::size_t(text.pairs[p][1] + 1) * text.pairs[p][3];
    const double* from = chance.data + text.pairs[p][4];
    Room::grow(room.own, size);
    std::copy(from, from + size, room.own.data());
    return open(text, p, room.own.data(), room);
}

// Multiply post[., j] by the places of kind 1. exp(tension h) falls by the same factor from word to word.
inline void times_diagonal(const Span<const double>& place, std::size_t n, std::size_t m, double* post) {
    const double p0 = place[0], tension = place[1], ratio = std::exp(-tension / double(n));
    for (std::size_t j = 0; j < m; ++j) {
        const double at = double(j + 1) / double(m);
        const std::size_t below = std::min(n, std::size_t(at * double(n)));  // words 1 .. below are at most at
        const double down = below ? std::exp(-tension * (at - double(below) / double(n))) : 0.0;
        const double up = below < n ? std::exp(-tension * (double(below + 1) / double(n) - at)) : 0.0;
        double total = 0, value = down;
        for (std::size_t i = below; i >= 1; --i, value *= ratio) total += value;
        value = up;
        for (std::size_t i = below + 1; i <= n; ++i, value *= ratio) total += value;
        const double share = (1 - p0) / total;
        post[j] *= p0;
        value = down * share;
        for (std::size_t i = below; i >= 1; --i, value *= ratio) post[i * m + j] *= value;
        value = up * share;
        for (std::size_t i = below + 1; i <= n; ++i, value *= ratio) post[i * m + j] *= value;
    }
}

inline void add_diagonal(std::size_t n, std::size_t m, const double* post, double weight, double* cells, double* stats) {
    double nulls = 0, features = 0;
    for (std::size_t j = 0; j < m; ++j) {
        nulls += post[j];
        double rest = 0;
        const double at = double(j + 1) / double(m);
        for (std::size_t i = 1; i <= n; ++i) {
            rest += post[i * m + j];
            features -= post[i * m + j] * std::fabs(double(i) / double(n) - at);
        }
        cells[j] += weight * rest;
    }
    stats[0] += weight * nulls;
    stats[1] += weight * features;
}

// The joint of kinds without memory in post, and its sums over i; returns the log of their product.
double join(const Bitext& text, std::size_t n, std::size_t m, Room& room) {
    double *post = room.post, *sums = room.sums.data();
    if (text.kind == 1) times_diagonal(text.place, n, m, post);
    std::copy(post, post + m, sums);
    for (std::size_t i = 1; i <= n; ++i)
        for (std::size_t j = 0; j < m; ++j) sums[j] += post[i * m + j];
    LogProduct product;
    for (std::size_t j = 0; j < m; ++j) product.times(sums[j]);
    return product.log() - (text.kind == 0 ? double(m) * std::log(double(n + text.null)) : 0.0);
}

// ---- jumps ---------------------------------------------------------------------------------------------------------

// chance[j, i - 1] = t(f_j | e_i), padded with 0; chances of NULL stay in the first row of post.
inline void turn(Room& room, std::size_t n, std::size_t m) {
    const double* post = room.post;
    const std::size_t width = room.width;
    for (std::size_t j = 0; j < m; ++j) {
        double* row = room.chance.data() + j * width;
        std::fill(row + n, row + width, 0.0);
    }
    double* chance = room.chance.data();
    for (std::size_t i = 0; i < n; ++i)  // post comes from far: in its order
        for (std::size_t j = 0; j < m; ++j) chance[j * width + i] = post[(i + 1) * m + j];
}

// out[k] = sum over r of used[r * stride] rows[r, k], in R registers of the widest kind side by side; r from 0 to one at
// least.
template <int R>
inline void sum_rows_in(const double* rows, std::size_t n_rows, std::size_t width, const double* used,
                        std::size_t stride, double* out) {
    constexpr int N = R * int(PAD) / WIDTH;
    Lanes even[N], odd[N];
    const Lanes first = all(used[0]), second = all(n_rows > 1 ? used[stride] : 0.0);
    for (int v = 0; v < N; ++v) {  // zeros to begin with would go through memory
        even[v] = first * load(rows + v * WIDTH);
        odd[v] = second * load(rows + (n_rows > 1 ? width : 0) + v * WIDTH);
    }
    std::size_t r = 2;
    rows += 2 * width;
    for (; r + 2 <= n_rows; r += 2, rows += 2 * width) {
        const Lanes a = all(used[r * stride]), b = all(used[(r + 1) * stride]);
        for (int v = 0; v < N; ++v) {
            even[v] = even[v] + a * load(rows + v * WIDTH);
            odd[v] = odd[v] + b * load(rows + width + v * WIDTH);
        }
    }
    if (r < n_rows)
        for (int v = 0; v < N; ++v) even[v] = even[v] + all(used[r * stride]) * load(rows + v * WIDTH);
    for (int v = 0; v < N; ++v) store(out + v * WIDTH, even[v] + odd[v]);
}

inline void sum_rows(const double* rows, std::size_t n_rows, std::size_t width, const double* used, std::size_t stride,
                     double* out) {
    constexpr int MOST = WIDTH < 4 ? 1 : 3;  // twice as many sums as this and their factors stay in registers
    for (std::size_t k = 0; k < width;) {
        const std::size_t left = (width - k) / PAD;
        if (MOST == 3 && (left == 3 || left > 4)) {
            sum_rows_in<MOST>(rows + k, n_rows, width, used, stride, out + k);
            k += MOST * PAD;
        } else if (MOST == 3 && left > 1) {
            sum_rows_in<2>(rows + k, n_rows, width, used, stride, out + k);
            k += 2 * PAD;
        } else {
            sum_rows_in<1>(rows + k, n_rows, width, used, stride, out + k);
            k += PAD;
        }
    }
}

// Sums in as many parts as the widest register holds: the order is the same on every machine.
inline double sum(const double* values, std::size_t width) {
    double part[PAD] = {};
    for (std::size_t k = 0; k < width; k += PAD)
        for (std::size_t l = 0; l < PAD; ++l) part[l] += values[k + l];
    return ((part[0] + part[1]) + (part[2] + part[3])) + ((part[4] + part[5]) + (part[6] + part[7]));
}
// The sum of values that are multiplied, in their place, by others.
inline double sum_times(double* values, const double* others, std::size_t width) {
    double part[PAD] = {};
    for (std::size_t k = 0; k < width; k += PAD)
        for (std::size_t l = 0; l < PAD; ++l) part[l] += values[k + l] *= others[k + l];
    return ((part[0] + part[1]) + (part[2] + part[3])) + ((part[4] + part[5]) + (part[6] + part[7]));
}
inline double dot(const double* one, const double* two, std::size_t width) {
    double part[PAD] = {};
    for (std::size_t k = 0; k < width; k += PAD)
        for (std::size_t l = 0; l < PAD; ++l) part[l] += one[k + l] * two[k + l];
    return ((part[0] + part[1]) + (part[2] + part[3])) + ((part[4] + part[5]) + (part[6] + part[7]));
}

// Find how sentences of n words go on; of short ones once for each n.
inline const Moves& find_moves(Room& room, const Span<const double>& place, std::size_t n) {
    Moves& found = n <= KEPT ? room.moves[n] : room.rare;
    if (found.n == n) return found;
    found.n = n;
    const std::size_t width = room.width;
    const std::int64_t w = std::int64_t(place.size - 2) / 2, size = std::int64_t(n);
    found.ahead.assign((n + 1) * width, 0.0);
    found.back.assign(n * width, 0.0);
    for (std::int64_t i = 0; i <= size; ++i) {
        double total = 0;
        for (std::int64_t k = 1; k <= size; ++k) total += place[1 + w + std::clamp(k - i, -w, w)];
        const double leave = (1 - place[0]) / total;
        for (std::int64_t k = 1; k <= size; ++k)
            found.ahead[i * width + k - 1] = found.back[(k - 1) * width + i] =
                leave * place[1 + w + std::clamp(k - i, -w, w)];
    }
    return found;
}

// words[j, i - 1] and stays[j] lasts[j, i'], NULL after i', scaled to sum to one together; lasts[j + 1] is what the next
// word comes after. The scales are in sums. Returns the log-evidence.
inline double forward(Room& room, const Moves& moves, double p0, std::size_t n, std::size_t m) {
    const std::size_t width = room.width;
    LogProduct product;
    std::fill(room.lasts.data(), room.lasts.data() + width, 0.0);
    room.lasts[0] = 1.0;
    for (std::size_t j = 0; j < m; ++j) {
        double *words = room.words.data() + j * width, *last = room.lasts.data() + j * width, *next = last + width;
        const double* chance = room.chance.data() + j * width;
        sum_rows(moves.ahead.data(), n + 1, width, last, 1, words);
        const double total = sum_times(words, chance, width) + room.post[j] * p0;  // `last` sums to one
        room.sums[j] = total;
        if (!(total > 0)) return -INF;
        product.times(total);
        const double scale = 1 / total, stay = room.post[j] * p0 * scale;
        room.stays[j] = stay;
        for (std::size_t i = 0; i < width; ++i) words[i] *= scale;
        next[0] = stay * last[0];
        for (std::size_t i = 1; i < width; ++i) next[i] = words[i - 1] + stay * last[i];
    }
    return product.log();
}

// Overwrite the chances in post with posteriors, once `forward` went through.
inline void backward(Room& room, const Moves& moves, std::size_t n, std::size_t m) {
    const std::size_t width = room.width;
    double *after = room.after.data(), *fresh = room.fresh.data();
    std::fill(after, after + width, 1.0);
    for (std::size_t j = m; j-- > 0;) {
        const double *words = room.words.data() + j * width, *last = room.lasts.data() + j * width;
        const double* chance = room.chance.data() + j * width;
        double* onward = room.onward.data() + j * width;
        const double stay = room.stays[j], scale = 1 / room.sums[j];
        room.post[j] = stay * dot(last, after, width);
        for (std::size_t i = 0; i < n; ++i) room.post[(i + 1) * m + j] = words[i] * after[i + 1];
        for (std::size_t k = 0; k < n; ++k) onward[k] = chance[k] * after[k + 1] * scale;
        std::fill(onward + n, onward + width, 0.0);
        if (j == 0) break;
        sum_rows(moves.back.data(), n, width, onward, 1, fresh);
        for (std::size_t i = 0; i < width; ++i) after[i] = fresh[i] + stay * after[i];
    }
}

// Add jumps and departures: used[i', k] = moves[i', k] (sum over j of lasts[j, i'] onward[j, k]).
inline void add_jumps(Room& room, const Moves& moves, std::size_t n_jumps, std::size_t n, std::size_t m, double weight,
                      double* stats, double* cells) {
    const std::size_t width = room.width;
    double *row = room.outer.data(), *along = room.along.data();  // by jump, from -n
    std::fill(along, along + n + 1 + width, 0.0);
    for (std::size_t i = 0; i <= n; ++i) {
        sum_rows(room.onward.data(), m, width, room.lasts.data() + i, width, row);
        const double* own = moves.ahead.data() + i * width;
        for (std::size_t k = 0; k < width; ++k) row[k] *= own[k];
        cells[i] += weight * sum(row, width);
        double* to = along + n - i;
        for (std::size_t k = 0; k < width; ++k) to[k] += row[k];  // jump k + 1 - i, one more than the place says
    }
    const std::int64_t w = std::int64_t(n_jumps - 1) / 2, size = std::int64_t(n);
    for (std::int64_t d = -size; d < size; ++d) stats[1 + w + std::clamp(d + 1, -w, w)] += weight * along[size + d];
}

// ---- any kind ------------------------------------------------------------------------------------------------------

inline const Moves& open_chain(const Bitext& text, std::size_t n, std::size_t m, Room& room) {
    room.fit_chain(n, m);
    turn(room, n, m);
    return find_moves(room, text.place, n);
}

// Overwrite the chances of a pair with its posterior; adds to the place's statistics, if any. -inf: there is none.
double posterior(const Bitext& text, std::size_t p, double weight, double* post, Room& room, Span<double> stats) {
    const std::size_t n = text.pairs[p][1], m = text.pairs[p][3];
    const double lifted = open(text, p, post, room);
    if (text.kind == 2) {
        const double p0 = text.place[0];
        const std::size_t n_jumps = text.place.size - 1;
        const Moves& moves = open_chain(text, n, m, room);
        const double found = forward(room, moves, p0, n, m);
        if (found == -INF) return -INF;
        backward(room, moves, n, m);
        if (stats.size) {
            for (std::size_t j = 0; j < m; ++j) stats[0] += weight * post[j];
            add_jumps(room, moves, n_jumps, n, m, weight, stats.data, stats.data + 1 + n_jumps + text.cells[p]);
        }
        return found - lifted;
    }
    const double found = join(text, n, m, room);
    if (!(found > -INF)) return -INF;
    for (std::size_t j = 0; j < m; ++j) room.sums[j] = 1 / room.sums[j];
    for (std::size_t i = 0; i <= n; ++i)
        for (std::size_t j = 0; j < m; ++j) post[i * m + j] *= room.sums[j];
    if (text.kind == 1 && stats.size)
        add_diagonal(n, m, post, weight, stats.data + 2 + text.cells[p], stats.data);
    return found - lifted;
}

inline void scale(double* values, std::size_t size, double weight) {
    if (weight != 1)
        for (std::size_t c = 0; c < size; ++c) values[c] *= weight;
}

}  // namespace

void links_posterior(const Bitext& text, Span<const double> weight, Span<double> chance, Span<double> stats,
                     Span<double> log_evidence) {
    Room room;
    for (std::size_t p = 0; p < text.pairs.rows; ++p) {
        double* post = chance.data + text.pairs[p][4];
        const std::size_t size = std::size_t(text.pairs[p][1] + 1) * text.pairs[p][3];
        if (p + 1 < text.pairs.rows) ask(post + size, size);  // comes while this one is worked on
        log_evidence[p] = posterior(text, p, weight[p], post, room, stats);
        if (log_evidence[p] > -INF) scale(post, size, weight[p]);
        else std::fill(post, post + size, 0.0);
    }
}

void links_agree(const Bitext& text, const Bitext& back, Span<const double> weight, Span<double> chance,
                 Span<double> stats, Span<double> back_chance, Span<double> back_stats, Span<double> log_evidence) {
    Room room, other;
    for (std::size_t p = 0; p < text.pairs.rows; ++p) {
        const std::size_t n = text.pairs[p][1], m = text.pairs[p][3];
        double *post = chance.data + text.pairs[p][4], *turned = back_chance.data + back.pairs[p][4];
        const double one = posterior(text, p, weight[p], post, room, stats);
        const double two = posterior(back, p, weight[p], turned, other, back_stats);
        log_evidence[p] = one + two;
        if (!(log_evidence[p] > -INF)) {
            std::fill(post, post + (n + 1) * m, 0.0);
            std::fill(turned, turned + (m + 1) * n, 0.0);
            continue;
        }
        std::fill(post, post + m, 1.0);
        std::fill(turned, turned + n, 1.0);
        for (std::size_t i = 0; i < n; ++i)
            for (std::size_t j = 0; j < m; ++j) {
                const double both = post[(i + 1) * m + j] * turned[(j + 1) * n + i];
                post[(i + 1) * m + j] = turned[(j + 1) * n + i] = both;
                post[j] -= both;
                turned[i] -= both;
            }
        for (std::size_t j = 0; j < m; ++j) post[j] = std::max(post[j], 0.0);
        for (std::size_t i = 0; i < n; ++i) turned[i] = std::max(turned[i], 0.0);
        scale(post, (n + 1) * m, weight[p]);
        scale(turned, (m + 1) * n, weight[p]);
    }
}

namespace {

// The best way of jumps: words and nulls are maxima instead of sums.
inline double best_way(Room& room, const Moves& moves, double p0, std::size_t n, std::size_t m, std::int32_t* chosen) {
    const std::size_t width = room.width;
    double* last = room.last.data();
    std::fill(last, last + width, 0.0);
    last[0] = 1.0;
    LogProduct product;
    for (std::size_t j = 0; j < m; ++j) {
        double *words = room.words.data() + j * width, *nulls = room.nulls.data() + j * width;
        std::fill(words, words + width, 0.0);
        for (std::size_t i = 0; i <= n; ++i) {
            const double used = last[i];
            const double* own = moves.ahead.data() + i * width;
            for (std::size_t k = 0; k < width; ++k) words[k] = std::max(words[k], used * own[k]);
        }
        const double stay = room.post[j] * p0;
        double top = 0;
        for (std::size_t k = 0; k < n; ++k) top = std::max(top, words[k] *= room.chance[j * width + k]);
        for (std::size_t i = 0; i <= n; ++i) top = std::max(top, nulls[i] = stay * last[i]);
        if (!(top > 0)) return -INF;
        product.times(top);
        for (std::size_t k = 0; k < n; ++k) words[k] /= top;
        for (std::size_t i = 0; i <= n; ++i) nulls[i] /= top;
        last[0] = nulls[0];
        for (std::size_t i = 1; i <= n; ++i) last[i] = std::max(words[i - 1], nulls[i]);
    }
    std::size_t at = std::max_element(last, last + n + 1) - last;
    const double end = last[at];
    for (std::size_t j = m; j-- > 0;) {
        const double *words = room.words.data() + j * width, *nulls = room.nulls.data() + j * width;
        if (at == 0 || words[at - 1] < nulls[at]) continue;
        chosen[j] = std::int32_t(at);
        const double *before = words - width, *rest = nulls - width;
        double top = -1;
        std::size_t from = 0;
        for (std::size_t i = 0; i <= n; ++i) {
            const double mass = j == 0 ? double(i == 0) : i == 0 ? rest[0] : std::max(before[i - 1], rest[i]);
            const double value = mass * moves.back[(at - 1) * width + i];
            if (value > top) top = value, from = i;
        }
        at = from;
    }
    return product.log() + std::log(end);
}

// A way of jumps drawn backwards, once `forward` went through.
inline void drawn_way(Room& room, const Moves& moves, std::size_t n, std::size_t m, const double* uniforms,
                      std::int32_t* chosen) {
    const std::size_t width = room.width;
    double* into = room.after.data();
    std::fill(into, into + width, 1.0);
    for (std::size_t j = m; j-- > 0;) {
        const double *words = room.words.data() + j * width, *last = room.lasts.data() + j * width;
        const double stay = room.stays[j];
        double total = 0;
        for (std::size_t i = 0; i <= n; ++i) total += stay * last[i] * into[i];
        for (std::size_t i = 1; i <= n; ++i) total += words[i - 1] * into[i];
        const double wanted = uniforms[j] * total;
        double passed = 0;
        std::size_t state = 0;
        for (; state < 2 * n; ++state) {
            passed += state <= n ? stay * last[state] * into[state] : words[state - n - 1] * into[state - n];
            if (wanted < passed) break;
        }
        if (state <= n) {
            for (std::size_t i = 0; i <= n; ++i) into[i] = double(i == state);
        } else {
            chosen[j] = std::int32_t(state - n);
            const double* own = moves.back.data() + (state - n - 1) * width;
            std::copy(own, own + n + 1, into);
        }
    }
}

}  // namespace

void links_best(const Bitext& text, Span<const double> chance, Span<std::int32_t> chosen, Span<double> log_joint) {
    Room room;
    std::int32_t* out = chosen.data;
    for (std::size_t p = 0; p < text.pairs.rows; ++p) {
        const std::size_t n = text.pairs[p][1], m = text.pairs[p][3];
        const double lifted = open_copy(text, p, chance, room);
        std::fill(out, out + m, 0);
        if (text.kind == 2) {
            const Moves& moves = open_chain(text, n, m, room);
            log_joint[p] = best_way(room, moves, text.place[0], n, m, out);
        } else {
            join(text, n, m, room);
            LogProduct product;
            for (std::size_t j = 0; j < m; ++j) {
                double top = -1;
                for (std::size_t i = 1; i <= n; ++i)
                    if (room.post[i * m + j] > top) top = room.post[i * m + j], out[j] = std::int32_t(i);
                if (room.post[j] > top) top = room.post[j], out[j] = 0;
                product.times(top);
            }
            log_joint[p] = product.log() - (text.kind == 0 ? double(m) * std::log(double(n + text.null)) : 0.0);
        }
        log_joint[p] -= lifted;
        out += m;
    }
}

void links_draw(const Bitext& text, Span<const double> chance, Span<const double> uniforms, Span<std::int32_t> chosen,
                Span<double> log_evidence) {
    Room room;
    std::int32_t* out = chosen.data;
    const double* uniform = uniforms.data;
    for (std::size_t p = 0; p < text.pairs.rows; ++p) {
        const std::size_t n = text.pairs[p][1], m = text.pairs[p][3];
        const double lifted = open_copy(text, p, chance, room);
        std::fill(out, out + m, 0);
        if (text.kind == 2) {
            const Moves& moves = open_chain(text, n, m, room);
            log_evidence[p] = forward(room, moves, text.place[0], n, m);
            if (log_evidence[p] > -INF) drawn_way(room, moves, n, m, uniform, out);
        } else {
            log_evidence[p] = join(text, n, m, room);
            for (std::size_t j = 0; j < m; ++j) {
                const double wanted = uniform[j] * room.sums[j];
                double passed = 0;
                std::size_t i = 0;
                for (; i < n; ++i)
                    if (wanted < (passed += room.post[i * m + j])) break;
                out[j] = std::int32_t(i);
            }
        }
        log_evidence[p] -= lifted;
        out += m;
        uniform += m;
    }
}

// ---- the lexicon ---------------------------------------------------------------------------------------------------

namespace {

constexpr int BITS = 24;  // of a span that hold its length
constexpr std::int64_t LENGTH = (std::int64_t(1) << BITS) - 1;
constexpr std::size_t SHORT = 1 << 16;  // cells of a row that 16 bits can tell apart
constexpr std::size_t AHEAD = 8;        // sentences prefetched: they are in no order, and not in the caches
constexpr std::size_t LINE = 64;

// Ask for the beginning of what a span is long: most sentences end there.
template <int LINES, class T>
inline void ask_lines(const T* at) {
    const char* first = reinterpret_cast<const char*>(at);
    for (int line = 0; line < LINES; ++line) ask(reinterpret_cast<const double*>(first + line * LINE));
}

inline std::size_t row_size(const Lexicon& lexicon, std::size_t e) { return lexicon.firsts[e + 1] - lexicon.firsts[e]; }

// Whether links of source word e say which cell of its row they are; others say their target word.
inline bool has_steps(const Lexicon& lexicon, std::size_t e) {
    return lexicon.steps.size && row_size(lexicon, e) <= SHORT;
}

inline bool stands(const Lexicon& lexicon, std::size_t e) {
    for (std::size_t lane = 0; lane < lexicon.ends.rows; ++lane)
        if (lexicon.ends[lane][e] < lexicon.ends[lane][e + 1]) return true;
    return false;
}

// Call each(at, where in `values`, how many) for every sentence in which source word e stands: `at` are its target words
// or, of a source word that has steps, which cells of the row they are. Those come in the order in which they are wanted.
template <class At, class T, class Each>
inline void walk(const Lexicon& lexicon, std::size_t e, T* values, Each each) {
    constexpr bool STEPS = std::is_same_v<At, std::uint16_t>;
    const std::int64_t* spans = lexicon.spans.data;
    const std::int64_t* places = lexicon.places.size ? lexicon.places.data : nullptr;
    const std::size_t last = lexicon.spans.size - 1;
    for (std::size_t lane = 0; lane < lexicon.ends.rows; ++lane) {
        const At* at = nullptr;
        if constexpr (STEPS) at = lexicon.steps.data + lexicon.step_ends[lane][e];
        for (std::size_t o = lexicon.ends[lane][e]; o < std::size_t(lexicon.ends[lane][e + 1]); ++o) {
            const std::size_t next = std::min(o + AHEAD, last), m = spans[o] & LENGTH;
            ask_lines<4>(values + (places ? places[next] : spans[next] >> BITS));
            if constexpr (!STEPS) {
                ask_lines<2>(lexicon.target.data + (spans[next] >> BITS));
                at = lexicon.target.data + (spans[o] >> BITS);
            }
            each(at, values + (places ? places[o] : spans[o] >> BITS), m);
            if constexpr (STEPS) at += m;
        }
    }
}

// Call each(row, at, where in `values`, how many) for every sentence in which source word e stands: row[at[j]] is the cell
// of its word j.
template <class Each>
inline void read_row(const Lexicon& lexicon, std::size_t e, const Span<const double>& table, double* values,
                     double* dense, Each each) {
    if (!stands(lexicon, e)) return;
    const double* row = table.data + lexicon.firsts[e];
    if (has_steps(lexicon, e)) {
        walk<std::uint16_t>(lexicon, e, values, [=](const auto* at, double* to, std::size_t m) { each(row, at, to, m); });
    } else {
        const std::int32_t* words = lexicon.columns.data + lexicon.firsts[e];
        for (std::size_t s = 0; s < row_size(lexicon, e); ++s) dense[words[s]] = row[s];
        walk<std::int32_t>(lexicon, e, values, [=](const auto* at, double* to, std::size_t m) { each(dense, at, to, m); });
    }
}

// Ask for the row of a source word before its links are read: their cells are in no order.
inline void ask_row(const Lexicon& lexicon, std::size_t e, const Span<const double>& table) {
    const double* row = table.data + lexicon.firsts[e];
    for (std::size_t s = 0; s < row_size(lexicon, e); s += LINE / sizeof(double)) ask(row + s);
}

// What is in a cell, which is empty then.
inline double emptied(double& cell) {
    const double value = cell;
    cell = 0.0;
    return value;
}

// Call each(cell, the sum of the values of its links) for all cells of source word e. `dense` is empty before and after.
template <class Each>
inline void sum_row(const Lexicon& lexicon, std::size_t e, const double* values, double* dense, Each each) {
    const auto add = [dense](const auto* at, const double* from, std::size_t m) {
        for (std::size_t j = 0; j < m; ++j) dense[at[j]] += from[j];
    };
    const std::size_t first = lexicon.firsts[e], size = row_size(lexicon, e);
    if (has_steps(lexicon, e)) {
        walk<std::uint16_t>(lexicon, e, values, add);
        for (std::size_t s = 0; s < size; ++s) each(first + s, emptied(dense[s]));
    } else {
        walk<std::int32_t>(lexicon, e, values, add);
        for (std::size_t s = first; s < first + size; ++s) each(s, emptied(dense[lexicon.columns[s]]));
    }
}

}  // namespace

void links_chances(const Lexicon& lexicon, Span<const double> table, Span<double> chance) {
    std::vector<double> dense(lexicon.n_target);
    for (std::size_t e = lexicon.begin; e < lexicon.end; ++e)
        read_row(lexicon, e, table, chance.data, dense.data(),
                 [](const double* row, const auto* at, double* to, std::size_t m) {
                     for (std::size_t j = 0; j < m; ++j) to[j] = row[at[j]];
                 });
}

void links_sums(const Lexicon& lexicon, Span<const double> table, Span<double> sums) {
    std::vector<double> dense(lexicon.n_target);
    for (std::size_t e = lexicon.begin; e < lexicon.end; ++e) {
        if (e + 1 < lexicon.end) ask_row(lexicon, e + 1, table);
        read_row(lexicon, e, table, sums.data, dense.data(),
                 [](const double* row, const auto* at, double* to, std::size_t m) {
                     for (std::size_t j = 0; j < m; ++j) to[j] += row[at[j]];
                 });
    }
}

void links_counts(const Lexicon& lexicon, Span<const double> usage, Span<double> counts) {
    std::vector<double> dense(lexicon.n_target);
    for (std::size_t e = lexicon.begin; e < lexicon.end; ++e)
        if (stands(lexicon, e))
            sum_row(lexicon, e, usage.data, dense.data(), [&](std::size_t s, double used) { counts[s] += used; });
}

void links_shares(const Lexicon& lexicon, Span<const double> table, Span<const double> shares, Span<double> counts) {
    std::vector<double> dense(lexicon.n_target);
    for (std::size_t e = lexicon.begin; e < lexicon.end; ++e)
        sum_row(lexicon, e, shares.data, dense.data(), [&](std::size_t s, double sum) { counts[s] = table[s] * sum; });
}

void links_steps(const Lexicon& lexicon, Span<std::uint16_t> steps) {
    std::vector<std::uint16_t> dense(lexicon.n_target);
    for (std::size_t e = lexicon.begin; e < lexicon.end; ++e) {
        const std::size_t size = row_size(lexicon, e);
        if (size > SHORT) continue;
        const std::int32_t* words = lexicon.columns.data + lexicon.firsts[e];
        for (std::size_t s = 0; s < size; ++s) dense[words[s]] = std::uint16_t(s);
        for (std::size_t lane = 0; lane < lexicon.ends.rows; ++lane) {
            std::uint16_t* to = steps.data + lexicon.step_ends[lane][e];
            for (std::size_t o = lexicon.ends[lane][e]; o < std::size_t(lexicon.ends[lane][e + 1]); ++o) {
                const std::size_t next = std::min(o + AHEAD, lexicon.spans.size - 1), m = lexicon.spans[o] & LENGTH;
                ask_lines<2>(lexicon.target.data + (lexicon.spans[next] >> BITS));
                const std::int32_t* word = lexicon.target.data + (lexicon.spans[o] >> BITS);
                for (std::size_t j = 0; j < m; ++j) to[j] = dense[word[j]];
                to += m;
            }
        }
    }
}

void links_uniform(bool null, Matrix<const std::int64_t> pairs, Span<const double> weight, Span<double> sums,
                   Span<double> log_evidence) {
    for (std::size_t p = 0; p < pairs.rows; ++p) {
        const std::size_t n = pairs[p][1], t = pairs[p][2], m = pairs[p][3];
        double* total = sums.data + t;
        LogProduct product;
        for (std::size_t j = 0; j < m; ++j) product.times(total[j]);
        log_evidence[p] = product.log() - double(m) * std::log(double(n + null));
        if (log_evidence[p] > -INF)
            for (std::size_t j = 0; j < m; ++j) total[j] = std::min(weight[p] / total[j], MOST);
        else std::fill(total, total + m, 0.0);
    }
}

namespace {

inline double row_total(const double* row, std::size_t size) {
    const std::size_t padded = size / PAD * PAD;
    double total = sum(row, padded);
    for (std::size_t s = padded; s < size; ++s) total += row[s];
    return total;
}

}  // namespace

void links_divide(Span<const std::int64_t> firsts, std::size_t begin, std::size_t end, Span<const double> before,
                  Span<const double> counts, Span<double> table) {
    for (std::size_t e = begin; e < end; ++e) {
        const std::size_t first = firsts[e], size = firsts[e + 1] - first;
        const double* from = counts.data + first;
        double total = row_total(from, size);
        if (!(total > GONE)) {
            from = before.data + first;
            total = row_total(from, size);
            if (!(total > GONE && total < WHOLE)) total = 1;
        }
        const double factor = 1 / total;
        for (std::size_t s = 0; s < size; ++s) table[first + s] = from[s] * factor;
    }
}

void links_find(bool null, Matrix<const std::int64_t> pairs, Span<const std::int32_t> source, Span<std::int64_t> ends,
                Span<std::int64_t> spans, Span<std::int64_t> places) {
    const std::size_t n_words = ends.size - 1;
    std::vector<std::int64_t> next(n_words + 1);
    if (null) next[1] = std::int64_t(pairs.rows);
    for (std::size_t p = 0; p < pairs.rows; ++p)
        for (std::int64_t i = 0; i < pairs[p][1]; ++i) ++next[source[pairs[p][0] + i] + 1];
    for (std::size_t e = 0; e < n_words; ++e) next[e + 1] += next[e];
    std::copy(next.begin(), next.end(), ends.data);
    for (std::size_t p = 0; p < pairs.rows; ++p) {
        const std::int64_t *pair = pairs[p], m = pair[3];
        for (std::int64_t i = null ? -1 : 0; i < pair[1]; ++i) {
            const std::int64_t at = next[i < 0 ? 0 : source[pair[0] + i]]++;
            spans[at] = pair[2] << BITS | m;
            if (places.size) places[at] = pair[4] + (i + 1) * m;
        }
    }
}

void links_rows(Matrix<const std::int64_t> pairs, Span<const std::int32_t> source, Span<const std::int32_t> target,
                std::size_t n_target, Span<std::int64_t> firsts, Span<std::int32_t> columns) {
    // target word by target word: then every row grows in order
    std::vector<std::int64_t> ends(n_target + 1);
    for (std::size_t p = 0; p < pairs.rows; ++p)
        for (std::int64_t j = 0; j < pairs[p][3]; ++j) ++ends[target[pairs[p][2] + j] + 1];
    for (std::size_t f = 0; f < n_target; ++f) ends[f + 1] += ends[f];
    std::vector<std::int32_t> found(ends[n_target]);
    std::vector<std::int64_t> next(ends.begin(), ends.end() - 1);
    for (std::size_t p = 0; p < pairs.rows; ++p)
        for (std::int64_t j = 0; j < pairs[p][3]; ++j) found[next[target[pairs[p][2] + j]]++] = std::int32_t(p);
    struct Row {
        std::int64_t size = 0;
        std::int64_t met = -1;
    };
    std::vector<Row> rows(firsts.size - 1);
    for (std::size_t f = 0; f < n_target; ++f)
        for (std::int64_t o = ends[f]; o < ends[f + 1]; ++o) {
            if (o > ends[f] && found[o] == found[o - 1]) continue;
            const std::int64_t* pair = pairs[found[o]];
            for (std::int64_t i = 0; i < pair[1]; ++i) {
                const std::int32_t e = source[pair[0] + i];
                if (rows[e].met == std::int64_t(f)) continue;
                rows[e].met = std::int64_t(f);
                if (columns.size) columns[firsts[e] + rows[e].size] = std::int32_t(f);
                ++rows[e].size;
            }
        }
    if (columns.size == 0)
        for (std::size_t e = 0; e < rows.size(); ++e) firsts[e + 1] = rows[e].size;
}

void links_turn(Span<const std::int64_t> firsts, std::size_t begin, std::size_t end, Span<const std::int32_t> number,
                Span<const std::int32_t> columns, Span<const double> table, Span<std::int32_t> turned_columns,
                Span<double> turned_table) {
    std::vector<double> dense(number.size);
    std::vector<std::uint64_t> met(number.size / 64 + 1);  // a bit for each target word
    for (std::size_t e = begin; e < end; ++e) {
        for (std::int64_t s = firsts[e]; s < firsts[e + 1]; ++s) {
            const std::int32_t f = number[columns[s]];
            dense[f] = table[s];
            met[f / 64] |= std::uint64_t(1) << (f % 64);
        }
        std::int64_t s = firsts[e];
        for (std::size_t w = 0; s < firsts[e + 1]; ++w)
            for (; met[w]; met[w] &= met[w] - 1, ++s) {
                const std::int32_t f = std::int32_t(64 * w) + std::countr_zero(met[w]);
                turned_columns[s] = f;
                turned_table[s] = dense[f];
            }
    }
}

}  // namespace halfseen::HALFSEEN_ISA
