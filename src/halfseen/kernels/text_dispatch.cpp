// Picks the kernels of sparse counts for the widest instruction set that this machine has.
#include "text.hpp"
#include "pick.hpp"

namespace halfseen {

#define HALFSEEN_DECLARE(isa)                                                                                        \
    namespace isa {                                                                                                  \
    template <class Value>                                                                                           \
    double counts_soft(const Documents<Value>&, Span<const double>, Span<const double>, Matrix<const double>,       \
                       Span<double>, Matrix<double>);                                                                \
    template <class Value>                                                                                           \
    void counts_best(const Documents<Value>&, Span<const double>, Matrix<const double>, Span<std::int64_t>);         \
    template <class Value>                                                                                           \
    void counts_score(const Documents<Value>&, Matrix<const double>, Matrix<double>);                                \
    template <class Value>                                                                                           \
    void counts_expect(const Documents<Value>&, Matrix<const double>, Matrix<double>);                               \
    template <class Value>                                                                                           \
    void counts_count(const Documents<Value>&, Span<const std::int64_t>, Span<const double>, Matrix<double>);        \
    double log_inner(Matrix<const double>, Matrix<const double>);                                                    \
    void log_turned(Matrix<const double>, Matrix<double>);                                                           \
    }
HALFSEEN_FOR_EACH_ISA(HALFSEEN_DECLARE)
#undef HALFSEEN_DECLARE

template <class Value>
double counts_soft(const Documents<Value>& rows, Span<const double> weight, Span<const double> log_mix,
                   Matrix<const double> table, Span<double> mix_usage, Matrix<double> sums) {
    HALFSEEN_PICK(counts_soft(rows, weight, log_mix, table, mix_usage, sums));
}

template <class Value>
void counts_best(const Documents<Value>& rows, Span<const double> log_mix, Matrix<const double> table,
                 Span<std::int64_t> best) {
    HALFSEEN_PICK(counts_best(rows, log_mix, table, best));
}

template <class Value>
void counts_score(const Documents<Value>& rows, Matrix<const double> table, Matrix<double> scores) {
    HALFSEEN_PICK(counts_score(rows, table, scores));
}

template <class Value>
void counts_expect(const Documents<Value>& rows, Matrix<const double> usage, Matrix<double> sums) {
    HALFSEEN_PICK(counts_expect(rows, usage, sums));
}

template <class Value>
void counts_count(const Documents<Value>& rows, Span<const std::int64_t> component, Span<const double> weight,
                  Matrix<double> counts) {
    HALFSEEN_PICK(counts_count(rows, component, weight, counts));
}

double log_inner(Matrix<const double> counts, Matrix<const double> shares) {
    HALFSEEN_PICK(log_inner(counts, shares));
}

void log_turned(Matrix<const double> shares, Matrix<double> table) { HALFSEEN_PICK(log_turned(shares, table)); }

#define HALFSEEN_VALUES(Value)                                                                                       \
    template double counts_soft(const Documents<Value>&, Span<const double>, Span<const double>,                    \
                                Matrix<const double>, Span<double>, Matrix<double>);                                 \
    template void counts_best(const Documents<Value>&, Span<const double>, Matrix<const double>,                    \
                              Span<std::int64_t>);                                                                   \
    template void counts_score(const Documents<Value>&, Matrix<const double>, Matrix<double>);                       \
    template void counts_expect(const Documents<Value>&, Matrix<const double>, Matrix<double>);                      \
    template void counts_count(const Documents<Value>&, Span<const std::int64_t>, Span<const double>,               \
                               Matrix<double>);
HALFSEEN_VALUES(double)
HALFSEEN_VALUES(std::int64_t)
#undef HALFSEEN_VALUES

}  // namespace halfseen
