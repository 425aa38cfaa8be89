// Columns of categories: look-ups and counts. Formulas: plain.py.
#include "kernels.hpp"

namespace halfseen {

template <class Code>
void categorical_score(Matrix<const Code> codes, Span<const std::int64_t> starts, Matrix<const double> table,
                       Matrix<double> scores) {
    for (std::size_t n = 0; n < codes.rows; ++n) {
        double* score = scores[n];
        for (std::size_t d = 0; d < codes.cols; ++d) {
            const double* row = table[starts[d] + d + 1 + codes[n][d]];
            for (std::size_t k = 0; k < scores.cols; ++k) score[k] += row[k];
        }
    }
}

template <class Code>
void categorical_expect(Matrix<const Code> codes, Span<const std::int64_t> starts, Matrix<const double> usage,
                        Matrix<double> counts) {
    for (std::size_t n = 0; n < codes.rows; ++n) {
        for (std::size_t d = 0; d < codes.cols; ++d) {
            if (codes[n][d] < 0) continue;
            double* cell = counts.data + starts[d] + codes[n][d];
            for (std::size_t k = 0; k < usage.cols; ++k) cell[k * counts.cols] += usage[n][k];
        }
    }
}

template <class Code>
void categorical_count(Matrix<const Code> codes, Span<const std::int64_t> starts, Span<const std::int64_t> component,
                       Span<const double> weight, Matrix<double> counts) {
    for (std::size_t n = 0; n < codes.rows; ++n) {
        double* row = counts[component[n]];
        const Code* code = codes[n];
        const double w = weight[n];  // read once: the compiler must fear that it lies among the counts
        for (std::size_t d = 0; d < codes.cols; ++d) {
            if (code[d] >= 0) row[starts[d] + code[d]] += w;
        }
    }
}

template <class Code>
void categorical_pairs(Matrix<const Code> codes, Span<const std::int64_t> starts, Matrix<const double> usage,
                       Stack<double> counts) {
    for (std::size_t n = 0; n < codes.rows; ++n) {
        const Code* code = codes[n];
        const double* used = usage[n];
        for (std::size_t d = 0; d < codes.cols; ++d) {
            if (code[d] < 0) continue;
            const Matrix<double> beside = counts[starts[d] + code[d]];
            for (std::size_t e = d; e < codes.cols; ++e) {
                if (code[e] < 0) continue;
                double* cell = beside[starts[e] + code[e]];
                for (std::size_t m = 0; m < usage.cols; ++m) cell[m] += used[m];
            }
        }
    }
}

template <class Code>
void group_codes(Matrix<const Code> codes, Span<const std::int64_t> strides, Span<const std::int64_t> stops,
                 Span<const std::int64_t> firsts, Matrix<std::uint16_t> cells) {
    for (std::size_t n = 0; n < codes.rows; ++n) {
        const Code* row = codes[n];
        std::size_t d = 0;
        for (std::size_t g = 0; g < cells.cols; ++g) {
            std::int64_t cell = firsts[g];
            for (; d < std::size_t(stops[g]); ++d) cell += row[d] * strides[d];
            cells[n][g] = std::uint16_t(cell);
        }
    }
}

#define HALFSEEN_CODES(Code)                                                                                         \
    template void categorical_score(Matrix<const Code>, Span<const std::int64_t>, Matrix<const double>,             \
                                    Matrix<double>);                                                                 \
    template void categorical_expect(Matrix<const Code>, Span<const std::int64_t>, Matrix<const double>,            \
                                     Matrix<double>);                                                                \
    template void categorical_count(Matrix<const Code>, Span<const std::int64_t>, Span<const std::int64_t>,         \
                                    Span<const double>, Matrix<double>);                                             \
    template void categorical_pairs(Matrix<const Code>, Span<const std::int64_t>, Matrix<const double>,             \
                                    Stack<double>);                                                                  \
    template void group_codes(Matrix<const Code>, Span<const std::int64_t>, Span<const std::int64_t>,               \
                              Span<const std::int64_t>, Matrix<std::uint16_t>);
HALFSEEN_CODES(std::int8_t)
HALFSEEN_CODES(std::int16_t)
HALFSEEN_CODES(std::int32_t)
HALFSEEN_CODES(std::int64_t)
#undef HALFSEEN_CODES

void multiply_cells(Span<const std::int64_t> rows, Span<const std::int64_t> cells, Matrix<const double> probabilities,
                    Matrix<double> table) {
    for (std::size_t m = 0; m < rows.size; ++m) {
        double* row = table[rows[m]];
        const double* factor = probabilities[cells[m]];
        for (std::size_t k = 0; k < table.cols; ++k) row[k] *= factor[k];
    }
}

void add_cells(Span<const std::int64_t> rows, Span<const std::int64_t> cells, Matrix<const double> usage,
               Matrix<double> counts) {
    for (std::size_t m = 0; m < rows.size; ++m) {
        double* cell = counts[cells[m]];
        const double* row = usage[rows[m]];
        for (std::size_t k = 0; k < counts.cols; ++k) cell[k] += row[k];
    }
}

}  // namespace halfseen
