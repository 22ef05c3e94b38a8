// The answer in the OpenAI schema: chunks, the response, and what they count.
#include <string>

#include <doctest/doctest.h>

#include "core/codec.hpp"
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

// What every object begins with.
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
    const auto first = Json::parse(chat.chunk("Hel"));
    check_head(first, "chatcmpl-65537", "chat.completion.chunk");
    const Json delta = {{"role", "assistant"}, {"content", "Hel"}};
    CHECK(first["choices"] == Json::array({{{"index", 0}, {"delta", delta}, {"finish_reason", nullptr}}}));
    const auto second = Json::parse(chat.chunk("lo"));
    CHECK(second["choices"][0]["delta"] == Json{{"content", "lo"}});
    CHECK_FALSE(second.contains("usage"));
}

TEST_CASE("a chat's last chunk says why, and how long it took") {
    auto chat = writer(SOTTO_OP_CHAT);
    chat.chunk("Hello");
    const auto last = Json::parse(chat.last_chunk("stop", counts()));
    check_head(last, "chatcmpl-65537", "chat.completion.chunk");
    CHECK(last["choices"][0]["finish_reason"] == "stop");
    CHECK(last["choices"][0]["delta"] == Json::object());
    CHECK(last["timings"] == kTimings);
}

TEST_CASE("an answer without a word still names its role once") {
    const auto last = Json::parse(writer(SOTTO_OP_CHAT).last_chunk("length", counts()));
    CHECK(last["choices"][0]["delta"] == Json{{"role", "assistant"}});
    CHECK(last["choices"][0]["finish_reason"] == "length");
}

TEST_CASE("a text completion's chunks hold text, no delta") {
    auto text = writer(SOTTO_OP_TEXT);
    const auto chunk = Json::parse(text.chunk("Once"));
    check_head(chunk, "cmpl-65537", "text_completion");
    CHECK(chunk["choices"] == Json::array({{{"index", 0}, {"text", "Once"}, {"finish_reason", nullptr}}}));
    const auto last = Json::parse(text.last_chunk("length", counts()));
    check_head(last, "cmpl-65537", "text_completion");
    CHECK(last["choices"] == Json::array({{{"index", 0}, {"text", ""}, {"finish_reason", "length"}}}));
}

TEST_CASE("the usage chunk has no choices") {
    const auto chunk = Json::parse(writer(SOTTO_OP_CHAT).usage_chunk(counts()));
    check_head(chunk, "chatcmpl-65537", "chat.completion.chunk");
    CHECK(chunk["choices"] == Json::array());
    CHECK(chunk["usage"] == kUsage);
}

TEST_CASE("a whole response is what OpenAI's is") {
    const auto chat = Json::parse(writer(SOTTO_OP_CHAT).response("Hello", "stop", counts()));
    check_head(chat, "chatcmpl-65537", "chat.completion");
    const Json message = {{"role", "assistant"}, {"content", "Hello"}};
    CHECK(chat["choices"] == Json::array({{{"index", 0}, {"message", message}, {"finish_reason", "stop"}}}));
    CHECK(chat["usage"] == kUsage);
    CHECK(chat["timings"] == kTimings);
    const auto text = Json::parse(writer(SOTTO_OP_TEXT).response("Once", "length", counts()));
    check_head(text, "cmpl-65537", "text_completion");
    CHECK(text["choices"] == Json::array({{{"index", 0}, {"text", "Once"}, {"finish_reason", "length"}}}));
}

TEST_CASE("any text comes through, and people find fields where they expect them") {
    auto chat = writer(SOTTO_OP_CHAT);
    const std::string odd = "\"quoted\"\n\\ \t\x01 \xF0\x9F\x98\x80";
    CHECK(Json::parse(chat.chunk(odd))["choices"][0]["delta"]["content"] == odd);
    CHECK(
        chat.chunk("x").rfind(R"({"id":"chatcmpl-65537","object":"chat.completion.chunk","created":)", 0) == 0
    );
}
