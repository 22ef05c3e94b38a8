// The work of one stream in a step.
#pragma once

#include "step/stream.hpp"

namespace sotto::llama {

struct StepItem {
    sotto_step_item* work = nullptr;
    Stream* stream = nullptr;
    std::uint32_t tokens = 0;                // number of pending tokens to compute
    Stretch* stretch = nullptr;              // image or sound that contains the tokens; null: text
    std::int32_t output = -1;                // batch index of the next token's logits; -1: none
    std::vector<llama_token> guess = {};     // draft tokens to check in the same batch
    llama_token expected = LLAMA_TOKEN_NULL; // first draft token, even if none is checked
    bool drafted = false;                    // the draft tokens are from the draft model
    bool timely = true;                      // the step's duration is a valid measurement
};

// Sets the results in `work` to those of a step without progress for `stream`.
void reset_item(sotto_step_item& work, const Stream& stream);
// Sets the status and the reason in `work`. Copies `why` into the stream.
void fail_stream(sotto_step_item& work, Stream& stream, sotto_status status, const char* why);
// Sets the status SOTTO_ERROR_MEMORY if `error` means out of memory, otherwise SOTTO_ERROR_INFERENCE.
void fail_stream(sotto_step_item& work, Stream& stream, const std::exception& error);

// Results of llama_decode(), also used for exceptions that it throws.
constexpr int kDecodeNoMemory = -2;
constexpr int kDecodeFailed = -3;
// Returns the error message for a result of llama_decode().
const char* reason_of(int result);

} // namespace sotto::llama
