// Embeddings and rankings by tiny encoders, against vectors that tests/data/tiny_encoder.py computes in
// Python.
#include "module_under_test.hpp"
#include "support/paths.hpp"

#include <algorithm>
#include <cmath>
#include <doctest/doctest.h>
#include <fstream>
#include <sstream>

using namespace under_test;

namespace {

std::string encoder(const std::string& name) {
    return std::string(test::paths::kTinyEncoders) + "/" + name;
}

struct Expected {
    std::string text;
    std::vector<double> values;
};

std::vector<Expected> expected(const std::string& name) {
    std::ifstream file(encoder(name));
    std::vector<Expected> all;
    for (std::string line; std::getline(file, line);) {
        std::stringstream parts(line);
        Expected one;
        std::getline(parts, one.text, '\t');
        for (double value = 0; parts >> value;) {
            one.values.push_back(value);
        }
        all.push_back(one);
    }
    return all;
}

std::string body(const std::vector<std::string>& texts, const std::string& more = "") {
    std::string list;
    for (const auto& text : texts) {
        list += (list.empty() ? "\"" : ", \"") + text + "\"";
    }
    return R"({"model": "m", "input": [)" + list + "]" + (more.empty() ? "" : ", " + more) + "}";
}

// Reads the arrays of numbers after each `name` in a response.
std::vector<std::vector<double>> arrays(const std::string& response, const std::string& name) {
    std::vector<std::vector<double>> all;
    for (std::size_t at = 0; (at = response.find("\"" + name + "\":", at)) != std::string::npos;) {
        at += name.size() + 3;
        auto& numbers = all.emplace_back();
        const auto end = response.find_first_of("]}", at);
        std::string part = response.substr(at, end - at);
        std::replace_if(part.begin(), part.end(), [](char c) { return c == '[' || c == ','; }, ' ');
        std::stringstream read(part);
        for (double value = 0; read >> value;) {
            numbers.push_back(value);
        }
    }
    return all;
}

// Reads the arrays of vectors in a response, an array for each text.
std::vector<std::vector<std::vector<double>>> vectors_of_tokens(const std::string& response) {
    std::vector<std::vector<std::vector<double>>> all;
    for (std::size_t at = 0; (at = response.find("\"embedding\":[[", at)) != std::string::npos;) {
        at += 14; // past both brackets
        const auto end = response.find("]]", at);
        auto& vectors = all.emplace_back();
        std::stringstream parts(response.substr(at, end - at));
        for (std::string part; std::getline(parts, part, '[');) {
            std::replace_if(part.begin(), part.end(), [](char c) { return c == ']' || c == ','; }, ' ');
            std::stringstream read(part);
            std::vector<double> vector;
            for (double value = 0; read >> value;) {
                vector.push_back(value);
            }
            if (!vector.empty()) {
                vectors.push_back(std::move(vector));
            }
        }
    }
    return all;
}

double distance(const std::vector<double>& one, const std::vector<double>& other) {
    REQUIRE(one.size() == other.size());
    double most = 0;
    for (std::size_t i = 0; i < one.size(); ++i) {
        most = std::max(most, std::abs(one[i] - other[i]));
    }
    return most;
}

// Runs a stream to its end. Returns the response.
std::string response(Stream& stream, std::uint32_t tokens = 512) {
    for (int steps = 0; steps < 1000 && stream.answer.finish == SOTTO_FINISH_NONE; ++steps) {
        REQUIRE_MESSAGE(stream.step(tokens) == SOTTO_OK, stream.answer.why);
        REQUIRE_MESSAGE(stream.answer.status == SOTTO_OK, stream.answer.why);
    }
    CHECK(stream.work.remaining == 0);
    return text(stream.work.result);
}

std::vector<std::vector<double>> embed(Model& model, const std::string& request) {
    Stream stream(model, request, SOTTO_OP_EMBED);
    REQUIRE_MESSAGE(stream.handle != nullptr, stream.answer.why);
    return arrays(response(stream), "embedding");
}

std::string refusal(Model& model, const std::string& request, sotto_op op = SOTTO_OP_EMBED) {
    Stream stream(model, request, op);
    CHECK(stream.handle == nullptr);
    return stream.answer.why;
}

std::vector<std::string> texts_of(const std::vector<Expected>& all) {
    std::vector<std::string> texts;
    for (const auto& one : all) {
        texts.push_back(one.text);
    }
    return texts;
}

constexpr double kRounding = 1e-4; // ggml computes GELU in half precision

} // namespace

