#include "core/request/answer.hpp"

#include <algorithm>
#include <utility>

#include "text/json_reader.hpp"

namespace sotto {
namespace {

std::string text_at(const Json& object, const char* key) {
    const auto found = object.find(key);
    return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

bool is_json_object(const std::string& text) {
    return try_parse_json(text).is_object();
}

} // namespace

Answer::Answer(const Prompted& prompted, bool data)
    : most_(prompted.max_tokens), keeps_logprobs_(prompted.logprobs), has_data_(data),
      stops_(prompted.stops) {
    if (!prompted.echo.empty()) {
        add(Delta::Kind::text, prompted.echo);
    }
}

void Answer::opened(std::string_view stops, bool read) {
    read_ = read;
    if (stops.empty()) {
        return;
    }
    for (const auto& stop : parse_json(stops)) {
        stops_.add(stop.get<std::string>());
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
        shown += rest();
    }
    tell(std::move(shown), reader);
    if (const auto bytes = view_of(work.data); has_data_ && !bytes.empty()) {
        heard_.parts.push_back({std::string(bytes), std::string(view_of(work.data_info))});
    }
    if (ended()) {
        heard_.result = has_data_ ? view_of(work.result) : std::string_view();
        close_call();
        if (said_.finish == SOTTO_FINISH_STOP && !said_.calls.empty()) {
            end(SOTTO_FINISH_TOOL_CALLS);
        }
    }
    release_logprobs();
}

std::string Answer::spoken(const sotto_step_item& work) {
    const auto bytes = view_of(work.text);
    if (const auto logprobs = view_of(work.logprobs); keeps_logprobs_ && !logprobs.empty()) {
        logprobs_.push_back({generated_, std::string(logprobs)});
    }
    ++tokens_;
    generated_ += bytes.size();
    std::string characters;
    std::string shown;
    characters_.feed(bytes, characters);
    if (stops_.feed(characters, shown)) {
        stopped_ = true;
        end(SOTTO_FINISH_STOP);
    } else if (tokens_ >= most_) {
        end(SOTTO_FINISH_LENGTH);
    }
    return shown;
}

// Returns the text that was held back as a possible stop sequence or incomplete character.
std::string Answer::rest() {
    std::string shown;
    if (!stopped_) {
        std::string characters;
        characters_.finish(characters);
        if (!stops_.feed(characters, shown)) {
            stops_.finish(shown);
        }
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
                add_call(call);
            }
        }
    }
}

// Tool calls are sequential: a new one completes the previous one, and only the last one can grow.
void Answer::add_call(const Json& call) {
    const auto index = call.value("index", std::size_t{0});
    const auto function = call.value("function", Json::object());
    Delta delta{Delta::Kind::call, text_at(function, "arguments"), calls_, text_at(call, "id"), ""};
    if (index >= calls_) {
        close_call();
        delta.name = text_at(function, "name");
        call_ = Call{delta.id, delta.name, ""};
        ++calls_;
    } else if (index + 1 < calls_ || !call_) {
        return;
    } else {
        --delta.call;
    }
    call_->arguments += delta.text;
    heard_.deltas.push_back(std::move(delta));
}

void Answer::add(Delta::Kind kind, std::string text) {
    (kind == Delta::Kind::text ? said_.text : said_.reasoning) += text;
    heard_.deltas.push_back({kind, std::move(text), 0, "", ""});
}

// Completes the last tool call. Drops it if its arguments were cut off.
void Answer::close_call() {
    if (!call_) {
        return;
    }
    if (call_->arguments.empty()) { // a tool without parameters
        call_->arguments = "{}";
        heard_.deltas.push_back({Delta::Kind::call, "{}", calls_ - 1, "", ""});
    }
    if (is_json_object(call_->arguments)) {
        heard_.calls.push_back(*call_);
        said_.calls.push_back(std::move(*call_));
    }
    call_.reset();
}

// Moves out the log probabilities of tokens whose text has been shown. At the end: of all tokens before the
// stop sequence.
void Answer::release_logprobs() {
    const auto seen = [&](const Logprobs& one) {
        return one.begin < shown_bytes_ || (ended() && (!stopped_ || one.begin < shown_bytes_));
    };
    const auto end = std::find_if_not(logprobs_.begin(), logprobs_.end(), seen);
    for (auto one = logprobs_.begin(); one != end; ++one) {
        said_.logprobs.push_back(one->json);
        heard_.logprobs.push_back(std::move(one->json));
    }
    logprobs_.erase(logprobs_.begin(), end);
}

Heard Answer::take() {
    auto heard = std::exchange(heard_, {});
    // log probabilities are delivered together with the text of their tokens
    if (heard.deltas.empty() && !ended()) {
        heard_.logprobs = std::exchange(heard.logprobs, {});
    }
    heard.tokens = tokens_;
    heard.last = ended();
    return heard;
}

} // namespace sotto
