// Images and sounds: their effect on answers, and their caching.
#include "media_files.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <memory>

using namespace under_test;

namespace {

// Probabilities of the first token.
std::string first_likelihoods(Model& model, const std::string& part) {
    Stream stream(model, shown(part, R"("temperature": 0, "logprobs": true, "top_logprobs": 5)"));
    REQUIRE_MESSAGE(stream.handle != nullptr, stream.answer.why);
    std::string told;
    while (stream.answer.tokens == 0) {
        REQUIRE(stream.step() == SOTTO_OK);
        REQUIRE_MESSAGE(stream.work.status == SOTTO_OK, text(stream.work.reason));
        told = text(stream.work.logprobs);
    }
    return told;
}

} // namespace

TEST_CASE("a model lists its kinds of input") {
    CHECK(Model().description.find(R"("vision":false,"audio":false)") != std::string::npos);
    Model model(seeing());
    REQUIRE_MESSAGE(model, model.why);
    CHECK(model.description.find(R"("vision":true,"audio":false)") != std::string::npos);
}

TEST_CASE("an image changes the answer, reproducibly") {
    for (const auto& source : {seeing(), seeing("tiny-window.gguf", "eyes-window.gguf"), seeing_rows()}) {
        CAPTURE(source.options);
        Model model(source);
        REQUIRE_MESSAGE(model, model.why);
        const auto red = first_likelihoods(model, kRed);
        CHECK(red.size() > 100);
        Model fresh(source);
        CHECK(first_likelihoods(fresh, kRed) == red);
        CHECK(first_likelihoods(fresh, kGreen) != red);
    }
}

TEST_CASE("an image is prefilled in chunks, and can be cancelled at any point") {
    for (const auto& source :
         {seeing(),
          seeing("tiny-window.gguf", "eyes-window.gguf"),
          seeing_rows(),
          seeing("tiny-recurrent.gguf"),
          seeing("tiny-hybrid.gguf")}) {
        CAPTURE(source.path);
        Model model(source);
        REQUIRE_MESSAGE(model, model.why);
        const auto undisturbed = answer_to(model, shown(kRed));
        Model other(source);
        CHECK(answer_to(other, shown(kRed), 5) == undisturbed);
        Model disturbed(source);
        take_log();
        Stream stream(disturbed, shown(kRed));
        int stops = 0;
        for (int after = 0; stream.answer.tokens < kTokens; ++after) {
            int asked = 0;
            const auto status = stream.step(6, [&] { return asked++ == after % 90; });
            if (status == SOTTO_ERROR_CANCELLED) {
                ++stops;
                CHECK(stream.work.evaluated == 0);
                CHECK(stream.work.generated == 0);
            } else {
                REQUIRE(status == SOTTO_OK);
                REQUIRE(stream.work.status == SOTTO_OK);
            }
        }
        CHECK(stops > 20);
        CHECK(stream.answer.text == undisturbed);
        const auto log = take_log();
        CHECK_MESSAGE(log.empty(), log.front());
    }
}

TEST_CASE("a stream with an image can be parked and restored at any point") {
    for (const auto& source :
         {seeing(),
          seeing("tiny-window.gguf", "eyes-window.gguf"),
          seeing_rows(),
          seeing("tiny-recurrent.gguf"),
          seeing("tiny-hybrid.gguf")}) {
        CAPTURE(source.path);
        Model model(source);
        REQUIRE_MESSAGE(model, model.why);
        const auto undisturbed = answer_to(model, shown(kRed), 7);
        for (int steps = 1; steps < 16; steps += 2) {
            CAPTURE(steps);
            Stream stream(model, shown(kRed, R"("temperature": 0, "cache_prompt": false)"));
            for (int i = 0; i < steps; ++i) {
                REQUIRE(stream.step(7) == SOTTO_OK);
            }
            stream.park();
            std::vector<std::unique_ptr<Stream>> others; // streams that occupy all slots
            for (std::uint32_t i = 0; i < model.info.streams; ++i) {
                others.push_back(std::make_unique<Stream>(model, shown(kGreen)));
                others.back()->run(2);
            }
            others.clear();
            stream.unpark();
            REQUIRE_MESSAGE(stream.answer.status == SOTTO_OK, stream.answer.why);
            CHECK(stream.run(kTokens, 7).text == undisturbed);
        }
    }
}

