#include "core/control/step_runner.hpp"

#include <algorithm>
#include <utility>

#include "core/control/step_time.hpp"

namespace sotto {
namespace {

constexpr std::int64_t kToBegin = 50'000'000; // ns for a thread to start its job
constexpr std::int64_t kToLook = 25'000'000;  // ns between checks of a step

} // namespace

void StepRunner::begin(std::unique_ptr<Job> job) noexcept {
    job_ = std::move(job);
    watch_ = {};
    for (Stream* stream : job_->streams) {
        stream->busy = true;
    }
    job_->issued = clock_.now();
    compute_.start(*job_);
}

void StepRunner::follow_with(std::unique_ptr<Job> next) noexcept {
    next_ = std::move(next);
    next_->thread_class = job_->thread_class;
    for (auto& work : std::get<StepJob>(next_->what).work) {
        work.remaining = 0; // the queued step starts only if no prompt tokens remain
    }
    compute_.follow_with(*next_);
}

void StepRunner::hold_back() noexcept {
    if (next_ != nullptr && compute_.hold_back(*next_)) {
        next_.reset();
    }
}

std::unique_ptr<Job> StepRunner::take_done() noexcept {
    if (job_ == nullptr || !job_->done.load(std::memory_order_acquire)) {
        return nullptr;
    }
    auto job = std::move(job_);
    if (job->followed) {
        job_ = std::move(next_);
        watch_ = {};
        job_->issued = clock_.now();
    } else {
        hold_back();
    }
    return job;
}

void StepRunner::abort_if_unwanted() noexcept {
    const auto over = [](const Stream* stream) { return stream->state == Stream::State::over; };
    if (job_ == nullptr || !std::ranges::all_of(job_->streams, over)) {
        return;
    }
    for (Job* job : {job_.get(), next_.get()}) {
        if (job != nullptr) {
            compute_.abort(*job);
        }
    }
}

void StepRunner::raise() noexcept {
    if (job_ != nullptr && job_->thread_class == ThreadClass::idle && !watch_.raised) {
        watch_.raised = compute_.raise(*job_);
    }
}

std::int64_t StepRunner::rescue_due() const noexcept {
    if (job_ == nullptr || job_->thread_class != ThreadClass::idle || job_->given_up.load()) {
        return kNever;
    }
    if (watch_.checked == 0) {
        return job_->issued + kToBegin;
    }
    return is_step(*job_) && job_->gates.limit == 0 ? watch_.checked + kToLook : kNever;
}

void StepRunner::rescue() {
    const auto now = clock_.now();
    if (now < rescue_due()) {
        return;
    }
    auto& job = *job_;
    if (const auto asked = job.gates.asked.load(std::memory_order_relaxed);
        asked != watch_.seen || watch_.checked == 0) {
        watch_.seen = asked;
        watch_.moved = now;
    }
    if (std::exchange(watch_.checked, now) != 0) {
        const bool repeats = job.entry->model->info().can(SOTTO_CAPABILITY_ABORTABLE);
        if (repeats && now - watch_.moved >= kStandstill) {
            compute_.give_up(job);
        }
        return;
    }
    compute_.prepare(ThreadClass::normal);
    job.entry->costs.prepare(1); // nothing throws from here on
    if (!compute_.take_back(job)) {
        return;
    }
    hold_back();
    classes_.stood_still(now);
    job.thread_class = ThreadClass::normal;
    job.threads = settings_.is(SOTTO_ENGINE_DETERMINISTIC) ? job.threads : 1;
    job.patience = 0;
    compute_.start(job);
}

} // namespace sotto
