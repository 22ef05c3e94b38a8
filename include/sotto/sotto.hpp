/**
 * @file sotto/sotto.hpp
 * The API for C++17: handles that close themselves, a range over events, and a builder for requests.
 *
 * Header-only, on top of sotto.h; each handle's get() gives the C handle for calls that have no member here.
 * Functions throw sotto::Error instead of returning a status. Thread rules are those of the C functions.
 *
 *     sotto::Engine engine;
 *     engine.wait(engine.load_model("sotto/house", {}, SOTTO_REQUEST_PRIVATE));
 *     sotto::Session mara(engine, "mara", {"sotto/house", "Name: Mara\nRole: innkeeper"});
 *     mara.say("Is there a room?", sotto::Turn().max_tokens(64));
 *     for (;;) {
 *         const sotto::Frame frame(engine, 16'666'667);
 *         for (const sotto::Event& event : engine.events()) { ... event.text() ... }
 *     }
 */
#ifndef SOTTO_HPP
#define SOTTO_HPP

#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include "text.hpp"

namespace sotto {

/** One event of one request. Its texts stay valid until the next event is taken. */
class Event : public sotto_event {
public:
    Event() noexcept : sotto_event(SOTTO_INIT(sotto_event)) {}
    std::string_view text() const noexcept { return view(sotto_event::text); }
    std::string_view json() const noexcept { return view(sotto_event::json); }
    std::string_view error() const noexcept { return view(sotto_event::error); }
    std::string_view data() const noexcept { return view(sotto_event::data); }
    bool             done() const noexcept { return kind == SOTTO_EVENT_REQUEST_DONE; }
};

/** The queued events of an engine, as an input range: iterating takes them, and never waits. */
class Events {
public:
    class Iterator {
    public:
        using iterator_category = std::input_iterator_tag;
        using value_type        = Event;
        using difference_type   = std::ptrdiff_t;
        using pointer           = const Event*;
        using reference         = const Event&;

        Iterator() noexcept = default;
        explicit Iterator(sotto_engine* engine) : engine_(engine) { ++*this; }
        reference operator*() const noexcept { return event_; }
        pointer   operator->() const noexcept { return &event_; }
        Iterator& operator++() {
            if (check(sotto_engine_next_event(engine_, &event_)) == SOTTO_EMPTY) {
                engine_ = nullptr;
            }
            return *this;
        }
        void operator++(int) { ++*this; }
        bool operator==(const Iterator& other) const noexcept { return engine_ == other.engine_; }
        bool operator!=(const Iterator& other) const noexcept { return engine_ != other.engine_; }

    private:
        sotto_engine* engine_ = nullptr; // NULL: the end
        Event         event_;
    };

    explicit Events(sotto_engine* engine) noexcept : engine_(engine) {}
    Iterator begin() const { return Iterator(engine_); }
    Iterator end() const noexcept { return {}; }

private:
    sotto_engine* engine_;
};

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
 * Waits until a private request has ended. Throws Error if it failed.
 *
 * @param json  Out: the response. NULL: not reported.
 * @return The answer's text.
 */
inline std::string wait(sotto_engine* engine, sotto_request request, std::string* json = nullptr) {
    std::string text;
    Event       event;
    while (!event.done()) {
        check(sotto_engine_wait_request_event(engine, request, -1, &event));
        text += event.kind == SOTTO_EVENT_TEXT ? event.text() : std::string_view();
    }
    if (event.status < 0) {
        throw Error(event.status, event.error());
    }
    if (json != nullptr) {
        *json = event.json();
    }
    return text;
}

/** Owns an engine. */
class Engine {
public:
    explicit Engine(const sotto_engine_desc& desc = SOTTO_INIT(sotto_engine_desc)) {
        check(sotto_engine_create(&desc, &engine_));
    }
    ~Engine() { sotto_engine_destroy(engine_); }
    Engine(Engine&& other) noexcept : engine_(std::exchange(other.engine_, nullptr)) {}
    Engine& operator=(Engine&& other) noexcept {
        std::swap(engine_, other.engine_);
        return *this;
    }

    sotto_engine* get() const noexcept { return engine_; }

    /** Starts loading a model. `options`: a JSON object of backend options, or empty. */
    sotto_request
    load_model(std::string_view id, std::string_view options = {}, sotto_request_flags flags = 0) {
        auto desc             = SOTTO_INIT(sotto_model_desc);
        desc.id               = str(id);
        desc.options          = str(options);
        desc.flags            = flags;
        sotto_request request = 0;
        check(sotto_engine_load_model(engine_, &desc, &request));
        return request;
    }

    /** Submits a request with a JSON body. */
    sotto_request submit(sotto_op op, std::string_view body, sotto_request_flags flags = 0) {
        auto desc             = SOTTO_INIT(sotto_request_desc);
        desc.op               = op;
        desc.body             = str(body);
        desc.flags            = flags;
        sotto_request request = 0;
        check(sotto_engine_submit(engine_, &desc, &request));
        return request;
    }

    /** Cancels a request. Returns false if it had already ended. */
    bool cancel(sotto_request request) {
        const auto status = sotto_engine_cancel(engine_, request);
        return status != SOTTO_ERROR_NOT_FOUND && check(status) == SOTTO_OK;
    }

    Events events() const noexcept { return Events(engine_); }
    /** Waits until a private request has ended; see sotto::wait(). */
    std::string wait(sotto_request request) { return sotto::wait(engine_, request); }

private:
    sotto_engine* engine_ = nullptr;
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

/** Reports a frame of the game: it begins with the object and ends with it. */
class Frame {
public:
    /** `period_ns`: target time from one frame to the next; 0: unknown. */
    explicit Frame(Engine& engine, std::uint64_t period_ns = 0, std::uint32_t busy_cores = 1)
        : engine_(engine.get()) {
        auto desc       = SOTTO_INIT(sotto_frame_begin_desc);
        desc.period_ns  = period_ns;
        desc.busy_cores = busy_cores;
        check(sotto_engine_frame_begin(engine_, &desc));
    }
    ~Frame() { sotto_engine_frame_end(engine_, nullptr); }
    Frame(const Frame&)            = delete;
    Frame& operator=(const Frame&) = delete;

private:
    sotto_engine* engine_;
};

} // namespace sotto

#endif
