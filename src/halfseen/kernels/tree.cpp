// Charts over sentences with few rules for each pair of symbols: cost in proportion to the rules that meet something.
// Formulas: tree.py.
//
// Values of a span are brought back to a largest of about one, by a power of two that the span remembers. What would be
// less than FLOOR beside the largest is taken as FLOOR: too much. On the way down it is seen whether that could have made a
// difference to the sum; if so, the sentence is left to the logs.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "tree_chart.hpp"

namespace halfseen {

namespace {

// The symbols that have a value over each span, in lists one after the other.
struct Lists {
    std::vector<std::int32_t> symbols;
    std::vector<std::size_t> begin, end;

    void open(std::size_t n_spans) {
        symbols.clear();
        begin.assign(n_spans, 0);
        end.assign(n_spans, 0);
    }
    bool empty(std::size_t span) const { return begin[span] == end[span]; }
};

class Chart {
public:
    Chart(Span<const double> table, Span<const double> closure, const TreeForms& forms)
        : table_(table.data), closure_(closure.data), n_cells_(table.size), forms_(forms), weight_(forms.binary.rows) {
        for (std::size_t r = 0; r < weight_.size(); ++r) weight_[r] = table_[forms.binary[r][3]];
    }

    // Sum from the words up. With `boolean` every value is 1: whether there is a tree. False: left to the logs.
    bool fill(const Sentence& sentence, bool boolean) {
        open(sentence);
        for (std::size_t width = 1; width <= sentence.n; ++width) {
            for (std::size_t i = 0; i + width <= sentence.n; ++i) {
                if (!fill_span(sentence, i, i + width, boolean)) return false;
            }
        }
        const double top = root(sentence);
        return top > 0 && std::isfinite(top);
    }

    double root(const Sentence& sentence) const {
        return sentence.n == 0 ? 0.0 : inside_[sentence.span(0, sentence.n) * forms_.n_symbols() + forms_.start()];
    }

    double log_root(const Sentence& sentence) const {
        return std::log(root(sentence)) + LN2 * scale_[sentence.span(0, sentence.n)];
    }

    // Add expected uses of all cells from the top down.
    // False: what was taken as FLOOR makes a difference.
    bool give_back(const Sentence& sentence, double weight, double* counts) {
        const std::size_t M = forms_.n_symbols();
        if (outside_.size() < inside_.size()) outside_.resize(inside_.size(), 0.0);
        outside_[sentence.span(0, sentence.n) * M + forms_.start()] = weight / root(sentence);
        for (std::size_t width = sentence.n; width > 0; --width) {
            for (std::size_t i = 0; i + width <= sentence.n; ++i) give_back_span(sentence, i, i + width, counts);
        }
        bool sound = true;
        for (std::size_t span = 0; span < sentence.n_spans(); ++span) {
            for (std::size_t a = lists_.begin[span]; a < lists_.end[span]; ++a) {
                double& above = outside_[span * M + lists_.symbols[a]];
                if (error_[span] > 0 && !(above * error_[span] <= weight * NOTHING)) sound = false;
                above = 0;
            }
        }
        return sound;
    }

    // Add expected uses, or nothing at weight 0. False: left to the logs.
    bool give_back_sound(const Sentence& sentence, double weight, double* counts) {
        if (!floored_) return weight > 0 ? give_back(sentence, weight, counts) : true;
        trial_.assign(n_cells_, 0.0);
        if (!give_back(sentence, weight > 0 ? weight : 1.0, trial_.data())) return false;
        for (std::size_t c = 0; c < n_cells_ && weight > 0; ++c) counts[c] += trial_[c];
        return true;
    }

    // Write a derivation drawn from its posterior; return where the next one begins.
    std::int64_t draw(const Sentence& sentence, const double* uniforms, Span<std::int64_t> steps, std::int64_t at) {
        waiting_.assign(1, {0, sentence.n, forms_.start()});
        while (!waiting_.empty()) {
            Node node = waiting_.back();
            waiting_.pop_back();
            double u = *uniforms++;
            std::int64_t form;
            std::size_t split = 0;
            while (true) {
                form = pick(sentence, node, u, split);
                if (static_cast<std::size_t>(at) < steps.size) steps[at] = form;
                ++at;
                if (form < std::int64_t(forms_.binary.rows) || form >= std::int64_t(forms_.binary.rows + forms_.unary.rows)) break;
                node.symbol = forms_.unary[form - forms_.binary.rows][1];
            }
            if (form < std::int64_t(forms_.binary.rows)) {
                waiting_.push_back({split, node.j, std::size_t(forms_.binary[form][1])});
                waiting_.push_back({node.i, split, std::size_t(forms_.binary[form][0])});
            }
        }
        return at;
    }

