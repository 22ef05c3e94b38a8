// Tells which rung a test took; the check prints these lines.
#pragma once

#include <cstdio>
#include <string>

#include <doctest/doctest.h>

namespace test {

// "rung: <test>: <rung>: <why no closer one>". Of a test case, on its own thread.
inline void tell_rung(const std::string& rung, const std::string& why = "") {
    const char* test = doctest::getContextOptions()->currentTest->m_name;
    std::printf("rung: %s: %s%s\n", test, rung.c_str(), why.empty() ? "" : (": " + why).c_str());
}

} // namespace test
