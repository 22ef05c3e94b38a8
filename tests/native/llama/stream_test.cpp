// Streams: their answers, independent of how they are stepped.
#include "module_under_test.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <functional>

using namespace under_test;

namespace {

constexpr std::uint32_t kTokens = 24;

const char* const kQuestions[] = {
    "who is the king of the river",
    "what is the song of the moon",
    "where was the gold sword",
    "a queen and a guard in the night"
};

std::string
answer(Model& model, const std::string& body, sotto_op op = SOTTO_OP_CHAT, std::uint32_t chunk = 512) {
    Stream stream(model, body, op);
    stream.run(kTokens, chunk);
    CHECK_MESSAGE(stream.answer.status == SOTTO_OK, stream.answer.why);
    return stream.answer.text;
}

std::string fresh_answer(const char* file, const std::string& body, std::uint32_t chunk = 512) {
    Model model({.path = tiny(file)});
    REQUIRE_MESSAGE(model, model.why);
    return answer(model, body, SOTTO_OP_CHAT, chunk);
}

std::string words(std::size_t count) {
    std::string text;
    for (std::size_t i = 0; i < count; ++i) {
        text += i % 3 == 0 ? "the king " : i % 3 == 1 ? "of gold " : "where river ";
    }
    return text;
}

} // namespace

TEST_CASE("greedy answers are reproducible") {
    for (const char* file :
         {"tiny.gguf", "tiny-q4.gguf", "tiny-window.gguf", "tiny-recurrent.gguf", "tiny-hybrid.gguf"}) {
        CAPTURE(file);
        const auto first = fresh_answer(file, chat(kQuestions[0]));
        CHECK(!first.empty());
        CHECK(fresh_answer(file, chat(kQuestions[0])) == first);
        CHECK(fresh_answer(file, chat(kQuestions[0]), 3) == first); // in small chunks
    }
}

TEST_CASE("a step prefills at most its limit of prompt tokens, and reports them") {
    Model model;
    Stream stream(model, chat(kQuestions[0]));
    const auto all = stream.answer.prompt_tokens;
    REQUIRE(all > 20);
    REQUIRE(stream.step(7) == SOTTO_OK);
    CHECK(stream.work.evaluated == 7);
    CHECK(stream.work.remaining == all - 7);
    CHECK(stream.work.generated == 0);
    REQUIRE(stream.step(0) == SOTTO_OK);
    CHECK(stream.work.evaluated == 0);
    REQUIRE(stream.step(1000) == SOTTO_OK);
    CHECK(stream.work.evaluated == all - 7);
    CHECK(stream.work.remaining == 0);
    CHECK(stream.work.generated == 1);
    CHECK(stream.work.text.size > 0);
    REQUIRE(stream.step(0) == SOTTO_OK); // a limit of 0 is ignored once the prompt is finished
    CHECK(stream.work.evaluated == 0);
    CHECK(stream.work.generated == 1);
}

TEST_CASE("a cached prefix saves prefill and changes no answer") {
    for (const char* file : {"tiny.gguf", "tiny-window.gguf", "tiny-recurrent.gguf", "tiny-hybrid.gguf"}) {
        CAPTURE(file);
        const auto cold = fresh_answer(file, chat(kQuestions[0]));
        Model model({.path = tiny(file)});
        Stream first(model, chat(kQuestions[0]));
        CHECK(first.answer.cached_tokens == 0);
        CHECK(first.run(kTokens).text == cold);
        const auto prompt = first.answer.prompt_tokens;
        first.close();

        Stream again(model, chat(kQuestions[0]));
        CHECK(again.answer.prompt_tokens == prompt);
        const std::string name = file;
        const bool can_be_cut = name != "tiny-recurrent.gguf" && name != "tiny-hybrid.gguf";
        CHECK(again.answer.cached_tokens == (can_be_cut ? prompt - 1 : 0));
        CHECK(again.run(kTokens).text == cold);
    }
}

TEST_CASE("a continued conversation is served from the cache") {
    Model model;
    Stream first(model, completion(words(20)), SOTTO_OP_COMPLETION);
    first.run(8);
    const auto prompt = first.answer.prompt_tokens;
    first.close();
    Stream next(model, completion(words(28)), SOTTO_OP_COMPLETION);
    CHECK(next.answer.cached_tokens >= prompt - 2); // tokens may merge where the old prompt ends
    Model cold;
    CHECK(next.run(kTokens).text == answer(cold, completion(words(28)), SOTTO_OP_COMPLETION));
}

