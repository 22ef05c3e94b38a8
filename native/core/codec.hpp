// The OpenAI schema: what a request asks for, and how its answer is told.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <sotto/request.h>

namespace sotto {

// What the engine itself needs to know of a request. Sampling is the backend's to read.
struct Prompted {
    std::string model;
    std::vector<std::string> stops;
    std::uint32_t max_tokens = UINT32_MAX; // at least 1
    bool include_usage = false;            // one more chunk, with the usage
};

// Reads and checks a request's body. Throws Error(SOTTO_ERROR_ARGUMENT) or
// Error(SOTTO_ERROR_UNSUPPORTED) that names the field by its path.
Prompted read_request(sotto_op op, std::string_view body);

struct Counts {
    std::uint32_t prompt = 0;
    std::uint32_t cached = 0;
    std::uint32_t generated = 0;
    double prompt_ms = 0;      // from the opening of the stream to its first token
    double generated_ms = 0;   // from the first token to the last
    double first_token_ms = 0; // from the call that submitted it to the first token
};

// Writes the answer to one request, in its schema.
class Writer {
public:
    Writer(sotto_op op, sotto_request request, std::string model, std::int64_t created_s);

    // One stream chunk with more text.
    std::string chunk(std::string_view text);
    // The chunk that says why the answer is over.
    std::string last_chunk(std::string_view reason, const Counts& counts) const;
    // The chunk of `stream_options.include_usage`.
    std::string usage_chunk(const Counts& counts) const;
    // The whole response.
    std::string response(std::string_view text, std::string_view reason, const Counts& counts) const;

private:
    sotto_op op_;
    std::string id_;
    std::string model_;
    std::int64_t created_;
    bool began_ = false; // whether a chunk has named the role
};

} // namespace sotto
