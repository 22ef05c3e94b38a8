// Opening, measuring and closing models.
#include "module_under_test.hpp"

#include <chrono>
#include <doctest/doctest.h>

using namespace under_test;

namespace {

std::string refusal(const std::string& options) {
    Model model({.options = options});
    CHECK(model.status == SOTTO_ERROR_ARGUMENT);
    return model.why;
}

bool names(const std::string& text, std::initializer_list<const char*> all) {
    for (const char* each : all) {
        if (text.find(each) == std::string::npos) {
            MESSAGE(text << " does not name " << each);
            return false;
        }
    }
    return true;
}

bool quiet() {
    const auto lines = take_log();
    for (const auto& line : lines) {
        MESSAGE(line);
    }
    return lines.empty();
}

} // namespace

TEST_CASE("the backend describes itself") {
    CHECK(text(backend().name) == "llama");
    CHECK(names(text(backend().description), {"\"version\"", "llama.cpp", "\"tier\"", "\"features\""}));
}

TEST_CASE("an opened model reports its properties and memory") {
    Model model;
    REQUIRE_MESSAGE(model, model.why);
    CHECK(model.info.streams == 4);
    CHECK(model.info.context == 512); // its training context
    CHECK(model.info.step_tokens == 512);
    CHECK(
        model.info.capabilities ==
        (SOTTO_CAPABILITY_BATCHABLE | SOTTO_CAPABILITY_ABORTABLE | SOTTO_CAPABILITY_CONSTRAINABLE |
         SOTTO_CAPABILITY_LOGPROBS | SOTTO_CAPABILITY_PARKABLE | SOTTO_CAPABILITY_PREPARABLE |
         SOTTO_CAPABILITY_TOKENS)
    );
    CHECK(model.info.weights > 1'300'000);
    CHECK(model.info.weights < 1'500'000);
    CHECK(model.info.kv == 4 * 512 * 2 * 2 * 64 * 2); // streams, cells, K and V, layers, width, f16
    CHECK(model.info.compute > 0);
    CHECK(names(model.description, {"\"llama\"", "\"tiny llama\"", "\"has_chat_template\":true", "all F32"}));
    CHECK(quiet());
}

TEST_CASE("measuring reports the memory that opening takes") {
    for (const std::string options : {"", R"({"context": 256, "parallel": 2})", R"({"kv_type": "q8_0"})"}) {
        for (const std::string file :
             {"tiny.gguf", "tiny-q4.gguf", "tiny-window.gguf", "tiny-recurrent.gguf", "tiny-hybrid.gguf"}) {
            if (options.find("q8_0") != std::string::npos && file != "tiny.gguf") {
                continue;
            }
            CAPTURE(file);
            CAPTURE(options);
            const Source source{.path = tiny(file.c_str()), .options = options};
            auto measured = SOTTO_INIT(sotto_model_info);
            std::string why;
            REQUIRE_MESSAGE(measure(source, measured, why) == SOTTO_OK, why);
            Model model(source);
            REQUIRE_MESSAGE(model, model.why);
            CHECK(measured.kv == model.info.kv);
            CHECK(measured.compute == model.info.compute);
            CHECK(measured.context == model.info.context);
            CHECK(measured.weights == model.info.weights);
        }
    }
}

TEST_CASE("an invalid option is refused with its name, its value and the valid range") {
    CHECK(names(refusal(R"({"context": 8})"), {"options.context", "8", "16 to 512"}));
    CHECK(names(refusal(R"({"context": 513})"), {"options.context", "513", "512"}));
    CHECK(names(refusal(R"({"context": -1})"), {"options.context", "-1"}));
    CHECK(names(refusal(R"({"context": "big"})"), {"options.context", "'big'"}));
    CHECK(names(refusal(R"({"context": 64.5})"), {"options.context", "64.5"}));
    CHECK(names(refusal(R"({"parallel": 0})"), {"options.parallel", "0", "1 to 64"}));
    CHECK(names(refusal(R"({"parallel": 65})"), {"options.parallel", "65"}));
    CHECK(names(refusal(R"({"batch": 5000})"), {"options.batch", "5000", "1 to 4096"}));
    CHECK(names(refusal(R"({"batch": 2})"), {"options.batch", "2", "\"parallel\"", "4"}));
    CHECK(names(refusal(R"({"mmap": 1})"), {"options.mmap", "1", "true or false"}));
    CHECK(names(
        refusal(R"({"flash_attention": true})"), {"options.flash_attention", "\"auto\", \"on\" or \"off\""}
    ));
    CHECK(names(refusal(R"({"kv_type": "q2"})"), {"options.kv_type", "'q2'", "\"f16\" or \"q8_0\""}));
    CHECK(names(
        refusal(R"({"kv_type": "q8_0", "flash_attention": "off"})"), {"options.kv_type", "flash_attention"}
    ));
    CHECK(names(refusal(R"({"colour": "red"})"), {"'colour'", "context, parallel, batch"}));
    CHECK(names(refusal("[1]"), {"expected a JSON object"}));
    CHECK(names(refusal("{"), {"expected a JSON object"}));
}