TEST_CASE("an encoder describes itself, and has the vectors that a forward pass in Python has") {
    Model model({.path = encoder("encoder.gguf")});
    REQUIRE_MESSAGE(model, model.why);
    CHECK(model.description.find(R"("pooling":"mean","dimensions":64)") != std::string::npos);
    CHECK(
        model.info.operations ==
        (SOTTO_OPERATION_EMBED | SOTTO_OPERATION_TOKENIZE | SOTTO_OPERATION_DETOKENIZE)
    );
    CHECK(model.info.context == 64);
    CHECK(model.info.kv == 0);
    CHECK(text(model.info.fingerprint).empty());
    const auto wanted = expected("vectors.tsv");
    REQUIRE(wanted.size() == 3);
    const auto vectors = embed(model, body(texts_of(wanted)));
    REQUIRE(vectors.size() == wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        CHECK(distance(vectors[i], wanted[i].values) < kRounding);
    }
    CHECK(take_log().empty());
}

TEST_CASE("a batch has the vectors of its texts one by one, whatever the steps are") {
    Model model({.path = encoder("encoder.gguf")});
    REQUIRE_MESSAGE(model, model.why);
    std::vector<std::string> texts;
    for (int i = 0; i < 150; ++i) {
        texts.push_back(
            i % 7 == 0 ? "moon" : "the king of night " + std::string(static_cast<std::size_t>(i % 20), 'x')
        );
    }
    const auto together = embed(model, body(texts));
    REQUIRE(together.size() == texts.size());
    Stream stream(model, body(texts), SOTTO_OP_EMBED);
    const auto in_steps = arrays(response(stream, 16), "embedding");
    CHECK(stream.answer.steps > 50);
    REQUIRE(in_steps.size() == texts.size());
    for (std::size_t i = 0; i < texts.size(); ++i) {
        CHECK(distance(together[i], in_steps[i]) < 1e-5);
        if (i % 10 == 0) {
            CHECK(distance(together[i], embed(model, body({texts[i]})).front()) < 1e-5);
        }
    }
}

TEST_CASE("streams share a batch, and a stream whose share is too small for a text saves up for it") {
    Model model({.path = encoder("encoder.gguf")});
    REQUIRE_MESSAGE(model, model.why);
    const std::string lengthy = "the king the queen the guard the gate the gold the night the moon the river";
    Stream shorter(model, body(std::vector<std::string>(40, "moon")), SOTTO_OP_EMBED);
    Stream longer(model, body({lengthy}), SOTTO_OP_EMBED);
    CHECK(longer.answer.prompt_tokens == 18);
    int steps = 0;
    while (longer.answer.finish == SOTTO_FINISH_NONE) {
        REQUIRE(step_together({&shorter, &longer}, 5) == SOTTO_OK);
        REQUIRE(++steps < 6);
    }
    CHECK(steps == 4);
    CHECK(shorter.answer.finish == SOTTO_FINISH_NONE);
    CHECK(
        distance(
            arrays(text(longer.work.result), "embedding").front(), embed(model, body({lengthy})).front()
        ) < 1e-5
    );
    CHECK(arrays(response(shorter), "embedding").size() == 40);
}

TEST_CASE("a request that must stand alone has the same bits in any company") {
    Model model({.path = encoder("encoder.gguf")});
    REQUIRE_MESSAGE(model, model.why);
    const auto request = body({"the king is gold", "moon"});
    Stream one(model, request, SOTTO_OP_EMBED, SOTTO_STREAM_ALONE);
    const auto alone = response(one);
    Stream other(model, body(std::vector<std::string>(9, "the guard")), SOTTO_OP_EMBED);
    Stream two(model, request, SOTTO_OP_EMBED, SOTTO_STREAM_ALONE);
    REQUIRE(step_together({&other, &two}, 512) == SOTTO_OK);
    CHECK(text(two.work.result) == alone);
}

TEST_CASE("a cancelled step leaves its streams as they were, or keeps the batches that it completed") {
    Model model({.path = encoder("encoder.gguf")});
    REQUIRE_MESSAGE(model, model.why);
    Stream stream(model, body(std::vector<std::string>(400, "the king is gold")), SOTTO_OP_EMBED);
    CHECK(stream.step(4000, [] { return true; }) == SOTTO_ERROR_CANCELLED);
    CHECK(stream.work.evaluated == 0);
    int asked = 0;
    CHECK(stream.step(4000, [&] {
        return ++asked == 3;
    }) == SOTTO_ERROR_CANCELLED); // inside of the first batch
    CHECK(asked == 3);
    asked = 0;
    while (stream.work.evaluated == 0) { // until some later gate lies behind the first batch
        const auto last = asked + 50;
        asked = 0;
        stream.step(4000, [&] { return ++asked > last; });
    }
    CHECK(stream.work.remaining > 0);
    CHECK(arrays(response(stream), "embedding").size() == 400);
}

