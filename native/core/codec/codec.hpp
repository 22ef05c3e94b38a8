// The OpenAI schema: what a request asks for, and how its answer is told.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sotto/event.h>

#include "text/json_reader.hpp"

namespace sotto {

// What a request says that goes on with a session.
struct InSession {
    std::string id;                    // empty: it is in none
    std::vector<std::string> messages; // its own, each as JSON
    std::string rest;                  // of the body, as JSON: without these and the id
    bool continues = false;            // the last message of all
};

// An adapter that a request names.
struct AdapterAsked {
    std::string name;
    std::optional<double> scale; // absent: the adapter's own
};
using AdaptersAsked = std::optional<std::vector<AdapterAsked>>; // absent: nothing was said

// What becomes of a request whose model has no room at present.
enum class OnBudget : std::uint8_t {
    wait,  // until others leave some
    fail,  // at once
    shrink // it waits, and the model may be made smaller than it was
};

// What the engine itself needs to know of a request. Sampling is the backend's to read.
struct Prompted {
    std::string model; // empty: the session's
    InSession session;
    std::vector<std::string> stops;
    std::string echo;                      // text that the answer begins with
    std::uint32_t max_tokens = UINT32_MAX; // at least 1
    std::uint32_t answers = 1;             // how many are wanted
    bool include_usage = false;            // one more chunk, with the usage
    bool logprobs = false;                 // tell how likely each token was
    std::string path;                      // of a state's file
    OnBudget on_budget = OnBudget::wait;
    AdaptersAsked adapters;
    std::string form;                 // the field that asks for a form of the answer, if one does
    std::vector<std::string> unknown; // fields that the operation ignores
};

// Reads and checks a request's body. Throws Error(SOTTO_ERROR_ARGUMENT) or
// Error(SOTTO_ERROR_UNSUPPORTED) that names the field by its path. Once `cancelled`, which may be null, is
// set, throws Error(SOTTO_ERROR_CANCELLED) soon.
Prompted read_request(sotto_op op, std::string_view body, const std::atomic<bool>* cancelled = nullptr);

// Whether an operation is answered without a step.
bool is_at_once(sotto_op op) noexcept;

// Whether a value is an operation.
bool is_operation(sotto_op op) noexcept;

// Its name, such as "chat".
const char* operation_name(sotto_op op) noexcept;

// Whether an operation's answer is data, which a backend makes in steps.
bool has_data(sotto_op op) noexcept;

// Whether an operation is about sessions themselves, and needs no model.
bool is_about_sessions(sotto_op op) noexcept;

// What a request about sessions says.
struct SessionAsked {
    std::string id;                    // empty: all of them
    std::string model;                 // empty: none
    std::string from;                  // whose copy it begins as; empty: nobody's
    std::size_t keep = SIZE_MAX;       // so many of that one's messages, at most
    std::vector<std::string> messages; // that follow, each as JSON
    std::optional<bool> pinned;
    std::optional<std::string> system; // the system message; empty: removes it
    AdaptersAsked adapters;
};

// Reads and checks its body. Throws like read_request().
SessionAsked
read_session_request(sotto_op op, std::string_view body, const std::atomic<bool>* cancelled = nullptr);

// Whether a message is the system's or, which is the same, the developer's.
bool is_system(std::string_view message);

// Whether an answer can go on with that message.
bool can_be_continued(std::string_view message);

struct Counts {
    std::uint32_t prompt = 0;
    std::uint32_t cached = 0;
    std::uint32_t dropped = 0; // messages left out of the prompt
    std::uint32_t generated = 0;
    double prompt_ms = 0;      // from the opening of the stream to its first token
    double generated_ms = 0;   // from the first token to the last
    double first_token_ms = 0; // from the call that submitted it to the first token
};

// More of an answer.
struct Delta {
    enum class Kind : std::uint8_t { text, reasoning, call };

    Kind kind = Kind::text;
    std::string text;     // of a call: more of its arguments
    std::size_t call = 0; // which
    std::string id;       // of a call, with its name: only the first time
    std::string name;
};

// A tool that the model calls. The arguments are a JSON object.
struct Call {
    std::string id;
    std::string name;
    std::string arguments;
};

// A part of a result that is no text.
struct DataPart {
    std::string bytes;
    std::string info; // JSON that describes them; or empty
};

// What is new of an answer.
struct Heard {
    std::vector<Delta> deltas;
    std::vector<DataPart> parts;
    std::vector<Call> calls;           // that are whole
    std::vector<std::string> logprobs; // JSON, of the tokens that are new
    std::string result;                // of an operation with data, with the last of it: the response
    std::uint32_t tokens = 0;          // of the answer so far
    bool last = false;                 // the answer is whole
};

// All of an answer.
struct Said {
    std::string text;
    std::string reasoning;
    std::vector<Call> calls;
    std::vector<std::string> logprobs;
    sotto_finish finish = SOTTO_FINISH_NONE; // NONE: the answer continues
};

// A message with an answer that went on with it.
std::string continued(std::string_view message, const Said& said);

// Writes the answers to one request, in its schema.
class Writer {
public:
    // `ignored`: fields of the request that its operation ignores; the response lists them.
    Writer(
        sotto_op op,
        sotto_request request,
        std::string model,
        std::int64_t created_s,
        std::vector<std::string> ignored = {}
    );

    // One stream chunk with more of answer `index`. `logprobs` may be empty.
    std::string chunk(std::uint32_t index, const Delta& delta, const std::vector<std::string>& logprobs);
    // The chunk that says why an answer is over.
    std::string last_chunk(
        std::uint32_t index,
        sotto_finish finish,
        const std::vector<std::string>& logprobs,
        const Counts& counts
    );
    // The chunk of `stream_options.include_usage`.
    std::string usage_chunk(const Counts& counts) const;
    // The whole response.
    std::string response(const std::vector<Said>& answers, const Counts& counts) const;
    // A tool call, for those who do not read chunks.
    static std::string call(const Call& call);
    // An answer as a message of the conversation that follows: without its thoughts.
    static std::string message(const Said& said);

private:
    bool is_chat() const noexcept { return op_ == SOTTO_OP_CHAT; }
    bool first(std::uint32_t index);

    sotto_op op_;
    std::string id_;
    std::string model_;
    std::int64_t created_;
    std::vector<std::string> ignored_;
    std::vector<bool> began_; // by answer: whether a chunk has named the role
};

} // namespace sotto
