// What charts share: where spans lie, which full symbols are barred from them, and the words below them.
#pragma once

#include <limits>

#include "tree.hpp"

namespace halfseen {

constexpr double LN2 = 0.693147180559945309417;
constexpr double LOST = std::numeric_limits<double>::quiet_NaN();
constexpr double FLOOR = 0x1p-1000;      // least value of a symbol that is possible at all, beside the largest of its span
constexpr double NEAR_FLOOR = 0x1p-990;  // what is less may be the sum of floors
constexpr double NOTHING = 0x1p-60;      // share of the sum that makes no difference

struct Stage {
    std::size_t first, n_cross, n_inside, member, size, entry;
    explicit Stage(const std::int64_t* row)
        : first(row[0]), n_cross(row[1]), n_inside(row[2]), member(row[3]), size(row[4]), entry(row[5]) {}
};

struct Sentence {
    const TreeSentences& all;
    std::size_t n;
    const std::int32_t* tokens;
    const std::uint8_t* allowed;  // null: everywhere

    Sentence(const TreeSentences& sentences, std::size_t s)
        : all(sentences), n(sentences.ends[s + 1] - sentences.ends[s]), tokens(sentences.tokens.data + sentences.ends[s]),
          allowed(sentences.allowed_first[s] < 0 ? nullptr : sentences.allowed.data + sentences.allowed_first[s]) {}

    std::size_t n_spans() const { return n * (n + 1) / 2; }
    std::size_t span(std::size_t i, std::size_t j) const { return i * n - i * (i - 1) / 2 + (j - i - 1); }
    bool barred(std::size_t i, std::size_t j) const { return allowed != nullptr && !allowed[i * (n + 1) + j]; }
    std::size_t first_entry(std::size_t i) const { return all.slot_first[tokens[i]]; }
    std::size_t last_entry(std::size_t i) const { return all.slot_first[tokens[i] + 1]; }
};

}  // namespace halfseen
