// Sums over the unobserved variables of networks, case by case. Formulas and layout: network.py.
#include "network.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace halfseen {

namespace {

constexpr double LEAST = 1e-200;  // of the largest sum of a bucket: below, products that became zero might have mattered

struct Bucket {
    std::size_t n_sent, n_summed, first_factor, n_factors, first_entry, first_message;

    explicit Bucket(const std::int64_t* row)
        : n_sent(row[0]), n_summed(row[1]), first_factor(row[2]), n_factors(row[3]), first_entry(row[4]),
          first_message(row[5]) {}
    std::size_t n_entries() const { return n_sent * n_summed; }
};

struct Network {
    const double* table;
    Matrix<const std::int64_t> factors;
    const std::int32_t* local;
    double* entries;   // of all buckets of a case
    double* messages;  // brought back to a largest of one
    double* usage;     // of messages
    double* scale;     // by which the messages of each bucket were divided
};

// Multiply the factors of a bucket.
void multiply(const Network& net, const Bucket& bucket, const std::int32_t* base) {
    double* entry = net.entries + bucket.first_entry;
    const std::size_t size = bucket.n_entries();
    for (std::size_t q = 0; q < bucket.n_factors; ++q) {
        const std::int64_t* factor = net.factors[bucket.first_factor + q];
        const std::int32_t* place = net.local + factor[2];
        const double* from = factor[0] >= 0 ? net.table + base[factor[0]] : net.messages + factor[1];
        if (q == 0) {
            for (std::size_t e = 0; e < size; ++e) entry[e] = from[place[e]];
        } else {
            for (std::size_t e = 0; e < size; ++e) entry[e] *= from[place[e]];
        }
    }
}

// Add up entries to messages; return the largest, by which they are divided.
double add_up(const Network& net, const Bucket& bucket) {
    const double* entry = net.entries + bucket.first_entry;
    double* message = net.messages + bucket.first_message;
    double largest = 0;
    for (std::size_t s = 0; s < bucket.n_sent; ++s) {
        double total = 0;
        for (std::size_t k = 0; k < bucket.n_summed; ++k) total += *entry++;
        message[s] = total;
        largest = std::max(largest, total);
    }
    if (largest > 0) {
        for (std::size_t s = 0; s < bucket.n_sent; ++s) message[s] /= largest;
    }
    return largest;
}

// Turn entries into their usage, and add it to the cells and messages that they multiply.
void give_back(const Network& net, const Bucket& bucket, double scale, const std::int32_t* base, double* counts) {
    double* entry = net.entries + bucket.first_entry;
    const double* message = net.messages + bucket.first_message;
    const double* used = net.usage + bucket.first_message;
    for (std::size_t s = 0; s < bucket.n_sent; ++s) {
        const double share = message[s] > 0 ? used[s] / (message[s] * scale) : 0.0;
        for (std::size_t k = 0; k < bucket.n_summed; ++k) entry[s * bucket.n_summed + k] *= share;
    }
    const std::size_t size = bucket.n_entries();
    for (std::size_t q = 0; q < bucket.n_factors; ++q) {
        const std::int64_t* factor = net.factors[bucket.first_factor + q];
        const std::int32_t* place = net.local + factor[2];
        double* onto = factor[0] >= 0 ? counts + base[factor[0]] : net.usage + factor[1];
        for (std::size_t e = 0; e < size; ++e) onto[place[e]] += entry[e];
    }
}

}  // namespace

void network_soft(Span<const double> table, Matrix<const std::int64_t> schemes, Matrix<const std::int64_t> buckets,
                  Matrix<const std::int64_t> factors, Span<const std::int32_t> local, Span<const std::int32_t> base,
                  Span<const double> weight, Span<double> room, Span<double> counts, Span<double> log_evidence) {
    std::size_t n_entries = 0, n_messages = 0;
    for (std::size_t b = 0; b < buckets.rows; ++b) {
        const Bucket bucket(buckets[b]);
        n_entries = std::max(n_entries, bucket.first_entry + bucket.n_entries());
        n_messages = std::max(n_messages, bucket.first_message + bucket.n_sent);
    }
    double* work = room.data;
    const Network net{table.data,       factors, local.data, work, work + n_entries, work + n_entries + n_messages,
                      work + n_entries + 2 * n_messages};
    for (std::size_t p = 0; p < schemes.rows; ++p) {
        const std::int64_t* scheme = schemes[p];
        const std::size_t n_families = scheme[3], first = scheme[4], n_buckets = scheme[5];
        const Bucket last(buckets[first + n_buckets - 1]);
        for (std::int64_t c = 0; c < scheme[1]; ++c) {
            const std::size_t n = scheme[0] + c;
            const std::int32_t* own = base.data + scheme[2] + c * n_families;
            double log_total = 0;
            bool lost = false;
            for (std::size_t b = 0; b < n_buckets && !lost; ++b) {
                const Bucket bucket(buckets[first + b]);
                multiply(net, bucket, own);
                const double largest = net.scale[b] = add_up(net, bucket);
                lost = !(largest > LEAST) || !std::isfinite(largest);
                log_total += std::log(largest);
            }
            if (lost) {
                log_evidence[n] = std::numeric_limits<double>::quiet_NaN();
                continue;
            }
            log_evidence[n] = log_total;
            std::fill(net.usage, net.usage + last.first_message, 0.0);
            net.usage[last.first_message] = weight[n];
            for (std::size_t b = n_buckets; b-- > 0;) {
                give_back(net, Bucket(buckets[first + b]), net.scale[b], own, counts.data);
            }
        }
    }
}

}  // namespace halfseen
