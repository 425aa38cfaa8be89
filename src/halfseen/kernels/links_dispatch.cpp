// Picks the kernels of links for the widest instruction set that this machine has.
#include "links.hpp"
#include "pick.hpp"

namespace halfseen {

#define HALFSEEN_DECLARE(isa)                                                                                        \
    namespace isa {                                                                                                  \
    template <class Local>                                                                                           \
    void links_soft(const Bitext<Local>&, Span<const double>, Span<double>, Span<double>, Span<double>);             \
    template <class Local>                                                                                           \
    void links_posterior(const Bitext<Local>&, Span<double>, Span<double>);                                          \
    template <class Local, class Back>                                                                               \
    void links_agree(const Bitext<Local>&, const Bitext<Back>&, Span<const double>, Span<double>, Span<double>,      \
                     Span<double>, Span<double>, Span<double>);                                                      \
    template <class Local>                                                                                           \
    void links_best(const Bitext<Local>&, Span<std::int32_t>, Span<double>);                                         \
    template <class Local>                                                                                           \
    void links_draw(const Bitext<Local>&, Span<const double>, Span<std::int32_t>, Span<double>);                     \
    void links_rows(Matrix<const std::int64_t>, Span<const std::int32_t>, Span<const std::int32_t>, std::size_t,     \
                    Span<std::int64_t>, Span<std::int32_t>);                                                         \
    template <class Local>                                                                                           \
    void links_number(Matrix<const std::int64_t>, Span<const std::int32_t>, Span<const std::int32_t>,                \
                      Span<const std::int64_t>, Span<const std::int32_t>, std::int64_t, Span<Local>);                \
    }
HALFSEEN_FOR_EACH_ISA(HALFSEEN_DECLARE)
#undef HALFSEEN_DECLARE

template <class Local>
void links_soft(const Bitext<Local>& text, Span<const double> weight, Span<double> counts, Span<double> stats,
                Span<double> log_evidence) {
    HALFSEEN_PICK(links_soft(text, weight, counts, stats, log_evidence));
}

template <class Local>
void links_posterior(const Bitext<Local>& text, Span<double> posterior, Span<double> log_evidence) {
    HALFSEEN_PICK(links_posterior(text, posterior, log_evidence));
}

template <class Local, class Back>
void links_agree(const Bitext<Local>& text, const Bitext<Back>& back, Span<const double> weight, Span<double> counts,
                 Span<double> stats, Span<double> back_counts, Span<double> back_stats, Span<double> log_evidence) {
    HALFSEEN_PICK(links_agree(text, back, weight, counts, stats, back_counts, back_stats, log_evidence));
}

template <class Local>
void links_best(const Bitext<Local>& text, Span<std::int32_t> chosen, Span<double> log_joint) {
    HALFSEEN_PICK(links_best(text, chosen, log_joint));
}

template <class Local>
void links_draw(const Bitext<Local>& text, Span<const double> uniforms, Span<std::int32_t> chosen,
                Span<double> log_evidence) {
    HALFSEEN_PICK(links_draw(text, uniforms, chosen, log_evidence));
}

void links_rows(Matrix<const std::int64_t> pairs, Span<const std::int32_t> source, Span<const std::int32_t> target,
                std::size_t n_target, Span<std::int64_t> firsts, Span<std::int32_t> columns) {
    HALFSEEN_PICK(links_rows(pairs, source, target, n_target, firsts, columns));
}

template <class Local>
void links_number(Matrix<const std::int64_t> pairs, Span<const std::int32_t> source, Span<const std::int32_t> target,
                  Span<const std::int64_t> firsts, Span<const std::int32_t> columns, std::int64_t first,
                  Span<Local> local) {
    HALFSEEN_PICK(links_number(pairs, source, target, firsts, columns, first, local));
}

#define HALFSEEN_LOCALS(Local)                                                                                       \
    template void links_soft(const Bitext<Local>&, Span<const double>, Span<double>, Span<double>, Span<double>);    \
    template void links_posterior(const Bitext<Local>&, Span<double>, Span<double>);                                 \
    template void links_best(const Bitext<Local>&, Span<std::int32_t>, Span<double>);                                \
    template void links_draw(const Bitext<Local>&, Span<const double>, Span<std::int32_t>, Span<double>);            \
    template void links_number(Matrix<const std::int64_t>, Span<const std::int32_t>, Span<const std::int32_t>,       \
                               Span<const std::int64_t>, Span<const std::int32_t>, std::int64_t, Span<Local>);       \
    template void links_agree(const Bitext<Local>&, const Bitext<std::uint16_t>&, Span<const double>, Span<double>,  \
                              Span<double>, Span<double>, Span<double>, Span<double>);                               \
    template void links_agree(const Bitext<Local>&, const Bitext<std::int32_t>&, Span<const double>, Span<double>,   \
                              Span<double>, Span<double>, Span<double>, Span<double>);
HALFSEEN_LOCALS(std::uint16_t)
HALFSEEN_LOCALS(std::int32_t)
#undef HALFSEEN_LOCALS

}  // namespace halfseen
