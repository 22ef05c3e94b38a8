// Speculative decoding: it saves steps, and changes no answer.
#include "module_under_test.hpp"
#include "support/paths.hpp"

#include <doctest/doctest.h>

using namespace under_test;

namespace {

const char* const kPlain = R"({"context": 400})";
const char* const kGuessing = R"({"context": 400, "speculative": "lookup"})";

// A repetitive text, of which many tokens can be drafted.
std::string song(int verses) {
    std::string text;
    for (int i = 0; i < verses; ++i) {
        text += "the moon of the river and the gold of the king ";
    }
    return text;
}

struct Said {
    std::vector<std::string> texts; // text of each token
    std::vector<std::string> logprobs;
    sotto_finish finish = SOTTO_FINISH_NONE;
    sotto_status status = SOTTO_OK;
    int instant = 0; // tokens returned without computing
};

// Steps a stream. Apart from one at the start, gates are checked only where it computes.
Said say(Stream& stream, std::uint32_t most) {
    Said said;
    REQUIRE_MESSAGE(stream.handle != nullptr, stream.answer.why);
    while (stream.answer.finish == SOTTO_FINISH_NONE && said.texts.size() < most && said.status == SOTTO_OK) {
        int asked = 0;
        REQUIRE(stream.step(512, [&] { return ++asked < 0; }) == SOTTO_OK);
        said.status = stream.work.status;
        if (stream.work.generated == 1) {
            said.texts.push_back(text(stream.work.text));
            said.logprobs.push_back(text(stream.work.logprobs));
            said.instant += asked == 1;
        }
    }
    said.finish = stream.answer.finish;
    return said;
}

Said say(const char* options, const std::string& body, std::uint32_t most, const std::string& path = tiny()) {
    Model model({.path = path, .options = options});
    REQUIRE_MESSAGE(model, model.why);
    Stream stream(model, body, SOTTO_OP_COMPLETION);
    return say(stream, most);
}

// Options of a model with a draft model.
std::string drafted_by(const std::string& path, const std::string& more = "") {
    return R"({"context": 400, "draft": ")" + path + "\"" + more + "}";
}

// Checks that the answers are the same. Returns the number of accepted draft tokens.
int count_guessed(
    const std::string& body,
    std::uint32_t most,
    const std::string& path = tiny(),
    const std::string& guessing = kGuessing
) {
    CAPTURE(body);
    CAPTURE(guessing);
    const auto plain = say(kPlain, body, most, path);
    const auto guessed = say(guessing.c_str(), body, most, path);
    CHECK(plain.instant == 0);
    CHECK(guessed.texts == plain.texts);
    CHECK(guessed.finish == plain.finish);
    CHECK(guessed.status == plain.status);
    for (std::size_t i = 0; i < guessed.logprobs.size() && i < plain.logprobs.size(); ++i) {
        const auto token = [](const std::string& told) { return told.substr(0, told.find("logprob\"")); };
        CHECK(token(guessed.logprobs[i]) == token(plain.logprobs[i])); // the values are rounded
        CHECK(guessed.logprobs[i].empty() == plain.logprobs[i].empty());
    }
    return guessed.instant;
}

// Checks that the answers are the same, and that some draft tokens were accepted.
void check_same(
    const std::string& body,
    std::uint32_t most,
    const std::string& path = tiny(),
    const std::string& guessing = kGuessing
) {
    CHECK(count_guessed(body, most, path, guessing) > 0);
}

} // namespace

TEST_CASE("greedy answers are the same with speculative decoding") {
    check_same(completion(song(6), R"("temperature": 0, "ignore_eos": true)"), 150);
    check_same(completion("the king", R"("temperature": 0, "ignore_eos": true)"), 150);
    check_same(completion(song(3), R"("temperature": 0, "ignore_eos": true)"), 120, house());
}

TEST_CASE("with a draft model, the answer is the same") {
    const auto all = R"("temperature": 0, "ignore_eos": true)";
    const auto looks_up = R"(, "speculative": "lookup")";
    for (const auto& options : {drafted_by(tiny()), drafted_by(tiny(), looks_up)}) {
        check_same(completion("the king", all), 120, tiny(), options);
        check_same(completion(song(20), all), 1000, tiny(), options); // longer than one batch
        check_same(
            completion(song(6), std::string(all) + R"(, "context_overflow": "shift", "n_keep": 30)"),
            500,
            tiny(),
            options
        );
    }
    check_same(completion(song(3), all), 100, house(), drafted_by(house()));
}

