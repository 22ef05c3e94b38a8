// Speculative decoding: proposes draft tokens, so that one batch checks several tokens of a stream.
//
// Each token is chosen from the model's logits for its position, as without drafts. A correct draft
// token only means that these logits were computed in the same batch as those of the token before.
// Drafts therefore affect the speed, never the answer.
#include "step/speculate.hpp"

#include <algorithm>

namespace sotto::llama {
namespace {

constexpr std::size_t kLeastAlike = 2;    // min tokens that must match for a lookup
constexpr std::size_t kMostAlike = 8;     // max tokens that are compared
constexpr double kMoreTime = 0.3;         // relative cost of a draft token until it is measured
constexpr double kForgetting = 0.999;     // decay of costs, so that slow drafts are retried
constexpr double kRateOfStream = 1.0 / 8; // moving averages: weight of one token
constexpr double kRateOfModel = 1.0 / 64;
constexpr double kRateFades = 1.0 / 128;
// Per new stream, the model's average moves toward kUnknownRate, so that drafts are tried again
// after a low acceptance rate.
constexpr double kRateIsTriedAgain = 1.0 / 32;
constexpr unsigned kGuessedInARow = 32;          // max steps with drafts in a row
constexpr double kMostSurprise = 2;              // max ratio of a measurement to the average
constexpr std::size_t kCounts[] = {1, 3, 7, 15}; // draft lengths; kernels take 4 rows at once

} // namespace

std::vector<llama_token> look_up(std::span<const llama_token> tokens, std::size_t most) {
    std::size_t longest = kLeastAlike - 1;
    std::size_t after = 0;
    for (auto end = tokens.size() - 1; end > longest; --end) { // end of the earlier occurrence
        std::size_t alike = 0;
        while (alike < std::min(end, kMostAlike) &&
               tokens[end - 1 - alike] == tokens[tokens.size() - 1 - alike] &&
               tokens[end - 1 - alike] >= 0) { // negative: image or sound
            ++alike;
        }
        if (alike > longest) {
            longest = alike;
            after = end;
        }
        if (longest == kMostAlike) {
            break;
        }
    }
    std::vector<llama_token> guess;
    for (auto at = after; after > 0 && guess.size() < most; ++at) { // continues with the draft's own tokens
        const auto next = at < tokens.size() ? tokens[at] : guess[at - tokens.size()];
        if (next < 0) {
            break;
        }
        guess.push_back(next);
    }
    return guess;
}

std::size_t DraftLength::worth(Acceptance& stream, std::size_t available, const ggml_threadpool* pool) {
    if (stream.rate < 0) {
        stream.rate = rate_ += (kUnknownRate - rate_) * kRateIsTriedAgain;
    }
    auto& costs = costs_[pool];
    if (available == 0 || costs[1] == 0 || ++guessed_ > kGuessedInARow) {
        return 0;
    }
    std::size_t best = 0;
    double best_speed = 1 / costs[1];
    for (const auto count : kCounts) {
        double expected = 1;
        double all = 1;
        for (std::size_t i = 0; i < count; ++i) {
            expected += all *= stream.rate;
        }
        const auto cost = costs[count + 1] != 0 ? costs[count + 1]
                                                : costs[1] * (1 + kMoreTime * static_cast<double>(count));
        if (count <= available && expected / cost > best_speed) {
            best = count;
            best_speed = expected / cost;
        }
    }
    if (best == 0) {
        std::for_each(costs.begin() + 2, costs.end(), [](double& cost) { cost *= kForgetting; });
    }
    return best;
}

void DraftLength::saw(Acceptance& stream, bool accepted) {
    const double seen = accepted ? 1 : 0;
    stream.rate += (seen - stream.rate) * kRateOfStream;
    rate_ += (seen - rate_) * kRateOfModel;
}

void DraftLength::fade(Acceptance& stream) const {
    stream.rate += (rate_ - stream.rate) * kRateFades;
}

void DraftLength::measured(std::size_t tokens, std::chrono::nanoseconds time, const ggml_threadpool* pool) {
    auto& cost = costs_[pool][tokens];
    const auto seen = std::chrono::duration<double>(time).count();
    cost = cost == 0 ? seen : cost + (std::min(seen, cost * kMostSurprise) - cost) / 4;
    guessed_ = tokens == 1 ? 0 : guessed_;
}

} // namespace sotto::llama
