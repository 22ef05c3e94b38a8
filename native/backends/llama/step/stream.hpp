// A stream: one request while a model prefills and decodes it.
#pragma once

#include "chat/answer_parser.hpp"
#include "kv/kv_stream.hpp"
#include "media/media.hpp"
#include "model/adapters.hpp"
#include "model/prepared_request.hpp"
#include "step/chosen_tokens.hpp"
#include "step/speculate.hpp"
#include "token/sampler.hpp"

#include <cstdint>
#include <llama.h>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace sotto::llama {

// Policy for a conversation that exceeds the context.
enum class Overflow {
    Truncate, // drops the oldest turns of a prompt; ends an answer that fills the context
    Shift,    // drops the middle of the KV cache; the answer continues
    Error     // rejects the prompt
};

// A parsed and tokenized request.
struct Prepared : PreparedRequest {
    std::vector<llama_token> prompt;
    std::vector<Stretch> stretches; // images and sounds of the prompt, in order
    std::unique_ptr<Sampler> sampler;
    std::unique_ptr<AnswerParser> parser; // null: the answer is not parsed
    std::vector<std::string> stops;       // texts that end an answer of this model
    std::set<llama_token> shown;          // control tokens that the parser needs as text
    Overflow overflow = Overflow::Truncate;
    llama_seq_id slot = kNoSlot; // slot that the request names; kNoSlot: any
    std::uint32_t keep = 0;      // number of leading tokens that are never dropped
    std::uint32_t dropped = 0;   // messages left out of the prompt
    bool truncated = false;      // tokens left out of a text prompt
    std::string settings;        // the values in effect, as JSON, if the request wants them; else empty
    bool reuse = true;           // may reuse the KV cache of an earlier prompt
    bool alone = false;          // the answer must depend on this request only
};

struct Stream {
    Stream(Prepared prepared, AdapterSet set)
        : request(std::move(prepared)), adapters(std::move(set)),
          kv({std::move(request.prompt), std::move(request.stretches)}, adapters.key, request.reuse) {}

    // Returns the maximum number of pending tokens to compute at once. 1 if Prepared::alone is set and the KV
    // cache of an answer must be computed again: llama.cpp rounds differently in larger batches.
    std::uint32_t max_piece() const noexcept;
    // Parses the whole text of the answer so far. `last`: no more text follows. Returns what the text adds
    // since the last call, as a JSON array of deltas that stays valid until the next call.
    sotto_str parse(std::string_view text, bool last);

    Prepared request;    // its prompt and stretches are moved to `kv`
    AdapterSet adapters; // fixed during the stream's lifetime
    KvStream kv;
    ChosenTokens chosen;
    Acceptance lookup_acceptance;
    Acceptance draft_acceptance;
    std::string deltas; // result of the last parse()
    std::string why;    // reason of its last failure
};

} // namespace sotto::llama
