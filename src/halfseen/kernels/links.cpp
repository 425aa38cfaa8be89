// Posteriors, best links and draws of sentence pairs. Formulas: links.py. Compiled once per instruction set.
//
// The table is larger than the caches and is read in no order: a pair looks up all its links at once, so that many
// look-ups are under way together, and asks for its counts while it does. Loops over source words run over whole
// registers: rows are padded to PAD, with links that cannot be.
#include "links.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace halfseen::HALFSEEN_ISA {

namespace {

constexpr double INF = std::numeric_limits<double>::infinity();
constexpr std::size_t PAD = 8;
constexpr double GONE = 1e-100;   // a source word that is used less is not used
constexpr double SMALL = 1e-100;  // products are kept above it: logarithms are dear

inline void ask(const double* at) {
#if defined(__GNUC__) || defined(__clang__)
    __builtin_prefetch(at);
#endif
}
inline void ask_to_write(const double* at) {
#if defined(__GNUC__) || defined(__clang__)
    __builtin_prefetch(at, 1);
#endif
}

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

struct Pair {
    const std::int32_t *target, *slots;
    const std::uint8_t* allowed;  // or null
    std::size_t n, m;

    Pair(const Bitext& text, std::size_t p) {
        const std::int64_t* row = text.pairs[p];
        n = row[1], m = row[3];
        target = text.target.data + row[2];
        slots = text.slots.data + row[4];
        allowed = text.allowed.size ? text.allowed.data + row[4] + row[2] : nullptr;
    }
};

// Room for one pair; `post` is (n + 1, m), the others are (m, width) with width = n padded, or vectors.
struct Room {
    std::vector<double> post, sums, chance, words, nulls, ahead, onward, jumps, turned, outer, last, after;
    std::vector<std::vector<double>> leaves;
    const double* leave = nullptr;
    std::size_t width = 0, most = 0;

    void fit(std::size_t n, std::size_t m) {
        width = (n + PAD) / PAD * PAD;  // n + 1 fits
        grow(post, (n + 1) * m);
        grow(sums, m);
        if (m * width > chance.size()) {
            for (std::vector<double>* table : {&chance, &words, &nulls, &ahead, &onward}) grow(*table, m * width);
        }
        grow(outer, (n + 1) * width);
        for (std::vector<double>* row : {&last, &after}) grow(*row, width);
    }

    // c_d at jumps[most + d] and turned[most - d], for all d that a sentence of n words and its padding can ask for.
    void widen(const Span<const double>& place, std::size_t n) {
        const std::size_t needed = n + 2 * PAD;
        if (needed <= most) return;
        most = 2 * needed;
        jumps.resize(2 * most + 1);
        turned.resize(2 * most + 1);
        const std::int64_t w = std::int64_t(place.size - 2) / 2, far = most;
        for (std::int64_t d = -far; d <= far; ++d)
            jumps[far + d] = turned[far - d] = place[1 + w + std::clamp(d, -w, w)];
    }

