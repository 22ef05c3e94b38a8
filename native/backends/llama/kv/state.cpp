// What a model remembers of a conversation, out of it and into it again.
//
// The bytes: how many tokens (4), the key of the adapters if there are any (8), the tokens (4 each), the size
// of the state's head (8), then the pieces of a sequence's state. Whoever keeps them sees to it that they
// come back unchanged, and to the model that they are of: llama.cpp would believe anything. A stream knows
// its own state again by a hash of all of them.
#include "kv/pages.hpp"
#include "model/model.hpp"
#include "runtime/guard.hpp"

#include <algorithm>
#include <cstring>

#define XXH_INLINE_ALL
#include <hash/xxhash/xxhash.h>

namespace sotto::llama {
namespace {

// Beside the number of tokens, where something before them was forgotten: they serve their own stream only.
constexpr std::uint32_t kOwn = 1u << 31;
// Likewise, where adapters computed it, whose key follows.
constexpr std::uint32_t kAdapted = 1u << 30;

// Takes a number from the front of a state.
template <typename T>
T take(std::string_view& state) {
    if (state.size() < sizeof(T)) {
        throw Error(SOTTO_ERROR_MODEL, "the state is truncated");
    }
    T number;
    std::memcpy(&number, state.data(), sizeof number);
    state.remove_prefix(sizeof number);
    return number;
}

StatePieces take_pieces(std::string_view state) {
    const auto head = take<std::uint64_t>(state);
    if (state.size() < StateForm::kBeginning || state.size() - StateForm::kBeginning < head) {
        throw Error(SOTTO_ERROR_MODEL, "the state is truncated");
    }
    const Bytes all(reinterpret_cast<const std::uint8_t*>(state.data()), state.size());
    const auto rest = all.subspan(StateForm::kBeginning);
    return {all.first(StateForm::kBeginning), rest.first(head), rest.subspan(head)};
}

// Hands on what is written, and hashes it.
class Writer {
public:
    Writer(sotto_write_fn write, void* context) : write_(write), context_(context) {
        XXH3_64bits_reset(&hash_);
    }
    void put(Bytes bytes) { put(bytes.data(), bytes.size()); }
    void put(const void* bytes, std::size_t count) {
        XXH3_64bits_update(&hash_, bytes, count);
        if (write_(context_, bytes, count) != 0) {
            throw Error(SOTTO_ERROR_MEMORY, "no memory is left for the state");
        }
    }
    std::uint64_t hash() const noexcept { return XXH3_64bits_digest(&hash_); }

private:
    sotto_write_fn write_;
    void* context_;
    XXH3_state_t hash_;
};

} // namespace

std::uint32_t Model::save(Stream& stream, sotto_write_fn write, void* context) {
    if (!stream.how.stretches.empty()) {
        throw Error(
            SOTTO_ERROR_UNSUPPORTED,
            "messages with images or sound cannot be saved; remove the images and sounds"
        );
    }
    if (stream.parked()) {
        throw Error(SOTTO_ERROR_STATE, "the stream is parked: unpark the stream before you save its state");
    }
    if (stream.held == 0) {
        throw Error(
            SOTTO_ERROR_STATE, "the stream has no KV cache yet: run a step before you save its state"
        );
    }
    if (stream.moved == decoded_ + 1) {
        throw Error(
            SOTTO_ERROR_STATE, "the stream's KV cache is about to shift: save its state one step later"
        );
    }
    auto* from = opened_.context.get();
    const auto size = llama_state_seq_get_size(from, stream.sequence);
    const Pages bytes(size);
    const Bytes state(bytes.data(), llama_state_seq_get_data(from, bytes.data(), size, stream.sequence));
    if (state.empty()) {
        throw Error(SOTTO_ERROR_INFERENCE, "llama.cpp cannot save the KV cache");
    }
    const auto pieces = form_.pieces_of(from, state, stream.sequence);
    const auto count = static_cast<std::uint32_t>(stream.held);
    const auto adapters = stream.adapters.key;
    const auto number = count | (stream.exact < stream.held ? kOwn : 0) | (adapters != 0 ? kAdapted : 0);
    Writer out(write, context);
    out.put(&number, sizeof number);
    if (adapters != 0) {
        out.put(&adapters, sizeof adapters);
    }
    out.put(stream.tokens.data(), count * sizeof(llama_token));
    const std::uint64_t head_size = pieces.head.size();
    out.put(&head_size, sizeof head_size);
    out.put(pieces.beginning);
    out.put(pieces.head);
    out.put(pieces.tail);
    stream.saved = out.hash();
    return count;
}

// Whether a free sequence holds the `count` tokens of a state. It is as good as that state then, also to the
// stream that the state is of.
bool Model::holds(std::uint64_t state, std::size_t count) noexcept {
    for (auto& at : sequences_) {
        const bool saved = at.parked != nullptr && at.parked->saved == state && at.tokens.size() >= count;
        if (at.stream == nullptr && (saved || at.state == state)) {
            at.state = state;
            return true;
        }
    }
    return false;
}

std::uint32_t Model::restore(std::string_view state) {
    const auto hash = XXH3_64bits(state.data(), state.size());
    const auto number = take<std::uint32_t>(state);
    const auto count = number & ~(kOwn | kAdapted);
    const auto adapters = (number & kAdapted) != 0 ? take<std::uint64_t>(state) : 0;
    if (count == 0 || count > opened_.options.context || state.size() / sizeof(llama_token) < count) {
        throw Error(
            SOTTO_ERROR_MODEL,
            "invalid state of " + std::to_string(count) + " tokens: expected 1 to " +
                std::to_string(opened_.options.context) + ", the model's context"
        );
    }
    std::vector<llama_token> tokens(count);
    std::memcpy(tokens.data(), state.data(), count * sizeof(llama_token));
    state.remove_prefix(count * sizeof(llama_token));
    const bool known = std::all_of(tokens.begin(), tokens.end(), [&](auto token) {
        return token < LLAMA_TOKEN_NULL || preparer_.tokenizer().exists(token); // below: of an image or sound
    });
    if (!known) {
        throw Error(SOTTO_ERROR_MODEL, "the state contains tokens that the model's vocabulary lacks");
    }
    const auto pieces = take_pieces(state);
    if (holds(hash, count)) {
        return count;
    }
    const auto sequence = best_place(tokens, adapters, true, nullptr).sequence;
    auto& place = sequences_[static_cast<std::size_t>(sequence)];
    place = {};
    auto* memory = llama_get_memory(opened_.context.get());
    llama_memory_seq_rm(memory, sequence, -1, -1);
    const Pages whole(form_.whole_size(pieces));
    form_.write_whole(pieces, whole.data());
    const auto read = llama_state_seq_set_data(opened_.context.get(), whole.data(), whole.size(), sequence);
    if (read != whole.size()) {
        llama_memory_seq_rm(memory, sequence, -1, -1);
        throw Error(SOTTO_ERROR_MODEL, "llama.cpp cannot restore the state");
    }
    place.tokens = std::move(tokens);
    place.exact = (number & kOwn) != 0 ? 0 : SIZE_MAX;
    place.adapters = adapters;
    place.state = hash;
    place.last_used = ++clock_;
    return count;
}

} // namespace sotto::llama