TEST_CASE("vectors are shortened, scaled to length 1 and coded as requested") {
    Model model({.path = encoder("encoder.gguf")});
    REQUIRE_MESSAGE(model, model.why);
    const auto whole = embed(model, body({"moon"})).front();
    const auto raw = embed(model, body({"moon"}, R"("normalize": false)")).front();
    const auto shorter = embed(model, body({"moon"}, R"("dimensions": 8)")).front();
    double squares = 0;
    double length = 0;
    for (std::size_t i = 0; i < whole.size(); ++i) {
        squares += whole[i] * whole[i];
        length += raw[i] * raw[i];
    }
    CHECK(squares == doctest::Approx(1).epsilon(1e-6));
    CHECK(std::sqrt(length) > 2);
    REQUIRE(shorter.size() == 8);
    CHECK(shorter[3] / shorter[0] == doctest::Approx(whole[3] / whole[0]).epsilon(1e-5));
    Stream stream(model, body({"moon"}, R"("encoding_format": "base64")"), SOTTO_OP_EMBED);
    const auto coded = response(stream);
    const auto begin = coded.find("\"embedding\":\"") + 13;
    CHECK(coded.find('"', begin) - begin == (64 * 4 + 2) / 3 * 4);
    CHECK(coded.find(R"("usage":{"prompt_tokens":3,"total_tokens":3})") != std::string::npos);
    CHECK(refusal(model, body({"moon"}, R"("dimensions": 65)"))
              .starts_with("invalid dimensions '65': expected 1 to 64"));
}

TEST_CASE("input may be tokens; a text longer than the context is refused, or truncated") {
    Model model({.path = encoder("encoder.gguf")});
    REQUIRE_MESSAGE(model, model.why);
    const auto of_text = embed(model, body({"the moon"})).front();
    CHECK(embed(model, R"({"input": [2, 5, 12, 3]})").front() == of_text);
    const auto both = embed(model, R"({"input": [[2, 5, 12, 3], [2, 3]]})");
    CHECK(both.front().size() == both.back().size());
    CHECK(refusal(model, R"({"input": [2, 5000000, 3]})")
              .starts_with("invalid input[1] '5000000': expected a token"));
    std::string lengthy;
    for (int i = 0; i < 70; ++i) {
        lengthy += "moon ";
    }
    CHECK(
        refusal(model, body({"a", lengthy})).starts_with("invalid input[1] of 72 tokens: expected at most 64")
    );
    Stream cut(model, body({lengthy}, R"("truncate": true)"), SOTTO_OP_EMBED);
    CHECK(cut.answer.prompt_tokens == 64);
    CHECK(embed(model, body({""})).front().size() == 64);
    Stream huge(model, body({std::string(1 << 20, 'x') + " moon"}, R"("truncate": true)"), SOTTO_OP_EMBED);
    CHECK(huge.answer.status == SOTTO_OK);
}

