// Chooses the thread class of jobs.
#pragma once

#include <cstdint>

#include "core/control/compute.hpp"
#include "core/control/device_moves.hpp"
#include "core/schedule/idle_class.hpp"
#include "core/schedule/thread_count.hpp"
#include "core/settings.hpp"
#include "platform/clock.hpp"

namespace sotto {

// Chooses the idle class if the game has priority and threads of that
// class get cores; otherwise the normal class. Control thread only.
class ThreadClassPolicy {
public:
    // `probed`: notified when a probe of the idle class has run.
    ThreadClassPolicy(
        const Hooks& hooks,
        const Settings& settings,
        const Frames& frames,
        const Clock& clock,
        const DeviceMoves& moves,
        Signal& probed
    );

    // Chooses the class of the next steps. `has_idle`: the system has an idle
    // class. Returns false while the choice depends on a probe that is under way.
    bool settle(bool has_idle);
    // Updates the choice of the class from the progress of the probe under way.
    void take_probe() noexcept;
    // Returns when the running probe of the idle class times out, if steps wait
    // for its result; kNever otherwise, or if compute has priority.
    std::int64_t next_wake() const noexcept;
    // Learns from the duration of a step in the idle class whether threads of that class get cores.
    void learn(const Job& job) noexcept;
    // Called if a job of the idle class got no core: avoids that class for a while.
    void stood_still(std::int64_t now) noexcept;
    bool avoids_idle() const noexcept { return avoids_idle_; }

    // Makes all later jobs run in the normal class,
    // because the engine's destruction waits for them.
    void hurry() noexcept { hurries_ = true; }

    // Return the class of jobs in general, and of the jobs of one model.
    ThreadClass usual() const noexcept;
    ThreadClass of(const ModelEntry& entry) const noexcept;
    // Returns the cores available to threads of a class.
    // `yields`: the class yields to the game's threads.
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
