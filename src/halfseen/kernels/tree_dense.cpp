// Charts over sentences with rules for most triples of symbols, by matrix products. Formulas: tree.py. Compiled once per
// instruction set.
//
// For a span, pairs[b, c] = sum over splits of left[b] * right[c]; then inside[a] = sum over (b, c) of rule[a, b, c] *
// pairs[b, c]. That is n^3 N^2 + n^2 N^3 products for n words and N symbols in place of n^3 N^3. Spans of one width, of all
// sentences, go through together in tiles: rules are read once for all of them. Matrices lie in panels, PANEL columns side
// by side, so that what a register block reads lies together.
#include <algorithm>
#include <cmath>
#include <vector>

#include "lanes.hpp"
#include "tree_chart.hpp"

#if defined(__GNUC__) || defined(__clang__)
#define HALFSEEN_UNROLL _Pragma("GCC unroll 6")  // sums stay in registers
#else
#define HALFSEEN_UNROLL
#endif

namespace halfseen::HALFSEEN_ISA {

namespace {

constexpr int ROWS = 6;               // of a register block: 12 sums, 2 loads, 1 factor fit 16 registers
constexpr int PANEL = 2 * WIDTH;      // its columns
constexpr std::size_t TILE = 24;      // spans that go through together
constexpr std::size_t BLOCK = 240;    // pairs at a time: a block of a panel stays in L1
constexpr int EMPTY = std::numeric_limits<int>::min() / 4;  // scale of a span without any value

// out[r][0 .. PANEL) += sum over k of a[r * row + k * step] * b[k * PANEL ...], R rows.
template <int R>
inline void block(std::size_t n, const double* a, std::size_t row, std::size_t step, const double* b, double* out,
                  std::size_t out_row) {
    Lanes sum[R][2];
    HALFSEEN_UNROLL
    for (int r = 0; r < R; ++r) {
        sum[r][0] = load(out + r * out_row);
        sum[r][1] = load(out + r * out_row + WIDTH);
    }
    for (std::size_t k = 0; k < n; ++k) {
        const Lanes b0 = load(b + k * PANEL), b1 = load(b + k * PANEL + WIDTH);
        HALFSEEN_UNROLL
        for (int r = 0; r < R; ++r) {
            const Lanes factor = all(a[r * row + k * step]);
            sum[r][0] += factor * b0;
            sum[r][1] += factor * b1;
        }
    }
    HALFSEEN_UNROLL
    for (int r = 0; r < R; ++r) {
        store(out + r * out_row, sum[r][0]);
        store(out + r * out_row + WIDTH, sum[r][1]);
    }
}

// The same for any number of rows.
inline void rows_of(std::size_t n_rows, std::size_t n, const double* a, std::size_t row, std::size_t step, const double* b,
                    double* out, std::size_t out_row) {
    std::size_t r = 0;
    for (; r + ROWS <= n_rows; r += ROWS) block<ROWS>(n, a + r * row, row, step, b, out + r * out_row, out_row);
    a += r * row;
    out += r * out_row;
    switch (n_rows - r) {
        case 1: return block<1>(n, a, row, step, b, out, out_row);
        case 2: return block<2>(n, a, row, step, b, out, out_row);
        case 3: return block<3>(n, a, row, step, b, out, out_row);
        case 4: return block<4>(n, a, row, step, b, out, out_row);
        case 5: return block<5>(n, a, row, step, b, out, out_row);
        default: return;
    }
}

struct Place {  // of a span
    std::size_t s, i, j;
};

class Chart {
public:
    Chart(Span<const double> table, Span<const double> closure, const TreeForms& forms, const TreeSentences& sentences)
        : table_(table.data), closure_(closure.data), forms_(forms), n_(forms.n_symbols()),
          wide_((n_ + PANEL - 1) / PANEL * PANEL), n_pairs_(n_ * wide_) {
        phrasal_.assign(n_, 0);
        up_.assign(n_pairs_ * wide_, 0.0);
        down_.assign(n_pairs_ * n_, 0.0);
        for (std::size_t r = 0; r < forms.binary.rows; ++r) {
            const std::int32_t* form = forms.binary[r];
            const std::size_t pair = form[0] * wide_ + form[1], a = form[2];
            if (table_[form[3]] > 0) phrasal_[a] = 1;
            up_[(a / PANEL * n_pairs_ + pair) * PANEL + a % PANEL] += table_[form[3]];
            down_[(pair / PANEL * n_ + a) * PANEL + pair % PANEL] += table_[form[3]];
        }
        std::size_t first = 0;
        for (std::size_t s = 0; s < sentences.size(); ++s) {
            sentences_.emplace_back(sentences, s);
            first_.push_back(first);
            first += sentences_[s].n_spans();
            longest_ = std::max(longest_, sentences_[s].n);
        }
        inside_.assign(first * wide_, 0.0);
        scale_.assign(first, EMPTY);
        error_.assign(first, 0.0);
        lost_.assign(sentences.size(), 0);
        floored_.assign(sentences.size(), 0);
        pairs_.resize(TILE * n_pairs_);
        tile_.resize(TILE * wide_);
        left_.resize(longest_ * wide_);
        right_.resize(longest_ * wide_);
        packed_.resize(std::max(std::max(longest_, wide_) * wide_, TILE * PANEL));
    }

