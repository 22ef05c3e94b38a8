// SOTTO_OP_EDIT_SESSION: drops the last turns of conversations, and edits token sessions.
#include <string>
#include <utility>

#include "base/error.hpp"
#include "core/session/sessions.hpp"

namespace sotto {
namespace {

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

} // namespace

std::string Sessions::edit(const SessionRequest& requested) {
    const auto& id = requested.id;
    const auto session = find(id); // copied: copy() may change open_
    const PositionRange range{requested.first, requested.last};
    const bool rewinds = requested.action == SessionAction::rewind;
    check_holds(id, *session, !rewinds);
    if (requested.action == SessionAction::copy) {
        return copy(*session, requested);
    }
    if (requested.action != SessionAction::read) {
        check_is_free(id, *session, "cancel it");
    }
    if (rewinds) {
        return rewind(id, *session, requested);
    }
    auto changed = session->talk;
    if (requested.action == SessionAction::cut) {
        changed.run->cut(range);
    } else if (requested.action == SessionAction::shift) {
        changed.run->shift(range, requested.delta);
    }
    auto response = told_in_short(id, changed, session->pinned);
    session->talk = std::move(changed); // does not throw
    return response;
}

// The KV cache stays as it is: the next prompt reuses what it has in common with the session's last one.
std::string Sessions::rewind(const std::string& id, Session& session, const SessionRequest& requested) {
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

// Makes a session a copy of a part of another; opens it if no session has its id.
std::string Sessions::copy(const Session& session, const SessionRequest& requested) {
    const auto& id = requested.to_session;
    const auto found = open_.find(id);
    Talk talk;
    talk.model = session.talk.model;
    talk.adapters = session.talk.adapters;
    talk.run = session.talk.run->part({requested.first, requested.last});
    if (found == open_.end()) {
        check_has_room();
        auto response = told_in_short(id, talk, false);
        auto made = std::make_shared<Session>();
        made->talk = std::move(talk);
        open_.emplace(id, std::move(made));
        return response;
    }
    auto& into = *found->second;
    check_holds(id, into, true);
    check_is_free(id, into, "cancel it");
    auto response = told_in_short(id, talk, into.pinned);
    into.talk = std::move(talk); // does not throw
    return response;
}

} // namespace sotto
