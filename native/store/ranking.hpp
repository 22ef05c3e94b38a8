// Combines the results of several searches, and scores what they found.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "store/entry.hpp"
#include "store/text_search.hpp"
#include "store/vector_search.hpp"

namespace sotto::store {

// What the searches say of one entry.
struct Candidate {
    std::int64_t number = 0; // row of the entry
    std::optional<double> similarity;
    std::optional<double> text_score;
    double relevance = 0.0;
};

// Merges the matches of a vector search and of a full-text search, each best first. Relevance is: the cosine
// similarity if only vectors were searched; the BM25 score as a fraction of the best one if only text was;
// else reciprocal rank fusion, the sum of 1 / (60 + rank) over the searches that found the entry, as a
// fraction of what the first of both would have. An entry without any match has relevance 0.
std::vector<Candidate> merged(const std::vector<VectorMatch>* vectors, const std::vector<TextMatch>* texts);

// 1 at `then_ms` and later, half of it each `half_life_s` seconds.
double recency(std::int64_t then_ms, std::int64_t now_ms, double half_life_s) noexcept;

// Mean of relevance, priority, recency and importance by their weights.
double combined_score(const Weights& weights, double relevance, double recency, const Entry& entry) noexcept;

} // namespace sotto::store
