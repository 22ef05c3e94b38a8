// The byte format of a stream's saved KV cache.
#include "kv/saved_state.hpp"

#include <algorithm>
#include <cstring>

#define XXH_INLINE_ALL
#include <hash/xxhash/xxhash.h>

namespace sotto::llama {
namespace {

// Flags in the highest bits of the stored number of tokens.
constexpr std::uint32_t kOwn = 1u << 31;     // StateHeader::own
constexpr std::uint32_t kAdapted = 1u << 30; // StateHeader::adapters is stored

// Removes a number from the front of `state` and returns it.
// Throws Error(SOTTO_ERROR_MODEL) if `state` is too short.
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

std::vector<llama_token> take_tokens(std::string_view& state, std::uint32_t count, std::size_t context) {
    if (count == 0 || count > context || state.size() / sizeof(llama_token) < count) {
        throw Error(
            SOTTO_ERROR_MODEL,
            "invalid state of " + std::to_string(count) + " tokens: expected 1 to " +
                std::to_string(context) + ", the model's context"
        );
    }
    std::vector<llama_token> tokens(count);
    std::memcpy(tokens.data(), state.data(), count * sizeof(llama_token));
    state.remove_prefix(count * sizeof(llama_token));
    return tokens;
}

void check_known(const std::vector<llama_token>& tokens, llama_token vocabulary) {
    const bool known = std::ranges::all_of(tokens, [&](llama_token token) {
        return token < LLAMA_TOKEN_NULL || (token >= 0 && token < vocabulary); // negative: image or sound
    });
    if (!known) {
        throw Error(SOTTO_ERROR_MODEL, "the state contains tokens that the model's vocabulary lacks");
    }
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

// Passes bytes to `write` and hashes them.
class HashingWriter {
public:
    HashingWriter(sotto_write_fn write, void* context) : write_(write), context_(context) {
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

std::uint64_t
write_state(const StateHeader& header, const StatePieces& pieces, sotto_write_fn write, void* context) {
    const auto count = static_cast<std::uint32_t>(header.tokens.size());
    const auto number = count | (header.own ? kOwn : 0) | (header.adapters != 0 ? kAdapted : 0);
    const std::uint64_t head_size = pieces.head.size();
    HashingWriter out(write, context);
    out.put(&number, sizeof number);
    if (header.adapters != 0) {
        out.put(&header.adapters, sizeof header.adapters);
    }
    out.put(header.tokens.data(), count * sizeof(llama_token));
    out.put(&head_size, sizeof head_size);
    out.put(pieces.beginning);
    out.put(pieces.head);
    out.put(pieces.tail);
    return out.hash();
}

SavedState read_state(std::string_view state, std::size_t context, llama_token vocabulary) {
    SavedState read;
    read.hash = XXH3_64bits(state.data(), state.size());
    const auto number = take<std::uint32_t>(state);
    read.header.adapters = (number & kAdapted) != 0 ? take<std::uint64_t>(state) : 0;
    read.header.own = (number & kOwn) != 0;
    read.header.tokens = take_tokens(state, number & ~(kOwn | kAdapted), context);
    check_known(read.header.tokens, vocabulary);
    read.pieces = take_pieces(state);
    return read;
}

} // namespace sotto::llama
