// UTF-8 decoding of bytes in arbitrary pieces.
#include "text/utf8_stream.hpp"
#include "json/utf8_cut.hpp"

#include <algorithm>
#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

namespace {

const std::string kMark = "\xEF\xBF\xBD";

std::string marks(int times) {
    std::string text;
    for (int i = 0; i < times; ++i) {
        text += kMark;
    }
    return text;
}

std::string whole(std::string_view bytes) {
    sotto::Utf8Stream stream;
    std::string out;
    stream.feed(bytes, out);
    stream.finish(out);
    return out;
}

std::string encode(std::uint32_t point) {
    const auto byte = [](std::uint32_t value) { return static_cast<char>(value); };
    if (point < 0x80) {
        return {byte(point)};
    }
    if (point < 0x800) {
        return {byte(0xC0 | point >> 6), byte(0x80 | (point & 0x3F))};
    }
    if (point < 0x10000) {
        return {byte(0xE0 | point >> 12), byte(0x80 | (point >> 6 & 0x3F)), byte(0x80 | (point & 0x3F))};
    }
    return {
        byte(0xF0 | point >> 18),
        byte(0x80 | (point >> 12 & 0x3F)),
        byte(0x80 | (point >> 6 & 0x3F)),
        byte(0x80 | (point & 0x3F)),
    };
}

// Reference implementation by brute force: knows all code points and all their prefixes.
class Reference {
public:
    Reference() {
        for (std::uint32_t point = 0; point <= 0x10FFFF; ++point) {
            const bool last_byte_only = point % 64 != 0; // the prefixes of the others are known already
            if ((point < 0xD800 || point > 0xDFFF) && !last_byte_only) {
                const auto bytes = encode(point);
                for (std::size_t length = 1; length < bytes.size(); ++length) {
                    beginnings_.insert(bytes.substr(0, length));
                }
            }
        }
    }

    std::string read(std::string_view bytes) const {
        std::string out;
        while (!bytes.empty()) {
            const auto length = character(bytes);
            out += length > 0 ? bytes.substr(0, length) : kMark;
            bytes.remove_prefix(length > 0 ? length : longest_beginning(bytes));
        }
        return out;
    }

private:
    static std::size_t character(std::string_view bytes) {
        for (std::size_t length = 1; length <= 4 && length <= bytes.size(); ++length) {
            if (good(bytes, length)) {
                return length;
            }
        }
        return 0;
    }

    static bool good(std::string_view bytes, std::size_t length) {
        const auto at = [&](std::size_t i) { return static_cast<std::uint8_t>(bytes[i]); };
        std::uint32_t point = length == 1 ? at(0) : at(0) & (0xFFU >> (length + 1));
        for (std::size_t i = 1; i < length; ++i) {
            point = point << 6 | (at(i) & 0x3F);
        }
        const bool scalar = point <= 0x10FFFF && (point < 0xD800 || point > 0xDFFF);
        return scalar && encode(point) == bytes.substr(0, length);
    }

    std::size_t longest_beginning(std::string_view bytes) const {
        std::size_t length = 1; // a byte that starts no character is replaced alone
        while (length < 3 && length < bytes.size() &&
               beginnings_.count(std::string(bytes.substr(0, length + 1)))) {
            ++length;
        }
        return length;
    }

    std::set<std::string> beginnings_;
};

const Reference& reference() {
    static const Reference made;
    return made;
}

// Random difficult input: characters, truncated characters, and bytes at the boundaries of the tables.
std::string hard_bytes(std::mt19937_64& random) {
    static const std::vector<std::string> kPieces = {
        "a",
        "\xC3\xA9",
        "\xE2\x82\xAC",
        "\xF0\x9F\x98\x80",
        "\xC0",
        "\xC1",
        "\xC2",
        "\xDF",
        "\xE0",
        "\xE0\x9F",
        "\xE0\xA0",
        "\xED\x9F",
        "\xED\xA0\x80",
        "\xEF\xBF",
        "\xF0\x8F",
        "\xF0\x90",
        "\xF0\x90\x80",
        "\xF4\x8F\xBF",
        "\xF4\x90",
        "\xF5",
        "\xFF",
        "\x80",
        "\xBF",
        std::string(1, '\0'),
    };
    std::string bytes;
    for (auto pieces = random() % 8; pieces > 0; --pieces) {
        bytes += random() % 4 == 0 ? std::string(1, static_cast<char>(random()))
                                   : kPieces[random() % kPieces.size()];
    }
    return bytes;
}

} // namespace

