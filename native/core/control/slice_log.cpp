#include "core/control/slice_log.hpp"

#include <span>

#include "platform/clock.hpp"

namespace sotto {
namespace {

std::span<const sotto_step_item> work_of(const Job& job) noexcept {
    const auto* step = std::get_if<StepJob>(&job.what);
    return step == nullptr ? std::span<const sotto_step_item>() : step->work;
}

std::uint32_t sum(const Job& job, std::uint32_t sotto_step_item::* what) noexcept {
    std::uint32_t all = 0;
    for (const auto& work : work_of(job)) {
        all += work.*what;
    }
    return all;
}

std::uint32_t decoded(const Job& job) noexcept {
    std::uint32_t all = 0;
    for (const auto& work : work_of(job)) {
        all += work.evaluated == 0 && work.generated > 0 ? work.decoded : 0;
    }
    return all;
}

Meter::Drafts drafts_of(const Job& job) noexcept {
    Meter::Drafts drafts;
    for (const auto& work : work_of(job)) {
        drafts.tokens += work.decoded > 1 ? work.decoded - 1 : 0;
        drafts.steps += work.decoded > 1 ? 1 : 0;
        drafts.accepted += work.generated != 0 && work.decoded == 0 && work.evaluated == 0 ? 1 : 0;
    }
    return drafts;
}

sotto_slice stretch(sotto_slice_kind kind, std::int64_t begin, std::int64_t end) noexcept {
    sotto_slice slice{};
    slice.kind = kind;
    slice.begin_ns = static_cast<std::uint64_t>(begin);
    slice.end_ns = static_cast<std::uint64_t>(end);
    return slice;
}

sotto_slice_kind kind_of(const Job& job) noexcept {
    return !is_step(job) ? SOTTO_SLICE_OPEN : job.load.prompt > 0 ? SOTTO_SLICE_PROMPT : SOTTO_SLICE_DECODE;
}

sotto_slice slice_of(const Job& job) noexcept {
    auto slice = stretch(kind_of(job), job.began, job.ended);
    slice.streams = static_cast<std::uint32_t>(job.streams.size());
    slice.mode = job.mode;
    slice.prompt_tokens = sum(job, &sotto_step_item::evaluated);
    slice.generated_tokens = sum(job, &sotto_step_item::generated);
    slice.decoded_tokens = decoded(job);
    slice.predicted_ms = static_cast<float>(milliseconds(job.predicted));
    slice.limit_ms = static_cast<float>(milliseconds(job.limit));
    slice.share = job.share;
    slice.frame_phase = job.phase;
    slice.threads = is_step(job) ? job.threads : 1;
    slice.flags = (job.tries ? SOTTO_SLICE_TRIAL : 0) | (job.gave_up ? SOTTO_SLICE_GAVE_UP : 0);
    return slice;
}

} // namespace

void SliceLog::add(const Job& job) noexcept {
    if (job.streams.empty()) {
        return;
    }
    meter_.did({
        .began = job.began,
        .ended = job.ended,
        .gated = job.gates.gated_ns,
        .prompt = sum(job, &sotto_step_item::evaluated),
        .generated = sum(job, &sotto_step_item::generated),
        .streams = static_cast<std::uint32_t>(job.streams.size()),
        .steps = is_step(job),
        .drafts = drafts_of(job),
    });
    if (!trace_.is_kept()) {
        return;
    }
    for (std::uint32_t i = 0; i < job.gates.waited; ++i) {
        auto wait = slice_of(job);
        wait.kind = SOTTO_SLICE_GATE;
        wait.begin_ns = static_cast<std::uint64_t>(job.gates.waits[i].begin);
        wait.end_ns = static_cast<std::uint64_t>(job.gates.waits[i].end);
        wait.prompt_tokens = wait.generated_tokens = wait.decoded_tokens = 0;
        wait.predicted_ms = wait.limit_ms = 0;
        trace_.add(wait);
    }
    trace_.add(slice_of(job));
}

void SliceLog::add_rest(std::int64_t begin, std::int64_t end, sotto_mode mode, double share) noexcept {
    if (!trace_.is_kept()) {
        return;
    }
    auto slice = stretch(SOTTO_SLICE_REST, begin, end);
    slice.mode = mode;
    slice.share = static_cast<float>(share);
    trace_.add(slice);
}

void SliceLog::add_frame(const Frame& frame, sotto_mode mode, double share) noexcept {
    if (!trace_.is_kept()) {
        return;
    }
    auto slice = stretch(SOTTO_SLICE_FRAME, frame.begin, frame.end);
    slice.limit_ms = static_cast<float>(milliseconds(frame.period));
    slice.mode = mode;
    slice.share = static_cast<float>(share);
    trace_.add(slice);
}

} // namespace sotto
