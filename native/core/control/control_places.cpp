// The places of pinned sessions, which they keep between their turns. What keeps one is the stream of the
// last turn: it is over, and closed only when the next one begins, in the same job.
#include <algorithm>
#include <utility>

#include "core/control/control.hpp"

namespace sotto {
namespace {

std::size_t place_of(const ModelEntry& entry, const Session& session) noexcept {
    const auto found = std::find_if(entry.resting.begin(), entry.resting.end(), [&](const Resting& one) {
        return one.session.get() == &session;
    });
    return static_cast<std::size_t>(found - entry.resting.begin());
}

void erase(ModelEntry& entry, std::size_t place) noexcept {
    entry.resting.erase(entry.resting.begin() + static_cast<std::ptrdiff_t>(place));
}

} // namespace

// A turn is over. If its session is pinned, and another place is left to the others, it keeps the place.
bool Control::rest(Stream& stream) noexcept {
    auto& entry = stream.entry;
    const auto& session = stream.session;
    const bool keeps = session != nullptr && session->pinned && entry.state == ModelEntry::State::ready &&
                       entry.traits.parks && !world_.settings.is(SOTTO_ENGINE_DETERMINISTIC) &&
                       entry.resting.size() + 1 < entry.traits.streams;
    if (!keeps || place_of(entry, *session) < entry.resting.size()) {
        return false;
    }
    session->kept.reset();                                                     // the model itself remembers
    entry.resting.push_back({session, std::exchange(stream.handle, nullptr)}); // there is room for it
    expect(entry, *session, true);
    return true;
}

// A session whose place was kept begins a turn: the job closes the stream that kept it.
void Control::give_place(ModelEntry& entry, Job& job, const std::shared_ptr<Session>& session) noexcept {
    const auto place = session == nullptr ? entry.resting.size() : place_of(entry, *session);
    if (place == entry.resting.size()) {
        return;
    }
    if (void* handle = entry.resting[place].handle) {
        job.closing.push_back({handle, nullptr, false, {}}); // there is room for it
    } else {
        --entry.open_streams;
    }
    erase(entry, place);
}

// Gives a place up. `remembers`: what the model remembers there is kept.
void Control::let_go(ModelEntry& entry, std::size_t place, bool remembers) noexcept {
    auto one = std::move(entry.resting[place]);
    erase(entry, place);
    expect(entry, *one.session, false);
    if (one.handle == nullptr) {
        --entry.open_streams;
        return;
    }
    const bool pinned = one.session->pinned;
    entry.closing.push_back({one.handle, remembers ? std::move(one.session) : nullptr, pinned, {}});
}

// It is another model's turn to answer.
void Control::let_go_of_others(ModelEntry& entry, const Session& session) noexcept {
    for (const auto& other : world_.registry.entries()) {
        const auto place = place_of(*other, session);
        if (other.get() != &entry && place < other->resting.size()) {
            let_go(*other, place, false);
        }
    }
}

void Control::let_go_of_unpinned() noexcept {
    for (const auto& entry : world_.registry.entries()) {
        for (auto i = entry->resting.size(); i-- > 0;) {
            const auto& session = entry->resting[i].session;
            if (!session->pinned) {
                let_go(*entry, i, session.use_count() > 1); // else it was closed
            }
        }
    }
}

// Has a job that parks all streams of a model park these too. They get their places again with their turns.
void Control::park_resting(ModelEntry& entry, Job& job) {
    job.closing.reserve(entry.resting.size()); // nothing throws from here on
    for (auto& one : entry.resting) {
        if (one.handle != nullptr) {
            job.closing.push_back({std::exchange(one.handle, nullptr), one.session, true, {}});
            ++entry.open_streams; // it goes with the job, and the place stays
        }
    }
}

// Gives up places that a model does not have any more, those unused longest.
void Control::trim_resting(ModelEntry& entry) noexcept {
    while (!entry.resting.empty() && entry.resting.size() >= entry.traits.streams) {
        let_go(entry, 0, true);
    }
}

// Tells those who wait whether a place is kept for them.
void Control::expect(const ModelEntry& entry, const Session& session, bool is_kept) noexcept {
    for (const auto& stream : streams_) {
        if (&stream->entry == &entry && stream->session.get() == &session &&
            stream->state == Stream::State::waiting) {
            stream->expected = is_kept;
            scheduler_.changed(*stream);
        }
    }
}

} // namespace sotto
