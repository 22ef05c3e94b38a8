// Keeps what is in use within the budget, and makes room for those who want in.
//
// Whoever is idle gives way, the one unused longest first: it forgets what its streams remembered, then its
// weights. Where the budget was lowered, those who are busy give up places too, and their streams go on in
// turn.
#include <algorithm>
#include <tuple>
#include <utility>

#include "base/attempt.hpp"
#include "core/control/control.hpp"
#include "core/memory/units.hpp"

namespace sotto {
namespace {

bool has_places(const ModelEntry& entry) noexcept {
    return entry.state == ModelEntry::State::ready && entry.traits.streams > 0;
}

// Places that a model with pinned sessions can give up, and they keep theirs.
std::uint32_t spare_of(const ModelEntry& entry) noexcept {
    const auto kept = static_cast<std::uint32_t>(entry.resting.size()) + 1;
    return entry.resting.empty() ? 0 : entry.traits.streams - std::min(entry.traits.streams, kept);
}

// Bytes that a model will have given back once it sleeps.
std::uint64_t given_back(const ModelEntry& entry) noexcept {
    return entry.with_loader ? entry.leaves : entry.bytes();
}

// Bytes that must be free before it can answer; 0: it has what it needs, or nobody asks.
std::uint64_t lack_of(const ModelEntry& entry) noexcept {
    const bool needs_place =
        entry.state == ModelEntry::State::ready && entry.traits.streams == 0 && !entry.held.empty();
    return needs_place ? entry.first_place() : entry.lacks;
}

} // namespace

bool Control::is_in_use(const ModelEntry& entry) const noexcept {
    return entry.open_streams > entry.resting.size() || entry.streams > 0 || !entry.changes.empty();
}

bool Control::is_idle(const ModelEntry& entry) const noexcept {
    return entry.state == ModelEntry::State::ready && !entry.with_loader && entry.closing.empty() &&
           !is_in_use(entry) && !runner_.runs(entry);
}

// What all idle models have, but for one.
std::uint64_t Control::idle_bytes(const ModelEntry* but) const noexcept {
    std::uint64_t bytes = 0;
    for (const auto& entry : world_.registry.entries()) {
        bytes += entry.get() != but && is_idle(*entry) ? entry->bytes() : 0;
    }
    return bytes;
}

// The idle model that was unused longest, of those that have places if any has; those with pinned sessions
// come last.
ModelEntry* Control::idle_longest(const ModelEntry* but) const noexcept {
    ModelEntry* found = nullptr;
    const auto key = [](const ModelEntry& entry) {
        const bool empty = !has_places(entry) || !entry.model->can_resize();
        return std::tuple(!entry.resting.empty(), empty, entry.used_at);
    };
    for (const auto& entry : world_.registry.entries()) {
        if (entry.get() != but && is_idle(*entry) && (found == nullptr || key(*entry) < key(*found))) {
            found = entry.get();
        }
    }
    return found;
}

// Whether a job under way leaves it no place. Whoever was let in meanwhile would wait for one for ever.
bool Control::gives_up_all(const ModelEntry& entry) const noexcept {
    return runner_.runs(entry) && runner_.job()->resizes && runner_.job()->places == 0;
}

// Whether a request has to wait until its model has room.
bool Control::must_hold(const ModelEntry& entry) const noexcept {
    switch (entry.state) {
    case ModelEntry::State::loading:
        return !entry.is_new();
    case ModelEntry::State::dozing:
    case ModelEntry::State::asleep:
        return true;
    case ModelEntry::State::ready:
        return entry.traits.streams == 0 || gives_up_all(entry) || world_.ledger.over() > 0 ||
               must_leave(entry);
    default:
        return false;
    }
}

// Throws where the request will not wait.
void Control::hold(Slot& slot, ModelEntry& entry, OnBudget on_budget) {
    const bool leaves = entry.state == ModelEntry::State::dozing || must_leave(entry);
    const bool stays = entry.state == ModelEntry::State::ready && !leaves;
    const bool returns = entry.state == ModelEntry::State::loading && entry.lacks == 0; // it takes its room
    const auto needed = returns ? 0 : stays ? entry.first_place() : entry.least;
    const auto& ledger = world_.ledger;
    const auto others = idle_bytes(&entry) + (leaves ? given_back(entry) : 0);
    const auto room = ledger.free() == UINT64_MAX ? UINT64_MAX : ledger.free() + others;
    if (on_budget == OnBudget::fail && (ledger.over() > 0 || room < needed)) {
        throw Error(SOTTO_ERROR_BUDGET, lack_told(entry));
    }
    entry.held.push_back({&slot, on_budget != OnBudget::fail});
    entry.may_shrink = entry.may_shrink || on_budget == OnBudget::shrink;
}

std::string Control::lack_told(const ModelEntry& entry) const {
    const auto& ledger = world_.ledger;
    if (!entry.fit.rungs.empty() && entry.state == ModelEntry::State::loading) {
        return refusal(entry.asked.id, entry.fit, ledger.ceiling(), ledger.used(), idle_bytes(&entry));
    }
    const bool there = entry.state == ModelEntry::State::ready;
    const auto needed = there ? entry.first_place() : entry.least;
    return entry.asked.id + " needs " + megabytes(needed) + " to go on; " + megabytes(ledger.used()) +
           " of the budget of " + megabytes(ledger.ceiling()) +
           " are taken. Raise vram_budget, unload a model, or set on_budget to \"wait\"";
}

bool Control::keep_budget() {
    const auto& ledger = world_.ledger;
    bool begun = false;
    for (const auto& entry : world_.registry.entries()) {
        begun = admit(*entry) || begun;
    }
    const auto over = ledger.over();
    for (const auto& entry : world_.registry.entries()) {
        const auto lack = lack_of(*entry);
        const bool in_vain = over > 0 || (lack > 0 && is_out_of_reach(lack, *entry));
        begun = (in_vain && refuse_impatient(*entry)) || begun;
    }
    if (over > 0) {
        return give_way(over, nullptr) || begun;
    }
    for (const auto& entry : world_.registry.entries()) {
        if (const auto lack = lack_of(*entry); lack > 0) {
            return (ledger.free() >= lack && lack != UINT64_MAX ? go_on(*entry)
                                                                : give_way(lack, entry.get())) ||
                   begun;
        }
    }
    for (const auto& entry : world_.registry.entries()) {
        if (grow(*entry)) {
            return true;
        }
    }
    return begun;
}

// Whoever was held for a model is let in, or the model woken for it.
bool Control::admit(ModelEntry& entry) {
    const bool wanted = !entry.held.empty() || !entry.waiting.empty() || !entry.changes.empty();
    if (entry.state == ModelEntry::State::asleep && wanted) {
        entry.state = ModelEntry::State::loading;
        entry.smaller = std::exchange(entry.may_shrink, false) ? Smaller::all : Smaller::streams;
        hand_to_loader(entry);
        world_.registry.publish();
        return true;
    }
    if (entry.state != ModelEntry::State::ready || entry.held.empty() || must_hold(entry)) {
        return false;
    }
    for (const auto& held : std::exchange(entry.held, {})) {
        attempt(
            [&] { answer(*held.slot); },
            [&](sotto_status status, const char* why) { teller_.done(*held.slot, status, why); }
        );
    }
    return true;
}

// There is room for what it lacked.
bool Control::go_on(ModelEntry& entry) {
    if (entry.state == ModelEntry::State::ready) {
        return resize(entry, places_for(entry));
    }
    entry.lacks = 0;
    entry.smaller = std::exchange(entry.may_shrink, false) ? Smaller::all : entry.smaller;
    hand_to_loader(entry);
    return true;
}

// As many places as there is room for.
std::uint32_t Control::places_for(const ModelEntry& entry) const noexcept {
    const auto has = entry.traits.streams;
    const auto free = world_.ledger.free();
    const auto computes = entry.claims.compute.bytes();
    // Of up to `most` in all, where these want so much to compute.
    const auto within = [&](std::uint32_t most) {
        const auto compute = entry.compute_for(most);
        const auto more = (free - std::min(free, compute - std::min(compute, computes))) / entry.each_place;
        return static_cast<std::uint32_t>(std::min<std::uint64_t>(most, has + more));
    };
    return std::max({has, within(entry.most_streams), within(entry.first_streams)});
}

// Gives a model places back that it gave up, if it has use for them.
bool Control::grow(ModelEntry& entry) {
    const bool full = has_places(entry) && entry.traits.streams < entry.most_streams &&
                      entry.open_streams >= entry.traits.streams;
    const auto places = full && scheduler_.waits_for_room(entry) ? places_for(entry) : 0;
    return places > entry.traits.streams && resize(entry, places);
}

// Whether something is about to be given back, so that who is idle cannot be told yet.
bool Control::is_settling() const noexcept {
    const auto& entries = world_.registry.entries();
    return streams_.has_ended() || (!runner_.is_idle() && !runner_.job()->steps()) ||
           std::any_of(entries.begin(), entries.end(), [](const auto& entry) {
               const bool goes =
                   entry->state == ModelEntry::State::dozing || entry->state == ModelEntry::State::leaving;
               return !entry->closing.empty() || (entry->with_loader && goes);
           });
}

// Whether not even all that is idle makes so much room. While something is being given back, nobody can tell.
bool Control::is_out_of_reach(std::uint64_t bytes, const ModelEntry& whom) const noexcept {
    const auto& ledger = world_.ledger;
    return !is_settling() &&
           (bytes == UINT64_MAX || ledger.free() + idle_bytes(&whom) + ledger.used(Use::spilled_kv) < bytes);
}

// Frees memory: of what is over the budget, or so that `whom` has `bytes` of room. Returns whether anything
// was begun.
bool Control::give_way(std::uint64_t bytes, ModelEntry* whom) {
    if (is_settling()) {
        return false; // let us see what that gives
    }
    if (whom != nullptr && is_out_of_reach(bytes, *whom)) {
        return lack_in_vain(*whom);
    }
    const auto parked = world_.ledger.used(Use::spilled_kv); // nothing where that is in another memory
    if (parked > 0 && (!tidier_.is_busy() || tidier_.makes_room())) { // else there is no waiting for it
        return spill(whom == nullptr ? bytes : bytes - std::min(bytes, world_.ledger.free()));
    }
    if (!runner_.is_idle()) {
        runner_.hold_back(); // it is not to be followed by another before this
        return false;
    }
    ModelEntry* idle = idle_longest(whom);
    if ((idle == nullptr || !idle->resting.empty()) && whom == nullptr && squeeze(bytes, false)) {
        return true;
    }
    if (idle != nullptr) {
        if (has_places(*idle) && idle->model->can_resize() && idle->claims.kv.bytes() > 0) {
            return resize(*idle, spare_of(*idle) > 0 ? idle->traits.streams - spare_of(*idle) : 0);
        }
        return doze(*idle, true);
    }
    return whom == nullptr && squeeze(bytes, true);
}

// Begins to move to files what makes so much room of what is parked in memory.
bool Control::spill(std::uint64_t bytes) {
    if (!tidier_.is_busy()) {
        tidier_.begin(classes_.usual(), bytes);
    }
    return false; // nobody else waits for it
}

// So that there is room for the next that is parked, without a wait.
void Control::tidy() {
    if (!tidier_.is_busy() && world_.parking.is_untidy()) {
        tidier_.begin(comes_first() ? ThreadClass::normal : ThreadClass::idle, 0);
    }
}

// No idle model can make room enough: it waits for those that are busy, if it may.
bool Control::lack_in_vain(ModelEntry& whom) {
    const auto& entries = world_.registry.entries();
    const bool others = std::any_of(entries.begin(), entries.end(), [&](const auto& entry) {
        return entry.get() != &whom && (is_in_use(*entry) || entry->with_loader);
    });
    if (others && !whom.is_new()) {
        return false;
    }
    refuse(whom, SOTTO_ERROR_BUDGET, lack_told(whom));
    return true;
}

// There was room for a model when they asked, or nobody knew better.
bool Control::refuse_impatient(ModelEntry& entry) {
    const auto waits = [](const HeldRequest& held) { return held.waits; };
    if (std::all_of(entry.held.begin(), entry.held.end(), waits)) {
        return false;
    }
    const auto why = lack_told(entry);
    std::erase_if(entry.held, [&](const HeldRequest& held) {
        if (!held.waits) {
            teller_.done(*held.slot, SOTTO_ERROR_BUDGET, why);
        }
        return !held.waits;
    });
    return true;
}

// Takes places from the busy model that has most to give. `all`: also those of pinned sessions.
bool Control::squeeze(std::uint64_t bytes, bool all) {
    ModelEntry* most = nullptr;
    const auto most_of = [&](const ModelEntry& entry) {
        return all || entry.resting.empty() ? entry.traits.streams - 1 : spare_of(entry);
    };
    for (const auto& entry : world_.registry.entries()) {
        const bool can =
            has_places(*entry) && most_of(*entry) > 0 && entry->model->can_resize() && !entry->with_loader;
        if (can && (most == nullptr || entry->claims.kv.bytes() > most->claims.kv.bytes())) {
            most = entry.get();
        }
    }
    if (most == nullptr) {
        return false; // what is busy ends some time
    }
    const auto fewer =
        std::min<std::uint64_t>((bytes + most->each_place - 1) / most->each_place, most_of(*most));
    return resize(*most, most->traits.streams - static_cast<std::uint32_t>(fewer));
}

// Begins to give a model so many places. All its streams are parked for that. False: not now.
bool Control::resize(ModelEntry& entry, std::uint32_t places) {
    if (!runner_.is_idle() || !entry.closing.empty()) {
        runner_.hold_back();
        return false;
    }
    auto job = job_of(entry);
    job->resizes = true;
    job->places = places;
    for (const auto& stream : streams_.all()) {
        if (&stream->entry == &entry && !stream->is_outside() && stream->handle != nullptr) {
            job->streams.push_back(stream.get());
        }
    }
    job->kept.resize(job->streams.size());
    entry.closing.reserve(streams_.all().size()); // so that retire() cannot fail
    if (places > entry.traits.streams && !claim_places(entry, places)) {
        return false;
    }
    SlotPins::park(entry, job->closing);
    entry.open_streams -= static_cast<std::uint32_t>(job->streams.size()); // nothing throws from here on
    begin(std::move(job));
    return true;
}

bool Control::claim_places(ModelEntry& entry, std::uint32_t places) noexcept {
    bool claimed = false;
    const auto kv = entry.claims.kv.bytes();
    const auto claim = [&] {
        entry.claims.kv.settle(entry.each_place * places);
        entry.claims.compute.settle(std::max(entry.claims.compute.bytes(), entry.compute_for(places)));
        claimed = true;
    };
    attempt(claim, [&](sotto_status, const char*) { entry.claims.kv.correct(kv); });
    return claimed;
}

void Control::resized(Job& job) noexcept {
    auto& entry = *job.entry;
    const auto& info = entry.model->info();
    entry.traits.streams = info.streams;
    preparer_.retry();
    pins_.trim(entry);
    Ledger::Claim::correct(entry.claims.kv, info.kv, entry.claims.compute, info.compute);
    entry.host = info.host;
    for (std::size_t i = 0; i < job.streams.size(); ++i) {
        auto& stream = *job.streams[i];
        stream.kept = std::move(job.kept[i]);
        parked(stream);
    }
    world_.recorder.model(entry, entry.asked.id);
    world_.registry.publish();
    if (!job.failure || info.streams > 0) {
        return;
    }
    for (const auto& stream : streams_.all()) {
        if (&stream->entry == &entry && stream->state != Stream::State::over) {
            fail(*stream, job.failure.status, job.failure.why);
        }
    }
    refuse(entry, job.failure.status, job.failure.why);
}

} // namespace sotto
