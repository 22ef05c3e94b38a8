// Tokens and times of a stream, for the usage that its response reports.
#pragma once

#include <cstdint>

#include "core/codec/codec.hpp"
#include "module/backend.hpp"

namespace sotto {

// Times in ns. Control thread only.
class StreamUsage {
public:
    // Called when the stream got its slot.
    void opened(const StreamInfo& info, std::int64_t now) noexcept;
    // Called after each token.
    void generated(std::int64_t now) noexcept { last_ = now; }

    // Returns the counts of prompt tokens; all other counts and times are 0.
    const Counts& prompt() const noexcept { return prompt_; }
    // Returns all counts after `generated` tokens. `first`: time of the first
    // token. `submitted`: when the host submitted the request.
    Counts counts(std::uint32_t generated, std::int64_t first, std::int64_t submitted) const noexcept;

private:
    Counts prompt_;
    std::int64_t opened_ = 0;
    std::int64_t last_ = 0; // time of the last token
};

} // namespace sotto
