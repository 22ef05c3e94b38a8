#include "core/control/active_streams.hpp"

#include <utility>

namespace sotto {
namespace {

// When destroyed, removes from the scheduler the streams that were not moved out of `streams`.
struct Unschedule {
    Scheduler& scheduler;
    const std::vector<std::unique_ptr<Stream>>& streams;
    ~Unschedule() {
        for (const auto& stream : streams) {
            if (stream != nullptr) {
                scheduler.remove(*stream);
            }
        }
    }
};

} // namespace

ActiveStreams::ActiveStreams(const World& world, Signal& wake)
    : recorder_(world.recorder), scheduler_(world.recorder.is_on() ? &world.recorder : nullptr),
      pins_(world.settings, world.registry, table_, scheduler_), threads_(world.hooks, wake),
      preparer_(threads_, scheduler_, world.settings, world.clock), fetches_(world.kv_states, world.clock),
      slot_waits_(table_), waits_(world.waker, world.clock) {}

void ActiveStreams::add(std::vector<std::unique_ptr<Stream>> streams) {
    const Unschedule undo{scheduler_, streams};
    const auto reply = streams.front()->reply;
    auto& entry = streams.front()->entry;
    for (const auto& stream : streams) {
        scheduler_.add(*stream);
        recorder_.request(*stream, reply->op, reply->body);
    }
    entry.requests.streams += streams.size(); // nothing throws from here on
    reply->slot.stream = streams.size() == 1 ? streams.front().get() : nullptr;
    reply->slot.has_several = streams.size() > 1;
    for (auto& stream : streams) {
        table_.add(std::move(stream));
    }
    if (const auto& session = reply->turn.session(); session != nullptr) {
        pins_.begin_turn(entry, *session);
    }
}

void ActiveStreams::sweep() noexcept {
    table_.sweep([&](Stream& stream) {
        --stream.entry.requests.streams;
        fetches_.remove(stream);
        slot_waits_.remove(stream);
        waits_.remove(stream);
    });
}

void ActiveStreams::take_paces() noexcept {
    if (!retuned_.exchange(false)) {
        return;
    }
    for (const auto& stream : table_.all()) {
        if (stream->state != Stream::State::over) {
            const auto& reply = *stream->reply;
            reply.events.own_tps.store(reply.slot.target_tps.load(std::memory_order_relaxed));
        }
    }
}

} // namespace sotto
