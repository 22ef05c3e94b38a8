#include "core/session/session_body.hpp"

#include "base/error.hpp"
#include "text/json_reader.hpp"

namespace sotto {
namespace {

std::string_view trimmed(std::string_view text) {
    constexpr std::string_view kSpace = " \t\r\n";
    const auto first = text.find_first_not_of(kSpace);
    return first == std::string_view::npos ? std::string_view()
                                           : text.substr(first, text.find_last_not_of(kSpace) + 1 - first);
}

// Returns `json` without its outer brackets. Throws Error(SOTTO_ERROR_ARGUMENT)
// unless `json` is valid and the brackets are `open` and `close`.
std::string_view inner(std::string_view json, char open, char close, const char* name, const char* what) {
    const auto whole = trimmed(json);
    if (whole.size() < 2 || whole.front() != open || whole.back() != close || !is_json(whole)) {
        throw Error(
            SOTTO_ERROR_ARGUMENT,
            std::string("invalid ") + name + " '" + std::string(whole.substr(0, 40)) + "': expected " + what +
                ", or an empty string"
        );
    }
    return trimmed(whole.substr(1, whole.size() - 2));
}

class Body {
public:
    // Adds members from the host's JSON. Members added later replace those with the same name.
    void splice(std::string_view members) {
        if (!members.empty()) {
            separate() += members;
        }
    }
    void add(std::string_view name, std::string_view json) {
        separate() += '"';
        text_.append(name).append("\":").append(json);
    }
    void add_text(std::string_view name, std::string_view text) { add(name, quoted(text)); }
    std::string take() { return std::move(text_ += '}'); }

private:
    std::string& separate() { return text_ += text_.size() > 1 ? "," : ""; }

    std::string text_ = "{";
};

} // namespace

std::string quoted(std::string_view text) {
    return to_text(Json(text));
}

std::string open_session_body(const SessionOpening& opening) {
    Body body;
    body.add_text("session", opening.id);
    if (!opening.model.empty()) {
        body.add_text("model", opening.model);
    }
    if (!opening.from.empty()) {
        body.add_text("from", opening.from);
    }
    if (opening.keep != 0) {
        body.add("keep", std::to_string(opening.keep));
    }
    if (!opening.system.empty()) {
        body.add_text("system", opening.system);
    }
    if (!opening.messages.empty()) {
        inner(opening.messages, '[', ']', "desc->messages", "a JSON array of messages");
        body.add("messages", opening.messages);
    }
    if (opening.tokens) {
        body.add("tokens", to_text(Json(*opening.tokens)));
    }
    if (opening.pinned) {
        body.add("pinned", "true");
    }
    return body.take();
}

std::string say_body(const SessionTurn& turn) {
    Body body;
    if (!turn.fields.empty()) {
        body.splice(inner(turn.fields, '{', '}', "desc->fields", "a JSON object of request fields"));
    }
    body.add_text("session", turn.session);
    body.add(
        "messages", turn.text.empty() ? "[]" : R"([{"role":"user","content":)" + quoted(turn.text) + "}]"
    );
    if (turn.max_tokens != 0) {
        body.add("max_tokens", std::to_string(turn.max_tokens));
    }
    return body.take();
}

std::string
session_body(std::string_view id, std::optional<bool> pinned, std::optional<std::string_view> system) {
    Body body;
    if (!id.empty()) {
        body.add_text("session", id);
    }
    if (pinned) {
        body.add("pinned", *pinned ? "true" : "false");
    }
    if (system) {
        body.add_text("system", *system);
    }
    return body.take();
}

std::string rewind_body(std::string_view id, std::uint32_t turns) {
    Body body;
    body.add_text("session", id);
    body.add("action", quoted("rewind"));
    body.add("turns", std::to_string(turns));
    return body.take();
}

std::string edit_body(const SessionEdit& edit) {
    Body body;
    body.add_text("session", edit.session);
    body.add_text("action", edit.action);
    body.add("from", std::to_string(edit.from));
    body.add("to", std::to_string(edit.to));
    if (!edit.to_session.empty()) {
        body.add_text("to_session", edit.to_session);
    }
    if (edit.action == "shift") {
        body.add("delta", std::to_string(edit.delta));
    }
    return body.take();
}

} // namespace sotto
