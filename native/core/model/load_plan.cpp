#include "core/model/load_plan.hpp"

#include <algorithm>

#include "core/memory/units.hpp"

namespace sotto {
namespace {

constexpr std::uint32_t kLengthStep = 256; // tokens; granularity of stream lengths

class Ladder {
public:
    Ladder(std::uint64_t room, const std::function<ModelInfo(const Shape&)>& measure)
        : room_(room), measure_(measure) {}

    // Measures `shape` and appends it as a rung. Returns true if it fits. Does not append a shape
    // that is no smaller than the last rung.
    bool try_shape(const char* name, const Shape& shape) {
        auto info = measure_(shape);
        if (!result.rungs.empty() && info.bytes() >= result.least()) {
            return false;
        }
        // UINT64_MAX: overflow
        const bool fits = info.bytes() <= room_ && info.bytes() != UINT64_MAX;
        result.rungs.push_back({name, shape, std::move(info), fits});
        return result.fits = fits;
    }
    // Replaces the shape of the last rung by a larger one if that fits too.
    void try_better(const Shape& shape) {
        auto info = measure_(shape);
        if (info.bytes() <= room_) {
            auto& last = result.rungs.back();
            last.shape = shape;
            last.info = std::move(info);
        }
    }

    bool fewer_layers(Shape shape);
    bool fewer_streams(Shape shape);
    bool shorter_streams(Shape shape);

    LoadPlan result;

private:
    std::uint64_t room_for_kv() const {
        const auto& info = result.last().info;
        const auto rest = info.weights + info.compute;
        return room_ - std::min(room_, rest);
    }

    const std::uint64_t room_;
    const std::function<ModelInfo(const Shape&)>& measure_;
};

// Tries fewer layers on the device: as many as fit, at least one. Returns true if they fit.
bool Ladder::fewer_layers(Shape shape) {
    const auto& info = result.last().info;
    const auto each = std::max<std::uint64_t>(1, (info.weights + info.kv) / info.layers);
    const auto lacks = info.bytes() - std::min(room_, info.bytes());
    const auto fewer = std::min<std::uint64_t>((lacks + each - 1) / each, info.layers - 1);
    for (auto layers = info.layers - static_cast<std::uint32_t>(fewer); layers > 1; --layers) {
        shape.layers = layers;
        if (measure_(shape).bytes() <= room_) {
            return try_shape("fewer layers", shape);
        }
    }
    shape.layers = 1;
    return try_shape("fewer layers", shape);
}

// Tries fewer streams: as many as fit, at least one. Returns true if they fit.
bool Ladder::fewer_streams(Shape shape) {
    const auto& info = result.last().info;
    const auto each = std::max<std::uint64_t>(1, info.kv / info.streams);
    const auto most = std::min<std::uint64_t>(room_for_kv() / each, info.streams - 1);
    for (auto streams = static_cast<std::uint32_t>(most); streams > 1; --streams) {
        shape.streams = streams;
        if (const auto took = measure_(shape); took.bytes() <= room_) {
            return try_shape("fewer streams", shape);
        }
    }
    shape.streams = 1;
    return try_shape("fewer streams", shape);
}

// Tries shorter streams: as many tokens per stream as fit, at least the model's minimum. Returns true if they
// fit.
bool Ladder::shorter_streams(Shape shape) {
    const auto& info = result.last().info;
    const auto least = std::max<std::uint32_t>(1, info.min_stream_tokens);
    const auto context = info.context;
    const auto each = std::max<std::uint64_t>(1, info.kv / std::max<std::uint32_t>(1, context));
    shape.tokens = least;
    if (!try_shape("shorter streams", shape)) {
        return false;
    }
    for (auto tokens = std::min<std::uint64_t>(room_for_kv() / each, context) / kLengthStep * kLengthStep;
         tokens > least;
         tokens -= kLengthStep) {
        shape.tokens = static_cast<std::uint32_t>(tokens);
        try_better(shape);
        if (result.last().shape.tokens == tokens) {
            break;
        }
    }
    return true;
}

std::string plural(std::uint64_t count, const char* what) {
    return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

std::string told(const PlanStep& rung) {
    const auto& info = rung.info;
    auto text = plural(info.streams, "stream");
    if (info.context != 0) {
        text += " of " + std::to_string(info.context) + " tokens";
    }
    return text;
}

} // namespace

LoadPlan
fit(const Shape& asked,
    ShrinkScope smaller,
    std::uint64_t room,
    const std::function<ModelInfo(const Shape&)>& measure) {
    Ladder ladder(room, measure);
    if (ladder.try_shape("as asked", asked)) {
        return std::move(ladder.result);
    }
    const auto gives = [&](sotto_model_shrinkable what) {
        return (ladder.result.last().info.shrinkable & what) != 0;
    };
    const bool all = smaller == ShrinkScope::all;
    auto shape = asked;
    if (all && gives(SOTTO_SHRINKABLE_KV)) {
        shape.flags |= SOTTO_SOURCE_SMALL_KV;
        if (ladder.try_shape("small kv", shape)) {
            return std::move(ladder.result);
        }
        shape = ladder.result.last().shape;
    }
    if (gives(SOTTO_SHRINKABLE_LAYERS) && ladder.result.last().info.layers > 1) {
        if (ladder.fewer_layers(shape)) {
            return std::move(ladder.result);
        }
        shape = ladder.result.last().shape;
    }
    const bool fewer = gives(SOTTO_SHRINKABLE_STREAMS) || (!all && gives(SOTTO_SHRINKABLE_PLACES));
    if (fewer && ladder.result.last().info.streams > 1) {
        if (ladder.fewer_streams(shape)) {
            return std::move(ladder.result);
        }
        shape = ladder.result.last().shape;
    }
    if (all && gives(SOTTO_SHRINKABLE_TOKENS)) {
        ladder.shorter_streams(shape);
    }
    return std::move(ladder.result);
}

std::string refusal(
    const std::string& id, const LoadPlan& fit, std::uint64_t budget, std::uint64_t used, std::uint64_t idle
) {
    const auto& asked = fit.rungs.front();
    const auto& least = fit.last();
    auto text = id + " needs " + megabytes(asked.info.bytes());
    if (fit.rungs.size() > 1) {
        text += " (" + told(asked) + "), or " + megabytes(least.info.bytes()) + " at the least (" +
                told(least) + ")";
    }
    text += "; " + megabytes(used) + " of the budget of " + megabytes(budget) + " are taken";
    if (idle > 0) {
        text += ", " + megabytes(idle) + " of them by models that are idle";
    }
    const auto busy = used - std::min(used, idle);
    const auto enough = least.info.bytes() + std::min(busy, UINT64_MAX - least.info.bytes());
    return text + ". Raise vram_budget to " + megabytes(enough) + (used > 0 ? ", unload a model," : "") +
           " or ask for less in options";
}

} // namespace sotto
