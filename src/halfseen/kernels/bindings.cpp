// All bindings. The interpreter lock is released while a kernel runs; shapes are checked in Python, by the leaves.
#include "align.hpp"
#include "batch.hpp"
#include "chain.hpp"
#include "graphones.hpp"
#include "kernels.hpp"
#include "links.hpp"
#include "network.hpp"
#include "python.hpp"
#include "text.hpp"
#include "tree.hpp"

using namespace halfseen;
using halfseen::python::Array;
using halfseen::python::Module;

namespace halfseen {
const char* instruction_set();
}

namespace {

template <class T>
using Array1 = Array<T, 1>;
template <class T>
using Array2 = Array<T, 2>;
template <class T>
using Array3 = Array<T, 3>;

template <class T>
Span<T> view(const Array1<T>& a) {
    return {a.data(), a.shape(0)};
}
template <class T>
Matrix<T> view(const Array2<T>& a) {
    return {a.data(), a.shape(0), a.shape(1)};
}
template <class T>
Stack<T> view(const Array3<T>& a) {
    return {a.data(), a.shape(0), a.shape(1), a.shape(2)};
}

using In1 = Array1<const double>;
using In2 = Array2<const double>;
using Index = Array1<const std::int64_t>;
using In3 = Array3<const double>;
using Out1 = Array1<double>;
using Out2 = Array2<double>;
using Out3 = Array3<double>;

template <class Code>
void bind_codes(Module& m) {
    bind(m, "categorical_score", [](Array2<const Code> codes, Index starts, In2 table, Out2 scores) {
        categorical_score(view(codes), view(starts), view(table), view(scores));
    });
    bind(m, "categorical_expect", [](Array2<const Code> codes, Index starts, In2 usage, Out2 counts) {
        categorical_expect(view(codes), view(starts), view(usage), view(counts));
    });
    bind(m, "categorical_count",
         [](Array2<const Code> codes, Index starts, Index component, In1 weight, Out2 counts) {
             categorical_count(view(codes), view(starts), view(component), view(weight), view(counts));
         });
    bind(m, "mixture_best",
         [](Array2<const Code> codes, Index starts, In2 values, In2 counts, In2 constants, In1 log_mix,
            In2 log_table, In2 mean, In2 half_precision, In2 half_log, In2 rate, In2 log_rate,
            Array1<std::int64_t> best) {
             const Rows rows{{}, view(values), view(counts), view(constants), {}, false};
             const Mixture logs{view(log_mix), view(log_table), view(mean), view(half_precision), view(half_log),
                                view(rate), view(log_rate)};
             mixture_best(view(codes), view(starts), rows, logs, view(best));
         });
    bind(m, "group_codes",
         [](Array2<const Code> codes, Index strides, Index stops, Index firsts, Array2<std::uint16_t> cells) {
             group_codes(view(codes), view(strides), view(stops), view(firsts), view(cells));
         });
}

template <class Cell, class Code>
void bind_encode(Module& m) {
    bind(m, "encode_cells",
         [](Array2<const Cell> cells, Index low, Index size, Index starts, Array1<const std::int32_t> lookup,
            Array2<Code> out) {
             return encode_cells(view(cells), view(low), view(size), view(starts), view(lookup), view(out));
         });
}

template <class Cell>
void bind_cells(Module& m) {
    bind(m, "survey_cells",
         [](Array2<const Cell> cells, std::int64_t close, Array2<std::uint8_t> seen, Array1<std::uint8_t> whole) {
             survey_cells(view(cells), close, view(seen), view(whole));
         });
    bind(m, "survey_near",
         [](Array2<const Cell> cells, Array1<const Cell> low, Array1<std::uint64_t> seen, Array1<std::uint64_t> far) {
             survey_near(view(cells), view(low), view(seen), view(far));
         });
    bind_encode<Cell, std::int8_t>(m);
    bind_encode<Cell, std::int16_t>(m);
    bind_encode<Cell, std::int32_t>(m);
}

void bind_mixture(Module& m) {
    bind(m, "mixture_soft", [](Array2<const std::uint16_t> cells, In2 values, In2 counts, In2 constants, In1 weight,
                             bool in_order, In1 mix, In2 table, In2 mean, In2 half_precision, In2 half_log, In2 rate, In2 log_rate,
                             Out1 mix_usage, Out2 table_usage, Out3 moments, Out3 sums) {
        const Rows rows{view(cells), view(values), view(counts), view(constants), view(weight),
                        in_order && cells.shape(1) > 0};
        const Mixture mixture{view(mix), view(table), view(mean), view(half_precision), view(half_log), view(rate),
                              view(log_rate)};
        return mixture_soft(rows, mixture, Sums{view(mix_usage), view(table_usage), view(moments), view(sums)});
    });
    bind(m, "mixture_posterior",
         [](Array2<const std::uint16_t> cells, In2 values, In2 counts, In2 constants, In1 weight, bool in_order,
            In1 mix, In2 table, In2 mean, In2 half_precision, In2 half_log, In2 rate, In2 log_rate, Out2 usage,
            Out1 log_evidence) {
             const Rows rows{view(cells), view(values), view(counts), view(constants), view(weight),
                             in_order && cells.shape(1) > 0};
             const Mixture mixture{view(mix), view(table), view(mean), view(half_precision), view(half_log),
                                   view(rate), view(log_rate)};
             mixture_posterior(rows, mixture, view(usage), view(log_evidence));
         });
}

void bind_chain(Module& m) {
    bind(m, "chain_room", [](Index lengths, std::size_t n_states) { return chain_room(view(lengths), n_states); });
    bind(m, "chain_soft", [](In1 start, In2 trans, Index lengths, In1 outer, Out2 scores, Out1 work, Out1 start_usage,
                             Out2 trans_usage, Out1 log_evidence) {
        chain_soft(view(start), view(trans), view(lengths), view(outer), view(scores), view(work), view(start_usage),
                   view(trans_usage), view(log_evidence));
    });
    bind(m, "chain_fused",
         [](In1 start, In2 trans, In2 table, In2 mean, In2 half_precision, In2 half_log, In2 rate, In2 log_rate,
            Index lengths, In1 outer, Array2<const std::uint16_t> cells, In2 values, In2 counts, In2 constants,
            Out1 work, Out1 start_usage, Out2 trans_usage, Out2 table_usage, Out3 moments, Out3 sums,
            Out1 log_evidence) {
             const ChainEmissions model{view(table), view(mean), view(half_precision), view(half_log), view(rate),
                                        view(log_rate)};
             const ChainSteps steps{view(cells), view(values), view(counts), view(constants)};
             chain_fused(view(start), view(trans), model, view(lengths), view(outer), steps, view(work),
                         view(start_usage), view(trans_usage), ChainSums{view(table_usage), view(moments), view(sums)},
                         view(log_evidence));
         });
    bind(m, "chain_filter", [](In1 start, In2 trans, Index lengths, Out2 scores, Out1 work, Out1 log_evidence) {
        chain_filter(view(start), view(trans), view(lengths), view(scores), view(work), view(log_evidence));
    });
    bind(m, "chain_soft_log", [](In1 start, In2 trans, Index lengths, In1 outer, Out2 scores, Out2 work,
                                 Out1 start_usage, Out2 trans_usage, Out1 log_evidence) {
        chain_soft_log(view(start), view(trans), view(lengths), view(outer), view(scores), view(work),
                       view(start_usage), view(trans_usage), view(log_evidence));
    });
    bind(m, "chain_filter_log", [](In1 start, In2 trans, Index lengths, Out2 scores, Out1 log_evidence) {
        chain_filter_log(view(start), view(trans), view(lengths), view(scores), view(log_evidence));
    });
    bind(m, "chain_hard", [](In1 start, In2 trans, Index lengths, In1 outer, Out2 scores, Array2<std::int32_t> back,
                             Array1<std::int64_t> path, Out1 start_usage, Out2 trans_usage, Out1 log_evidence) {
        chain_hard(view(start), view(trans), view(lengths), view(outer), view(scores), view(back), view(path),
                   view(start_usage), view(trans_usage), view(log_evidence));
    });
    bind(m, "chain_draw", [](In2 trans, Index lengths, In2 log_filtered, In1 uniforms, Array1<std::int64_t> path) {
        chain_draw(view(trans), view(lengths), view(log_filtered), view(uniforms), view(path));
    });
}

template <class T>
void bind_lloyd(Module& m) {
    bind(m, "lloyd", [](Array2<const T> values, In1 weight, In1 pivot, In2 centres, In2 anchors, bool fresh, double unit,
                        Array1<const T> near, Array2<const float> rounded, Array3<const float> panels, Array2<const float> half, Array2<const float> moved,
                        Array1<const float> went, Array2<float> workspace, Array1<std::int32_t> labels,
                        Array2<float> bounds, Array1<float> own, Out2 sums, Out2 mass, Out2 cell_sums, Out2 cell_mass,
                        Out1 totals) {
        lloyd(Lloyd<T>{view(values), view(weight), view(pivot), view(centres), view(anchors), fresh, unit, view(near),
                       view(rounded), view(panels), view(half), view(moved), view(went)},
              LloydSums{view(workspace), view(labels), view(bounds), view(own), view(sums), view(mass), view(cell_sums),
                        view(cell_mass), view(totals)});
    });
}

void bind_normal(Module& m) {
    bind(m, "normal_score", [](In2 values, In2 mean, In3 factor, In3 precision, In1 offset, Out2 scores) {
        normal_score(view(values), {view(mean), view(factor), view(precision), view(offset)}, view(scores));
    });
    bind(m, "normal_expect", [](In2 values, In2 mean, In3 precision, In2 usage, Out2 sums) {
        normal_expect(view(values), {view(mean), view(precision), view(precision), {}}, view(usage), view(sums));
    });
    bind(m, "normal_soft", [](In2 values, In1 weight, In1 log_mix, In2 mean, In3 factor, In3 precision, In1 offset,
                              Out1 mix_usage, Out2 sums) {
        return normal_soft(view(values), view(weight), view(log_mix),
                           {view(mean), view(factor), view(precision), view(offset)}, view(mix_usage), view(sums));
    });
    bind(m, "diagonal_soft", [](In2 values, In1 weight, In1 log_mix, In2 mean, In2 half_precision, In2 half_log,
                                Out1 mix_usage, Out3 moments) {
        return diagonal_soft(view(values), view(weight), view(log_mix),
                             {view(mean), view(half_precision), view(half_log)}, view(mix_usage), view(moments));
    });
}

using Shorts = Array1<const std::int32_t>;
using Shorts2 = Array2<const std::int32_t>;
using Longs2 = Array2<const std::int64_t>;
using Bytes = Array1<const std::uint8_t>;
using Steps = Array1<std::int64_t>;

// The arrays of a grammar and of sentences, which every kernel of charts takes.
#define HALFSEEN_CHARTS                                                                                              \
    Shorts2 binary, Index first, Shorts by_parent, Index parent_first, Shorts2 unary, Index unary_first,             \
        Shorts unary_by_parent, Longs2 stages, Shorts members, Index sizes, Index slot_first, Shorts2 entries,       \
        Shorts tokens, Index ends, Bytes allowed, Index allowed_first, bool dense
#define HALFSEEN_FORMS                                                                                               \
    TreeForms{view(binary),      view(first),           view(by_parent), view(parent_first), view(unary),            \
              view(unary_first), view(unary_by_parent), view(stages),    view(members),      view(sizes), dense}
#define HALFSEEN_SENTENCES                                                                                           \
    TreeSentences { view(slot_first), view(entries), view(tokens), view(ends), view(allowed), view(allowed_first) }

void bind_tree(Module& m) {
    bind(m, "tree_soft",
         [](In1 table, In1 closure, HALFSEEN_CHARTS, In1 weight, Out1 counts, Out1 log_evidence) {
             tree_soft(view(table), view(closure), HALFSEEN_FORMS, HALFSEEN_SENTENCES, view(weight), view(counts),
                       view(log_evidence));
         });
    bind(m, "tree_parsable", [](In1 table, In1 closure, HALFSEEN_CHARTS, Array1<std::uint8_t> found) {
        tree_parsable(view(table), view(closure), HALFSEEN_FORMS, HALFSEEN_SENTENCES, view(found));
    });
    bind(m, "tree_best", [](In1 log_table, HALFSEEN_CHARTS, Steps steps, Steps step_ends, Out1 log_evidence) {
        return tree_best(view(log_table), HALFSEEN_FORMS, HALFSEEN_SENTENCES, view(steps), view(step_ends),
                         view(log_evidence));
    });
    bind(m, "tree_draw", [](In1 table, In1 closure, HALFSEEN_CHARTS, Index times, In1 uniforms, Steps steps,
                            Steps step_ends, Out1 log_evidence) {
        return tree_draw(view(table), view(closure), HALFSEEN_FORMS, HALFSEEN_SENTENCES, view(times), view(uniforms),
                         view(steps), view(step_ends), view(log_evidence));
    });
}

#undef HALFSEEN_CHARTS
#undef HALFSEEN_FORMS
#undef HALFSEEN_SENTENCES

void bind_align(Module& m) {
    bind(m, "align_forward", [](Index firsts, Index source, In1 logs, Index owner, Array2<const std::int64_t> band,
                                In2 scores, bool best, double level, Out2 values) {
        return align_forward({view(firsts), view(source), view(logs), view(band)}, view(owner), view(scores), best,
                             level, view(values));
    });
    bind(m, "align_back", [](Index firsts, Index source, In1 logs, Index owner, Array2<const std::int64_t> band,
                             In2 values, double outer, std::int64_t first, Out1 now, Out2 usage, Out1 arc_usage,
                             Out2 times, Array3<const std::int64_t> spans, Out2 held) {
        align_back({view(firsts), view(source), view(logs), view(band)}, view(owner), view(values), outer, first,
                   view(now), view(usage), view(arc_usage), view(times), view(spans), view(held));
    });
    bind(m, "align_trace", [](Index firsts, Index source, In1 logs, Array2<const std::int64_t> band, In2 values,
                              std::int64_t node, Array1<std::int64_t> arcs) {
        return align_trace({view(firsts), view(source), view(logs), view(band)}, view(values), node, view(arcs));
    });
    bind(m, "align_draw", [](Index firsts, Index source, In1 logs, Array2<const std::int64_t> band, In2 values,
                             In2 uniforms, Array1<std::int64_t> nodes, Array2<std::int64_t> arcs) {
        align_draw({view(firsts), view(source), view(logs), view(band)}, view(values), view(uniforms), view(nodes),
                   view(arcs));
    });
    bind(m, "align_free", [](std::int64_t n_states, In2 logs, double enter, In2 scores, Array1<std::int64_t> states) {
        return align_free(std::size_t(n_states), view(logs), enter, view(scores), view(states));
    });
    bind(m, "align_match", [](Index units, Array2<const float> scores, Array1<const float> extra, double skip,
                              Array1<std::int64_t> places) {
        align_match(view(units), view(scores), view(extra), skip, view(places));
    });
}

using Codes1 = Array1<const std::int32_t>;
using Codes2 = Array2<const std::int32_t>;
using Index2 = Array2<const std::int64_t>;

void bind_graphones(Module& m) {
    using Taken = Array1<std::int32_t>;
    bind(m, "graphone_soft", [](Index2 sizes, Index firsts, Codes2 units, Index2 steps, In1 logs, In1 weight, Out1 usage,
                             Out1 log_evidence) {
        graphone_soft({view(sizes), view(firsts), view(units), view(steps)}, view(logs), view(weight), view(usage),
                   view(log_evidence));
    });
    bind(m, "graphone_hard", [](Index2 sizes, Index firsts, Codes2 units, Index2 steps, In1 logs, Out1 log_joint,
                             Taken taken) {
        graphone_hard({view(sizes), view(firsts), view(units), view(steps)}, view(logs), view(log_joint), view(taken));
    });
    bind(m, "ngram_sum", [](Index2 sizes, Index firsts, Codes2 units, Index2 steps, Codes1 unit, Index children,
                            In1 log_p, In1 log_back, Index shorter, Out1 log_evidence) {
        ngram_sum({view(sizes), view(firsts), view(units), view(steps)},
                  {view(unit), view(children), view(log_p), view(log_back), view(shorter)}, view(log_evidence));
    });
    bind(m, "ngram_best", [](Index2 sizes, Index firsts, Codes2 units, Index2 steps, Codes1 unit, Index children,
                             In1 log_p, In1 log_back, Index shorter, Out1 log_joint, Taken taken) {
        ngram_best({view(sizes), view(firsts), view(units), view(steps)},
                   {view(unit), view(children), view(log_p), view(log_back), view(shorter)}, view(log_joint),
                   view(taken));
    });
    bind(m, "ngram_search", [](Codes1 unit, Index children, In1 log_p, In1 log_back, Index shorter, Index2 ranges,
                               Index2 pieces, Index phone_firsts, Codes1 phones, std::int64_t beam,
                               std::int64_t inserted, Out1 log_joint, Array2<std::int32_t> found) {
        return ngram_search({view(unit), view(children), view(log_p), view(log_back), view(shorter)}, view(ranges),
                            view(pieces), view(phone_firsts), view(phones), beam, inserted, view(log_joint),
                            view(found));
    });
}

void bind_logs(Module& m) {
    bind(m, "log_inner", [](In2 counts, In2 shares) { return log_inner(view(counts), view(shares)); });
    bind(m, "log_turned", [](In2 shares, Out2 table) { log_turned(view(shares), view(table)); });
}

template <class Value>
void bind_text(Module& m) {
    using Words = Array1<const std::int32_t>;
    using Values = Array1<const Value>;
    bind(m, "counts_score", [](Index ends, Words words, Values values, In2 table, Out2 scores) {
        counts_score(Documents<Value>{view(ends), view(words), view(values)}, view(table), view(scores));
    });
    bind(m, "counts_expect", [](Index ends, Words words, Values values, In2 usage, Out2 sums) {
        counts_expect(Documents<Value>{view(ends), view(words), view(values)}, view(usage), view(sums));
    });
    bind(m, "counts_count", [](Index ends, Words words, Values values, Index component, In1 weight, Out2 counts) {
        counts_count(Documents<Value>{view(ends), view(words), view(values)}, view(component), view(weight),
                     view(counts));
    });
    bind(m, "counts_soft", [](Index ends, Words words, Values values, In1 weight, In1 log_mix, In2 table,
                              Out1 mix_usage, Out2 sums) {
        return counts_soft(Documents<Value>{view(ends), view(words), view(values)}, view(weight), view(log_mix),
                           view(table), view(mix_usage), view(sums));
    });
    bind(m, "counts_best", [](Index ends, Words words, Values values, In1 log_mix, In2 table,
                              Array1<std::int64_t> best) {
        counts_best(Documents<Value>{view(ends), view(words), view(values)}, view(log_mix), view(table), view(best));
    });
}

using Pairs = Array2<const std::int64_t>;
using Tokens = Array1<const std::int32_t>;
using Allowed = Array1<const std::uint8_t>;
using RowSteps = Array1<const std::uint16_t>;

// The arrays of pairs in one direction, and those of a lexicon, which most kernels of links take.
#define HALFSEEN_PAIRS int kind, bool null, Pairs pairs, Index cells, Allowed allowed, In1 place
#define HALFSEEN_BITEXT Bitext{kind, null, view(pairs), view(cells), view(allowed), view(place)}
#define HALFSEEN_STANDING                                                                                            \
    Index firsts, Tokens columns, Pairs ends, Index spans, Index places, Pairs step_ends, RowSteps steps,            \
        Tokens target, std::size_t n_target, std::size_t begin, std::size_t end
#define HALFSEEN_LEXICON                                                                                             \
    Lexicon{view(firsts), view(columns),   view(ends),  view(spans),  view(places),                                  \
            view(step_ends), view(steps), view(target), n_target,     begin,        end}

void bind_links(Module& m) {
    bind(m, "links_posterior", [](HALFSEEN_PAIRS, In1 weight, Out1 chance, Out1 stats, Out1 log_evidence) {
        links_posterior(HALFSEEN_BITEXT, view(weight), view(chance), view(stats), view(log_evidence));
    });
    bind(m, "links_agree",
         [](HALFSEEN_PAIRS, Pairs back_pairs, Index back_cells, Allowed back_allowed, In1 back_place, In1 weight,
            Out1 chance, Out1 stats, Out1 back_chance, Out1 back_stats, Out1 log_evidence) {
             links_agree(HALFSEEN_BITEXT,
                         {kind, null, view(back_pairs), view(back_cells), view(back_allowed), view(back_place)},
                         view(weight), view(chance), view(stats), view(back_chance), view(back_stats),
                         view(log_evidence));
         });
    bind(m, "links_best", [](HALFSEEN_PAIRS, In1 chance, Array1<std::int32_t> chosen, Out1 log_joint) {
        links_best(HALFSEEN_BITEXT, view(chance), view(chosen), view(log_joint));
    });
    bind(m, "links_draw",
         [](HALFSEEN_PAIRS, In1 chance, In1 uniforms, Array1<std::int32_t> chosen, Out1 log_evidence) {
             links_draw(HALFSEEN_BITEXT, view(chance), view(uniforms), view(chosen), view(log_evidence));
         });
    bind(m, "links_chances", [](HALFSEEN_STANDING, In1 table, Out1 chance) {
        links_chances(HALFSEEN_LEXICON, view(table), view(chance));
    });
    bind(m, "links_counts", [](HALFSEEN_STANDING, In1 usage, Out1 counts) {
        links_counts(HALFSEEN_LEXICON, view(usage), view(counts));
    });
    bind(m, "links_sums", [](HALFSEEN_STANDING, In1 table, Out1 sums) {
        links_sums(HALFSEEN_LEXICON, view(table), view(sums));
    });
    bind(m, "links_uniform", [](bool null, Pairs pairs, In1 weight, Out1 sums, Out1 log_evidence) {
        links_uniform(null, view(pairs), view(weight), view(sums), view(log_evidence));
    });
    bind(m, "links_shares", [](HALFSEEN_STANDING, In1 table, In1 shares, Out1 counts) {
        links_shares(HALFSEEN_LEXICON, view(table), view(shares), view(counts));
    });
    bind(m, "links_divide",
         [](Index firsts, std::size_t begin, std::size_t end, In1 before, In1 counts, Out1 table) {
             links_divide(view(firsts), begin, end, view(before), view(counts), view(table));
         });
    bind(m, "links_find", [](bool null, Pairs pairs, Tokens source, Array1<std::int64_t> ends,
                             Array1<std::int64_t> spans, Array1<std::int64_t> places) {
        links_find(null, view(pairs), view(source), view(ends), view(spans), view(places));
    });
    bind(m, "links_steps", [](HALFSEEN_STANDING, Array1<std::uint16_t> out) {
        links_steps(HALFSEEN_LEXICON, view(out));
    });
    bind(m, "links_rows", [](Pairs pairs, Tokens source, Tokens target, std::int64_t n_target,
                             Array1<std::int64_t> firsts, Array1<std::int32_t> columns) {
        links_rows(view(pairs), view(source), view(target), std::size_t(n_target), view(firsts), view(columns));
    });
    bind(m, "links_turn",
         [](Index firsts, std::size_t begin, std::size_t end, Tokens number, Tokens columns, In1 table,
            Array1<std::int32_t> turned_columns, Out1 turned_table) {
             links_turn(view(firsts), begin, end, view(number), view(columns), view(table), view(turned_columns),
                        view(turned_table));
         });
}
#undef HALFSEEN_PAIRS
#undef HALFSEEN_BITEXT
#undef HALFSEEN_STANDING
#undef HALFSEEN_LEXICON

void bind_all(Module& m) {
    bind(m, "instruction_set", []() { return instruction_set(); });
    bind_logs(m);
    bind_codes<std::int8_t>(m);
    bind_codes<std::int16_t>(m);
    bind_codes<std::int32_t>(m);
    bind_codes<std::int64_t>(m);
    bind_cells<std::int64_t>(m);
    bind_cells<double>(m);
    bind_mixture(m);
    bind_chain(m);
    bind_align(m);
    bind_graphones(m);
    bind_tree(m);
#define HALFSEEN_HASH(Cell)                                                                                          \
    bind(m, "hash_cells",                                                                                            \
         [](Array1<const Cell> cells, Array1<std::uint64_t> hashes) { hash_cells(view(cells), view(hashes)); });
    HALFSEEN_FOR_EACH_CELL(HALFSEEN_HASH)
#undef HALFSEEN_HASH
    bind(m, "any_infinite", [](In2 cells) { return any_infinite(view(cells)); });
    bind(m, "first_rows", [](Index labels, std::int64_t low, Array1<std::int64_t> first) {
        first_rows(view(labels), low, view(first));
    });
    bind(m, "components_of", [](Index owner, Array1<const std::int32_t> pattern, Array1<std::int64_t> component) {
        components_of(view(owner), view(pattern), view(component));
    });
    bind(m, "cell_pairs", [](Array2<const std::uint16_t> cells, Index sizes, Array2<const std::int64_t> places, In2 usage,
                             Out2 sums) {
        cell_pairs(view(cells), view(sizes), view(places), view(usage), view(sums));
    });
    bind(m, "tally", [](Index component, In1 weight, Out1 mass) { tally(view(component), view(weight), view(mass)); });
    bind_lloyd<double>(m);
    bind_lloyd<float>(m);
    bind_normal(m);
    bind_text<double>(m);
    bind_text<std::int64_t>(m);
    bind_links(m);
    bind(m, "gaussian_score", [](In2 values, In2 mean, In2 var, Out2 scores) {
        gaussian_score(view(values), view(mean), view(var), view(scores));
    });
    bind(m, "gaussian_expect", [](In2 values, In2 mean, In2 usage, Out3 moments) {
        gaussian_expect(view(values), view(mean), view(usage), view(moments));
    });
    bind(m, "gaussian_count", [](In2 values, In2 mean, Index component, In1 weight, Out3 moments) {
        gaussian_count(view(values), view(mean), view(component), view(weight), view(moments));
    });
    bind(m, "exact_moments", [](In2 values, In1 mean, Index component, In1 weight, Array3<std::int64_t> tops,
                                Out3 folds) {
        exact_moments(view(values), view(mean), view(component), view(weight), view(tops), view(folds));
    });
    bind(m, "batch_em",
         [](Array2<const std::int32_t> codes, Index starts, In2 values, In2 counts, In1 constants, In2 weights,
            Index which, In1 units, In1 lowest, double tol, std::int64_t max_iter, Out2 params, Out2 found) {
             const SmallTable table{view(codes), view(starts), view(values), view(counts), view(constants)};
             batch_em(table, view(weights), view(which), view(units), view(lowest), tol, max_iter, view(params),
                      view(found));
         });
    bind(m, "poisson_score", [](In2 counts, In2 rate, Out2 scores) {
        poisson_score(view(counts), view(rate), view(scores));
    });
    bind(m, "poisson_constants", [](In2 counts, In1 unit, Out2 constants) {
        poisson_constants(view(counts), view(unit), view(constants));
    });
    bind(m, "poisson_expect", [](In2 counts, In1 unit, In2 usage, Out3 sums) {
        poisson_expect(view(counts), view(unit), view(usage), view(sums));
    });
    bind(m, "independent_soft", [](Out2 scores, In1 outer, double beta, Out1 log_evidence) {
        independent_soft(view(scores), view(outer), beta, view(log_evidence));
    });
    bind(m, "independent_hard", [](Out2 scores, In1 outer, Array1<std::int64_t> best, Out1 log_evidence) {
        independent_hard(view(scores), view(outer), view(best), view(log_evidence));
    });
    bind(m, "network_soft", [](In1 table, Array2<const std::int64_t> schemes, Array2<const std::int64_t> buckets,
                               Array2<const std::int64_t> factors, Array1<const std::int32_t> local,
                               Array1<const std::int32_t> base, In1 weight, Out1 room, Out1 counts, Out1 log_evidence) {
        network_soft(view(table), view(schemes), view(buckets), view(factors), view(local), view(base), view(weight),
                     view(room), view(counts), view(log_evidence));
    });
    bind(m, "multiply_cells", [](Index rows, Index cells, In2 probabilities, Out2 table) {
        multiply_cells(view(rows), view(cells), view(probabilities), view(table));
    });
    bind(m, "add_cells", [](Index rows, Index cells, In2 usage, Out2 counts) {
        add_cells(view(rows), view(cells), view(usage), view(counts));
    });
}

PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "compiled", "The kernels of plain.py in C++.", -1, nullptr, nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit_compiled() {
    Module m{PyModule_Create(&definition), true};
    if (m.object == nullptr) return nullptr;
    bind_all(m);
    if (m.whole) return m.object;
    Py_DECREF(m.object);
    return nullptr;
}
