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

#include "lanes.hpp"

namespace halfseen::HALFSEEN_ISA {

namespace {

constexpr double INF = std::numeric_limits<double>::infinity();
constexpr std::size_t PAD = 8;
constexpr double GONE = 1e-100;   // a source word that is used less is not used
constexpr double SMALL = 1e-100;  // products are kept above it: logarithms are dear

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

// How sentences of n source words go on: ahead[i', k] = p(k + 1 | i'), and the same turned; rows of `width`.
struct Moves {
    std::vector<double> ahead, back;
};

// Room for one pair; `post` is (n + 1, m), the others are (m, width) with width = n + 1 padded, or vectors.
struct Room {
    std::vector<double> post, sums, chance, words, nulls, lasts, onward, outer, last, after, along;
    std::vector<Moves> moves;  // by n
    std::size_t width = 0;

    void fit(std::size_t n, std::size_t m) {
        width = (n + PAD) / PAD * PAD;
        grow(post, (n + 1) * m);
        grow(sums, m);
    }

    void fit_chain(std::size_t n, std::size_t m) {
        for (std::vector<double>* table : {&chance, &words, &nulls, &lasts, &onward}) grow(*table, m * width);
        for (std::vector<double>* row : {&last, &after, &outer}) grow(*row, width);
        grow(along, 2 * width + n);
        if (moves.size() <= n) moves.resize(n + 1);
    }