    // Forget the sentence: every value is 0 again.
    void clear(const Sentence& sentence) {
        const std::size_t M = forms_.n_symbols();
        for (std::size_t span = 0; span < sentence.n_spans(); ++span) {
            for (std::size_t a = lists_.begin[span]; a < lists_.end[span]; ++a) inside_[span * M + lists_.symbols[a]] = 0;
        }
    }

private:
    struct Node {
        std::size_t i, j, symbol;
    };

    const double *table_, *closure_;
    const std::size_t n_cells_;
    const TreeForms& forms_;
    std::vector<double> weight_;             // of each binary form
    std::vector<double> inside_, outside_;   // by span and symbol
    std::vector<int> scale_;                 // values of a span are to be multiplied by 2^scale
    std::vector<double> error_;              // by which a value of a span may be too large
    bool floored_ = false, floored_here_ = false;  // in the sentence, in the span
    Lists lists_;
    std::vector<double> held_, pairs_, trial_;
    std::vector<Node> waiting_;

    void open(const Sentence& sentence) {
        lists_.open(sentence.n_spans());
        scale_.assign(sentence.n_spans(), 0);
        error_.assign(sentence.n_spans(), 0.0);
        floored_ = false;
        const std::size_t size = sentence.n_spans() * forms_.n_symbols();
        if (inside_.size() < size) inside_.resize(size, 0.0);
    }

    // A product of numbers above 0, which is never 0.
    double kept(double product) {
        if (product >= NEAR_FLOOR) return product;
        floored_here_ = true;
        return std::max(product, FLOOR);
    }

    void add(double* value, std::int32_t symbol, double amount) {
        if (value[symbol] == 0) lists_.symbols.push_back(symbol);
        value[symbol] += amount;
    }

    bool fill_span(const Sentence& sentence, std::size_t i, std::size_t j, bool boolean) {
        const std::size_t span = sentence.span(i, j);
        double* value = inside_.data() + span * forms_.n_symbols();
        lists_.begin[span] = lists_.symbols.size();
        int scale = 0;
        floored_here_ = false;
        if (j == i + 1) {
            for (std::size_t e = sentence.first_entry(i); e < sentence.last_entry(i); ++e) {
                const std::int32_t* entry = sentence.all.entries[e];
                if (table_[entry[1]] > 0) add(value, entry[0], kept(table_[entry[1]]));
            }
        } else {
            scale = join(sentence, i, j, value);
        }
        if (sentence.barred(i, j)) {
            bar(value, lists_.begin[span]);
        } else {
            close(value, lists_.begin[span]);
        }
        lists_.end[span] = lists_.symbols.size();
        std::sort(lists_.symbols.begin() + lists_.begin[span], lists_.symbols.end());
        return settle(span, value, scale, boolean);
    }

    // Add what all splits and forms bring; return the power of two that it is to be multiplied by.
    int join(const Sentence& sentence, std::size_t i, std::size_t j, double* value) {
        int scale = std::numeric_limits<int>::min();
        for (std::size_t k = i + 1; k < j; ++k) {
            const std::size_t left = sentence.span(i, k), right = sentence.span(k, j);
            if (!lists_.empty(left) && !lists_.empty(right)) scale = std::max(scale, scale_[left] + scale_[right]);
        }
        if (scale == std::numeric_limits<int>::min()) return 0;
        if (forms_.dense) pairs_.assign(forms_.n_symbols() * forms_.n_symbols(), 0.0);
        for (std::size_t k = i + 1; k < j; ++k) {
            const std::size_t left = sentence.span(i, k), right = sentence.span(k, j);
            if (lists_.empty(left) || lists_.empty(right)) continue;
            const double factor = std::ldexp(1.0, scale_[left] + scale_[right] - scale);
            if (forms_.dense) {
                pair_up(left, right, factor);
                continue;
            }
            const double* from_left = inside_.data() + left * forms_.n_symbols();
            const double* from_right = inside_.data() + right * forms_.n_symbols();
            for (std::size_t a = lists_.begin[left]; a < lists_.end[left]; ++a) {
                const std::int32_t symbol = lists_.symbols[a];
                const double held = factor * from_left[symbol];
                for (std::int64_t r = forms_.first[symbol]; r < forms_.first[symbol + 1]; ++r) {
                    const double other = from_right[forms_.binary[r][1]];
                    if (other > 0 && weight_[r] > 0) add(value, forms_.binary[r][2], kept(weight_[r] * held * other));
                }
            }
        }
        if (forms_.dense) {
            for (std::size_t r = 0; r < forms_.binary.rows; ++r) {
                const std::int32_t* form = forms_.binary[r];
                const double pair = pairs_[form[0] * forms_.n_symbols() + form[1]];
                if (pair > 0 && weight_[r] > 0) add(value, form[2], kept(weight_[r] * pair));
            }
        }
        return scale;
    }

