// Slots that pinned sessions keep between their turns.
#pragma once

#include <cstddef>
#include <vector>

#include "core/control/stream_table.hpp"
#include "core/model/registry.hpp"
#include "core/schedule/scheduler.hpp"
#include "core/settings.hpp"

namespace sotto {

// The stream of a session's last turn keeps the slot: the stream has ended, but
// is closed only by the job that starts the next turn. Control thread only.
class SlotPins {
public:
    SlotPins(
        const Settings& settings, const Registry& registry, const StreamTable& streams, Scheduler& scheduler
    )
        : settings_(settings), registry_(registry), streams_(streams), scheduler_(scheduler) {}

    // Lets the session of a finished turn keep its slot, with the stream's handle.
    // Returns false if the session is not pinned, or if no other slot would be left.
    bool keep(Stream& stream) noexcept;
    // Called when a session starts a turn on a model. Releases the session's slots of other
    // models, and informs the scheduler whether the session has a slot of this model.
    void begin_turn(ModelEntry& entry, const Session& session) noexcept;
    // Gives the slot of a session to the stream of its new turn. Moves the
    // stream that kept the slot to `closing`, which must have capacity for it.
    void hand_over(ModelEntry& entry, const Session* session, std::vector<Closing>& closing) noexcept;

    // Releases all kept slots of a model. `remembers`: the sessions keep their KV cache.
    void release_all(ModelEntry& entry, bool remembers) noexcept;
    // Releases the slots of sessions that are no longer pinned.
    void release_unpinned() noexcept;
    // Releases kept slots that a model no longer has, the least recently used first.
    void trim(ModelEntry& entry) noexcept;
    // Adds the streams that keep slots to `closing`, for a job that parks all streams of a model.
    // The sessions get the slots again with their next turns. If it throws, nothing has changed.
    static void park(ModelEntry& entry, std::vector<Closing>& closing);

private:
    void release(ModelEntry& entry, std::size_t index, bool remembers) noexcept;
    void expect(const ModelEntry& entry, const Session& session, bool is_kept) noexcept;

    const Settings& settings_;
    const Registry& registry_;
    const StreamTable& streams_;
    Scheduler& scheduler_;
};

} // namespace sotto