TEST_CASE("the slot with the longest cached prefix is chosen, else the least recently used") {
    Model model({.options = R"({"parallel": 2})"});
    Stream(model, chat(kQuestions[0])).run(2);
    Stream(model, chat(kQuestions[1])).run(2);
    CHECK(Stream(model, chat(kQuestions[0])).answer.cached_tokens > 20);
    CHECK(Stream(model, chat(kQuestions[1])).answer.cached_tokens > 20);
    Stream(model, completion("z"), SOTTO_OP_COMPLETION).run(1); // takes the slot of question 0
    CHECK(Stream(model, chat(kQuestions[1])).answer.cached_tokens > 20);
}

TEST_CASE("streams stepped together answer as alone") {
    for (const char* file :
         {"tiny.gguf", "tiny-q4.gguf", "tiny-window.gguf", "tiny-recurrent.gguf", "tiny-hybrid.gguf"}) {
        CAPTURE(file);
        Model model({.path = tiny(file)});
        std::vector<std::unique_ptr<Stream>> streams;
        std::vector<Stream*> all;
        for (const char* question : kQuestions) {
            streams.push_back(std::make_unique<Stream>(model, chat(question)));
            all.push_back(streams.back().get());
        }
        for (int i = 0; i < 60; ++i) { // prompts of different lengths in chunks of 5, then answers
            std::vector<Stream*> going;
            for (auto* stream : all) {
                if (stream->answer.finish == SOTTO_FINISH_NONE && stream->answer.tokens < kTokens) {
                    going.push_back(stream);
                }
            }
            if (going.empty()) {
                break;
            }
            REQUIRE(step_together(going, 5) == SOTTO_OK);
        }
        // Rounding depends on the batch's shape, so a few answers may differ.
        std::size_t same = 0;
        for (std::size_t i = 0; i < all.size(); ++i) {
            const auto alone = fresh_answer(file, chat(kQuestions[i]));
            same += all[i]->answer.text == alone;
            CHECK(all[i]->answer.text.substr(0, 2) == alone.substr(0, 2));
        }
        CHECK(same >= 3);
    }
}

TEST_CASE("a step too large for the batch does the part that fits") {
    Model model({.options = R"({"batch": 16})"});
    Stream one(model, chat(kQuestions[0]));
    Stream two(model, chat(kQuestions[1]));
    REQUIRE(step_together({&one, &two}, 500) == SOTTO_OK);
    CHECK(one.work.evaluated == 16);
    CHECK(two.work.evaluated == 0);
    const auto first = one.run(kTokens).text;
    const auto second = two.run(kTokens).text;
    Model other;
    CHECK(first == answer(other, chat(kQuestions[0])));
    CHECK(second == answer(other, chat(kQuestions[1])));
}

TEST_CASE("the gate aborts a step at any point, and nothing is lost") {
    take_log();
    for (const char* file : {"tiny.gguf", "tiny-window.gguf", "tiny-recurrent.gguf", "tiny-hybrid.gguf"}) {
        CAPTURE(file);
        const auto undisturbed = fresh_answer(file, chat(kQuestions[0]));
        Model model({.path = tiny(file)});
        Stream stream(model, chat(kQuestions[0]));
        int stops = 0;
        for (int after = 0; stream.answer.tokens < kTokens && stream.answer.finish == SOTTO_FINISH_NONE;
             ++after) {
            int asked = 0;
            const auto status = stream.step(9, [&] { return asked++ == after % 50; });
            if (status == SOTTO_ERROR_CANCELLED) {
                ++stops;
                CHECK(stream.work.evaluated == 0);
                CHECK(stream.work.generated == 0);
                while (stream.step(9) == SOTTO_OK && stream.work.remaining > 0) {
                }
                continue;
            }
            REQUIRE(status == SOTTO_OK);
        }
        CHECK(stops > 5);
        CHECK(stream.answer.text == undisturbed);
    }
    const auto log = take_log();
    CHECK_MESSAGE(log.empty(), log.front()); // an aborted step is not logged as an error
}

TEST_CASE("the gate is polled often") {
    Model model;
    Stream stream(model, chat(kQuestions[0]));
    int asked = 0;
    REQUIRE(stream.step(512, [&] { return ++asked < 0; }) == SOTTO_OK);
    CHECK(asked > 20);
}

TEST_CASE("the number of threads may change between steps") {
    const auto one = fresh_answer("tiny.gguf", chat(kQuestions[0]));
    Model model;
    Stream stream(model, chat(kQuestions[0]));
    for (std::uint32_t i = 0; i < kTokens; ++i) {
        REQUIRE(stream.step(512, {}, 1 + i % 2) == SOTTO_OK);
    }
    CHECK(stream.answer.text == one);
}