    // pairs[b, c] += left[b] * right[c]: the rules are then looked at once for a span, not once for a split.
    void pair_up(std::size_t left, std::size_t right, double factor) {
        const std::size_t M = forms_.n_symbols();
        const double* from_right = inside_.data() + right * M;
        for (std::size_t a = lists_.begin[left]; a < lists_.end[left]; ++a) {
            const double held = factor * inside_[left * M + lists_.symbols[a]];
            double* pair = pairs_.data() + lists_.symbols[a] * M;
            for (std::size_t c = 0; c < M; ++c) pair[c] += from_right[c] > 0 ? std::max(held * from_right[c], FLOOR) : 0.0;
        }
    }

    // Take full symbols off a span that crosses a bracket.
    void bar(double* value, std::size_t begin) {
        std::size_t kept = begin;
        for (std::size_t a = begin; a < lists_.symbols.size(); ++a) {
            const std::int32_t symbol = lists_.symbols[a];
            if (std::size_t(symbol) < forms_.n_full()) {
                value[symbol] = 0;
            } else {
                lists_.symbols[kept++] = symbol;
            }
        }
        lists_.symbols.resize(kept);
    }

    // Add what unary forms bring, stage by stage.
    void close(double* value, std::size_t begin) {
        if (lists_.symbols.size() == begin) return;
        for (std::size_t q = 0; q < forms_.stages.rows; ++q) {
            const Stage stage(forms_.stages[q]);
            for (std::size_t u = stage.first; u < stage.first + stage.n_cross; ++u) {
                const std::int32_t* form = forms_.unary[u];
                if (value[form[1]] > 0 && table_[form[2]] > 0) add(value, form[0], kept(table_[form[2]] * value[form[1]]));
            }
            if (stage.size) multiply(value, stage);
        }
    }

    // Multiply the members of a stage by its closure.
    void multiply(double* value, const Stage& stage) {
        const std::int32_t* member = forms_.members.data + stage.member;
        const double* closure = closure_ + stage.entry;
        held_.assign(stage.size, 0.0);
        for (std::size_t a = 0; a < stage.size; ++a) {
            for (std::size_t b = 0; b < stage.size; ++b) {
                const double chains = closure[a * stage.size + b], below = value[member[b]];
                if (chains > 0 && below > 0) held_[a] += kept(chains * below);
            }
        }
        for (std::size_t a = 0; a < stage.size; ++a) {
            if (!(held_[a] > 0)) continue;
            if (value[member[a]] == 0) lists_.symbols.push_back(member[a]);
            value[member[a]] = held_[a];
        }
    }

    // Multiply what is above the members of a stage by the transpose of its closure.
    void multiply_back(const double* value, double* above, const Stage& stage) {
        const std::int32_t* member = forms_.members.data + stage.member;
        const double* closure = closure_ + stage.entry;
        held_.assign(stage.size, 0.0);
        for (std::size_t a = 0; a < stage.size; ++a) {
            for (std::size_t b = 0; b < stage.size; ++b) held_[b] += closure[a * stage.size + b] * above[member[a]];
        }
        for (std::size_t a = 0; a < stage.size; ++a) above[member[a]] = value[member[a]] > 0 ? held_[a] : 0.0;
    }

