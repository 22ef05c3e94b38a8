/**
 * @file sotto/session.hpp
 * Part of sotto.hpp: sessions.
 */
#ifndef SOTTO_SESSION_HPP
#define SOTTO_SESSION_HPP

#include <string>
#include <string_view>
#include <utility>

#include "engine.hpp"

namespace sotto {

/** Options of one turn: fields of the request body, pace, priority and deadline. */
class Turn {
public:
    /** Sets a body field. `json` is its value in JSON: `field("temperature", "0.7")`. */
    Turn& field(std::string_view name, std::string_view json) {
        fields_ += fields_.empty() ? "" : ",";
        fields_.append(quote(name)).append(":").append(json);
        return *this;
    }
    Turn& max_tokens(std::uint32_t tokens) { return desc_.max_tokens = tokens, *this; }
    Turn& priority(sotto_priority priority) { return desc_.priority = priority, *this; }
    Turn& target_tps(float tps) { return desc_.target_tps = tps, *this; }
    Turn& deadline_ns(std::uint64_t at) { return desc_.deadline_ns = at, *this; }
    Turn& user(std::uint64_t user) { return desc_.user = user, *this; }
    Turn& flags(sotto_request_flags flags) { return desc_.flags = flags, *this; }

private:
    friend class Session;

    sotto_say_desc desc_ = SOTTO_INIT(sotto_say_desc);
    std::string    fields_;
};

/**
 * A conversation that the engine stores. Closes it when destroyed.
 *
 * Opening waits for the engine's control thread, usually well below a millisecond, and throws if the session
 * cannot be opened: a session of that id is open, or `Start::messages` is invalid.
 */
class Session {
public:
    /** Default model, system message, and earlier messages (a JSON array), each of which may be empty. */
    struct Start {
        std::string_view model    = {};
        std::string_view system   = {};
        std::string_view messages = {};
        bool             pinned   = false;
    };

    Session(Engine& engine, std::string id) : Session(engine, std::move(id), Start()) {}
    Session(Engine& engine, std::string id, const Start& start) : id_(std::move(id)) {
        auto desc     = SOTTO_INIT(sotto_session_desc);
        desc.model    = str(start.model);
        desc.system   = str(start.system);
        desc.messages = str(start.messages);
        desc.pinned   = start.pinned ? 1 : 0;
        open(engine.get(), desc);
    }
    ~Session() { close(); }
    Session(Session&& other) noexcept
        : engine_(std::exchange(other.engine_, nullptr)), id_(std::move(other.id_)) {}
    Session& operator=(Session&& other) noexcept {
        std::swap(engine_, other.engine_);
        id_.swap(other.id_);
        return *this;
    }

    const std::string& id() const noexcept { return id_; }
    /** Closes the session now. A second call does nothing. Never waits. */
    void close() noexcept {
        if (auto* engine = std::exchange(engine_, nullptr); engine != nullptr) {
            sotto_engine_close_session(engine, str(id_), 0, nullptr);
        }
    }

    /** Submits the player's line. Never waits. */
    sotto_request say(std::string_view text, const Turn& turn = {}) {
        auto       desc       = turn.desc_;
        const auto fields     = "{" + turn.fields_ + "}";
        desc.session          = str(id_);
        desc.text             = str(text);
        desc.fields           = str(fields);
        sotto_request request = 0;
        check(sotto_engine_say(engine_, &desc, &request));
        return request;
    }

    /** Sets the system message from the next turn on; empty removes it. Never waits. */
    void set_system(std::string_view text) {
        check(sotto_engine_set_session_system(engine_, str(id_), str(text), 0, nullptr));
    }

    /** Drops the last turns. Never waits; an event reports SOTTO_ERROR_BUSY or SOTTO_ERROR_ARGUMENT. */
    void rewind(std::uint32_t turns = 1) {
        check(sotto_engine_rewind_session(engine_, str(id_), turns, 0, nullptr));
    }

    /** Pins or unpins the session. Never waits; an event reports SOTTO_ERROR_BUDGET. */
    void pin(bool pinned = true) {
        check(sotto_engine_pin_session(engine_, str(id_), pinned ? 1 : 0, 0, nullptr));
    }

    /** Returns all messages as a JSON array, which Start::messages takes. Waits as opening does. */
    std::string messages() const {
        sotto_request request = 0;
        check(sotto_engine_read_session(engine_, str(id_), SOTTO_REQUEST_PRIVATE, &request));
        std::string json;
        wait(engine_, request, &json);
        return sotto::field(json, "messages");
    }

    /** Returns the session's KV cache, see sotto_engine_read_state(). Waits; prefills what the cache lacks.
     */
    std::string state() const {
        sotto_request request = 0;
        check(sotto_engine_read_state(engine_, str(id_), SOTTO_REQUEST_PRIVATE, &request));
        return wait_data(engine_, request);
    }

    /** Opens a session that starts as a copy of this one, or of its first `keep` messages. Waits likewise. */
    Session fork(std::string id, std::uint32_t keep = 0) const {
        auto desc = SOTTO_INIT(sotto_session_desc);
        desc.from = str(id_);
        desc.keep = keep;
        Session made(std::move(id));
        made.open(engine_, desc);
        return made;
    }

private:
    explicit Session(std::string id) : id_(std::move(id)) {}

    void open(sotto_engine* engine, sotto_session_desc desc) {
        desc.id               = str(id_);
        desc.flags            = SOTTO_REQUEST_PRIVATE;
        sotto_request request = 0;
        check(sotto_engine_open_session(engine, &desc, &request));
        wait(engine, request);
        engine_ = engine; // from now on there is one to close
    }

    sotto_engine* engine_ = nullptr; // NULL: closed, or moved from
    std::string   id_;
};

} // namespace sotto

#endif
