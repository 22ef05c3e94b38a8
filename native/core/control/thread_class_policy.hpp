// Chooses the scheduling class of the threads that run jobs.
#pragma once

#include <cstdint>

#include "core/control/compute.hpp"
#include "core/control/device_moves.hpp"
#include "core/schedule/idle_class.hpp"
#include "core/schedule/thread_count.hpp"
#include "core/settings.hpp"
#include "platform/clock.hpp"

namespace sotto {

// The idle class where the game comes first and threads of that class get cores, else the normal one. Control
// thread only.
class ThreadClassPolicy {
public:
    // `probed` is notified when a probe of the idle class has run.
    ThreadClassPolicy(
        const Hooks& hooks,
        const Settings& settings,
        const Frames& frames,
        const Clock& clock,
        const DeviceMoves& moves,
        Signal& probed
    );

    // Chooses the class of the next steps. `has_idle`: the system has an idle class. Returns false while a
    // probe is under way that decides it.
    bool settle(bool has_idle);
    // Takes in how far the probe under way is.
    void take_probe() noexcept;
    // When a probe that steps wait for is late; kNever: steps wait for none.
    std::int64_t next_wake() const noexcept;
    // Takes in whether a step's class ran, by how long the step took.
    void learn(const Job& job) noexcept;
    // Says that a job of the idle class got no core: the class is avoided for a while.
    void stood_still(std::int64_t now) noexcept;
    bool avoids_idle() const noexcept { return avoids_idle_; }

    // From now on jobs run in the normal class, as the engine's end waits for them.
    void hurry() noexcept { hurries_ = true; }

    // The class of jobs, and of the jobs of one model.
    ThreadClass usual() const noexcept;
    ThreadClass of(const ModelEntry& entry) const noexcept;
    // The cores for threads of a class. `yields`: that class yields to the game's threads.
    Cores cores(bool yields) const noexcept;

private:
    const Hooks& hooks_;
    const Settings& settings_;
    const Frames& frames_;
    const Clock& clock_;
    const DeviceMoves& moves_;
    IdleClass idle_;
    IdleProbe probe_;
    bool avoids_idle_ = false;
    bool hurries_ = false;
};

} // namespace sotto
