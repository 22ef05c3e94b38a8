// Assigns KV cache slots to streams, and records the tokens that free slots still cache.
#include "kv/slot_table.hpp"

#include "runtime/fence.hpp"

#include <algorithm>
#include <array>
#include <new>

namespace sotto::llama {
namespace {

// Maximum number of cached tokens that may be evicted from
// a matching slot while an empty slot is free.
constexpr std::size_t kFewTokens = 32;

// Returns true if the tokens of a slot are those of a parked stream, or its saved state. `owner` may be null.
bool is_own(const Slot& slot, const KvStream* owner) noexcept {
    return owner != nullptr && (slot.parked == owner || (slot.state != 0 && slot.state == owner->saved));
}

} // namespace

SlotTable::SlotTable(std::size_t capacity, bool keeps_all) : keeps_all_(keeps_all) {
    slots_.reserve(capacity);
}

void SlotTable::resize(std::size_t count) noexcept {
    slots_.clear();
    slots_.resize(count);
}

std::size_t SlotTable::in_use() const noexcept {
    return static_cast<std::size_t>(std::ranges::count_if(slots_, [](const Slot& slot) {
        return slot.stream != nullptr;
    }));
}

// Returns the cost of a slot for a stream with these adapters: 0 if no stream has other adapters. llama.cpp
// computes sequences together only if their slots are neighbours, so the cost is otherwise the distance to
// the nearest stream with the same adapters. If no stream has the same adapters, the cost is higher the
// nearer the slot is to a stream with other adapters.
std::uint64_t SlotTable::distance(std::size_t slot, std::uint64_t adapters) const noexcept {
    const auto max = slots_.size();
    auto same = max;
    auto other = max;
    for (std::size_t i = 0; i < max; ++i) {
        if (const auto* stream = slots_[i].stream) {
            auto& nearest = stream->adapters == adapters ? same : other;
            nearest = std::min(nearest, i > slot ? i - slot : slot - i);
        }
    }
    return other == max ? 0 : same < max ? same : max - other;
}

// Returns the number of first tokens of `tokens` that a stream can reuse from a slot. The last token is never
// among them, because the next token is chosen from its logits. Arguments as in best_match().
std::size_t SlotTable::cached(
    const Slot& slot,
    const std::vector<llama_token>& tokens,
    std::uint64_t adapters,
    bool reuse,
    const KvStream* owner
) const {
    const bool same = slot.adapters == adapters;
    const auto usable = is_own(slot, owner) ? slot.tokens.size() : reuse && same ? slot.exact : 0;
    return std::min({common_prefix(slot.tokens, tokens), usable, tokens.size() - 1});
}

// Returns the free slot that caches the longest prefix of `tokens`, if that prefix is most of the slot's
// contents, or nearly all of them while an empty slot is free. Otherwise returns an empty slot, or the least
// recently used one, so that other conversations stay cached. `reuse`: tokens of other streams may match.
// `owner`: a stream whose own parked tokens or saved state may match even if `reuse` is false; may be null.
SlotTable::Match SlotTable::best_match(
    const std::vector<llama_token>& tokens, std::uint64_t adapters, bool reuse, const KvStream* owner
) const {
    const bool spare = keeps_all_ && std::ranges::any_of(slots_, [](const Slot& slot) {
                           return slot.stream == nullptr && slot.tokens.empty();
                       });
    Match best;
    std::array<std::uint64_t, 5> lowest{};
    for (std::size_t i = 0; i < slots_.size(); ++i) {
        const auto& slot = slots_[i];
        if (slot.stream != nullptr) {
            continue;
        }
        const bool own = is_own(slot, owner);
        const auto common = cached(slot, tokens, adapters, reuse, owner);
        const auto lost = slot.tokens.size() - common;
        const bool fits = common > 0 && (own || (lost <= common && (!spare || lost <= kFewTokens)));
        const std::array<std::uint64_t, 5> cost = {
            fits ? 0u : 1u,
            fits ? UINT64_MAX - common : !slot.tokens.empty(),
            fits ? 0u : slot.parked != nullptr,
            fits ? 0u : distance(i, adapters),
            slot.last_used,
        };
        if (best.slot == kNoSlot || cost < lowest) {
            best = {static_cast<llama_seq_id>(i), common};
            lowest = cost;
        }
    }
    if (best.slot == kNoSlot) {
        throw Error(
            SOTTO_ERROR_STATE,
            slots_.empty() ? "the model has 0 slots: resize the model first"
                           : "all slots of the model are in use: close or park a stream first"
        );
    }
    return best;
}

SlotTable::Match SlotTable::assign(KvStream& stream) {
    const auto& tokens = stream.tokens.tokens();
    Match match{stream.wanted, 0};
    if (stream.wanted == kNoSlot) {
        match = best_match(tokens, stream.adapters, stream.reuse, &stream);
    } else {
        const auto& wanted = free_slot(static_cast<std::uint32_t>(stream.wanted));
        match.common = cached(wanted, tokens, stream.adapters, stream.reuse, &stream);
    }
    forget_parked(stream);
    auto& slot = at(match.slot);
    stream.slot = match.slot;
    const bool saved = slot.state != 0 && slot.state == stream.saved;
    stream.tokens.set_exact(saved ? stream.tokens.exact() : slot.exact);
    stream.restored = slot.restored || slot.state != 0; // cut cells stay in the KV cache's buffers
    slot = {};
    slot.stream = &stream;
    return match;
}

void SlotTable::release(KvStream& stream, bool comes_back) noexcept {
    for (const auto& slot : slots_) {
        if (slot.stream != nullptr && slot.stream->wait.leader == &stream) {
            slot.stream->wait.leader = nullptr;
            slot.stream->wait.seeks = true;
        }
    }
    stream.wait.leader = nullptr;
    auto& slot = at(stream.slot);
    slot.stream = nullptr;
    slot.parked = comes_back ? &stream : nullptr;
    slot.adapters = stream.adapters;
    slot.exact = stream.tokens.exact();
    slot.restored = stream.restored;
    slot.moved = stream.moved;
    slot.last_used = ++clock_;
    const auto held = stream.tokens.held();
    try {
        slot.tokens = comes_back ? stream.tokens.tokens() : stream.tokens.take_tokens();
        slot.tokens.resize(held); // shrinks; does not allocate
    } catch (const std::bad_alloc&) {
        slot.tokens.clear();
    }
    stream.slot = kNoSlot;
}

void SlotTable::forget_parked(const KvStream& stream) noexcept {
    for (auto& slot : slots_) {
        slot.parked = slot.parked == &stream ? nullptr : slot.parked;
    }
}

const Slot& SlotTable::free_slot(std::uint32_t slot) const {
    if (slot >= slots_.size()) {
        throw invalid_argument(
            "id_slot",
            std::to_string(slot),
            "the number of one of the model's " + std::to_string(slots_.size()) + " slots"
        );
    }
    if (slots_[slot].stream != nullptr) {
        throw Error(
            SOTTO_ERROR_BUSY,
            "slot " + std::to_string(slot) +
                " is in use by a request or a pinned session: use another slot, or wait until the slot is "
                "free"
        );
    }
    return slots_[slot];
}

llama_seq_id SlotTable::take_for_state(const std::vector<llama_token>& tokens, std::uint64_t adapters) {
    const auto slot = best_match(tokens, adapters, true, nullptr).slot;
    at(slot) = {};
    return slot;
}

void SlotTable::put_state(llama_seq_id slot, RestoredState state) noexcept {
    auto& into = at(slot);
    into.tokens = std::move(state.tokens);
    into.adapters = state.adapters;
    into.exact = state.exact;
    into.state = state.hash;
    into.last_used = ++clock_;
}

bool SlotTable::has_state(std::uint64_t hash, std::size_t count) noexcept {
    for (auto& slot : slots_) {
        const bool saved =
            slot.parked != nullptr && slot.parked->saved == hash && slot.tokens.size() >= count;
        if (slot.stream == nullptr && (saved || slot.state == hash)) {
            slot.state = hash;
            return true;
        }
    }
    return false;
}

void SlotTable::clear_contents() noexcept {
    for (auto& slot : slots_) {
        auto* stream = slot.stream;
        slot = {};
        slot.stream = stream;
        if (stream != nullptr) {
            stream->restored = false;
            stream->tokens.hold(0);
        }
    }
}

} // namespace sotto::llama