    static void grow(std::vector<double>& vector, std::size_t size) {
        if (vector.size() < size) vector.resize(size + size / 2);
    }
};

// Ask for the probabilities that a pair will look up.
inline void ask_for(const Bitext& text, std::size_t p) {
    if (p >= text.pairs.rows) return;
    const Pair pair(text, p);
    for (std::size_t c = 0; c < pair.n * pair.m; ++c) ask(text.table.data + pair.slots[c]);
}

// post[i, j] = t(f_j | e_i), NULL first; `counts` (or null) will be wanted.
void look_up(const Bitext& text, const Pair& pair, double* post, const double* counts) {
    const std::size_t m = pair.m, size = pair.n * m;
    for (std::size_t j = 0; j < m; ++j) post[j] = text.null ? text.table[pair.target[j]] : 0.0;
    if (counts != nullptr)
        for (std::size_t c = 0; c < size; ++c) ask_to_write(counts + pair.slots[c]);
    for (std::size_t c = 0; c < size; ++c) post[m + c] = text.table[pair.slots[c]];
    if (pair.allowed != nullptr)
        for (std::size_t c = 0; c < (pair.n + 1) * m; ++c)
            if (!pair.allowed[c]) post[c] = 0.0;
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
double join(const Bitext& text, const Pair& pair, Room& room, const double* counts) {
    const std::size_t n = pair.n, m = pair.m;
    double* post = room.post.data();
    double* sums = room.sums.data();
    look_up(text, pair, post, counts);
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
    const double* post = room.post.data();
    const std::size_t width = room.width;
    for (std::size_t j = 0; j < m; ++j) {
        double* row = room.chance.data() + j * width;
        for (std::size_t i = 0; i < n; ++i) row[i] = post[(i + 1) * m + j];
        std::fill(row + n, row + width, 0.0);
    }
}

// out[k] = sum over i' of used[i'] c_(k + 1 - i'), k < width.
inline void spread(const Room& room, std::size_t n, const double* used, double* out) {
    const std::size_t width = room.width;
    std::fill(out, out + width, 0.0);
    const double* jumps = room.jumps.data() + room.most + 1;
    std::size_t i = 0;
    for (; i + 4 <= n + 1; i += 4) {
        const double *c = jumps - i, a = used[i], b = used[i + 1], d = used[i + 2], e = used[i + 3];
        if (a + b + d + e == 0) continue;
        for (std::size_t k = 0; k < width; ++k)
            out[k] += (a * c[k] + b * (c - 1)[k]) + (d * (c - 2)[k] + e * (c - 3)[k]);
    }
    for (; i <= n; ++i) {
        const double *c = jumps - i, a = used[i];
        for (std::size_t k = 0; k < width; ++k) out[k] += a * c[k];
    }
}

// out[i'] = sum over k < n of used[k] c_(k + 1 - i'), i' < width.
inline void gathered(const Room& room, std::size_t n, const double* used, double* out) {
    const std::size_t width = room.width;
    std::fill(out, out + width, 0.0);
    const double* turned = room.turned.data() + room.most - 1;
    std::size_t k = 0;
    for (; k + 4 <= n; k += 4) {
        const double *c = turned - k, a = used[k], b = used[k + 1], d = used[k + 2], e = used[k + 3];
        for (std::size_t i = 0; i < width; ++i)
            out[i] += (a * c[i] + b * (c - 1)[i]) + (d * (c - 2)[i] + e * (c - 3)[i]);
    }
    for (; k < n; ++k) {
        const double *c = turned - k, a = used[k];
        for (std::size_t i = 0; i < width; ++i) out[i] += a * c[i];
    }
}

// Sums in as many parts as the widest register holds: the order is the same on every machine.
inline double sum(const double* values, std::size_t width) {
    double part[PAD] = {};
    for (std::size_t k = 0; k < width; k += PAD)
        for (std::size_t l = 0; l < PAD; ++l) part[l] += values[k + l];
    return ((part[0] + part[1]) + (part[2] + part[3])) + ((part[4] + part[5]) + (part[6] + part[7]));
}
inline double dot(const double* one, const double* two, std::size_t width) {
    double part[PAD] = {};
    for (std::size_t k = 0; k < width; k += PAD)
        for (std::size_t l = 0; l < PAD; ++l) part[l] += one[k + l] * two[k + l];
    return ((part[0] + part[1]) + (part[2] + part[3])) + ((part[4] + part[5]) + (part[6] + part[7]));
}

// leave[i'] = (1 - p0) / sum over k of c_(k - i'); found once for each n.
inline void departures(Room& room, double p0, std::size_t n) {
    if (room.leaves.size() <= n) room.leaves.resize(n + 1);
    std::vector<double>& found = room.leaves[n];
    if (found.empty()) {
        found.resize(room.width);
        const std::vector<double> ones(n, 1.0);
        gathered(room, n, ones.data(), found.data());
        for (std::size_t i = 0; i < room.width; ++i) found[i] = i <= n ? (1 - p0) / found[i] : 0.0;
    }
    room.leave = found.data();
}

// words[j, i - 1], nulls[j, i'] scaled to sum to one, and the scales in sums. Returns the log-evidence.
inline double forward(Room& room, double p0, std::size_t n, std::size_t m) {
    const std::size_t width = room.width;
    LogProduct product;
    double* last = room.last.data();
    std::fill(last, last + width, 0.0);
    last[0] = 1.0;
    for (std::size_t j = 0; j < m; ++j) {
        double *words = room.words.data() + j * width, *nulls = room.nulls.data() + j * width;
        double* ahead = room.ahead.data() + j * width;
        const double* chance = room.chance.data() + j * width;
        for (std::size_t i = 0; i < width; ++i) ahead[i] = last[i] * room.leave[i];
        spread(room, n, ahead, words);
        const double stay = room.post[j] * p0;
        for (std::size_t i = 0; i < width; ++i) words[i] *= chance[i];
        for (std::size_t i = 0; i < width; ++i) nulls[i] = stay * last[i];
        const double total = sum(words, width) + sum(nulls, width);
        room.sums[j] = total;
        if (!(total > 0)) return -INF;
        product.times(total);
        const double scale = 1 / total;
        for (std::size_t i = 0; i < width; ++i) words[i] *= scale, nulls[i] *= scale;
        last[0] = nulls[0];
        for (std::size_t i = 1; i <= n; ++i) last[i] = words[i - 1] + nulls[i];
    }
    return product.log();
}

// outer[i', k] = sum over j of ahead[j, i'] onward[j, k].
inline void multiply(Room& room, std::size_t n, std::size_t m) {
    const std::size_t width = room.width;
    for (std::size_t i = 0; i <= n; ++i) {
        double* out = room.outer.data() + i * width;
        std::fill(out, out + width, 0.0);
        const double *ahead = room.ahead.data() + i, *onward = room.onward.data();
        std::size_t j = 0;
        for (; j + 4 <= m; j += 4, ahead += 4 * width, onward += 4 * width) {
            const double a = ahead[0], b = ahead[width], c = ahead[2 * width], d = ahead[3 * width];
            for (std::size_t k = 0; k < width; ++k)
                out[k] += (a * onward[k] + b * onward[width + k]) +
                          (c * onward[2 * width + k] + d * onward[3 * width + k]);
        }
        for (; j < m; ++j, ahead += width, onward += width)
            for (std::size_t k = 0; k < width; ++k) out[k] += ahead[0] * onward[k];
    }
}

inline void add_jumps(const Room& room, std::size_t n_jumps, std::size_t n, double weight, double* cells,
                      double* stats) {
    const double* jumps = room.jumps.data() + room.most;
    const std::int64_t w = std::int64_t(n_jumps - 1) / 2;
    for (std::int64_t i = 0; i <= std::int64_t(n); ++i) {
        const double* outer = room.outer.data() + i * room.width;
        double left = 0;
        for (std::int64_t k = 1; k <= std::int64_t(n); ++k) {
            const double used = weight * outer[k - 1] * jumps[k - i];
            stats[1 + w + std::clamp(k - i, -w, w)] += used;
            left += used;
        }
        cells[i] += left;
    }
}

// Overwrite the chances in post with posteriors, once `forward` went through.
inline void backward(Room& room, double p0, std::size_t n, std::size_t m) {
    const std::size_t width = room.width;
    double *after = room.after.data(), *fresh = room.last.data();
    std::fill(after, after + width, 1.0);
    for (std::size_t j = m; j-- > 0;) {
        const double *words = room.words.data() + j * width, *nulls = room.nulls.data() + j * width;
        const double *chance = room.chance.data() + j * width;
        double* onward = room.onward.data() + j * width;
        const double stay = room.post[j] * p0 / room.sums[j], scale = 1 / room.sums[j];
        const double none = dot(nulls, after, width);
        for (std::size_t i = 0; i < n; ++i) room.post[(i + 1) * m + j] = words[i] * after[i + 1];
        room.post[j] = none;
        for (std::size_t k = 0; k < n; ++k) onward[k] = chance[k] * after[k + 1] * scale;
        std::fill(onward + n, onward + width, 0.0);
        gathered(room, n, onward, fresh);
        for (std::size_t i = 0; i <= n; ++i) after[i] = fresh[i] * room.leave[i] + stay * after[i];
    }
}

// ---- any kind ------------------------------------------------------------------------------------------------------

// The posterior of a pair in room.post; adds to the place's statistics unless `stats` is null. -inf: there is none.
double posterior(const Bitext& text, std::size_t p, double weight, Room& room, double* stats,
                 const double* counts) {
    const Pair pair(text, p);
    const std::size_t n = pair.n, m = pair.m;
    room.fit(n, m);
    double* post = room.post.data();
    if (text.kind == 2) {
        const double p0 = text.place[0];
        const std::size_t n_jumps = text.place.size - 1;
        room.widen(text.place, n);
        look_up(text, pair, post, counts);
        turn(room, n, m);
        departures(room, p0, n);
        const double found = forward(room, p0, n, m);
        if (found == -INF) return -INF;
        backward(room, p0, n, m);
        if (stats != nullptr) {
            for (std::size_t j = 0; j < m; ++j) stats[0] += weight * post[j];
            multiply(room, n, m);
            add_jumps(room, n_jumps, n, weight, stats + 1 + n_jumps + text.cells[p], stats);
        }
        return found;
    }
    const double found = join(text, pair, room, counts);
    if (!(found > -INF)) return -INF;
    for (std::size_t j = 0; j < m; ++j) room.sums[j] = 1 / room.sums[j];
    for (std::size_t i = 0; i <= n; ++i)
        for (std::size_t j = 0; j < m; ++j) post[i * m + j] *= room.sums[j];
    if (text.kind == 1 && stats != nullptr) add_diagonal(n, m, post, weight, stats + 2 + text.cells[p], stats);
    return found;
}

void add_counts(const Bitext& text, std::size_t p, double weight, const double* post, double* counts) {
    const Pair pair(text, p);
    const std::size_t m = pair.m, size = pair.n * m;
    if (text.null)
        for (std::size_t j = 0; j < m; ++j) counts[pair.target[j]] += weight * post[j];
    for (std::size_t c = 0; c < size; ++c) counts[pair.slots[c]] += weight * post[m + c];
}

}  // namespace

void links_soft(const Bitext& text, Span<const double> weight, Span<double> counts, Span<double> stats,
                Span<double> log_evidence) {
    Room room;
    for (std::size_t p = 0; p < text.pairs.rows; ++p) {
        ask_for(text, p + 1);
        log_evidence[p] = posterior(text, p, weight[p], room, stats.data, counts.data);
        if (log_evidence[p] > -INF) add_counts(text, p, weight[p], room.post.data(), counts.data);
    }
}

void links_posterior(const Bitext& text, Span<double> posteriors, Span<double> log_evidence) {
    Room room;
    double* out = posteriors.data;
    for (std::size_t p = 0; p < text.pairs.rows; ++p) {
        log_evidence[p] = posterior(text, p, 1.0, room, nullptr, nullptr);
        const std::size_t size = std::size_t(text.pairs[p][1] + 1) * text.pairs[p][3];
        if (log_evidence[p] > -INF) std::copy(room.post.data(), room.post.data() + size, out);
        else std::fill(out, out + size, 0.0);
        out += size;
    }
}

void links_agree(const Bitext& text, const Bitext& back, Span<const double> weight, Span<double> counts,
                 Span<double> stats, Span<double> back_counts, Span<double> back_stats, Span<double> log_evidence) {
    Room room, other;
    for (std::size_t p = 0; p < text.pairs.rows; ++p) {
        const double one = posterior(text, p, weight[p], room, stats.data, counts.data);
        const double two = posterior(back, p, weight[p], other, back_stats.data, back_counts.data);
        log_evidence[p] = one + two;
        if (!(log_evidence[p] > -INF)) continue;
        const std::size_t n = text.pairs[p][1], m = text.pairs[p][3];
        double *post = room.post.data(), *turned = other.post.data();
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
        add_counts(text, p, weight[p], post, counts.data);
        add_counts(back, p, weight[p], turned, back_counts.data);
    }
}

namespace {

// The best way of jumps: words and nulls are maxima instead of sums.
inline double best_way(Room& room, double p0, std::size_t n, std::size_t m, std::int32_t* chosen) {
    const std::size_t width = room.width;
    const double* jumps = room.jumps.data() + room.most;
    double* last = room.last.data();
    std::fill(last, last + width, 0.0);
    last[0] = 1.0;
    LogProduct product;
    for (std::size_t j = 0; j < m; ++j) {
        double *words = room.words.data() + j * width, *nulls = room.nulls.data() + j * width;
        std::fill(words, words + width, 0.0);
        for (std::size_t i = 0; i <= n; ++i) {
            const double used = last[i] * room.leave[i];
            const double* c = jumps + 1 - std::int64_t(i);
            for (std::size_t k = 0; k < width; ++k) words[k] = std::max(words[k], used * c[k]);
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
            const double value = mass * room.leave[i] * jumps[std::int64_t(at) - std::int64_t(i)];
            if (value > top) top = value, from = i;
        }
        at = from;
    }
    return product.log() + std::log(end);
}

// A way of jumps drawn backwards, once `forward` went through.
inline void drawn_way(Room& room, std::size_t n, std::size_t m, const double* uniforms, std::int32_t* chosen) {
    const std::size_t width = room.width;
    const double* jumps = room.jumps.data() + room.most;
    double* into = room.after.data();
    std::fill(into, into + width, 1.0);
    for (std::size_t j = m; j-- > 0;) {
        const double *words = room.words.data() + j * width, *nulls = room.nulls.data() + j * width;
        double total = 0;
        for (std::size_t i = 0; i <= n; ++i) total += nulls[i] * into[i];
        for (std::size_t i = 1; i <= n; ++i) total += words[i - 1] * into[i];
        const double wanted = uniforms[j] * total;
        double passed = 0;
        std::size_t state = 0;
        for (; state < 2 * n; ++state) {
            passed += state <= n ? nulls[state] * into[state] : words[state - n - 1] * into[state - n];
            if (wanted < passed) break;
        }
        if (state <= n) {
            for (std::size_t i = 0; i <= n; ++i) into[i] = double(i == state);
        } else {
            const std::int64_t at = std::int64_t(state - n);
            chosen[j] = std::int32_t(at);
            for (std::int64_t i = 0; i <= std::int64_t(n); ++i) into[i] = room.leave[i] * jumps[at - i];
        }
    }
}

void look_up_chain(const Bitext& text, const Pair& pair, Room& room) {
    room.widen(text.place, pair.n);
    look_up(text, pair, room.post.data(), nullptr);
    turn(room, pair.n, pair.m);
    departures(room, text.place[0], pair.n);
}

}  // namespace

void links_best(const Bitext& text, Span<std::int32_t> chosen, Span<double> log_joint) {
    Room room;
    std::int32_t* out = chosen.data;
    for (std::size_t p = 0; p < text.pairs.rows; ++p) {
        const Pair pair(text, p);
        const std::size_t n = pair.n, m = pair.m;
        room.fit(n, m);
        std::fill(out, out + m, 0);
        if (text.kind == 2) {
            look_up_chain(text, pair, room);
            log_joint[p] = best_way(room, text.place[0], n, m, out);
        } else {
            join(text, pair, room, nullptr);
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
        out += m;
    }
}

void links_draw(const Bitext& text, Span<const double> uniforms, Span<std::int32_t> chosen,
                Span<double> log_evidence) {
    Room room;
    std::int32_t* out = chosen.data;
    const double* uniform = uniforms.data;
    for (std::size_t p = 0; p < text.pairs.rows; ++p) {
        const Pair pair(text, p);
        const std::size_t n = pair.n, m = pair.m;
        room.fit(n, m);
        std::fill(out, out + m, 0);
        if (text.kind == 2) {
            look_up_chain(text, pair, room);
            log_evidence[p] = forward(room, text.place[0], n, m);
            if (log_evidence[p] > -INF) drawn_way(room, n, m, uniform, out);
        } else {
            log_evidence[p] = join(text, pair, room, nullptr);
            for (std::size_t j = 0; j < m; ++j) {
                const double wanted = uniform[j] * room.sums[j];
                double passed = 0;
                std::size_t i = 0;
                for (; i < n; ++i)
                    if (wanted < (passed += room.post[i * m + j])) break;
                out[j] = std::int32_t(i);
            }
        }
        out += m;
        uniform += m;
    }
}

namespace {

// Where each source word stands: pair and place, one word after the other.
struct Occurrences {
    std::vector<std::int64_t> ends;
    std::vector<std::int32_t> pair, place;

    Occurrences(Matrix<const std::int64_t> pairs, Span<const std::int32_t> source, std::size_t n_words)
        : ends(n_words + 1) {
        for (std::size_t p = 0; p < pairs.rows; ++p)
            for (std::int64_t i = 0; i < pairs[p][1]; ++i) ++ends[source[pairs[p][0] + i] + 1];
        for (std::size_t e = 0; e < n_words; ++e) ends[e + 1] += ends[e];
        pair.resize(ends[n_words]);
        place.resize(ends[n_words]);
        std::vector<std::int64_t> next(ends.begin(), ends.end() - 1);
        for (std::size_t p = 0; p < pairs.rows; ++p)
            for (std::int64_t i = 0; i < pairs[p][1]; ++i) {
                const std::int64_t at = next[source[pairs[p][0] + i]]++;
                pair[at] = std::int32_t(p);
                place[at] = std::int32_t(i);
            }
    }
};

}  // namespace

void links_rows(Matrix<const std::int64_t> pairs, Span<const std::int32_t> source, Span<const std::int32_t> target,
                std::size_t n_target, Span<std::int64_t> firsts, Span<std::int32_t> columns) {
    const std::size_t n_words = firsts.size - 1;
    const Occurrences found(pairs, source, n_words);
    std::vector<std::int32_t> met(n_target, -1);
    for (std::size_t e = 0; e < n_words; ++e) {
        std::int64_t size = 0;
        std::int32_t* row = columns.size ? columns.data + firsts[e] : nullptr;
        for (std::int64_t o = found.ends[e]; o < found.ends[e + 1]; ++o) {
            if (o > found.ends[e] && found.pair[o] == found.pair[o - 1]) continue;
            const std::int64_t* pair = pairs[found.pair[o]];
            for (std::int64_t j = 0; j < pair[3]; ++j) {
                const std::int32_t f = target[pair[2] + j];
                if (met[f] == std::int32_t(e)) continue;
                met[f] = std::int32_t(e);
                if (row != nullptr) row[size] = f;
                ++size;
            }
        }
        if (row != nullptr) std::sort(row, row + size);
        else firsts[e + 1] = size;
    }
}

void links_share(Span<const std::int32_t> owner, Span<const double> counts, Span<double> sums, Span<double> table) {
    std::fill(sums.data, sums.data + sums.size, 0.0);
    for (std::size_t s = 0; s < owner.size; ++s) sums[owner[s]] += counts[s];
    std::vector<double> factor(sums.size);
    for (std::size_t e = 0; e < sums.size; ++e) factor[e] = sums[e] > GONE ? 1 / sums[e] : 0.0;
    for (std::size_t s = 0; s < owner.size; ++s) table[s] = counts[s] * factor[owner[s]];
}

std::int64_t links_number(Matrix<const std::int64_t> pairs, Span<const std::int32_t> source,
                          Span<const std::int32_t> target, Span<const std::int64_t> firsts,
                          Span<const std::int32_t> columns, std::int64_t next, Span<std::int32_t> order,
                          Span<std::int32_t> slots) {
    const std::size_t n_words = firsts.size - 1;
    const Occurrences found(pairs, source, n_words);
    std::int32_t most = -1;
    for (std::size_t s = 0; s < columns.size; ++s) most = std::max(most, columns[s]);
    std::vector<std::int32_t> cell(std::size_t(most) + 1);
    const std::int64_t first = pairs.rows ? pairs[0][4] : 0;
    for (std::size_t e = 0; e < n_words; ++e) {
        if (found.ends[e] == found.ends[e + 1]) continue;
        for (std::int64_t s = firsts[e]; s < firsts[e + 1]; ++s) cell[columns[s]] = std::int32_t(s);
        for (std::int64_t o = found.ends[e]; o < found.ends[e + 1]; ++o) {
            const std::int64_t* pair = pairs[found.pair[o]];
            std::int32_t* out = slots.data + (pair[4] - first) + found.place[o] * pair[3];
            for (std::int64_t j = 0; j < pair[3]; ++j) out[j] = cell[target[pair[2] + j]];
        }
    }
    for (std::size_t l = 0; l < slots.size; ++l) {
        std::int32_t& number = order[slots[l]];
        if (number < 0) number = std::int32_t(next++);
        slots[l] = number;
    }
    return next;
}

}  // namespace halfseen::HALFSEEN_ISA
