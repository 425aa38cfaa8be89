// Picks the widest instruction set that this machine has.
#include "kernels.hpp"

namespace halfseen {

#define HALFSEEN_DECLARE(isa)                                                                                        \
    namespace isa {                                                                                                  \
    double mixture_soft(const Rows&, const Mixture&, const Sums&);                                                   \
    void mixture_posterior(const Rows&, const Mixture&, Matrix<double>, Span<double>);                               \
    void normal_score(Matrix<const double>, const Normals&, Matrix<double>);                                         \
    void normal_expect(Matrix<const double>, const Normals&, Matrix<const double>, Matrix<double>);                  \
    double normal_soft(Matrix<const double>, Span<const double>, Span<const double>, const Normals&, Span<double>,   \
                       Matrix<double>);                                                                              \
    double diagonal_soft(Matrix<const double>, Span<const double>, Span<const double>, const Diagonals&,             \
                         Span<double>, Stack<double>);                                                               \
    }
HALFSEEN_DECLARE(baseline)
#ifdef HALFSEEN_X86
HALFSEEN_DECLARE(avx2)
HALFSEEN_DECLARE(avx512)
#endif
#undef HALFSEEN_DECLARE

const char* instruction_set() {
#ifdef HALFSEEN_X86
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        return "avx512";
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return "avx2";
#endif
    return "baseline";
}

#ifdef HALFSEEN_X86
#define HALFSEEN_PICK(call)                                                                                          \
    static const char* isa = instruction_set();                                                                      \
    if (isa[3] == '5') return avx512::call;                                                                          \
    if (isa[0] == 'a') return avx2::call;                                                                            \
    return baseline::call
#else
#define HALFSEEN_PICK(call) return baseline::call
#endif

double mixture_soft(const Rows& rows, const Mixture& mixture, const Sums& out) {
    HALFSEEN_PICK(mixture_soft(rows, mixture, out));
}

void mixture_posterior(const Rows& rows, const Mixture& mixture, Matrix<double> usage, Span<double> log_evidence) {
    HALFSEEN_PICK(mixture_posterior(rows, mixture, usage, log_evidence));
}

void normal_score(Matrix<const double> values, const Normals& normals, Matrix<double> scores) {
    HALFSEEN_PICK(normal_score(values, normals, scores));
}

void normal_expect(Matrix<const double> values, const Normals& normals, Matrix<const double> usage,
                   Matrix<double> sums) {
    HALFSEEN_PICK(normal_expect(values, normals, usage, sums));
}

double normal_soft(Matrix<const double> values, Span<const double> weight, Span<const double> log_mix,
                   const Normals& normals, Span<double> mix_usage, Matrix<double> sums) {
    HALFSEEN_PICK(normal_soft(values, weight, log_mix, normals, mix_usage, sums));
}

double diagonal_soft(Matrix<const double> values, Span<const double> weight, Span<const double> log_mix,
                     const Diagonals& diagonals, Span<double> mix_usage, Stack<double> moments) {
    HALFSEEN_PICK(diagonal_soft(values, weight, log_mix, diagonals, mix_usage, moments));
}

}  // namespace halfseen
