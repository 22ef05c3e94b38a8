#include "core/control/stream_usage.hpp"

#include <algorithm>

#include "platform/clock.hpp"

namespace sotto {

void StreamUsage::opened(const StreamInfo& info, std::int64_t now) noexcept {
    prompt_.prompt = info.prompt_tokens;
    prompt_.cached = std::min(info.cached_tokens, info.prompt_tokens);
    prompt_.dropped = info.dropped;
    opened_ = now;
}

Counts
StreamUsage::counts(std::uint32_t generated, std::int64_t first, std::int64_t submitted) const noexcept {
    Counts counts = prompt_;
    counts.generated = generated;
    if (generated > 0) {
        counts.prompt_ms = milliseconds(first - opened_);
        counts.generated_ms = milliseconds(last_ - first);
        counts.first_token_ms = milliseconds(first - submitted);
    }
    return counts;
}

} // namespace sotto
