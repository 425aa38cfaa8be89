// Sums, best segmentations and searches over joint units of letters and phones: formulas in graphones.py.
#include "graphones.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>
#include <vector>

namespace halfseen {

namespace {

constexpr double INF = std::numeric_limits<double>::infinity();
constexpr std::int32_t END = 0;  // the unit at the end of every word; as a context, its beginning

double added(double a, double b) {
    if (a < b) std::swap(a, b);
    return b == -INF ? a : a + std::log1p(std::exp(b - a));
}

// The node from which step s leads to node (i, j), counted from the first node of the pair; -1: none.
std::int64_t before(const Pairs& pairs, std::size_t s, std::int64_t i, std::int64_t j, std::int64_t n_phones) {
    const std::int64_t from_i = i - pairs.steps[s][0], from_j = j - pairs.steps[s][1];
    return from_i < 0 || from_j < 0 ? -1 : from_i * (n_phones + 1) + from_j;
}

// Mark the units of a way back from the last node; `choice` gives the step into a node.
template <class Choice>
void mark(const Pairs& pairs, std::int64_t first, std::int64_t n_letters, std::int64_t n_phones, Choice choice,
          std::int32_t* taken) {
    for (std::int64_t i = n_letters, j = n_phones; i > 0 || j > 0;) {
        const std::int64_t node = i * (n_phones + 1) + j, s = choice(node);
        taken[first + node] = pairs.units[first + node][s];
        i -= pairs.steps[s][0];
        j -= pairs.steps[s][1];
    }
}

}  // namespace

void graphone_soft(const Pairs& pairs, Span<const double> logs, Span<const double> weight, Span<double> usage,
                Span<double> log_evidence) {
    const std::size_t n_steps = pairs.steps.rows;
    std::vector<double> alpha, share, flow;
    for (std::size_t b = 0; b < pairs.sizes.rows; ++b) {
        const std::int64_t n_letters = pairs.sizes[b][0], n_phones = pairs.sizes[b][1], first = pairs.firsts[b];
        const std::int64_t size = (n_letters + 1) * (n_phones + 1);
        alpha.assign(size, -INF);
        share.assign(size * n_steps, 0.0);
        alpha[0] = 0.0;
        for (std::int64_t node = 1; node < size; ++node) {
            const std::int32_t* own = pairs.units[first + node];
            double* part = &share[node * n_steps];
            double top = -INF, sum = 0;
            for (std::size_t s = 0; s < n_steps; ++s) {
                part[s] = -INF;
                if (own[s] < 0) continue;
                const std::int64_t from = before(pairs, s, node / (n_phones + 1), node % (n_phones + 1), n_phones);
                part[s] = alpha[from] + logs[own[s]];
                top = std::max(top, part[s]);
            }
            for (std::size_t s = 0; s < n_steps; ++s) sum += part[s] = top == -INF ? 0.0 : std::exp(part[s] - top);
            if (top == -INF) continue;
            for (std::size_t s = 0; s < n_steps; ++s) part[s] /= sum;
            alpha[node] = top + std::log(sum);
        }
        log_evidence[b] = alpha[size - 1] + logs[END];
        if (!(log_evidence[b] > -INF)) continue;
        flow.assign(size, 0.0);
        flow[size - 1] = weight[b];
        usage[END] += weight[b];
        for (std::int64_t node = size - 1; node > 0; --node) {
            if (flow[node] == 0) continue;
            const std::int32_t* own = pairs.units[first + node];
            for (std::size_t s = 0; s < n_steps; ++s) {
                const double used = share[node * n_steps + s] * flow[node];
                if (own[s] < 0 || used == 0) continue;
                usage[own[s]] += used;
                flow[before(pairs, s, node / (n_phones + 1), node % (n_phones + 1), n_phones)] += used;
            }
        }
    }
}

void graphone_hard(const Pairs& pairs, Span<const double> logs, Span<double> log_joint, Span<std::int32_t> taken) {
    const std::size_t n_steps = pairs.steps.rows;
    std::vector<double> best;
    std::vector<std::size_t> by;
    for (std::size_t b = 0; b < pairs.sizes.rows; ++b) {
        const std::int64_t n_letters = pairs.sizes[b][0], n_phones = pairs.sizes[b][1], first = pairs.firsts[b];
        const std::int64_t size = (n_letters + 1) * (n_phones + 1);
        best.assign(size, -INF);
        by.assign(size, 0);
        best[0] = 0.0;
        std::fill(taken.data + first, taken.data + first + size, -1);
        for (std::int64_t node = 1; node < size; ++node)
            for (std::size_t s = 0; s < n_steps; ++s) {
                const std::int32_t unit = pairs.units[first + node][s];
                if (unit < 0) continue;
                const std::int64_t from = before(pairs, s, node / (n_phones + 1), node % (n_phones + 1), n_phones);
                const double value = best[from] + logs[unit];
                if (value > best[node]) best[node] = value, by[node] = s;
            }
        log_joint[b] = best[size - 1] + logs[END];
        if (log_joint[b] > -INF)
            mark(pairs, first, n_letters, n_phones, [&](std::int64_t node) { return by[node]; }, taken.data);
    }
}

namespace {

// The child of a node with this last unit; -1: none.
std::int64_t child(const Contexts& contexts, std::int64_t node, std::int32_t unit) {
    const std::int32_t* all = contexts.unit.data;
    const std::int32_t *first = all + contexts.children[node], *last = all + contexts.children[node + 1];
    const std::int32_t* found = std::lower_bound(first, last, unit);
    return found != last && *found == unit ? found - all : -1;
}

// The longest context that any unit follows.
std::int64_t settled(const Contexts& contexts, std::int64_t node) {
    while (contexts.children[node] == contexts.children[node + 1]) node = contexts.shorter[node];
    return node;
}

// Go on by a unit: add its log-probability, return the next context; -1 where no context has the unit.
std::int64_t step(const Contexts& contexts, std::int64_t node, std::int32_t unit, double& log_p) {
    for (;;) {
        const std::int64_t found = child(contexts, node, unit);
        if (found >= 0) {
            log_p += contexts.log_p[found];
            return unit == END ? found : settled(contexts, found);
        }
        if (node == 0) return -1;
        log_p += contexts.log_back[node];
        node = contexts.shorter[node];
    }
}

struct Arrival {
    std::int64_t context;
    double log_p;
    std::size_t by;    // the step it came by
    std::size_t from;  // which of the arrivals at the node before
};

// Every context in which a node can be reached, with the log of the sum, or the best, over the ways there.
template <bool BEST>
struct Trellis {
    const Pairs& pairs;
    const Contexts& contexts;
    std::vector<std::vector<Arrival>> at;
    std::vector<Arrival> room;