TEST_CASE("an end token of the model ends the answer") {
    Model model({.options = R"({"parallel": 1})"});
    for (int seed = 0; seed < 60; ++seed) { // 400 random tokens are likely to include an end token
        Stream stream(
            model,
            chat(
                "a",
                R"("temperature": 5, "top_k": 0, "top_p": 1, "min_p": 0, "seed": )" + std::to_string(seed)
            )
        );
        stream.run(450);
        if (stream.answer.finish == SOTTO_FINISH_STOP) {
            CHECK(stream.work.generated == 0);
            CHECK(stream.work.text.size == 0);
            REQUIRE(stream.step() == SOTTO_OK); // another step is harmless
            CHECK(stream.work.finish == SOTTO_FINISH_STOP);
            return;
        }
    }
    FAIL("no answer ended");
}

TEST_CASE("a stream fills its context exactly") {
    Model model({.options = R"({"context": 64})"});
    for (int seed = 0; seed < 20; ++seed) {
        Stream stream(model, completion("the", R"("seed": )" + std::to_string(seed)), SOTTO_OP_COMPLETION);
        stream.run(1000);
        CHECK(stream.answer.status == SOTTO_OK);
        if (stream.answer.finish == SOTTO_FINISH_LENGTH) {
            CHECK(stream.answer.prompt_tokens + stream.answer.tokens == 65); // the last is not cached
            return;
        }
    }
    FAIL("every answer ended before");
}

TEST_CASE("a prompt that exceeds the context is refused with both numbers") {
    Model model({.options = R"({"context": 64})"});
    Stream stream(model, completion(words(60)), SOTTO_OP_COMPLETION);
    CHECK(stream.answer.status == SOTTO_ERROR_INFERENCE);
    CHECK(stream.answer.why.find("context holds 64") != std::string::npos);
    Stream huge(model, completion(std::string(1 << 20, 'z')), SOTTO_OP_COMPLETION);
    CHECK(huge.answer.status == SOTTO_ERROR_INFERENCE);
    CHECK(huge.answer.why.find("more than") != std::string::npos);
    CHECK(Stream(model, completion(""), SOTTO_OP_COMPLETION).answer.prompt_tokens == 1); // the BOS token
}

TEST_CASE("a word of extreme length does not crash the process") {
    Model model({.path = tiny("tiny-bytes.gguf")});
    REQUIRE_MESSAGE(model, model.why);
    for (const char* unit : {"a", " ", "1", ".", "\xC3\xA9", "\xE5\xA5\xBD"}) {
        CAPTURE(unit);
        std::string word;
        while (word.size() < 100'000) {
            word += unit;
        }
        Stream stream(model, chat(word));
        CHECK(stream.answer.status == SOTTO_ERROR_INFERENCE);
        CHECK_MESSAGE(stream.answer.why.find("context holds 512") != std::string::npos, stream.answer.why);
    }
    CHECK(!answer(model, chat("the king")).empty());
    CHECK(
        Stream(model, chat("a<|im_end|>")).answer.prompt_tokens >
        Stream(model, chat("a")).answer.prompt_tokens + 5
    );
}

TEST_CASE("opening more streams than slots is refused") {
    Model model({.options = R"({"parallel": 1})"});
    Stream one(model, chat("a"));
    Stream two(model, chat("a"));
    CHECK(two.answer.status == SOTTO_ERROR_STATE);
}

TEST_CASE("a seed makes sampling reproducible") {
    Model model;
    const auto body = chat(kQuestions[0], R"("temperature": 1.5, "top_p": 1, "seed": 42)");
    const auto other = chat(kQuestions[0], R"("temperature": 1.5, "top_p": 1, "seed": 43)");
    const auto random = chat(kQuestions[0], R"("temperature": 1.5, "top_p": 1)");
    const auto text = answer(model, body);
    CHECK(answer(model, body) == text);
    CHECK(answer(model, other) != text);
    CHECK(answer(model, random) != answer(model, random));
}

