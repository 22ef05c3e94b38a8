#include "core/request/answer.hpp"

#include <algorithm>
#include <utility>

#include "text/json_reader.hpp"

namespace sotto {

Answer::Answer(const ParsedRequest& parsed, bool data)
    : most_(parsed.max_tokens), has_data_(data), text_(parsed.stops), logprobs_(parsed.logprobs) {
    if (!parsed.echo.empty()) {
        add(Delta::Kind::text, parsed.echo);
    }
}

void Answer::opened(std::string_view stops, bool read) {
    read_ = read;
    if (stops.empty()) {
        return;
    }
    for (const auto& stop : parse_json(stops)) {
        text_.add_stop(stop.get<std::string>());
    }
}

void Answer::hear(const sotto_step_item& work, AnswerReader& reader) {
    if (ended()) {
        return;
    }
    std::string shown = work.generated != 0 ? spoken(work) : std::string();
    if (!ended() && work.finish != SOTTO_FINISH_NONE) {
        end(work.finish);
    }
    if (ended()) {
        shown += text_.finish();
    }
    tell(std::move(shown), reader);
    if (const auto bytes = view_of(work.data); has_data_ && !bytes.empty()) {
        increment_.parts.push_back({std::string(bytes), std::string(view_of(work.data_info))});
    }
    if (ended()) {
        increment_.result = has_data_ ? view_of(work.result) : std::string_view();
        calls_.close(increment_, complete_.calls);
        if (complete_.finish == SOTTO_FINISH_STOP && !complete_.calls.empty()) {
            end(SOTTO_FINISH_TOOL_CALLS);
        }
    }
    release_logprobs();
}

std::string Answer::spoken(const sotto_step_item& work) {
    const auto bytes = view_of(work.text);
    logprobs_.add(bytes.size(), view_of(work.logprobs));
    ++tokens_;
    std::string shown;
    if (text_.feed(bytes, shown)) {
        end(SOTTO_FINISH_STOP);
    } else if (tokens_ >= most_) {
        end(SOTTO_FINISH_LENGTH);
    }
    return shown;
}

void Answer::tell(std::string shown, AnswerReader& reader) {
    shown_bytes_ += shown.size();
    if (!read_) {
        if (!shown.empty()) {
            add(Delta::Kind::text, std::move(shown));
        }
        return;
    }
    if (!shown.empty() || ended()) {
        shown_ += shown;
        tell_read(reader.read(shown_, ended()));
    }
}

void Answer::tell_read(const std::string& deltas) {
    for (const auto& delta : parse_json(deltas)) {
        if (auto thought = text_at(delta, "reasoning_content"); !thought.empty()) {
            add(Delta::Kind::reasoning, std::move(thought));
        }
        if (auto text = text_at(delta, "content"); !text.empty()) {
            add(Delta::Kind::text, std::move(text));
        }
        if (const auto calls = delta.find("tool_calls"); calls != delta.end()) {
            for (const auto& call : *calls) {
                calls_.add(call, increment_, complete_.calls);
            }
        }
    }
}

void Answer::add(Delta::Kind kind, std::string text) {
    (kind == Delta::Kind::text ? complete_.text : complete_.reasoning) += text;
    increment_.deltas.push_back({kind, std::move(text), 0, "", ""});
}

// Moves out the log probabilities of tokens whose text has been shown. Once the answer has ended without a
// stop sequence, moves out those of all tokens.
void Answer::release_logprobs() {
    for (auto& one : logprobs_.release(ended() && !text_.stopped() ? SIZE_MAX : shown_bytes_)) {
        complete_.logprobs.push_back(one);
        increment_.logprobs.push_back(std::move(one));
    }
}

AnswerIncrement Answer::take() {
    auto increment = std::exchange(increment_, {});
    // log probabilities are delivered together with the text of their tokens
    if (increment.deltas.empty() && !ended()) {
        increment_.logprobs = std::exchange(increment.logprobs, {});
    }
    increment.tokens = tokens_;
    increment.last = ended();
    return increment;
}

} // namespace sotto
