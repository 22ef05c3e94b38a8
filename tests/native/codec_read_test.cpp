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
    const char* content = "a string or an array of parts";
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
         "messages[1].content[0].type is missing; it must be \"text\", \"image_url\" or \"input_audio\""},
        {message(R"({"role": "user", "content": [{"type": "video"}]})"),
         "messages[1].content[0].type is \"video\"; what is read is \"text\", \"image_url\" and "
         "\"input_audio\"",
         SOTTO_ERROR_UNSUPPORTED},
        {message(R"({"role": "user", "content": [{"type": "image_url"}]})"),
         "messages[1].content[0].image_url is missing; it must be a JSON object"},
        {message(
             R"({"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://a.b/c.png"}}]})"
         ),
         "messages[1].content[0].image_url.url is \"https://a.b/c.png\"; it must be a data URL (Sotto "
         "fetches "
         "nothing)"},
        {message(
             R"({"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": "", "format": "ogg"}}]})"
         ),
         "messages[1].content[0].input_audio.format is \"ogg\"; it must be \"wav\", \"mp3\" or \"flac\""},
        {message(R"({"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": 1}}]})"),
         "messages[1].content[0].input_audio.data is 1; it must be a string"},
        {message(R"({"role": "user", "content": [{"type": "text"}]})"),
         "messages[1].content[0].text is missing; it must be a string"},
        {message(R"({"role": "user", "content": [{"type": "text", "text": 1}]})"),
         "messages[1].content[0].text is 1; it must be a string"},
        {R"({"model": "m"})",
         "prompt is missing; it must be a string",
         SOTTO_ERROR_ARGUMENT,
         SOTTO_OP_COMPLETION},
        {R"({"model": "m", "prompt": ["a"]})",
         "prompt[0] is \"a\"; it must be a token's number",
         SOTTO_ERROR_ARGUMENT,
         SOTTO_OP_COMPLETION},
        {R"({"model": "m", "prompt": ""})",
         "prompt is \"\"; it must be a string that is not empty",
         SOTTO_ERROR_ARGUMENT,
         SOTTO_OP_COMPLETION},
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

TEST_CASE("wishes for sampling are held to their ranges") {
    check_all({
        {chat(R"("typical_p": 2)"), "typical_p is 2; it must be a number from 0.0 to 1.0"},
        {chat(R"("repeat_penalty": 0)"), "repeat_penalty is 0; it must be a number from 0.01 to 10.0"},
        {chat(R"("mirostat": 3)"), "mirostat is 3; it must be an integer from 0 to 2"},
        {chat(R"("n_probs": 21)"), "n_probs is 21; it must be an integer from 0 to 20"},
        {chat(R"("dry_sequence_breakers": [""])"),
         "dry_sequence_breakers is \"\"; it must be an array of 1 to 16 strings of 1 to 40 bytes"},
        {chat(R"("logit_bias": 3)"),
         "logit_bias is 3; it must be an object from tokens to numbers from -100 to 100, or an array of "
         "[token, number] pairs"},
        {chat(R"("logit_bias": {"5": 101})"),
         "logit_bias[\"5\"] is 101; it must be a number from -100 to 100, or false"},
        {chat(R"("logit_bias": {"a\nb": "c"})"), // any text, on one line
         "logit_bias[\"a\\nb\"] is \"c\"; it must be a number from -100 to 100, or false"},
        {chat(R"("logit_bias": [[5]])"),
         "logit_bias[0] is a JSON array; it must be [token, number from -100 to 100]"},
        {chat(R"("samplers": [1])"),
         "samplers is 1; it must be an array of 1 to 32 strings of 1 to 40 bytes"},
        {chat(R"("ignore_eos": 1)"), "ignore_eos is 1; it must be true or false"},
        {chat(R"("top_logprobs": 2)"), "top_logprobs is there; logprobs must be true then"},
        {chat(R"("context_overflow": "drop")"),
         "context_overflow is \"drop\"; it must be one of \"truncate\", \"shift\", \"error\""},
        {text(R"("logprobs": true)"),
         "logprobs is true; it must be an integer from 0 to 20",
         SOTTO_ERROR_ARGUMENT,
         SOTTO_OP_COMPLETION},
    });
}

