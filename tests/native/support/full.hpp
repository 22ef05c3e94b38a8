// How exhaustive the tests are.
#pragma once

#include <cstdlib>

namespace test {

// Returns true with `tests/check.py --full`.
inline bool is_full() {
    const char* full = std::getenv("SOTTO_FULL");
    return full != nullptr && *full == '1';
}

} // namespace test
