// Answers in the OpenAI schema: chunks, responses and their counts.
#include <cmath>
#include <string>
#include <utility>

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

Writer writer(sotto_op op, sotto::ResponseParts parts) {
    return Writer(op, kRequest, "sotto/house", kCreated, std::move(parts));
}

sotto::CompleteAnswer said(const std::string& text, sotto_finish finish) {
    sotto::CompleteAnswer complete;
    complete.text = text;
    complete.finish = finish;
    return complete;
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
    {"prompt_per_token_ms", 12.346 / 15},
    {"prompt_per_second", 15000 / 12.346},
    {"predicted_n", 3},
    {"predicted_ms", 30.0},
    {"predicted_per_token_ms", 15.0}, // the first token comes from prefill
    {"predicted_per_second", 2000 / 30.0},
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
    const auto last = Json::parse(chat.last_chunk(0, said("", SOTTO_FINISH_STOP), {}, counts()));
    check_head(last, "chatcmpl-65537", "chat.completion.chunk");
    CHECK(last["choices"][0]["finish_reason"] == "stop");
    CHECK(last["choices"][0]["delta"] == Json::object());
    CHECK(last["timings"] == kTimings);
}

TEST_CASE("a chunk may report the prefill of the prompt, and the timings so far") {
    auto chat = writer(SOTTO_OP_CHAT);
    const auto told = counts();
    const auto begins = Json::parse(chat.progress_chunk(0, {40, 8, 8, 0}, nullptr));
    check_head(begins, "chatcmpl-65537", "chat.completion.chunk");
    CHECK(begins["choices"][0]["delta"] == Json{{"role", "assistant"}});
    const Json progress = {{"total", 40}, {"cache", 8}, {"processed", 8}, {"time_ms", 0.0}};
    CHECK(begins["prompt_progress"] == progress);
    CHECK_FALSE(begins.contains("timings"));
    const auto ends = Json::parse(chat.progress_chunk(0, {40, 8, 40, 1.5}, &told));
    CHECK(ends["choices"][0]["delta"] == Json::object());
    CHECK(ends["prompt_progress"]["processed"] == 40);
    CHECK(ends["prompt_progress"]["time_ms"] == 1.5);
    CHECK(ends["timings"] == kTimings);
    CHECK(Json::parse(chat.chunk(0, text("Hel"), {}, &told))["timings"] == kTimings);
    auto completion = writer(SOTTO_OP_COMPLETION);
    CHECK(Json::parse(completion.progress_chunk(0, {1, 0, 1, 1}, nullptr))["choices"][0]["text"] == "");
}

TEST_CASE("an empty answer still has one chunk with the role") {
    const auto last =
        Json::parse(writer(SOTTO_OP_CHAT).last_chunk(0, said("", SOTTO_FINISH_LENGTH), {}, counts()));
    CHECK(last["choices"][0]["delta"] == Json{{"role", "assistant"}});
    CHECK(last["choices"][0]["finish_reason"] == "length");
}

TEST_CASE("a text completion's chunks contain text instead of a delta") {
    auto completion = writer(SOTTO_OP_COMPLETION);
    const auto chunk = Json::parse(completion.chunk(0, text("Once"), {}));
    check_head(chunk, "cmpl-65537", "text_completion");
    CHECK(chunk["choices"] == Json::array({{{"index", 0}, {"text", "Once"}, {"finish_reason", nullptr}}}));
    const auto last = Json::parse(completion.last_chunk(0, said("", SOTTO_FINISH_LENGTH), {}, counts()));
    check_head(last, "cmpl-65537", "text_completion");
    CHECK(last["choices"][0]["text"] == "");
    CHECK(last["choices"][0]["finish_reason"] == "length");
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
    CHECK(chat["choices"].size() == 1);
    CHECK(chat["choices"][0]["index"] == 0);
    CHECK(chat["choices"][0]["message"] == message);
    CHECK(chat["choices"][0]["finish_reason"] == "stop");
    CHECK(chat["usage"] == kUsage);
    CHECK(chat["timings"] == kTimings);
    const auto text =
        Json::parse(writer(SOTTO_OP_COMPLETION).response({said("Once", SOTTO_FINISH_LENGTH)}, counts()));
    check_head(text, "cmpl-65537", "text_completion");
    CHECK(text["choices"][0]["text"] == "Once");
    CHECK(text["choices"][0]["finish_reason"] == "length");
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
    const sotto::ResponseParts wanted{.ignored = {}, .fingerprint = "", .logprobs = true};
    const sotto::TokenReport report{5, token};
    auto chat = writer(SOTTO_OP_CHAT, wanted);
    const auto chunk = Json::parse(chat.chunk(0, text("a"), {report}));
    CHECK(chunk["choices"][0]["logprobs"]["content"] == Json::array({Json::parse(token)}));
    CHECK_FALSE(chunk["choices"][0].contains("tokens"));
    auto completion = writer(SOTTO_OP_COMPLETION, wanted);
    const auto choice = Json::parse(completion.chunk(0, text("a"), {report}))["choices"][0];
    const auto old = choice["logprobs"];
    CHECK(old["tokens"] == Json::array({"a"}));
    CHECK(old["token_logprobs"] == Json::array({-0.5}));
    CHECK(old["top_logprobs"] == Json::array({{{"b", -1.0}}}));
    CHECK_FALSE(choice.contains("completion_probabilities"));
    CHECK_FALSE(Json::parse(chat.chunk(0, text("a"), {}))["choices"][0].contains("logprobs"));
}

