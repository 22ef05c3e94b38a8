// Tokens and times of a stream, for the usage that its response reports.
#pragma once

#include <cstdint>
#include <optional>

#include "core/codec/codec.hpp"
#include "module/backend.hpp"

namespace sotto {

// Times in ns. Control thread only.
class StreamUsage {
public:
    // Called when the stream got its slot.
    void opened(const StreamInfo& info, std::int64_t now) noexcept;
    // Takes the token counts of a step's item, where the backend states them.
    void counted(const sotto_step_item& work) noexcept;
    // Returns the progress of the prefill if it advanced since the last call, or at the first call.
    // `remaining`: prompt tokens left to prefill.
    std::optional<PrefillProgress> take_progress(std::uint32_t remaining, std::int64_t now) noexcept;
    // Called after each token.
    void generated(std::int64_t now) noexcept { last_ = now; }
    // Called after each step of the stream.
    void stepped(const sotto_step_item& work) noexcept;
    void forget_slot() noexcept { prompt_.slot = -1; }

    // Returns the counts of prompt and draft tokens; all other counts and times are 0.
    const Counts& prompt() const noexcept { return prompt_; }
    // Returns all counts after `generated` tokens. `first`: time of the first
    // token. `submitted`: when the host submitted the request.
    Counts counts(std::uint32_t generated, std::int64_t first, std::int64_t submitted) const noexcept;

private:
    Counts prompt_;                // and what steps reported: draft tokens, slot, truncation
    std::uint32_t completion_ = 0; // tokens of the answer by the backend's count; 0: none was stated
    std::optional<std::uint32_t> processed_; // prompt tokens in the progress that was last taken
    std::int64_t opened_ = 0;
    std::int64_t last_ = 0; // time of the last token
};

} // namespace sotto
