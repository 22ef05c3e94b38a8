/**
 * @file sotto/engine.hpp
 * Part of sotto.hpp: engines and events.
 */
#ifndef SOTTO_ENGINE_HPP
#define SOTTO_ENGINE_HPP

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

/** Waits until a private request has ended, and returns its data. Throws Error if it failed. */
inline std::string wait_data(sotto_engine* engine, sotto_request request) {
    std::string data;
    Event       event;
    while (!event.done()) {
        check(sotto_engine_wait_request_event(engine, request, -1, &event));
        data += event.kind == SOTTO_EVENT_DATA ? event.data() : std::string_view();
    }
    if (event.status < 0) {
        throw Error(event.status, event.error());
    }
    return data;
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

    /** Restores a KV cache state of a session into the prefix cache of a model. Never waits. */
    sotto_request
    restore_state(std::string_view model, std::string_view state, sotto_request_flags flags = 0) {
        sotto_request request = 0;
        check(sotto_engine_restore_state(engine_, str(model), str(state), flags, &request));
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

} // namespace sotto

#endif