    // Bring the values of a span back to a largest of about one; false where they are too large to go on.
    bool settle(std::size_t span, double* value, int scale, bool boolean) {
        double largest = 0;
        for (std::size_t a = lists_.begin[span]; a < lists_.end[span]; ++a) largest = std::max(largest, value[lists_.symbols[a]]);
        if (largest == 0) return true;
        if (!std::isfinite(largest)) return false;
        int exponent = 0;
        std::frexp(largest, &exponent);
        if (boolean) {
            for (std::size_t a = lists_.begin[span]; a < lists_.end[span]; ++a) value[lists_.symbols[a]] = 1.0;
            return true;
        }
        const double factor = std::ldexp(1.0, -exponent);
        for (std::size_t a = lists_.begin[span]; a < lists_.end[span]; ++a) {
            double& own = value[lists_.symbols[a]];
            own = kept(own * factor);
        }
        scale_[span] = scale + exponent;
        if (floored_here_) {
            floored_ = true;
            error_[span] = NEAR_FLOOR * std::max(factor, 1.0);
        }
        return true;
    }

    void give_back_span(const Sentence& sentence, std::size_t i, std::size_t j, double* counts) {
        const std::size_t M = forms_.n_symbols(), span = sentence.span(i, j);
        if (lists_.empty(span)) return;
        const double* value = inside_.data() + span * M;
        double* above = outside_.data() + span * M;
        if (!sentence.barred(i, j)) open_up(value, above, counts);
        if (j == i + 1) {
            const double factor = std::ldexp(1.0, -scale_[span]);
            for (std::size_t e = sentence.first_entry(i); e < sentence.last_entry(i); ++e) {
                const std::int32_t* entry = sentence.all.entries[e];
                counts[entry[1]] += table_[entry[1]] * factor * above[entry[0]];
            }
            return;
        }
        for (std::size_t k = i + 1; k < j; ++k) {
            const std::size_t left = sentence.span(i, k), right = sentence.span(k, j);
            if (lists_.empty(left) || lists_.empty(right)) continue;
            hand_down(left, right, std::ldexp(1.0, scale_[left] + scale_[right] - scale_[span]), above, counts);
        }
    }

    // The closure from above, and the uses of unary forms.
    void open_up(const double* value, double* above, double* counts) {
        for (std::size_t q = forms_.stages.rows; q-- > 0;) {
            const Stage stage(forms_.stages[q]);
            if (stage.size) multiply_back(value, above, stage);
            for (std::size_t u = stage.first; u < stage.first + stage.n_cross; ++u) {
                const std::int32_t* form = forms_.unary[u];
                if (above[form[0]] > 0 && value[form[1]] > 0) above[form[1]] += table_[form[2]] * above[form[0]];
            }
        }
        for (std::size_t u = 0; u < forms_.unary.rows; ++u) {
            const std::int32_t* form = forms_.unary[u];
            if (above[form[0]] > 0) counts[form[2]] += table_[form[2]] * above[form[0]] * value[form[1]];
        }
    }

    void hand_down(std::size_t left, std::size_t right, double factor, const double* above, double* counts) {
        const std::size_t M = forms_.n_symbols();
        const double* from_left = inside_.data() + left * M;
        const double* from_right = inside_.data() + right * M;
        double* to_left = outside_.data() + left * M;
        double* to_right = outside_.data() + right * M;
        for (std::size_t a = lists_.begin[left]; a < lists_.end[left]; ++a) {
            const std::int32_t symbol = lists_.symbols[a];
            const double held = from_left[symbol];
            double sum = 0;
            for (std::int64_t r = forms_.first[symbol]; r < forms_.first[symbol + 1]; ++r) {
                const std::int32_t* form = forms_.binary[r];
                const double other = from_right[form[1]], use = above[form[2]];
                if (other > 0 && use > 0) {
                    const double share = weight_[r] * factor * use;
                    sum += share * other;
                    to_right[form[1]] += share * held;
                    counts[form[3]] += share * held * other;
                }
            }
            to_left[symbol] += sum;
        }
    }

