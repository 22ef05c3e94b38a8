// What a model remembers of a conversation, out of it and into it again.
//
// The bytes: how many tokens (4), the tokens (4 each), then a sequence's state as llama.cpp has it. Whoever
// keeps them sees to it that they come back unchanged, and to the model that they are of: llama.cpp would
// believe anything.
#include "guard.hpp"
#include "model.hpp"

#include <algorithm>
#include <cstring>

namespace sotto::llama {

std::uint32_t Model::save(const Stream& stream, sotto_write_fn write, void* context) {
    Call call(host(), Call::Abort::Throws);
    if (!stream.how.stretches.empty()) {
        throw Error(SOTTO_ERROR_UNSUPPORTED, "messages with images or sound are not saved; leave them out");
    }
    if (stream.parked()) {
        throw Error(SOTTO_ERROR_STATE, "the stream is parked: give it its place again before it is saved");
    }
    auto* from = opened_.context.get();
    std::vector<std::uint8_t> state(llama_state_seq_get_size(from, stream.sequence));
    state.resize(llama_state_seq_get_data(from, state.data(), state.size(), stream.sequence));
    if (state.empty()) {
        throw Error(SOTTO_ERROR_INFERENCE, "llama.cpp cannot save what the model remembers");
    }
    const auto count = static_cast<std::uint32_t>(stream.held);
    const bool full = write(context, &count, sizeof count) != 0 ||
                      write(context, stream.tokens.data(), count * sizeof(llama_token)) != 0 ||
                      write(context, state.data(), state.size()) != 0;
    if (full) {
        throw Error(SOTTO_ERROR_MEMORY, "there is no room for the state");
    }
    return count;
}

std::uint32_t Model::restore(std::string_view state) {
    Call call(host(), Call::Abort::Throws);
    std::uint32_t count = 0;
    if (state.size() < sizeof count) {
        throw Error(SOTTO_ERROR_MODEL, "the state is cut");
    }
    std::memcpy(&count, state.data(), sizeof count);
    state.remove_prefix(sizeof count);
    if (count == 0 || count > opened_.options.context || state.size() / sizeof(llama_token) < count) {
        throw Error(
            SOTTO_ERROR_MODEL,
            "the state holds " + std::to_string(count) + " tokens, and a stream of the model " +
                std::to_string(opened_.options.context)
        );
    }
    std::vector<llama_token> tokens(count);
    std::memcpy(tokens.data(), state.data(), count * sizeof(llama_token));
    state.remove_prefix(count * sizeof(llama_token));
    const bool known = std::all_of(tokens.begin(), tokens.end(), [&](auto token) {
        return token < LLAMA_TOKEN_NULL || preparer_.tokenizer().exists(token); // below: of an image or sound
    });
    if (!known) {
        throw Error(SOTTO_ERROR_MODEL, "the state holds tokens that the model does not have");
    }
    const auto sequence = best_place(tokens, true, nullptr).sequence;
    auto& place = sequences_[static_cast<std::size_t>(sequence)];
    place = {};
    auto* memory = llama_get_memory(opened_.context.get());
    llama_memory_seq_rm(memory, sequence, -1, -1);
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(state.data());
    if (llama_state_seq_set_data(opened_.context.get(), bytes, state.size(), sequence) == 0) {
        llama_memory_seq_rm(memory, sequence, -1, -1);
        throw Error(SOTTO_ERROR_MODEL, "llama.cpp cannot take the state back");
    }
    place.tokens = std::move(tokens);
    place.last_used = ++clock_;
    return count;
}

} // namespace sotto::llama
