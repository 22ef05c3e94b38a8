// Shrinking a model when it is opened.
#include "module_under_test.hpp"

#include <doctest/doctest.h>

using namespace under_test;

namespace {

constexpr sotto_model_shrinkable kAll =
    SOTTO_SHRINKABLE_PLACES | SOTTO_SHRINKABLE_STREAMS | SOTTO_SHRINKABLE_TOKENS | SOTTO_SHRINKABLE_KV;

// A model whose context can be shortened.
std::string roomy() {
    return tiny("tiny-tools.gguf");
}

// Checks that opening and measuring report the same, and returns it.
sotto_model_info told(const Source& source) {
    CAPTURE(source.options);
    auto measured = SOTTO_INIT(sotto_model_info);
    std::string why;
    REQUIRE_MESSAGE(measure(source, measured, why) == SOTTO_OK, why);
    Model model(source);
    REQUIRE_MESSAGE(model, model.why);
    CHECK(measured.shrinkable == model.info.shrinkable);
    CHECK(measured.min_stream_tokens == model.info.min_stream_tokens);
    CHECK(measured.streams == model.info.streams);
    CHECK(measured.context == model.info.context);
    CHECK(measured.kv == model.info.kv);
    CHECK(measured.compute == model.info.compute);
    CHECK(measured.weights == model.info.weights);
    Stream stream(model, completion("the king"), SOTTO_OP_COMPLETION);
    CHECK_MESSAGE(stream.run(4).status == SOTTO_OK, stream.answer.why);
    return model.info;
}

Source of(const std::string& options) {
    return {.path = roomy(), .options = options};
}

} // namespace

TEST_CASE("options that are not set are reported as shrinkable") {
    CHECK(told(of("")).shrinkable == kAll);
    CHECK(told(of("")).min_stream_tokens == 512);
    CHECK(told(of(R"({"parallel": 2})")).shrinkable == (kAll & ~SOTTO_SHRINKABLE_STREAMS));
    CHECK(told(of(R"({"kv_type": "f16"})")).shrinkable == (kAll & ~SOTTO_SHRINKABLE_KV));
    CHECK(told(of(R"({"kv_type": "q8_0"})")).shrinkable == (kAll & ~SOTTO_SHRINKABLE_KV));
    CHECK(told(of(R"({"flash_attention": "off"})")).shrinkable == (kAll & ~SOTTO_SHRINKABLE_KV));
    const auto named = told(of(R"({"context": 1024})"));
    CHECK(named.shrinkable == (kAll & ~SOTTO_SHRINKABLE_TOKENS));
    CHECK(named.min_stream_tokens == 1024);
    const auto least = told(of(R"({"context": 1024, "min_context": 256})"));
    CHECK(least.shrinkable == kAll);
    CHECK(least.min_stream_tokens == 256);
    CHECK(told(of(R"({"min_context": 2048})")).shrinkable == (kAll & ~SOTTO_SHRINKABLE_TOKENS));
    CHECK(
        told({.path = tiny()}).shrinkable == (kAll & ~SOTTO_SHRINKABLE_TOKENS)
    ); // its context has 512 tokens
    CHECK(told({.path = tiny()}).min_stream_tokens == 512);
    CHECK((told({.path = tiny("tiny-recurrent.gguf")}).shrinkable & SOTTO_SHRINKABLE_KV) == 0);
    CHECK((told({.path = tiny("tiny-hybrid.gguf")}).shrinkable & SOTTO_SHRINKABLE_KV) != 0);
}

TEST_CASE("the number of streams is reduced, to one at least") {
    auto source = of("");
    for (const auto streams : {1u, 3u, 4u, 100u}) {
        source.streams = streams;
        CHECK(told(source).streams == std::min(streams, 4u));
    }
    source.streams = 1;
    CHECK(told(source).shrinkable == (kAll & ~SOTTO_SHRINKABLE_STREAMS));
    source.streams = 2;
    source.options = R"({"parallel": 3})";
    CHECK(told(source).streams == 2); // the third of the requested streams may be added later
    CHECK(told(source).shrinkable == (kAll & ~SOTTO_SHRINKABLE_STREAMS));
    source.options = R"({"batch": 2})";
    Model model(source);
    CHECK(model.status == SOTTO_ERROR_ARGUMENT); // as without shrinking
}