    void fill() {
        for (std::size_t s = 0; s < sentences_.size(); ++s) {
            for (std::size_t i = 0; i < sentences_[s].n; ++i) fill_word(s, i);
        }
        for (std::size_t width = 2; width <= longest_; ++width) {
            tiles(width, [&](const Place& p) { return !sentences_[p.s].barred(p.i, p.j) && best_scale(p) > EMPTY; },
                  [&] { fill_tile(); });
        }
    }

    double root(std::size_t s) const {
        const std::size_t n = sentences_[s].n;
        return n && !lost_[s] ? inside_[at({s, 0, n}) * wide_ + forms_.start()] : 0.0;
    }

    double log_root(std::size_t s) const { return std::log(root(s)) + LN2 * scale_[at({s, 0, sentences_[s].n})]; }

    bool floored(std::size_t s) const { return floored_[s]; }

    // Leave to the logs the sentences whose sums floors make a difference to; return whether there are any. Comes after
    // `give_back` with the same weights.
    bool doubt(Span<const double> weight) {
        bool any = false;
        for (std::size_t s = 0; s < sentences_.size(); ++s) {
            if (!floored_[s] || !(weight[s] > 0) || !(root(s) > 0)) continue;
            bool sound = true;
            for (std::size_t span = first_[s]; span < first_[s] + sentences_[s].n_spans(); ++span) {
                for (std::size_t a = 0; a < n_ && error_[span] > 0; ++a) {
                    if (!(outside_[span * wide_ + a] * error_[span] <= weight[s] * NOTHING)) sound = false;
                }
            }
            lost_[s] = !sound;
            any |= !sound;
        }
        return any;
    }

    void give_back(Span<const double> weight, double* counts) {
        outside_.assign(inside_.size(), 0.0);
        uses_.assign(n_pairs_ * n_, 0.0);
        across_.resize(TILE * n_pairs_);
        transposed_.resize(wide_ * wide_);
        for (std::size_t s = 0; s < sentences_.size(); ++s) {
            if (weight[s] > 0 && root(s) > 0) {
                outside_[at({s, 0, sentences_[s].n}) * wide_ + forms_.start()] = weight[s] / root(s);
            }
        }
        for (std::size_t width = longest_; width > 1; --width) {
            tiles(width, [&](const Place& p) { return weight[p.s] > 0 && root(p.s) > 0 && scale_[at(p)] > EMPTY; },
                  [&] { give_back_tile(counts); });
        }
        for (std::size_t s = 0; s < sentences_.size(); ++s) {
            for (std::size_t i = 0; i < sentences_[s].n && weight[s] > 0 && root(s) > 0; ++i) give_back_word(s, i, counts);
        }
        for (std::size_t r = 0; r < forms_.binary.rows; ++r) {
            const std::int32_t* form = forms_.binary[r];
            const std::size_t pair = form[0] * wide_ + form[1];
            counts[form[3]] += table_[form[3]] * uses_[(pair / PANEL * n_ + form[2]) * PANEL + pair % PANEL];
        }
    }

private:
    const double *table_, *closure_;
    const TreeForms& forms_;
    std::size_t n_, wide_, n_pairs_, longest_ = 0;
    std::vector<double> up_, down_, uses_;              // rules as (pairs, symbols), as (symbols, pairs); sums like the latter
    std::vector<Sentence> sentences_;
    std::vector<std::size_t> first_;
    std::vector<double> inside_, outside_;
    std::vector<int> scale_;
    std::vector<double> error_;              // by which a value of a span may be too large
    std::vector<char> lost_, floored_;       // of sentences
    std::vector<char> phrasal_;              // symbols that may stand over two words or more
    bool floored_here_ = false;
    std::vector<Place> places_;
    std::vector<double> pairs_, across_, tile_;         // of the spans of a tile
    std::vector<double> left_, right_, packed_, transposed_;  // of the splits of a span
    std::vector<double> held_;
    std::vector<double> factor_;

