// What a request may say, and what it is told when it says something else.
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "base/error.hpp"
#include "core/codec.hpp"
#include "text/json_reader.hpp"
#include "text/utf8_stream.hpp"

namespace {

struct Refusal {
    sotto_status status = SOTTO_OK;
    std::string why;
};

Refusal read(std::string_view body, sotto_op op = SOTTO_OP_CHAT) {
    try {
        sotto::read_request(op, body);
        return {};
    } catch (const sotto::Error& error) {
        return {error.status(), error.what()};
    } catch (const std::exception& error) {
        return {SOTTO_ERROR_INTERNAL, error.what()};
    }
}

// A body that is good but for what `more` says.
std::string chat(const std::string& more) {
    return R"({"model": "m", "messages": [{"role": "user", "content": "hi"}], )" + more + "}";
}

std::string text(const std::string& more) {
    return R"({"model": "m", "prompt": "hi", )" + more + "}";
}

std::string message(const std::string& fields) {
    return R"({"model": "m", "messages": [{"role": "system", "content": "be kind"}, )" + fields + "]}";
}

std::string one_line(const Refusal& refusal) {
    const bool fits = sotto::is_utf8(refusal.why) && refusal.why.find('\n') == std::string::npos &&
                      refusal.why.size() < 512;
    return fits ? "" : "not one short line of UTF-8: " + refusal.why;
}

struct Bad {
    std::string body;
    std::string why;
    sotto_status status = SOTTO_ERROR_ARGUMENT;
    sotto_op op = SOTTO_OP_CHAT;
};

void check_all(const std::vector<Bad>& all) {
    for (const auto& bad : all) {
        CAPTURE(bad.body);
        const auto refusal = read(bad.body, bad.op);
        CHECK(refusal.status == bad.status);
        CHECK(refusal.why == bad.why);
        CHECK(one_line(refusal) == "");
    }
}

} // namespace

TEST_CASE("a body that is no JSON object says so") {
    check_all({
        {"[]", "the request is an empty array; it must be a JSON object"},
        {"[1]", "the request is a JSON array; it must be a JSON object"},
        {"3", "the request is 3; it must be a JSON object"},
        {"\"model\"", "the request is \"model\"; it must be a JSON object"},
        {"null", "the request is null; it must be a JSON object"},
    });
    for (const char* body : {"", "{", "{\"model\": }", "{\"model\": \"m\"} x", "nonsense"}) {
        const auto refusal = read(body);
        CHECK(refusal.status == SOTTO_ERROR_ARGUMENT);
        CHECK(refusal.why.rfind("the request is not JSON: parse error at line 1, column", 0) == 0);
        CHECK(one_line(refusal) == "");
    }
}