TEST_CASE("streams are shortened if no context is set, down to the minimum") {
    auto source = of("");
    const auto whole = told(source);
    CHECK(whole.context == 2048);
    source.tokens = 1024;
    const auto half = told(source);
    CHECK(half.context == 1024);
    CHECK(half.kv == whole.kv / 2);
    CHECK(half.shrinkable == kAll);
    source.tokens = 1;
    CHECK(told(source).context == 512);
    CHECK(told(source).shrinkable == (kAll & ~SOTTO_SHRINKABLE_TOKENS));
    source.tokens = 4096;
    CHECK(told(source).context == 2048);
    source.tokens = 600;
    source.options = R"({"context": 1024})";
    CHECK(told(source).context == 1024);
    source.options = R"({"context": 1024, "min_context": 700})";
    CHECK(told(source).context == 700);
    source.options = R"({"min_context": 100})";
    CHECK(told(source).context == 600);
}

TEST_CASE("a minimum context beyond the model's is refused") {
    for (const char* options :
         {R"({"min_context": 8})",
          R"({"min_context": 4097})",
          R"({"min_context": 2049})",
          R"({"context": 256, "min_context": 257})",
          R"({"min_context": "short"})"}) {
        CAPTURE(options);
        Model model(of(options));
        CHECK(model.status == SOTTO_ERROR_ARGUMENT);
        CHECK_MESSAGE(model.why.find("options.min_context") != std::string::npos, model.why);
    }
}

TEST_CASE("the KV cache is quantised if its type is not set and flash attention is possible") {
    auto source = of("");
    const auto whole = told(source);
    source.flags = SOTTO_SOURCE_SMALL_KV;
    const auto small = told(source);
    CHECK(small.kv < whole.kv * 6 / 10);
    CHECK(small.shrinkable == (kAll & ~SOTTO_SHRINKABLE_KV));
    CHECK(text(Model(source).info.fingerprint) == text(Model(of(R"({"kv_type": "q8_0"})")).info.fingerprint));
    for (const char* options : {R"({"kv_type": "f16"})", R"({"flash_attention": "off"})"}) {
        source.options = options;
        CHECK(told(source).kv == whole.kv);
    }
    source.options = R"({"flash_attention": "on"})";
    CHECK(told(source).kv == small.kv);
    Source recurrent{.path = tiny("tiny-recurrent.gguf")};
    const auto state = told(recurrent);
    recurrent.flags = SOTTO_SOURCE_SMALL_KV;
    CHECK(told(recurrent).kv == state.kv);
    Source drafted = of(R"({"draft": ")" + roomy() + "\"}");
    const auto both = told(drafted);
    CHECK(both.kv == 2 * whole.kv);
    drafted.flags = SOTTO_SOURCE_SMALL_KV;
    CHECK(told(drafted).kv == 2 * small.kv);
}

TEST_CASE("weights are read into heap memory if mapping is not set") {
    const auto mapped = [](const Source& source) {
        Model model(source);
        REQUIRE_MESSAGE(model, model.why);
        return read_file("/proc/self/maps").find("tiny-tools.gguf") != std::string::npos;
    };
    auto source = of("");
    CHECK(mapped(source));
    source.flags = SOTTO_SOURCE_OWN_MEMORY;
    CHECK(!mapped(source));
    source.options = R"({"mmap": true})";
    CHECK(mapped(source));
    source.options = R"({"mmap": false})";
    CHECK(!mapped(source));
    CHECK(told(of("")).weights == told(source).weights);
}
