#include "core/control/stream_usage.hpp"

#include <algorithm>

#include "platform/clock.hpp"

namespace sotto {

void StreamUsage::opened(const StreamInfo& info, std::int64_t now) noexcept {
    prompt_.prompt = info.prompt_tokens;
    prompt_.cached = std::min(info.cached_tokens, info.prompt_tokens);
    prompt_.dropped = info.dropped;
    prompt_.slot = info.slot;
    prompt_.truncated = info.truncated || info.dropped > 0;
    opened_ = now;
}

// The first token is chosen by the step that prefills the end of the prompt, which decodes no token.
void StreamUsage::stepped(const sotto_step_item& work) noexcept {
    prompt_.drafted += work.decoded > 1 ? work.decoded - 1 : 0;
    prompt_.accepted += work.generated != 0 && work.decoded == 0 && work.evaluated == 0 ? 1 : 0;
    prompt_.slot = work.slot > 0 ? static_cast<std::int32_t>(work.slot) - 1 : prompt_.slot;
    prompt_.truncated = prompt_.truncated || work.truncated != 0;
}

std::optional<PrefillProgress>
StreamUsage::take_progress(std::uint32_t remaining, std::int64_t now) noexcept {
    const auto processed = prompt_.prompt - std::min(prompt_.prompt, remaining);
    if (processed_ && processed <= *processed_) {
        return std::nullopt; // a stream that was parked prefills some tokens again
    }
    const auto ms = processed_ ? milliseconds(now - opened_) : 0;
    processed_ = processed;
    return PrefillProgress{prompt_.prompt, prompt_.cached, processed, ms};
}

void StreamUsage::counted(const sotto_step_item& work) noexcept {
    if (work.prompt_tokens != 0) {
        prompt_.prompt = work.prompt_tokens;
        prompt_.cached = std::min(work.cached_tokens, work.prompt_tokens);
    }
    completion_ = std::max(completion_, work.completion_tokens);
}

Counts
StreamUsage::counts(std::uint32_t generated, std::int64_t first, std::int64_t submitted) const noexcept {
    Counts counts = prompt_;
    counts.generated = std::max(generated, completion_);
    if (generated > 0) {
        counts.prompt_ms = milliseconds(first - opened_);
        counts.generated_ms = milliseconds(last_ - first);
        counts.first_token_ms = milliseconds(first - submitted);
    }
    return counts;
}

} // namespace sotto