    double run(std::size_t b) {
        const std::int64_t n_phones = pairs.sizes[b][1], first = pairs.firsts[b];
        const std::int64_t size = (pairs.sizes[b][0] + 1) * (n_phones + 1);
        if (at.size() < std::size_t(size)) at.resize(size);
        at[0].assign(1, {settled(contexts, child(contexts, 0, END)), 0.0, 0, 0});
        for (std::int64_t node = 1; node < size; ++node) {
            room.clear();
            for (std::size_t s = 0; s < pairs.steps.rows; ++s) {
                const std::int32_t unit = pairs.units[first + node][s];
                if (unit < 0) continue;
                const std::int64_t from = before(pairs, s, node / (n_phones + 1), node % (n_phones + 1), n_phones);
                for (std::size_t k = 0; k < at[from].size(); ++k) {
                    double log_p = at[from][k].log_p;
                    const std::int64_t next = step(contexts, at[from][k].context, unit, log_p);
                    if (next >= 0) room.push_back({next, log_p, s, k});
                }
            }
            merge(at[node]);
        }
        return ended(at[size - 1]);
    }

    void merge(std::vector<Arrival>& out) {
        std::stable_sort(room.begin(), room.end(),
                         [](const Arrival& a, const Arrival& b) { return a.context < b.context; });
        out.clear();
        for (const Arrival& one : room) {
            if (out.empty() || out.back().context != one.context) out.push_back(one);
            else if (!BEST) out.back().log_p = added(out.back().log_p, one.log_p);
            else if (one.log_p > out.back().log_p) out.back() = one;
        }
    }

