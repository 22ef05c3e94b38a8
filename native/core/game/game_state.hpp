// What a save game holds: the conversations of an engine.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/session/responses.hpp"
#include "core/session/sessions.hpp"
#include "core/state/kv_state_store.hpp"

namespace sotto {

// The KV cache of a session after its last turn, as a state blob, which names the model that it fits.
struct SavedKv {
    std::string model;               // id of the model
    KvStateStore::StoredBytes bytes; // when the game is saved
    PageBuffer blob;                 // when it is restored
};

struct SavedSession {
    std::string id;
    Talk talk;
    bool pinned = false;
    SavedKv kv; // `model` is empty: none
};

struct SavedResponse {
    std::string id;
    Talk talk;
};

// Uses nothing that the engine owns, so that a file task may outlive the engine.
struct GameState {
    std::vector<SavedSession> sessions;
    std::vector<SavedResponse> responses; // the least recently used first
};

// The conversations that an engine stores.
struct Conversations {
    Sessions sessions;
    Responses responses;
};

// Copies the conversations, whose messages are shared and not copied. Leaves out the KV cache of sessions
// that use adapters, which another process could not recognize, and KV cache that was spilled to the disk.
GameState game_state_of(const Conversations& conversations, KvStateStore& kv_states);

// Numbers of what was saved or restored.
struct GameCounts {
    std::uint64_t sessions = 0;
    std::uint64_t responses = 0;
    std::uint64_t messages = 0;
    std::uint64_t kv_states = 0;
    std::uint64_t files = 0;
    std::uint64_t bytes = 0; // of the file
};

// Adds restored conversations. A session that is open with the id of a restored one is closed first; so is
// dropped a stored response. Sets the number of KV caches that were kept in `counts`; the other sessions are
// prefilled from their text. `fits`: returns true if a blob fits the model with that id. Throws
// Error(SOTTO_ERROR_BUSY), and changes nothing, if too many sessions would be open.
void restore_game_state(
    GameState state,
    Conversations& conversations,
    KvStateStore& kv_states,
    const std::function<bool(const std::string& model, std::string_view blob)>& fits,
    GameCounts& counts
);

} // namespace sotto
