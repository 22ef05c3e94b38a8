#include "core/control/duty_policy.hpp"

#include <algorithm>
#include <utility>

#include "platform/thread.hpp"

namespace sotto {

DutyPolicy::DutyPolicy(
    const Settings& settings,
    const Frames& frames,
    const Clock& clock,
    const ThreadClassPolicy& classes,
    const Compute& compute,
    Recorder& recorder
)
    : settings_(settings), frames_(frames), clock_(clock), classes_(classes), compute_(compute),
      recorder_(recorder) {}

// Returns true if models yield to the game's threads, judged by the model of the last job. A
// model that computes on a GPU does not delay the game's threads, even if it cannot abort a step.
bool DutyPolicy::yields() const noexcept {
    return !in_the_way_ && compute_.yields(classes_.usual());
}

// Slices are short if they delay the game. Threads that yield to the game's threads do not delay
// it: their slices are as long as other streams can wait, because short slices cost more.
Limits DutyPolicy::limits() const noexcept {
    constexpr std::int64_t kMillisecond = 1'000'000;
    constexpr std::int64_t kFirst = 1000 * kMillisecond;
    constexpr std::int64_t kYielding = 160 * kMillisecond;
    constexpr std::int64_t kInTheWay = 25 * kMillisecond;
    constexpr std::int64_t kInTheWayOfGraphics = 8 * kMillisecond;
    Limits limits;
    if (settings_.prioritizes_compute()) {
        limits.time = kFirst;
    } else if (compute_.yields(classes_.usual())) {
        limits.time = kYielding;
    } else {
        const bool graphics = settings_.mode.load() == SOTTO_MODE_PRIORITIZE_GRAPHICS;
        limits.time = graphics ? kInTheWayOfGraphics : kInTheWay;
    }
    limits.apart = settings_.is(SOTTO_ENGINE_DETERMINISTIC);
    return limits;
}

std::uint32_t DutyPolicy::threads_for(ModelEntry& entry, ThreadClass thread_class) noexcept {
    const auto now = clock_.now();
    const auto cores = classes_.cores(compute_.yields(thread_class));
    if (settings_.is(SOTTO_ENGINE_DETERMINISTIC)) {
        return cores.asked != 0 ? cores.asked : cores.usable;
    }
    const bool told = !settings_.prioritizes_compute() && frames_.are_told(now);
    const auto max = told ? duty_.threads(cores) : cores.max();
    if (told && duty_.probes()) {
        return max; // a probe of a few frames is too short to learn from
    }
    entry.thread_count.set_max(max, now);
    recorder_.threads(entry, max, now);
    return entry.thread_count.now();
}

// While the game reports no frames, the share is 1 for threads that yield to
// the game's threads, and otherwise a fixed share for each sotto_mode.
double DutyPolicy::share() const noexcept {
    constexpr double kBlindly[] = {0.5, 1, 0.25}; // by sotto_mode
    if (settings_.prioritizes_compute()) {
        return 1;
    }
    if (frames_.are_told(clock_.now())) {
        return duty_.duty();
    }
    return compute_.yields(classes_.usual()) ? 1 : kBlindly[settings_.mode.load()];
}

// Returns the minimum share of the time that models get. The minimum is high for threads that
// yield, because these cost the game little: in measurements, a smaller share led to no fewer
// missed frames, but to 25% fewer tokens.
double DutyPolicy::min_share() const noexcept {
    constexpr double kInTheWay = 0.05;
    constexpr double kYielding[] = {0.75, 1, 0.5}; // by sotto_mode
    return yields() ? kYielding[settings_.mode.load()] : kInTheWay;
}

bool DutyPolicy::pauses() const noexcept {
    return duty_.rests() && !settings_.prioritizes_compute() && frames_.are_told(clock_.now());
}

// Returns true if a step waits at its gates. A wait gains nothing if the game leaves as
// many cores free as the step uses, or if the game's threads take precedence anyway.
bool DutyPolicy::is_gated(const Job& job) const noexcept {
    const auto now = clock_.now();
    if (settings_.prioritizes_compute() || !frames_.are_told(now)) {
        return false;
    }
    const auto busy = frames_.busy_cores(now);
    const bool crowded = job.threads + busy > usable_cores();
    const bool graphics = settings_.mode.load() == SOTTO_MODE_PRIORITIZE_GRAPHICS;
    const bool in_the_way = graphics && !compute_.yields(job.thread_class);
    return crowded && (in_the_way || settings_.is(SOTTO_ENGINE_GATES));
}

// Subtracts the time that models have already rested from the limit. Otherwise, if other processes
// kept the game at work without a pause, rests and gate waits would add up, and answers would stall.
std::int64_t DutyPolicy::gate_limit(const Job& job) const noexcept {
    constexpr std::int64_t kMost = 60'000'000;
    constexpr std::int64_t kLeast = 20'000'000;
    if (!is_gated(job)) {
        return 0;
    }
    const auto rested = rest_.since == 0 ? 0 : clock_.now() - rest_.since;
    return std::max(kMost - rested, kLeast);
}

bool DutyPolicy::rests(bool has_streams) noexcept {
    const auto now = clock_.now();
    rest_.is_on = has_streams && (now < rest_.until || pauses());
    if (!has_streams) {
        rest_.since = 0;
    } else if (rest_.is_on && rest_.since == 0) {
        rest_.since = now;
    }
    return rest_.is_on;
}

// Also returns the end of a rest that has already ended: a stream that
// is due after the rest may have no wake-up time of its own.
std::int64_t DutyPolicy::rest_over() const noexcept {
    constexpr std::int64_t kFrameSoon = 4'000'000; // ns between checks while pauses() is true
    if (!rest_.is_on) {
        return kNever;
    }
    return pauses() ? clock_.now() + kFrameSoon : rest_.until;
}

std::int64_t DutyPolicy::end_rest() noexcept {
    return std::exchange(rest_.since, 0);
}

void DutyPolicy::begins(const ModelEntry& entry) noexcept {
    const auto& info = entry.model->info();
    const bool on_device = entry.device.load() != 0 && info.weights + info.kv + info.compute != 0;
    in_the_way_ = !on_device && !info.can(SOTTO_CAPABILITY_ABORTABLE);
}

// Starts a rest after a step, so that models use no more than
// their share of the time. A wait at a gate counts as rest.
void DutyPolicy::ended(const Job& job) noexcept {
    // In ns; limits rests while other programs take all cores, so that models still make progress.
    constexpr double kMaxRest = 100'000'000;
    activity_.ran(job.issued, job.ended);
    const auto took = job.ended - job.began - job.gates.gated_ns;
    const auto least =
        classes_.avoids_idle() ? static_cast<double>(took) / (static_cast<double>(took) + kMaxRest) : 0;
    const double part = std::max(share(), least);
    if (part >= 1 || !is_step(job)) {
        return;
    }
    const auto rest = rest_of(part, took);
    rest_.until = job.ended + rest - job.gates.gated_ns;
    recorder_.rest(part, took, rest);
}

DutyController::Terms DutyPolicy::terms() const noexcept {
    const auto thread_class = yields() ? classes_.usual() : ThreadClass::normal;
    return {min_share(), yields(), classes_.cores(compute_.yields(thread_class))};
}

void DutyPolicy::take_frames(SliceLog& log, bool has_streams, std::int64_t job_since) noexcept {
    Frame frame;
    while (reader_.next(frames_, frame)) {
        log.add_frame(frame, settings_.mode.load(), share());
        if (!has_streams || frame.period == 0 || settings_.prioritizes_compute()) {
            continue; // models did not affect this frame
        }
        const auto terms = this->terms();
        const auto beside = activity_.during(frame, job_since);
        duty_.frame(frame, beside, terms);
        recorder_.frame(frame, beside, terms, duty_);
    }
}

} // namespace sotto
