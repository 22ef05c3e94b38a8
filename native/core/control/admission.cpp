#include "core/control/admission.hpp"

#include <algorithm>
#include <utility>

#include "core/memory/report.hpp"
#include "core/memory/units.hpp"

namespace sotto {
namespace {

// Returns the bytes that evicting the model frees.
std::uint64_t given_back(const ModelEntry& entry) noexcept {
    return entry.loader.owns ? entry.loader.frees : entry.bytes();
}

// Returns true if the job under way takes all slots from the model: a
// request admitted meanwhile would wait for a slot indefinitely.
bool gives_up_all(const Job* job, const ModelEntry& entry) noexcept {
    const auto* resize = job == nullptr ? nullptr : std::get_if<ResizeJob>(&job->what);
    return resize != nullptr && job->entry == &entry && resize->slots == 0;
}

} // namespace

bool Admission::must_hold(const ModelEntry& entry) const noexcept {
    switch (entry.state) {
    case ModelEntry::State::loading:
        return !entry.is_new();
    case ModelEntry::State::evicting:
    case ModelEntry::State::evicted:
        return true;
    case ModelEntry::State::ready:
        return entry.traits.streams == 0 || gives_up_all(runner_.job(), entry) || ledger_.over() > 0 ||
               evacuation_.must_leave(entry);
    default:
        return false;
    }
}

void Admission::hold(Slot& slot, ModelEntry& entry, OnBudget on_budget) {
    const bool leaves = entry.state == ModelEntry::State::evicting || evacuation_.must_leave(entry);
    const bool stays = entry.state == ModelEntry::State::ready && !leaves;
    // The model is being reloaded, and does not wait for memory.
    const bool returns = entry.state == ModelEntry::State::loading && entry.need.bytes == 0;
    const auto needed = returns ? 0 : stays ? entry.loaded.first_slot_bytes() : entry.loaded.min_bytes;
    const auto others = idle_.bytes(&entry) + (leaves ? given_back(entry) : 0);
    const auto room = ledger_.free() == UINT64_MAX ? UINT64_MAX : ledger_.free() + others;
    if (on_budget == OnBudget::fail && (ledger_.over() > 0 || room < needed)) {
        throw Error(SOTTO_ERROR_BUDGET, reason(entry));
    }
    entry.requests.held.push_back({&slot, on_budget != OnBudget::fail});
    entry.need.may_shrink = entry.need.may_shrink || on_budget == OnBudget::shrink;
}

bool Admission::admit(ModelEntry& entry) {
    if (entry.state != ModelEntry::State::ready || entry.requests.held.empty() || must_hold(entry)) {
        return false;
    }
    for (const auto& held : std::exchange(entry.requests.held, {})) {
        sender_.guarded(*held.slot, [&] { answer_(*held.slot); });
    }
    return true;
}

bool Admission::refuse_impatient(ModelEntry& entry) {
    const auto waits = [](const HeldRequest& held) { return held.waits; };
    if (std::all_of(entry.requests.held.begin(), entry.requests.held.end(), waits)) {
        return false;
    }
    const auto why = reason(entry);
    std::erase_if(entry.requests.held, [&](const HeldRequest& held) {
        if (!held.waits) {
            sender_.done(*held.slot, SOTTO_ERROR_BUDGET, why);
        }
        return !held.waits;
    });
    return true;
}

std::string Admission::reason(const ModelEntry& entry) const {
    if (!entry.need.plan.rungs.empty() && entry.state == ModelEntry::State::loading) {
        return refusal(
            entry.submission.id, entry.need.plan, ledger_.ceiling(), ledger_.used(), idle_.bytes(&entry)
        );
    }
    const bool there = entry.state == ModelEntry::State::ready;
    const auto needed = there ? entry.loaded.first_slot_bytes() : entry.loaded.min_bytes;
    return entry.submission.id + " needs " + megabytes(needed) + " to go on; " + megabytes(ledger_.used()) +
           " of the budget of " + megabytes(ledger_.ceiling()) +
           " are taken. Raise vram_budget, unload a model, or set on_budget to \"wait\"";
}

} // namespace sotto
