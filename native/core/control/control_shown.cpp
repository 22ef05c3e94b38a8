// What others see of the control thread's work: the trace of what was done, and the figures.
#include <algorithm>
#include <utility>

#include "core/control/control.hpp"
#include "platform/clock.hpp"

namespace sotto {
namespace {

std::uint32_t sum(const Job& job, std::uint32_t sotto_step_item::* what) noexcept {
    std::uint32_t all = 0;
    for (const auto& work : job.work) {
        all += work.*what;
    }
    return all;
}

std::uint32_t decoded(const Job& job) noexcept {
    std::uint32_t all = 0;
    for (const auto& work : job.work) {
        all += work.evaluated == 0 && work.generated > 0 ? work.decoded : 0;
    }
    return all;
}

sotto_slice slice_of(const Job& job) noexcept {
    sotto_slice slice{};
    slice.begin_ns = static_cast<std::uint64_t>(job.began);
    slice.end_ns = static_cast<std::uint64_t>(job.ended);
    slice.streams = static_cast<std::uint32_t>(job.streams.size());
    slice.mode = job.mode;
    slice.prompt_tokens = sum(job, &sotto_step_item::evaluated);
    slice.generated_tokens = sum(job, &sotto_step_item::generated);
    slice.decoded_tokens = decoded(job);
    slice.predicted_ms = static_cast<float>(milliseconds(job.predicted));
    slice.limit_ms = static_cast<float>(milliseconds(job.limit));
    slice.share = job.share;
    slice.frame_phase = job.phase;
    slice.threads = job.steps() ? job.threads : 1;
    slice.flags = (job.tries ? SOTTO_SLICE_TRIAL : 0) | (job.gave_up ? SOTTO_SLICE_GAVE_UP : 0);
    slice.kind = !job.steps()          ? SOTTO_SLICE_OPEN
                 : job.load.prompt > 0 ? SOTTO_SLICE_PROMPT
                                       : SOTTO_SLICE_DECODE;
    return slice;
}

} // namespace

// The rest that has just ended.
void Control::note_rest() noexcept {
    const auto since = std::exchange(rested_since_, 0);
    if (since == 0 || !world_.trace.is_kept()) {
        return;
    }
    sotto_slice slice{};
    slice.kind = SOTTO_SLICE_REST;
    slice.begin_ns = static_cast<std::uint64_t>(since);
    slice.end_ns = static_cast<std::uint64_t>(world_.clock.now());
    slice.mode = mode();
    slice.share = static_cast<float>(share());
    world_.trace.add(slice);
}

// For those who look at what was done.
void Control::note(const Job& job) noexcept {
    if (job.streams.empty()) {
        return; // it closed streams
    }
    world_.meter.did({
        .began = job.began,
        .ended = job.ended,
        .gated = job.gated_ns,
        .prompt = sum(job, &sotto_step_item::evaluated),
        .generated = sum(job, &sotto_step_item::generated),
        .steps = job.steps(),
    });
    if (!world_.trace.is_kept()) {
        return;
    }
    for (std::uint32_t i = 0; i < job.waited; ++i) {
        auto wait = slice_of(job);
        wait.kind = SOTTO_SLICE_GATE;
        wait.begin_ns = static_cast<std::uint64_t>(job.waits[i].begin);
        wait.end_ns = static_cast<std::uint64_t>(job.waits[i].end);
        wait.prompt_tokens = wait.generated_tokens = wait.decoded_tokens = 0;
        wait.predicted_ms = wait.limit_ms = 0;
        world_.trace.add(wait);
    }
    world_.trace.add(slice_of(job));
}

void Control::show() noexcept {
    sotto_stats stats{};
    const auto now = world_.clock.now();
    const auto counts = scheduler_.counts(now);
    stats.waiting = counts.waiting;
    stats.prefilling = counts.prompting;
    stats.decoding = counts.speaking;
    stats.parked = counts.parked;
    stats.queue_wait_max_ms = static_cast<float>(milliseconds(now - counts.oldest));
    stats.share = static_cast<float>(share());
    for (const auto& entry : world_.registry.entries()) {
        stats.threads = std::max(stats.threads, entry->thread_count.settled());
        stats.waiting += static_cast<std::uint32_t>(entry->held.size());
        stats.models_evicted += entry->state == ModelEntry::State::asleep ? 1 : 0;
    }
    world_.meter.show(stats, now);
    world_.recorder.flush();
    shown_ = now;
    changed_ = false;
}

} // namespace sotto
