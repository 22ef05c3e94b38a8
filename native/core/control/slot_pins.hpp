// Lets pinned sessions keep their slots between turns.
#pragma once

#include <cstddef>
#include <vector>

#include "core/control/stream_table.hpp"
#include "core/model/registry.hpp"
#include "core/schedule/scheduler.hpp"
#include "core/settings.hpp"

namespace sotto {

// Between turns, the stream of the session's last turn occupies the slot: that stream has ended,
// but its handle is closed only by the job that starts the next turn. Control thread only.
class SlotPins {
public:
    SlotPins(
        const Settings& settings, const Registry& registry, const StreamTable& streams, Scheduler& scheduler
    )
        : settings_(settings), registry_(registry), streams_(streams), scheduler_(scheduler) {}

    // Called for a stream that has ended. Lets the stream's session keep the slot, and takes the handle.
    // Returns false if the session may not keep the slot: for example, the session is not pinned, or no
    // other slot would be left.
    bool keep(Stream& stream) noexcept;
    // Called when a session starts a turn on a model. Releases the session's slots of other
    // models, and informs the scheduler whether the session has a slot of this model.
    void begin_turn(ModelEntry& entry, const Session& session) noexcept;
    // Frees the slot that a session keeps, for the stream of the session's new turn. Moves the handle that
    // occupies the slot to `closing`, which must have capacity. Does nothing if the session keeps no slot.
    void hand_over(ModelEntry& entry, const Session* session, std::vector<Closing>& closing) noexcept;

    // Releases all kept slots of a model. `remembers`: saves the KV cache of the sessions first.
    void release_all(ModelEntry& entry, bool remembers) noexcept;
    // Releases the slots of sessions that are no longer pinned.
    void release_unpinned() noexcept;
    // Called when a model may have lost slots. Releases kept slots, the least
    // recently used first, until at least one slot of the model is not kept.
    void trim(ModelEntry& entry) noexcept;
    // Moves the handles that occupy kept slots to `closing`, for a job that parks all streams of a model.
    // The sessions still keep the slots for their next turns. If park() throws, nothing has changed.
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
