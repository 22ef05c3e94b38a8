// Guesses what a stream says next, so that several of its tokens are checked in one go.
//
// Each token is chosen from what the model computed for its place, as if it came alone: a guess only decides
// whether that was computed in the same go as the token before. So only time hangs on guesses.
#include "step/speculate.hpp"

#include <algorithm>

namespace sotto::llama {
namespace {

constexpr std::size_t kLeastAlike = 2; // tokens that were there before, for what followed them to be a guess
constexpr std::size_t kMostAlike = 8;
constexpr double kMoreTime = 0.3;         // of a token's, that another one takes; until it is measured
constexpr double kForgetting = 0.999;     // so that what seemed too slow is tried again
constexpr double kRateOfStream = 1.0 / 8; // of moving averages: by how much one token changes them
constexpr double kRateOfModel = 1.0 / 64;
constexpr double kRateFades = 1.0 / 128;
constexpr double kRateIsTriedAgain =
    1.0 / 32;                           // per stream: a model whose drafts were refused gets another try
constexpr unsigned kGuessedInARow = 32; // then one token alone is measured again
constexpr double kMostSurprise = 2;     // by how much one measurement can change what is believed
constexpr std::size_t kCounts[] = {1, 3, 7, 15}; // of guesses: matrices are worked through by fours

} // namespace

std::vector<llama_token> look_up(std::span<const llama_token> tokens, std::size_t most) {
    std::size_t longest = kLeastAlike - 1;
    std::size_t after = 0;
    for (auto end = tokens.size() - 1; end > longest; --end) { // of the stretch before
        std::size_t alike = 0;
        while (alike < std::min(end, kMostAlike) &&
               tokens[end - 1 - alike] == tokens[tokens.size() - 1 - alike] &&
               tokens[end - 1 - alike] >= 0) { // below: of an image or sound
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
    for (auto at = after; after > 0 && guess.size() < most; ++at) { // into itself, where it repeats
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
