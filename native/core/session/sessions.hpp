// Conversations (sessions) that the engine stores between requests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/codec/codec.hpp"
#include "core/session/token_run.hpp"
#include "core/state/kv_state_store.hpp"
#include "platform/pages.hpp"

namespace sotto {

// One message as JSON. Forked sessions share their common messages.
using Message = std::shared_ptr<const std::string>;

struct Talk {
    std::string model; // id of the model; empty: none was named
    std::vector<Message> messages;
    std::optional<TokenRun> run; // of a token session, which has no messages
    AdaptersAsked adapters;      // adapters that the session's answers use
};

struct Session {
    Talk talk;
    sotto_request answers = 0;    // id of the running chat request; 0: none
    bool pinned = false;          // the session keeps its slot between turns
    KvStateStore::Kept kept;      // KV cache after its last turn, or null
    std::uint64_t kept_group = 0; // group of adapters that the KV cache was made with
};

class Responses;

// Appends messages, each as JSON.
void append(std::vector<Message>& messages, std::vector<std::string> more);

// Returns the body of a chat for a backend: the messages `before`, then those of the request. `instructions`:
// text of a system message that precedes them, or is the beginning of theirs; empty: none.
PageString whole_body(
    const std::vector<Message>& before, const InSession& requested, const std::string& instructions = {}
);

// Returns the body of a completion for a backend: the tokens `before`, then those of the request.
PageString whole_body(const TokenRun& before, const InSession& requested);

// Returns the JSON object that describes a session. `content`: JSON, either its messages or tokens, or their
// number.
std::string told(const std::string& id, const Talk& talk, bool pinned, const std::string& content);
// Returns the JSON object that describes a session, with the number of its messages or tokens.
std::string told_in_short(const std::string& id, const Talk& talk, bool pinned);
// Returns "session 'id'".
std::string named(const std::string& id);
// Throws Error(SOTTO_ERROR_BUSY) if the session answers a request. `remedy`: besides waiting.
void check_is_free(const std::string& id, const Session& session, const char* remedy);
// Throws Error(SOTTO_ERROR_ARGUMENT) if the session holds messages instead of tokens, or the reverse.
void check_holds(const std::string& id, const Session& session, bool tokens);

// A running turn of a session, from the start of the chat request until the host has received the last event.
// An empty Turn, without a session, does nothing.
class Turn {
public:
    Turn() = default;
    // `responses`: where remember() stores the session, as the response `id`; null: nowhere.
    Turn(
        std::shared_ptr<Session> session,
        sotto_request request,
        std::string model,
        InSession asked,
        Responses* responses = nullptr,
        std::string id = {}
    );
    Turn(Turn&&) noexcept = default;
    Turn& operator=(Turn&&) = delete;
    ~Turn();

    // Stores the completed answer in the session and frees the session for the next turn. If remember()
    // throws, nothing has changed.
    void remember(const CompleteAnswer& complete);
    const std::shared_ptr<Session>& session() const noexcept { return session_; }
    // Called if the answer failed or could not be delivered: restores the session to its state before the
    // turn and frees it.
    void forget() noexcept;

private:
    void remember_messages(const CompleteAnswer& complete);
    void remember_tokens(const CompleteAnswer& complete);

    std::shared_ptr<Session> session_; // may have been closed meanwhile
    Responses* responses_ = nullptr;
    std::string id_;
    std::string model_;
    std::vector<Message> asked_;
    std::vector<std::int32_t> asked_tokens_;
    bool continues_ = false;
    bool remembered_ = false;
    // Previous state of the session, set by remember() so that forget() can restore it:
    std::size_t messages_ = 0; // or tokens
    Message last_;
    bool had_model_ = false;
};

// Control thread only.
class Sessions {
public:
    static constexpr std::size_t kMaxSessions = 65536; // maximum number of open sessions

    // Returns a model's maximum number of slots; 0: unknown.
    using Places = std::function<std::uint32_t(const std::string& model)>;

    explicit Sessions(
        std::size_t most = kMaxSessions, Places places = [](const std::string&) { return 0u; }
    )
        : most_(most), places_(std::move(places)) {}

    // Executes a session request. Returns the response. If answer() throws, nothing has changed.
    std::string answer(sotto_op op, const SessionRequest& request);
    std::string answer(sotto_op op, std::string_view body) {
        return answer(op, read_session_request(op, body));
    }

    // Called when a request starts. If the request names a session, sets the session's model and adapters in
    // `parsed` unless the request names its own, and replaces `body` by a body for the backend with all
    // messages of the session. Returns the session's turn for a chat request, otherwise an empty Turn.
    Turn begin(sotto_op op, sotto_request request, ParsedRequest& parsed, PageString& body);
    // Returns the id of the model that will answer: the request's model, otherwise the session's; empty if
    // neither names one.
    const std::string& model_of(const ParsedRequest& parsed) const noexcept;
    std::size_t count() const noexcept { return open_.size(); }

    // Calls `found` with the id of each open session and the session.
    void each(const std::function<void(const std::string& id, const Session& session)>& found) const;
    // Opens sessions, each of which replaces an open one with its id as if that were closed. A session that
    // cannot be pinned is opened unpinned. Throws Error(SOTTO_ERROR_BUSY), and changes nothing, if too many
    // sessions would be open.
    void replace(std::vector<std::pair<std::string, std::shared_ptr<Session>>> sessions);

private:
    std::string open(const SessionRequest& request);
    void check_has_room() const;
    void close(const std::string& id);
    std::string change(const SessionRequest& request);
    std::string edit(const SessionRequest& request);
    std::string rewind(const std::string& id, Session& session, const SessionRequest& request);
    std::string copy(const Session& session, const SessionRequest& request);
    bool can_pin(const std::string& model) const;
    std::size_t count_pinned(const std::string& model) const;
    void check_can_pin(const std::string& id, const std::string& model) const;
    std::string read(const std::string& id) const;
    std::string list() const;
    const std::shared_ptr<Session>& find(const std::string& id) const;

    const std::size_t most_;
    const Places places_;
    std::map<std::string, std::shared_ptr<Session>, std::less<>> open_;
};

} // namespace sotto
