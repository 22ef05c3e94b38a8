// The running job, and the job that follows it.
#pragma once

#include <cstdint>
#include <memory>

#include "core/control/compute.hpp"
#include "core/control/thread_class_policy.hpp"
#include "platform/clock.hpp"

namespace sotto {

// Control thread only. Passes jobs to the compute thread, one at a time, and returns those that are done.
// The job that follows is another step of the same streams, which the compute thread starts by itself.
class StepRunner {
public:
    StepRunner(Compute& compute, ThreadClassPolicy& classes, const Settings& settings, const Clock& clock)
        : compute_(compute), classes_(classes), settings_(settings), clock_(clock) {}

    // The running job, or null.
    const Job* job() const noexcept { return job_.get(); }
    bool is_idle() const noexcept { return job_ == nullptr; }
    bool runs(const ModelEntry& entry) const noexcept { return job_ != nullptr && job_->entry == &entry; }
    bool has_next() const noexcept { return next_ != nullptr; }
    // Time at which the running job was started; kNever if none runs.
    std::int64_t since() const noexcept { return job_ == nullptr ? kNever : job_->issued; }

    // Starts a job. Its thread must be prepared, and no job may be running.
    void begin(std::unique_ptr<Job> job) noexcept;
    // Sets the step that follows the running one, if all streams of the running step have more to generate.
    void follow_with(std::unique_ptr<Job> next) noexcept;
    // Takes back the job that follows unless it has begun, because something else is due first.
    void hold_back() noexcept;
    // Takes the running job if it is done; otherwise returns null.
    std::unique_ptr<Job> take_done() noexcept;

    // Aborts the running job, and the one that follows, if all of its streams have ended.
    void abort_if_unwanted() noexcept;
    // Raises the running job from the idle class, because a caller waits for its end.
    void raise() noexcept;
    // Handles a stalled job: a job that no idle-class thread has started is moved to the normal class, and a
    // step that reaches no gate is aborted and repeated there. Throws if the normal class has no thread.
    void rescue();
    // Time of the next rescue(); kNever: not before the job is done.
    std::int64_t rescue_due() const noexcept;

private:
    Compute& compute_;
    ThreadClassPolicy& classes_;
    const Settings& settings_;
    const Clock& clock_;
    std::unique_ptr<Job> job_;
    struct {
        bool raised = false;      // its thread was moved to the normal class
        std::int64_t checked = 0; // time of the last rescue()
        std::uint32_t seen = 0;   // gates it had reached then
        std::int64_t moved = 0;   // time of the last change of `seen`
    } watch_;                     // of the running job
    std::unique_ptr<Job> next_;
};

} // namespace sotto
