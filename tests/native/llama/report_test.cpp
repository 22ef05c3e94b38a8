// What steps report about tokens: ids, slots, a full context, probabilities after sampling.
#include "module_under_test.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace under_test;

namespace {

std::string id_in(const std::string& json) {
    const std::string key = R"("id":)";
    const auto at = json.find(key);
    return at == std::string::npos ? "" : json.substr(at + key.size(), json.find(',', at) - at - key.size());
}

} // namespace

TEST_CASE("each token is reported with its id and its slot") {
    Model model;
    CHECK((model.info.capabilities & SOTTO_CAPABILITY_TOKENS) != 0);
    Stream stream(
        model,
        completion("once", R"("temperature": 0, "ignore_eos": true, "logprobs": 1)"),
        SOTTO_OP_COMPLETION
    );
    for (int i = 0; i < 6; ++i) {
        stream.step();
        REQUIRE(stream.work.generated == 1);
        CHECK(id_in(text(stream.work.logprobs)) == std::to_string(stream.work.token - 1));
        CHECK(stream.work.slot >= 1);
        CHECK(stream.work.slot <= model.info.streams);
        CHECK(stream.work.truncated == 0);
    }
}

TEST_CASE("a step that generates no token reports none") {
    Model model;
    Stream stream(model, completion("once upon a time there was a king"), SOTTO_OP_COMPLETION);
    stream.step(1);
    CHECK(stream.work.generated == 0);
    CHECK(stream.work.token == 0);
}

TEST_CASE("the token that fills the context is reported as truncated, also if the context shifts") {
    for (const char* overflow : {"truncate", "shift"}) {
        CAPTURE(overflow);
        Model model({.options = R"({"context": 32, "parallel": 1})"});
        const auto more =
            R"("temperature": 0, "ignore_eos": true, "context_overflow": ")" + std::string(overflow) + "\"";
        Stream stream(model, completion("once upon", more), SOTTO_OP_COMPLETION);
        int truncated = 0;
        for (int i = 0; i < 60 && stream.answer.finish == SOTTO_FINISH_NONE; ++i) {
            stream.step();
            CHECK((stream.work.finish == SOTTO_FINISH_NONE || stream.work.truncated != 0));
            truncated += stream.work.truncated;
        }
        CHECK(truncated >= 1);
        CHECK((stream.answer.finish == SOTTO_FINISH_LENGTH) == (std::string(overflow) == "truncate"));
    }
}

TEST_CASE("probabilities after sampling are those of the tokens that the samplers left") {
    Model model;
    for (const char* how : {R"("temperature": 0)", R"("temperature": 1, "top_k": 1)"}) {
        CAPTURE(how);
        const auto more = std::string(how) + R"(, "n_probs": 5, "post_sampling_probs": true)";
        Stream stream(model, completion("once", more), SOTTO_OP_COMPLETION);
        stream.run(1);
        const auto told = text(stream.work.logprobs);
        CHECK(told.find(R"("prob":1)") != std::string::npos);
        CHECK(told.find(R"("top_probs":[{)") != std::string::npos);
        CHECK(told.find("logprob\"") == std::string::npos);
        CHECK(told.find("\"prob\"", told.find("top_probs")) == told.rfind("\"prob\"")); // one alternative
    }
    Stream several(
        model,
        completion("once", R"("temperature": 2, "n_probs": 3, "post_sampling_probs": true)"),
        SOTTO_OP_COMPLETION
    );
    several.run(1);
    std::size_t entries = 0;
    const auto told = text(several.work.logprobs);
    for (auto at = told.find("\"prob\""); at != std::string::npos; at = told.find("\"prob\"", at + 1)) {
        ++entries;
    }
    CHECK(entries == 4); // the chosen token and three alternatives
}

TEST_CASE("a stream that is opened reports its slot, the values in effect and a cut prompt") {
    Model model({.options = R"({"context": 64})"});
    const auto open = [&](const std::string& body) {
        auto desc = SOTTO_INIT(sotto_stream_desc);
        desc.op = SOTTO_OP_COMPLETION;
        desc.body = {body.data(), body.size()};
        auto info = SOTTO_INIT(sotto_stream_info);
        void* stream = nullptr;
        sotto_str why{};
        REQUIRE(backend().stream_open(backend().self, model.handle, &desc, &stream, &info, &why) == SOTTO_OK);
        CHECK(info.slot >= 1);
        const auto settings = text(info.settings);
        backend().stream_close(backend().self, model.handle, stream);
        return std::pair(settings, info.truncated);
    };
    const auto [settings, cut] = open(completion(
        "once",
        R"("temperature": 0.8, "top_k": 7, "seed": 5, "stop": "x", "max_tokens": 9, "return_settings": true)"
    ));
    CHECK(cut == 0);
    for (const char* part :
         {R"("temperature":0.8,)",
          R"("top_k":7,)",
          R"("seed":5,)",
          R"("stop":["x"])",
          R"("n_predict":9,)",
          R"("max_tokens":9,)",
          R"("repeat_penalty":1.0,)",
          R"("samplers":["penalties","dry",)"}) {
        CAPTURE(settings);
        CHECK(settings.find(part) != std::string::npos);
    }
    CHECK(open(completion("once")).first.empty());
    std::string longer;
    for (int i = 0; i < 100; ++i) {
        longer += "once ";
    }
    CHECK(open(completion(longer, R"("context_overflow": "truncate")")).second != 0);
}
