#include "core/request/answer.hpp"

#include <algorithm>
#include <utility>

#include "text/json_reader.hpp"

namespace sotto {

Answer::Answer(const ParsedRequest& parsed, bool data)
    : most_(parsed.max_tokens), has_data_(data), text_(parsed.stops),
      reports_(parsed.logprobs || parsed.return_tokens || parsed.session.holds_tokens) {
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
        end(work.finish, work.finish == SOTTO_FINISH_LENGTH ? StopType::limit : StopType::eos);
    }
    if (ended()) {
        shown += text_.finish();
    }
    if (text_.blocked()) {
        end(SOTTO_FINISH_CONTENT_FILTER, StopType::none);
    }
    tell(std::move(shown), reader);
    if (const auto bytes = view_of(work.data); has_data_ && !bytes.empty()) {
        increment_.parts.push_back({std::string(bytes), std::string(view_of(work.data_info))});
    }
    if (ended()) {
        increment_.result = has_data_ ? view_of(work.result) : std::string_view();
        calls_.close(increment_, complete_.calls);
        if (complete_.finish == SOTTO_FINISH_STOP && !complete_.calls.empty()) {
            complete_.finish = SOTTO_FINISH_TOOL_CALLS;
        }
    }
    release_reports();
}

std::string Answer::spoken(const sotto_step_item& work) {
    const auto bytes = view_of(work.text);
    reports_.add(bytes.size(), static_cast<std::int32_t>(work.token) - 1, view_of(work.logprobs));
    ++tokens_;
    std::string shown;
    if (text_.feed(bytes, shown)) {
        complete_.stopping_word = text_.stop_sequence();
        end(SOTTO_FINISH_STOP, StopType::word);
    } else if (text_.blocked()) {
        end(SOTTO_FINISH_CONTENT_FILTER, StopType::none);
    } else if (tokens_ >= most_) {
        end(SOTTO_FINISH_LENGTH, StopType::limit);
    }
    return shown;
}

void Answer::tell(std::string shown, AnswerReader& reader) {
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

// Moves out the reports of tokens whose text has been shown; with guardrails, of tokens whose whole text has
// been shown as generated. Once the answer has ended without a stop sequence, moves out those of all tokens,
// unless guardrails altered the text.
void Answer::release_reports() {
    const bool all = ended() && !text_.stopped() && !text_.is_altered();
    for (auto& one : reports_.release(all ? SIZE_MAX : text_.shown_bytes(), text_.is_checked())) {
        complete_.reports.push_back(one);
        increment_.reports.push_back(std::move(one));
    }
}

AnswerIncrement Answer::take() {
    auto increment = std::exchange(increment_, {});
    // reports are delivered together with the text of their tokens
    if (increment.deltas.empty() && !ended()) {
        increment_.reports = std::exchange(increment.reports, {});
    }
    increment.tokens = tokens_;
    increment.last = ended();
    return increment;
}

} // namespace sotto
