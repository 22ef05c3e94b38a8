// Engine handles. A sotto_engine* is a number that every call looks up, so that a stale one is harmless.
#pragma once

#include <cstddef>
#include <memory>

#include <sotto/engine.h>

#include "api/handle_table.hpp"
#include "core/engine.hpp"

namespace sotto::api {

// Returns a handle for `engine`. Throws Error(SOTTO_ERROR_BUSY) if the handle table is full.
sotto_engine* open_handle(std::unique_ptr<Engine> engine);

// Destroys the engine of `handle`. New calls no longer find the engine; waits for the calls that are running,
// which return soon. Does nothing for an invalid handle, including a handle of a parent process.
void close_handle(sotto_engine* handle) noexcept;

struct EngineKind {
    static constexpr const char* kName = "engine";
    static constexpr const char* kPlural = "engines";
    static constexpr unsigned kNumber = 0;
    static constexpr std::size_t kMax = 64;
};
using EngineTable = HandleTable<Engine, EngineKind>;

// Keeps an engine alive for the duration of a call.
class Pin : public EngineTable::Pin {
public:
    // Throws Error(SOTTO_ERROR_ARGUMENT) for NULL, for an invalid handle, and for a handle created before
    // fork() in the parent process.
    explicit Pin(sotto_engine* handle);
};

} // namespace sotto::api
