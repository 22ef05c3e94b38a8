// Answers in the OpenAI schema: chunks, responses and their counts.
#include <string>

#include <doctest/doctest.h>

#include "core/codec/codec.hpp"
#include "text/json_reader.hpp"

using sotto::Counts;
using sotto::Json;
using sotto::Writer;

namespace {

constexpr sotto_request kRequest = 65537;
constexpr std::int64_t kCreated = 1'700'000'000;

Writer writer(sotto_op op) {
    return Writer(op, kRequest, "sotto/house", kCreated);
}

sotto::CompleteAnswer said(const std::string& text, sotto_finish finish) {
    return {.text = text, .reasoning = "", .calls = {}, .logprobs = {}, .finish = finish};
}

sotto::Delta text(const std::string& more) {
    return {.kind = sotto::Delta::Kind::text, .text = more, .id = "", .name = ""};
}

Counts counts() {
    return {
        .prompt = 20,
        .cached = 5,
        .generated = 3,
        .prompt_ms = 12.34567,
        .generated_ms = 30,
        .first_token_ms = 15
    };
}

// Checks the members that start every object.
void check_head(const Json& whole, const char* id, const char* object) {
    CHECK(whole["id"] == id);
    CHECK(whole["object"] == object);
    CHECK(whole["created"] == kCreated);
    CHECK(whole["model"] == "sotto/house");
}

const Json kUsage = {
    {"prompt_tokens", 20},
    {"completion_tokens", 3},
    {"total_tokens", 23},
    {"prompt_tokens_details", {{"cached_tokens", 5}}},
};

const Json kTimings = {
    {"cache_n", 5},
    {"prompt_n", 15},
    {"prompt_ms", 12.346},
    {"predicted_n", 3},
    {"predicted_ms", 30.0},
    {"first_token_ms", 15.0},
};

} // namespace

TEST_CASE("a chat's first chunk names the role, and later ones do not") {
    auto chat = writer(SOTTO_OP_CHAT);
    const auto first = Json::parse(chat.chunk(0, text("Hel"), {}));
    check_head(first, "chatcmpl-65537", "chat.completion.chunk");
    const Json delta = {{"role", "assistant"}, {"content", "Hel"}};
    CHECK(first["choices"] == Json::array({{{"index", 0}, {"delta", delta}, {"finish_reason", nullptr}}}));
    const auto second = Json::parse(chat.chunk(0, text("lo"), {}));
    CHECK(second["choices"][0]["delta"] == Json{{"content", "lo"}});
    CHECK_FALSE(second.contains("usage"));
}

TEST_CASE("a chat's last chunk has the finish reason and the timings") {
    auto chat = writer(SOTTO_OP_CHAT);
    chat.chunk(0, text("Hello"), {});
    const auto last = Json::parse(chat.last_chunk(0, SOTTO_FINISH_STOP, {}, counts()));
    check_head(last, "chatcmpl-65537", "chat.completion.chunk");
    CHECK(last["choices"][0]["finish_reason"] == "stop");
    CHECK(last["choices"][0]["delta"] == Json::object());
    CHECK(last["timings"] == kTimings);
}

TEST_CASE("an empty answer still has one chunk with the role") {
    const auto last = Json::parse(writer(SOTTO_OP_CHAT).last_chunk(0, SOTTO_FINISH_LENGTH, {}, counts()));
    CHECK(last["choices"][0]["delta"] == Json{{"role", "assistant"}});
    CHECK(last["choices"][0]["finish_reason"] == "length");
}

TEST_CASE("a text completion's chunks contain text instead of a delta") {
    auto completion = writer(SOTTO_OP_COMPLETION);
    const auto chunk = Json::parse(completion.chunk(0, text("Once"), {}));
    check_head(chunk, "cmpl-65537", "text_completion");
    CHECK(chunk["choices"] == Json::array({{{"index", 0}, {"text", "Once"}, {"finish_reason", nullptr}}}));
    const auto last = Json::parse(completion.last_chunk(0, SOTTO_FINISH_LENGTH, {}, counts()));
    check_head(last, "cmpl-65537", "text_completion");
    CHECK(last["choices"] == Json::array({{{"index", 0}, {"text", ""}, {"finish_reason", "length"}}}));
}

TEST_CASE("the usage chunk has an empty list of choices") {
    const auto chunk = Json::parse(writer(SOTTO_OP_CHAT).usage_chunk(counts()));
    check_head(chunk, "chatcmpl-65537", "chat.completion.chunk");
    CHECK(chunk["choices"] == Json::array());
    CHECK(chunk["usage"] == kUsage);
}

