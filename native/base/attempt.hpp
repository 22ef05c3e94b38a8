// Where exceptions end on our own threads.
#pragma once

#include <exception>
#include <new>

#include "base/error.hpp"

namespace sotto {

// Runs `body`. Whatever it throws becomes failed(status, why); `failed` must not throw.
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
