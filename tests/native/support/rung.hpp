// Prints the rung that a test took, for the check's report.
#pragma once

#include <cstdio>
#include <string>

#include <doctest/doctest.h>

namespace test {

// Prints "rung: <test>: <rung>: <reason why not closer>". Call on a test case's own thread.
inline void tell_rung(const std::string& rung, const std::string& why = "") {
    const char* test = doctest::getContextOptions()->currentTest->m_name;
    std::printf("rung: %s: %s%s\n", test, rung.c_str(), why.empty() ? "" : (": " + why).c_str());
}

} // namespace test