    std::size_t last = 0;  // the best of the arrivals at the end

    double ended(const std::vector<Arrival>& arrivals) {
        double total = -INF;
        for (std::size_t k = 0; k < arrivals.size(); ++k) {
            double log_p = arrivals[k].log_p;
            if (step(contexts, arrivals[k].context, END, log_p) < 0) continue;
            if (BEST && log_p > total) last = k;
            total = BEST ? std::max(total, log_p) : added(total, log_p);
        }
        return total;
    }
};

}  // namespace

void ngram_sum(const Pairs& pairs, const Contexts& contexts, Span<double> log_evidence) {
    Trellis<false> trellis{pairs, contexts, {}, {}};
    for (std::size_t b = 0; b < pairs.sizes.rows; ++b) log_evidence[b] = trellis.run(b);
}

void ngram_best(const Pairs& pairs, const Contexts& contexts, Span<double> log_joint, Span<std::int32_t> taken) {
    Trellis<true> trellis{pairs, contexts, {}, {}};
    for (std::size_t b = 0; b < pairs.sizes.rows; ++b) {
        const std::int64_t first = pairs.firsts[b];
        std::fill(taken.data + first, taken.data + pairs.firsts[b + 1], -1);
        log_joint[b] = trellis.run(b);
        if (!(log_joint[b] > -INF)) continue;
        std::size_t k = trellis.last;
        const auto choice = [&](std::int64_t node) {
            const Arrival& one = trellis.at[node][k];
            k = one.from;
            return one.by;
        };
        mark(pairs, first, pairs.sizes[b][0], pairs.sizes[b][1], choice, taken.data);
    }
}

namespace {

struct Partial {  // a hypothesis: phones so far, context, log of the sum over segmentations that lead there
    std::int64_t phones, context;
    double log_p;
};

bool better(const Partial& a, const Partial& b) {
    if (a.log_p != b.log_p) return a.log_p > b.log_p;
    return a.phones != b.phones ? a.phones < b.phones : a.context < b.context;
}

struct PairHash {
    std::size_t operator()(const std::pair<std::int64_t, std::int64_t>& key) const {
        return std::size_t(key.first) * 0x9E3779B97F4A7C15ull ^ std::size_t(key.second) * 0xC2B2AE3D27D4EB4Full;
    }
};

struct Search {
    const Contexts& contexts;
    Span<const std::int64_t> phone_firsts;
    Span<const std::int32_t> phones;
    std::size_t beam;
    std::vector<std::int64_t> parent{-1};  // sequences of phones, each as one phone after another sequence
    std::vector<std::int32_t> last{-1};
    std::unordered_map<std::pair<std::int64_t, std::int64_t>, std::int64_t, PairHash> known;
    std::unordered_map<std::pair<std::int64_t, std::int64_t>, std::size_t, PairHash> place;

    std::int64_t sequence(std::int64_t before, std::int32_t unit) {
        for (std::int64_t q = phone_firsts[unit]; q < phone_firsts[unit + 1]; ++q) {
            const auto [at, fresh] = known.try_emplace({before, phones[q]}, std::int64_t(parent.size()));
            if (fresh) {
                parent.push_back(before);
                last.push_back(phones[q]);
            }
            before = at->second;
        }
        return before;
    }