    static void grow(std::vector<double>& vector, std::size_t size) {
        if (vector.size() < size) vector.resize(size + size / 2);
    }
};

// Ask for the probabilities that a pair will look up: they come while the pair before it is worked on.
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

// out[k] = sum over r of used[r * stride] rows[r, k], in R registers of the widest kind side by side.
template <int R>
inline void sum_rows_in(const double* rows, std::size_t n_rows, std::size_t width, const double* used,
                        std::size_t stride, double* out) {
    constexpr int N = R * int(PAD) / WIDTH;
    Lanes even[N] = {}, odd[N] = {};
    std::size_t r = 0;
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
    constexpr int MOST = WIDTH / 2;  // twice as many sums as this and their factors stay in registers
    std::size_t k = 0;
    for (; k + MOST * PAD <= width; k += MOST * PAD)
        sum_rows_in<MOST>(rows + k, n_rows, width, used, stride, out + k);
    for (; k < width; k += PAD) sum_rows_in<1>(rows + k, n_rows, width, used, stride, out + k);
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

// Find how sentences of n words go on; once for each n.
inline const Moves& find_moves(Room& room, const Span<const double>& place, std::size_t n) {
    Moves& found = room.moves[n];
    if (!found.ahead.empty()) return found;
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

// words[j, i - 1], nulls[j, i'] scaled to sum to one, lasts[j, i'] what came before, and the scales in sums. Returns
// the log-evidence.
inline double forward(Room& room, const Moves& moves, double p0, std::size_t n, std::size_t m) {
    const std::size_t width = room.width;
    LogProduct product;
    double* last = room.last.data();
    std::fill(last, last + width, 0.0);
    last[0] = 1.0;
    for (std::size_t j = 0; j < m; ++j) {
        double *words = room.words.data() + j * width, *nulls = room.nulls.data() + j * width;
        const double* chance = room.chance.data() + j * width;
        std::copy(last, last + width, room.lasts.data() + j * width);
        sum_rows(moves.ahead.data(), n + 1, width, last, 1, words);
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

// Overwrite the chances in post with posteriors, once `forward` went through.
inline void backward(Room& room, const Moves& moves, double p0, std::size_t n, std::size_t m) {
    const std::size_t width = room.width;
    double *after = room.after.data(), *fresh = room.last.data();
    std::fill(after, after + width, 1.0);
    for (std::size_t j = m; j-- > 0;) {
        const double *words = room.words.data() + j * width, *nulls = room.nulls.data() + j * width;
        const double* chance = room.chance.data() + j * width;
        double* onward = room.onward.data() + j * width;
        const double stay = room.post[j] * p0 / room.sums[j], scale = 1 / room.sums[j];
        const double none = dot(nulls, after, width);
        for (std::size_t i = 0; i < n; ++i) room.post[(i + 1) * m + j] = words[i] * after[i + 1];
        room.post[j] = none;
        for (std::size_t k = 0; k < n; ++k) onward[k] = chance[k] * after[k + 1] * scale;
        std::fill(onward + n, onward + width, 0.0);
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

inline const Moves& look_up_chain(const Bitext& text, const Pair& pair, Room& room, const double* counts) {
    room.fit_chain(pair.n, pair.m);
    look_up(text, pair, room.post.data(), counts);
    turn(room, pair.n, pair.m);
    return find_moves(room, text.place, pair.n);
}

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
        const Moves& moves = look_up_chain(text, pair, room, counts);
        const double found = forward(room, moves, p0, n, m);
        if (found == -INF) return -INF;
        backward(room, moves, p0, n, m);
        if (stats != nullptr) {
            for (std::size_t j = 0; j < m; ++j) stats[0] += weight * post[j];
            add_jumps(room, moves, n_jumps, n, m, weight, stats, stats + 1 + n_jumps + text.cells[p]);
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

namespace {

// Model 1 in two goes over the links of a pair: look up and sum, then share and count.
inline double soft_uniform(const Bitext& text, std::size_t p, double weight, Room& room, double* counts) {
    const Pair pair(text, p);
    const std::size_t n = pair.n, m = pair.m;
    room.fit(n, m);
    double *post = room.post.data(), *sums = room.sums.data();
    for (std::size_t j = 0; j < m; ++j) sums[j] = post[j] = text.null ? text.table[pair.target[j]] : 0.0;
    for (std::size_t i = 0; i < n; ++i) {
        const std::int32_t* slots = pair.slots + i * m;
        double* own = post + (i + 1) * m;
        for (std::size_t j = 0; j < m; ++j) ask_to_write(counts + slots[j]);
        for (std::size_t j = 0; j < m; ++j) {
            own[j] = text.table[slots[j]];
            sums[j] += own[j];
        }
    }
    LogProduct product;
    for (std::size_t j = 0; j < m; ++j) product.times(sums[j]);
    const double found = product.log() - double(m) * std::log(double(n + text.null));
    if (!(found > -INF)) return -INF;
    for (std::size_t j = 0; j < m; ++j) sums[j] = weight / sums[j];
    if (text.null)
        for (std::size_t j = 0; j < m; ++j) counts[pair.target[j]] += post[j] * sums[j];
    for (std::size_t i = 0; i < n; ++i) {
        const std::int32_t* slots = pair.slots + i * m;
        const double* own = post + (i + 1) * m;
        for (std::size_t j = 0; j < m; ++j) counts[slots[j]] += own[j] * sums[j];
    }
    return found;
}

}  // namespace

void links_soft(const Bitext& text, Span<const double> weight, Span<double> counts, Span<double> stats,
                Span<double> log_evidence) {
    Room room;
    for (std::size_t p = 0; p < text.pairs.rows; ++p) {
        if (text.kind == 0 && text.allowed.size == 0) {
            log_evidence[p] = soft_uniform(text, p, weight[p], room, counts.data);
            continue;
        }
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
            chosen[j] = std::int32_t(state - n);
            const double* own = moves.back.data() + (state - n - 1) * width;
            std::copy(own, own + n + 1, into);
        }
    }
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
            const Moves& moves = look_up_chain(text, pair, room, nullptr);
            log_joint[p] = best_way(room, moves, text.place[0], n, m, out);
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
            const Moves& moves = look_up_chain(text, pair, room, nullptr);
            log_evidence[p] = forward(room, moves, text.place[0], n, m);
            if (log_evidence[p] > -INF) drawn_way(room, moves, n, m, uniform, out);
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
