// What an opened model reports of its memory, without an engine.
#include "file/gguf_check.hpp"
#include "file/source.hpp"
#include "model/open.hpp"
#include "model/weights.hpp"
#include "tiny_parts.hpp"
#include "token/tokenizer.hpp"

#include <doctest/doctest.h>
#include <string>

using namespace tiny_parts;

TEST_CASE("a model reports the memory of its vocabulary's texts, whether it is opened or measured") {
    const auto path = std::string(test::paths::kTinyModels) + "/tiny.gguf";
    auto source = sotto_init<sotto_model_source>();
    source.path = {path.data(), path.size()};
    const Backend backend(kHost, {});
    const auto facts = check_gguf(*open_source(source));
    for (const auto purpose : {Purpose::Measure, Purpose::Run}) {
        const auto opened = open_model(backend, source, purpose);
        const auto* model = opened.weights.get();
        const Tokenizer tokenizer(llama_model_get_vocab(model));
        CHECK(tokenizer.texts().tokens().size() > 100);
        CHECK(text_bytes_of(tokenizer.vocab()) >= tokenizer.texts().tokens().size_bytes());
        CHECK(
            opened.lasting.weights ==
            weights_of(model, opened.options).weights + facts.vocabulary + text_bytes_of(tokenizer.vocab())
        );
    }
}
