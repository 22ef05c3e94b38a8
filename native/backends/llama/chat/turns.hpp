// Which turns a conversation loses that is longer than its context.
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

// Counts the tokens of messages. Counts are cached by the message's text, so that a turn of a long
// conversation tokenizes nothing but what is new. Any thread.
class MessageTokens {
public:
    // `overhead`: tokens that the chat template adds to each message. Texts of more tokens than `context`
    // are not counted exactly.
    MessageTokens(const Tokenizer& tokenizer, std::size_t overhead, std::size_t context);

    std::size_t of(const nlohmann::ordered_json& message, const std::vector<Medium>& media) const;

private:
    std::size_t counted(const std::string& text) const;
    std::uint32_t remember(std::size_t hash, std::uint32_t count) const;

    // Token counts by the hash of the text. Allocated in a few large blocks: a count outlives the request's
    // other allocations, and between them it would keep malloc() from giving their memory back.
    struct Counts {
        std::pmr::monotonic_buffer_resource memory{16 * 1024};
        std::pmr::unordered_map<std::size_t, std::uint32_t> by_hash{&memory};
    };

    // Two generations: where `recent` is full, it becomes `old`, and what was old is forgotten.
    static constexpr std::size_t kGeneration = 16'384;

    const Tokenizer& tokenizer_;
    const std::size_t overhead_;
    const std::size_t context_;
    mutable std::mutex mutex_; // guards what follows
    mutable std::unique_ptr<Counts> recent_ = std::make_unique<Counts>();
    mutable std::unique_ptr<Counts> old_ = std::make_unique<Counts>();
};

// Tokens between the places where a prompt may be cut: the context's half, quarter, ..., whichever is the
// largest of at most 3/4 of `room`. So a small change of the room changes no cut.
std::size_t piece_for(std::size_t context, std::size_t room) noexcept;

// Where a conversation may be cut, and where it is cut.
//
// Cuts are at borders: the first turns that begin after a whole number of pieces, counted in tokens from the
// first turn on. So the cut depends on the request alone, stays where it is while a piece's worth of new
// turns is added, and the model's cached prefix stays valid until then.
class Turns {
public:
    // `room`: tokens that a prompt may have.
    Turns(
        const nlohmann::ordered_json& messages,
        const std::vector<Medium>& media,
        const MessageTokens& tokens,
        std::size_t context,
        std::size_t room
    );

    // About how many tokens all messages have.
    std::size_t total() const noexcept { return fixed_ + all_; }
    // The message that the prompt begins with after the system's, at the first border that leaves no more
    // than fits the room.
    std::size_t first_cut() const noexcept;
    // The same at the next border; `cut` itself where the newest turn alone is left.
    std::size_t next_cut(std::size_t cut) const noexcept;

private:
    struct Turn {
        std::size_t begin;  // the message that it begins with
        std::size_t before; // tokens of the turns before it
    };

    std::size_t cut_after(std::size_t pieces) const noexcept;

    std::vector<Turn> turns_; // that a conversation may begin with
    std::size_t fixed_ = 0;   // tokens of the system's messages, which stay
    std::size_t all_ = 0;     // tokens of the others
    std::size_t room_;        // for the others
    std::size_t piece_;
};

bool is_system(const nlohmann::ordered_json& message);

// Whether a conversation may begin with message `i`: a user says it, after others than the system.
bool begins_turn(const nlohmann::ordered_json& messages, std::size_t i);

// `body` without the messages between the system's and the one at `begin`.
nlohmann::ordered_json without_turns(const nlohmann::ordered_json& body, std::size_t begin);

// At least how many bytes a chat template shows of a message.
std::size_t bytes_of(const nlohmann::ordered_json& message);

} // namespace sotto::llama
