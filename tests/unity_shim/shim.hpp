// The plugin under test, loaded as Unity loads it, and engines to attach.
#pragma once

#include <string>

#include <doctest/doctest.h>

#include "sotto_unity.h"
#include "unity_double.hpp"
#include <sotto/sotto.h>

namespace test {

std::string text_of(sotto_str text);
bool holds(const std::string& text, const std::string& part);

// The exports of the plugin; loaded once, as Unity does.
struct Shim {
    void(TEST_UNITY_CALL* load)(const void* interfaces) = nullptr;
    void(TEST_UNITY_CALL* unload)() = nullptr;
    decltype(&sotto_unity_abi) abi = nullptr;
    decltype(&sotto_unity_graphics) graphics = nullptr;
    decltype(&sotto_unity_attach) attach = nullptr;
    decltype(&sotto_unity_detach) detach = nullptr;
    decltype(&sotto_unity_last_error) last_error = nullptr;

    static const Shim& it();

    sotto_unity_graphics_info describe() const;
    std::string error() const { return text_of(last_error()); }
};

// Unity with the plugin in it. Unity unloads the plugin at the end.
class Loaded {
public:
    explicit Loaded(int renderer = kNull) : unity(Unity::fresh()) {
        unity.renderer = renderer;
        Shim::it().load(Unity::interfaces());
    }
    ~Loaded() {
        Shim::it().unload();
        CHECK(unity.callbacks.empty());
        CHECK(unity.intercepts.empty());
        CHECK(unity.misuses == 0);
    }
    Loaded(const Loaded&) = delete;
    Loaded& operator=(const Loaded&) = delete;

    Unity& unity;
};

} // namespace test
