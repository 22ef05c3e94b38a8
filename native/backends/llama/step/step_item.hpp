// What one stream does in a step.
#pragma once

#include "step/stream.hpp"

namespace sotto::llama {

struct StepItem {
    sotto_step_item* work = nullptr;
    Stream* stream = nullptr;
    std::uint32_t tokens = 0;            // of the pending tokens, how many are computed
    Stretch* stretch = nullptr;          // the image or sound that they belong to; null: text
    std::int32_t output = -1;            // index in the batch of the token whose logits choose the next one
    std::vector<llama_token> guess = {}; // draft tokens after that one, checked in the same batch
    llama_token expected = LLAMA_TOKEN_NULL; // the first draft token, also if none is checked
    bool drafted = false;                    // the draft model guessed
    bool timely = true;                      // the time of the step measures the cost of its draft tokens
};

// Reports that the step did nothing for `stream`.
void reset_item(sotto_step_item& work, const Stream& stream);
// Reports a failure; keeps `why` in the stream.
void fail_stream(sotto_step_item& work, Stream& stream, sotto_status status, const char* why);
// The same with SOTTO_ERROR_MEMORY if `error` is out of memory, else with SOTTO_ERROR_INFERENCE.
void fail_stream(sotto_step_item& work, Stream& stream, const std::exception& error);

// Results of llama_decode() that are ours or that we act on.
constexpr int kDecodeNoMemory = -2;
constexpr int kDecodeFailed = -3;
// Why llama_decode() returned `result`.
const char* reason_of(int result);

} // namespace sotto::llama
