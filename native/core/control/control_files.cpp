// What waits for a file: requests that save and restore states, and streams whose KV cache was spilled to
// disk.
#include <utility>

#include "base/attempt.hpp"
#include "core/control/control.hpp"

namespace sotto {

bool Control::take_files() noexcept {
    bool any = false;
    for (;;) {
        const auto done = files_.take_done();
        if (done.slot == nullptr) {
            break;
        }
        file_done(*done.slot, *done.task);
        any = true;
    }
    return fetches_.take_done() || any;
}

void Control::file_done(Slot& slot, StateTask& task) noexcept {
    const auto go_on = [&] {
        if (task.failure()) {
            throw Error(task.failure().status, task.failure().why);
        }
        if (auto* read = dynamic_cast<StateRead*>(&task)) {
            slot.asked.state = std::make_shared<const PageBuffer>(read->take());
            answer(slot);
        } else {
            teller_.answered(slot, static_cast<StateWrite&>(task).response());
        }
    };
    attempt(go_on, [&](sotto_status status, const char* why) { teller_.done(slot, status, why); });
}

// What could not be remembered is not tried again.
void Control::forget_useless(const Job& job, const Stream& stream) noexcept {
    if (job.useless && stream.session != nullptr && stream.session->kept == job.recalls) {
        stream.session->kept.reset();
    }
}

// What its session keeps of a stream that is to be opened.
Parking::Kept Control::kept_of(const Stream& stream) const noexcept {
    const auto& session = stream.reply->turn.session();
    const bool fits = session != nullptr && session->kept_by == stream.entry.asked.id &&
                      session->kept_group == stream.terms.group;
    return fits ? session->kept : nullptr;
}

// Returns true if the stream that is to get a slot has to wait for what it recalls. Others go on meanwhile.
bool Control::awaits_fetch(const Slice& slice) {
    if (slice.kind != Slice::Kind::open && slice.kind != Slice::Kind::unpark) {
        return false;
    }
    auto& stream = static_cast<Stream&>(*slice.shares.front().stream);
    return fetches_.must_wait(stream, slice.kind == Slice::Kind::unpark ? stream.kept : kept_of(stream));
}

} // namespace sotto
