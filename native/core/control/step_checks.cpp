#include "core/control/step_checks.hpp"

#include <string>

#include "core/codec/codec.hpp"
#include "module/contract.hpp"

namespace sotto {

void check_prompt(const ModelInfo& model, const OpenJob& job) {
    const auto context = model.context;
    const auto tokens = job.opened.prompt_tokens;
    if (context != 0 && tokens > context && !has_data(job.op)) {
        throw Error(
            SOTTO_ERROR_INFERENCE,
            "the prompt has " + std::to_string(tokens) + " tokens, but the model's context holds " +
                std::to_string(context) + "; shorten the prompt, or raise the model's context"
        );
    }
}

void check_progress(Stream& stream, const sotto_step_item& work, const Job& job) {
    constexpr std::uint32_t kMaxIdleSteps = 10'000;
    if (job.abort.load() || job.gave_up || work.wait_ms != 0 ||
        stream.output.progress.add(work) < kMaxIdleSteps) {
        return;
    }
    refuse_backend(
        job.entry->model->backend(),
        SOTTO_ERROR_INFERENCE,
        std::to_string(kMaxIdleSteps) +
            " steps in a row gave the stream no token, and sotto_step_item.remaining, " +
            std::to_string(work.remaining) + " now, never fell"
    );
}

void check_step(
    Job& job, const StepJob& step, sotto_status status, const std::vector<std::uint32_t>& before
) {
    constexpr std::uint32_t kMaxIdleSteps = 100;
    auto& idle_steps = job.entry->compute.idle_steps;
    const auto moved = [&](std::size_t i) {
        const auto& work = step.work[i];
        return work.evaluated != 0 || work.generated != 0 || work.data.size != 0 || work.wait_ms != 0 ||
               work.finish != SOTTO_FINISH_NONE || work.status < 0 || work.remaining < before[i];
    };
    bool any = job.abort.load() || job.gave_up;
    if (status == SOTTO_ERROR_CANCELLED && !any) {
        refuse_backend(
            job.entry->model->backend(),
            SOTTO_ERROR_INFERENCE,
            "step returned SOTTO_ERROR_CANCELLED without a cancelling gate"
        );
    }
    for (std::size_t i = 0; i < step.work.size(); ++i) {
        any = any || moved(i);
    }
    idle_steps = any ? 0 : idle_steps + 1;
    if (idle_steps >= kMaxIdleSteps) {
        idle_steps = 0;
        refuse_backend(
            job.entry->model->backend(),
            SOTTO_ERROR_INFERENCE,
            std::to_string(kMaxIdleSteps) + " steps in a row did nothing for any stream"
        );
    }
}

bool goes_on(const Job& job) noexcept {
    const auto* step = std::get_if<StepJob>(&job.what);
    if (step == nullptr || job.failure || step->work.empty() || job.abort.load()) {
        return false;
    }
    for (std::size_t i = 0; i < step->work.size(); ++i) {
        const auto& work = step->work[i];
        if (step->failures[i] || work.generated == 0 || work.remaining != 0 || step->increment[i].last) {
            return false;
        }
    }
    return true;
}

} // namespace sotto
