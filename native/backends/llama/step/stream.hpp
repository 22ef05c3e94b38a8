// One conversation at work, and the part of the model's memory that it holds.
#pragma once

#include "chat/answer_parser.hpp"
#include "media/media.hpp"
#include "model/adapters.hpp"
#include "step/speculate.hpp"
#include "token/sampler.hpp"

#include <cstdint>
#include <deque>
#include <llama.h>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace sotto::llama {

// What becomes of a conversation that its stream cannot hold.
enum class Overflow {
    Truncate, // a prompt loses its oldest turns; an answer ends
    Shift,    // and an answer goes on, while the middle of it all is forgotten
    Error     // a prompt is refused
};

// A request, made ready for the model.
struct Prepared {
    std::string result; // the whole response, where no stream is needed; else empty
    std::vector<llama_token> prompt;
    std::vector<Stretch> stretches; // of the prompt that are no text, in their order
    std::unique_ptr<Sampler> sampler;
    std::unique_ptr<AnswerParser> parser; // none: what is generated is what is said
    std::vector<std::string> stops;       // texts that end an answer of this model
    std::set<llama_token> shown;          // control tokens that the parser wants to see
    Overflow overflow = Overflow::Truncate;
    std::uint32_t keep = 0;    // tokens at the beginning that are never forgotten
    std::uint32_t dropped = 0; // messages left out
    bool reuse = true;         // the KV cache of an earlier prompt may be reused
    bool alone = false;        // its answer hangs on its request alone
};

// A token that was chosen, as it is told.
struct Chosen {
    std::string text;
    std::string logprobs;
    bool generated = false; // else it ended the answer
    sotto_finish finish = SOTTO_FINISH_NONE;
};

constexpr llama_seq_id kNoSequence = -1;

struct Stream {
    Stream(Prepared prepared, AdapterSet set)
        : how(std::move(prepared)), adapters(std::move(set)), tokens(std::move(how.prompt)),
          prompt_size(tokens.size()) {}

    bool parked() const noexcept { return sequence == kNoSequence; }
    // Tokens that the memory does not hold yet. Of an answer that is one, the last token.
    std::size_t pending() const noexcept { return tokens.size() - held; }
    // Whether more tokens wait for prefill than an answer's last one. If a step is cancelled, a KV cache that
    // cannot be truncated is cleared, and prompt and answer are prefilled again.
    bool in_prompt() const noexcept { return held < prompt_size || pending() > 1; }

    // Where the token at `index` stands in the model's memory.
    llama_pos position(std::size_t index) const noexcept;
    // The last position that the memory holds if it holds `count` tokens, at least one.
    llama_pos last_position(std::size_t count) const noexcept;
    // The stretch that holds the token at `index`; none: it is text.
    Stretch* stretch_at(std::size_t index) noexcept;
    // `index`, or the beginning (or the end) of the stretch that it is in the midst of.
    std::size_t floor(std::size_t index) const noexcept;
    std::size_t ceiling(std::size_t index) const noexcept;
    // How many of the pending tokens are text, before the next stretch.
    std::size_t text_ahead() const noexcept;
    // How many of the pending tokens may be prefilled at once. Where an answer depends on its request alone,
    // an answer whose KV cache was lost is decoded again token by token: a batch would round differently.
    std::uint32_t piece_ahead() const noexcept;
    // Forgets the tokens from `begin` to `end`, neither of them in the midst of a stretch.
    void forget(std::size_t begin, std::size_t end);

    // The memory holds `count` of the tokens from now on.
    void hold(std::size_t count) noexcept;

    Prepared how;
    AdapterSet adapters;             // fixed while the stream lives
    std::vector<llama_token> tokens; // the prompt, then the answer
    std::size_t prompt_size;
    std::size_t held = 0;                // how many of them the memory holds
    std::size_t exact = SIZE_MAX;        // so many as if nothing had been before them that is forgotten now
    llama_seq_id sequence = kNoSequence; // none: it is parked
    Stream* leader = nullptr;            // works through a beginning that both have
    std::size_t led = 0;                 // tokens that this beginning has
    bool seeks = false;                  // what others hold may be of use
    bool restored = false;    // some of what the memory holds came from a state, and is not proven yet
    std::uint64_t moved = 0;  // the batch that moves what it remembers, of Model::decoded_
    std::uint64_t saved = 0;  // hash of the state that was last saved of it; 0: none was
    std::deque<Chosen> ahead; // chosen, and not told yet
    Chosen told;              // by the last step
    Acceptance lookup_acceptance;
    Acceptance draft_acceptance;
    sotto_finish finish = SOTTO_FINISH_NONE;
    std::string deltas; // of the last text that was read
    std::string why;
};

// One of the parts that a context's memory has, and what it holds while no stream does.
struct Sequence {
    std::vector<llama_token> tokens;
    std::uint64_t adapters = 0;   // key of the adapters under which the tokens were computed
    std::size_t exact = SIZE_MAX; // as a stream's
    Stream* stream = nullptr;
    const Stream* parked = nullptr; // whose tokens they are, if it may come back for them
    std::uint64_t state = 0;        // hash of the saved state that it holds; 0: of none
    bool restored = false;          // as a stream's
    std::uint64_t last_used = 0;
};

} // namespace sotto::llama
