// Valid continuation bytes in a UTF-8 character.
#include "token/well_formed.hpp"

#include <cmath>
#include <doctest/doctest.h>
#include <vector>

using namespace sotto::llama;

TEST_CASE("exactly the bytes that are invalid at a position are masked") {
    const auto spell = [](std::int32_t token, std::string& bytes) {
        bytes.assign(token < 256 ? 1 : 0, static_cast<char>(token));
        if (token == 256) {
            bytes = "\x85\xF0"; // end of one character and start of another
        }
    };
    const InnerTokens tokens(258, spell);
    const auto left = [&](const std::string& said) {
        WellFormed bytes(tokens);
        bytes.said(said);
        std::vector<float> logits(258, 0.0f);
        bytes.mask(logits.data());
        std::vector<int> out;
        for (int token = 0; token < 258; ++token) {
            if (std::isinf(logits[static_cast<std::size_t>(token)])) {
                out.push_back(token);
            }
        }
        return out;
    };
    CHECK(left("").empty());
    CHECK(left("a").empty());
    CHECK(left("\xC3").empty());
    CHECK(left("\xE1").empty());
    CHECK(left("\xE0\xA4").empty());
    CHECK(left("x\xE0").size() == 33); // 80 to 9F, and the token of two bytes
    CHECK(left("\xE0").front() == 0x80);
    CHECK(left("\xE0").back() == 256);
    CHECK(left("\xED").size() == 32);
    CHECK(left("\xED").front() == 0xA0);
    CHECK(left("\x85\xF0").size() == 17);
    CHECK(left("\xF4").size() == 48);
    CHECK(left("\xF4").front() == 0x90);
}
