// The OpenAI schema: parses requests and writes responses.
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

// The parts of a request that continues a session.
struct InSession {
    std::string id;                    // empty: no session
    std::vector<std::string> messages; // the request's own messages, each as JSON
    std::string rest;                  // the body as JSON, without the messages and the session's id
    bool continues = false;            // the answer continues the last message
    bool holds_tokens = false;         // a completion: the session holds tokens, not messages
    std::vector<std::int32_t> tokens;  // the request's own tokens
};

// An adapter named by a request.
struct AdapterAsked {
    std::string name;
    std::optional<double> scale; // absent: the adapter's own scale
};
using AdaptersAsked = std::optional<std::vector<AdapterAsked>>; // absent: the request has no such field

// Policy for a request whose model does not fit the budget at present.
enum class OnBudget : std::uint8_t {
    wait,  // wait until other models free memory
    fail,  // fail at once
    shrink // wait, and allow the model to be loaded smaller than before
};

// What a request of SOTTO_OP_RESPOND has beside a chat.
struct RespondTerms {
    std::string id;           // of the response; set when the request starts
    std::string previous;     // id of the stored response to continue; empty: a new conversation
    std::string instructions; // system message of this response alone; empty: none
    bool store = true;        // later requests may continue the response
    std::string echo;         // fields of the request that the response repeats, as a JSON object
};

// A file that a save game holds, or from which or to which it is copied.
struct NamedFile {
    std::string name; // unique in the save game
    std::string path;
};

// What SOTTO_OP_SLOTS does.
enum class SlotAction : std::uint8_t { list, save, restore, erase };

// The fields of a request that the engine itself needs. Sampling fields are for the backend.
// What a request of SOTTO_OP_QUANTIZE has beside the path of the model's file.
struct QuantizeTerms {
    std::string to; // path of the new file
    std::string type;
    std::string imatrix;       // path; empty: none
    std::uint32_t threads = 0; // 0: one per core
};

struct ParsedRequest {
    std::string model; // empty: the session's model
    InSession session;
    std::vector<std::string> stops;
    std::string echo;                      // text to prepend to the answer
    std::uint32_t max_tokens = UINT32_MAX; // at least 1
    std::uint32_t answers = 1;             // number of choices (`n`)
    bool include_usage = false;            // append a chunk with the usage
    bool logprobs = false;                 // return log probabilities
    bool return_tokens = false;            // return the ids of tokens
    bool return_progress = false;          // report the prefill of the prompt
    bool timings_per_token = false;        // chunks carry timings
    std::string path;                      // path of a saved state, a save game or a model
    std::vector<NamedFile> files;          // of a save game
    SlotAction action = SlotAction::list;  // of SOTTO_OP_SLOTS
    QuantizeTerms quantize;                // of SOTTO_OP_QUANTIZE
    std::int32_t slot = -1;                // number of the slot; -1: any
    OnBudget on_budget = OnBudget::wait;
    AdaptersAsked adapters;
    std::string form;                    // name of the field that constrains the answer's format; empty: none
    std::vector<std::string> unknown;    // fields that the operation ignores
    std::optional<RespondTerms> respond; // set for SOTTO_OP_RESPOND, whose other members are those of a chat
};

// Parses and validates a request's body. Throws Error(SOTTO_ERROR_ARGUMENT) or Error(SOTTO_ERROR_UNSUPPORTED)
// that names the field by its path, or Error(SOTTO_ERROR_CANCELLED) soon after `cancelled` is set;
// `cancelled` may be null.
ParsedRequest read_request(sotto_op op, std::string_view body, const std::atomic<bool>* cancelled = nullptr);

// The same for SOTTO_OP_RESPOND. `session` of the result has the input as messages, and the rest of the body
// as that of a chat, which backends perform.
ParsedRequest read_respond(std::string_view body, const std::atomic<bool>* cancelled = nullptr);

