// The job under way, and the one that follows it.
#pragma once

#include <cstdint>
#include <memory>

#include "core/control/compute.hpp"
#include "core/control/thread_class_policy.hpp"
#include "platform/clock.hpp"

namespace sotto {

// The control thread's alone. It hands jobs to the compute thread, one at a time, and gives back those that
// are done. The job that follows is another step of the same streams, which the compute thread begins by
// itself.
class StepRunner {
public:
    StepRunner(Compute& compute, ThreadClassPolicy& classes, const Settings& settings, const Clock& clock)
        : compute_(compute), classes_(classes), settings_(settings), clock_(clock) {}

    // The job under way; null: there is none.
    const Job* job() const noexcept { return job_.get(); }
    bool is_idle() const noexcept { return job_ == nullptr; }
    bool runs(const ModelEntry& entry) const noexcept { return job_ != nullptr && job_->entry == &entry; }
    bool has_next() const noexcept { return next_ != nullptr; }
    // When the job under way was handed over; kNever: there is none.
    std::int64_t since() const noexcept { return job_ == nullptr ? kNever : job_->issued; }

    // Hands over a job. Its thread is prepared, and no job is under way.
    void begin(std::unique_ptr<Job> job) noexcept;
    // Has a step follow the step under way, if all streams of that have more to say.
    void follow_with(std::unique_ptr<Job> next) noexcept;
    // Takes back the job that follows, unless it has begun: something else is due before.
    void hold_back() noexcept;
    // Takes the job under way if it is done; else returns null.
    std::unique_ptr<Job> take_done() noexcept;

    // Tells the job under way, and the one that follows, to end if each of its streams is over.
    void abort_if_unwanted() noexcept;
    // Raises the job under way from the idle class, as its end is waited for.
    void raise() noexcept;
    // Looks after a job that stands still: one that no thread of the idle class begins is given to the normal
    // class, and a step that comes to no gate is told to end, to be taken again there. Throws where the
    // normal class has no thread.
    void rescue();
    // When rescue() is to be called; kNever: when the job is done.
    std::int64_t rescue_due() const noexcept;

private:
    Compute& compute_;
    ThreadClassPolicy& classes_;
    const Settings& settings_;
    const Clock& clock_;
    std::unique_ptr<Job> job_;
    struct {
        bool raised = false;      // its thread was asked for the normal class
        std::int64_t checked = 0; // when rescue() looked after it
        std::uint32_t seen = 0;   // gates that it had come to then
        std::int64_t moved = 0;   // when `seen` changed last
    } watch_;                     // of the job under way
    std::unique_ptr<Job> next_;
};

} // namespace sotto
