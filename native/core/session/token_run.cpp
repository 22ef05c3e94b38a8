#include "core/session/token_run.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"

namespace sotto {
namespace {

constexpr std::int64_t kMaxPosition = INT32_MAX - 1;

} // namespace

std::optional<std::int32_t> TokenRun::gap() const noexcept {
    for (std::size_t i = 1; i < positions_.size(); ++i) {
        if (positions_[i] != positions_[i - 1] + 1) {
            return positions_[i - 1] + 1;
        }
    }
    return std::nullopt;
}

void TokenRun::append(std::span<const std::int32_t> tokens) {
    if (static_cast<std::int64_t>(tokens.size()) > kMaxPosition - end()) {
        throw invalid_argument(
            "prompt",
            std::to_string(tokens.size()) + " tokens",
            "at most " + std::to_string(kMaxPosition - end()) + " after position " + std::to_string(end())
        );
    }
    const auto needed = tokens_.size() + tokens.size();
    for (auto* grows : {&tokens_, &positions_}) {
        if (needed > grows->capacity()) {
            grows->reserve(std::max(needed, 2 * grows->size()));
        }
    }
    // nothing throws from here on
    for (const auto token : tokens) {
        positions_.push_back(end() + 1);
        tokens_.push_back(token);
    }
}

void TokenRun::keep(std::size_t count) noexcept {
    tokens_.resize(std::min(count, tokens_.size()));
    positions_.resize(tokens_.size());
}

TokenRun::Indices TokenRun::find(PositionRange range) const {
    const std::int64_t after = std::int64_t{end()} + 1;
    const auto to = range.to < 0 ? after : range.to;
    if (to > after) {
        throw invalid_argument(
            "to", std::to_string(to), "-1 for the end, or 0 to " + std::to_string(after) + ", the end"
        );
    }
    if (range.from > to) {
        throw invalid_argument("from", std::to_string(range.from), "0 to " + std::to_string(to));
    }
    const auto index = [&](std::int64_t position) {
        return std::ranges::lower_bound(positions_, position) - positions_.begin();
    };
    return {index(range.from), index(to)};
}

void TokenRun::cut(PositionRange range) {
    const auto [begin, end] = find(range);
    tokens_.erase(tokens_.begin() + begin, tokens_.begin() + end);
    positions_.erase(positions_.begin() + begin, positions_.begin() + end);
}

TokenRun TokenRun::part(PositionRange range) const {
    const auto [begin, end] = find(range);
    TokenRun part;
    part.tokens_.assign(tokens_.begin() + begin, tokens_.begin() + end);
    part.positions_.assign(positions_.begin() + begin, positions_.begin() + end);
    return part;
}

void TokenRun::shift(PositionRange range, std::int64_t delta) {
    const auto [begin, end] = find(range);
    if (begin == end) {
        return;
    }
    const auto at = [&](std::ptrdiff_t index) {
        return std::int64_t{positions_[static_cast<std::size_t>(index)]};
    };
    const auto size = static_cast<std::ptrdiff_t>(positions_.size());
    const auto min = (begin == 0 ? 0 : at(begin - 1) + 1) - at(begin);
    const auto max = (end == size ? kMaxPosition : at(end) - 1) - at(end - 1);
    if (delta < min || delta > max) {
        throw invalid_argument(
            "delta",
            std::to_string(delta),
            std::to_string(min) + " to " + std::to_string(max) +
                ", so that the tokens keep their order; cut the tokens in between first"
        );
    }
    for (auto i = begin; i < end; ++i) {
        positions_[static_cast<std::size_t>(i)] += static_cast<std::int32_t>(delta);
    }
}

std::optional<TokenRun>
TokenRun::from(std::vector<std::int32_t> tokens, std::vector<std::int32_t> positions) {
    const bool ascends = std::ranges::adjacent_find(positions, std::greater_equal<>()) == positions.end();
    const bool in_range = positions.empty() || (positions.front() >= 0 && positions.back() <= kMaxPosition);
    if (tokens.size() != positions.size() || !ascends || !in_range) {
        return std::nullopt;
    }
    TokenRun run;
    run.tokens_ = std::move(tokens);
    run.positions_ = std::move(positions);
    return run;
}

} // namespace sotto
