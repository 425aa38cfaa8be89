// Blocks of numbers, jointly normal or independent given the component: scores, expectations, and both at once.
// Formulas: plain.py.
//
// Compiled once per instruction set (HALFSEEN_ISA names it); `dispatch.cpp` picks one at run time.
// A tile of rows is turned, so that scores have rows side by side in registers, whatever the numbers of columns and
// components; sums have columns side by side.
#include "diagonal.hpp"
#include "joint.hpp"

namespace halfseen {
namespace HALFSEEN_ISA {

namespace {

template <class Call>
void by_tiles(std::size_t n_rows, Call call) {
    for (std::size_t first = 0; first < n_rows; first += TILE) call(first, std::min(TILE, n_rows - first));
}

// Score, complete and expect a tile; return the log-likelihood.
template <class Tile>
double soft(Tile& tile, Matrix<const double> values, std::size_t first, const double* weight, Span<const double> log_mix,
            double* joint, Span<double> mix_usage) {
    alignas(64) double share[TILE];
    unsigned char rows[TILE + SPARE];
    alignas(64) double roots[TILE];
    Used used{0, 0, rows, roots};
    const std::size_t size = std::min(TILE, values.rows - first);
    tile.read(values, first, size);
    const Ahead next(values, first + TILE, TILE);
    for (std::size_t k = 0; k < tile.K; ++k) {
        next.part(k, tile.K);
        tile.score(k, log_mix[k], joint + k * TILE);
    }
    const double loglik = complete(joint, tile.K, weight, size, share);
    for (std::size_t k = 0; k < tile.K; ++k) {
        double* usage = joint + k * TILE;
        settle(usage, share, tile.mass[k], used);
        mix_usage[k] += used.total;
        tile.expect(size, k, usage, used);
    }
    return loglik;
}

template <class Tile>
double soft(Tile& tile, Matrix<const double> values, Span<const double> weight, Span<const double> log_mix,
            Span<double> mix_usage) {
    Sieve<Tile> sieve(tile, log_mix);
    Work joint(tile.K * TILE);
    double loglik = 0;
    for (std::size_t batch = 0; batch < values.rows; batch += BATCH) {
        if (sieve.soft(values, batch, weight.data + batch, mix_usage, loglik)) continue;
        for (std::size_t first = batch; first < std::min(batch + BATCH, values.rows); first += TILE) {
            loglik += soft(tile, values, first, weight.data + first, log_mix, joint.data(), mix_usage);
        }
    }
    return loglik;
}

// Expect a tile whose usage is given.
template <class Tile>
void expect_given(Tile& tile, std::size_t first, std::size_t size, std::size_t k, Matrix<const double> usage) {
    alignas(64) double own[TILE] = {}, roots[TILE];
    for (std::size_t t = 0; t < size; ++t) own[t] = std::sqrt(usage[first + t][k]);
    unsigned char rows[TILE + SPARE];
    Used used{0, 0, rows, roots};
    settle(own, ONES, tile.mass[k], used);
    tile.expect(size, k, own, used);
}

}  // namespace

void normal_score(Matrix<const double> values, const Normals& m, Matrix<double> scores) {
    Normal tile(m, true);
    alignas(64) double column[TILE];
    by_tiles(values.rows, [&](std::size_t first, std::size_t size) {
        tile.read(values, first, size);
        for (std::size_t k = 0; k < tile.K; ++k) {
            tile.score(k, 0.0, column);
            for (std::size_t t = 0; t < size; ++t) scores[first + t][k] += column[t];
        }
    });
}

void normal_expect(Matrix<const double> values, const Normals& m, Matrix<const double> usage, Matrix<double> sums) {
    Normal tile(m, false);
    by_tiles(values.rows, [&](std::size_t first, std::size_t size) {
        tile.read(values, first, size);
        for (std::size_t k = 0; k < tile.K; ++k) {
            if (!tile.whole) tile.deviate(k);
            expect_given(tile, first, size, k, usage);
        }
    });
    tile.finish(sums);
}

double normal_soft(Matrix<const double> values, Span<const double> weight, Span<const double> log_mix,
                   const Normals& m, Span<double> mix_usage, Matrix<double> sums) {
    Normal tile(m, true);
    const double loglik = soft(tile, values, weight, log_mix, mix_usage);
    tile.finish(sums);
    return loglik;
}

void gaussian_score(Matrix<const double> values, Matrix<const double> mean, Matrix<const double> var,
                    Matrix<double> scores) {
    const std::size_t K = mean.rows, D = mean.cols;
    Work half_precision(K * D), half_log(K * D);
    for (std::size_t i = 0; i < K * D; ++i) {
        half_precision[i] = 0.5 / var.data[i];
        half_log[i] = 0.5 * (LOG_2PI + std::log(var.data[i]));
    }
    Diagonal tile({mean, {half_precision.data(), K, D}, {half_log.data(), K, D}});
    alignas(64) double column[TILE];
    by_tiles(values.rows, [&](std::size_t first, std::size_t size) {
        tile.read(values, first, size);
        for (std::size_t k = 0; k < K; ++k) {
            tile.score(k, 0.0, column);
            for (std::size_t t = 0; t < size; ++t) scores[first + t][k] += column[t];
        }
    });
}

void gaussian_expect(Matrix<const double> values, Matrix<const double> mean, Matrix<const double> usage,
                     Stack<double> moments) {
    Work none(mean.rows * mean.cols);  // nothing is scored
    const Matrix<const double> unused{none.data(), mean.rows, mean.cols};
    Diagonal tile({mean, unused, unused});
    by_tiles(values.rows, [&](std::size_t first, std::size_t size) {
        tile.read(values, first, size);
        for (std::size_t k = 0; k < mean.rows; ++k) expect_given(tile, first, size, k, usage);
    });
    tile.finish(moments);
}

double diagonal_soft(Matrix<const double> values, Span<const double> weight, Span<const double> log_mix,
                     const Diagonals& m, Span<double> mix_usage, Stack<double> moments) {
    Diagonal tile(m);
    const double loglik = soft(tile, values, weight, log_mix, mix_usage);
    tile.finish(moments);
    return loglik;
}

}  // namespace HALFSEEN_ISA
}  // namespace halfseen
