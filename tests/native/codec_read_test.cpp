// Parsing of requests, and the errors for invalid ones.
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "base/error.hpp"
#include "core/codec/codec.hpp"
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

// A body that is valid except possibly for `more`.
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

TEST_CASE("a body that is not a JSON object is refused with that reason") {
    check_all({
        {"[]", "invalid request '[]': expected a JSON object"},
        {"[1]", "invalid request '[...]': expected a JSON object"},
        {"3", "invalid request '3': expected a JSON object"},
        {"\"model\"", "invalid request 'model': expected a JSON object"},
        {"null", "invalid request 'null': expected a JSON object"},
    });
    for (const char* body : {"", "{", "{\"model\": }", "{\"model\": \"m\"} x", "nonsense"}) {
        const auto refusal = read(body);
        CHECK(refusal.status == SOTTO_ERROR_ARGUMENT);
        CHECK(refusal.why.rfind("invalid request: expected JSON; parse error at line 1, column", 0) == 0);
        CHECK(one_line(refusal) == "");
    }
}

TEST_CASE("a JSON syntax error is reported in one short line of UTF-8") {
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

TEST_CASE("a number too large for a double is an argument error") {
    const auto refusal = read(chat(R"("temperature": 1e999)"));
    CHECK(refusal.status == SOTTO_ERROR_ARGUMENT);
    CHECK(refusal.why.rfind("invalid request: expected JSON; number overflow", 0) == 0);
    CHECK(one_line(refusal) == "");
}

TEST_CASE("deeply nested JSON does not overflow the stack") {
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

TEST_CASE("each missing or invalid field is named, with its value and the expected range") {
    const char* content = "a string or an array of parts";
    const char* role = "system, developer, user, assistant or tool";
    check_all({
        {"{}", "missing model: expected the id of a loaded model"},
        {R"({"model": null})", "missing model: expected the id of a loaded model"},
        {R"({"model": ""})", "invalid model '': expected the id of a loaded model"},
        {R"({"model": 3})", "invalid model '3': expected the id of a loaded model"},
        {R"({"model": "m"})", "missing messages: expected an array of messages"},
        {R"({"model": "m", "messages": []})",
         "invalid messages '[]': expected an array with at least one message"},
        {R"({"model": "m", "messages": "hi"})",
         "invalid messages 'hi': expected an array with at least one message"},
        {message("3"), "invalid messages[1] '3': expected a JSON object"},
        {message(R"({"content": "hi"})"), std::string("missing messages[1].role: expected ") + role},
        {message(R"({"role": "king", "content": "hi"})"),
         std::string("invalid messages[1].role 'king': expected ") + role},
        {message(R"({"role": 1, "content": "hi"})"),
         std::string("invalid messages[1].role '1': expected ") + role},
        {message(R"({"role": "user"})"), std::string("missing messages[1].content: expected ") + content},
        {message(R"({"role": "user", "content": []})"),
         std::string("invalid messages[1].content '[]': expected ") + content},
        {message(R"({"role": "user", "content": ["hi"]})"),
         "invalid messages[1].content[0] 'hi': expected a JSON object"},
        {message(R"({"role": "user", "content": [{"text": "hi"}]})"),
         "missing messages[1].content[0].type: expected \"text\", \"image_url\" or \"input_audio\""},
        {message(R"({"role": "user", "content": [{"type": "video"}]})"),
         "invalid messages[1].content[0].type 'video': expected \"text\", \"image_url\" or \"input_audio\"",
         SOTTO_ERROR_UNSUPPORTED},
        {message(R"({"role": "user", "content": [{"type": "image_url"}]})"),
         "missing messages[1].content[0].image_url: expected a JSON object"},
        {message(
             R"({"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://a.b/c.png"}}]})"
         ),
         "invalid messages[1].content[0].image_url.url 'https://a.b/c.png': expected a data URL; Sotto "
         "fetches no URLs"},
        {message(
             R"({"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": "", "format": "ogg"}}]})"
         ),
         "invalid messages[1].content[0].input_audio.format 'ogg': expected \"wav\", \"mp3\" or \"flac\""},
        {message(R"({"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": 1}}]})"),
         "invalid messages[1].content[0].input_audio.data '1': expected a string"},
        {message(R"({"role": "user", "content": [{"type": "text"}]})"),
         "missing messages[1].content[0].text: expected a string"},
        {message(R"({"role": "user", "content": [{"type": "text", "text": 1}]})"),
         "invalid messages[1].content[0].text '1': expected a string"},
        {R"({"model": "m"})", "missing prompt: expected a string", SOTTO_ERROR_ARGUMENT, SOTTO_OP_COMPLETION},
        {R"({"model": "m", "prompt": ["a"]})",
         "invalid prompt[0] 'a': expected a token's number",
         SOTTO_ERROR_ARGUMENT,
         SOTTO_OP_COMPLETION},
        {R"({"model": "m", "prompt": [{"type": "text", "text": "a"}, 1]})",
         "invalid prompt[1] '1': expected a JSON object",
         SOTTO_ERROR_ARGUMENT,
         SOTTO_OP_COMPLETION},
        {R"({"model": "m", "prompt": [{"type": "image_url", "image_url": {"url": "file:///a.png"}}]})",
         "invalid prompt[0].image_url.url 'file:///a.png': expected a data URL; Sotto fetches no URLs",
         SOTTO_ERROR_ARGUMENT,
         SOTTO_OP_COMPLETION},
        {R"({"model": "m", "prompt": [{"type": "text", "text": "a"}], "suffix": "b"})",
         "invalid prompt '[...]': expected a string with suffix",
         SOTTO_ERROR_ARGUMENT,
         SOTTO_OP_COMPLETION},
        {R"({"model": "m", "prompt": ""})",
         "invalid prompt '': expected a string that is not empty",
         SOTTO_ERROR_ARGUMENT,
         SOTTO_OP_COMPLETION},
    });
}

TEST_CASE("each number has a range, which its error states") {
    check_all({
        {chat(R"("temperature": -0.5)"), "invalid temperature '-0.5': expected a number from 0 to 100"},
        {chat(R"("temperature": "warm")"), "invalid temperature 'warm': expected a number from 0 to 100"},
        {chat(R"("temperature": 100.5)"), "invalid temperature '100.5': expected a number from 0 to 100"},
        {chat(R"("top_p": 1.5)"), "invalid top_p '1.5': expected a number from 0 to 1"},
        {chat(R"("min_p": -1)"), "invalid min_p '-1': expected a number from 0 to 1"},
        {chat(R"("top_k": 1.5)"), "invalid top_k '1.5': expected an integer from 0 to 2147483647"},
        {chat(R"("top_k": 2147483648.0)"),
         "invalid top_k '2147483648.0': expected an integer from 0 to 2147483647"},
        {chat(R"("top_k": 1e300)"), "invalid top_k '1e+300': expected an integer from 0 to 2147483647"},
        {chat(R"("top_k": 99999999999)"),
         "invalid top_k '99999999999': expected an integer from 0 to 2147483647"},
        {chat(R"("top_k": 18446744073709551615)"),
         "invalid top_k '18446744073709551615': expected an integer from 0 to 2147483647"},
        {chat(R"("seed": -2)"), "invalid seed '-2': expected an integer from -1 to 4294967295"},
        {chat(R"("max_tokens": 0)"), "invalid max_tokens '0': expected an integer from 1 to 2147483647"},
        {chat(R"("max_completion_tokens": true)"),
         "invalid max_completion_tokens 'true': expected an integer from 1 to 2147483647"},
        {chat(R"("n": 0)"), "invalid n '0': expected an integer from 1 to 128"},
        {chat(R"("stream": 1)"), "invalid stream '1': expected true or false"},
        {chat(R"("stream_options": true)"), "invalid stream_options 'true': expected a JSON object"},
        {chat(R"("stream_options": {"include_usage": "yes"})"),
         "invalid stream_options.include_usage 'yes': expected true or false"},
        {chat(R"("stop": 3)"), "invalid stop '3': expected strings of 1 to 1024 bytes"},
        {chat(R"("stop": ["a", ""])"), "invalid stop '': expected strings of 1 to 1024 bytes"},
        {chat(R"("stop": ["1","2","3","4","5","6","7","8","9","10","11","12","13","14","15","16","17"])"),
         "invalid stop '[...]': expected at most 16 strings"},
        {chat("\"stop\": \"" + std::string(1025, 'x') + "\""),
         "invalid stop '" + std::string(40, 'x') + "...': expected strings of 1 to 1024 bytes"},
    });
}

TEST_CASE("sampling fields are limited to their ranges") {
    check_all({
        {chat(R"("typical_p": 2)"), "invalid typical_p '2': expected a number from 0 to 1"},
        {chat(R"("repeat_penalty": 0)"), "invalid repeat_penalty '0': expected a number from 0.01 to 10"},
        {chat(R"("mirostat": 3)"), "invalid mirostat '3': expected an integer from 0 to 2"},
        {chat(R"("n_probs": 21)"), "invalid n_probs '21': expected an integer from 0 to 20"},
        {chat(R"("dry_sequence_breakers": [""])"),
         "invalid dry_sequence_breakers '': expected an array of 1 to 16 strings of 1 to 40 bytes"},
        {chat(R"("logit_bias": 3)"),
         "invalid logit_bias '3': expected an object from tokens to numbers from -100 to 100, or an array of "
         "[token, number] pairs"},
        {chat(R"("logit_bias": {"5": 101})"),
         "invalid logit_bias[\"5\"] '101': expected a number from -100 to 100, or false"},
        {chat(R"("logit_bias": {"a\nb": "c"})"), // the key can be any text; errors print it on one line
         "invalid logit_bias[a\\nb] 'c': expected a number from -100 to 100, or false"},
        {chat(R"("logit_bias": [[5]])"),
         "invalid logit_bias[0] '[...]': expected [token, number from -100 to 100]"},
        {chat(R"("samplers": [1])"),
         "invalid samplers '1': expected an array of 1 to 32 strings of 1 to 40 bytes"},
        {chat(R"("ignore_eos": 1)"), "invalid ignore_eos '1': expected true or false"},
        {chat(R"("top_logprobs": 2)"),
         "invalid top_logprobs '2': expected no value without logprobs; set logprobs to true"},
        {chat(R"("context_overflow": "drop")"),
         "invalid context_overflow 'drop': expected one of \"truncate\", \"shift\", \"error\""},
        {text(R"("logprobs": true)"),
         "invalid logprobs 'true': expected an integer from 0 to 20",
         SOTTO_ERROR_ARGUMENT,
         SOTTO_OP_COMPLETION},
    });
}

TEST_CASE("fields that constrain the answer's format are validated by path") {
    check_all({
        {chat(R"("response_format": "json")"), "invalid response_format 'json': expected a JSON object"},
        {chat(R"("response_format": {})"),
         "missing response_format.type: expected \"text\", \"json_object\" or \"json_schema\""},
        {chat(R"("response_format": {"type": "xml"})"),
         "invalid response_format.type 'xml': expected \"text\", \"json_object\" or \"json_schema\""},
        {chat(R"("response_format": {"type": "json_schema"})"),
         "missing response_format.json_schema: expected a JSON object with \"schema\""},
        {chat(R"("response_format": {"type": "json_schema", "json_schema": {}})"),
         "missing response_format.json_schema.schema: expected a JSON schema"},
        {chat(R"("response_format": {"type": "json_object"}, "grammar": "root ::= \"a\"")"),
         "invalid grammar: expected no second form beside response_format; remove one of them"},
        {chat(R"("grammar": 1)"), "invalid grammar '1': expected a string of at most 262144 bytes"},
    });
}

TEST_CASE("tools and tool calls are validated by path") {
    const char* name = "1 to 64 letters, digits, \"_\" or \"-\"";
    const auto tool = [](const std::string& function) {
        return chat(R"("tools": [{"type": "function", "function": )" + function + "}]");
    };
    check_all({
        {chat(R"("tools": 1)"), "invalid tools '1': expected an array of at most 128 tools"},
        {chat(R"("tools": [{"type": "function"}])"), "missing tools[0].function: expected a JSON object"},
        {chat(R"("tools": [{"type": "shell"}])"), "invalid tools[0].type 'shell': expected \"function\""},
        {tool("{}"), std::string("missing tools[0].function.name: expected ") + name},
        {tool(R"({"name": "open door"})"),
         std::string("invalid tools[0].function.name 'open door': expected ") + name},
        {tool(R"({"name": "<|im_end|>"})"),
         std::string("invalid tools[0].function.name '<|im_end|>': expected ") + name},
        {tool(R"({"name": "a", "parameters": []})"),
         "invalid tools[0].function.parameters '[]': expected a JSON object"},
        {chat(
             R"("tools": [{"type": "function", "function": {"name": "a"}},)"
             R"({"type": "function", "function": {"name": "a"}}])"
         ),
         "invalid tools[1].function.name 'a': expected a unique name"},
        {chat(R"("tool_choice": "required")"),
         "invalid tool_choice 'required': expected \"auto\" or \"none\" without tools"},
        {chat(R"("tool_choice": {"type": "function", "function": {"name": "b"}})"),
         "invalid tool_choice.function 'b': expected the name of one of the tools"},
        {message(R"({"role": "assistant", "tool_calls": [{"function": {"name": "a", "arguments": "{"}}]})"),
         "invalid messages[1].tool_calls[0].function.arguments '\"{\"': expected a JSON object, written as a "
         "string"},
    });
}

TEST_CASE("infill and operations without steps name their missing fields") {
    check_all({
        {R"({"model": "m"})",
         "missing input_prefix: expected a string",
         SOTTO_ERROR_ARGUMENT,
         SOTTO_OP_INFILL},
        {R"({"model": "m", "input_prefix": "", "input_suffix": "", "input_extra": [{}]})",
         "missing input_extra[0].text: expected a string",
         SOTTO_ERROR_ARGUMENT,
         SOTTO_OP_INFILL},
        {R"({"model": "m"})", "missing content: expected a string", SOTTO_ERROR_ARGUMENT, SOTTO_OP_TOKENIZE},
        {R"({"model": "m", "tokens": [1, "a"]})",
         "invalid tokens[1] 'a': expected a token's number",
         SOTTO_ERROR_ARGUMENT,
         SOTTO_OP_DETOKENIZE},
        {R"({"model": "m"})",
         "missing messages: expected an array of messages",
         SOTTO_ERROR_ARGUMENT,
         SOTTO_OP_APPLY_TEMPLATE},
    });
}

TEST_CASE("minimal requests are accepted") {
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
          R"("seed": 7.0)",
          R"("max_tokens": 16.0)",
          R"("stream": true)",
          R"("user": "somebody")",
          R"("unheard_of": {"a": 1})",
          R"("max_tokens": null)"}) {
        CAPTURE(more);
        CHECK(read(chat(more)).why == "");
        CHECK(read(text(more), SOTTO_OP_COMPLETION).why == "");
    }
}

TEST_CASE("a parsed request contains all fields that the engine needs") {
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

TEST_CASE("every role and content type of OpenAI for text is accepted") {
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
