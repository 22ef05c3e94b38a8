// Shrinking a model until it fits.
#include "core/model/load_plan.hpp"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "core/memory/report.hpp"
#include "text/json_reader.hpp"

using sotto::LoadPlan;
using sotto::ModelInfo;
using sotto::Shape;
using sotto::ShrinkScope;

namespace {

constexpr std::uint64_t kMegabyte = 1 << 20;
constexpr sotto_model_shrinkable kAll =
    SOTTO_SHRINKABLE_STREAMS | SOTTO_SHRINKABLE_TOKENS | SOTTO_SHRINKABLE_KV;

// A model of 100 MB of weights, 10 MB of compute buffers, and 4 streams of 2,048 tokens, 16 MB each.
struct FourStreams {
    sotto_model_shrinkable gives = kAll;

    ModelInfo operator()(const Shape& shape) const {
        ModelInfo info;
        info.weights = 100 * kMegabyte;
        info.compute = 10 * kMegabyte;
        info.streams = shape.streams != 0 ? std::min(shape.streams, 4u) : 4;
        info.context = shape.tokens != 0 ? std::min(shape.tokens, 2048u) : 2048;
        info.min_stream_tokens = 512;
        const bool small = (shape.flags & SOTTO_SOURCE_SMALL_KV) != 0;
        info.kv = 16 * kMegabyte * info.streams * info.context / 2048 / (small ? 2 : 1);
        info.shrinkable = gives & ~(small ? static_cast<sotto_model_shrinkable>(SOTTO_SHRINKABLE_KV) : 0);
        return info;
    }
};

LoadPlan
fitted(std::uint64_t megabytes, sotto_model_shrinkable gives = kAll, ShrinkScope smaller = ShrinkScope::all) {
    return sotto::fit({}, smaller, megabytes * kMegabyte, FourStreams{gives});
}

std::string rungs(const LoadPlan& fit) {
    std::string text;
    for (const auto& rung : fit.rungs) {
        text += (text.empty() ? "" : ", ") + std::string(rung.name);
    }
    return text;
}

} // namespace

TEST_CASE("a model that fits is not changed") {
    const auto fit = fitted(174);
    CHECK(fit.fits);
    CHECK(rungs(fit) == "as asked");
}

TEST_CASE("rungs are taken in order, each no further than needed") {
    const auto small = fitted(173);
    CHECK(small.fits);
    CHECK(rungs(small) == "as asked, small kv");
    const auto three = fitted(140);
    CHECK(three.fits);
    CHECK(rungs(three) == "as asked, small kv, fewer streams");
    CHECK(three.last().info.streams == 3); // 24 MB
    const auto one = fitted(118);
    CHECK(one.fits);
    CHECK(one.last().info.streams == 1);
    CHECK(one.last().info.context == 2048);
    const auto shorter = fitted(115); // removing a stream frees 8 MB too many, shortening frees 5
    CHECK(shorter.fits);
    CHECK(rungs(shorter) == "as asked, small kv, fewer streams, shorter streams");
    CHECK(shorter.last().info.context == 1280);
    CHECK(shorter.last().info.kv == 5 * kMegabyte);
}

TEST_CASE("on a GPU, layers are moved to the CPU before the number of streams is reduced") {
    const auto measure = [](sotto_model_shrinkable gives) {
        return [gives](const Shape& shape) { // 10 layers of 10 MB each, plus 1 MB for each stream
            ModelInfo info;
            info.layers = shape.layers != 0 ? std::min(shape.layers, 10u) : 10;
            info.streams = shape.streams != 0 ? std::min(shape.streams, 4u) : 4;
            info.context = 2048;
            info.weights = 10 * kMegabyte * info.layers;
            info.kv = kMegabyte * info.layers * info.streams;
            info.compute = 5 * kMegabyte;
            info.host = (10 - info.layers) * (10 + info.streams) * kMegabyte;
            info.shrinkable = gives;
            return info;
        };
    };
    const auto fitted = [&](std::uint64_t megabytes, sotto_model_shrinkable gives) {
        return sotto::fit({}, ShrinkScope::all, megabytes * kMegabyte, measure(gives));
    };
    constexpr sotto_model_shrinkable kBoth = SOTTO_SHRINKABLE_LAYERS | SOTTO_SHRINKABLE_STREAMS;
    const auto seven = fitted(103, kBoth); // of 14 MB each, and 5
    CHECK(seven.fits);
    CHECK(rungs(seven) == "as asked, fewer layers");
    CHECK(seven.last().info.layers == 7);
    CHECK(seven.last().info.host == 42 * kMegabyte);
    CHECK(fitted(102, kBoth).last().info.layers == 6);
    const auto last = fitted(16, kBoth);
    CHECK(last.fits);
    CHECK(rungs(last) == "as asked, fewer layers, fewer streams");
    CHECK(last.last().info.layers == 1);
    CHECK(last.last().info.streams == 1);
    CHECK_FALSE(fitted(15, kBoth).fits);
    CHECK(rungs(fitted(115, SOTTO_SHRINKABLE_STREAMS)) == "as asked, fewer streams");
    CHECK(sotto::fit({}, ShrinkScope::streams, 103 * kMegabyte, measure(kBoth)).last().info.layers == 7);
}

