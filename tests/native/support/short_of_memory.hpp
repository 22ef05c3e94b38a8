// Makes allocations fail. For one file of a program, because it replaces operator new.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>
#include <string>

#include <doctest/doctest.h>

#include "support/full.hpp"
#include "support/game.hpp"

namespace test {

constexpr long kNever = -1'000'000;

inline std::atomic<long> g_left{kNever}; // allocations until some fail; kNever: none fails
inline std::atomic<long> g_run{1};       // number of consecutive failures
inline thread_local bool t_exempt = false;

// Distance between tested points of failure, for `run` failures. Sanitizers take ten times as long for each
// point.
inline long stride(long run) {
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
    constexpr long kSome = 41;
#else
    constexpr long kSome = 7;
#endif
    return is_full() ? 1 : std::max(kSome, run - 1);
}

// Allocations of the test itself always succeed.
class Exempt {
public:
    Exempt() { t_exempt = true; }
    ~Exempt() { t_exempt = false; }
};

inline void* allocate(std::size_t size) {
    if (!t_exempt && g_left.load() != kNever) {
        const auto left = g_left.fetch_sub(1);
        if (left <= 0 && left > -g_run.load()) {
            return nullptr;
        }
    }
    return std::malloc(size != 0 ? size : 1);
}

} // namespace test

void* operator new(std::size_t size) {
    if (void* made = test::allocate(size)) {
        return made;
    }
    throw std::bad_alloc();
}

void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
    return test::allocate(size);
}

// Not inlined, so that no compiler warns of free() for memory from new.
[[gnu::noinline]] void operator delete(void* pointer) noexcept {
    std::free(pointer);
}

[[gnu::noinline]] void operator delete(void* pointer, std::size_t) noexcept {
    std::free(pointer);
}

namespace test {

// Makes a call whose allocations may fail.
template <typename Call>
sotto_status call(Call&& body) {
    t_exempt = false;
    const auto status = body();
    t_exempt = true;
    return status;
}

// Next event of a private request.
inline sotto_event next(sotto_engine* engine, sotto_request request) {
    auto event = SOTTO_INIT(sotto_event);
    const auto status =
        call([&] { return sotto_engine_wait_request_event(engine, request, kPatience, &event); });
    REQUIRE_MESSAGE(status == SOTTO_OK, last_error());
    return event;
}

// Status of a private request, or of the call that failed to submit it.
inline sotto_status
outcome(sotto_engine* engine, sotto_status submitted, sotto_request request, std::string& text) {
    if (submitted < 0) {
        CHECK(request == 0);
        return submitted;
    }
    for (;;) {
        const auto event = next(engine, request);
        text += event.kind == SOTTO_EVENT_TEXT ? text_of(event.text) : "";
        if (event.kind == SOTTO_EVENT_REQUEST_DONE) {
            return event.status;
        }
    }
}

inline sotto_status load(sotto_engine* engine, const char* id, std::string_view script) {
    auto desc = SOTTO_INIT(sotto_model_desc);
    desc.id = str(id);
    desc.backend = str("scripted");
    desc.options = str(script);
    desc.flags = SOTTO_REQUEST_PRIVATE;
    sotto_request request = 0;
    const auto submitted = call([&] { return sotto_engine_load_model(engine, &desc, &request); });
    std::string nothing;
    return outcome(engine, submitted, request, nothing);
}

inline sotto_status unload(sotto_engine* engine, const char* id) {
    sotto_request request = 0;
    const auto submitted =
        call([&] { return sotto_engine_unload_model(engine, str(id), SOTTO_REQUEST_PRIVATE, &request); });
    std::string nothing;
    return outcome(engine, submitted, request, nothing);
}

// Returns true if lack of memory may lead to this status.
inline bool allowed(sotto_status status) {
    return status == SOTTO_OK || status == SOTTO_ERROR_MEMORY;
}

// Checks that an engine has released all memory.
class Balance {
public:
    Balance() {
        report.self = &bytes_;
        report.changed = [](void* self, sotto_memory_kind, sotto_str, sotto_str, std::int64_t more) {
            *static_cast<std::atomic<std::int64_t>*>(self) += more;
        };
        quiet.write = [](void*, sotto_log_level, sotto_str) {};
    }
    bool is_even() const { return bytes_ == 0; }

    sotto_memory_report report = SOTTO_INIT(sotto_memory_report);
    sotto_log_sink quiet = SOTTO_INIT(sotto_log_sink);

private:
    std::atomic<std::int64_t> bytes_{0};
};

} // namespace test
