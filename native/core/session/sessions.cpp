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

std::string list_of(const std::vector<Message>& messages) {
    std::string list = "[";
    for (const auto& message : messages) {
        list += list.size() > 1 ? "," : "";
        list += *message;
    }
    return list + "]";
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

void check_has_model(const Session& session, const ParsedRequest& parsed) {
    if (parsed.model.empty() && session.talk.model.empty()) {
        throw Error(
            SOTTO_ERROR_ARGUMENT,
            "missing model: expected the id of a loaded model, because " + named(parsed.session.id) +
                " has no model"
        );
    }
}

void check_can_go_on(const TokenRun& run, const InSession& requested) {
    if (run.size() == 0 && requested.tokens.empty()) {
        throw Error(
            SOTTO_ERROR_ARGUMENT,
            "missing prompt: expected at least one token, because " + named(requested.id) + " has no tokens"
        );
    }
    if (const auto gap = run.gap()) {
        throw Error(
            SOTTO_ERROR_STATE,
            named(requested.id) + " has no token at position " + std::to_string(*gap) +
                ": close the gap with action shift, or cut what follows it"
        );
    }
}

void check_can_begin(const Session& session, const ParsedRequest& parsed) {
    const auto& requested = parsed.session;
    const auto name = named(requested.id);
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

std::string named(const std::string& id) {
    constexpr std::size_t kLongestId = 128;
    return "session '" + excerpt(id, kLongestId) + "'";
}

std::string told(const std::string& id, const Talk& talk, bool pinned, const std::string& content) {
    std::string text = R"({"object":"session","session":)" + as_json(id);
    if (!talk.model.empty()) {
        text += R"(,"model":)" + as_json(talk.model);
    }
    text += pinned ? R"(,"pinned":true)" : "";
    text += talk.adapters ? R"(,"lora":)" + as_json(*talk.adapters) : "";
    if (talk.run) {
        return text + R"(,"tokens":)" + content + R"(,"end":)" + std::to_string(talk.run->end()) + "}";
    }
    return text + R"(,"messages":)" + content + "}";
}

std::string told_in_short(const std::string& id, const Talk& talk, bool pinned) {
    return told(id, talk, pinned, std::to_string(talk.run ? talk.run->size() : talk.messages.size()));
}

void check_is_free(const std::string& id, const Session& session, const char* remedy) {
    if (session.answers != 0) {
        throw Error(
            SOTTO_ERROR_BUSY,
            named(id) + " already answers request '" + std::to_string(session.answers) +
                "': wait for its SOTTO_EVENT_REQUEST_DONE, or " + remedy
        );
    }
}

void check_holds(const std::string& id, const Session& session, bool tokens) {
    if (session.talk.run.has_value() != tokens) {
        throw invalid_argument(
            "session",
            excerpt(id),
            tokens ? "a token session, but it holds messages; open one with tokens"
                   : "a session with messages, but it holds tokens; use completions and its token actions"
        );
    }
}

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
        return edit(requested);
    }
    return requested.id.empty() ? list() : read(requested.id);
}

std::string Sessions::open(const SessionRequest& requested) {
    if (open_.contains(requested.id)) {
        throw Error(
            SOTTO_ERROR_STATE, named(requested.id) + " is already open: close it first, or choose another id"
        );
    }
    check_has_room();
    const auto session = std::make_shared<Session>();
    auto& talk = session->talk;
    if (!requested.from.empty()) {
        const auto& from = find(requested.from)->talk;
        const auto kept = static_cast<std::ptrdiff_t>(std::min(requested.keep, from.messages.size()));
        if (from.run && (requested.system || !requested.messages.empty())) {
            check_holds(requested.from, *find(requested.from), false);
        }
        talk.run = from.run;
        if (talk.run) {
            talk.run->keep(requested.keep);
        }
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
    if (requested.tokens) {
        talk.run.emplace().append(*requested.tokens);
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

void Sessions::check_has_room() const {
    if (open_.size() >= most_) {
        throw Error(
            SOTTO_ERROR_BUSY, std::to_string(most_) + " sessions are open, the maximum: close one first"
        );
    }
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
        check_holds(requested.id, session, false);
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
    const auto& talk = session.talk;
    const auto content = talk.run ? to_text(Json(talk.run->tokens())) : list_of(talk.messages);
    return told(id, talk, session.pinned, content);
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
    const bool speaks = op == SOTTO_OP_CHAT || op == SOTTO_OP_COMPLETION;
    const bool adds_nothing = op == SOTTO_OP_SAVE_STATE && requested.messages.empty();
    if (!adds_nothing || requested.holds_tokens) { // otherwise either kind of session
        check_holds(requested.id, *session, requested.holds_tokens);
    }
    if (speaks) {
        check_is_free(requested.id, *session, "fork the session");
    }
    check_has_model(*session, parsed);
    if (const auto& run = session->talk.run) {
        check_can_go_on(*run, requested);
    } else {
        check_can_begin(*session, parsed);
    }
    if (parsed.model.empty()) {
        parsed.model = session->talk.model;
    }
    if (!parsed.adapters) {
        parsed.adapters = session->talk.adapters;
    }
    body = session->talk.run ? whole_body(*session->talk.run, requested)
                             : whole_body(session->talk.messages, requested);
    return speaks ? Turn(session, request, parsed.model, std::move(requested)) : Turn();
}

} // namespace sotto
