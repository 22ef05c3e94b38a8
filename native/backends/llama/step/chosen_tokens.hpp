// Tokens of an answer that are chosen but not delivered
// yet: a step delivers one token, but may choose several.
#pragma once

#include "runtime/fence.hpp"

#include <deque>
#include <llama.h>
#include <string>

namespace sotto::llama {

struct Chosen {
    std::string text;
    std::string logprobs;
    bool generated = false; // false: the token ends the answer and is not part of it
    sotto_finish finish = SOTTO_FINISH_NONE;
    llama_token id = LLAMA_TOKEN_NULL;
    bool truncated = false; // the context is full: tokens were dropped after this one, or it is the last one
};

class ChosenTokens {
public:
    bool empty() const noexcept { return ahead_.empty(); }
    void push(Chosen token) { ahead_.push_back(std::move(token)); }
    // Returns true if the last token ends the answer.
    bool ends() const noexcept { return ahead_.back().finish != SOTTO_FINISH_NONE; }
    // Marks the last token as the one that fills the context.
    void truncate() noexcept { ahead_.back().truncated = true; }
    // Marks the last token as the end of the answer.
    void end(sotto_finish finish) noexcept { ahead_.back().finish = finish; }

    // Moves the first token into `item`. The texts of `item` stay valid until the next call.
    void deliver(sotto_step_item& item) noexcept;
    // Finish reason of the last delivered token; SOTTO_FINISH_NONE if the answer has not ended.
    sotto_finish finish() const noexcept { return delivered_.finish; }

private:
    std::deque<Chosen> ahead_;
    Chosen delivered_;
};

} // namespace sotto::llama
