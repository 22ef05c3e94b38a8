// The scheduler, with a minimal engine around it.
#pragma once

#include "core/schedule/scheduler.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "core/telemetry/recorder.hpp"
#include "support/manual_clock.hpp"

namespace test {

using sotto::ScheduledModel;
using sotto::Scheduler;
using sotto::Slice;
using Stream = sotto::ScheduledStream;

constexpr std::int64_t kNow = 1'000'000'000;
constexpr sotto::Limits kLimits = {.time = 100 * kMillisecond};

// Properties of a model.
struct Traits {
    std::uint32_t streams = 4;
    std::uint32_t step_tokens = 0;
    bool batches = true;
    bool parks = false;
};

// Properties of a stream.
struct Wish {
    float tps = 0;
    sotto_priority priority = SOTTO_PRIORITY_NORMAL;
    std::int64_t deadline = 0;
    bool pinned = false;
    std::uint64_t group = 0; // group of adapters
};

// The scheduler, with a minimal engine around it.
class World {
public:
    explicit World(sotto::Recorder* recorder = nullptr) : scheduler(recorder) {}

    ScheduledModel& model(const Traits& traits = {}) {
        models_.push_back(std::make_unique<ScheduledModel>());
        auto& made = *models_.back();
        made.number = models_.size();
        made.traits.streams = traits.streams;
        made.traits.step_tokens = traits.step_tokens;
        made.traits.batches = traits.batches;
        made.traits.parks = traits.parks;
        return made;
    }

    Stream& stream(ScheduledModel& model, std::uint32_t prompt, const Wish& wish = {}) {
        sotto::StreamTerms terms;
        terms.number = streams_.size() + 1;
        terms.priority = wish.priority;
        terms.deadline = wish.deadline == 0 ? sotto::kNever : wish.deadline;
        terms.pinned = wish.pinned;
        terms.group = wish.group;
        streams_.push_back(std::make_unique<Paced>(model, terms, wish.tps));
        auto& made = streams_.back()->stream;
        prompts_[&made] = prompt;
        scheduler.add(made);
        scheduler.look();
        return made;
    }

    // A stream that is admitted and prefilled.
    Stream& speaker(ScheduledModel& model, const Wish& wish = {}) {
        auto& made = stream(model, 1, wish);
        ++model.open_streams;
        made.opened(1, 1);
        scheduler.changed(made);
        scheduler.look();
        return made;
    }

    // Marks `made` tokens of an answer as generated, and `told` as delivered.
    void make_and_tell(Stream& stream, std::uint32_t made, std::uint32_t told, std::int64_t now) {
        stream.told = made;
        const auto found = std::find_if(streams_.begin(), streams_.end(), [&](const auto& one) {
            return &one->stream == &stream;
        });
        auto& pacer = (*found)->pacer;
        for (auto n = pacer.told() + 1; n <= told; ++n) {
            pacer.tell(n, now, now, 0);
        }
        stream.look();
    }

    // Teaches the cost model that a step takes a millisecond per token.
    static void know(ScheduledModel& model) {
        model.costs.prepare(1);
        for (std::uint32_t tokens = 1; tokens <= 256; tokens *= 2) {
            sotto::StepLoad prompt;
            prompt.add_prompt(tokens, 0);
            prompt.reach = 0;
            model.costs.learn(1, prompt, tokens * kMillisecond);
            sotto::StepLoad answers;
            answers.answers = tokens;
            model.costs.learn(1, answers, tokens * kMillisecond);
        }
    }

    // Executes the next slice as the engine would.
    Slice turn(std::int64_t now = kNow, const sotto::Limits& limits = kLimits) {
        scheduler.look();
        auto slice = scheduler.next(now, limits);
        for (const auto& share : slice.shares) {
            Stream& stream = *share.stream;
            if (slice.parks != nullptr) {
                slice.parks->state = Stream::State::parked;
                --stream.model.open_streams;
            }
            if (slice.kind == Slice::Kind::unpark) {
                ++stream.model.open_streams;
                stream.unparked(0);
                continue;
            }
            if (slice.kind == Slice::Kind::open) {
                ++stream.model.open_streams;
                stream.opened(prompts_[&stream], 0);
                continue;
            }
            const auto left = stream.remaining - std::min(share.tokens, stream.remaining);
            stream.stepped(left, left == 0, now);
            if (left == 0) {
                stream.told = stream.generated;
            }
        }
        if (!slice.shares.empty()) {
            slice.model().served_ns += std::max<std::int64_t>(slice.predicted, kMillisecond);
        }
        return slice;
    }

    void end(Stream& stream) {
        stream.state = Stream::State::over;
        scheduler.remove(stream);
        --stream.model.open_streams;
    }

    Scheduler scheduler;

private:
    struct Paced {
        Paced(ScheduledModel& model, const sotto::StreamTerms& terms, float tps)
            : rate(tps), pacer(rate, none), stream(model, terms, &pacer, kNow) {}

        const std::atomic<float> none{0};
        const std::atomic<float> rate;
        sotto::Pacer pacer;
        Stream stream;
    };

    std::vector<std::unique_ptr<ScheduledModel>> models_;
    std::vector<std::unique_ptr<Paced>> streams_;
    std::map<const Stream*, std::uint32_t> prompts_;
};

inline std::vector<const Stream*> who(const Slice& slice) {
    std::vector<const Stream*> all;
    for (const auto& share : slice.shares) {
        all.push_back(share.stream);
    }
    return all;
}

inline std::vector<std::uint32_t> tokens(const Slice& slice) {
    std::vector<std::uint32_t> all;
    for (const auto& share : slice.shares) {
        all.push_back(share.tokens);
    }
    return all;
}

using Who = std::vector<const Stream*>;
using Tokens = std::vector<std::uint32_t>;

} // namespace test
