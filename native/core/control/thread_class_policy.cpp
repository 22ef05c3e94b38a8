#include "core/control/thread_class_policy.hpp"

#include <utility>

#include "base/attempt.hpp"
#include "core/control/step_time.hpp"
#include "platform/thread.hpp"

namespace sotto {

ThreadClassPolicy::ThreadClassPolicy(
    const Hooks& hooks,
    const Settings& settings,
    const Frames& frames,
    const Clock& clock,
    const DeviceMoves& moves,
    Signal& probed
)
    : hooks_(hooks), settings_(settings), frames_(frames), clock_(clock), moves_(moves),
      probe_(hooks, probed) {}

bool ThreadClassPolicy::settle(bool has_idle) {
    if (settings_.prioritizes_compute() || !has_idle) {
        avoids_idle_ = false;
        return true;
    }
    const auto now = clock_.now();
    if (idle_.wants_probe(now) && !probe_.is_under_way()) {
        const auto begin = [&] {
            probe_.begin();
            idle_.probe_began(now);
        };
        attempt(begin, [&](sotto_status, const char*) { idle_.cannot_probe(now); });
    }
    const auto verdict = idle_.ask(now);
    const bool avoids = verdict == IdleClass::Verdict::avoid;
    if (avoids != std::exchange(avoids_idle_, avoids)) {
        hooks_.log.info(
            avoids ? "threads of the idle class get no core; models run in short slices of the normal class"
                   : "threads of the idle class get cores again"
        );
    }
    return verdict != IdleClass::Verdict::wait;
}

void ThreadClassPolicy::take_probe() noexcept {
    idle_.probe_is(probe_.has_run(), !probe_.is_under_way(), clock_.now());
}

std::int64_t ThreadClassPolicy::next_wake() const noexcept {
    return settings_.prioritizes_compute() ? kNever : idle_.wake(clock_.now());
}

void ThreadClassPolicy::learn(const Job& job) noexcept {
    if (job.thread_class != ThreadClass::idle || !is_step(job) || job.failure || job.abort.load()) {
        return;
    }
    const auto took = job.ended - job.issued - job.gates.gated_ns;
    if (job.gave_up && took > kStandstill) {
        idle_.stood_still(job.ended);
    } else if (!job.gave_up) {
        idle_.ran(job.ended);
    }
}

void ThreadClassPolicy::stood_still(std::int64_t now) noexcept {
    idle_.stood_still(now);
    avoids_idle_ = true;
}

ThreadClass ThreadClassPolicy::usual() const noexcept {
    const bool hurries = hurries_ || moves_.is_leaving();
    const bool normal = settings_.prioritizes_compute() || avoids_idle_ || hurries;
    return normal ? ThreadClass::normal : ThreadClass::idle;
}

// A step that cannot be aborted runs in the normal class: an idle-class thread without a
// core would hold the locks of the backend, such as Python's GIL, until it gets one.
ThreadClass ThreadClassPolicy::of(const ModelEntry& entry) const noexcept {
    return entry.model->info().can(SOTTO_CAPABILITY_ABORTABLE) ? usual() : ThreadClass::normal;
}

Cores ThreadClassPolicy::cores(bool yields) const noexcept {
    const bool first = settings_.prioritizes_compute();
    return {
        .usable = usable_cores(),
        .busy = first ? 0 : frames_.busy_cores(clock_.now()),
        .asked = hooks_.threads.compute_threads,
        .yields = first || yields,
        .run_everywhere = first || idle_.runs_everywhere(),
    };
}

} // namespace sotto