TEST_CASE("options that are set are not changed") {
    CHECK(rungs(fitted(115, 0)) == "as asked");
    const auto streams = fitted(130, SOTTO_SHRINKABLE_STREAMS);
    CHECK(rungs(streams) == "as asked, fewer streams");
    CHECK(streams.last().info.streams == 1);
    CHECK(rungs(fitted(115, SOTTO_SHRINKABLE_KV)) == "as asked, small kv");
    CHECK_FALSE(fitted(115, SOTTO_SHRINKABLE_KV).fits);
}

TEST_CASE("a model that keeps saved states is shrunk only to fewer streams") {
    const auto fit = fitted(126, kAll, ShrinkScope::streams);
    CHECK(fit.fits);
    CHECK(rungs(fit) == "as asked, fewer streams");
    CHECK_FALSE(fitted(125, kAll, ShrinkScope::streams).fits);
}

TEST_CASE("a model with a set number of streams starts with all, and reloads with fewer that grow back") {
    constexpr sotto_model_shrinkable named = SOTTO_SHRINKABLE_PLACES;
    CHECK(rungs(fitted(130, named)) == "as asked");
    const auto woken = fitted(130, named, ShrinkScope::streams);
    CHECK(woken.fits);
    CHECK(rungs(woken) == "as asked, fewer streams");
}

TEST_CASE("a refusal states the needed bytes, the free bytes and a way out") {
    const auto fit = fitted(50);
    CHECK_FALSE(fit.fits);
    CHECK(
        sotto::refusal("mara", fit, 60 * kMegabyte, 10 * kMegabyte, 4 * kMegabyte) ==
        "mara needs 174 MB (4 streams of 2048 tokens), or 112 MB at the least (1 stream of 512 tokens); 10 "
        "MB of "
        "the budget of 60 MB are taken, 4 MB of them by models that are idle. Raise vram_budget to 118 MB, "
        "unload "
        "a model, or ask for less in options"
    );
}

TEST_CASE("a plan lists every rung, and models that could be evicted") {
    const auto json = [](const LoadPlan& fit, std::uint64_t used, std::uint64_t idle) {
        return sotto::Json::parse(
            sotto::plan_json("mara", fit, 150 * kMegabyte, used * kMegabyte, idle * kMegabyte)
        );
    };
    const auto fits = json(fitted(150), 0, 0);
    CHECK(fits["fits"] == true);
    CHECK(fits["rung"] == "small kv");
    CHECK(fits["kv_per_token"] == 8192);
    CHECK(fits["rungs"][0]["bytes"] == 174 * kMegabyte);
    CHECK(fits["rungs"][0]["fits"] == false);
    const auto idle = json(fitted(50), 100, 70);
    CHECK(idle["rung"] == "unload idle");
    CHECK(idle["reason"] == "");
    const auto refused = json(fitted(50), 100, 10);
    CHECK(refused["rung"] == nullptr);
    CHECK(refused["reason"].get<std::string>().starts_with("mara needs 174 MB"));
}

TEST_CASE("sizes that overflow never fit") {
    const auto measure = [](const Shape&) {
        ModelInfo info;
        info.weights = UINT64_MAX;
        info.kv = UINT64_MAX;
        return info;
    };
    const auto fit = sotto::fit({}, ShrinkScope::all, UINT64_MAX - 1, measure);
    CHECK_FALSE(fit.fits);
    CHECK(!sotto::refusal("vast", fit, UINT64_MAX, 1000, 0).empty());
}
