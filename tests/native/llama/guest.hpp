// A stream that gives up its place and comes back for it.
#pragma once

#include "module_under_test.hpp"

#include <doctest/doctest.h>
#include <memory>
#include <string>

namespace under_test {

// A stream and what is kept of it while it is parked.
struct Guest {
    std::unique_ptr<Stream> stream;
    std::string state;

    void park() {
        std::uint32_t tokens = 0;
        state = stream->save(tokens);
        REQUIRE_MESSAGE(stream->answer.status == SOTTO_OK, stream->answer.why);
        stream->park();
    }
    // Says how many tokens are to be worked through again.
    std::uint32_t come_back() {
        std::uint32_t tokens = 0;
        REQUIRE_MESSAGE(stream->model.restore(state, tokens) == SOTTO_OK, stream->model.why);
        const auto remaining = stream->unpark();
        REQUIRE_MESSAGE(stream->answer.status == SOTTO_OK, stream->answer.why);
        return remaining;
    }
};

} // namespace under_test