    std::size_t at(const Place& p) const { return first_[p.s] + sentences_[p.s].span(p.i, p.j); }

    // Go through the spans of a width that are wanted, a tile at a time.
    template <class Wanted, class Task>
    void tiles(std::size_t width, Wanted wanted, Task task) {
        places_.clear();
        for (std::size_t s = 0; s < sentences_.size(); ++s) {
            for (std::size_t i = 0; i + width <= sentences_[s].n && !lost_[s]; ++i) {
                const Place place{s, i, i + width};
                if (!wanted(place)) continue;
                places_.push_back(place);
                if (places_.size() == TILE) {
                    task();
                    places_.clear();
                }
            }
        }
        if (!places_.empty()) task();
    }

    int best_scale(const Place& p) const {
        int scale = EMPTY;
        for (std::size_t k = p.i + 1; k < p.j; ++k) scale = std::max(scale, scale_[at({p.s, p.i, k})] + scale_[at({p.s, k, p.j})]);
        return scale;
    }

    void fill_word(std::size_t s, std::size_t i) {
        const Sentence& sentence = sentences_[s];
        const std::size_t span = at({s, i, i + 1});
        double* value = inside_.data() + span * wide_;
        for (std::size_t e = sentence.first_entry(i); e < sentence.last_entry(i); ++e) {
            value[sentence.all.entries[e][0]] += table_[sentence.all.entries[e][1]];
        }
        floored_here_ = false;
        settle(s, span, 0);
    }

    // Bring the rows of all splits together: left ones times their power of two, and both.
    std::size_t gather(const Place& p, int scale) {
        std::size_t n_splits = 0;
        factor_.clear();
        for (std::size_t k = p.i + 1; k < p.j; ++k) {
            const std::size_t left = at({p.s, p.i, k}), right = at({p.s, k, p.j});
            const int power = scale_[left] + scale_[right] - scale;
            const double factor = scale_[left] == EMPTY || scale_[right] == EMPTY ? 0.0 : std::ldexp(1.0, power);
            factor_.push_back(factor);
            const double* from_left = inside_.data() + left * wide_;
            const double* from_right = inside_.data() + right * wide_;
            for (std::size_t a = 0; a < wide_; ++a) left_[n_splits * wide_ + a] = factor * from_left[a];
            std::copy(from_right, from_right + wide_, right_.data() + n_splits * wide_);
            ++n_splits;
        }
        return n_splits;
    }

    // Turn rows into panels.
    void pack(const double* rows, std::size_t n_rows) {
        for (std::size_t panel = 0; panel < wide_ / PANEL; ++panel) {
            for (std::size_t k = 0; k < n_rows; ++k) {
                const double* from = rows + k * wide_ + panel * PANEL;
                double* to = packed_.data() + (panel * n_rows + k) * PANEL;
                for (int c = 0; c < PANEL; ++c) to[c] = from[c];
            }
        }
    }

    // pairs[b, c] of a span.
    void pair_up(const Place& p, int scale, double* pairs) {
        const std::size_t n_splits = gather(p, scale);
        std::fill(pairs, pairs + n_pairs_, 0.0);
        pack(right_.data(), n_splits);
        for (std::size_t panel = 0; panel < wide_ / PANEL; ++panel) {
            rows_of(n_, n_splits, left_.data(), 1, wide_, packed_.data() + panel * n_splits * PANEL, pairs + panel * PANEL, wide_);
        }
    }