TEST_CASE("an image of another stream is shared together with the prefix before it") {
    for (const auto& source : {seeing(), seeing_rows()}) {
        CAPTURE(source.options);
        Model model(source);
        REQUIRE_MESSAGE(model, model.why);
        const auto undisturbed = answer_to(model, shown(kRed));
        Model other(source);
        Stream speaking(other, shown(kRed));
        speaking.run(3);
        Stream second(other, shown(kRed));
        CHECK(second.answer.cached_tokens == second.answer.prompt_tokens - 1);
        CHECK(second.run(kTokens).text == undisturbed);
        Stream third(other, shown(kGreen));
        CHECK(third.answer.cached_tokens < third.answer.prompt_tokens - kImageTokens);
        CHECK(third.run(kTokens).text == answer_to(model, shown(kGreen)));
        CHECK(speaking.run(kTokens).text == undisturbed);
    }
}

TEST_CASE("encoding an image checks the gate") {
    Model model(seeing());
    std::size_t asked_of_text = 0;
    std::size_t asked_of_image = 0;
    Stream stream(model, shown(kRed));
    while (stream.answer.tokens == 0) {
        std::size_t asked = 0;
        REQUIRE(stream.step(kImageTokens, [&] { return ++asked == 0; }) == SOTTO_OK);
        if (stream.work.evaluated == kImageTokens) { // layers of the encoder, then of the model
            asked_of_image = std::max(asked_of_image, asked);
        } else if (stream.work.evaluated > 1) {
            asked_of_text = std::max(asked_of_text, asked);
        }
    }
    CHECK(asked_of_text > 10);
    CHECK(asked_of_image > asked_of_text + asked_of_text / 2);
}

TEST_CASE("a cached image is reused, and another image is not mistaken for it") {
    for (const auto& source : {seeing(), seeing("tiny-window.gguf", "eyes-window.gguf"), seeing_rows()}) {
        CAPTURE(source.options);
        Model model(source);
        REQUIRE_MESSAGE(model, model.why);
        Stream first(model, shown(kRed));
        CHECK(first.answer.cached_tokens == 0);
        const auto text = first.run(kTokens).text;
        const auto prompt = first.answer.prompt_tokens;
        first.close();

        Stream again(model, shown(kRed));
        CHECK(again.answer.prompt_tokens == prompt);
        CHECK(again.answer.cached_tokens == prompt - 1);
        CHECK(again.run(kTokens).text == text);
        again.close();

        Stream other(model, shown(kGreen));
        CHECK(other.answer.cached_tokens < prompt - kImageTokens / 4);
        other.close();
        Model fresh(source);
        CHECK(answer_to(model, shown(kGreen)) == answer_to(fresh, shown(kGreen)));
    }
}

TEST_CASE("a conversation continues after an image, and after a second one") {
    Model model(seeing());
    Stream first(model, shown(kRed));
    first.run(4);
    const auto prompt = first.answer.prompt_tokens;
    first.close();
    const auto body = conversation(
        {message({kRed, kQuestion}),
         message({text_part("a king")}, "assistant"),
         message({kGreen, kQuestion})}
    );
    Stream next(model, body);
    CHECK(next.answer.cached_tokens >= prompt - 2);
    CHECK(next.answer.prompt_tokens > prompt + kImageTokens);
    Model fresh(seeing());
    CHECK(next.run(kTokens).text == answer_to(fresh, body));
}

TEST_CASE("streams with their own images decode concurrently") {
    Model model(seeing());
    const std::vector<std::string> bodies = {
        shown(kRed), shown(kGreen), chat("who is the king"), shown(kRed)
    };
    std::vector<std::unique_ptr<Stream>> streams;
    std::vector<Stream*> all;
    for (const auto& body : bodies) {
        streams.push_back(std::make_unique<Stream>(model, body));
        REQUIRE_MESSAGE(streams.back()->handle != nullptr, streams.back()->answer.why);
        all.push_back(streams.back().get());
    }
    for (int i = 0; i < 90; ++i) {
        std::vector<Stream*> going;
        for (auto* stream : all) {
            if (stream->answer.tokens < kTokens && stream->answer.finish == SOTTO_FINISH_NONE) {
                going.push_back(stream);
            }
        }
        if (going.empty()) {
            break;
        }
        REQUIRE(step_together(going, 7) == SOTTO_OK);
    }
    std::size_t same = 0; // rounding depends on the batch's shape
    for (std::size_t i = 0; i < all.size(); ++i) {
        Model fresh(seeing());
        CHECK(all[i]->answer.tokens > 0);
        same += all[i]->answer.text == answer_to(fresh, bodies[i]);
    }
    CHECK(same >= 3);
}

