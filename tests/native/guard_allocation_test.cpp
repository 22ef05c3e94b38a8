// Fails each allocation of guardrails in turn: each call reports it, and the next one works.
#include <string>

#include <doctest/doctest.h>

#include <sotto/sotto.h>

#include "support/short_of_memory.hpp"

using namespace test;

// RE2 is written without exceptions: what it holds when an allocation throws leaks. LeakSanitizer calls this
// function for the leaks to ignore.
extern "C" { // NOLINTBEGIN(bugprone-reserved-identifier)
[[gnu::visibility("default")]] const char* __lsan_default_suppressions();
const char* __lsan_default_suppressions() {
    return "leak:re2::";
}
} // NOLINTEND

namespace {

const std::string kConfig = R"({"output": [
    {"type": "phrases", "phrases": ["red wizard", "drop dead", "дурак"], "allow": ["a red wizard of oz"]},
    {"type": "regex", "patterns": ["\\bab+c\\b", "\\d{4,}"], "action": "rewrite"}]})";

// Makes all calls with one guard. Returns the first status that is not SOTTO_OK.
sotto_status use(std::string& shown) {
    sotto_guard* guard = nullptr;
    sotto_guard_stream* stream = nullptr;
    sotto_str out{};
    int32_t blocked = 0;
    auto status = call([&] { return sotto_guard_create(str(kConfig), &guard); });
    CHECK((status == SOTTO_OK) == (guard != nullptr));
    const std::string text = "say abbbc 123456 to the r e d wiz";
    const auto then = [&](auto&& body) { status = status == SOTTO_OK ? call(body) : status; };
    then([&] { return sotto_guard_check(guard, SOTTO_GUARD_OUTPUT, str(text), &out); });
    then([&] { return sotto_guard_open_stream(guard, SOTTO_GUARD_OUTPUT, &stream); });
    then([&] { return sotto_guard_stream_feed(stream, str(text), &out, &blocked); });
    shown = status == SOTTO_OK ? std::string(out.data, out.size) : std::string();
    then([&] { return sotto_guard_stream_feed(stream, str("ard"), &out, &blocked); });
    then([&] { return sotto_guard_stream_finish(stream, &out, &blocked); });
    CHECK((status != SOTTO_OK || blocked != 0));
    sotto_guard_stream_close(stream);
    sotto_guard_destroy(guard);
    return status;
}

} // namespace

TEST_CASE("a failed allocation ends a call of guardrails, and no more") {
    t_exempt = true;
    std::string shown;
    REQUIRE(use(shown) == SOTTO_OK);
    CHECK(shown == "say ***** ****** to the ");
    for (long at = 0;; at += stride(1)) {
        g_left = at;
        const auto status = use(shown);
        const bool over = g_left > 0;
        g_left = kNever;
        CHECK((status == SOTTO_ERROR_MEMORY || status == SOTTO_OK));
        REQUIRE(use(shown) == SOTTO_OK);
        if (over) {
            CHECK(status == SOTTO_OK);
            break;
        }
    }
}