// Returns the operation that a backend performs for a request: a chat for SOTTO_OP_RESPOND.
sotto_op backend_operation(sotto_op op) noexcept;

// Returns true if an operation is answered without a backend step.
bool is_at_once(sotto_op op) noexcept;

// Returns true if `op` is a known operation.
bool is_operation(sotto_op op) noexcept;

// Returns an operation's name, such as "chat".
const char* operation_name(sotto_op op) noexcept;

// Returns true if an operation generates images, or removes their background.
bool is_about_images(sotto_op op) noexcept;

// Returns true if an operation produces data (not text) in backend steps.
bool has_data(sotto_op op) noexcept;

// Returns true if an operation manages sessions and needs no model.
bool is_about_sessions(sotto_op op) noexcept;

// Returns true if an operation saves or restores a whole game.
bool is_about_games(sotto_op op) noexcept;

// What SOTTO_OP_EDIT_SESSION does.
enum class SessionAction : std::uint8_t { rewind, cut, copy, shift, read };

// A parsed session request.
struct SessionRequest {
    std::string id;              // empty: all sessions
    std::string model;           // empty: no model
    std::string from;            // session to fork; empty: start empty
    std::size_t keep = SIZE_MAX; // maximum number of first messages to take from `from`, or to keep
    std::size_t turns = 1;       // number of last turns to drop, if `keep` is SIZE_MAX
    SessionAction action = SessionAction::rewind;
    std::int64_t first = 0;                          // first position of a range of tokens
    std::int64_t last = -1;                          // position after the range; -1: the end
    std::int64_t delta = 0;                          // number to add to the positions
    std::string to_session;                          // token session that takes a copy
    std::optional<std::vector<std::int32_t>> tokens; // absent: the session holds messages
    std::vector<std::string> messages;               // messages to append, each as JSON
    std::optional<bool> pinned;
    std::optional<std::string> system; // the system message; empty string: remove it
    AdaptersAsked adapters;
};

// Parses and validates a session request's body. Throws like read_request().
SessionRequest
read_session_request(sotto_op op, std::string_view body, const std::atomic<bool>* cancelled = nullptr);

// Returns true if a message has the role "system" or its synonym "developer".
bool is_system(std::string_view message);

// Returns true if a message has the role "user".
bool is_of_user(std::string_view message);

// Returns true if an answer can continue that message.
bool can_be_continued(std::string_view message);

struct Counts {
    std::uint32_t prompt = 0;
    std::uint32_t cached = 0;
    std::uint32_t dropped = 0; // number of messages left out of the prompt
    std::uint32_t generated = 0;
    double prompt_ms = 0;      // from opening the stream to its first token
    double generated_ms = 0;   // from the first token to the last
    double first_token_ms = 0; // time to first token, counted from the submitting call
    std::uint32_t drafted = 0; // draft tokens that were verified
    std::uint32_t accepted = 0;
    std::int32_t slot = -1; // number of the slot; -1: unknown
    bool truncated = false; // the prompt or the answer did not fit the context
};

// How far the prefill of a prompt is, in tokens.
struct PrefillProgress {
    std::uint32_t total = 0;
    std::uint32_t cached = 0;
    std::uint32_t processed = 0; // cached tokens, and those prefilled
    double ms = 0;               // since the stream was opened
};

// Returns counts and times as the JSON object `timings`.
std::string timings_json(const Counts& counts);

// Returns progress as the JSON object `prompt_progress`.
std::string progress_json(const PrefillProgress& progress);

// An increment of an answer.
struct Delta {
    enum class Kind : std::uint8_t { text, reasoning, call };

    Kind kind = Kind::text;
    std::string text;     // new text; of a call: new arguments
    std::size_t call = 0; // index of the call
    std::string id;       // id and name of a call: only in its first delta
    std::string name;
};

// A tool call by the model. The arguments are a JSON object.
struct Call {
    std::string id;
    std::string name;
    std::string arguments;
};

