// Prediction of step times from measured ones.
#include "core/schedule/cost_model.hpp"

#include <cmath>
#include <random>

#include <doctest/doctest.h>

using sotto::CostModel;
using sotto::StepLoad;

namespace {

constexpr double kMillisecond = 1e6;

StepLoad prompt(std::uint32_t tokens, std::uint32_t held = 0) {
    StepLoad load;
    load.add_prompt(tokens, held);
    return load;
}

StepLoad answers(std::uint32_t count, std::uint32_t held) {
    StepLoad load;
    for (std::uint32_t i = 0; i < count; ++i) {
        load.add_answer(held);
    }
    return load;
}

// True step time of a simulated machine.
double truth(const StepLoad& load) {
    return (3 + 0.8 * load.tokens() + 0.001 * load.reach) * kMillisecond;
}

} // namespace

TEST_CASE("no prediction is made before the first measurement") {
    CostModel model;
    CHECK(model.predict(2, prompt(32)) == 0);
    CHECK(model.prompt_tokens(2, {}, 0, 1'000'000'000, 512) == 16);
    CHECK(model.prompt_tokens(2, {}, 0, 1, 4) == 4);
}

TEST_CASE("steps of other sizes and context lengths are predicted within a tenth") {
    std::mt19937 random(5);
    CostModel model;
    model.prepare(2);
    for (int i = 0; i < 60; ++i) {
        const auto load = i % 2 == 0 ? prompt(8 + random() % 120, random() % 2000)
                                     : answers(1 + random() % 8, random() % 2000);
        const auto noise = 0.95 + 0.1 * static_cast<double>(random() % 1000) / 1000;
        model.learn(2, load, static_cast<std::int64_t>(truth(load) * noise));
    }
    for (const auto& load :
         {prompt(64), prompt(100, 1500), prompt(20, 500), answers(4, 700), answers(8, 1900)}) {
        CHECK(static_cast<double>(model.predict(2, load)) == doctest::Approx(truth(load)).epsilon(0.1));
    }
}

TEST_CASE("outliers are ignored") {
    CostModel model;
    model.prepare(1);
    for (int i = 0; i < 40; ++i) {
        const auto load = prompt(16 + 4 * static_cast<std::uint32_t>(i % 8));
        const auto slower = i % 8 == 5 ? 9.0 : 1.0;
        model.learn(1, load, static_cast<std::int64_t>(truth(load) * slower));
    }
    CHECK(
        static_cast<double>(model.predict(1, prompt(32))) == doctest::Approx(truth(prompt(32))).epsilon(0.1)
    );
}

TEST_CASE("a machine that becomes slower for good is learned") {
    CostModel model;
    model.prepare(1);
    for (int i = 0; i < 140; ++i) {
        const auto load = prompt(16 + 4 * static_cast<std::uint32_t>(i % 8));
        model.learn(1, load, static_cast<std::int64_t>(truth(load) * (i < 70 ? 1 : 3)));
    }
    CHECK(
        static_cast<double>(model.predict(1, prompt(32))) ==
        doctest::Approx(3 * truth(prompt(32))).epsilon(0.1)
    );
}

TEST_CASE("the largest step within the limit leaves a margin") {
    CostModel model;
    model.prepare(1);
    for (std::uint32_t tokens = 16; tokens <= 256; tokens += 16) {
        model.learn(1, prompt(tokens), static_cast<std::int64_t>(truth(prompt(tokens))));
    }
    const auto limit = static_cast<std::int64_t>(60 * kMillisecond);
    const auto tokens = model.prompt_tokens(1, {}, 0, limit, 512);
    CHECK(truth(prompt(tokens)) < static_cast<double>(limit));
    CHECK(truth(prompt(tokens)) > 0.7 * static_cast<double>(limit));
    CHECK(model.prompt_tokens(1, {}, 3000, limit, 512) < tokens); // each token attends to more
    CHECK(model.prompt_tokens(1, answers(4, 0), 0, limit, 512) < tokens);
    CHECK(model.prompt_tokens(1, {}, 0, limit, 20) == 20);
    CHECK(model.prompt_tokens(1, {}, 0, 1, 512) == CostModel::kFew); // a minimum ensures progress
}

TEST_CASE("the rest of a prompt goes into one step if that fits the limit without the margin") {
    CostModel model;
    model.prepare(1);
    for (std::uint32_t tokens = 16; tokens <= 256; tokens += 16) {
        model.learn(1, prompt(tokens), static_cast<std::int64_t>(truth(prompt(tokens))));
    }
    const std::uint32_t left = 80;
    const auto took = truth(prompt(left));
    CHECK(model.prompt_tokens(1, {}, 0, static_cast<std::int64_t>(1.02 * took), left) == left);
    CHECK(model.prompt_tokens(1, {}, 0, static_cast<std::int64_t>(0.98 * took), left) < 0.85 * left);
}

TEST_CASE("from uniform steps, the predicted size grows only gradually") {
    CostModel model;
    model.prepare(1);
    for (int i = 0; i < 48; ++i) {
        model.learn(1, prompt(16), static_cast<std::int64_t>(truth(prompt(16))));
    }
    CHECK(model.prompt_tokens(1, {}, 0, 1'000'000'000, 512) == 32);
}

TEST_CASE("unknown thread counts are predicted from known ones") {
    CostModel model;
    model.prepare(1);
    model.prepare(2);
    for (int i = 0; i < 10; ++i) {
        model.learn(1, prompt(16), 16'000'000);
    }
    CHECK(model.predict(2, prompt(16)) == model.predict(1, prompt(16)));
    for (int i = 0; i < 10; ++i) {
        model.learn(2, prompt(16), 9'000'000);
    }
    CHECK(model.predict(2, prompt(16)) < model.predict(1, prompt(16)));
}

TEST_CASE("no measurement, however odd, leads to a prediction that is not finite") {
    CostModel model;
    model.prepare(1);
    for (const auto ns : {std::int64_t{0}, std::int64_t{-5}, std::int64_t{1}, INT64_MAX}) {
        model.learn(1, prompt(16), ns);
        model.learn(1, {}, 1000);
        CHECK(model.predict(1, prompt(1)) >= 0);
        CHECK(model.prompt_tokens(1, {}, 0, 1000, 512) <= 512);
    }
}
