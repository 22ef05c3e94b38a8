// Serialised states: written ones are read back, and all others are refused.
#include <cstdint>
#include <string>

#include <doctest/doctest.h>

#include "base/error.hpp"
#include "core/state/state_blob.hpp"

using sotto::state_blob;
using sotto::state_payload;
using sotto::state_size;

namespace {

const std::string kFits = R"({"model":"a1","kv_type":"f16","adapters":[]})";
const std::string kRemembered = "what is remembered\0, with a NUL in it";

// Returns the error for a blob; empty: it is accepted.
std::string refusal(std::string_view blob, std::string_view wanted = kFits) {
    try {
        state_payload(blob, wanted);
        return "";
    } catch (const sotto::Error& error) {
        CHECK(error.status() == SOTTO_ERROR_MODEL);
        return error.what();
    }
}

std::string begins_with(std::string header) {
    header.resize(sotto::kStateHeader);
    return header;
}

// A number in the format's byte order.
template <typename T>
std::string bytes_of(T value) {
    std::string bytes;
    for (std::size_t i = 0; i < sizeof value; ++i, value = static_cast<T>(value >> 4 >> 4)) {
        bytes += static_cast<char>(value & 0xFF);
    }
    return bytes;
}

} // namespace

TEST_CASE("a written state is read back") {
    for (const auto& payload : {std::string(), kRemembered, std::string(100'000, 'x')}) {
        const auto blob = state_blob(kFits, payload);
        CHECK(blob.size() == sotto::kStateHeader + kFits.size() + payload.size());
        CHECK(state_size(blob) == blob.size());
        CHECK(state_payload(blob, kFits) == payload);
    }
    CHECK(state_payload(state_blob("", "x"), "") == "x");
}

TEST_CASE("the format equals that of the first release") {
    const auto blob = state_blob("{}", "remembered");
    const std::string begins("SOTTO\0ST", 8);
    CHECK(blob.substr(0, 24) == begins + bytes_of(1u) + bytes_of(2u) + bytes_of(std::uint64_t{10}));
    CHECK(blob.substr(24, 8) == bytes_of(std::uint64_t{0x01EF0AD2C163556C}));
    CHECK(blob.substr(32) == "{}remembered");
}

TEST_CASE("a state truncated at any point is refused") {
    const auto blob = state_blob(kFits, kRemembered);
    for (std::size_t size = 0; size < blob.size(); ++size) {
        CAPTURE(size);
        const auto why = refusal(std::string_view(blob).substr(0, size));
        if (size < sotto::kStateHeader) {
            CHECK(why == "the state has no header of a Sotto state; save it again");
        } else {
            CHECK(
                why == "the state is truncated: it has " + std::to_string(size) + " of its " +
                           std::to_string(blob.size()) + " bytes; save it again"
            );
        }
    }
    CHECK_FALSE(refusal(blob + "x").empty());
}

TEST_CASE("a state with any bit changed is refused") {
    const auto blob = state_blob(kFits, kRemembered);
    for (std::size_t at = 0; at < blob.size(); ++at) {
        for (int bit = 0; bit < 8; ++bit) {
            CAPTURE(at);
            CAPTURE(bit);
            auto changed = blob;
            changed[at] = static_cast<char>(changed[at] ^ 1 << bit);
            CHECK_FALSE(refusal(changed).empty());
        }
    }
    auto changed = blob;
    changed.back() = '!';
    CHECK(refusal(changed) == "the state is damaged: its checksum does not match; save it again");
}

TEST_CASE("a state of a later version is refused by its version") {
    auto blob = state_blob(kFits, kRemembered);
    blob[8] = 2;
    CHECK(refusal(blob) == "the state has version '2': expected version 1; save it again");
}

TEST_CASE("a state of another model is refused, and the difference is named") {
    const auto of = [](const char* fingerprint) { return refusal(state_blob(fingerprint, kRemembered)); };
    CHECK(
        of(R"({"model":"a1","kv_type":"q8_0","adapters":[]})") ==
        "the state has kv_type 'q8_0': expected 'f16'; save it again"
    );
    CHECK(
        of(R"({"model":"b2","kv_type":"f16","adapters":[]})") ==
        "the state has model 'b2': expected 'a1'; save it again"
    );
    CHECK(
        of(R"({"model":"a1","kv_type":"f16"})") ==
        "the state has adapters 'none': expected '[]'; save it again"
    );
    for (const char* odd :
         {R"({"model":"a1","kv_type":"f16","adapters":[],"more":1})", "no JSON", "[]", "", "\xFF"}) {
        CHECK(of(odd) == "the state was saved with another model or library version; save it again");
    }
}

TEST_CASE("the description of a foreign state is shortened in errors") {
    const std::string deep = std::string(30'000, '[') + std::string(30'000, ']');
    const auto nested = R"({"adapters":[],"kv_type":"f16","model":)" + deep + "}";
    CHECK(refusal(state_blob(nested, "")) == "the state has model '[...]': expected 'a1'; save it again");
    const auto lengthy = R"({"adapters":"two\nlines)" + std::string(60'000, 'x') + "\"}";
    const auto why = refusal(state_blob(lengthy, ""));
    CHECK(why.size() < 300);
    CHECK(why.find('\n') == std::string::npos);
}

TEST_CASE("a state that claims to be huge is refused before anything is allocated") {
    const std::string begins = std::string("SOTTO\0ST", 8) + bytes_of(1u);
    const auto says = [&](std::uint32_t fingerprint, std::uint64_t payload) {
        return begins_with(begins + bytes_of(fingerprint) + bytes_of(payload));
    };
    for (const auto& [fingerprint, payload] :
         {std::pair(UINT32_MAX, std::uint64_t{0}),
          std::pair(0u, UINT64_MAX),
          std::pair(65'537u, UINT64_MAX / 2)}) {
        CHECK(
            refusal(says(fingerprint, payload)) ==
            "the state is damaged: its size is above the maximum; save it again"
        );
        CHECK_THROWS_AS(state_size(says(fingerprint, payload)), sotto::Error);
    }
    constexpr auto kMost = UINT64_MAX / 2;
    CHECK(state_size(says(10, kMost)) == sotto::kStateHeader + 10 + kMost); // readers set their own limit
    CHECK(refusal(says(10, kMost)).starts_with("the state is truncated: it has 32 of its "));
}
