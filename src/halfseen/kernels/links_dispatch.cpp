// Picks the kernels of links for the widest instruction set that this machine has.
#include "links.hpp"
#include "pick.hpp"

namespace halfseen {

#define HALFSEEN_DECLARE(isa)                                                                                        \
    namespace isa {                                                                                                  \
    void links_soft(const Bitext&, Span<const double>, Span<double>, Span<double>, Span<double>);                    \
    void links_posterior(const Bitext&, Span<double>, Span<double>);                                                 \
    void links_agree(const Bitext&, const Bitext&, Span<const double>, Span<double>, Span<double>, Span<double>,     \
             Span<double>, Span<double>);                                                                            \
    void links_best(const Bitext&, Span<std::int32_t>, Span<double>);                                                \
    void links_draw(const Bitext&, Span<const double>, Span<std::int32_t>, Span<double>);                            \
    void links_share(Span<const std::int32_t>, Span<const double>, Span<double>, Span<double>);                      \
    void links_rows(Matrix<const std::int64_t>, Span<const std::int32_t>, Span<const std::int32_t>, std::size_t,     \
             Span<std::int64_t>, Span<std::int32_t>);                                                                \
    std::int64_t links_number(Matrix<const std::int64_t>, Span<const std::int32_t>, Span<const std::int32_t>,        \
             Span<const std::int64_t>, Span<const std::int32_t>, std::int64_t, Span<std::int32_t>,                   \
             Span<std::int32_t>);                                                                                    \
    }
HALFSEEN_FOR_EACH_ISA(HALFSEEN_DECLARE)
#undef HALFSEEN_DECLARE

void links_soft(const Bitext& text, Span<const double> weight, Span<double> counts, Span<double> stats,
                Span<double> log_evidence) {
    HALFSEEN_PICK(links_soft(text, weight, counts, stats, log_evidence));
}

void links_posterior(const Bitext& text, Span<double> posterior, Span<double> log_evidence) {
    HALFSEEN_PICK(links_posterior(text, posterior, log_evidence));
}

void links_agree(const Bitext& text, const Bitext& back, Span<const double> weight, Span<double> counts,
                 Span<double> stats, Span<double> back_counts, Span<double> back_stats, Span<double> log_evidence) {
    HALFSEEN_PICK(links_agree(text, back, weight, counts, stats, back_counts, back_stats, log_evidence));
}

void links_best(const Bitext& text, Span<std::int32_t> chosen, Span<double> log_joint) {
    HALFSEEN_PICK(links_best(text, chosen, log_joint));
}

void links_draw(const Bitext& text, Span<const double> uniforms, Span<std::int32_t> chosen,
                Span<double> log_evidence) {
    HALFSEEN_PICK(links_draw(text, uniforms, chosen, log_evidence));
}

void links_share(Span<const std::int32_t> owner, Span<const double> counts, Span<double> sums, Span<double> table) {
    HALFSEEN_PICK(links_share(owner, counts, sums, table));
}

void links_rows(Matrix<const std::int64_t> pairs, Span<const std::int32_t> source, Span<const std::int32_t> target,
                std::size_t n_target, Span<std::int64_t> firsts, Span<std::int32_t> columns) {
    HALFSEEN_PICK(links_rows(pairs, source, target, n_target, firsts, columns));
}

std::int64_t links_number(Matrix<const std::int64_t> pairs, Span<const std::int32_t> source,
                          Span<const std::int32_t> target, Span<const std::int64_t> firsts,
                          Span<const std::int32_t> columns, std::int64_t next, Span<std::int32_t> order,
                          Span<std::int32_t> slots) {
    HALFSEEN_PICK(links_number(pairs, source, target, firsts, columns, next, order, slots));
}

}  // namespace halfseen
