// abi/call.hpp: exceptions end in a guarded call, texts are viewed, structs are written by their size.
#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>

#include <doctest/doctest.h>

#include "abi/call.hpp"

namespace {

using namespace sotto;

// Runs `body` guarded and returns "<status>: <text>", or "<status>" if nothing was thrown.
template <typename Body>
std::string guarded_outcome(Body body) {
    std::string text;
    const auto cause = [](const std::exception& error) {
        return abi::Cause{SOTTO_ERROR_MEMORY, error.what()};
    };
    const auto status = abi::guarded(body, cause, [&](sotto_status seen, const char* message) {
        text = ": " + std::string(message);
        return seen;
    });
    return std::to_string(status) + text;
}

struct Record {
    std::uint32_t struct_size;
    std::uint32_t first;
    std::uint32_t second;
};

} // namespace

TEST_CASE("a guarded call returns the status of its body") {
    CHECK(guarded_outcome([] { return SOTTO_OK; }) == "0");
}

TEST_CASE("a guarded call turns every exception into a status and a text") {
    const auto refuse = []() -> sotto_status { throw invalid_argument("tps", "-1", "0 or more"); };
    const auto expected = std::to_string(SOTTO_ERROR_ARGUMENT) + ": invalid tps '-1': expected 0 or more";
    CHECK(guarded_outcome(refuse) == expected);
    const auto other = []() -> sotto_status { throw std::runtime_error("lost"); };
    CHECK(guarded_outcome(other) == std::to_string(SOTTO_ERROR_MEMORY) + ": lost");
    const auto odd = []() -> sotto_status { throw 7; };
    const auto unknown = ": an exception that is not a std::exception was thrown";
    CHECK(guarded_outcome(odd) == std::to_string(SOTTO_ERROR_INTERNAL) + unknown);
}

TEST_CASE("a text is viewed by its size, or up to its NUL") {
    CHECK(abi::view({"ale and stew", 3}) == "ale");
    CHECK(abi::view({"ale", SOTTO_NUL}) == "ale");
    CHECK(abi::view({nullptr, SOTTO_NUL}).empty());
    CHECK(abi::view(abi::str("stew")) == "stew");
}

TEST_CASE("a struct is written up to the caller's size") {
    Record theirs{8, 1, 2};
    abi::write(&theirs, Record{sizeof(Record), 10, 20}, theirs.struct_size);
    CHECK(theirs.struct_size == 8);
    CHECK(theirs.first == 10);
    CHECK(theirs.second == 2); // beyond the caller's struct
    std::array<Record, 2> newer{{{24, 1, 2}, {3, 4, 5}}};
    abi::write(newer.data(), Record{sizeof(Record), 10, 20}, newer[0].struct_size);
    CHECK(newer[0].struct_size == 24);
    CHECK(newer[0].second == 20);
    CHECK(newer[1].struct_size == 3); // a field that this library does not know
}