TEST_CASE("chunks and choices carry the ids of their tokens if the request wants them") {
    sotto::ResponseParts wanted;
    wanted.tokens = true;
    auto chat = writer(SOTTO_OP_CHAT, wanted);
    CHECK(Json::parse(chat.chunk(0, text("a"), {{5, ""}, {6, ""}}))["choices"][0]["tokens"] == Json({5, 6}));
    CHECK(Json::parse(chat.chunk(0, text("b"), {}))["choices"][0]["tokens"] == Json::array());
    auto all = said("ab", SOTTO_FINISH_STOP);
    all.reports = {{5, ""}, {6, ""}};
    const auto choice = Json::parse(chat.response({all}, counts()))["choices"][0];
    CHECK(choice["tokens"] == Json({5, 6}));
    CHECK_FALSE(choice.contains("logprobs"));
}

TEST_CASE("a completion with ids and probabilities also has the latter in the form of a chat") {
    const std::string sampled =
        R"({"id": 5, "token": "a", "bytes": [97], "prob": 0.5, "top_probs": [{"id": 6, "token": "b", "prob": 0.25}]})";
    sotto::ResponseParts wanted;
    wanted.tokens = wanted.logprobs = true;
    auto completion = writer(SOTTO_OP_COMPLETION, wanted);
    const auto choice = Json::parse(completion.chunk(0, text("a"), {{5, sampled}}))["choices"][0];
    CHECK(choice["completion_probabilities"] == Json::array({Json::parse(sampled)}));
    CHECK(choice["logprobs"]["token_logprobs"][0].get<double>() == doctest::Approx(std::log(0.5)));
    CHECK(choice["logprobs"]["top_logprobs"][0]["b"].get<double>() == doctest::Approx(std::log(0.25)));
}

TEST_CASE("the last chunk and the response say what ended the answer and which backend gave it") {
    auto made = writer(SOTTO_OP_CHAT, {.ignored = {}, .fingerprint = "b1-sotto-2"});
    auto all = said("two\nlines", SOTTO_FINISH_STOP);
    all.stop = sotto::StopType::word;
    all.stopping_word = "END";
    auto used = counts();
    used.slot = 3;
    used.truncated = true;
    used.drafted = 8;
    used.accepted = 6;
    made.set_settings(R"({"top_k": 40})");
    for (const auto& json : {made.last_chunk(0, all, {}, used), made.response({all}, used)}) {
        const auto whole = Json::parse(json);
        CHECK(whole["system_fingerprint"] == "b1-sotto-2");
        CHECK(whole["id_slot"] == 3);
        CHECK(whole["truncated"] == true);
        CHECK(whole["timings"]["draft_n"] == 8);
        CHECK(whole["timings"]["draft_n_accepted"] == 6);
        CHECK(whole["generation_settings"] == Json{{"top_k", 40}});
        CHECK(whole["choices"][0]["stop_type"] == "word");
        CHECK(whole["choices"][0]["stopping_word"] == "END");
        CHECK(whole["choices"][0]["has_new_line"] == true);
    }
    const auto plain = Json::parse(writer(SOTTO_OP_CHAT).response({said("", SOTTO_FINISH_STOP)}, counts()));
    CHECK(plain["choices"][0]["stop_type"] == "none");
    CHECK(plain["choices"][0]["has_new_line"] == false);
    CHECK(plain["truncated"] == false);
    for (const char* absent : {"id_slot", "system_fingerprint", "generation_settings"}) {
        CHECK_FALSE(plain.contains(absent));
    }
}

TEST_CASE("a rate without time or tokens is 0") {
    const auto timings = Json::parse(writer(SOTTO_OP_CHAT).response({}, {}))["timings"];
    for (const char* name : {"prompt_per_token_ms", "prompt_per_second", "predicted_per_second"}) {
        CHECK(timings[name] == 0);
    }
}
