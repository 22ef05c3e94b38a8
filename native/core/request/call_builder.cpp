#include "core/request/call_builder.hpp"

#include <utility>

namespace sotto {
namespace {

bool is_json_object(const std::string& text) {
    return try_parse_json(text).is_object();
}

} // namespace

std::string text_at(const Json& object, const char* key) {
    const auto found = object.find(key);
    return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

void CallBuilder::add(const Json& call, AnswerIncrement& increment, std::vector<Call>& whole) {
    const auto index = call.value("index", std::size_t{0});
    const auto function = call.value("function", Json::object());
    Delta delta{Delta::Kind::call, text_at(function, "arguments"), calls_, text_at(call, "id"), ""};
    if (index >= calls_) {
        close(increment, whole);
        delta.name = text_at(function, "name");
        call_ = Call{delta.id, delta.name, ""};
        ++calls_;
    } else if (index + 1 < calls_ || !call_) {
        return;
    } else {
        --delta.call;
    }
    call_->arguments += delta.text;
    increment.deltas.push_back(std::move(delta));
}

void CallBuilder::close(AnswerIncrement& increment, std::vector<Call>& whole) {
    if (!call_) {
        return;
    }
    if (call_->arguments.empty()) { // a tool without arguments
        call_->arguments = "{}";
        increment.deltas.push_back({Delta::Kind::call, "{}", calls_ - 1, "", ""});
    }
    if (is_json_object(call_->arguments)) {
        increment.calls.push_back(*call_);
        whole.push_back(std::move(*call_));
    }
    call_.reset();
}

} // namespace sotto
