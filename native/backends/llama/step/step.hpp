// The parts of a step.
#pragma once

#include "model/model.hpp"

namespace sotto::llama {

// What one stream does in a step.
struct Model::Share {
    sotto_step_item* work = nullptr;
    Stream* stream = nullptr;
    std::uint32_t tokens = 0;                // how many of the stream's pending ones
    Stretch* stretch = nullptr;              // that they belong to; none: they are text
    std::int32_t output = -1;                // where in the batch its next token is asked for
    std::vector<llama_token> guess = {};     // of what comes after that, checked in the same go
    llama_token expected = LLAMA_TOKEN_NULL; // the first one guessed, also if none is checked
    bool drafted = false;                    // another model guessed
    bool timely = true;                      // how long the step takes tells what guesses cost
};

// Tells that nothing happened to `stream`.
void tell(sotto_step_item& work, const Stream& stream);
void fail_stream(sotto_step_item& work, Stream& stream, sotto_status status, const char* why);
// Of SOTTO_ERROR_MEMORY where memory ran out, else of SOTTO_ERROR_INFERENCE.
void fail_stream(sotto_step_item& work, Stream& stream, const std::exception& error);
// Why llama.cpp's decoding came to `result`.
const char* reason_of(int result);

} // namespace sotto::llama
