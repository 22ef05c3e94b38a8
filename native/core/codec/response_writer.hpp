// Writes responses of OpenAI's Responses API, and the events of its stream.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/codec/codec.hpp"

namespace sotto {

class ResponseWriter {
public:
    // `ignored`: fields of the request that the operation ignores; listed in the response.
    ResponseWriter(
        const RespondTerms& terms, std::string model, std::int64_t created_s, std::vector<std::string> ignored
    );

    // An event of the stream. `text`: the new text or arguments; empty for events that carry none.
    struct Chunk {
        std::string json;
        std::string text;
    };
    // Reports the prefill of the prompt. Returns the events of the stream for it. `counts`: of `timings`;
    // null: none.
    std::vector<Chunk> prefilled(const PrefillProgress& progress, const Counts* counts);
    // Adds the next part of the answer. Returns the events of the stream for it. `counts`: of the `timings`
    // in events with text; null: none.
    std::vector<Chunk> add(const Delta& delta, const Counts* counts);
    // Replaces the whole answer, which the stream may have told already. `text`: of a message; empty: none.
    void replace(const std::string& text);
    // Ends the answer. Returns the events that complete it; the last one has the whole response. `timed`: the
    // last event has `timings`.
    std::vector<Chunk> finish(sotto_finish finish, const Counts& counts, bool timed);
    // Returns the whole response, after finish().
    const std::string& response() const noexcept { return response_; }

private:
    // One element of the response's output.
    struct Item {
        Delta::Kind kind = Delta::Kind::text;
        std::string id;
        std::string call_id;
        std::string name;
        std::string text; // text, reasoning, or arguments
        bool complete = false;
    };

    std::string json_of(const char* status, const Counts* counts) const;
    Item& add_item(const Delta& delta);
    void begin(std::vector<Chunk>& chunks);
    void open_item(std::vector<Chunk>& chunks, const Delta& delta);
    void close_item(std::vector<Chunk>& chunks, bool complete);
    std::string event(const char* type, const std::string& members);
    bool continues(const Delta& delta) const noexcept;

    const std::string id_;
    const std::string model_;
    const std::string echo_;
    const std::int64_t created_;
    const std::vector<std::string> ignored_;
    std::vector<Item> items_;
    std::uint64_t sequence_ = 0;
    bool begun_ = false;
    const char* incomplete_ = nullptr; // why the answer is incomplete, once it is
    std::string response_;
};

} // namespace sotto
