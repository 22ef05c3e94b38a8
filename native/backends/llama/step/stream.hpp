// One request of a model while it is prefilled and decoded.
#pragma once

#include "chat/answer_parser.hpp"
#include "kv/kv_stream.hpp"
#include "media/media.hpp"
#include "model/adapters.hpp"
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

// What happens if a conversation exceeds the context.
enum class Overflow {
    Truncate, // a prompt loses its oldest turns; an answer ends
    Shift,    // the middle of the KV cache is dropped, and the answer goes on
    Error     // a prompt is refused
};

// A request, ready for the model.
struct Prepared {
    std::string result; // the whole response, if the request needs no stream; else empty
    std::vector<llama_token> prompt;
    std::vector<Stretch> stretches; // the images and sounds of the prompt, in order
    std::unique_ptr<Sampler> sampler;
    std::unique_ptr<AnswerParser> parser; // null: the answer's text is not parsed
    std::vector<std::string> stops;       // texts that end an answer of this model
    std::set<llama_token> shown;          // control tokens that the parser needs as text
    Overflow overflow = Overflow::Truncate;
    std::uint32_t keep = 0;    // first tokens that are never dropped
    std::uint32_t dropped = 0; // messages left out
    bool reuse = true;         // the KV cache of an earlier prompt may be reused
    bool alone = false;        // its answer must depend on its request alone
};

struct Stream {
    Stream(Prepared prepared, AdapterSet set)
        : request(std::move(prepared)), adapters(std::move(set)),
          kv({std::move(request.prompt), std::move(request.stretches)}, adapters.key, request.reuse) {}

    // Max number of pending tokens to prefill at once. If an answer must depend on its request alone, and its
    // KV cache was lost, it is decoded again token by token: a batch would round differently.
    std::uint32_t max_piece() const noexcept;
    // Parses the text of the answer so far. The deltas stay valid until the next call.
    sotto_str parse(std::string_view text, bool last);

    Prepared request;    // without prompt and stretches
    AdapterSet adapters; // fixed while the stream lives
    KvStream kv;
    ChosenTokens chosen;
    Acceptance lookup_acceptance;
    Acceptance draft_acceptance;
    std::string deltas; // of the last text that was parsed
    std::string why;    // of its last failure
};

} // namespace sotto::llama