TEST_CASE("a bad draft model changes no answer, and is used rarely") {
    const auto body = completion(song(2), R"("temperature": 0, "ignore_eos": true)");
    const auto plain = say(kPlain, body, 200);
    const auto guessed = say(drafted_by(tiny("tiny-twin.gguf")).c_str(), body, 200);
    CHECK(guessed.texts == plain.texts);
    CHECK(guessed.instant < 100);
}

TEST_CASE("the gate aborts a step during drafting, and streams may open and close") {
    const auto body = completion(song(6), R"("temperature": 0, "ignore_eos": true)");
    const auto plain = say(kPlain, body, 60);
    Model model({.options = drafted_by(tiny(), R"(, "parallel": 1)")});
    REQUIRE_MESSAGE(model, model.why);
    take_log();
    for (int answer = 0; answer < 3; ++answer) {
        Stream stream(model, body, SOTTO_OP_COMPLETION);
        std::vector<std::string> texts;
        for (int after = 0; texts.size() < 60; ++after) {
            REQUIRE(after < 2000);
            int asked = 0;
            const auto status = stream.step(512, [&] { return after % 2 == 0 && asked++ == after % 60; });
            if (status == SOTTO_OK && stream.work.generated == 1) {
                texts.push_back(text(stream.work.text));
            }
        }
        CHECK(texts == plain.texts);
        stream.close();
        Stream(model, completion("who was the moon"), SOTTO_OP_COMPLETION).run(5);
    }
    const auto log = take_log();
    CHECK_MESSAGE(log.empty(), log.front());
}

TEST_CASE("an unsuitable draft model is refused by name, and a suitable one is charged") {
    const auto refused = [](const std::string& path, const std::string& draft) {
        Model model({.path = path, .options = drafted_by(draft)});
        CHECK_MESSAGE(model.why.find("options.draft") != std::string::npos, model.why);
        return model.status;
    };
    CHECK(refused(tiny(), tiny("tiny-bytes.gguf")) == SOTTO_ERROR_ARGUMENT); // another vocabulary
    CHECK(refused(tiny(), tiny("tiny-recurrent.gguf")) == SOTTO_ERROR_UNSUPPORTED);
    CHECK(refused(tiny("tiny-recurrent.gguf"), tiny()) == SOTTO_ERROR_UNSUPPORTED);
    CHECK(refused(tiny(), tiny("there-is-none.gguf")) == SOTTO_ERROR_NOT_FOUND);
    CHECK(refused(tiny(), test::paths::kLlamaModule) == SOTTO_ERROR_MODEL);
    Model plain({.options = kPlain});
    Model drafted({.options = drafted_by(tiny())});
    CHECK(drafted.info.weights > plain.info.weights); // a draft model needs no texts of tokens
    CHECK(drafted.info.weights <= 2 * plain.info.weights);
    CHECK(drafted.info.kv == 2 * plain.info.kv);
    auto measured = SOTTO_INIT(sotto_model_info);
    std::string why;
    REQUIRE(measure({.options = drafted_by(tiny())}, measured, why) == SOTTO_OK);
    CHECK(measured.kv == drafted.info.kv);
    CHECK(measured.compute == drafted.info.compute);
}

TEST_CASE("log probabilities are returned with each accepted draft token") {
    check_same(completion(song(6), R"("temperature": 0, "ignore_eos": true, "logprobs": 3)"), 100);
}