TEST_CASE("turns with images are dropped if the context is full") {
    Model model(seeing("tiny.gguf", "eyes.gguf", R"(, "context": 128)"));
    std::vector<std::string> messages;
    for (int i = 0; i < 5; ++i) {
        messages.push_back(message({i % 2 == 0 ? kRed : kGreen, kQuestion}));
        messages.push_back(message({text_part("a gold river")}, "assistant"));
    }
    messages.push_back(message({kGreen, kQuestion}));
    Stream stream(model, conversation(messages));
    REQUIRE_MESSAGE(stream.handle != nullptr, stream.answer.why);
    CHECK(stream.answer.prompt_tokens <= 96);
    CHECK(stream.answer.prompt_tokens > kImageTokens);
    CHECK(stream.run(kTokens).status == SOTTO_OK);
    const auto why =
        refusal(model, conversation(messages, R"("context_overflow": "error")"), SOTTO_ERROR_INFERENCE);
    CHECK_MESSAGE(why.find("the model's context holds 128") != std::string::npos, why);
}

TEST_CASE("an answer continues after its image was dropped from the KV cache") {
    const std::string small = R"(, "context": 96)";
    for (const auto& source :
         {seeing("tiny.gguf", "eyes.gguf", small),
          seeing("tiny-window.gguf", "eyes-window.gguf", small),
          seeing("tiny-hybrid.gguf", "eyes.gguf", small),
          seeing_rows(small)}) {
        CAPTURE(source.path);
        Model model(source);
        for (const int keep : {0, 6, 14, 30}) { // before, inside and after the image
            CAPTURE(keep);
            Stream stream(
                model,
                shown(
                    kRed,
                    R"("context_overflow": "shift", "ignore_eos": true, "n_keep": )" + std::to_string(keep)
                )
            );
            REQUIRE_MESSAGE(stream.handle != nullptr, stream.answer.why);
            CHECK(stream.run(150).tokens == 150);
            CHECK_MESSAGE(stream.answer.status == SOTTO_OK, stream.answer.why);
        }
    }
}

TEST_CASE("a template receives placeholders for images, and one that ignores them is refused") {
    Model model(seeing());
    Stream rendered(model, shown(kRed), SOTTO_OP_APPLY_TEMPLATE);
    CHECK(rendered.answer.status == SOTTO_OK);
    Model blind(seeing("tiny.gguf", "eyes.gguf", R"(, "chat_template": "hello {{ messages[0]['role'] }}")"));
    const auto why = refusal(blind, shown(kRed), SOTTO_ERROR_UNSUPPORTED);
    CHECK_MESSAGE(
        why == "the model's chat template shows 0 of 1 images and sounds; use another template", why
    );
}

TEST_CASE("a projector is included in the model's memory, opened or measured") {
    Model plain;
    Model model(seeing());
    CHECK(model.info.weights > plain.info.weights + 150'000);
    CHECK(model.info.compute > plain.info.compute);
    auto info = SOTTO_INIT(sotto_model_info);
    std::string why;
    const auto source = seeing();
    REQUIRE_MESSAGE(measure(source, info, why) == SOTTO_OK, why);
    CHECK(info.weights == model.info.weights);
    CHECK(info.compute == model.info.compute);
}

TEST_CASE("sounds are encoded") {
    Model model(seeing("tiny.gguf", "ears.gguf"));
    REQUIRE_MESSAGE(model, model.why);
    CHECK(model.description.find(R"("vision":false,"audio":true)") != std::string::npos);
    const auto high = sound(wav(24000, 880));
    const auto low = sound(wav(24000, 110));
    const auto told = first_likelihoods(model, high);
    Model fresh(seeing("tiny.gguf", "ears.gguf"));
    CHECK(first_likelihoods(fresh, high) == told);
    CHECK(first_likelihoods(fresh, low) != told);
    Stream again(model, shown(high));
    CHECK(again.answer.cached_tokens == again.answer.prompt_tokens - 1);
    again.close();
}