TEST_CASE("what says the form of an answer is read by its path") {
    check_all({
        {chat(R"("response_format": "json")"), "response_format is \"json\"; it must be a JSON object"},
        {chat(R"("response_format": {})"),
         "response_format.type is missing; it must be \"text\", \"json_object\" or \"json_schema\""},
        {chat(R"("response_format": {"type": "xml"})"),
         "response_format.type is \"xml\"; it must be \"text\", \"json_object\" or \"json_schema\""},
        {chat(R"("response_format": {"type": "json_schema"})"),
         "response_format.json_schema is missing; it must be a JSON object with \"schema\""},
        {chat(R"("response_format": {"type": "json_schema", "json_schema": {}})"),
         "response_format.json_schema.schema is missing; it must be a JSON schema"},
        {chat(R"("response_format": {"type": "json_object"}, "grammar": "root ::= \"a\"")"),
         "response_format and grammar each say what form the answer has; leave out one of them"},
        {chat(R"("grammar": 1)"), "grammar is 1; it must be a string of at most 262144 bytes"},
    });
}

TEST_CASE("tools and their calls are read by their paths") {
    const char* name = "1 to 64 letters, digits, \"_\" or \"-\"";
    const auto tool = [](const std::string& function) {
        return chat(R"("tools": [{"type": "function", "function": )" + function + "}]");
    };
    check_all({
        {chat(R"("tools": 1)"), "tools is 1; it must be an array of at most 128 tools"},
        {chat(R"("tools": [{"type": "function"}])"),
         "tools[0].function is missing; it must be a JSON object"},
        {chat(R"("tools": [{"type": "shell"}])"), "tools[0].type is \"shell\"; it must be \"function\""},
        {tool("{}"), std::string("tools[0].function.name is missing; it must be ") + name},
        {tool(R"({"name": "open door"})"),
         std::string("tools[0].function.name is \"open door\"; it must be ") + name},
        {tool(R"({"name": "<|im_end|>"})"),
         std::string("tools[0].function.name is \"<|im_end|>\"; it must be ") + name},
        {tool(R"({"name": "a", "parameters": []})"),
         "tools[0].function.parameters is an empty array; it must be a JSON object"},
        {chat(
             R"("tools": [{"type": "function", "function": {"name": "a"}},)"
             R"({"type": "function", "function": {"name": "a"}}])"
         ),
         "tools[1] is the second tool called \"a\""},
        {chat(R"("tool_choice": "required")"),
         "tool_choice is \"required\"; it must be \"auto\" or \"none\" where there are no tools"},
        {chat(R"("tool_choice": {"type": "function", "function": {"name": "b"}})"),
         "tool_choice.function is \"b\"; it must be the name of one of the tools"},
        {message(R"({"role": "assistant", "tool_calls": [{"function": {"name": "a", "arguments": "{"}}]})"),
         "messages[1].tool_calls[0].function.arguments is \"{\"; it must be a JSON object, written as a "
         "string"},
    });
}

TEST_CASE("a gap, and operations that compute nothing, say what they lack") {
    check_all({
        {R"({"model": "m"})",
         "input_prefix is missing; it must be a string",
         SOTTO_ERROR_ARGUMENT,
         SOTTO_OP_INFILL},
        {R"({"model": "m", "input_prefix": "", "input_suffix": "", "input_extra": [{}]})",
         "input_extra[0].text is missing; it must be a string",
         SOTTO_ERROR_ARGUMENT,
         SOTTO_OP_INFILL},
        {R"({"model": "m"})",
         "content is missing; it must be a string",
         SOTTO_ERROR_ARGUMENT,
         SOTTO_OP_TOKENIZE},
        {R"({"model": "m", "tokens": [1, "a"]})",
         "tokens[1] is \"a\"; it must be a token's number",
         SOTTO_ERROR_ARGUMENT,
         SOTTO_OP_DETOKENIZE},
        {R"({"model": "m"})",
         "messages is missing; it must be an array of messages",
         SOTTO_ERROR_ARGUMENT,
         SOTTO_OP_APPLY_TEMPLATE},
    });
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
        CHECK(read(text(more), SOTTO_OP_COMPLETION).why == "");
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
        sotto::read_request(SOTTO_OP_COMPLETION, R"({"model": "x/y", "prompt": "p", "stop": "end"})");
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