TEST_CASE("what is wrong with the JSON is told in one short line of UTF-8") {
    const std::string long_text(100'000, 'x');
    const std::vector<std::string> bodies = {
        "{\"model\": \"\xFF\"}",
        "{\"model\": \"\xE2\x82",
        "{\"model\": \"" + long_text,
        "{\"mo\ndel\": \"a\nb\"}",
        std::string("{\"a\": \"\0\"}", 10),
        "{\"a\": \"\xC0\x80" + long_text + "\"}",
        "{\"a\": " + std::string(100'000, '1') + "}",
    };
    for (const auto& body : bodies) {
        const auto refusal = read(body);
        CHECK(refusal.status == SOTTO_ERROR_ARGUMENT);
        CHECK(one_line(refusal) == "");
    }
}

TEST_CASE("a number that no double holds is the request's fault") {
    const auto refusal = read(chat(R"("temperature": 1e999)"));
    CHECK(refusal.status == SOTTO_ERROR_ARGUMENT);
    CHECK(refusal.why.rfind("the request is not JSON: number overflow", 0) == 0);
    CHECK(one_line(refusal) == "");
}

TEST_CASE("JSON of any depth is read without a deep stack") {
    for (const std::string field :
         {"stop", "messages", "response_format", "tools", "logit_bias", "seed", "model"}) {
        const std::string deep = std::string(200'000, '[') + std::string(200'000, ']');
        std::string objects;
        for (int i = 0; i < 100'000; ++i) {
            objects += "{\"type\":";
        }
        objects += "1" + std::string(100'000, '}');
        CHECK(read(chat("\"" + field + "\": " + deep)).status < 0);
        CHECK(read(chat("\"" + field + "\": " + objects)).status < 0);
    }
}

TEST_CASE("each field that is missing or bad is named, with its value and what it must be") {
    const char* content = "a string or an array of text parts";
    const char* role = "system, developer, user, assistant or tool";
    check_all({
        {"{}", "model is missing; it must be the id of a loaded model"},
        {R"({"model": null})", "model is missing; it must be the id of a loaded model"},
        {R"({"model": ""})", "model is \"\"; it must be the id of a loaded model"},
        {R"({"model": 3})", "model is 3; it must be the id of a loaded model"},
        {R"({"model": "m"})", "messages is missing; it must be an array of messages"},
        {R"({"model": "m", "messages": []})",
         "messages is an empty array; it must be an array with at least one message"},
        {R"({"model": "m", "messages": "hi"})",
         "messages is \"hi\"; it must be an array with at least one message"},
        {message("3"), "messages[1] is 3; it must be a JSON object"},
        {message(R"({"content": "hi"})"), std::string("messages[1].role is missing; it must be ") + role},
        {message(R"({"role": "king", "content": "hi"})"),
         std::string("messages[1].role is \"king\"; it must be ") + role},
        {message(R"({"role": 1, "content": "hi"})"),
         std::string("messages[1].role is 1; it must be ") + role},
        {message(R"({"role": "user"})"),
         std::string("messages[1].content is missing; it must be ") + content},
        {message(R"({"role": "user", "content": []})"),
         std::string("messages[1].content is an empty array; it must be ") + content},
        {message(R"({"role": "user", "content": ["hi"]})"),
         "messages[1].content[0] is \"hi\"; it must be a JSON object"},
        {message(R"({"role": "user", "content": [{"text": "hi"}]})"),
         "messages[1].content[0].type is missing; it must be \"text\""},
        {message(R"({"role": "user", "content": [{"type": "image_url"}]})"),
         "messages[1].content[0].type is \"image_url\"; only \"text\" is read",
         SOTTO_ERROR_UNSUPPORTED},
        {message(R"({"role": "user", "content": [{"type": "text"}]})"),
         "messages[1].content[0].text is missing; it must be a string"},
        {message(R"({"role": "user", "content": [{"type": "text", "text": 1}]})"),
         "messages[1].content[0].text is 1; it must be a string"},
        {R"({"model": "m"})", "prompt is missing; it must be a string", SOTTO_ERROR_ARGUMENT, SOTTO_OP_TEXT},
        {R"({"model": "m", "prompt": ["a"]})",
         "prompt is a JSON array; it must be a string that is not empty",
         SOTTO_ERROR_ARGUMENT,
         SOTTO_OP_TEXT},
        {R"({"model": "m", "prompt": ""})",
         "prompt is \"\"; it must be a string that is not empty",
         SOTTO_ERROR_ARGUMENT,
         SOTTO_OP_TEXT},
    });
}

TEST_CASE("each number has its range, and a bad one is told it") {
    check_all({
        {chat(R"("temperature": -0.5)"), "temperature is -0.5; it must be a number from 0.0 to 100.0"},
        {chat(R"("temperature": "warm")"), "temperature is \"warm\"; it must be a number from 0.0 to 100.0"},
        {chat(R"("temperature": 100.5)"), "temperature is 100.5; it must be a number from 0.0 to 100.0"},
        {chat(R"("top_p": 1.5)"), "top_p is 1.5; it must be a number from 0.0 to 1.0"},
        {chat(R"("min_p": -1)"), "min_p is -1; it must be a number from 0.0 to 1.0"},
        {chat(R"("top_k": 1.5)"), "top_k is 1.5; it must be an integer from 0 to 2147483647"},
        {chat(R"("top_k": 99999999999)"), "top_k is 99999999999; it must be an integer from 0 to 2147483647"},
        {chat(R"("top_k": 18446744073709551615)"),
         "top_k is 18446744073709551615; it must be an integer from 0 to 2147483647"},
        {chat(R"("seed": -2)"), "seed is -2; it must be an integer from -1 to 4294967295"},
        {chat(R"("max_tokens": 0)"), "max_tokens is 0; it must be an integer from 1 to 2147483647"},
        {chat(R"("max_completion_tokens": true)"),
         "max_completion_tokens is true; it must be an integer from 1 to 2147483647"},
        {chat(R"("n": 0)"), "n is 0; it must be an integer from 1 to 128"},
        {chat(R"("stream": 1)"), "stream is 1; it must be true or false"},
        {chat(R"("stream_options": true)"), "stream_options is true; it must be a JSON object"},
        {chat(R"("stream_options": {"include_usage": "yes"})"),
         "stream_options.include_usage is \"yes\"; it must be true or false"},
        {chat(R"("stop": 3)"), "stop is 3; it must be strings of 1 to 1024 bytes"},
        {chat(R"("stop": ["a", ""])"), "stop is \"\"; it must be strings of 1 to 1024 bytes"},
        {chat(R"("stop": ["1","2","3","4","5","6","7","8","9","10","11","12","13","14","15","16","17"])"),
         "stop is a JSON array; it must be at most 16 strings"},
        {chat("\"stop\": \"" + std::string(1025, 'x') + "\""),
         "stop is \"" + std::string(39, 'x') + "...; it must be strings of 1 to 1024 bytes"},
    });
}

TEST_CASE("what is not supported yet is refused, not passed over in silence") {
    const auto refused = [](const std::string& key, const std::string& value) {
        const auto refusal = read(chat("\"" + key + "\": " + value));
        CAPTURE(key);
        CHECK(refusal.status == SOTTO_ERROR_UNSUPPORTED);
        CHECK(refusal.why == key + " is not supported yet; leave it out");
    };
    refused("n", "2");
    refused("response_format", R"({"type": "json_object"})");
    refused("tools", R"([{"type": "function"}])");
    refused("logprobs", "true");
    refused("grammar", "\"root ::= x\"");
    refused("json_schema", R"({"type": "object"})");
    refused("logit_bias", R"({"1": 2})");
    refused("suffix", "\"end\"");
    refused("echo", "true");
}

TEST_CASE("what asks for nothing special is taken") {
    for (const char* more :
         {R"("n": 1)",
          R"("response_format": {"type": "text"})",
          R"("tools": [])",
          R"("logprobs": false)",
          R"("grammar": null)",
          R"("logit_bias": {})",
          R"("echo": false)",
          R"("stop": null)",
          R"("stop": [])",
          R"("temperature": 0)",
          R"("top_p": 1)",
          R"("seed": -1)",
          R"("stream": true)",
          R"("user": "somebody")",
          R"("unheard_of": {"a": 1})",
          R"("max_tokens": null)"}) {
        CAPTURE(more);
        CHECK(read(chat(more)).why == "");
        CHECK(read(text(more), SOTTO_OP_TEXT).why == "");
    }
}

TEST_CASE("a request says all that the engine must know") {
    const auto asked = sotto::read_request(
        SOTTO_OP_CHAT,
        chat(R"("stop": ["a", "b"], "max_tokens": 7, "stream_options": {"include_usage": true})")
    );
    CHECK(asked.model == "m");
    CHECK(asked.stops == std::vector<std::string>{"a", "b"});
    CHECK(asked.max_tokens == 7);
    CHECK(asked.include_usage);
    const auto plain =
        sotto::read_request(SOTTO_OP_TEXT, R"({"model": "x/y", "prompt": "p", "stop": "end"})");
    CHECK(plain.model == "x/y");
    CHECK(plain.stops == std::vector<std::string>{"end"});
    CHECK(plain.max_tokens == UINT32_MAX);
    CHECK_FALSE(plain.include_usage);
    const auto both =
        sotto::read_request(SOTTO_OP_CHAT, chat(R"("max_tokens": 7, "max_completion_tokens": 9)"));
    CHECK(both.max_tokens == 9);
}

TEST_CASE("every role and kind of content that OpenAI has for text is taken") {
    for (const char* role : {"system", "developer", "user", "assistant", "tool"}) {
        CHECK(read(message("{\"role\": \"" + std::string(role) + "\", \"content\": \"hi\"}")).why == "");
    }
    CHECK(
        read(
            message(
                R"({"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": ""}]})"
            )
        )
            .why == ""
    );
}
