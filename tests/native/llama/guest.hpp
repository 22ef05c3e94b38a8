// A stream that is parked and restored.
#pragma once

#include "module_under_test.hpp"

#include <doctest/doctest.h>
#include <memory>
#include <string>

namespace under_test {

// A stream and its saved KV cache while it is parked.
struct Guest {
    std::unique_ptr<Stream> stream;
    std::string state;

    void park() {
        std::uint32_t tokens = 0;
        state = stream->save(tokens);
        REQUIRE_MESSAGE(stream->answer.status == SOTTO_OK, stream->answer.why);
        stream->park();
    }
    // Restores the stream. Returns the number of tokens to prefill again.
    std::uint32_t come_back() {
        std::uint32_t tokens = 0;
        REQUIRE_MESSAGE(stream->model.restore(state, tokens) == SOTTO_OK, stream->model.why);
        const auto remaining = stream->unpark();
        REQUIRE_MESSAGE(stream->answer.status == SOTTO_OK, stream->answer.why);
        return remaining;
    }
};

} // namespace under_test
