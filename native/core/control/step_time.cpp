#include "core/control/step_time.hpp"

#include <algorithm>

namespace sotto {

// Threads wait for each other inside a step: if another program occupies the core
// of one thread, the step takes hundreds of times as long. Ending the step and repeating
// it on fewer threads is faster. The duration of the first steps cannot be predicted: a
// large model whose steps take longer than `kUnknown` loses that time once.
std::int64_t patience_of(const Job& job, bool deterministic) noexcept {
    constexpr std::int64_t kTimes = 4;
    constexpr std::int64_t kAtLeast = 20'000'000;
    constexpr std::int64_t kUnknown = 250'000'000;
    constexpr std::int64_t kAtMost = 250'000'000; // ns beyond the prediction
    const bool repeats = job.entry->model->info().can(SOTTO_CAPABILITY_ABORTABLE);
    if (!repeats || job.threads <= 1 || deterministic) {
        return 0;
    }
    if (job.predicted <= 0) {
        return job.entry->gave_up ? 0 : kUnknown;
    }
    auto load = job.load;
    if (load.prompt == 0 &&
        load.answers == 1) { // the backend may add draft tokens: assumes the maximum so far
        load.add_answer(static_cast<std::uint32_t>(load.reach), job.entry->max_decoded - 1);
    }
    const auto longest = std::max(job.predicted, job.entry->costs.predict(job.threads, load));
    return longest + std::clamp((kTimes - 1) * longest, kAtLeast, kAtMost);
}

void learn_step(const Job& job, Recorder& recorder) noexcept {
    const auto* step = std::get_if<StepJob>(&job.what);
    if (step == nullptr || job.failure || job.abort.load()) {
        return;
    }
    StepLoad load;
    for (std::size_t i = 0; i < step->work.size(); ++i) {
        const auto& work = step->work[i];
        if (work.evaluated > 0) {
            load.add_prompt(work.evaluated, job.streams[i]->context());
        } else if (work.generated > 0) {
            load.add_answer(job.streams[i]->context(), work.decoded);
            job.entry->max_decoded = std::max(job.entry->max_decoded, work.decoded);
        }
    }
    const ScheduledModel::Step took = {
        .threads = job.threads,
        .load = load,
        .took = job.ended - job.began - job.gates.gated_ns,
        .ended = job.ended,
        .gave_up = job.gave_up,
    };
    job.entry->learn(took);
    recorder.step(*job.entry, took);
}

} // namespace sotto
