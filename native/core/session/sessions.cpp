#include "core/session/sessions.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "text/json_reader.hpp"
#include "text/ordered_json.hpp"

namespace sotto {
namespace {

// Returns `text` as a JSON string literal.
std::string as_json(const std::string& text) {
    return to_text(Json(text));
}

std::string as_json(const std::vector<AdapterAsked>& adapters) {
    std::string list = "[";
    for (const auto& one : adapters) {
        list += list.size() > 1 ? "," : "";
        list += R"({"name":)" + as_json(one.name);
        list += one.scale ? R"(,"scale":)" + to_text(Json(*one.scale)) + "}" : "}";
    }
    return list + "]";
}

std::string named(const std::string& id) {
    constexpr std::size_t kLongestId = 128;
    return "session '" + excerpt(id, kLongestId) + "'";
}

std::string list_of(const std::vector<Message>& messages) {
    std::string list = "[";
    for (const auto& message : messages) {
        list += list.size() > 1 ? "," : "";
        list += *message;
    }
    return list + "]";
}

// Returns the JSON object that describes a session. `messages`: JSON, either the messages or their number.
std::string told(const std::string& id, const Talk& talk, bool pinned, const std::string& messages) {
    std::string text = R"({"object":"session","session":)" + as_json(id);
    if (!talk.model.empty()) {
        text += R"(,"model":)" + as_json(talk.model);
    }
    text += pinned ? R"(,"pinned":true)" : "";
    text += talk.adapters ? R"(,"lora":)" + as_json(*talk.adapters) : "";
    return text + R"(,"messages":)" + messages + "}";
}

std::string told_in_short(const std::string& id, const Talk& talk, bool pinned) {
    return told(id, talk, pinned, std::to_string(talk.messages.size()));
}

// Replaces the system message, or inserts one at the front. An empty text removes the system message.
void set_system(std::vector<Message>& messages, const std::string& text) {
    const bool has = !messages.empty() && is_system(*messages.front());
    if (text.empty()) {
        messages.erase(messages.begin(), messages.begin() + (has ? 1 : 0));
        return;
    }
    auto message =
        std::make_shared<const std::string>(R"({"role":"system","content":)" + as_json(text) + "}");
    if (has) {
        messages.front() = std::move(message);
    } else {
        messages.insert(messages.begin(), std::move(message));
    }
}

// Throws Error(SOTTO_ERROR_BUSY) if the session answers a chat.
void check_is_free(const std::string& id, const Session& session, const char* remedy) {
    if (session.answers != 0) {
        throw Error(
            SOTTO_ERROR_BUSY,
            named(id) + " already answers request '" + std::to_string(session.answers) +
                "': wait for its SOTTO_EVENT_REQUEST_DONE, or " + remedy
        );
    }
}

// Returns the number of messages before the last `turns` turns. Throws if the session has fewer turns.
std::size_t size_without(const std::string& id, const std::vector<Message>& messages, std::size_t turns) {
    std::size_t found = 0;
    for (auto size = messages.size(); size-- > 0;) {
        found += is_of_user(*messages[size]) ? 1 : 0;
        if (found == turns) {
            return size;
        }
    }
    throw invalid_argument(
        "turns",
        std::to_string(turns),
        (found == 0 ? "a session with turns, but " + named(id) + " has none"
                    : "1 to " + std::to_string(found) + ", the turns of " + named(id)) +
            "; set keep to drop messages by their number"
    );
}

void check_can_begin(const Session& session, const ParsedRequest& parsed) {
    const auto& requested = parsed.session;
    const auto name = named(requested.id);
    if (parsed.model.empty() && session.talk.model.empty()) {
        throw Error(
            SOTTO_ERROR_ARGUMENT,
            "missing model: expected the id of a loaded model, because " + name + " has no model"
        );
    }
    if (requested.messages.empty() && session.talk.messages.empty()) {
        throw Error(
            SOTTO_ERROR_ARGUMENT,
            "missing messages: expected at least one message, because " + name + " has no messages"
        );
    }
    const auto& last = requested.messages.empty() ? *session.talk.messages.back() : requested.messages.back();
    if (requested.continues && !can_be_continued(last)) {
        throw invalid_argument(
            "continue_final_message",
            "true",
            "false unless the last message in " + name +
                " is the assistant's, its content a string, without tool_calls"
        );
    }
}

} // namespace

std::string Sessions::answer(sotto_op op, const SessionRequest& requested) {
    if (op == SOTTO_OP_OPEN_SESSION) {
        return open(requested);
    }
    if (op == SOTTO_OP_CLOSE_SESSION) {
        close(requested.id);
        return {};
    }
    if (op == SOTTO_OP_CHANGE_SESSION) {
        return change(requested);
    }
    if (op == SOTTO_OP_EDIT_SESSION) {
        return rewind(requested);
    }
    return requested.id.empty() ? list() : read(requested.id);
}

std::string Sessions::open(const SessionRequest& requested) {
    if (open_.contains(requested.id)) {
        throw Error(
            SOTTO_ERROR_STATE, named(requested.id) + " is already open: close it first, or choose another id"
        );
    }
    if (open_.size() >= most_) {
        throw Error(
            SOTTO_ERROR_BUSY, std::to_string(most_) + " sessions are open, the maximum: close one first"
        );
    }
    const auto session = std::make_shared<Session>();
    auto& talk = session->talk;
    if (!requested.from.empty()) {
        const auto& from = find(requested.from)->talk;
        const auto kept = static_cast<std::ptrdiff_t>(std::min(requested.keep, from.messages.size()));
        talk.model = from.model;
        talk.adapters = from.adapters;
        talk.messages.assign(from.messages.begin(), from.messages.begin() + kept);
    }
    if (!requested.model.empty()) {
        talk.model = requested.model;
    }
    if (requested.adapters) {
        talk.adapters = requested.adapters;
    }
    if (requested.pinned.value_or(false)) {
        check_can_pin(requested.id, talk.model);
        session->pinned = true;
    }
    if (requested.system) {
        set_system(talk.messages, *requested.system);
    }
    append(talk.messages, requested.messages);
    auto response = told_in_short(requested.id, talk, session->pinned);
    open_.emplace(requested.id, session);
    return response;
}

// A running chat request of the session continues, but no later request sees its messages.
void Sessions::close(const std::string& id) {
    find(id)->pinned = false;
    open_.erase(id);
}

std::string Sessions::change(const SessionRequest& requested) {
    auto& session = *find(requested.id);
    const bool pinned = requested.pinned.value_or(session.pinned);
    if (pinned && !session.pinned) {
        check_can_pin(requested.id, session.talk.model);
    }
    auto changed = session.talk;
    if (requested.system) {
        set_system(changed.messages, *requested.system);
    }
    if (requested.adapters) {
        changed.adapters = requested.adapters;
    }
    auto response = told_in_short(requested.id, changed, pinned);
    session.talk = std::move(changed); // no exceptions from here on
    session.pinned = pinned;
    if (session.kept != nullptr) {
        session.kept->pin(session.pinned);
    }
    return response;
}

// The KV cache stays as it is: the next prompt reuses what it has in common with the session's last one.
std::string Sessions::rewind(const SessionRequest& requested) {
    const auto& id = requested.id;
    auto& session = *find(id);
    check_is_free(id, session, "cancel it");
    auto& messages = session.talk.messages;
    const bool counts = requested.keep == SIZE_MAX;
    const auto size = counts ? size_without(id, messages, requested.turns) : requested.keep;
    if (size > messages.size()) {
        throw invalid_argument(
            "keep",
            std::to_string(size),
            "0 to " + std::to_string(messages.size()) + ", the messages of " + named(id)
        );
    }
    auto response = told(id, session.talk, session.pinned, std::to_string(size));
    messages.resize(size); // shrinks; does not throw
    return response;
}

void Sessions::each(const std::function<void(const std::string&, const Session&)>& found) const {
    for (const auto& [id, session] : open_) {
        found(id, *session);
    }
}

void Sessions::replace(std::vector<std::pair<std::string, std::shared_ptr<Session>>> sessions) {
    auto all = open_;
    for (auto& [id, session] : sessions) {
        all.insert_or_assign(id, session);
    }
    if (all.size() > most_) {
        throw Error(
            SOTTO_ERROR_BUSY,
            "the save game has " + std::to_string(sessions.size()) + " sessions, with which more than " +
                std::to_string(most_) + " would be open: close some first"
        );
    }
    for (auto& [id, session] : sessions) {
        if (const auto old = open_.find(id); old != open_.end()) {
            old->second->pinned = false;
        }
        const bool pinned = std::exchange(session->pinned, false);
        if (pinned && can_pin(session->talk.model)) {
            session->pinned = true;
        }
        if (session->kept != nullptr) {
            session->kept->pin(session->pinned);
        }
    }
    open_ = std::move(all);
}

// At least one slot of a model must stay unpinned.
bool Sessions::can_pin(const std::string& model) const {
    const auto places = model.empty() ? 0 : places_(model);
    return places == 0 || count_pinned(model) + 1 < places;
}

std::size_t Sessions::count_pinned(const std::string& model) const {
    return static_cast<std::size_t>(std::count_if(open_.begin(), open_.end(), [&](const auto& one) {
        return one.second->pinned && one.second->talk.model == model;
    }));
}

void Sessions::check_can_pin(const std::string& id, const std::string& model) const {
    if (can_pin(model)) {
        return;
    }
    const auto places = places_(model);
    const auto pinned = count_pinned(model);
    throw Error(
        SOTTO_ERROR_BUDGET,
        named(id) + " cannot be pinned: model '" + excerpt(model) + "' has " + std::to_string(places) +
            (places == 1 ? " slot" : " slots") + ", one stays unpinned, and " + std::to_string(pinned) +
            (pinned == 1 ? " session is" : " sessions are") +
            " pinned; unpin a session, or load the model with a larger \"parallel\""
    );
}

std::string Sessions::read(const std::string& id) const {
    const auto& session = *find(id);
    return told(id, session.talk, session.pinned, list_of(session.talk.messages));
}

std::string Sessions::list() const {
    std::string list = R"({"object":"list","data":[)";
    for (const auto& [id, session] : open_) {
        list += list.ends_with('[') ? "" : ",";
        list += told_in_short(id, session->talk, session->pinned);
    }
    return list + "]}";
}

const std::shared_ptr<Session>& Sessions::find(const std::string& id) const {
    const auto found = open_.find(id);
    if (found == open_.end()) {
        throw Error(SOTTO_ERROR_NOT_FOUND, named(id) + " is not open: open it first");
    }
    return found->second;
}

const std::string& Sessions::model_of(const ParsedRequest& parsed) const noexcept {
    const auto found = open_.find(parsed.session.id);
    return parsed.model.empty() && found != open_.end() ? found->second->talk.model : parsed.model;
}

Turn Sessions::begin(sotto_op op, sotto_request request, ParsedRequest& parsed, PageString& body) {
    auto& requested = parsed.session;
    if (requested.id.empty()) {
        return {};
    }
    const auto& session = find(requested.id);
    const bool chat = op == SOTTO_OP_CHAT;
    if (chat) {
        check_is_free(requested.id, *session, "fork the session");
    }
    check_can_begin(*session, parsed);
    if (parsed.model.empty()) {
        parsed.model = session->talk.model;
    }
    if (!parsed.adapters) {
        parsed.adapters = session->talk.adapters;
    }
    body = whole_body(session->talk.messages, requested);
    return chat ? Turn(session, request, parsed.model, std::move(requested)) : Turn();
}

} // namespace sotto
