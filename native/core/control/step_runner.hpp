// Runs the job under way, and the job queued after it.
#pragma once

#include <cstdint>
#include <memory>

#include "core/control/compute.hpp"
#include "core/control/thread_class_policy.hpp"
#include "platform/clock.hpp"

namespace sotto {

// Passes jobs to the compute thread, one at a time, and returns the
// finished ones. The queued job is another step of the same streams,
// which the compute thread starts by itself. Control thread only.
class StepRunner {
public:
    StepRunner(Compute& compute, ThreadClassPolicy& classes, const Settings& settings, const Clock& clock)
        : compute_(compute), classes_(classes), settings_(settings), clock_(clock) {}

    // The job under way; null if idle.
    const Job* job() const noexcept { return job_.get(); }
    bool is_idle() const noexcept { return job_ == nullptr; }
    bool runs(const ModelEntry& entry) const noexcept { return job_ != nullptr && job_->entry == &entry; }
    bool has_next() const noexcept { return next_ != nullptr; }
    // When the job under way was passed to its thread; kNever if idle.
    std::int64_t since() const noexcept { return job_ == nullptr ? kNever : job_->issued; }

    // Starts a job. The thread of the job's class must be prepared, see Compute::prepare(), and no job
    // may be under way.
    void begin(std::unique_ptr<Job> job) noexcept;
    // Queues a step after the step under way. The queued step starts if all
    // streams of the step under way have more to generate.
    void follow_with(std::unique_ptr<Job> next) noexcept;
    // Removes the queued job unless it has started, because another job is due first.
    void hold_back() noexcept;
    // Takes the job under way if it is done; otherwise returns null.
    std::unique_ptr<Job> take_done() noexcept;

    // Aborts the job under way and the queued job if all streams of the job have ended.
    void abort_if_unwanted() noexcept;
    // Moves the thread of the job under way out of the idle class, so that the job ends sooner.
    void raise() noexcept;
    // Handles a stalled job: moves a job that no thread of the idle class has
    // started to the normal class, and ends a step that reaches no gate, so that the
    // step is repeated. Throws if the thread of the normal class cannot be started.
    void rescue();
    // Returns when rescue() must be called next; kNever: not before the job is done.
    std::int64_t rescue_due() const noexcept;

private:
    Compute& compute_;
    ThreadClassPolicy& classes_;
    const Settings& settings_;
    const Clock& clock_;
    std::unique_ptr<Job> job_;
    struct {
        bool raised = false;      // moving the thread of the job was requested
        std::int64_t checked = 0; // time of the last check; 0: none
        std::uint32_t seen = 0;   // gates reached at the last check
        std::int64_t moved = 0;   // when `seen` last changed
    } watch_;                     // for the job under way
    std::unique_ptr<Job> next_;
};

} // namespace sotto
