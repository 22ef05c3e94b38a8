// Sorted texts of a vocabulary.
#include "token/token_texts.hpp"

#include <algorithm>
#include <doctest/doctest.h>

using namespace sotto::llama;

TEST_CASE("a UTF-8 character may span tokens") {
    PartialCharacter partial;
    std::u32string text;
    CHECK(read_utf8("a\xC3", partial, text));
    CHECK(text == U"a");
    CHECK(partial.missing == 1);
    CHECK(partial.first() == 0xC0);
    CHECK(partial.last() == 0xFF);
    CHECK(read_utf8("\xA9z", partial, text));
    CHECK(text == U"a\u00E9z");
    CHECK(partial.missing == 0);
    CHECK(read_utf8("\xF0\x9F\x97\xA1", partial, text));
    CHECK(text.back() == U'\U0001F5E1');
}

TEST_CASE("an incomplete character cannot become an overlong one") {
    PartialCharacter partial;
    std::u32string text;
    REQUIRE(read_utf8("\xE0", partial, text));
    CHECK(partial.first() == 0x800);
    partial = {};
    REQUIRE(read_utf8("\xF0", partial, text));
    CHECK(partial.first() == 0x10000);
}

TEST_CASE("ill-formed UTF-8 is rejected") {
    for (const char* bytes : {"\x80", "\xC0", "\xC1", "\xFF", "a\xC3z", "\xE0\xA4z"}) {
        PartialCharacter partial;
        std::u32string text;
        CHECK_FALSE(read_utf8(bytes, partial, text));
    }
}

TEST_CASE("tokens are sorted, with the length of their common prefix") {
    const std::vector<std::string> spelled = {
        "b", "abc", "", "ab", "\x80", std::string("a\0", 2), "abd", "\xC3"
    };
    const TokenTexts texts(static_cast<std::int32_t>(spelled.size()), [&](std::int32_t token) {
        return spelled[static_cast<std::size_t>(token)];
    });
    std::vector<std::int32_t> order;
    std::vector<int> shared;
    for (const auto& token : texts.tokens()) {
        order.push_back(token.token);
        shared.push_back(token.shared);
    }
    CHECK(order == std::vector<std::int32_t>{7, 3, 1, 6, 0});
    CHECK(shared == std::vector<int>{0, 0, 2, 2, 0});
    CHECK(texts.tokens().front().partial.missing == 1);
    CHECK(texts.longest() == 3);
    const std::vector<std::int32_t> irregular(texts.irregular().begin(), texts.irregular().end());
    CHECK(irregular == std::vector<std::int32_t>{2, 4, 5});
}

TEST_CASE("the memory of the texts is known before they are built") {
    const auto text_of = [](std::int32_t token) {
        return token % 7 == 0 ? std::string("\xFF") : "token " + std::to_string(token);
    };
    const TokenTexts texts(100, text_of);
    std::size_t characters = 0;
    for (const auto& token : texts.tokens()) {
        characters += token.length;
    }
    CHECK(texts.irregular().size() == 15);
    CHECK(
        TokenTexts::bytes_of(100, text_of) ==
        texts.tokens().size_bytes() + characters * sizeof(char32_t) + texts.irregular().size_bytes()
    );
    CHECK(TokenTexts::bytes_of(0, text_of) == 0);
}
