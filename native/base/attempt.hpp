// Catches exceptions at the top of the engine's own threads and jobs.
#pragma once

#include <exception>
#include <new>

#include "base/error.hpp"

namespace sotto {

// Runs `body`. Converts any exception into a call of failed(status, reason); `failed` must not throw.
template <typename Body, typename Failed>
void attempt(Body&& body, Failed&& failed) noexcept {
    try {
        body();
    } catch (const Error& error) {
        failed(error.status(), error.what());
    } catch (const std::exception& error) {
        failed(status_of(error), reason_of(error));
    }
}

} // namespace sotto
