// The parts of the proxy module: events, chunks, answers, options.
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "backends/proxy/answer_parser.hpp"
#include "backends/proxy/chunk_reader.hpp"
#include "backends/proxy/event_lines.hpp"
#include "backends/proxy/options.hpp"
#include "backends/proxy/refusal.hpp"
#include "backends/proxy/text.hpp"

using namespace sotto::proxy;

namespace {

// The events of `text`, fed in pieces of `size` bytes.
std::vector<std::string> events_of(std::string_view text, std::size_t size) {
    EventLines lines;
    std::vector<std::string> events;
    std::string data;
    for (std::size_t at = 0; at < text.size(); at += size) {
        lines.feed(text.substr(at, size));
        while (lines.next(data)) {
            events.push_back(data);
        }
    }
    lines.finish();
    while (lines.next(data)) {
        events.push_back(data);
    }
    return events;
}

std::string refusal_of(std::string_view options) {
    try {
        read_options(options);
    } catch (const sotto::Error& error) {
        return error.what();
    }
    return "";
}

} // namespace

TEST_CASE("events are the same however they arrive") {
    const std::string text = "data: a\ndata: b\r\n\r\n: ping\rdata:c\r\revent: x\n\ndata:  d\n";
    const std::vector<std::string> expected = {"a\nb", "c", " d"};
    for (std::size_t size = 1; size <= text.size(); ++size) {
        CHECK(events_of(text, size) == expected);
    }
}

TEST_CASE("an endless event is refused before it takes memory") {
    EventLines lines;
    std::string data;
    const std::string part(1 << 16, 'x');
    const auto feed = [&] {
        lines.feed("data: ");
        for (int i = 0; i < 32; ++i) {
            lines.feed(part);
            static_cast<void>(lines.next(data));
        }
    };
    CHECK_THROWS_AS(feed(), sotto::Error);
}

TEST_CASE("chunks become parts, of which each log probability is one") {
    ChunkReader reader(true);
    std::vector<Piece> pieces;
    reader.feed(
        "data: {\"choices\":[{\"delta\":{\"reasoning_content\":\"hm\"}}]}\n\n"
        "data: {\"choices\":[{\"delta\":{\"content\":\"a b\"},\"logprobs\":{\"content\":"
        "[{\"token\":\"a\",\"logprob\":-1},{\"token\":\" b\",\"logprob\":-2}]}}]}\n\n"
        "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"content_filter\"}],"
        "\"usage\":{\"prompt_tokens\":4,\"completion_tokens\":2,\"prompt_tokens_details\":{\"cached_tokens\":"
        "1}}}\n\n",
        pieces
    );
    REQUIRE(pieces.size() == 3);
    CHECK(pieces[0].text == "\x03hm");
    CHECK(
        pieces[1].text == "\x02"
                          "a"
    );
    CHECK(pieces[2].text == " b");
    CHECK(pieces[2].logprobs.find("-2") != std::string::npos);
    reader.finish(pieces);
    CHECK(reader.end().finish == SOTTO_FINISH_CONTENT_FILTER);
    CHECK(reader.end().prompt_tokens == 4);
    CHECK(reader.end().cached_tokens == 1);
    CHECK(reader.end().completion_tokens == 2);
}

TEST_CASE("a server cannot forge the marks of the raw text") {
    ChunkReader reader(true);
    std::vector<Piece> pieces;
    reader.feed("data: {\"choices\":[{\"delta\":{\"content\":\"a\\u0004b\\u0003c\"}}]}\n\n", pieces);
    REQUIRE(pieces.size() == 1);
    CHECK(pieces[0].text == "abc");
}

TEST_CASE("raw text is parsed into what is new") {
    AnswerParser parser;
    parser.add_calls(R"([{"index":0,"id":"c"}])");
    std::string text = "one";
    CHECK(parser.parse(text) == R"([{"content":"one"}])");
    CHECK(parser.parse(text) == "[]");
    text += "\x03thinks\x02two\x04\x04";
    CHECK(
        parser.parse(text) == R"([{"reasoning_content":"thinks"},{"content":"two"},)"
                              R"({"tool_calls":[{"index":0,"id":"c"}]}])"
    );
    CHECK(parser.parse("") == "[]"); // guardrails removed the text
}

TEST_CASE("addresses are split, and secrets never repeated") {
    const auto options = read_options(
        R"({"base_url": "HTTP://[::1]:80/v1//", "api_key": "sk-12345", "headers": {"X-A": "hidden"}})"
    );
    CHECK(options.url.host == "::1");
    CHECK(options.url.server() == "[::1]");
    CHECK(options.url.path == "/v1");
    CHECK(options.url.is_loopback());
    CHECK(options.redact("sk-12345 is hidden, sk-12345") == "*** is ***, ***");
    CHECK(refusal_of(R"({"base_url": "http://a", "api_key": "sk 1"})").find("sk 1") == std::string::npos);
    CHECK(refusal_of(R"({"base_url": "http://me:pw@a"})").find("pw") == std::string::npos);
    CHECK(refusal_of("[").find("expected a JSON object") != std::string::npos);
    CHECK(refusal_of(std::string(100'000, '[')).find("expected a JSON object") != std::string::npos);
}

TEST_CASE("waits before repetitions grow, and keep to Retry-After within a minute") {
    for (std::uint32_t attempt = 1; attempt <= 40; ++attempt) {
        const auto wait = wait_before(attempt, "");
        CHECK(wait > 0);
        CHECK(wait <= 8'000);
    }
    CHECK(wait_before(1, "3") == 3'000);
    CHECK(wait_before(1, "61") < 0);
    CHECK(wait_before(1, "99999999999999999999") > 0); // not a number: as if there were none
    CHECK(wait_before(1, "soon") > 0);
}

TEST_CASE("errors are one line of text") {
    CHECK(one_line("a\r\nb\x01 c\xff") == "a  b  c\xEF\xBF\xBD");
    CHECK(one_line(std::string(1'000, 'x'), 10).size() == 10);
    CHECK(try_parse("{\"a\": \"]]]]\"}").is_object());
}
