#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "Core/Engine.h"

namespace SottoCore
{

/** The conversations of a host: sessions of the library, opened by their first turn. */
class FConversations
{
public:
    explicit FConversations(FEngine& InEngine) : Engine(InEngine) {}

    /** Opens the session of a turn unless it is open, and sets its system message if that has changed. */
    FSubmitted Open(const FTurn& Turn);

    /**
     * Opens the restored conversations that no turn has opened, so that a save game holds them. Returns the
     * first failure.
     */
    FSubmitted OpenRestored(const std::string& Model);

    /** Returns true if a request opens a session: EndOpening() takes its last event. */
    bool IsOpening(sotto_request Request) const { return Opening.count(Request) != 0; }

    /** Ends the opening of a session. Returns its name if it could not be opened, else an empty string. */
    std::string EndOpening(const FEvent& Event);

    /** Sets what a conversation starts with the next time that it is opened; closes it if it is open. */
    void Restore(const std::string& Session, const std::string& Messages);

    /** Takes over the sessions that the engine has, after a save game was restored. `List`: its JSON. */
    void Adopt(const std::string& List);

    /** Closes a conversation and forgets its messages. */
    void Close(const std::string& Session);

    /** Sets the system message of an open conversation. */
    void SetSystem(const std::string& Session, const std::string& System);

    /**
     * Drops the last turns of an open conversation, which must not be answering. No effect if it has fewer.
     * Returns false if the conversation is not open.
     */
    bool Rewind(const std::string& Session, uint32_t Turns);

    /** Returns the names of the open conversations, sorted. */
    std::vector<std::string> OpenNames() const;

    /** Returns the restored conversations that are not open, with their messages. */
    std::map<std::string, std::string> Unopened() const;

    /** Forgets the open conversations: the engine has stopped. */
    void Clear();

private:
    FEngine& Engine;
    std::unordered_map<sotto_request, std::string> Opening; // open request -> session
    std::unordered_map<std::string, std::string> Sessions;  // open ones -> system message that was set last
    std::map<std::string, std::string> Restored;            // session -> messages
};

} // namespace SottoCore