    // Choose how a symbol came about over a span; `u` becomes a fresh number in [0, 1).
    std::int64_t pick(const Sentence& sentence, const Node& node, double& u, std::size_t& split) const {
        const std::size_t M = forms_.n_symbols(), span = sentence.span(node.i, node.j);
        const double* value = inside_.data() + span * M;
        double left_over = u * value[node.symbol];
        double part = 0;
        std::int64_t last = -1;
        std::size_t last_split = 0;
        const auto within = [&](std::int64_t form, std::size_t k, double share) {
            share = std::max(share, FLOOR);  // as it was added
            last = form;
            last_split = k;
            part = share;
            if (left_over < share) return true;
            left_over -= share;
            return false;
        };
        const auto chosen = [&] {
            u = std::min(std::max(left_over / part, 0.0), 1.0 - 0x1p-53);
            split = last_split;
            return last;
        };
        const std::int64_t n_binary = forms_.binary.rows, n_unary = forms_.unary.rows;
        for (std::int64_t at = forms_.unary_first[node.symbol]; at < forms_.unary_first[node.symbol + 1]; ++at) {
            const std::int32_t way = forms_.unary_by_parent[at];
            const std::int32_t* form = forms_.unary[way];
            if (!(table_[form[2]] > 0 && value[form[1]] > 0)) continue;
            if (within(n_binary + way, 0, table_[form[2]] * value[form[1]])) return chosen();
        }
        if (node.j == node.i + 1) {
            const double factor = std::ldexp(1.0, -scale_[span]);
            for (std::size_t e = sentence.first_entry(node.i); e < sentence.last_entry(node.i); ++e) {
                const std::int32_t* entry = sentence.all.entries[e];
                if (std::size_t(entry[0]) != node.symbol || !(table_[entry[1]] > 0)) continue;
                if (within(n_binary + n_unary + e, 0, table_[entry[1]] * factor)) return chosen();
            }
            return chosen();
        }
        for (std::size_t k = node.i + 1; k < node.j; ++k) {
            const std::size_t left = sentence.span(node.i, k), right = sentence.span(k, node.j);
            if (lists_.empty(left) || lists_.empty(right)) continue;
            const double factor = std::ldexp(1.0, scale_[left] + scale_[right] - scale_[span]);
            const double* from_left = inside_.data() + left * M;
            const double* from_right = inside_.data() + right * M;
            for (std::int64_t at = forms_.parent_first[node.symbol]; at < forms_.parent_first[node.symbol + 1]; ++at) {
                const std::int32_t r = forms_.by_parent[at];
                const std::int32_t* form = forms_.binary[r];
                const double left_value = from_left[form[0]], right_value = from_right[form[1]];
                if (!(weight_[r] > 0 && left_value > 0 && right_value > 0)) continue;
                if (within(r, k, factor * weight_[r] * left_value * right_value)) return chosen();
            }
        }
        return chosen();
    }
};

// The best derivation, in logs.
class Best {
public:
    Best(Span<const double> log_table, const TreeForms& forms)
        : log_table_(log_table.data), forms_(forms), weight_(forms.binary.rows) {
        for (std::size_t r = 0; r < weight_.size(); ++r) weight_[r] = log_table_[forms.binary[r][3]];
    }

    double fill(const Sentence& sentence) {
        const std::size_t M = forms_.n_symbols(), size = sentence.n_spans() * M;
        lists_.open(sentence.n_spans());
        if (form_.size() < size) {
            form_.resize(size, 0);
            split_.resize(size, 0);
            value_.resize(size, 0.0);
        }
        for (std::size_t width = 1; width <= sentence.n; ++width) {
            for (std::size_t i = 0; i + width <= sentence.n; ++i) fill_span(sentence, i, i + width);
        }
        const std::size_t top = sentence.n ? sentence.span(0, sentence.n) * M + forms_.start() : 0;
        return sentence.n && form_[top] ? value_[top] : -std::numeric_limits<double>::infinity();
    }

    std::int64_t write(const Sentence& sentence, Span<std::int64_t> steps, std::int64_t at) {
        waiting_.assign(1, {0, sentence.n, forms_.start()});
        while (!waiting_.empty()) {
            const Node node = waiting_.back();
            waiting_.pop_back();
            const std::size_t place = sentence.span(node.i, node.j) * forms_.n_symbols() + node.symbol;
            const std::int64_t form = form_[place] - 1, n_binary = forms_.binary.rows, n_unary = forms_.unary.rows;
            if (static_cast<std::size_t>(at) < steps.size) steps[at] = form;
            ++at;
            if (form < n_binary) {
                const std::size_t split = split_[place];
                waiting_.push_back({split, node.j, std::size_t(forms_.binary[form][1])});
                waiting_.push_back({node.i, split, std::size_t(forms_.binary[form][0])});
            } else if (form < n_binary + n_unary) {
                waiting_.push_back({node.i, node.j, std::size_t(forms_.unary[form - n_binary][1])});
            }
        }
        return at;
    }

