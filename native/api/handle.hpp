// What a sotto_engine* really is: a name, checked on every use, so that a stale one harms nothing.
#pragma once

#include <memory>

#include <sotto/engine.h>

#include "core/engine.hpp"

namespace sotto::api {

struct Place;

// Gives an engine a name. Throws Error(SOTTO_ERROR_BUSY) when all names are taken.
sotto_engine* open_handle(std::unique_ptr<Engine> engine);

// Ends the engine of that name: no call finds it any more, those under way return soon and are
// waited for. Does nothing for a name that names none, also of a parent process.
void close_handle(sotto_engine* handle) noexcept;

// Keeps an engine alive for the length of a call.
class Pin {
public:
    // Throws Error(SOTTO_ERROR_ARGUMENT) for NULL, for a name that names none, and for one of a process
    // that this one was forked from.
    explicit Pin(sotto_engine* handle);
    ~Pin();
    Pin(const Pin&) = delete;
    Pin& operator=(const Pin&) = delete;

    Engine* operator->() const noexcept { return engine_; }

private:
    Place* place_;
    Engine* engine_;
};

} // namespace sotto::api