    void fill_tile() {
        const std::size_t size = places_.size();
        for (std::size_t t = 0; t < size; ++t) pair_up(places_[t], best_scale(places_[t]), pairs_.data() + t * n_pairs_);
        std::fill(tile_.begin(), tile_.begin() + size * wide_, 0.0);
        for (std::size_t begin = 0; begin < n_pairs_; begin += BLOCK) {
            const std::size_t n = std::min(BLOCK, n_pairs_ - begin);
            for (std::size_t panel = 0; panel < wide_ / PANEL; ++panel) {
                rows_of(size, n, pairs_.data() + begin, n_pairs_, 1, up_.data() + (panel * n_pairs_ + begin) * PANEL,
                        tile_.data() + panel * PANEL, wide_);
            }
        }
        for (std::size_t t = 0; t < size; ++t) {
            const std::size_t span = at(places_[t]);
            std::copy(tile_.data() + t * wide_, tile_.data() + (t + 1) * wide_, inside_.data() + span * wide_);
            floored_here_ = false;
            for (std::size_t a = 0; a < n_; ++a) {
                if (phrasal_[a]) inside_[span * wide_ + a] = kept(inside_[span * wide_ + a]);
            }
            settle(places_[t].s, span, best_scale(places_[t]));
        }
    }

    // A number above 0, or a sum that lost what was too small: it is never 0.
    double kept(double value) {
        if (value >= NEAR_FLOOR) return value;
        floored_here_ = true;
        return std::max(value, FLOOR);
    }

    // Add what unary forms bring, and bring the values of a span back to a largest of about one.
    void settle(std::size_t s, std::size_t span, int scale) {
        double* value = inside_.data() + span * wide_;
        for (std::size_t q = 0; q < forms_.stages.rows; ++q) {
            const Stage stage(forms_.stages[q]);
            for (std::size_t u = stage.first; u < stage.first + stage.n_cross; ++u) {
                const std::int32_t* form = forms_.unary[u];
                if (table_[form[2]] > 0 && value[form[1]] > 0) value[form[0]] += kept(table_[form[2]] * value[form[1]]);
            }
            if (stage.size) multiply(value, stage, false);
        }
        const double largest = *std::max_element(value, value + n_);
        if (largest == 0) return;
        int exponent = 0;
        std::frexp(largest, &exponent);
        if (!std::isfinite(largest)) {
            lost_[s] = 1;
            return;
        }
        const double factor = std::ldexp(1.0, -exponent);
        for (std::size_t a = 0; a < n_; ++a) {
            if (value[a] > 0) value[a] = kept(value[a] * factor);
        }
        scale_[span] = scale + exponent;
        if (floored_here_) {
            floored_[s] = 1;
            error_[span] = NEAR_FLOOR * std::max(factor, 1.0);
        }
    }

    void multiply(double* value, const Stage& stage, bool from_above) {
        const std::int32_t* member = forms_.members.data + stage.member;
        const double* closure = closure_ + stage.entry;
        held_.assign(stage.size, 0.0);
        for (std::size_t a = 0; a < stage.size; ++a) {
            for (std::size_t b = 0; b < stage.size; ++b) {
                const double chains = from_above ? closure[b * stage.size + a] : closure[a * stage.size + b];
                if (chains > 0 && value[member[b]] > 0) {
                    held_[a] += from_above ? chains * value[member[b]] : kept(chains * value[member[b]]);
                }
            }
        }
        for (std::size_t a = 0; a < stage.size; ++a) value[member[a]] = held_[a];
    }

    // The closure from above, and the uses of unary forms.
    void open_up(const double* value, double* above, double* counts) {
        for (std::size_t q = forms_.stages.rows; q-- > 0;) {
            const Stage stage(forms_.stages[q]);
            if (stage.size) multiply(above, stage, true);
            for (std::size_t u = stage.first; u < stage.first + stage.n_cross; ++u) {
                const std::int32_t* form = forms_.unary[u];
                above[form[1]] += table_[form[2]] * above[form[0]];
            }
        }
        for (std::size_t u = 0; u < forms_.unary.rows; ++u) {
            const std::int32_t* form = forms_.unary[u];
            counts[form[2]] += table_[form[2]] * above[form[0]] * value[form[1]];
        }
    }

    void give_back_word(std::size_t s, std::size_t i, double* counts) {
        const Sentence& sentence = sentences_[s];
        const std::size_t span = at({s, i, i + 1});
        if (scale_[span] == EMPTY) return;
        double* above = outside_.data() + span * wide_;
        open_up(inside_.data() + span * wide_, above, counts);
        const double factor = std::ldexp(1.0, -scale_[span]);
        for (std::size_t e = sentence.first_entry(i); e < sentence.last_entry(i); ++e) {
            const std::int32_t* entry = sentence.all.entries[e];
            counts[entry[1]] += table_[entry[1]] * factor * above[entry[0]];
        }
    }