TEST_CASE("all of Unicode passes unchanged, byte by byte") {
    sotto::Utf8Stream stream;
    int wrong = 0;
    for (std::uint32_t point = 0; point <= 0x10FFFF; ++point) {
        if (point >= 0xD800 && point <= 0xDFFF) {
            continue;
        }
        const auto bytes = encode(point);
        std::string out;
        for (std::size_t i = 0; i < bytes.size(); ++i) {
            stream.feed({&bytes[i], 1}, out);
            wrong += out.empty() != (i + 1 < bytes.size());
        }
        wrong += out != bytes;
    }
    CHECK(wrong == 0);
}

TEST_CASE(
    "one U+FFFD replaces each maximal ill-formed subpart"
) { // examples of the Unicode standard, tables 3-8 to 3-11
    CHECK(
        whole(
            "\xC0\xAF\xE0\x80\xBF\xF0\x81\x82"
            "A"
        ) == marks(8) + "A"
    ); // overlong
    CHECK(
        whole(
            "\xED\xA0\x80\xED\xBF\xBF\xED\xAF"
            "A"
        ) == marks(8) + "A"
    ); // surrogates
    CHECK(
        whole(
            "\xF4\x91\x92\x93\xFF"
            "A\x80\xBF"
            "B"
        ) == marks(5) + "A" + marks(2) + "B"
    ); // beyond U+10FFFF
    CHECK(
        whole(
            "\xE1\x80\xE2\xF0\x91\x92\xF1\xBF"
            "A"
        ) == marks(4) + "A"
    ); // truncated
    CHECK(whole("\xF0\x9F\x98") == marks(1));
    CHECK(whole("\xE2\x82") == marks(1));
    CHECK(whole("").empty());
}

TEST_CASE("an incomplete character at the end is ill-formed, and the next text starts anew") {
    sotto::Utf8Stream stream;
    std::string out;
    stream.feed("\xE2\x82", out);
    CHECK(out.empty());
    stream.finish(out);
    CHECK(out == kMark);
    stream.finish(out);
    CHECK(out == kMark);
    stream.feed("ok", out);
    CHECK(out == kMark + "ok");
}

TEST_CASE("any split of any bytes gives the same result as the whole") {
    std::mt19937_64 random(1);
    for (int round = 0; round < 20'000; ++round) {
        const auto bytes = hard_bytes(random);
        sotto::Utf8Stream stream;
        std::string out;
        for (std::size_t at = 0; at < bytes.size();) {
            const auto length = std::min<std::size_t>(1 + random() % 5, bytes.size() - at);
            stream.feed(std::string_view(bytes).substr(at, length), out);
            REQUIRE(sotto::is_utf8(out));
            at += length;
        }
        stream.finish(out);
        REQUIRE(out == whole(bytes));
        REQUIRE(sotto::is_utf8(bytes) == (out == bytes));
    }
}

TEST_CASE("replacement follows the examples of the standard") {
    std::mt19937_64 random(2);
    for (int round = 0; round < 20'000; ++round) {
        const auto bytes = hard_bytes(random);
        REQUIRE(whole(bytes) == reference().read(bytes));
    }
}

TEST_CASE("text is truncated between characters") {
    const std::string text = "a\u00E9\u20AC\U0001F600"; // 1, 2, 3 and 4 bytes
    const std::size_t ends[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 10};
    for (std::size_t most = 0; most < std::size(ends); ++most) {
        CHECK(sotto::utf8_cut(text, most) == std::string_view(text).substr(0, ends[most]));
    }
    CHECK(sotto::utf8_shortened(text, 2) == "a...");
    CHECK(sotto::utf8_shortened(text, 10) == text);
    CHECK(sotto::utf8_cut("\x80\x80\x80", 2).empty());
}
