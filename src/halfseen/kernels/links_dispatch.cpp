// Picks the kernels of links for the widest instruction set that this machine has.
#include "links.hpp"
#include "pick.hpp"

namespace halfseen {

#define HALFSEEN_DECLARE(isa)                                                                                        \
    namespace isa {                                                                                                  \
    void links_posterior(const Bitext&, Span<const double>, Span<double>, Span<double>, Span<double>);               \
    void links_agree(const Bitext&, const Bitext&, Span<const double>, Span<double>, Span<double>, Span<double>,     \
             Span<double>, Span<double>);                                                                            \
    void links_best(const Bitext&, Span<const double>, Span<std::int32_t>, Span<double>);                            \
    void links_draw(const Bitext&, Span<const double>, Span<const double>, Span<std::int32_t>, Span<double>);        \
    void links_chances(const Lexicon&, Span<const double>, Span<double>);                                            \
    void links_counts(const Lexicon&, Span<const double>, Span<double>);                                             \
    void links_sums(const Lexicon&, Span<const double>, Span<double>);                                               \
    void links_uniform(bool, Matrix<const std::int64_t>, Span<const double>, Span<double>, Span<double>);            \
    void links_shares(const Lexicon&, Span<const double>, Span<const double>, Span<double>);                         \
    void links_divide(Span<const std::int64_t>, std::size_t, std::size_t, Span<const double>,                      \
             Span<const double>, Span<double>);                                                                      \
    void links_find(bool, Matrix<const std::int64_t>, Span<const std::int32_t>, Span<std::int64_t>,                  \
             Span<std::int64_t>, Span<std::int64_t>);                                                                \
    void links_steps(const Lexicon&, Span<std::uint16_t>);                                                           \
    void links_rows(Matrix<const std::int64_t>, Span<const std::int32_t>, Span<const std::int32_t>, std::size_t,     \
             Span<std::int64_t>, Span<std::int32_t>);                                                                \
    void links_turn(Span<const std::int64_t>, std::size_t, std::size_t, Span<const std::int32_t>,                    \
             Span<const std::int32_t>, Span<const double>, Span<std::int32_t>, Span<double>);                        \
    }
HALFSEEN_FOR_EACH_ISA(HALFSEEN_DECLARE)
#undef HALFSEEN_DECLARE

void links_posterior(const Bitext& text, Span<const double> weight, Span<double> chance, Span<double> stats,
                     Span<double> log_evidence) {
    HALFSEEN_PICK(links_posterior(text, weight, chance, stats, log_evidence));
}

void links_agree(const Bitext& text, const Bitext& back, Span<const double> weight, Span<double> chance,
                 Span<double> stats, Span<double> back_chance, Span<double> back_stats, Span<double> log_evidence) {
    HALFSEEN_PICK(links_agree(text, back, weight, chance, stats, back_chance, back_stats, log_evidence));
}

void links_best(const Bitext& text, Span<const double> chance, Span<std::int32_t> chosen, Span<double> log_joint) {
    HALFSEEN_PICK(links_best(text, chance, chosen, log_joint));
}

void links_draw(const Bitext& text, Span<const double> chance, Span<const double> uniforms, Span<std::int32_t> chosen,
                Span<double> log_evidence) {
    HALFSEEN_PICK(links_draw(text, chance, uniforms, chosen, log_evidence));
}

void links_chances(const Lexicon& lexicon, Span<const double> table, Span<double> chance) {
    HALFSEEN_PICK(links_chances(lexicon, table, chance));
}

void links_counts(const Lexicon& lexicon, Span<const double> usage, Span<double> counts) {
    HALFSEEN_PICK(links_counts(lexicon, usage, counts));
}

void links_sums(const Lexicon& lexicon, Span<const double> table, Span<double> sums) {
    HALFSEEN_PICK(links_sums(lexicon, table, sums));
}

void links_uniform(bool null, Matrix<const std::int64_t> pairs, Span<const double> weight, Span<double> sums,
                   Span<double> log_evidence) {
    HALFSEEN_PICK(links_uniform(null, pairs, weight, sums, log_evidence));
}

void links_shares(const Lexicon& lexicon, Span<const double> table, Span<const double> shares, Span<double> counts) {
    HALFSEEN_PICK(links_shares(lexicon, table, shares, counts));
}

void links_divide(Span<const std::int64_t> firsts, std::size_t begin, std::size_t end, Span<const double> before,
                  Span<const double> counts, Span<double> table) {
    HALFSEEN_PICK(links_divide(firsts, begin, end, before, counts, table));
}

void links_find(bool null, Matrix<const std::int64_t> pairs, Span<const std::int32_t> source, Span<std::int64_t> ends,
                Span<std::int64_t> spans, Span<std::int64_t> places) {
    HALFSEEN_PICK(links_find(null, pairs, source, ends, spans, places));
}

void links_steps(const Lexicon& lexicon, Span<std::uint16_t> steps) { HALFSEEN_PICK(links_steps(lexicon, steps)); }

void links_rows(Matrix<const std::int64_t> pairs, Span<const std::int32_t> source, Span<const std::int32_t> target,
                std::size_t n_target, Span<std::int64_t> firsts, Span<std::int32_t> columns) {
    HALFSEEN_PICK(links_rows(pairs, source, target, n_target, firsts, columns));
}

void links_turn(Span<const std::int64_t> firsts, std::size_t begin, std::size_t end, Span<const std::int32_t> number,
                Span<const std::int32_t> columns, Span<const double> table, Span<std::int32_t> turned_columns,
                Span<double> turned_table) {
    HALFSEEN_PICK(links_turn(firsts, begin, end, number, columns, table, turned_columns, turned_table));
}

}  // namespace halfseen
