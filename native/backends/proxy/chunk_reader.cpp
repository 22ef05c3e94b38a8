#include "backends/proxy/chunk_reader.hpp"

#include <algorithm>
#include <utility>

#include "backends/proxy/answer_parser.hpp"

namespace sotto::proxy {
namespace {

constexpr std::size_t kMaxWhole = 16 << 20;

// Returns the message of an error object, or of a string in its place.
std::string message_in(const Json& error) {
    return error.is_string() ? error.get<std::string>() : string_at(error, "message");
}

sotto_finish finish_of(const std::string& reason) {
    if (reason == "length" || reason == "max_tokens") {
        return SOTTO_FINISH_LENGTH;
    }
    return reason == "content_filter" ? SOTTO_FINISH_CONTENT_FILTER : SOTTO_FINISH_STOP;
}

// Removes the control characters that mark parts of the raw text.
std::string without_marks(std::string text) {
    std::erase_if(text, [](char c) { return c >= kContentMark && c <= kCallMark; });
    return text;
}

// Returns deltas of tool calls with nothing but what a delta may hold.
std::string calls_of(const Json& calls) {
    constexpr std::uint32_t kMaxCalls = 128;
    auto deltas = Json::array();
    for (std::size_t i = 0; calls.is_array() && i < calls.size(); ++i) {
        const auto& call = calls[i];
        const auto index =
            find(call, "index") != nullptr ? count_at(call, "index") : static_cast<std::uint32_t>(i);
        if (index >= kMaxCalls) {
            throw Error(SOTTO_ERROR_INFERENCE, "sent more than 128 tool calls");
        }
        Json delta = {{"index", index}};
        if (const auto id = string_at(call, "id"); !id.empty()) {
            delta["id"] = id;
        }
        if (const auto* function = find(call, "function")) {
            delta["function"] = {{"arguments", string_at(*function, "arguments")}};
            if (const auto name = string_at(*function, "name"); !name.empty()) {
                delta["function"]["name"] = name;
            }
        }
        deltas.push_back(std::move(delta));
    }
    return deltas.empty() ? std::string() : text_of(deltas);
}

// Converts the log probabilities of a text completion to those of a chat: one object for each token.
Json entries_of(const Json& logprobs) {
    if (const auto* content = find(logprobs, "content")) {
        return content->is_array() ? *content : Json::array();
    }
    auto entries = Json::array();
    const auto* tokens = find(logprobs, "tokens");
    const auto* values = find(logprobs, "token_logprobs");
    const auto* top = find(logprobs, "top_logprobs");
    const bool fits = tokens != nullptr && values != nullptr && tokens->is_array() && values->is_array() &&
                      tokens->size() == values->size();
    for (std::size_t i = 0; fits && i < tokens->size(); ++i) {
        Json entry = {{"token", (*tokens)[i]}, {"logprob", (*values)[i]}};
        entry["top_logprobs"] = Json::array();
        if (top != nullptr && top->is_array() && i < top->size() && (*top)[i].is_object()) {
            for (const auto& [token, value] : (*top)[i].items()) {
                entry["top_logprobs"].push_back({{"token", token}, {"logprob", value}});
            }
        }
        entries.push_back(std::move(entry));
    }
    return entries;
}

// Returns true if the tokens of `entries` are the text: then each can be a token of its own.
bool spell(const Json& entries, const std::string& text) {
    std::string all;
    for (const auto& entry : entries) {
        all += string_at(entry, "token");
    }
    return all == text;
}

} // namespace

void ChunkReader::feed(std::string_view bytes, std::vector<Piece>& pieces) {
    if (!events_) {
        if (whole_.size() + bytes.size() > kMaxWhole) {
            throw Error(SOTTO_ERROR_INFERENCE, "sent a response of more than 16 MiB");
        }
        whole_ += bytes;
        return;
    }
    lines_.feed(bytes);
    for (std::string data; !done_ && lines_.next(data);) {
        read_event(data, pieces);
    }
}

void ChunkReader::finish(std::vector<Piece>& pieces) {
    if (events_) {
        lines_.finish();
        for (std::string data; !done_ && lines_.next(data);) {
            read_event(data, pieces);
        }
    } else {
        read_event(std::exchange(whole_, {}), pieces);
    }
    if (end_.finish == SOTTO_FINISH_NONE) {
        throw Error(SOTTO_ERROR_INFERENCE, "closed the connection before the answer was complete");
    }
    done_ = true;
}

void ChunkReader::read_event(const std::string& data, std::vector<Piece>& pieces) {
    if (data == "[DONE]") {
        done_ = true;
        end_.finish = end_.finish == SOTTO_FINISH_NONE ? SOTTO_FINISH_STOP : end_.finish;
        return;
    }
    const auto chunk = try_parse(data);
    if (!chunk.is_object()) {
        throw Error(SOTTO_ERROR_INFERENCE, "sent no JSON object: '" + one_line(data, 80) + "'");
    }
    if (const auto* error = find(chunk, "error")) {
        throw Error(SOTTO_ERROR_INFERENCE, "reports: " + one_line(message_in(*error)));
    }
    read_chunk(chunk, pieces);
}

void ChunkReader::read_chunk(const Json& chunk, std::vector<Piece>& pieces) {
    if (const auto* usage = find(chunk, "usage")) {
        take_usage(*usage);
    }
    const auto* choices = find(chunk, "choices");
    if (choices == nullptr || !choices->is_array() || choices->empty() ||
        count_at((*choices)[0], "index") != 0) {
        return;
    }
    const auto& choice = (*choices)[0];
    if (chat_) {
        read_chat(choice, pieces);
    } else {
        const auto* logprobs = find(choice, "logprobs");
        add_text(0, string_at(choice, "text"), logprobs != nullptr ? *logprobs : Json(), pieces);
    }
    if (const auto reason = string_at(choice, "finish_reason"); !reason.empty()) {
        end_.finish = finish_of(reason);
    }
}

void ChunkReader::read_chat(const Json& choice, std::vector<Piece>& pieces) {
    const auto* found = find(choice, "delta");
    found = found != nullptr ? found : find(choice, "message");
    if (found == nullptr) {
        return;
    }
    const auto& delta = *found;
    auto reasoning = string_at(delta, "reasoning_content");
    reasoning = reasoning.empty() ? string_at(delta, "reasoning") : reasoning;
    const auto* logprobs = find(choice, "logprobs");
    add_text(kReasoningMark, std::move(reasoning), Json(), pieces);
    add_text(kContentMark, string_at(delta, "content"), logprobs != nullptr ? *logprobs : Json(), pieces);
    add_text(kContentMark, string_at(delta, "refusal"), Json(), pieces);
    if (const auto* calls = find(delta, "tool_calls")) {
        if (auto deltas = calls_of(*calls); !deltas.empty()) {
            pieces.push_back({std::string(1, kCallMark), "", std::move(deltas)});
        }
    }
}

// Adds text of one kind. With a log probability for each token of the text, each token is a part of its own.
void ChunkReader::add_text(char mark, std::string text, const Json& logprobs, std::vector<Piece>& pieces) {
    text = without_marks(std::move(text));
    if (text.empty()) {
        return;
    }
    const bool changes = mark != 0 && mark != (mark_ == 0 ? kContentMark : mark_);
    mark_ = mark;
    const auto begin = pieces.size();
    const auto entries = entries_of(logprobs);
    if (entries.size() > 1 && spell(entries, text)) {
        for (const auto& entry : entries) {
            pieces.push_back({string_at(entry, "token"), text_of(entry), ""});
        }
    } else {
        const bool has_one = !entries.empty() && entries[0].is_object();
        pieces.push_back({std::move(text), has_one ? text_of(entries[0]) : std::string(), ""});
    }
    if (changes) {
        pieces[begin].text.insert(0, 1, mark);
    }
}

void ChunkReader::take_usage(const Json& usage) {
    end_.prompt_tokens = count_at(usage, "prompt_tokens");
    end_.completion_tokens = count_at(usage, "completion_tokens");
    if (const auto* details = find(usage, "prompt_tokens_details")) {
        end_.cached_tokens = count_at(*details, "cached_tokens");
    }
}

} // namespace sotto::proxy
