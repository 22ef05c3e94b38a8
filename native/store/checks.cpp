#include "store/checks.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/error.hpp"

namespace sotto::store {
namespace {

constexpr std::size_t kMaxName = 256;        // bytes of an id or a namespace
constexpr std::size_t kMaxKey = 1 << 20;     // bytes; of the metadata too
constexpr std::size_t kMaxValue = 16 << 20;  // bytes
constexpr std::size_t kMaxText = 64 << 10;   // bytes of a query
constexpr std::size_t kMaxResults = 10'000;  // of one query
constexpr double kMaxPriority = 1e6;         // either side of 0
constexpr std::int64_t kMaxTime = 1LL << 52; // milliseconds: exact in a double

void check_size(std::string_view name, std::size_t size, std::size_t most) {
    if (size > most) {
        throw invalid_argument(
            name, std::to_string(size) + " bytes", "at most " + std::to_string(most) + " bytes; shorten it"
        );
    }
}

void check_range(std::string_view name, double value, double least, double most) {
    if (!(value >= least && value <= most)) { // also refuses NaN
        throw invalid_argument(
            name,
            std::to_string(value),
            "a number from " + std::to_string(least) + " to " + std::to_string(most)
        );
    }
}

void check_time(std::string_view name, std::int64_t value) {
    if (value < -kMaxTime || value > kMaxTime) {
        throw invalid_argument(name, std::to_string(value), "milliseconds since 1970");
    }
}

void check_weight(std::string_view name, double weight) {
    check_range(name, weight, 0, kMaxPriority);
}

} // namespace

void check_vector(std::span<const float> vector, std::string_view name) {
    bool zero = true;
    for (std::size_t i = 0; i < vector.size(); ++i) {
        if (!std::isfinite(vector[i])) {
            throw invalid_argument(
                std::string(name) + "[" + std::to_string(i) + "]",
                std::to_string(vector[i]),
                "a finite number"
            );
        }
        zero = zero && vector[i] == 0.0F;
    }
    if (zero) {
        throw invalid_argument(
            name,
            vector.empty() ? "[]" : "all zeros",
            "a vector that is not zero: a zero vector has no direction to compare"
        );
    }
}

void check_entry(const Entry& entry) {
    check_size("id", entry.id.size(), kMaxName);
    check_size("namespace", entry.space.size(), kMaxName);
    check_size("key", entry.key.size(), kMaxKey);
    check_size("value", entry.value.size(), kMaxValue);
    check_size("metadata", entry.metadata.size(), kMaxKey);
    check_range("priority", entry.priority, -kMaxPriority, kMaxPriority);
    check_range("importance", entry.importance, 0, 1);
    check_time("created_ms", entry.created_ms);
    check_time("accessed_ms", entry.accessed_ms);
    if (!entry.embedding.empty()) {
        check_vector(entry.embedding, "embedding");
    }
}

void check_query(const StoreQuery& query) {
    check_size("text", query.text.size(), kMaxText);
    check_size("key_contains", query.filter.key_contains.size(), kMaxText);
    if (!query.embedding.empty()) {
        check_vector(query.embedding, "embedding");
    }
    if (query.limit > kMaxResults || query.candidates > kMaxResults) {
        throw invalid_argument(
            query.limit > kMaxResults ? "limit" : "candidates",
            std::to_string(std::max(query.limit, query.candidates)),
            "at most " + std::to_string(kMaxResults)
        );
    }
    const auto& weights = query.weights;
    check_weight("weights.relevance", weights.relevance);
    check_weight("weights.priority", weights.priority);
    check_weight("weights.recency", weights.recency);
    check_weight("weights.importance", weights.importance);
    if (weights.relevance + weights.priority + weights.recency + weights.importance <= 0) {
        throw invalid_argument("weights", "all 0", "at least one weight above 0");
    }
    if (!(query.half_life_s > 0) || !std::isfinite(query.half_life_s)) {
        throw invalid_argument("half_life_s", std::to_string(query.half_life_s), "seconds, more than 0");
    }
    check_time("now_ms", query.now_ms);
}

} // namespace sotto::store