TEST_CASE("each valid option works") {
    for (const std::string options :
         {"{}",
          R"({"context": 16})",
          R"({"context": 100, "parallel": 1, "batch": 1})",
          R"({"parallel": 64, "batch": 64})",
          R"({"mmap": false})",
          R"({"mmap": true})",
          R"({"flash_attention": "on"})",
          R"({"flash_attention": "off"})",
          R"({"kv_type": "q8_0"})",
          R"({"batch": 4096})"}) {
        CAPTURE(options);
        Model model({.options = options});
        REQUIRE_MESSAGE(model, model.why);
        Stream stream(model, completion("a"), SOTTO_OP_COMPLETION);
        CHECK_MESSAGE(stream.run(4).status == SOTTO_OK, stream.answer.why);
        CHECK(stream.answer.tokens > 0);
    }
}

// Flash attention is a part of the format of saved states.
TEST_CASE("by default, a model whose head size is a multiple of eight uses flash attention") {
    const Model left({.options = "{}"});
    const Model off({.options = R"({"flash_attention": "off"})"});
    const Model on({.options = R"({"flash_attention": "on"})"});
    CHECK(text(left.info.fingerprint) == text(on.info.fingerprint));
    CHECK(text(left.info.fingerprint) != text(off.info.fingerprint));
    CHECK(left.info.compute == on.info.compute);
    CHECK(left.info.compute < off.info.compute);
}

TEST_CASE("the CPU module lists no devices") {
    CHECK(Model({.device = "cpu"}).status == SOTTO_OK);
    Model model({.device = "cuda:0"});
    CHECK(model.status == SOTTO_ERROR_UNSUPPORTED);
    CHECK(names(model.why, {"'cuda:0'"}));
}

TEST_CASE("opening reports progress, and can be cancelled at any point") {
    std::vector<float> told;
    Source source;
    source.progress = [&](float done) {
        told.push_back(done);
        return false;
    };
    REQUIRE(Model(source).status == SOTTO_OK);
    CHECK(told.front() == 0.0f);
    CHECK(told.back() == 1.0f);
    CHECK(std::is_sorted(told.begin(), told.end()));
    CHECK(told.size() > 5);
    std::size_t given_up = 0;
    for (std::size_t stop = 0; stop < told.size(); ++stop) {
        std::size_t calls = 0;
        source.progress = [&](float) { return calls++ >= stop; };
        Model model(source);
        const bool asked = calls > stop; // a template that takes long polls more often
        CHECK(model.status == (asked ? SOTTO_ERROR_CANCELLED : SOTTO_OK));
        CHECK(calls <= stop + 2);
        given_up += asked ? 1 : 0;
    }
    CHECK(given_up > 5);
    CHECK(quiet());
}

TEST_CASE("opening can be cancelled while the chat template is tested") {
    Source source;
    // llama.cpp tests the template many times, and each rendering takes most of the step limit.
    source.options = R"({"chat_template": "{% set r = range(1000) %}{% for a in r %}{% for b in r[:100] %})"
                     R"({% endfor %}{% endfor %}"})";
    const auto begun = std::chrono::steady_clock::now();
    std::size_t at_end = 0; // after the file is read, only the template is tested
    source.progress = [&](float done) { return done == 1.0f && ++at_end > 20; };
    Model model(source);
    CHECK(model.status == SOTTO_ERROR_CANCELLED);
    CHECK(at_end == 21);
    CHECK(std::chrono::steady_clock::now() - begun < std::chrono::seconds(60));
    CHECK(quiet());
}

TEST_CASE("the struct of an old caller is refused without reading past its end") {
    auto small = SOTTO_INIT(sotto_backend);
    small.struct_size = 16;
    auto host = SOTTO_INIT(sotto_backend_host);
    sotto_str why = {nullptr, 0};
    CHECK(entry()(&host, &small, &why) == SOTTO_ERROR_ARGUMENT);
    CHECK(entry()(nullptr, nullptr, &why) == SOTTO_ERROR_ARGUMENT);
}

TEST_CASE("two models and two backends coexist") {
    auto host = SOTTO_INIT(sotto_backend_host);
    auto other = SOTTO_INIT(sotto_backend);
    sotto_str why = {nullptr, 0};
    REQUIRE(entry()(&host, &other, &why) == SOTTO_OK);
    CHECK(other.self != backend().self);
    Model first;
    Model second({.path = tiny("tiny-q4.gguf")});
    Stream one(first, chat("who is the king"));
    Stream two(second, chat("who is the king"));
    const auto alone = Stream(first, chat("who is the king")).run(8).text;
    for (int i = 0; i < 8; ++i) {
        one.step();
        two.step();
    }
    CHECK(one.answer.text == alone);
    other.release(other.self);
}
