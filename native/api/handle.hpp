// What a sotto_engine* really is: a name, checked on every use, so that a stale one harms nothing.
#pragma once

#include <memory>

#include <sotto/engine.h>

#include "core/engine.hpp"

namespace sotto::api {

// Gives an engine a name. Throws Error(SOTTO_ERROR_BUSY) when all names are taken.
sotto_engine* open_handle(std::unique_ptr<Engine> engine);

// Ends the engine of that name: no call finds it any more, those under way return soon and are
// waited for. Does nothing for a name that names none.
void close_handle(sotto_engine* handle) noexcept;

// Keeps an engine alive for the length of a call.
class Pin {
public:
    // Throws Error(SOTTO_ERROR_ARGUMENT) for NULL and for a name that names none.
    explicit Pin(sotto_engine* handle);
    ~Pin();
    Pin(const Pin&) = delete;
    Pin& operator=(const Pin&) = delete;

    Engine* operator->() const noexcept { return engine_; }

private:
    std::size_t index_;
    Engine* engine_;
};

} // namespace sotto::api