TEST_CASE("a model with a classification head ranks documents as a forward pass in Python does") {
    Model model({.path = encoder("ranker.gguf")});
    REQUIRE_MESSAGE(model, model.why);
    CHECK((model.info.operations & SOTTO_OPERATION_RERANK) != 0);
    CHECK((model.info.operations & SOTTO_OPERATION_EMBED) == 0);
    const auto wanted = expected("scores.tsv");
    std::string documents;
    for (const auto& one : wanted) {
        documents += (documents.empty() ? "\"" : ", \"") + one.text + "\"";
    }
    const auto request = R"({"query": "queen gold", "documents": [)" + documents + "]";
    Stream stream(model, request + "}", SOTTO_OP_RERANK);
    const auto ranked = response(stream);
    const auto scores = arrays(ranked, "relevance_score");
    const auto indices = arrays(ranked, "index");
    REQUIRE(scores.size() == 3);
    CHECK(scores[0][0] >= scores[1][0]);
    CHECK(scores[1][0] >= scores[2][0]);
    for (std::size_t i = 0; i < 3; ++i) {
        const auto index = static_cast<std::size_t>(indices[i][0]);
        CHECK(scores[i][0] == doctest::Approx(wanted[index].values[0]).epsilon(0.01));
    }
    Stream best(model, request + R"(, "top_n": 1, "return_documents": true})", SOTTO_OP_RERANK);
    const auto top = response(best);
    CHECK(arrays(top, "relevance_score").size() == 1);
    CHECK(top.find(R"("document":{"text":")") != std::string::npos);
    const auto lengthy = R"({"query": "queen", "documents": ["moon", ")" + std::string(300, 'x') + R"("]})";
    CHECK(refusal(model, lengthy, SOTTO_OP_RERANK).starts_with("invalid documents[1] of "));
    const auto cut = lengthy.substr(0, lengthy.size() - 1) + R"(, "truncate": true})";
    CHECK(Stream(model, cut, SOTTO_OP_RERANK).answer.prompt_tokens > 32);
    CHECK(refusal(model, body({"a"})).find("it ranks documents") != std::string::npos);
}

TEST_CASE("models that cannot embed as requested are refused, and NaN fails only the request") {
    CHECK(Model({.path = encoder("no-pooling.gguf")}).why.find("set options.pooling") != std::string::npos);
    CHECK(Model({.path = encoder("no-pooling.gguf"), .options = R"({"pooling": "cls"})"}).why.empty());
    CHECK(
        Model({.options = R"({"pooling": "rank"})"}).why.find("no classification head") != std::string::npos
    );
    CHECK(Model({.options = R"({"pooling": "max"})"}).why.starts_with("invalid options.pooling 'max'"));
    CHECK(
        Model({.path = tiny("tiny-recurrent.gguf"), .options = R"({"pooling": "mean"})"})
            .why.find("recurrent") != std::string::npos
    );
    CHECK(Model({.options = R"({"pooling": "mean", "speculative": "lookup"})"})
              .why.starts_with("options.speculative"));
    Model damaged({.path = encoder("nan.gguf")});
    REQUIRE_MESSAGE(damaged, damaged.why);
    Stream stream(damaged, body({"moon"}), SOTTO_OP_EMBED);
    CHECK(stream.step() == SOTTO_OK);
    CHECK(stream.answer.status == SOTTO_ERROR_INFERENCE);
    CHECK(stream.answer.why.find("NaN") != std::string::npos);
    Model model({.path = encoder("encoder.gguf")});
    CHECK(
        refusal(model, chat("hi"), SOTTO_OP_CHAT).find("cannot chat, it embeds texts") != std::string::npos
    );
}

TEST_CASE("without pooling, each token of a text has a vector, and their mean is that of mean pooling") {
    Model tokens({.path = encoder("encoder.gguf"), .options = R"({"pooling": "none"})"});
    Model means({.path = encoder("encoder.gguf"), .options = R"({"pooling": "mean"})"});
    REQUIRE_MESSAGE(tokens, tokens.why);
    CHECK(tokens.description.find(R"("pooling":"none","dimensions":64)") != std::string::npos);
    const auto request = body({"the moon", "moon"}, R"("normalize": false)");
    Stream stream(tokens, request, SOTTO_OP_EMBED);
    CHECK(stream.answer.prompt_tokens == 7);
    const auto told = response(stream);
    const auto wanted = embed(means, request);
    const auto parsed = vectors_of_tokens(told);
    REQUIRE(parsed.size() == 2);
    for (std::size_t i = 0; i < 2; ++i) {
        const auto& vectors = parsed[i];
        REQUIRE(vectors.size() == 4 - i);
        std::vector<double> mean(64);
        for (const auto& vector : vectors) {
            REQUIRE(vector.size() == 64);
            for (std::size_t k = 0; k < 64; ++k) {
                mean[k] += vector[k] / static_cast<double>(vectors.size());
            }
        }
        CHECK(distance(mean, wanted[i]) < 1e-5);
    }
    Stream coded(tokens, body({"moon"}, R"("encoding_format": "base64", "dimensions": 8)"), SOTTO_OP_EMBED);
    const auto texts = response(coded);
    const auto begin = texts.find("\"embedding\":[\"") + 14;
    CHECK(texts.find('"', begin) - begin == (8 * 4 + 2) / 3 * 4);
    CHECK(std::count(texts.begin(), texts.end(), '=') == 3); // three texts, each of 32 bytes
}

TEST_CASE("without pooling, a request with too many tokens is refused") {
    Model model({.path = encoder("encoder.gguf"), .options = R"({"pooling": "none"})"});
    REQUIRE_MESSAGE(model, model.why);
    const std::string lengthy = "the king the queen the guard the gate the gold the night the moon the river";
    const auto many = std::vector<std::string>((8u << 20) / 64 / 18 + 1, lengthy);
    CHECK(
        refusal(model, body(many)).find("tokens: expected at most 131072 where options.pooling") !=
        std::string::npos
    );
}

TEST_CASE("a model that generates text embeds with a pooling, each text apart from the others") {
    for (const char* pooling : {"mean", "last"}) {
        Model model({.options = R"({"pooling": ")" + std::string(pooling) + "\"}"});
        REQUIRE_MESSAGE(model, model.why);
        const auto two = embed(model, body({"who is the king", "the moon"}));
        CHECK(distance(two[1], embed(model, body({"the moon"})).front()) < 1e-4);
        CHECK(distance(two[0], two[1]) > 1e-3);
    }
}
