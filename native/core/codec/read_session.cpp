// Parses the session fields of requests, and examines and extends the messages of sessions.
#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "core/codec/checks.hpp"
#include "core/codec/codec.hpp"
#include "request/fields.hpp"
#include "text/ordered_json.hpp"

namespace sotto {
namespace {

// Returns a session's id; empty if the field is absent.
std::string read_id(const Fields& body, const RequestField& key) {
    const auto* id = body.text(key);
    return id == nullptr ? std::string() : *id;
}

// Returns the system message, or nothing if the field is absent.
std::optional<std::string> read_system(const Fields& body) {
    const auto* system = body.text(field::system);
    return system == nullptr ? std::nullopt : std::optional(*system);
}

// Returns the messages of a validated body.
std::vector<std::string> messages_of(const Ordered& body) {
    std::vector<std::string> messages;
    if (const auto found = body.find(field::messages.name); found != body.end()) {
        for (const auto& message : *found) { // null: no messages
            messages.push_back(to_text(message));
        }
    }
    return messages;
}

void read_rewind(const Fields& body, SessionRequest& requested) {
    const auto keep = body.integer(field::keep);
    const auto turns = body.integer(field::turns);
    if (keep && turns) {
        body.refuse(field::turns, *body.find(field::turns), "no value beside keep; remove one of the two");
    }
    requested.keep = keep ? static_cast<std::size_t>(*keep) : SIZE_MAX;
    requested.turns = turns ? static_cast<std::size_t>(*turns) : 1;
}

void read_range(const Fields& body, SessionRequest& requested) {
    requested.first = body.integer(field::from, 0, INT32_MAX).value_or(0);
    requested.last = body.integer(field::to).value_or(-1);
    if (requested.action == SessionAction::copy) {
        body.require(field::to_session, "the id of the session that takes the tokens");
        requested.to_session = read_id(body, field::to_session);
    }
    if (requested.action == SessionAction::shift) {
        body.require(field::delta, "the number to add to the positions");
        requested.delta = *body.integer(field::delta);
    }
}

void read_edit(const Fields& body, SessionRequest& requested) {
    constexpr const char* kActions[] = {"rewind", "cut", "copy", "shift", "read"};
    constexpr const char* kExpected = "rewind, cut, copy, shift or read";
    body.require(field::action, kExpected);
    const auto* found = std::ranges::find(kActions, *body.choice(field::action));
    if (found == std::end(kActions)) {
        body.refuse(field::action, *body.find(field::action), kExpected);
    }
    requested.action = static_cast<SessionAction>(found - std::begin(kActions));
    if (requested.action == SessionAction::rewind) {
        read_rewind(body, requested);
    } else {
        read_range(body, requested);
    }
}

// Returns the id of the session to fork; empty: none.
std::string read_origin(const Fields& body) {
    constexpr auto& kFrom = field::from;
    const Json* from = body.find(kFrom);
    if (from == nullptr) {
        return {};
    }
    const auto* id = from->get_ptr<const std::string*>();
    if (id == nullptr || id->empty() || id->size() > kFrom.max_bytes) {
        body.refuse(kFrom, *from, "a string of 1 to " + std::to_string(kFrom.max_bytes) + " bytes");
    }
    return *id;
}

void read_own_tokens(const Fields& body, SessionRequest& requested) {
    if (body.find(field::tokens) == nullptr) {
        return;
    }
    for (const auto* other : {&field::messages, &field::system, &field::from}) {
        if (body.find(*other) != nullptr) {
            body.refuse(*other, *body.find(*other), "no value beside tokens; remove one of the two");
        }
    }
    requested.tokens = read_tokens(body, field::tokens);
}

} // namespace

bool is_about_sessions(sotto_op op) noexcept {
    return (op >= SOTTO_OP_OPEN_SESSION && op <= SOTTO_OP_CHANGE_SESSION) || op == SOTTO_OP_EDIT_SESSION;
}

InSession read_in_session(const Fields& body, std::string_view text, const std::atomic<bool>* cancelled) {
    InSession found;
    found.id = read_id(body, field::session);
    if (found.id.empty()) {
        return found;
    }
    check_message_list(body, true);
    found.continues = body.boolean(field::continue_final_message).value_or(false);
    auto whole = parse_ordered(text, cancelled);
    found.messages = messages_of(whole);
    whole.erase(field::messages.name);
    whole.erase(field::session.name);
    found.rest = to_text(whole);
    return found;
}

InSession
read_tokens_in_session(const Fields& body, std::string_view text, const std::atomic<bool>* cancelled) {
    InSession found;
    found.id = read_id(body, field::session);
    if (found.id.empty()) {
        return found;
    }
    found.holds_tokens = true;
    if (const Json* suffix = body.find(field::suffix)) {
        body.refuse(field::suffix, *suffix, "no value in a session; remove the field");
    }
    if (body.find(field::prompt) != nullptr) {
        found.tokens = read_tokens(body, field::prompt);
    }
    auto whole = parse_ordered(text, cancelled);
    whole.erase(field::prompt.name);
    whole.erase(field::session.name);
    found.rest = to_text(whole);
    return found;
}

SessionRequest read_session_request(sotto_op op, std::string_view text, const std::atomic<bool>* cancelled) {
    const Json object = parse_object(text, "request", cancelled);
    const Fields body(object, "");
    check_names(op, object);
    check_values(op, body);
    SessionRequest requested;
    if (op != SOTTO_OP_READ_SESSION) {
        body.require(field::session, "the id of a session");
    }
    requested.id = read_id(body, field::session);
    if (op == SOTTO_OP_OPEN_SESSION || op == SOTTO_OP_CHANGE_SESSION) {
        requested.pinned = body.boolean(field::pinned);
        requested.system = read_system(body);
        requested.adapters = read_adapters(body);
    }
    if (op == SOTTO_OP_CHANGE_SESSION && !requested.pinned && !requested.system && !requested.adapters) {
        body.require(field::pinned, "true or false, unless system or lora is set");
    }
    if (op == SOTTO_OP_EDIT_SESSION) {
        read_edit(body, requested);
    }
    if (op != SOTTO_OP_OPEN_SESSION) {
        return requested;
    }
    requested.model = read_model(body, false);
    requested.from = read_origin(body);
    read_own_tokens(body, requested);
    const auto keep = body.integer(field::keep);
    if (keep && requested.from.empty()) {
        body.refuse(
            field::keep, *body.find(field::keep), "no value without from; set from to the session to copy"
        );
    }
    requested.keep = keep ? static_cast<std::size_t>(*keep) : SIZE_MAX;
    check_message_list(body, true);
    requested.messages = messages_of(parse_ordered(text, cancelled));
    return requested;
}

bool is_system(std::string_view message) {
    const auto role = parse_json(message).value("role", "");
    return role == "system" || role == "developer";
}

bool is_of_user(std::string_view message) {
    return parse_json(message).value("role", "") == "user";
}

bool can_be_continued(std::string_view message) {
    const auto read = parse_json(message);
    const auto content = read.find("content");
    return read.value("role", "") == "assistant" && content != read.end() && content->is_string() &&
           !read.contains("tool_calls");
}

std::string continued(std::string_view message, const CompleteAnswer& complete) {
    auto whole = parse_ordered(message);
    auto more = parse_ordered(Writer::message(complete));
    whole["content"] = whole["content"].get<std::string>() + complete.text;
    if (const auto calls = more.find("tool_calls"); calls != more.end()) {
        whole["tool_calls"] = std::move(*calls);
    }
    return to_text(whole);
}

} // namespace sotto
