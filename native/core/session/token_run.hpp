// The tokens of a token session, each with its position.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sotto {

// A range of positions; `to` is excluded, -1: the end.
struct PositionRange {
    std::int64_t from = 0;
    std::int64_t to = -1;
};

// Positions ascend. Every function that throws leaves the run unchanged.
class TokenRun {
public:
    const std::vector<std::int32_t>& tokens() const noexcept { return tokens_; }
    const std::vector<std::int32_t>& positions() const noexcept { return positions_; }
    std::size_t size() const noexcept { return tokens_.size(); }
    // Returns the last position; -1: no tokens.
    std::int32_t end() const noexcept { return positions_.empty() ? -1 : positions_.back(); }
    // Returns the first position that is missing between two tokens; nullopt: none is missing.
    std::optional<std::int32_t> gap() const noexcept;

    // Appends tokens at the positions after end(). Throws std::bad_alloc, or Error(SOTTO_ERROR_ARGUMENT) if
    // the positions would exceed 2^31 - 2.
    void append(std::span<const std::int32_t> tokens);
    // Drops all but the first `count` tokens.
    void keep(std::size_t count) noexcept;

    // The following functions throw Error(SOTTO_ERROR_ARGUMENT) if a range ends after the last token, or
    // before it begins.
    void cut(PositionRange range);
    TokenRun part(PositionRange range) const;
    // Adds `delta` to the positions in the range. Throws also if positions would be negative, exceed
    // 2^31 - 2, or would not ascend any more.
    void shift(PositionRange range, std::int64_t delta);

    // Builds a run from tokens and their positions. Returns nullopt unless the positions ascend from 0 on.
    static std::optional<TokenRun>
    from(std::vector<std::int32_t> tokens, std::vector<std::int32_t> positions);

private:
    struct Indices {
        std::ptrdiff_t begin, end;
    };
    Indices find(PositionRange range) const;

    std::vector<std::int32_t> tokens_;
    std::vector<std::int32_t> positions_;
};

} // namespace sotto