// What a backend reports about one generated token.
struct TokenReport {
    std::int32_t id = -1; // -1: not reported
    std::string logprobs; // JSON; may be empty

    bool operator==(const TokenReport&) const = default;
};

// What ended an answer.
enum class StopType : std::uint8_t {
    none,  // a guardrail, or nothing yet
    eos,   // the model's end token
    limit, // the maximum number of tokens, or the end of the context
    word   // a stop sequence
};

// A part of a result that is not text.
struct DataPart {
    std::string bytes;
    std::string info; // JSON that describes the bytes; may be empty
};

// The increments of an answer since the last event.
struct AnswerIncrement {
    std::vector<Delta> deltas;
    std::vector<DataPart> parts;
    std::vector<Call> calls;          // completed calls
    std::vector<TokenReport> reports; // one for each new token, if the request wants reports
    std::string result;               // response of a data operation, set in its last increment
    std::uint32_t tokens = 0;         // tokens of the answer so far
    bool last = false;                // the answer is complete
};

// A complete answer.
struct CompleteAnswer {
    std::string text;
    std::string reasoning;
    std::vector<Call> calls;
    std::vector<TokenReport> reports;
    sotto_finish finish = SOTTO_FINISH_NONE; // NONE: not finished
    StopType stop = StopType::none;
    std::string stopping_word; // the stop sequence that ended the answer; or empty
};

// What a response has beside the answer.
struct ResponseParts {
    std::vector<std::string> ignored; // fields of the request that its operation ignores
    std::string fingerprint;          // of the backend; empty: none
    bool logprobs = false;
    bool tokens = false; // ids of the tokens
};

// Returns `message` with the text and tool calls of `complete`, the answer that continues the message,
// appended.
std::string continued(std::string_view message, const CompleteAnswer& complete);

// Writes the response to one request in its operation's schema.
class Writer {
public:
    Writer(
        sotto_op op,
        sotto_request request,
        std::string model,
        std::int64_t created_s,
        ResponseParts parts = {}
    );

    // Sets the values in effect, a JSON object, that last_chunk() and response() repeat.
    void set_settings(std::string settings) { settings_ = std::move(settings); }
    // Returns one streaming chunk for answer `index`. `reports`: of the tokens of `delta`; may be empty.
    // `counts`: for the chunk's timings; null: none.
    std::string chunk(
        std::uint32_t index,
        const Delta& delta,
        const std::vector<TokenReport>& reports,
        const Counts* counts = nullptr
    );
    // Returns a chunk without text that reports the prefill of answer `index`. `counts` as for chunk().
    std::string progress_chunk(std::uint32_t index, const PrefillProgress& progress, const Counts* counts);
    // Returns the chunk that carries an answer's finish reason. `reports`: of tokens that no chunk carried.
    // `replaced`: the text of `complete` takes the place of all chunks of the answer.
    std::string last_chunk(
        std::uint32_t index,
        const CompleteAnswer& complete,
        const std::vector<TokenReport>& reports,
        const Counts& counts,
        bool replaced = false
    );
    // Returns the chunk with token counts that `stream_options.include_usage` requests.
    std::string usage_chunk(const Counts& counts) const;
    // Returns the complete response.
    std::string response(const std::vector<CompleteAnswer>& answers, const Counts& counts) const;
    // Returns a tool call as JSON, for hosts that do not read chunks.
    static std::string call(const Call& call);
    // Returns an answer as a message for the rest of the conversation, without its reasoning.
    static std::string message(const CompleteAnswer& complete);

private:
    bool is_chat() const noexcept { return op_ == SOTTO_OP_CHAT; }
    bool first(std::uint32_t index);
    const char* chunk_object() const noexcept;

    sotto_op op_;
    std::string id_;
    std::string model_;
    std::int64_t created_;
    ResponseParts parts_;
    std::string settings_;    // JSON; or empty
    std::vector<bool> began_; // per answer: a chunk with the role was written
};

} // namespace sotto
