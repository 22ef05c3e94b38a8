// Engine handles. A sotto_engine* is a number that every call looks up, so that a stale one is harmless.
#pragma once

#include <memory>

#include <sotto/engine.h>

#include "core/engine.hpp"

namespace sotto::api {

struct Place;

// Returns a handle for `engine`. Throws Error(SOTTO_ERROR_BUSY) if the handle table is full.
sotto_engine* open_handle(std::unique_ptr<Engine> engine);

// Destroys the engine of `handle`. New calls no longer find the engine; waits for the calls that are running,
// which return soon. Does nothing for an invalid handle, including a handle of a parent process.
void close_handle(sotto_engine* handle) noexcept;

// Keeps an engine alive for the duration of a call.
class Pin {
public:
    // Throws Error(SOTTO_ERROR_ARGUMENT) for NULL, for an invalid handle, and for a handle created before
    // fork() in the parent process.
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
