// The coarse pass over long recordings. Formulas: align_coarse.py. Compiled once per instruction set.
#include "align.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace halfseen::HALFSEEN_ISA {

double align_free(std::size_t n_states, Matrix<const double> logs, double enter, Matrix<const double> scores,
                  Span<std::int64_t> states) {
    constexpr double INF = std::numeric_limits<double>::infinity();
    const std::size_t length = scores.rows, size = scores.cols;
    if (length == 0) return 0.0;
    std::vector<unsigned char> moved(length * size);
    std::vector<std::size_t> left(length);
    std::vector<double> value(size, -INF), come(size + 1), stay(size), leave(size);
    for (std::size_t e = 0; e < size; ++e) {
        stay[e] = logs[e][0];
        leave[e] = logs[e][1];
        if (e % n_states == 0) value[e] = enter + scores[0][e];
    }
    for (std::size_t t = 1; t < length; ++t) {
        for (std::size_t e = 0; e < size; ++e) come[e + 1] = value[e] + leave[e];
        std::size_t best = n_states - 1;
        for (std::size_t e = best; e < size; e += n_states)
            if (come[e + 1] > come[best + 1]) best = e;
        const double entered = come[best + 1] + enter;
        left[t] = best;
        for (std::size_t e = 0; e < size; e += n_states) come[e] = entered;
        unsigned char* flags = &moved[t * size];
        const double* own = scores[t];
        for (std::size_t e = 0; e < size; ++e) {
            const double stayed = value[e] + stay[e];
            flags[e] = come[e] > stayed;
            value[e] = (come[e] > stayed ? come[e] : stayed) + own[e];
        }
    }
    std::size_t e = std::size_t(std::max_element(value.begin(), value.end()) - value.begin());
    const double found = value[e];
    for (std::size_t t = length; t-- > 0;) {
        states[t] = std::int64_t(e);
        if (moved[t * size + e]) e = e % n_states == 0 ? left[t] : e - 1;
    }
    return found;
}

namespace {

// The next row for the places low to high; `value` and `out` begin three numbers before that of place `low`.
void matched(const float* value, Span<const std::int64_t> units, const float* own, float extra, float cost, float top,
             std::size_t low, std::size_t high, float* score, float* out) {
    for (std::size_t p = low; p < high; ++p)
        score[p - low] = p == 0 ? -std::numeric_limits<float>::infinity() : own[units[p - 1]];
    for (std::size_t i = 0; i < high - low; ++i) {
        const float s = score[i];
        float found = value[i + 3] + (s > extra ? s : extra);
        found = std::max(found, value[i + 2] + s);
        found = std::max(found, value[i + 1] + (s + cost));
        found = std::max(found, value[i] + (s + 2.0f * cost));
        out[i + 3] = found - top;
    }
}

}  // namespace

void align_match(Span<const std::int64_t> units, Matrix<const float> scores, Span<const float> extra, double skip,
                 Span<std::int64_t> places) {
    constexpr float INF = std::numeric_limits<float>::infinity();
    const std::size_t length = scores.rows, size = units.size + 1;
    if (length == 0) return;
    const std::size_t stride = std::max<std::size_t>(1, std::size_t(std::ceil(std::sqrt(double(length)))));
    const float cost = float(skip);
    std::vector<float> value(size + 3, -INF), next(value), score(size), tops(length);
    std::vector<std::vector<float>> kept;
    value[3] = 0;
    for (std::size_t n = 0; n < length; ++n) {
        if (n % stride == 0) kept.push_back(value);
        tops[n] = *std::max_element(value.begin(), value.end());
        matched(value.data(), units, scores[n], extra[n], cost, tops[n], 0, size, score.data(), next.data());
        value.swap(next);
    }
    std::size_t place = 0;
    float highest = -INF;
    for (std::size_t p = 0; p < size; ++p) {
        const float end = value[p + 3] + cost * float(size - 1 - p);
        if (end > highest) {
            highest = end;
            place = p;
        }
    }
    for (std::size_t block = kept.size(); block-- > 0;) {
        const std::size_t first = block * stride, n_rows = std::min(stride, length - first);
        const std::size_t low = place > 3 * n_rows ? place - 3 * n_rows : 0, high = place + 1, width = high - low + 3;
        std::vector<float> rows((n_rows + 1) * width, -INF);
        std::copy(&kept[block][low + 3], &kept[block][high + 2] + 1, rows.begin() + 3);
        for (std::size_t i = 0; i < n_rows; ++i)
            matched(&rows[i * width], units, scores[first + i], extra[first + i], cost, tops[first + i], low, high,
                    score.data(), &rows[(i + 1) * width]);
        for (std::size_t i = n_rows; i-- > 0;) {
            const std::size_t n = first + i;
            places[n] = std::int64_t(place);
            if (place == 0) continue;
            const float* past = &rows[i * width + 3 + (place - low)];
            const float s = scores[n][units[place - 1]];
            float found = past[0] + (s > extra[n] ? s : extra[n]);
            std::size_t taken = 0;
            for (std::size_t k = 1; k <= 3 && k <= place - low; ++k) {
                const float way = past[-std::ptrdiff_t(k)] + (s + float(k - 1) * cost);
                if (way > found) {
                    found = way;
                    taken = k;
                }
            }
            place -= taken;
        }
    }
}

}  // namespace halfseen::HALFSEEN_ISA