    void give_back_tile(double* counts) {
        const std::size_t size = places_.size();
        for (std::size_t t = 0; t < size; ++t) {
            const std::size_t span = at(places_[t]);
            open_up(inside_.data() + span * wide_, outside_.data() + span * wide_, counts);
            std::copy(outside_.data() + span * wide_, outside_.data() + (span + 1) * wide_, tile_.data() + t * wide_);
            pair_up(places_[t], scale_[span], pairs_.data() + t * n_pairs_);
        }
        std::fill(across_.begin(), across_.begin() + size * n_pairs_, 0.0);
        for (std::size_t panel = 0; panel < n_pairs_ / PANEL; ++panel) {
            rows_of(size, n_, tile_.data(), wide_, 1, down_.data() + panel * n_ * PANEL, across_.data() + panel * PANEL, n_pairs_);
        }
        for (std::size_t panel = 0; panel < n_pairs_ / PANEL; ++panel) {
            for (std::size_t t = 0; t < size; ++t) {  // the pairs of a panel side by side
                const double* from = pairs_.data() + t * n_pairs_ + panel * PANEL;
                for (int c = 0; c < PANEL; ++c) packed_[t * PANEL + c] = from[c];
            }
            rows_of(n_, size, tile_.data(), 1, wide_, packed_.data(), uses_.data() + panel * n_ * PANEL, PANEL);
        }
        for (std::size_t t = 0; t < size; ++t) hand_down(places_[t], across_.data() + t * n_pairs_);
    }

    // Give every split its share: to_right[c] = sum over b of left[b] across[b, c], to_left[b] = sum over c of ...
    void hand_down(const Place& p, const double* across) {
        const std::size_t n_splits = gather(p, scale_[at(p)]);
        pack(across, n_);
        share(p, n_splits, left_.data(), false);
        for (std::size_t b = 0; b < n_; ++b) {
            for (std::size_t c = 0; c < n_; ++c) transposed_[c * wide_ + b] = across[b * wide_ + c];
        }
        for (std::size_t k = 0; k < n_splits; ++k) {
            for (std::size_t a = 0; a < wide_; ++a) right_[k * wide_ + a] *= factor_[k];
        }
        pack(transposed_.data(), n_);
        share(p, n_splits, right_.data(), true);
    }

    void share(const Place& p, std::size_t n_splits, const double* rows, bool to_left) {
        held_.assign(n_splits * wide_, 0.0);
        for (std::size_t panel = 0; panel < wide_ / PANEL; ++panel) {
            rows_of(n_splits, n_, rows, wide_, 1, packed_.data() + panel * n_ * PANEL, held_.data() + panel * PANEL, wide_);
        }
        for (std::size_t k = 0; k < n_splits; ++k) {
            const std::size_t split = p.i + 1 + k;
            if (factor_[k] == 0) continue;
            double* to = outside_.data() + (to_left ? at({p.s, p.i, split}) : at({p.s, split, p.j})) * wide_;
            for (std::size_t a = 0; a < n_; ++a) to[a] += held_[k * wide_ + a];
        }
    }
};

}  // namespace

void tree_soft_dense(Span<const double> table, Span<const double> closure, const TreeForms& forms,
                     const TreeSentences& sentences, Span<const double> weight, Span<double> counts,
                     Span<double> log_evidence) {
    Chart chart(table, closure, forms, sentences);
    chart.fill();
    std::vector<double> tried(weight.data, weight.data + weight.size), found(counts.size, 0.0);
    bool used = false, again = false;
    for (std::size_t s = 0; s < sentences.size(); ++s) {
        if (!(weight[s] > 0) && chart.floored(s)) {  // to see whether that makes a difference
            tried[s] = 1.0;
            again = true;
        }
        used |= weight[s] > 0;
    }
    if (used || again) {
        const Span<const double> trial{tried.data(), tried.size()};
        chart.give_back(trial, found.data());
        again |= chart.doubt(trial);
    }
    if (used && again) {
        std::fill(found.begin(), found.end(), 0.0);
        chart.give_back(weight, found.data());
    }
    for (std::size_t c = 0; c < counts.size && used; ++c) counts[c] += found[c];
    for (std::size_t s = 0; s < sentences.size(); ++s) {
        log_evidence[s] = chart.root(s) > 0 ? chart.log_root(s) : LOST;
    }
}

}  // namespace halfseen::HALFSEEN_ISA