    // Add what follows hypotheses by the units first .. last of a piece of letters, if it is above `floor`.
    void expand(const std::vector<Partial>& from, std::int64_t first, std::int64_t last, double floor,
                std::vector<Partial>& out) {
        std::vector<double> log_p(last - first);
        std::vector<std::int64_t> next(last - first);
        for (const Partial& one : from) {
            std::fill(next.begin(), next.end(), -1);
            double back = one.log_p;
            for (std::int64_t node = one.context;; node = contexts.shorter[node]) {
                const std::int32_t* all = contexts.unit.data;
                const std::int32_t* end = all + contexts.children[node + 1];
                const std::int32_t* own = std::lower_bound(all + contexts.children[node], end, std::int32_t(first));
                for (; own != end && *own < last; ++own)
                    if (next[*own - first] < 0) {
                        next[*own - first] = own - all;
                        log_p[*own - first] = back + contexts.log_p[own - all];
                    }
                if (node == 0) break;
                back += contexts.log_back[node];
            }
            for (std::int64_t u = first; u < last; ++u)
                if (next[u - first] >= 0 && log_p[u - first] > floor)
                    out.push_back({sequence(one.phones, std::int32_t(u)), settled(contexts, next[u - first]),
                                   log_p[u - first]});
        }
    }

    // Merge equal hypotheses and keep the best.
    void prune(std::vector<Partial>& all) {
        place.clear();
        std::size_t n = 0;
        for (const Partial& one : all) {
            const auto [at, fresh] = place.try_emplace({one.phones, one.context}, n);
            if (fresh) all[n++] = one;
            else all[at->second].log_p = added(all[at->second].log_p, one.log_p);
        }
        all.resize(n);
        if (n > beam) {
            std::nth_element(all.begin(), all.begin() + beam, all.end(), better);
            all.resize(beam);
        }
        std::sort(all.begin(), all.end(), better);
    }
};

}  // namespace

std::int64_t ngram_search(const Contexts& contexts, Matrix<const std::int64_t> ranges, Matrix<const std::int64_t> pieces,
                          Span<const std::int64_t> phone_firsts, Span<const std::int32_t> phones,
                          std::int64_t beam, std::int64_t inserted, Span<double> log_joint,
                          Matrix<std::int32_t> found) {
    Search search{contexts, phone_firsts, phones, std::size_t(beam), {-1}, {-1}, {}, {}};
    const std::size_t n_letters = pieces.rows, longest = pieces.cols;
    std::vector<std::vector<Partial>> at(n_letters + 1);
    at[0].push_back({0, settled(contexts, child(contexts, 0, END)), 0.0});
    std::vector<Partial> layer, next;
    for (std::size_t i = 0; i <= n_letters; ++i) {
        search.prune(at[i]);
        layer = at[i];
        for (std::int64_t r = 0; r < inserted && !layer.empty(); ++r) {
            const double floor = at[i].size() < search.beam ? -INF : at[i].back().log_p;
            next.clear();
            search.expand(layer, ranges[0][0], ranges[0][1], floor, next);
            search.prune(next);
            layer = next;
            at[i].insert(at[i].end(), next.begin(), next.end());
            search.prune(at[i]);
        }
        for (std::size_t k = 0; k < longest && i + k < n_letters; ++k) {
            const std::int64_t piece = pieces[i][k];
            if (piece >= 0) search.expand(at[i], ranges[piece][0], ranges[piece][1], -INF, at[i + k + 1]);
        }
    }
    std::vector<Partial> done;
    for (const Partial& one : at[n_letters]) {
        Partial last = one;
        last.context = 0;
        if (step(contexts, one.context, END, last.log_p) >= 0) done.push_back(last);
    }
    search.prune(done);
    const std::size_t n_found = std::min(done.size(), found.rows);
    double total = -INF;
    for (const Partial& one : done) total = added(total, one.log_p);
    for (std::size_t n = 0; n < n_found; ++n) {
        log_joint[n] = done[n].log_p;
        std::vector<std::int32_t> way;
        for (std::int64_t id = done[n].phones; id > 0; id = search.parent[id]) way.push_back(search.last[id]);
        std::fill(found[n], found[n] + found.cols, -1);
        std::reverse_copy(way.begin(), way.begin() + std::min(way.size(), found.cols), found[n]);
    }
    log_joint[found.rows] = total;
    return std::int64_t(n_found);
}

}  // namespace halfseen
