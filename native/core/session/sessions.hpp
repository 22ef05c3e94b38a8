// Conversations that the engine keeps from one request to the next.
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
#include "core/state/parking.hpp"
#include "platform/pages.hpp"

namespace sotto {

// One message, as JSON. Forks share those that they have in common.
using Message = std::shared_ptr<const std::string>;

struct Talk {
    std::string model; // empty: none was named
    std::vector<Message> messages;
    AdaptersAsked adapters; // that its answers use
};

struct Session {
    Talk talk;
    sotto_request answers = 0;    // the chat under way in it; 0: none
    bool pinned = false;          // it keeps its place between its turns
    Parking::Kept kept;           // what a model remembered of it after its last turn; or null
    std::string kept_by;          // which
    std::uint64_t kept_group = 0; // with which adapters
};

// A chat's share in a session, from when it begins until the host hears the last of it. Without a session
// it does nothing.
class Turn {
public:
    Turn() = default;
    Turn(std::shared_ptr<Session> session, sotto_request request, std::string model, InSession asked);
    Turn(Turn&&) noexcept = default;
    Turn& operator=(Turn&&) = delete;
    ~Turn();

    // The answer is whole: the session remembers the turn, and is free for the next. Throws before that, or
    // not at all.
    void remember(const Said& said);
    const std::shared_ptr<Session>& session() const noexcept { return session_; }
    // The answer failed, or could not be told: the session is as it was before, and free.
    void forget() noexcept;

private:
    std::shared_ptr<Session> session_; // also one that was closed meanwhile
    std::string model_;
    std::vector<Message> asked_;
    bool continues_ = false;
    bool remembered_ = false;
    // What the session had before, once it has remembered:
    std::size_t messages_ = 0;
    Message last_;
    bool had_model_ = false;
};

// The control thread's alone.
class Sessions {
public:
    static constexpr std::size_t kMost = 65536; // open at once

    // How many places a model has at most; 0: nobody knows.
    using Places = std::function<std::uint32_t(const std::string& model)>;

    explicit Sessions(
        std::size_t most = kMost, Places places = [](const std::string&) { return 0u; }
    )
        : most_(most), places_(std::move(places)) {}

    // Does what a request about sessions asks for. Returns its response; throws before anything is changed.
    std::string answer(sotto_op op, const SessionAsked& asked);
    std::string answer(sotto_op op, std::string_view body) {
        return answer(op, read_session_request(op, body));
    }

    // A request begins. If it is in a session, `prompted` gets the session's model where it names none, and
    // `body` becomes what the backend is to see: with all the messages.
    Turn begin(sotto_op op, sotto_request request, Prompted& prompted, PageString& body);
    // The model that it will be answered by: the request's, else its session's, if that is there.
    const std::string& model_of(const Prompted& prompted) const noexcept;
    std::size_t count() const noexcept { return open_.size(); }

private:
    std::string open(const SessionAsked& asked);
    void close(const std::string& id);
    std::string change(const SessionAsked& asked);
    void check_can_pin(const std::string& id, const std::string& model) const;
    std::string read(const std::string& id) const;
    std::string list() const;
    const std::shared_ptr<Session>& find(const std::string& id) const;

    const std::size_t most_;
    const Places places_;
    std::map<std::string, std::shared_ptr<Session>, std::less<>> open_;
};

} // namespace sotto