TEST_CASE("sampling, penalties and grammars choose as without speculation") {
    int guessed = 0; // summed over all seeds: what one seed draws depends on the CPU's rounding
    for (int seed = 1; seed <= 8; ++seed) {
        const auto drawn = R"("temperature": 0.1, "ignore_eos": true, "seed": )" + std::to_string(seed);
        guessed += count_guessed(completion(song(6), drawn), 100);
    }
    CHECK(guessed > 0);
    check_same(completion(song(6), R"("temperature": 0, "presence_penalty": 0.01, "ignore_eos": true)"), 100);
    check_same(
        completion(song(6), R"("temperature": 0, "grammar": "root ::= (\"the \" | \"moon \")+")"), 100
    );
    check_same(
        completion(
            song(6),
            R"("temperature": 0, "json_schema": {"type": "array", "items": {"enum": ["gold", "iron"]}, "minItems": 9, "maxItems": 9})"
        ),
        200
    );
}

TEST_CASE("drafting stops at the end of the context, and continues after a shift") {
    const auto all = R"("temperature": 0, "ignore_eos": true)";
    const auto plain = say(kPlain, completion(song(6), all), 1000);
    CHECK(plain.finish == SOTTO_FINISH_LENGTH);
    check_same(completion(song(6), all), 1000);
    check_same(completion(song(6), std::string(all) + R"(, "context_overflow": "shift", "n_keep": 30)"), 500);
}

TEST_CASE("the gate aborts a step with draft tokens at any point, and nothing is lost") {
    const auto body = completion(song(6), R"("temperature": 0, "ignore_eos": true)");
    const auto plain = say(kPlain, body, 100);
    Model model({.options = kGuessing});
    Stream stream(model, body, SOTTO_OP_COMPLETION);
    std::vector<std::string> texts;
    int stops = 0;
    for (int after = 0; texts.size() < 100; ++after) {
        REQUIRE(after < 2000);
        int asked = 0;
        const auto status = stream.step(512, [&] { return after % 3 == 0 && asked++ == after % 40; });
        stops += status == SOTTO_ERROR_CANCELLED;
        if (status == SOTTO_OK && stream.work.generated == 1) {
            texts.push_back(text(stream.work.text));
        }
    }
    CHECK(stops > 5);
    CHECK(texts == plain.texts);
}

TEST_CASE("accepted draft tokens are delivered after parking, and cached at the end") {
    const auto body = completion(song(6), R"("temperature": 0, "ignore_eos": true)");
    const auto plain = say(kPlain, body, 100);
    Model model({.options = R"({"context": 400, "parallel": 1, "speculative": "lookup"})"});
    Stream stream(model, body, SOTTO_OP_COMPLETION);
    std::vector<std::string> texts;
    for (int round = 0; texts.size() < 100; ++round) {
        REQUIRE(round < 300);
        REQUIRE(stream.step() == SOTTO_OK);
        if (stream.work.generated == 1) {
            texts.push_back(text(stream.work.text));
        }
        if (round % 5 == 4) {
            stream.park();
            if (round % 10 == 9) {
                Stream other(model, completion("who"), SOTTO_OP_COMPLETION);
                other.run(2);
            }
            stream.unpark();
            REQUIRE(stream.answer.status == SOTTO_OK);
        }
    }
    CHECK(texts == plain.texts);
    stream.run(120); // after it was restored
    stream.close();
    Stream again(model, body, SOTTO_OP_COMPLETION);
    CHECK(again.answer.cached_tokens == again.answer.prompt_tokens - 1);
    CHECK(say(again, 100).texts == plain.texts);
}

TEST_CASE("concurrent streams, and those with cache_prompt off, do not speculate") {
    const auto body = completion(song(6), R"("temperature": 0, "ignore_eos": true)");
    const auto plain = say(kPlain, body, 60);
    Model model({.options = kGuessing});
    Stream one(model, body, SOTTO_OP_COMPLETION);
    Stream two(model, completion(song(5), R"("temperature": 0, "ignore_eos": true)"), SOTTO_OP_COMPLETION);
    std::string whole;
    for (int i = 0; i < 62; ++i) {
        REQUIRE(step_together({&one, &two}, 512) == SOTTO_OK);
    }
    for (const auto& piece : plain.texts) {
        whole += piece;
    }
    CHECK(one.answer.text.substr(0, 40) == whole.substr(0, 40));
    two.close();
    Stream alone(model, body, SOTTO_OP_COMPLETION, SOTTO_STREAM_ALONE);
    const auto said = say(alone, 60);
    CHECK(said.instant == 0);
    CHECK(said.texts == plain.texts);
}

TEST_CASE("speculation is refused where it is impossible, and reported as configured") {
    for (const char* file : {"tiny-window.gguf", "tiny-recurrent.gguf", "tiny-hybrid.gguf"}) {
        Model model({.path = tiny(file), .options = kGuessing});
        CHECK(model.status == SOTTO_ERROR_UNSUPPORTED);
        CHECK(model.why.find("options.speculative") != std::string::npos);
    }
    CHECK(Model({.options = R"({"speculative": "off"})"}).status == SOTTO_OK);
    for (const char* options : {R"({"speculative": true})", R"({"speculative": "Lookup"})"}) {
        Model model({.options = options});
        CHECK(model.status == SOTTO_ERROR_ARGUMENT);
        CHECK(model.why.find(R"("off" or "lookup")") != std::string::npos);
    }
    Model narrow(
        {.options = R"({"parallel": 1, "batch": 1, "speculative": "lookup"})"}
    ); // no room for draft tokens
    Stream stream(narrow, completion("the king"), SOTTO_OP_COMPLETION);
    CHECK(stream.run(20).tokens == 20);
}
