// Reads the response of a chat or text completion: its chunks, or one JSON object.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <sotto/module.h>

#include "backends/proxy/event_lines.hpp"
#include "backends/proxy/text.hpp"

namespace sotto::proxy {

// A part of an answer, which counts as one token.
struct Piece {
    std::string text;     // raw text: see AnswerParser
    std::string logprobs; // JSON object of the token, or empty
    std::string calls;    // JSON array of deltas of tool calls, or empty

    std::size_t bytes() const noexcept {
        return text.size() + logprobs.size() + calls.size() + sizeof(Piece);
    }
};

// What a server says about a whole answer.
struct AnswerEnd {
    sotto_finish finish = SOTTO_FINISH_NONE;
    std::uint32_t prompt_tokens = 0;
    std::uint32_t cached_tokens = 0;
    std::uint32_t completion_tokens = 0;
};

class ChunkReader {
public:
    // `chat`: the raw text has the marks of an AnswerParser; false: a text completion.
    explicit ChunkReader(bool chat) : chat_(chat) {}

    // Called once, before the first bytes. `events`: the response is a stream of server-sent events.
    void begin(bool events) noexcept { events_ = events; }
    // Reads bytes of the response, and appends the parts of the answer in them to `pieces`. Throws
    // Error(SOTTO_ERROR_INFERENCE); its text continues a sentence whose subject is the server.
    void feed(std::string_view bytes, std::vector<Piece>& pieces);
    // The response has ended. Throws Error(SOTTO_ERROR_INFERENCE) if the answer is incomplete.
    void finish(std::vector<Piece>& pieces);

    const AnswerEnd& end() const noexcept { return end_; }
    // Returns true once the server has said that nothing follows.
    bool is_done() const noexcept { return done_; }

private:
    void read_event(const std::string& data, std::vector<Piece>& pieces);
    void read_chunk(const Json& chunk, std::vector<Piece>& pieces);
    void read_chat(const Json& choice, std::vector<Piece>& pieces);
    void add_text(char mark, std::string text, const Json& logprobs, std::vector<Piece>& pieces);
    void take_usage(const Json& usage);

    const bool chat_;
    bool events_ = true;
    bool done_ = false;
    EventLines lines_;
    std::string whole_; // a response that is no stream of events
    AnswerEnd end_;
    char mark_ = 0; // kind of the text so far
};

} // namespace sotto::proxy
