// Stop sequences in streamed text.
#include "text/stop_matcher.hpp"

#include <algorithm>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

namespace {

struct AnswerIncrement {
    std::string text;
    bool stopped = false;
};

// Reference: the stop sequence that completes first ends the text; of two that end together, the longer one.
AnswerIncrement search(const std::string& text, const std::vector<std::string>& stops) {
    for (std::size_t end = 1; end <= text.size(); ++end) {
        std::size_t longest = 0;
        for (const auto& stop : stops) {
            if (end >= stop.size() && text.compare(end - stop.size(), stop.size(), stop) == 0) {
                longest = std::max(longest, stop.size());
            }
        }
        if (longest > 0) {
            return {text.substr(0, end - longest), true};
        }
    }
    return {text, false};
}

std::string random_text(std::mt19937_64& random, std::size_t most) {
    std::string text;
    for (auto length = random() % (most + 1); length > 0; --length) {
        text += "ab"[random() % 2];
    }
    return text;
}

} // namespace

TEST_CASE("a stop sequence across several tokens is never output") {
    sotto::StopMatcher matcher({"\nUser:"});
    std::string out;
    CHECK_FALSE(matcher.feed("Hello.", out));
    CHECK_FALSE(matcher.feed("\n", out));
    CHECK(out == "Hello.");
    CHECK_FALSE(matcher.feed("Us", out));
    CHECK_FALSE(matcher.feed("er", out));
    CHECK(out == "Hello.");
    CHECK(matcher.feed(": hi", out));
    CHECK(out == "Hello.");
    matcher.finish(out);
    CHECK(out == "Hello.");
}

TEST_CASE("text that only resembled a stop sequence is output once that is known") {
    sotto::StopMatcher matcher({"STOP"});
    std::string out;
    CHECK_FALSE(matcher.feed("a ST", out));
    CHECK(out == "a ");
    CHECK_FALSE(matcher.feed("EP", out));
    CHECK(out == "a STEP");
    CHECK_FALSE(matcher.feed(" STO", out));
    CHECK(out == "a STEP ");
    matcher.finish(out);
    CHECK(out == "a STEP STO");
}

TEST_CASE("without stop sequences nothing is held back") {
    sotto::StopMatcher matcher({});
    std::string out;
    CHECK_FALSE(matcher.feed("abc", out));
    CHECK(out == "abc");
    matcher.finish(out);
    CHECK(out == "abc");
}

TEST_CASE("the stop sequence that completes first ends the text, however it is split") {
    for (const std::vector<std::string>& pieces :
         std::vector<std::vector<std::string>>{{"abcd"}, {"a", "b", "c", "d"}, {"abc", "d"}, {"ab", "cd"}}) {
        sotto::StopMatcher matcher({"abcd", "bc"});
        std::string out;
        bool stopped = false;
        for (const auto& piece : pieces) {
            stopped = stopped || matcher.feed(piece, out);
        }
        CHECK(stopped);
        CHECK(out == "a");
    }
}

TEST_CASE("pieces of any size give the result of searching the whole text") {
    std::mt19937_64 random(1);
    for (int round = 0; round < 50'000; ++round) {
        std::vector<std::string> stops;
        for (auto left = random() % 4; left > 0; --left) {
            stops.push_back(random_text(random, 5) + "ab"[random() % 2]);
        }
        const auto text = random_text(random, 24);
        sotto::StopMatcher matcher(stops);
        AnswerIncrement heard;
        for (std::size_t at = 0; at < text.size() && !heard.stopped;) {
            const auto length = std::min<std::size_t>(1 + random() % 4, text.size() - at);
            heard.stopped = matcher.feed(std::string_view(text).substr(at, length), heard.text);
            at += length;
        }
        if (!heard.stopped) {
            matcher.finish(heard.text);
        }
        const auto wanted = search(text, stops);
        REQUIRE(heard.stopped == wanted.stopped);
        REQUIRE(heard.text == wanted.text);
    }
}

TEST_CASE("no more text is held back than may become a stop sequence") {
    std::mt19937_64 random(2);
    for (int round = 0; round < 5'000; ++round) {
        const std::string stop = random_text(random, 6) + "c";
        const auto text = random_text(random, 24);
        sotto::StopMatcher matcher({stop});
        std::string out;
        matcher.feed(text, out);
        const auto held = text.substr(out.size());
        REQUIRE(stop.compare(0, held.size(), held) == 0);
    }
}
