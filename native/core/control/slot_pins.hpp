// The slots of pinned sessions, which they keep between their turns.
#pragma once

#include <cstddef>
#include <vector>

#include "core/control/stream_table.hpp"
#include "core/model/registry.hpp"
#include "core/schedule/scheduler.hpp"
#include "core/settings.hpp"

namespace sotto {

// What keeps a slot is the stream of the session's last turn: it is over, and is closed only when the next
// turn begins, in the same job. Control thread only.
class SlotPins {
public:
    SlotPins(
        const Settings& settings, const Registry& registry, const StreamTable& streams, Scheduler& scheduler
    )
        : settings_(settings), registry_(registry), streams_(streams), scheduler_(scheduler) {}

    // Has the session of a turn that is over keep its slot, with the stream's handle. Returns false if the
    // session is not pinned, or if no other slot would be left.
    bool keep(Stream& stream) noexcept;
    // Called when a session begins a turn on a model: the session gives up its slots of other models, and the
    // scheduler learns whether it has one of this model.
    void begin_turn(ModelEntry& entry, const Session& session) noexcept;
    // Gives a session's slot to the stream of its turn. The stream that kept the slot goes to `closing`,
    // which has room for it.
    void hand_over(ModelEntry& entry, const Session* session, std::vector<Closing>& closing) noexcept;

    // Gives up all slots of a model that are kept. `remembers`: the sessions keep their KV cache.
    void release_all(ModelEntry& entry, bool remembers) noexcept;
    // Gives up the slots of sessions that are no longer pinned.
    void release_unpinned() noexcept;
    // Gives up slots that a model no longer has, the least recently used first.
    void trim(ModelEntry& entry) noexcept;
    // Has a job that parks all streams of a model park the streams that keep slots, too. The sessions get the
    // slots again with their turns. Throws before anything has changed.
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
