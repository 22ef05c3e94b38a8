// What becomes of jobs that stand still.
#include <algorithm>
#include <string>
#include <utility>

#include "base/attempt.hpp"
#include "core/control/control.hpp"
#include "core/control/step_time.hpp"

namespace sotto {
namespace {

constexpr std::int64_t kToBegin = 50'000'000; // until a thread has begun what it was given
constexpr std::int64_t kToLook = 25'000'000;  // from one look at a step to the next

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kToReport = 10 * kSecond; // from a call of a backend to a report, and to the next
constexpr std::int64_t kToReportLeaving = 2 * kSecond; // the same while the engine is being destroyed

// The function of the backend that a job calls last.
const char* function_of(const Job& job) noexcept {
    if (job.loads != nullptr) {
        return "adapter_open()";
    }
    if (job.resizes) {
        return "resize()";
    }
    if (job.opens) {
        return "stream_open()";
    }
    return job.unparks ? "stream_unpark()" : job.steps() ? "step()" : "stream_close()";
}

} // namespace

// Whoever destroys the engine, or detaches the card that a step is on, waits for the step.
void Control::raise_job() noexcept {
    if (job_ == nullptr || job_->thread_class != ThreadClass::idle || job_->raised) {
        return;
    }
    const bool leaves_card =
        moves_.is_leaving() && job_->entry != nullptr && is_on_card(job_->entry->device.load());
    if (leaving_ || leaves_card) {
        job_->raised = compute_.raise(*job_);
    }
}

// The model whose backend the engine waits for: that of the job under way or, while the engine is being
// destroyed, one that another thread opens, closes or prepares a request for. Null: none.
const ModelEntry* Control::awaited_entry() const noexcept {
    if (job_ != nullptr || !leaving_) {
        return job_ != nullptr ? job_->entry : nullptr;
    }
    const auto& all = world_.registry.entries();
    const auto found = std::find_if(all.begin(), all.end(), [](const auto& entry) {
        return entry->with_loader || entry->preparing > 0;
    });
    return found == all.end() ? nullptr : found->get();
}

// When a call of a backend that has not returned by then is reported; kNever: none is under way.
std::int64_t Control::stall_due() const noexcept {
    if (awaited_entry() == nullptr) {
        return kNever;
    }
    const auto since = std::max({job_ != nullptr ? job_->issued : 0, left_at_, reported_});
    return since + (leaving_ ? kToReportLeaving : kToReport);
}

// Logs which call of a backend has not returned: nothing can end it, and a step uses what the engine would
// free.
void Control::report_stall() noexcept {
    const auto now = world_.clock.now();
    if (now < stall_due()) {
        return;
    }
    reported_ = now;
    const auto& entry = *awaited_entry();
    const auto report = [&] {
        const auto& backend = entry.backend.empty() ? entry.asked.backend : entry.backend;
        const char* function = job_ != nullptr     ? function_of(*job_)
                               : entry.with_loader ? "open() or close()"
                                                   : "prepare()";
        const auto seconds = (now - (job_ != nullptr ? job_->issued : left_at_)) / kSecond;
        world_.hooks.log.warn(
            "backend '" + backend + "' has not returned from " + function + " for model '" + entry.asked.id +
            "' for " + std::to_string(seconds) + " s; " +
            (leaving_ ? "sotto_engine_destroy() waits for it" : "the engine's other models wait for it")
        );
    };
    attempt(report, [](sotto_status, const char*) {}); // without memory, the next report tells
}

// When to look after the job under way; kNever: when it is done.
std::int64_t Control::rescue_due() const noexcept {
    const auto& job = *job_;
    if (job.thread_class != ThreadClass::idle || job.given_up.load()) {
        return kNever;
    }
    if (job.checked == 0) {
        return job.issued + kToBegin;
    }
    return job.steps() && job.gate_limit == 0 ? job.checked + kToLook : kNever;
}

// A job that no thread of the idle class begins is given to the normal one. A step that stands still is told
// to end, and is taken again there.
bool Control::rescue_job() {
    const auto now = world_.clock.now();
    if (job_ == nullptr || now < rescue_due()) {
        return false;
    }
    auto& job = *job_;
    if (const auto asked = job.asked.load(std::memory_order_relaxed); asked != job.seen || job.checked == 0) {
        job.seen = asked;
        job.moved = now;
    }
    if (std::exchange(job.checked, now) != 0) {
        const bool repeats = job.entry->model->info().can(SOTTO_CAPABILITY_ABORTABLE);
        if (repeats && now - job.moved >= kStandstill) {
            compute_.give_up(job);
        }
        return false;
    }
    compute_.prepare(ThreadClass::normal);
    job.entry->costs.prepare(1); // nothing throws from here on
    if (!compute_.take_back(job)) {
        return false;
    }
    hold_back();
    classes_.stood_still(now);
    job.thread_class = ThreadClass::normal;
    job.threads = world_.settings.is(SOTTO_ENGINE_DETERMINISTIC) ? job.threads : 1;
    job.patience = 0;
    compute_.start(job);
    return false;
}

} // namespace sotto
