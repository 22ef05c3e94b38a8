// Chooses the turns to drop from conversations that exceed the context.
#pragma once

#include "media/media.hpp"
#include "token/tokenizer.hpp"

#include <cstdint>
#include <memory>
#include <memory_resource>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <unordered_map>
#include <vector>

namespace sotto::llama {

// Counts the tokens of messages. Caches counts by text, so that a new turn of a long conversation tokenizes
// only the new messages. Any thread.
class MessageTokens {
public:
    // `overhead`: tokens that the chat template adds to each message. Counts above `context` are not exact.
    MessageTokens(const Tokenizer& tokenizer, std::size_t overhead, std::size_t context);

    std::size_t of(const nlohmann::ordered_json& message, const std::vector<Medium>& media) const;

private:
    std::size_t counted(const std::string& text) const;
    std::uint32_t remember(std::size_t hash, std::uint32_t count) const;

    // Token counts by hash of the text. Allocated in a few large blocks: cached counts outlive a request's
    // other allocations, and malloc() could not return that memory to the system if counts were scattered in
    // it.
    struct Counts {
        std::pmr::monotonic_buffer_resource memory{16 * 1024};
        std::pmr::unordered_map<std::size_t, std::uint32_t> by_hash{&memory};
    };

    // Maximum number of counts in `recent_`. A full `recent_` becomes `old_`, and the previous `old_` is
    // dropped.
    static constexpr std::size_t kGeneration = 16'384;

    const Tokenizer& tokenizer_;
    const std::size_t overhead_;
    const std::size_t context_;
    mutable std::mutex mutex_; // guards the members below
    mutable std::unique_ptr<Counts> recent_ = std::make_unique<Counts>();
    mutable std::unique_ptr<Counts> old_ = std::make_unique<Counts>();
};

// Returns the distance in tokens between possible cuts: the largest of the context's half, quarter, ... that
// is at most 3/4 of `room`. So a small change of the room does not move a cut.
std::size_t piece_for(std::size_t context, std::size_t room) noexcept;

// Chooses where a conversation is truncated.
//
// Cuts are at borders: the first turn that begins after each multiple of the distance from piece_for(),
// counted in tokens from the first turn. So the cut depends on the request only and stays in place until the
// new turns exceed the distance, and the cached prefix stays valid meanwhile.
class Turns {
public:
    // `room`: maximum tokens of the prompt.
    Turns(
        const nlohmann::ordered_json& messages,
        const std::vector<Medium>& media,
        const MessageTokens& tokens,
        std::size_t context,
        std::size_t room
    );

    // Estimated tokens of all messages.
    std::size_t total() const noexcept { return fixed_ + all_; }
    // Returns the index of the first message to keep after the system messages: at the first border after
    // which the rest of the messages fits the room.
    std::size_t first_cut() const noexcept;
    // Returns the index of the first message at the next border after `cut`, or `cut` if only the newest turn
    // is left.
    std::size_t next_cut(std::size_t cut) const noexcept;

private:
    struct Turn {
        std::size_t begin;  // index of its first message
        std::size_t before; // tokens of the turns before it
    };

    std::size_t cut_after(std::size_t pieces) const noexcept;

    std::vector<Turn> turns_; // turns that a conversation may begin with
    std::size_t fixed_ = 0;   // tokens of the system messages, which are never dropped
    std::size_t all_ = 0;     // tokens of the other messages
    std::size_t room_;        // maximum tokens of the other messages
    std::size_t piece_;
};

bool is_system(const nlohmann::ordered_json& message);

// Returns true if a conversation may begin with message `i`: a user message whose predecessor is not a system
// message.
bool begins_turn(const nlohmann::ordered_json& messages, std::size_t i);

// Returns `body` without the messages before index `begin`, except system messages.
nlohmann::ordered_json without_turns(const nlohmann::ordered_json& body, std::size_t begin);

// Returns a lower bound of the bytes that a chat template renders of a message.
std::size_t bytes_of(const nlohmann::ordered_json& message);

} // namespace sotto::llama