    void clear(const Sentence& sentence) {
        const std::size_t M = forms_.n_symbols();
        for (std::size_t span = 0; span < sentence.n_spans(); ++span) {
            for (std::size_t a = lists_.begin[span]; a < lists_.end[span]; ++a) form_[span * M + lists_.symbols[a]] = 0;
        }
    }

private:
    struct Node {
        std::size_t i, j, symbol;
    };

    const double* log_table_;
    const TreeForms& forms_;
    std::vector<double> weight_, value_, pairs_;
    std::vector<std::int32_t> form_, split_, at_;  // form + 1; 0 where there is none
    Lists lists_;
    std::vector<Node> waiting_;

    bool take(std::size_t base, std::int32_t symbol, double log_probability, std::int64_t form, std::size_t split) {
        const std::size_t place = base + symbol;
        if (form_[place] ? !(log_probability > value_[place]) : !(log_probability > -std::numeric_limits<double>::infinity())) {
            return false;
        }
        if (!form_[place]) lists_.symbols.push_back(symbol);
        value_[place] = log_probability;
        form_[place] = std::int32_t(form + 1);
        split_[place] = std::int32_t(split);
        return true;
    }

    void fill_span(const Sentence& sentence, std::size_t i, std::size_t j) {
        const std::size_t M = forms_.n_symbols(), span = sentence.span(i, j), base = span * M;
        const std::int64_t n_before = forms_.binary.rows + forms_.unary.rows;
        const std::size_t begin = lists_.begin[span] = lists_.symbols.size();
        if (j == i + 1) {
            for (std::size_t e = sentence.first_entry(i); e < sentence.last_entry(i); ++e) {
                const std::int32_t* entry = sentence.all.entries[e];
                take(base, entry[0], log_table_[entry[1]], n_before + e, 0);
            }
        }
        if (forms_.dense && j > i + 1) {
            join_pairs(sentence, i, j, base);
        } else {
            for (std::size_t k = i + 1; k < j; ++k) join(sentence.span(i, k), sentence.span(k, j), base, k);
        }
        if (sentence.barred(i, j)) {
            std::size_t kept = begin;
            for (std::size_t a = begin; a < lists_.symbols.size(); ++a) {
                const std::int32_t symbol = lists_.symbols[a];
                if (std::size_t(symbol) < forms_.n_full()) {
                    form_[base + symbol] = 0;
                } else {
                    lists_.symbols[kept++] = symbol;
                }
            }
            lists_.symbols.resize(kept);
        } else if (lists_.symbols.size() > begin) {
            for (std::size_t q = 0; q < forms_.stages.rows; ++q) {
                const Stage stage(forms_.stages[q]);
                relax(base, stage.first, stage.first + stage.n_cross);
                while (relax(base, stage.first + stage.n_cross, stage.first + stage.n_cross + stage.n_inside)) {
                }
            }
        }
        lists_.end[span] = lists_.symbols.size();
        std::sort(lists_.symbols.begin() + begin, lists_.symbols.end());
    }

    void join(std::size_t left, std::size_t right, std::size_t base, std::size_t k) {
        if (lists_.empty(left) || lists_.empty(right)) return;
        const std::size_t M = forms_.n_symbols();
        for (std::size_t a = lists_.begin[left]; a < lists_.end[left]; ++a) {
            const std::int32_t symbol = lists_.symbols[a];
            const double held = value_[left * M + symbol];
            for (std::int64_t r = forms_.first[symbol]; r < forms_.first[symbol + 1]; ++r) {
                const std::int32_t* form = forms_.binary[r];
                if (form_[right * M + form[1]]) take(base, form[2], held + value_[right * M + form[1]] + weight_[r], r, k);
            }
        }
    }

