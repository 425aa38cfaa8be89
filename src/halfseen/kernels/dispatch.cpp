// Picks the widest instruction set that this machine has.
#include "kernels.hpp"
#include "pick.hpp"

namespace halfseen {

#define HALFSEEN_DECLARE(isa)                                                                                        \
    namespace isa {                                                                                                  \
    double mixture_soft(const Rows&, const Mixture&, const Sums&);                                                   \
    void mixture_posterior(const Rows&, const Mixture&, Matrix<double>, Span<double>);                               \
    template <class Code>                                                                                            \
    void mixture_best(const Matrix<const Code>&, const Span<const std::int64_t>&, const Rows&, const Mixture&,      \
                      Span<std::int64_t>);                                                                           \
    template <class Cell>                                                                                            \
    void survey_near(Matrix<const Cell>, Span<const Cell>, Span<std::uint64_t>, Span<std::uint64_t>);                \
    template <class Cell>                                                                                            \
    bool encode_distances(const Cell*, const Cell*, const Cell*, std::size_t, std::int8_t*);                         \
    template <class Cell>                                                                                            \
    void hash_cells(Span<const Cell>, Span<std::uint64_t>);                                                          \
    bool any_infinite(Matrix<const double>);                                                                         \
    void gaussian_count(Matrix<const double>, Matrix<const double>, Span<const std::int64_t>, Span<const double>,    \
                        Stack<double>);                                                                              \
    void exact_moments(Matrix<const double>, Span<const double>, Span<const std::int64_t>, Span<const double>,       \
                       Stack<std::int64_t>, Stack<double>);                                                          \
    void lloyd(const Lloyd<double>&, const LloydSums&);                                                              \
    void lloyd(const Lloyd<float>&, const LloydSums&);                                                               \
    void normal_score(Matrix<const double>, const Normals&, Matrix<double>);                                         \
    void normal_expect(Matrix<const double>, const Normals&, Matrix<const double>, Matrix<double>);                  \
    double normal_soft(Matrix<const double>, Span<const double>, Span<const double>, const Normals&, Span<double>,   \
                       Matrix<double>);                                                                              \
    double diagonal_soft(Matrix<const double>, Span<const double>, Span<const double>, const Diagonals&,             \
                         Span<double>, Stack<double>);                                                               \
    void gaussian_score(Matrix<const double>, Matrix<const double>, Matrix<const double>, Matrix<double>);           \
    void gaussian_expect(Matrix<const double>, Matrix<const double>, Matrix<const double>, Stack<double>);           \
    }
HALFSEEN_FOR_EACH_ISA(HALFSEEN_DECLARE)
#undef HALFSEEN_DECLARE

const char* instruction_set() {
#ifdef HALFSEEN_X86
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        return "avx512";
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return "avx2";
#endif
    return "baseline";
}

double mixture_soft(const Rows& rows, const Mixture& mixture, const Sums& out) {
    HALFSEEN_PICK(mixture_soft(rows, mixture, out));
}

void mixture_posterior(const Rows& rows, const Mixture& mixture, Matrix<double> usage, Span<double> log_evidence) {
    HALFSEEN_PICK(mixture_posterior(rows, mixture, usage, log_evidence));
}

template <class Code>
void mixture_best(const Matrix<const Code>& codes, const Span<const std::int64_t>& starts, const Rows& rows,
                  const Mixture& logs, Span<std::int64_t> best) {
    HALFSEEN_PICK(mixture_best(codes, starts, rows, logs, best));
}

#define HALFSEEN_BEST(Code)                                                                                          \
    template void mixture_best(const Matrix<const Code>&, const Span<const std::int64_t>&, const Rows&,              \
                               const Mixture&, Span<std::int64_t>);
HALFSEEN_BEST(std::int8_t)
HALFSEEN_BEST(std::int16_t)
HALFSEEN_BEST(std::int32_t)
HALFSEEN_BEST(std::int64_t)
#undef HALFSEEN_BEST

template <class Cell>
void survey_near(Matrix<const Cell> cells, Span<const Cell> low, Span<std::uint64_t> seen, Span<std::uint64_t> far) {
    HALFSEEN_PICK(survey_near(cells, low, seen, far));
}

template <class Cell>
bool encode_distances(const Cell* cells, const Cell* low, const Cell* sizes, std::size_t size, std::int8_t* out) {
    HALFSEEN_PICK(encode_distances(cells, low, sizes, size, out));
}

#define HALFSEEN_CELLS(Cell)                                                                                         \
    template void survey_near(Matrix<const Cell>, Span<const Cell>, Span<std::uint64_t>, Span<std::uint64_t>);       \
    template bool encode_distances(const Cell*, const Cell*, const Cell*, std::size_t, std::int8_t*);
HALFSEEN_CELLS(std::int64_t)
HALFSEEN_CELLS(double)
#undef HALFSEEN_CELLS

template <class Cell>
void hash_cells(Span<const Cell> cells, Span<std::uint64_t> hashes) {
    HALFSEEN_PICK(hash_cells(cells, hashes));
}

#define HALFSEEN_HASH(Cell) template void hash_cells(Span<const Cell>, Span<std::uint64_t>);
HALFSEEN_FOR_EACH_CELL(HALFSEEN_HASH)
#undef HALFSEEN_HASH

bool any_infinite(Matrix<const double> cells) { HALFSEEN_PICK(any_infinite(cells)); }

void gaussian_count(Matrix<const double> values, Matrix<const double> mean, Span<const std::int64_t> component,
                    Span<const double> weight, Stack<double> moments) {
    HALFSEEN_PICK(gaussian_count(values, mean, component, weight, moments));
}

void exact_moments(Matrix<const double> values, Span<const double> mean, Span<const std::int64_t> component,
                   Span<const double> weight, Stack<std::int64_t> tops, Stack<double> folds) {
    HALFSEEN_PICK(exact_moments(values, mean, component, weight, tops, folds));
}

void gaussian_score(Matrix<const double> values, Matrix<const double> mean, Matrix<const double> var,
                    Matrix<double> scores) {
    HALFSEEN_PICK(gaussian_score(values, mean, var, scores));
}

void gaussian_expect(Matrix<const double> values, Matrix<const double> mean, Matrix<const double> usage,
                     Stack<double> moments) {
    HALFSEEN_PICK(gaussian_expect(values, mean, usage, moments));
}

void lloyd(const Lloyd<double>& in, const LloydSums& out) { HALFSEEN_PICK(lloyd(in, out)); }

void lloyd(const Lloyd<float>& in, const LloydSums& out) { HALFSEEN_PICK(lloyd(in, out)); }

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
