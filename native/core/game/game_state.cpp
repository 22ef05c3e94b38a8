#include "core/game/game_state.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"

namespace sotto {

GameState game_state_of(const Conversations& conversations, KvStateStore& kv_states) {
    GameState state;
    conversations.sessions.each([&](const std::string& id, const Session& session) {
        SavedSession saved{id, session.talk, session.pinned, {}};
        if (session.kept != nullptr && session.kept_group == 0) {
            if (auto bytes = kv_states.stored_bytes(session.kept)) {
                saved.kv.model = session.kept->model();
                saved.kv.bytes = std::move(*bytes);
            }
        }
        state.sessions.push_back(std::move(saved));
    });
    const auto& responses = conversations.responses;
    for (const auto& id : responses.ids()) {
        state.responses.push_back({id, responses.find(id)->talk});
    }
    return state;
}

void restore_game_state(
    GameState state,
    Conversations& conversations,
    KvStateStore& kv_states,
    const std::function<bool(const std::string& model, std::string_view blob)>& fits,
    GameCounts& counts
) {
    std::vector<std::pair<std::string, std::shared_ptr<Session>>> sessions;
    for (auto& saved : state.sessions) {
        auto session = std::make_shared<Session>();
        session->talk = std::move(saved.talk);
        session->pinned = saved.pinned;
        auto& kv = saved.kv;
        if (!kv.model.empty() && fits(kv.model, kv.blob.view())) {
            session->kept = kv_states.put(kv.model, std::move(kv.blob), KvStateStore::kApart);
            counts.kv_states += session->kept != nullptr ? 1 : 0;
        }
        sessions.emplace_back(std::move(saved.id), std::move(session));
    }
    conversations.sessions.replace(std::move(sessions));
    for (auto& saved : state.responses) {
        auto session = std::make_shared<Session>();
        session->talk = std::move(saved.talk);
        conversations.responses.remove(saved.id);
        conversations.responses.add(saved.id, std::move(session));
    }
}

} // namespace sotto