TEST_CASE("a complete response follows OpenAI's schema") {
    const auto chat =
        Json::parse(writer(SOTTO_OP_CHAT).response({said("Hello", SOTTO_FINISH_STOP)}, counts()));
    check_head(chat, "chatcmpl-65537", "chat.completion");
    const Json message = {{"role", "assistant"}, {"content", "Hello"}};
    CHECK(chat["choices"] == Json::array({{{"index", 0}, {"message", message}, {"finish_reason", "stop"}}}));
    CHECK(chat["usage"] == kUsage);
    CHECK(chat["timings"] == kTimings);
    const auto text =
        Json::parse(writer(SOTTO_OP_COMPLETION).response({said("Once", SOTTO_FINISH_LENGTH)}, counts()));
    check_head(text, "cmpl-65537", "text_completion");
    CHECK(text["choices"] == Json::array({{{"index", 0}, {"text", "Once"}, {"finish_reason", "length"}}}));
}

TEST_CASE("any text round-trips, and fields keep their order") {
    auto chat = writer(SOTTO_OP_CHAT);
    const std::string odd = "\"quoted\"\n\\ \t\x01 \xF0\x9F\x98\x80";
    CHECK(Json::parse(chat.chunk(0, text(odd), {}))["choices"][0]["delta"]["content"] == odd);
    CHECK(
        chat.chunk(0, text("x"), {})
            .rfind(R"({"id":"chatcmpl-65537","object":"chat.completion.chunk","created":)", 0) == 0
    );
}

TEST_CASE("several choices are distinguished by index, and each has its role") {
    auto chat = writer(SOTTO_OP_CHAT);
    for (const std::uint32_t index : {1u, 0u}) {
        const auto chunk = Json::parse(chat.chunk(index, text("a"), {}));
        CHECK(chunk["choices"][0]["index"] == index);
        CHECK(chunk["choices"][0]["delta"] == Json{{"role", "assistant"}, {"content", "a"}});
    }
    const auto whole =
        Json::parse(chat.response({said("a", SOTTO_FINISH_STOP), said("b", SOTTO_FINISH_LENGTH)}, counts()));
    CHECK(whole["choices"].size() == 2);
    CHECK(whole["choices"][1]["index"] == 1);
    CHECK(whole["choices"][1]["message"]["content"] == "b");
    CHECK(whole["choices"][1]["finish_reason"] == "length");
}

TEST_CASE("reasoning and tool calls have fields of their own") {
    auto chat = writer(SOTTO_OP_CHAT);
    const auto thought = Json::parse(
        chat.chunk(0, {.kind = sotto::Delta::Kind::reasoning, .text = "hm", .id = "", .name = ""}, {})
    );
    CHECK(thought["choices"][0]["delta"] == Json{{"role", "assistant"}, {"reasoning_content", "hm"}});
    const sotto::Delta begins = {
        .kind = sotto::Delta::Kind::call, .text = "{", .call = 0, .id = "abc", .name = "give"
    };
    const auto call = Json::parse(chat.chunk(0, begins, {}))["choices"][0]["delta"]["tool_calls"][0];
    CHECK(call["id"] == "abc");
    CHECK(call["type"] == "function");
    CHECK(call["function"] == Json{{"name", "give"}, {"arguments", "{"}});
    const sotto::Delta more = {
        .kind = sotto::Delta::Kind::call, .text = "}", .call = 0, .id = "", .name = ""
    };
    const auto rest = Json::parse(chat.chunk(0, more, {}))["choices"][0]["delta"]["tool_calls"][0];
    CHECK(rest == Json{{"index", 0}, {"function", {{"arguments", "}"}}}});

    auto all = said("", SOTTO_FINISH_TOOL_CALLS);
    all.reasoning = "hm";
    all.calls = {{"abc", "give", "{}"}};
    const auto message = Json::parse(chat.response({all}, counts()))["choices"][0]["message"];
    CHECK(message["content"].is_null());
    CHECK(message["reasoning_content"] == "hm");
    CHECK(message["tool_calls"][0]["function"] == Json{{"name", "give"}, {"arguments", "{}"}});
}

TEST_CASE("log probabilities follow the chat and the completions schema") {
    const std::string token =
        R"({"token": "a", "logprob": -0.5, "bytes": [97], "top_logprobs": [{"token": "b", "logprob": -1.0}]})";
    auto chat = writer(SOTTO_OP_CHAT);
    const auto chunk = Json::parse(chat.chunk(0, text("a"), {token}));
    CHECK(chunk["choices"][0]["logprobs"]["content"] == Json::array({Json::parse(token)}));
    auto completion = writer(SOTTO_OP_COMPLETION);
    const auto old = Json::parse(completion.chunk(0, text("a"), {token}))["choices"][0]["logprobs"];
    CHECK(old["tokens"] == Json::array({"a"}));
    CHECK(old["token_logprobs"] == Json::array({-0.5}));
    CHECK(old["top_logprobs"] == Json::array({{{"b", -1.0}}}));
    CHECK_FALSE(Json::parse(chat.chunk(0, text("a"), {}))["choices"][0].contains("logprobs"));
}
