// The KV cache of a model: assigns slots to streams and keeps the cells of each slot consistent
// with the stream's tokens.
#include "kv/kv_cache.hpp"

#include "kv/saved_state.hpp"
#include "runtime/guard.hpp"

#include <algorithm>

namespace sotto::llama {

KvCache::KvCache(const llama_model* model, std::size_t max_slots, std::size_t max_tokens, bool has_projector)
    : max_tokens_(max_tokens), vocabulary_(llama_vocab_n_tokens(llama_model_get_vocab(model))),
      has_projector_(has_projector), slots_(max_slots, keeps_all(model)), memory_(model) {}

void KvCache::require_idle() const {
    if (const auto taken = slots_.in_use(); taken > 0) {
        throw Error(
            SOTTO_ERROR_STATE,
            std::to_string(taken) + " streams of the model use slots: park these streams before you resize"
        );
    }
}

void KvCache::detach() {
    slots_.resize(0);
    memory_.attach(nullptr);
}

void KvCache::attach(llama_context* context, std::size_t slots) {
    memory_.attach(context);
    slots_.resize(slots);
}

void KvCache::open(KvStream& stream) {
    const auto match = slots_.assign(stream);
    cut(stream, stream.tokens.floor(match.common));
    share_prefix(stream, {});
}

void KvCache::close(KvStream& stream) noexcept {
    if (stream.parked()) {
        slots_.forget_parked(stream);
    } else {
        slots_.release(stream, false);
    }
}

void KvCache::park(KvStream& stream) noexcept {
    if (!stream.parked()) {
        slots_.release(stream, true);
    }
}

std::uint32_t KvCache::unpark(KvStream& stream) {
    if (stream.parked()) {
        stream.wanted = slots_.is_free(stream.wanted) ? stream.wanted : kNoSlot;
        open(stream);
    }
    return stream.tokens.in_prompt() ? static_cast<std::uint32_t>(stream.tokens.pending()) : 0;
}

void KvCache::cut(KvStream& stream, std::size_t keep) {
    stream.tokens.hold(memory_.cut(stream.slot, stream.tokens, keep));
}

void KvCache::drop_middle(KvStream& stream, std::size_t keep) {
    auto& tokens = stream.tokens;
    const auto begin = tokens.floor(keep);
    const auto end = tokens.ceiling(begin + (tokens.tokens().size() - begin) / 2);
    const auto from = tokens.position(begin);
    const auto to = tokens.position(end);
    tokens.drop(begin, end);
    if (memory_.shift(stream.slot, from, to)) {
        stream.moved = batches_ + 1;
        tokens.hold_shifted(begin, end - begin);
    } else {
        cut(stream, std::min(tokens.held(), begin));
    }
}

void KvCache::clear() {
    memory_.clear();
    slots_.clear_contents();
}

// Copies the longest prefix of the stream's prompt that another slot caches. If another stream is about to
// compute a longer prefix, makes that stream the leader for which this stream waits.
void KvCache::share_prefix(KvStream& stream, const Prefills& prefills) {
    stream.wait = {};
    const bool any_slot = stream.wanted == kNoSlot; // otherwise it reuses only what its slot holds
    if (!stream.tokens.in_prompt() || !stream.reuse || !memory_.keeps_all() || !any_slot) {
        return;
    }
    const auto found = find_shared_prefix(slots_.slots(), stream, prefills);
    if (found.source != kNoSlot) {
        copy_prefix(found.source, stream, found.count);
    }
    if (found.leader != nullptr && worth_copying(found.led, stream.tokens.held())) {
        stream.wait.leader = found.leader;
        stream.wait.count = found.led;
    }
}

// Copies the cells of slot `source` to the stream's slot and cuts them to the first `count` tokens,
// which both slots have in common.
void KvCache::copy_prefix(llama_seq_id source, KvStream& stream, std::size_t count) {
    Call call(Call::current()->host(), Call::Abort::Throws); // failed assertions may throw: no graph runs
    const auto& from = slots_.slots()[static_cast<std::size_t>(source)];
    try {
        if (const auto copied = memory_.copy(source, stream.slot); copied.has_value()) {
            cut(stream, *copied ? count : 0);
            stream.restored = from.stream != nullptr ? from.stream->restored : from.restored;
        }
    } catch (const std::exception& error) { // the stream prefills its whole prompt instead
        throw_if_lost(error);
        cut(stream, 0);
    }
}

// A stream waits only for a leader that the current step may prefill. Such a leader computes in
// this step or waits for a leader of its own.
bool KvCache::waits(KvStream& stream, const Prefills& prefills) {
    const auto* leader = stream.wait.leader;
    if (stream.wait.seeks ||
        (leader != nullptr && (leader->tokens.held() >= stream.wait.count || !prefills(*leader)))) {
        share_prefix(stream, prefills);
    }
    return stream.wait.leader != nullptr;
}

void KvCache::require_saveable(const KvStream& stream) const {
    if (stream.parked()) {
        throw Error(SOTTO_ERROR_STATE, "the stream is parked: unpark the stream before you save its state");
    }
    if (stream.tokens.held() == 0) {
        throw Error(
            SOTTO_ERROR_STATE, "the stream has no KV cache yet: run a step before you save its state"
        );
    }
    if (stream.moved == batches_ + 1) {
        throw Error(
            SOTTO_ERROR_STATE, "the stream's KV cache is about to shift: save its state one step later"
        );
    }
}

std::uint32_t KvCache::save(KvStream& stream, sotto_write_fn write, void* context) {
    require_saveable(stream);
    const auto held = stream.tokens.held();
    const auto& tokens = stream.tokens.tokens();
    memory_.save(stream.slot, [&](const StatePieces& pieces) {
        const StateHeader header = {
            {tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(held)},
            stream.adapters,
            stream.tokens.exact() < held,
        };
        stream.saved = write_state(header, pieces, write, context);
    });
    return static_cast<std::uint32_t>(held);
}

// Parses a state. Throws Error if this model cannot use it.
SavedState KvCache::checked(std::string_view state) const {
    auto read = read_state(state, max_tokens_, vocabulary_);
    if (!has_projector_ && std::ranges::any_of(read.header.tokens, [](auto token) { return token < 0; })) {
        throw Error(
            SOTTO_ERROR_UNSUPPORTED,
            "the model reads text only, but the state holds images or sound; set options.projector"
        );
    }
    return read;
}

std::uint32_t KvCache::restore(std::string_view state) {
    auto read = checked(state);
    const auto count = read.header.tokens.size();
    if (slots_.has_state(read.hash, count)) {
        return static_cast<std::uint32_t>(count);
    }
    const auto slot = slots_.take_for_state(read.header.tokens, read.header.adapters);
    return restore_into(slot, std::move(read));
}

// Restores a state into an empty slot. Returns the number of its tokens.
std::uint32_t KvCache::restore_into(llama_seq_id slot, SavedState state) {
    auto& header = state.header;
    const auto count = header.tokens.size();
    if (!memory_.restore(slot, state.pieces)) {
        throw Error(SOTTO_ERROR_MODEL, "llama.cpp cannot restore the state");
    }
    slots_.put_state(
        slot, {std::move(header.tokens), header.adapters, header.own ? 0 : SIZE_MAX, state.hash}
    );
    return static_cast<std::uint32_t>(count);
}

sotto_slot_info KvCache::info_of(std::uint32_t slot) const {
    auto info = sotto_init<sotto_slot_info>();
    const auto slots = slots_.slots();
    if (slot < slots.size()) {
        const auto& one = slots[slot];
        const auto held = one.stream != nullptr ? one.stream->tokens.held() : one.tokens.size();
        info.tokens = static_cast<std::uint32_t>(held);
        info.in_use = one.stream != nullptr ? 1 : 0;
    }
    return info;
}

std::uint32_t KvCache::save_slot(std::uint32_t slot, sotto_write_fn write, void* context) {
    const auto& from = slots_.free_slot(slot);
    if (from.tokens.empty() || from.moved == batches_ + 1) {
        throw Error(
            SOTTO_ERROR_STATE,
            "slot " + std::to_string(slot) +
                (from.tokens.empty() ? " holds no tokens" : "'s KV cache is about to shift") +
                ": run a request in the slot before you save it"
        );
    }
    memory_.save(static_cast<llama_seq_id>(slot), [&](const StatePieces& pieces) {
        const StateHeader header = {from.tokens, from.adapters, from.exact < from.tokens.size()};
        write_state(header, pieces, write, context);
    });
    return static_cast<std::uint32_t>(from.tokens.size());
}

std::uint32_t KvCache::restore_slot(std::uint32_t slot, std::string_view state) {
    slots_.free_slot(slot);
    auto read = checked(state);
    const auto into = static_cast<llama_seq_id>(slot);
    slots_.empty(into);
    return restore_into(into, std::move(read));
}

std::uint32_t KvCache::erase_slot(std::uint32_t slot) {
    const auto tokens = slots_.free_slot(slot).tokens.size();
    const auto erased = static_cast<llama_seq_id>(slot);
    memory_.erase(erased);
    slots_.empty(erased);
    return static_cast<std::uint32_t>(tokens);
}

} // namespace sotto::llama