// Formats are cached between requests.
TEST_CASE("answers have the requested format, whatever was requested before") {
    const std::string forms[] = {
        R"("json_schema": {"enum": ["gold", "iron", "wood"]})",
        R"("json_schema": {"type": "array", "items": {"type": "boolean"}, "minItems": 2, "maxItems": 2})",
        R"("grammar": "root ::= \"yes\" | \"no\"")",
        R"("temperature": 0)",
    };
    const auto held = [](Model& model, const std::string& form, sotto_op op) {
        const auto how = form + R"(, "seed": 7, "cache_prompt": false)";
        return answer(model, op == SOTTO_OP_CHAT ? chat("So?", how) : completion("So?", how), op);
    };
    Model model;
    for (const auto op : {SOTTO_OP_CHAT, SOTTO_OP_COMPLETION}) {
        std::vector<std::string> alone;
        for (const auto& form : forms) {
            Model fresh;
            alone.push_back(held(fresh, form, op));
        }
        if (op == SOTTO_OP_COMPLETION) { // a chat template may add text around a value
            CHECK((alone[0] == R"("gold")" || alone[0] == R"("iron")" || alone[0] == R"("wood")"));
            CHECK(alone[1].starts_with("["));
        }
        CHECK((alone[2] == "yes" || alone[2] == "no"));
        for (int again = 0; again < 2; ++again) {
            for (std::size_t i = 0; i < alone.size(); ++i) {
                CHECK(held(model, forms[i], op) == alone[i]);
            }
        }
    }
}

TEST_CASE("user text is never tokenized as special tokens") {
    Model model;
    const auto plain = Stream(model, chat("a")).answer.prompt_tokens;
    Stream injected(model, chat("a<|im_end|>"));
    CHECK(injected.answer.prompt_tokens > plain + 5); // tokenized as text, instead of as one special token
    CHECK(injected.run(4).status == SOTTO_OK);
    Stream own(
        model, completion("a<|im_end|>"), SOTTO_OP_COMPLETION
    ); // a raw prompt may contain special tokens
    CHECK(own.answer.prompt_tokens == 3);
}

TEST_CASE("the BOS token is added once") {
    Model model;
    CHECK(Stream(model, completion("a"), SOTTO_OP_COMPLETION).answer.prompt_tokens == 2);
    CHECK(Stream(model, completion("<s>a"), SOTTO_OP_COMPLETION).answer.prompt_tokens == 2);
}

TEST_CASE("message content may be an array of parts, which must be text") {
    Model model;
    const auto whole = Stream(model, chat("the king")).answer.prompt_tokens;
    Stream parts(
        model, R"({"messages": [{"role": "user", "content": [{"type": "text", "text": "the king"}]}]})"
    );
    CHECK(parts.answer.prompt_tokens == whole);
    Stream image(model, R"({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]})");
    CHECK(image.answer.status == SOTTO_ERROR_UNSUPPORTED);
    CHECK(image.answer.why.find("messages[0]") != std::string::npos);
    CHECK(image.answer.why.find("image_url") != std::string::npos);
}

TEST_CASE("a model without a chat template answers only text completions") {
    Model model({.path = tiny("tiny-text.gguf")});
    Stream talk(model, chat("a"));
    CHECK(talk.answer.status == SOTTO_ERROR_UNSUPPORTED);
    CHECK(talk.answer.why.find("no chat template") != std::string::npos);
    CHECK(!answer(model, completion("the king"), SOTTO_OP_COMPLETION).empty());
}

TEST_CASE("an invalid request does not affect others") {
    Model model;
    CHECK(Stream(model, "{").answer.status < 0);
    CHECK(Stream(model, "{}").answer.status < 0);
    CHECK(Stream(model, R"({"prompt": 3})", SOTTO_OP_COMPLETION).answer.status == SOTTO_ERROR_ARGUMENT);
    CHECK(Stream(model, chat("a"), 99).answer.status == SOTTO_ERROR_UNSUPPORTED);
    CHECK(!answer(model, chat(kQuestions[0])).empty());
}

TEST_CASE("alternatives are returned in order of probability") {
    Model model;
    for (const std::size_t count : {0, 1, 5, 20}) {
        Stream stream(
            model,
            chat(
                kQuestions[0],
                R"("temperature": 0, "logprobs": true, "top_logprobs": )" + std::to_string(count)
            )
        );
        stream.run(1);
        const auto told = text(stream.work.logprobs);
        std::vector<double> logprobs; // of the chosen token, then of each alternative
        const std::string key = R"("logprob":)";
        for (auto at = told.find(key); at != std::string::npos; at = told.find(key, at + 1)) {
            logprobs.push_back(std::stod(told.substr(at + key.size())));
        }
        REQUIRE(logprobs.size() == 1 + count);
        CHECK(std::is_sorted(logprobs.begin(), logprobs.end(), std::greater<>()));
        CHECK((count == 0 || logprobs[0] == logprobs[1])); // greedy: the most likely token was chosen
    }
}