    // The best split of every pair of symbols first, then the rules once.
    void join_pairs(const Sentence& sentence, std::size_t i, std::size_t j, std::size_t base) {
        const std::size_t M = forms_.n_symbols();
        pairs_.assign(M * M, -std::numeric_limits<double>::infinity());
        at_.assign(M * M, 0);
        for (std::size_t k = i + 1; k < j; ++k) {
            const std::size_t left = sentence.span(i, k), right = sentence.span(k, j);
            for (std::size_t a = lists_.begin[left]; a < lists_.end[left]; ++a) {
                const std::size_t b = lists_.symbols[a];
                const double held = value_[left * M + b];
                for (std::size_t d = lists_.begin[right]; d < lists_.end[right]; ++d) {
                    const std::size_t c = lists_.symbols[d];
                    const double both = held + value_[right * M + c];
                    if (both > pairs_[b * M + c]) {
                        pairs_[b * M + c] = both;
                        at_[b * M + c] = std::int32_t(k);
                    }
                }
            }
        }
        for (std::size_t r = 0; r < forms_.binary.rows; ++r) {
            const std::int32_t* form = forms_.binary[r];
            const std::size_t pair = form[0] * M + form[1];
            take(base, form[2], pairs_[pair] + weight_[r], r, at_[pair]);
        }
    }

    bool relax(std::size_t base, std::size_t begin, std::size_t end) {
        bool changed = false;
        for (std::size_t u = begin; u < end; ++u) {
            const std::int32_t* form = forms_.unary[u];
            if (form_[base + form[1]]) {
                changed |= take(base, form[0], log_table_[form[2]] + value_[base + form[1]], forms_.binary.rows + u, 0);
            }
        }
        return changed;
    }
};

}  // namespace

// Sentences of one grammar with many rules for each pair of symbols: tree_dense.cpp.
void tree_soft_dense(Span<const double> table, Span<const double> closure, const TreeForms& forms,
                     const TreeSentences& sentences, Span<const double> weight, Span<double> counts,
                     Span<double> log_evidence);

void tree_soft(Span<const double> table, Span<const double> closure, const TreeForms& forms,
               const TreeSentences& sentences, Span<const double> weight, Span<double> counts,
               Span<double> log_evidence) {
    if (forms.dense) return tree_soft_dense(table, closure, forms, sentences, weight, counts, log_evidence);
    Chart chart(table, closure, forms);
    for (std::size_t s = 0; s < sentences.size(); ++s) {
        const Sentence sentence(sentences, s);
        const bool found = chart.fill(sentence, false) && chart.give_back_sound(sentence, weight[s], counts.data);
        log_evidence[s] = found ? chart.log_root(sentence) : LOST;
        chart.clear(sentence);
    }
}

void tree_parsable(Span<const double> table, Span<const double> closure, const TreeForms& forms,
                   const TreeSentences& sentences, Span<std::uint8_t> found) {
    Chart chart(table, closure, forms);
    for (std::size_t s = 0; s < sentences.size(); ++s) {
        const Sentence sentence(sentences, s);
        found[s] = chart.fill(sentence, true);
        chart.clear(sentence);
    }
}

std::int64_t tree_best(Span<const double> log_table, const TreeForms& forms, const TreeSentences& sentences,
                       Span<std::int64_t> steps, Span<std::int64_t> step_ends, Span<double> log_evidence) {
    Best chart(log_table, forms);
    std::int64_t at = 0;
    step_ends[0] = 0;
    for (std::size_t s = 0; s < sentences.size(); ++s) {
        const Sentence sentence(sentences, s);
        log_evidence[s] = chart.fill(sentence);
        if (std::isfinite(log_evidence[s])) at = chart.write(sentence, steps, at);
        step_ends[s + 1] = at;
        chart.clear(sentence);
    }
    return at;
}

std::int64_t tree_draw(Span<const double> table, Span<const double> closure, const TreeForms& forms,
                       const TreeSentences& sentences, Span<const std::int64_t> times, Span<const double> uniforms,
                       Span<std::int64_t> steps, Span<std::int64_t> step_ends, Span<double> log_evidence) {
    Chart chart(table, closure, forms);
    std::int64_t at = 0;
    std::size_t drawn = 0, used = 0;
    step_ends[0] = 0;
    for (std::size_t s = 0; s < sentences.size(); ++s) {
        const Sentence sentence(sentences, s);
        const bool found = chart.fill(sentence, false) && chart.give_back_sound(sentence, 0.0, nullptr);
        log_evidence[s] = found ? chart.log_root(sentence) : LOST;
        for (std::int64_t t = 0; t < times[s]; ++t) {
            if (found) at = chart.draw(sentence, uniforms.data + used, steps, at);
            step_ends[++drawn] = at;
            used += 2 * sentence.n - 1;
        }
        chart.clear(sentence);
    }
    return at;
}

}  // namespace halfseen
