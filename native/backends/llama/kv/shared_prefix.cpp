// Finds prefixes that the prompts of several streams share, so that each prefix is computed only once.
#include "kv/shared_prefix.hpp"

#include <algorithm>

namespace sotto::llama {
namespace {

constexpr std::size_t kMinCopied = 32; // tokens
constexpr std::size_t kMinAwaited = 64;

// Returns true if `stream` waits for `leader`, directly or through other leaders.
bool follows(const KvStream* stream, const KvStream& leader) {
    while (stream != nullptr && stream != &leader) {
        stream = stream->wait.leader;
    }
    return stream != nullptr;
}

} // namespace

SharedPrefix
find_shared_prefix(std::span<const Slot> slots, const KvStream& stream, const Prefills& prefills) {
    const auto& tokens = stream.tokens.tokens();
    SharedPrefix found;
    found.count = stream.tokens.held() + kMinCopied - 1;
    found.led = std::max(kMinAwaited - 1, found.count);
    for (std::size_t i = 0; i < slots.size(); ++i) {
        const auto& slot = slots[i];
        auto* other = slot.stream;
        if (other == &stream || (other != nullptr ? other->adapters : slot.adapters) != stream.adapters) {
            continue;
        }
        const auto& cached = other != nullptr ? other->tokens.tokens() : slot.tokens;
        const auto exact = other != nullptr ? other->tokens.exact() : slot.exact;
        const auto common = std::min({common_prefix(cached, tokens), exact, tokens.size() - 1});
        const auto held = std::min(common, other != nullptr ? other->tokens.held() : slot.tokens.size());
        if (const auto whole = stream.tokens.floor(held); whole > found.count) {
            found.source = static_cast<llama_seq_id>(i);
            found.count = whole;
        }
        if (common > held && common > found.led && other->tokens.in_prompt() && !follows(other, stream) &&
            (!prefills || prefills(*other))) {
            found.leader = other;
            found.led = common;
        }
    }
    return found;
}

bool worth_copying(std::size_t count, std::size_t held) noexcept {
    return count >= held + kMinCopied;
}

} // namespace sotto::llama
