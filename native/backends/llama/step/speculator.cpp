// Proposes draft tokens for a stream that is decoded alone, by prompt lookup or with a draft model.
#include "step/speculator.hpp"

#include <algorithm>

namespace sotto::llama {

Speculator::Speculator(const Options& options, Contexts& contexts)
    : enabled_(speculates(options)), max_(options.limits.draft_max),
      lookup_(options.speculative == Options::Speculative::Lookup), contexts_(contexts) {}

void Speculator::guess(StepItem& item, std::size_t room, std::chrono::nanoseconds waited) {
    begun_ = std::chrono::steady_clock::now();
    waited_before_ = waited;
    const auto max = std::min(room, max_);
    look_up(item, max);
    if (item.expected == LLAMA_TOKEN_NULL && contexts_.draft() != nullptr &&
        !item.stream->kv.tokens.has_media()) {
        draft(item, max);
    }
}

void Speculator::look_up(StepItem& item, std::size_t max) {
    if (!lookup_) {
        return;
    }
    auto& stream = *item.stream;
    item.guess = sotto::llama::look_up(stream.kv.tokens.tokens(), max);
    if (!item.guess.empty()) {
        item.expected = item.guess.front();
        item.guess.resize(lookups_.worth(stream.lookup_acceptance, item.guess.size(), contexts_.pool()));
    }
}

void Speculator::draft(StepItem& item, std::size_t max) {
    auto& stream = *item.stream;
    const auto count = drafts_.worth(stream.draft_acceptance, max, contexts_.pool());
    if (count == 0) {
        drafts_.fade(stream.draft_acceptance);
        return;
    }
    item.drafted = true;
    const auto guess = contexts_.draft()->guess(stream.kv.slot, stream.kv.tokens.tokens(), count);
    item.timely = guess.has_value();
    if (guess) {
        item.guess = *guess;
    }
}

void Speculator::saw(const StepItem& item, bool accepted) {
    auto& stream = *item.stream;
    (item.drafted ? drafts_ : lookups_)
        .saw(item.drafted ? stream.draft_acceptance : stream.lookup_acceptance, accepted);
}

void Speculator::measure(const StepItem& item, std::chrono::nanoseconds waited) {
    if (item.stream->kv.tokens.in_prompt() || !item.timely ||
        begun_ == std::chrono::steady_clock::time_point()) {
        return;
    }
    const auto time = std::chrono::steady_clock::now() - begun_ - (waited - waited_before_);
    if (item.guess.empty() || !item.drafted) {
        lookups_.measured(1 + item.guess.size(), time, contexts_.pool());
    }
    if (item.guess.empty() || item.drafted) {
        drafts_.measured(1 + item.guess.size(), time, contexts_.pool());
    }
}

} // namespace sotto::llama
