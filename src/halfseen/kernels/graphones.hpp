// Sums, best segmentations and searches over joint units of letters and phones. Formulas and layout: graphones.py.
#pragma once

#include "spans.hpp"

namespace halfseen {

// Pairs of a word and its phones, and which unit each step between two nodes is.
struct Pairs {
    Matrix<const std::int64_t> sizes;   // (B, 2) letters and phones
    Span<const std::int64_t> firsts;    // (B + 1,) first node of each pair
    Matrix<const std::int32_t> units;   // (nodes, S) unit of the step into a node, -1: none
    Matrix<const std::int64_t> steps;   // (S, 2) letters and phones of a step
};

// An n-gram model as a tree of contexts: node 0 is the empty one.
struct Contexts {
    Span<const std::int32_t> unit;      // (M,) the last unit of each node
    Span<const std::int64_t> children;  // (M + 1,) those of node m, sorted by unit, are children[m] .. children[m + 1]
    Span<const double> log_p;           // (M,) of the last unit after the others
    Span<const double> log_back;        // (M,) what a unit that is no child costs, before the shorter context is asked
    Span<const std::int64_t> shorter;   // (M,) the node without the first unit
};

void graphone_soft(const Pairs& pairs, Span<const double> logs, Span<const double> weight, Span<double> usage,
                Span<double> log_evidence);
void graphone_hard(const Pairs& pairs, Span<const double> logs, Span<double> log_joint, Span<std::int32_t> taken);
void ngram_sum(const Pairs& pairs, const Contexts& contexts, Span<double> log_evidence);
void ngram_best(const Pairs& pairs, const Contexts& contexts, Span<double> log_joint, Span<std::int32_t> taken);
std::int64_t ngram_search(const Contexts& contexts, Matrix<const std::int64_t> ranges, Matrix<const std::int64_t> pieces,
                          Span<const std::int64_t> phone_firsts, Span<const std::int32_t> phones,
                          std::int64_t beam, std::int64_t inserted, Span<double> log_joint,
                          Matrix<std::int32_t> found);

}  // namespace halfseen
