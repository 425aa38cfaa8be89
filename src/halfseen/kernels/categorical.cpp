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

void cell_pairs(Matrix<const std::uint16_t> cells, Span<const std::int64_t> sizes, Matrix<const std::int64_t> places,
                Matrix<const double> usage, Matrix<double> sums) {
    const std::size_t width = usage.cols;
    for (std::size_t g = 0; g < cells.cols; ++g) {
        for (std::size_t h = g; h < cells.cols; ++h) {  // one table at a time: it stays in the cache
            const std::int64_t place = places[g][h], stride = g == h ? 0 : sizes[h];
            for (std::size_t n = 0; n < cells.rows; ++n) {
                double* sum = sums[std::size_t(place + cells[n][g] * stride + cells[n][h])];
                const double* used = usage[n];
                for (std::size_t m = 0; m < width; ++m) sum[m] += used[m];
            }
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
