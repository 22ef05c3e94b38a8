// The scheduler, and as much of an engine around it as it sees.
#pragma once

#include "core/schedule/scheduler.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "support/game.hpp"
#include "support/reply.hpp"

namespace test {

using sotto::ModelEntry;
using sotto::Scheduler;
using sotto::Slice;
using sotto::Stream;

constexpr std::int64_t kNow = 1'000'000'000;
constexpr std::int64_t kMillisecond = 1'000'000;
constexpr std::int64_t kSecond = 1000 * kMillisecond;
constexpr sotto::Limits kLimits = {.time = 100 * kMillisecond};

inline std::int32_t SOTTO_CALL go_on(void* /*context*/, float /*progress*/) {
    return 0;
}

// How a stream is wanted.
struct Wish {
    float tps = 0;
    sotto_priority priority = SOTTO_PRIORITY_NORMAL;
    std::int64_t deadline = 0;
};

// The scheduler, and as much of an engine around it as it sees.
class World {
public:
    World() : backend_(test::scripted()) {}

    ModelEntry& model(const std::string& script) {
        sotto_model_source source{};
        source.struct_size = sizeof source;
        source.path = test::str("a path");
        source.options = test::str(script);
        source.progress = go_on;
        auto entry = std::make_unique<ModelEntry>(sotto::Asked{});
        entry->model = std::make_unique<sotto::Model>(backend_, source);
        entry->state = ModelEntry::State::ready;
        entries_.push_back(std::move(entry));
        return *entries_.back();
    }

    Stream& stream(ModelEntry& entry, std::uint32_t prompt, const Wish& wish = {}) {
        sotto::Asked asked;
        asked.op = SOTTO_OP_CHAT;
        asked.target_tps = wish.tps;
        asked.priority = wish.priority;
        asked.deadline_ns = wish.deadline;
        auto reply = test::reply_in(table_, std::move(asked), kNow);
        streams_.push_back(std::make_unique<Stream>(std::move(reply), 0, entry, kNow));
        prompts_[streams_.back().get()] = prompt;
        scheduler.add(*streams_.back());
        return *streams_.back();
    }

    // A stream that has been let in, and has worked through its prompt.
    Stream& speaker(ModelEntry& entry, const Wish& wish = {}) {
        auto& made = stream(entry, 1, wish);
        ++entry.open_streams;
        made.opened({.prompt_tokens = 1, .cached_tokens = 1, .stops = "", .result = ""}, kNow);
        return made;
    }

    // Steps take a millisecond for each token, whatever else.
    static void know(ModelEntry& entry) {
        entry.costs.prepare(1);
        for (std::uint32_t tokens = 1; tokens <= 256; tokens *= 2) {
            sotto::StepLoad prompt;
            prompt.add_prompt(tokens, 0);
            prompt.reach = 0;
            entry.costs.learn(1, prompt, tokens * kMillisecond);
            sotto::StepLoad answers;
            answers.answers = tokens;
            entry.costs.learn(1, answers, tokens * kMillisecond);
        }
    }

    // Does what a slice says, as the engine would.
    Slice turn(std::int64_t now = kNow, const sotto::Limits& limits = kLimits) {
        auto slice = scheduler.next(now, limits);
        for (const auto& share : slice.shares) {
            Stream& stream = *share.stream;
            if (slice.parks != nullptr) {
                slice.parks->state = Stream::State::parked;
                --stream.entry.open_streams;
            }
            if (slice.kind == Slice::Kind::unpark) {
                ++stream.entry.open_streams;
                stream.unparked(0);
                continue;
            }
            if (slice.kind == Slice::Kind::open) {
                ++stream.entry.open_streams;
                stream.opened({.prompt_tokens = prompts_[&stream], .stops = "", .result = ""}, now);
                continue;
            }
            const auto left = stream.remaining - std::min(share.tokens, stream.remaining);
            stream.stepped(left, left == 0, now);
            if (left == 0) {
                stream.told(stream.counts().generated);
            }
        }
        if (!slice.shares.empty()) {
            slice.entry().served_ns += std::max<std::int64_t>(slice.predicted, kMillisecond);
        }
        return slice;
    }

    void end(Stream& stream) {
        stream.state = Stream::State::over;
        scheduler.remove(stream);
        --stream.entry.open_streams;
    }

    Scheduler scheduler;

private:
    sotto::Backend backend_;
    sotto::RequestTable table_;
    std::vector<std::unique_ptr<ModelEntry>> entries_;
    std::vector<std::unique_ptr<Stream>> streams_;
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
