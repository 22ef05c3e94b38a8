// Steps of a tiny model, without an engine.
#include "step/step_runner.hpp"
#include "tiny_parts.hpp"

#include <doctest/doctest.h>
#include <functional>
#include <memory>

using namespace tiny_parts;

namespace {

constexpr llama_token kPrompt = 10; // the first token of prompts

struct Runner {
    Runner() : runner(parts.options, parts.contexts, parts.kv, pools, tokenizer, nullptr) {
        pools.model_opened();
    }

    std::unique_ptr<Stream> open(std::size_t prompt) {
        Prepared prepared;
        for (std::size_t i = 0; i < prompt; ++i) {
            prepared.prompt.push_back(kPrompt + static_cast<llama_token>(i));
        }
        common_params_sampling how;
        how.temp = 0;
        prepared.sampler =
            std::make_unique<Sampler>(parts.weights.get(), tokenizer, how, TokenProbabilities{});
        auto stream = std::make_unique<Stream>(std::move(prepared), AdapterSet());
        parts.kv.open(stream->kv);
        return stream;
    }

    // Runs a step of these streams, each of which may prefill `tokens`.
    std::vector<sotto_step_item> step(std::vector<Stream*> streams, std::uint32_t tokens) {
        std::vector<sotto_step_item> items(streams.size(), sotto_init<sotto_step_item>());
        std::vector<sotto_step_item*> pointers;
        for (std::size_t i = 0; i < streams.size(); ++i) {
            items[i].stream = streams[i];
            items[i].tokens = tokens;
            pointers.push_back(&items[i]);
        }
        auto step = sotto_init<sotto_step>();
        step.count = static_cast<std::uint32_t>(items.size());
        step.items = pointers.data();
        step.threads = 1;
        step.gate = [](void* self) -> std::int32_t { return static_cast<Runner*>(self)->gate() ? 1 : 0; };
        step.context = this;
        runner.run(step);
        return items;
    }

    Parts parts{3};
    ThreadPools pools;
    Tokenizer tokenizer{llama_model_get_vocab(parts.weights.get())};
    StepRunner runner;
    std::function<bool()> gate = [] { return false; };
};

} // namespace

TEST_CASE("a prompt is prefilled in pieces, then each step delivers one token") {
    Runner runner;
    const auto stream = runner.open(40);
    auto items = runner.step({stream.get()}, 30);
    CHECK(items[0].status == SOTTO_OK);
    CHECK(items[0].evaluated == 30);
    CHECK(items[0].remaining == 10);
    CHECK(items[0].generated == 0);
    items = runner.step({stream.get()}, 30);
    CHECK(items[0].evaluated == 10);
    CHECK(items[0].generated == 1);
    items = runner.step({stream.get()}, 30);
    CHECK(items[0].evaluated == 0);
    CHECK(items[0].decoded == 1);
    CHECK(stream->kv.tokens.tokens().size() == 42);
}

TEST_CASE("answers come before prompts, which share what is left of the batch") {
    Runner runner;
    const auto answer = runner.open(8);
    runner.step({answer.get()}, 8);
    const auto prompt = runner.open(100);
    const auto items = runner.step({prompt.get(), answer.get()}, 100);
    CHECK(items[0].evaluated == runner.parts.options.batch - 1);
    CHECK(items[1].decoded == 1);
}

TEST_CASE("a cancelled step leaves its streams as they were") {
    Runner runner;
    const auto stream = runner.open(40);
    runner.gate = [] { return true; };
    CHECK_THROWS_WITH_AS(runner.step({stream.get()}, 30), "the step was cancelled", Error);
    CHECK(stream->kv.tokens.held() == 0);
    int asked = 0;
    runner.gate = [&] { return ++asked == 3; }; // inside of the batch
    CHECK_THROWS_AS(runner.step({stream.get()}, 30), Error);
    CHECK(asked == 3);
    CHECK(stream->kv.tokens.held() == 0);
    runner.gate = [] { return false; };
    CHECK(runner.step({stream.get()}, 40)[0].generated == 1);
}

TEST_CASE("a parked stream fails alone") {
    Runner runner;
    const auto parked = runner.open(8);
    const auto other = runner.open(8);
    runner.parts.kv.park(parked->kv);
    const auto items = runner.step({parked.get(), other.get()}, 8);
    CHECK(items[0].status == SOTTO_ERROR_STATE);
    CHECK(view(items[0].reason).find("unpark") != std::string_view::npos);
    CHECK(items[1].generated == 1);
}

TEST_CASE("streams with different adapters are not computed in one step") {
    Runner runner;
    const auto plain = runner.open(8);
    const auto adapted = runner.open(8);
    adapted->adapters.key = 5;
    CHECK_THROWS_AS(runner.step({plain.get(), adapted.get()}, 8), Error);
}
