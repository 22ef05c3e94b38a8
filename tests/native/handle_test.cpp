// Engine handles.
#include "api/handle.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "base/error.hpp"

using sotto::Engine;
using sotto::api::close_handle;
using sotto::api::open_handle;
using sotto::api::Pin;

namespace {

sotto_engine* open() {
    return open_handle(std::make_unique<Engine>(sotto::EngineOptions{}));
}

bool names_one(sotto_engine* handle) {
    try {
        const Pin pinned(handle);
        return true;
    } catch (const sotto::Error& error) {
        CHECK(error.status() == SOTTO_ERROR_ARGUMENT);
        return false;
    }
}

sotto_engine* forged(std::uintptr_t bits) {
    return reinterpret_cast<sotto_engine*>(bits);
}

} // namespace

TEST_CASE("a handle works until its engine is closed, and never again") {
    sotto_engine* first = open();
    CHECK(names_one(first));
    close_handle(first);
    CHECK_FALSE(names_one(first));
    close_handle(first);
    sotto_engine* second = open();
    CHECK(second != first);
    CHECK(names_one(second));
    CHECK_FALSE(names_one(first));
    close_handle(first);
    CHECK(names_one(second));
    close_handle(second);
}

TEST_CASE("random bits used as a handle are harmless") {
    sotto_engine* real = open();
    const auto bits = reinterpret_cast<std::uintptr_t>(real);
    std::mt19937_64 random(1);
    int on_stack = 0;
    std::vector<std::uintptr_t> wrong = {
        0, 1, 64, 65, 255, 256, UINTPTR_MAX, bits + 1, bits + 256, bits - 256
    };
    wrong.push_back(reinterpret_cast<std::uintptr_t>(&on_stack));
    for (int i = 0; i < 10'000; ++i) {
        wrong.push_back(random());
    }
    for (const auto one : wrong) {
        if (one != bits) {
            CHECK_FALSE(names_one(forged(one)));
            close_handle(forged(one));
        }
    }
    CHECK(names_one(real));
    close_handle(real);
}

TEST_CASE("64 engines can exist, and destroying one makes room for another") {
    std::vector<sotto_engine*> all;
    std::set<sotto_engine*> names;
    for (int i = 0; i < 64; ++i) {
        all.push_back(open());
        names.insert(all.back());
    }
    CHECK(names.size() == 64);
    CHECK_THROWS_AS(open(), sotto::Error);
    close_handle(all[17]);
    sotto_engine* late = open();
    CHECK(names.count(late) == 0);
    CHECK_THROWS_AS(open(), sotto::Error);
    close_handle(late);
    for (sotto_engine* one : all) {
        close_handle(one);
    }
}

TEST_CASE("closing waits for running calls") {
    sotto_engine* handle = open();
    std::atomic<bool> closed{false};
    std::thread closer;
    {
        const Pin pinned(handle);
        closer = std::thread([&] {
            close_handle(handle);
            closed = true;
        });
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        CHECK_FALSE(closed.load());
        CHECK(pinned->list_models() == "[]"); // still alive
    }
    closer.join();
    CHECK(closed.load());
}

TEST_CASE("threads that concurrently use and close one engine are safe") {
    for (int round = 0; round < 50; ++round) {
        sotto_engine* handle = open();
        std::atomic<int> used{0};
        std::vector<std::thread> threads;
        for (int i = 0; i < 3; ++i) {
            threads.emplace_back([&] {
                while (names_one(handle)) {
                    ++used;
                }
            });
        }
        for (int i = 0; i < 2; ++i) {
            threads.emplace_back([&] {
                while (used.load() < 50) {
                    std::this_thread::yield();
                }
                close_handle(handle);
            });
        }
        for (auto& thread : threads) {
            thread.join();
        }
        REQUIRE_FALSE(names_one(handle));
    }
}
