#include "core/control/model_resizer.hpp"

#include <algorithm>
#include <utility>

#include "base/attempt.hpp"

namespace sotto {
namespace {

// Claims the memory of `slots` slots. Returns false if the budget has no room.
bool claim_slots(ModelEntry& entry, std::uint32_t slots) noexcept {
    bool claimed = false;
    const auto kv = entry.claims.kv.bytes();
    const auto claim = [&] {
        entry.claims.kv.settle(entry.loaded.kv_per_slot * slots);
        entry.claims.compute.settle(std::max(entry.claims.compute.bytes(), entry.loaded.compute_for(slots)));
        claimed = true;
    };
    attempt(claim, [&](sotto_status, const char*) { entry.claims.kv.correct(kv); });
    return claimed;
}

} // namespace

bool ModelResizer::grow(ModelEntry& entry) {
    const bool full = has_slots(entry) && entry.traits.streams < entry.loaded.max_slots &&
                      entry.open_streams >= entry.traits.streams;
    const auto slots = full && scheduler_.waits_for_room(entry) ? slots_for(entry) : 0;
    return slots > entry.traits.streams && resize(entry, slots);
}

std::uint32_t ModelResizer::slots_for(const ModelEntry& entry) const noexcept {
    const auto has = entry.traits.streams;
    const auto free = ledger_.free();
    const auto computes = entry.claims.compute.bytes();
    // Returns how many slots fit, at most `most`, beside the compute buffers for `most` slots.
    const auto within = [&](std::uint32_t most) {
        const auto compute = entry.loaded.compute_for(most);
        const auto more =
            (free - std::min(free, compute - std::min(compute, computes))) / entry.loaded.kv_per_slot;
        return static_cast<std::uint32_t>(std::min<std::uint64_t>(most, has + more));
    };
    return std::max({has, within(entry.loaded.max_slots), within(entry.loaded.first_slots)});
}

bool ModelResizer::resize(ModelEntry& entry, std::uint32_t slots) {
    if (!jobs_.may_begin() || !entry.slots.closing.empty()) {
        return false;
    }
    auto job = jobs_.make(entry);
    for (const auto& stream : streams_.all()) {
        if (&stream->entry == &entry && !stream->is_outside() && stream->handle != nullptr) {
            job->streams.push_back(stream.get());
        }
    }
    job->what = ResizeJob{slots, std::vector<KvStateStore::Kept>(job->streams.size())};
    entry.slots.closing.reserve(streams_.all().size()); // so that RequestEnder::release() cannot fail
    if (slots > entry.traits.streams && !claim_slots(entry, slots)) {
        return false;
    }
    SlotPins::park(entry, job->closing);
    entry.open_streams -= static_cast<std::uint32_t>(job->streams.size()); // no throw from here on
    jobs_.begin(std::move(job));
    return true;
}

void ModelResizer::resized(Job& job, ResizeJob& resize) noexcept {
    auto& entry = *job.entry;
    const auto& info = entry.model->info();
    entry.traits.streams = info.streams;
    preparer_.retry();
    pins_.trim(entry);
    Ledger::Claim::correct(entry.claims.kv, info.kv, entry.claims.compute, info.compute);
    entry.loaded.host = info.host;
    for (std::size_t i = 0; i < job.streams.size(); ++i) {
        auto& stream = *job.streams[i];
        stream.kv.parked = std::move(resize.kept[i]);
        ender_.parked(stream);
    }
    recorder_.model(entry, entry.submission.id);
    registry_.publish();
    if (!job.failure || info.streams > 0) {
        return;
    }
    ender_.fail_all(entry, job.failure.status, job.failure.why);
    models_.refuse(entry, job.failure.status, job.failure.why);
}

} // namespace sotto
