// Declarations of all kernels; the formulas stand in plain.py, whose functions have the same names and arguments.
#pragma once

#include "spans.hpp"

namespace halfseen {

template <class Code>
void categorical_score(
    Matrix<const Code> codes,           // (N, D)      in, -1 = missing
    Span<const std::int64_t> starts,    // (D,)        in, first cell of each column
    Matrix<const double> table,         // (S + D, K)  in, each column begins with a row of zeros for 'missing'
    Matrix<double> scores);             // (N, K)      added to

template <class Code>
void categorical_expect(
    Matrix<const Code> codes,           // (N, D)  in, -1 = missing
    Span<const std::int64_t> starts,    // (D,)    in
    Matrix<const double> usage,         // (N, K)  in
    Matrix<double> counts);             // (K, S)  added to

template <class Code>
void categorical_count(
    Matrix<const Code> codes,           // (N, D)  in, -1 = missing
    Span<const std::int64_t> starts,    // (D,)    in
    Span<const std::int64_t> component, // (N,)    in, the one component that uses the row
    Span<const double> weight,          // (N,)    in
    Matrix<double> counts);             // (K, S)  added to

void cell_pairs(
    Matrix<const std::uint16_t> cells,    // (N, G)  in
    Span<const std::int64_t> sizes,       // (G,)    in, how many cells each group has
    Matrix<const std::int64_t> places,    // (G, G)  in, where the cells 0 and 0 of groups g <= h have their sums
    Matrix<const double> usage,           // (N, M)  in
    Matrix<double> sums);                 // (T, M)  added to

void gaussian_score(
    Matrix<const double> values,        // (N, D)  in, NaN = missing
    Matrix<const double> mean,          // (K, D)  in
    Matrix<const double> var,           // (K, D)  in
    Matrix<double> scores);             // (N, K)  added to

void gaussian_expect(
    Matrix<const double> values,        // (N, D)     in, NaN = missing
    Matrix<const double> mean,          // (K, D)     in, the pivot of the moments
    Matrix<const double> usage,         // (N, K)     in
    Stack<double> moments);             // (3, K, D)  added to

void gaussian_count(
    Matrix<const double> values,        // (N, D)     in, NaN = missing
    Matrix<const double> mean,          // (K, D)     in, the pivot of the moments
    Span<const std::int64_t> component, // (N,)       in
    Span<const double> weight,          // (N,)       in
    Stack<double> moments);             // (3, K, D)  added to

// The same as sums without rounding: see exact.py.
void exact_moments(
    Matrix<const double> values,        // (N, D)     in, NaN = missing
    Span<const double> mean,            // (D,)       in, the pivot of the moments
    Span<const std::int64_t> component, // (N,)       in
    Span<const double> weight,          // (N,)       in
    Stack<std::int64_t> tops,           // (P, K, D)  out, the bin of the first slice
    Stack<double> folds);               // (P F, K, D)  out, sums of slices

struct Normals {
    Matrix<const double> mean;          // (K, D)
    Stack<const double> factor;         // (K, D, D)  upper triangular, factor factor' = precision
    Stack<const double> precision;      // (K, D, D)
    Span<const double> offset;          // (K,)       log-density at the mean
};

void normal_score(
    Matrix<const double> values,        // (N, D)  in, NaN = missing
    const Normals& normals,
    Matrix<double> scores);             // (N, K)  added to

void normal_expect(
    Matrix<const double> values,        // (N, D)  in, NaN = missing
    const Normals& normals,             // factor and offset are not read
    Matrix<const double> usage,         // (N, K)  in
    Matrix<double> sums);               // (K, 2 + D + D D)  added to: mass, -, first and second moments

// Score, infer and expect at once; returns the log-likelihood.
double normal_soft(
    Matrix<const double> values,        // (N, D)  in, NaN = missing
    Span<const double> weight,          // (N,)    in
    Span<const double> log_mix,         // (K,)    in, -1e300 for log 0
    const Normals& normals,
    Span<double> mix_usage,             // (K,)    added to
    Matrix<double> sums);               // (K, 2 + D + D D)  added to

struct Diagonals {
    Matrix<const double> mean;          // (K, D)
    Matrix<const double> half_precision;// (K, D)  1 / (2 var)
    Matrix<const double> half_log;      // (K, D)  log(2 pi var) / 2
};

double diagonal_soft(
    Matrix<const double> values,        // (N, D)  in, NaN = missing
    Span<const double> weight,          // (N,)    in
    Span<const double> log_mix,         // (K,)    in, -1e300 for log 0
    const Diagonals& diagonals,
    Span<double> mix_usage,             // (K,)    added to
    Stack<double> moments);             // (3, K, D)  added to, about `mean`

void poisson_score(
    Matrix<const double> counts,        // (N, D)  in, NaN = missing
    Matrix<const double> rate,          // (K, D)  in
    Matrix<double> scores);             // (N, K)  added to

void poisson_constants(
    Matrix<const double> counts,        // (N, D)  in, NaN = missing
    Span<const double> unit,            // (D,)    in
    Matrix<double> constants);          // (N, D)  out, log Poisson(counts; unit), 0 where missing

void poisson_expect(
    Matrix<const double> counts,        // (N, D)     in, NaN = missing
    Span<const double> unit,            // (D,)       in
    Matrix<const double> usage,         // (N, K)     in
    Stack<double> sums);                // (3, K, D)  added to

void independent_soft(
    Matrix<double> scores,              // (N, K)  in; out: usage
    Span<const double> outer,           // (N,)    in
    double beta,
    Span<double> log_evidence);         // (N,)    out

void independent_hard(
    Matrix<double> scores,              // (N, K)  in; out: usage
    Span<const double> outer,           // (N,)    in
    Span<std::int64_t> best,            // (N,)    out
    Span<double> log_evidence);         // (N,)    out

void multiply_cells(
    Span<const std::int64_t> rows,      // (M,)    in, row of `table`
    Span<const std::int64_t> cells,     // (M,)    in, row of `probabilities`
    Matrix<const double> probabilities, // (S, W)  in
    Matrix<double> table);              // (R, W)  multiplied

void add_cells(
    Span<const std::int64_t> rows,      // (M,)    in, row of `usage`
    Span<const std::int64_t> cells,     // (M,)    in, row of `counts`
    Matrix<const double> usage,         // (R, W)  in
    Matrix<double> counts);             // (S, W)  added to

template <class Code>
void group_codes(
    Matrix<const Code> codes,           // (N, D)  in, -1 = missing
    Span<const std::int64_t> strides,   // (D,)    in
    Span<const std::int64_t> stops,     // (G,)    in, the column behind the last of each group
    Span<const std::int64_t> firsts,    // (G,)    in, where a row of zeros stands
    Matrix<std::uint16_t> cells);       // (N, G)  out

template <class Cell>
void survey_cells(
    Matrix<const Cell> cells,           // (N, D)  in, NaN = missing
    std::int64_t close,
    Matrix<std::uint8_t> seen,          // (D, 2 * close + 1)  set to 1 at close + cell; the ends for all beyond
    Span<std::uint8_t> whole);          // (D,)    set to 0 where a cell has a fraction

// The same for cells that are expected close together, in few instructions.
template <class Cell>
void survey_near(
    Matrix<const Cell> cells,           // (N, D)  in, NaN = missing
    Span<const Cell> low,               // (D,)    in
    Span<std::uint64_t> seen,           // (D,)    bit x - low set for every whole number x from low to low + 63
    Span<std::uint64_t> far);           // (D,)    set to something else than 0 where another number is met

// Codes of consecutive categories: how far above the lowest. Returns whether every observed cell has one.
template <class Cell>
bool encode_distances(
    const Cell* cells,                  // (size,) in, NaN = missing
    const Cell* low,                    // (size,) in, the lowest category of each cell's column
    const Cell* sizes,                  // (size,) in, and how many there are
    std::size_t size,
    std::int8_t* out);                  // (size,) out, -1 = missing or unknown

// The types of cells in blocks.
#define HALFSEEN_FOR_EACH_CELL(use) use(std::int8_t) use(std::int16_t) use(std::int32_t) use(std::int64_t) use(double)

// Equal cells have equal hashes: there is one zero and one NaN, and whole numbers of any size are alike.
template <class Cell>
void hash_cells(
    Span<const Cell> cells,             // (N,)    in
    Span<std::uint64_t> hashes);        // (N,)    the hash of the cells before this one; of this one too

bool any_infinite(
    Matrix<const double> cells);        // (N, D)  in

void first_rows(
    Span<const std::int64_t> labels,    // (N,)    in
    std::int64_t low,
    Span<std::int64_t> first);          // (L,)    in: N; out: the first row with label low + l

void components_of(
    Span<const std::int64_t> owner,     // (P,)    in, the component of each pattern of labels
    Span<const std::int32_t> pattern,   // (N,)    in
    Span<std::int64_t> component);      // (N,)    out

void tally(
    Span<const std::int64_t> component, // (N,)    in
    Span<const double> weight,          // (N,)    in
    Span<double> mass);                 // (K,)    added to

// Returns whether every observed cell has a code.
template <class Cell, class Code>
bool encode_cells(
    Matrix<const Cell> cells,           // (N, D)  in, NaN = missing
    Span<const std::int64_t> low,       // (D,)    in, smallest whole number of each column's look-up
    Span<const std::int64_t> size,      // (D,)    in, how many follow
    Span<const std::int64_t> starts,    // (D,)    in, where they begin in `lookup`
    Span<const std::int32_t> lookup,    // (L,)    in, code of each whole number, -1 = none
    Matrix<Code> out);                  // (N, D)  out

// A mixture over a table, score, infer and expect at once. W = K padded to a multiple of 4, of 8 with AVX-512; at most 32.
struct Mixture {
    Span<const double> mix;             // (W,)    weights; 0 in the padding
    Matrix<const double> table;         // (R, W)  probabilities of groups of categories
    Matrix<const double> mean;          // (D, W)
    Matrix<const double> half_precision;// (D, W)  1 / (2 var)
    Matrix<const double> half_log;      // (D, W)  log(2 pi var) / 2
    Matrix<const double> rate;          // (P, W)  rate - unit
    Matrix<const double> log_rate;      // (P, W)  log(rate / unit), -1e300 for log 0
};

struct Rows {
    Matrix<const std::uint16_t> cells;  // (N, G)  row of `table` for each group of columns
    Matrix<const double> values;        // (N, D)  NaN = missing
    Matrix<const double> counts;        // (N, P)  NaN = missing
    Matrix<const double> constants;     // (N, P)  log Poisson(counts; unit), 0 where missing
    Span<const double> weight;          // (N,)
    bool in_order;                      // equal cells of the first group follow each other: their sum stays in registers
};

struct Sums {
    Span<double> mix;                   // (W,)       added to
    Matrix<double> table;               // (R, W)     added to
    Stack<double> moments;              // (3, D, W)  added to, about `mean`
    Stack<double> sums;                 // (3, P, W)  added to: mass, events, constants
};

// Returns the log-likelihood; -inf when a row of positive weight is impossible.
double mixture_soft(const Rows& rows, const Mixture& mixture, const Sums& out);

// Infer only: responsibilities of the first usage.cols components, and the log-evidence of each row.
void mixture_posterior(
    const Rows& rows, const Mixture& mixture,
    Matrix<double> usage,               // (N, K)  out; zero in impossible rows
    Span<double> log_evidence);         // (N,)    out

// The most probable component of each row, and no more: neither exp nor responsibilities. Categories are looked up
// column by column: `rows.cells` is not read, and `logs` has logs of weights and, column by column, of probabilities.
template <class Code>
void mixture_best(
    const Matrix<const Code>& codes,    // (N, C)  in, -1 = missing
    const Span<const std::int64_t>& starts,  // (C,)  in, first cell of each column
    const Rows& rows, const Mixture& logs,  // logs.table: (S + C, W), each column begins with zeros for 'missing'
    Span<std::int64_t> best);           // (N,)    out, the first among equals; -1 in impossible rows

// One sweep of k-means. Everything is less `pivot`, so that squares of numbers far from zero keep their digits.
template <class T>
struct Lloyd {
    Matrix<const T> values;             // (N, D)   NaN = missing
    Span<const double> weight;          // (N,)
    Span<const double> pivot;           // (D,)
    Matrix<const double> centres;       // (K, D)   less the pivot
    Matrix<const double> anchors;       // (K, D)   less the pivot: what sums are about
    bool fresh;                         // sum all rows, not only those that change their centre
    double unit;                        // a power of two: numbers times this are of moderate size
    Span<const T> near;                 // (D,)     the pivot as a T, which float32 is used about: all that follows too
    Matrix<const float> rounded;        // (K, D)   centres times unit
    Stack<const float> panels;          // (P, 2 D, 16)  centres times unit, 16 side by side, then their -c^2 / 2
    Matrix<const float> half;           // (2, 16 P) -|centre|^2 / 2 times unit^2, and 0; -inf in the padding
    Matrix<const float> moved;          // (K, G)   how far centres of each group went so far, k apart, times unit
    Span<const float> went;             // (K,)     how far each centre went so far, times unit
};

struct LloydSums {
    Matrix<float> workspace;            // (96, 3 D + 16 P)  overwritten
    Span<std::int32_t> labels;          // (N,)     in: the last ones, or -1; out: the nearest centre
    Matrix<float> bounds;               // (N, G)   in, out: less `moved` of its centre, times unit, no centre of the group
                                        //          but the row's own is nearer (0 is always true); G is 1, 2, 4 or 8
    Span<float> own;                    // (N,)     in, out: plus `went` of its centre, times unit, the own centre is not
                                        //          farther (infinity is always true)
    Matrix<double> sums;                // (K, D)   added to: weighted complete rows about the anchors
    Matrix<double> mass;                // (2, K)   added to: weight of complete rows, and the number of those with any
    Matrix<double> cell_sums;           // (K, D)   added to: the same of all rows with holes, by what is seen
    Matrix<double> cell_mass;           // (K, D)
    Span<double> totals;                // (3,)     added to: weighted squares of what went into sums; inertia of rows with
                                        //          holes; labels that changed
};

void lloyd(const Lloyd<double>& in, const LloydSums& out);
void lloyd(const Lloyd<float>& in, const LloydSums& out);

}  // namespace halfseen
