// The error of a call that the library's C++ functions refuse.
#pragma once

#include <string>

#include <doctest/doctest.h>

#include "base/error.hpp"

namespace test {

// Returns the text of the Error that `call` throws, and checks its status. Empty: it threw none.
template <typename Call>
std::string refusal(sotto_status status, const Call& call) {
    try {
        call();
        return "";
    } catch (const sotto::Error& error) {
        CHECK(error.status() == status);
        return error.what();
    }
}

} // namespace test
