// How much a test tries.
#pragma once

#include <cstdlib>

namespace test {

// Whether it tries all there is: `tests/check.py --full` says so.
inline bool is_full() {
    const char* full = std::getenv("SOTTO_FULL");
    return full != nullptr && *full == '1';
}

} // namespace test
