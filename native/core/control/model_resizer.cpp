#include "core/control/model_resizer.hpp"

#include <algorithm>
#include <utility>

#include "base/attempt.hpp"

namespace sotto {
namespace {

// Claims the memory of `places` slots. Returns false if the budget has no room.
bool claim_slots(ModelEntry& entry, std::uint32_t places) noexcept {
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

} // namespace

bool ModelResizer::grow(ModelEntry& entry) {
    const bool full = has_slots(entry) && entry.traits.streams < entry.most_streams &&
                      entry.open_streams >= entry.traits.streams;
    const auto places = full && parts_.scheduler.waits_for_room(entry) ? slots_for(entry) : 0;
    return places > entry.traits.streams && resize(entry, places);
}

std::uint32_t ModelResizer::slots_for(const ModelEntry& entry) const noexcept {
    const auto has = entry.traits.streams;
    const auto free = parts_.ledger.free();
    const auto computes = entry.claims.compute.bytes();
    // Slots that fit, at most `most`, with the compute buffers that `most` slots need.
    const auto within = [&](std::uint32_t most) {
        const auto compute = entry.compute_for(most);
        const auto more = (free - std::min(free, compute - std::min(compute, computes))) / entry.each_place;
        return static_cast<std::uint32_t>(std::min<std::uint64_t>(most, has + more));
    };
    return std::max({has, within(entry.most_streams), within(entry.first_streams)});
}

bool ModelResizer::resize(ModelEntry& entry, std::uint32_t places) {
    if (!parts_.runner.is_idle() || !entry.closing.empty()) {
        parts_.runner.hold_back();
        return false;
    }
    auto job = parts_.jobs.make(entry);
    for (const auto& stream : parts_.streams.all()) {
        if (&stream->entry == &entry && !stream->is_outside() && stream->handle != nullptr) {
            job->streams.push_back(stream.get());
        }
    }
    job->what = ResizeJob{places, std::vector<KvStateStore::Kept>(job->streams.size())};
    entry.closing.reserve(parts_.streams.all().size()); // for RequestEnder::release()
    if (places > entry.traits.streams && !claim_slots(entry, places)) {
        return false;
    }
    SlotPins::park(entry, job->closing);
    entry.open_streams -= static_cast<std::uint32_t>(job->streams.size()); // no throw from here on
    parts_.jobs.begin(std::move(job));
    return true;
}

void ModelResizer::resized(Job& job, ResizeJob& resize) noexcept {
    auto& entry = *job.entry;
    const auto& info = entry.model->info();
    entry.traits.streams = info.streams;
    parts_.preparer.retry();
    parts_.pins.trim(entry);
    Ledger::Claim::correct(entry.claims.kv, info.kv, entry.claims.compute, info.compute);
    entry.host = info.host;
    for (std::size_t i = 0; i < job.streams.size(); ++i) {
        auto& stream = *job.streams[i];
        stream.kept = std::move(resize.kept[i]);
        parts_.ender.parked(stream);
    }
    parts_.recorder.model(entry, entry.asked.id);
    parts_.registry.publish();
    if (!job.failure || info.streams > 0) {
        return;
    }
    parts_.ender.fail_all(entry, job.failure.status, job.failure.why);
    parts_.models.refuse(entry, job.failure.status, job.failure.why);
}

} // namespace sotto
