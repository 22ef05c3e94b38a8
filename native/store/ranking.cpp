#include "store/ranking.hpp"

#include <algorithm>
#include <cmath>

namespace sotto::store {
namespace {

constexpr double kFusion = 60.0; // Cormack, Clarke, Buettcher: "Reciprocal Rank Fusion", SIGIR 2009

double rank_score(std::size_t index) noexcept {
    return 1.0 / (kFusion + 1.0 + static_cast<double>(index));
}

} // namespace

std::vector<Candidate> merged(const std::vector<VectorMatch>* vectors, const std::vector<TextMatch>* texts) {
    std::vector<Candidate> all;
    std::unordered_map<std::int64_t, std::size_t> places;
    const auto candidate = [&](std::int64_t number) -> Candidate& {
        const auto [found, is_new] = places.try_emplace(number, all.size());
        if (is_new) {
            all.push_back({.number = number, .similarity = {}, .text_score = {}});
        }
        return all[found->second];
    };
    const bool both = vectors != nullptr && texts != nullptr;
    const double best = 2 * rank_score(0);
    for (std::size_t i = 0; vectors != nullptr && i < vectors->size(); ++i) {
        const auto& match = (*vectors)[i];
        auto& one = candidate(match.number);
        one.similarity = match.similarity;
        one.relevance = both ? rank_score(i) / best : match.similarity;
    }
    for (std::size_t i = 0; texts != nullptr && i < texts->size(); ++i) {
        const auto& match = (*texts)[i];
        auto& one = candidate(match.number);
        one.text_score = match.score;
        one.relevance += both ? rank_score(i) / best : match.score / std::max(texts->front().score, 1e-12);
    }
    return all;
}

double recency(std::int64_t then_ms, std::int64_t now_ms, double half_life_s) noexcept {
    const double age_s = static_cast<double>(now_ms - then_ms) / 1000.0;
    return age_s <= 0 ? 1.0 : std::exp2(-age_s / half_life_s);
}

double combined_score(const Weights& weights, double relevance, double recency, const Entry& entry) noexcept {
    const double sum = weights.relevance + weights.priority + weights.recency + weights.importance;
    return (weights.relevance * relevance + weights.priority * entry.priority + weights.recency * recency +
            weights.importance * entry.importance) /
           sum;
}

} // namespace sotto::store
