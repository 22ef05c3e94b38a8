#include "core/control/model_pool.hpp"

#include <utility>

namespace sotto {

ModelPool::ModelPool(
    const World& world,
    ActiveStreams& streams,
    JobDispatch& jobs,
    RequestEnder& ender,
    EventSender& sender,
    DeviceMoves& moves,
    Signal& wake,
    Admission::Answer answer
)
    : registry_(world.registry), jobs_(jobs.starter()),
      spiller_(world.hooks, world.settings, world.kv_states, jobs.classes(), wake),
      adapters_(world.registry, sender), idle_(world.registry, jobs.runner()),
      models_(world, streams, sender, ender, adapters_, idle_, wake),
      evacuation_(world.registry, world.devices, moves, idle_, ender, models_),
      resizer_(world, streams, jobs.starter(), ender, models_),
      admission_(world.ledger, idle_, jobs.runner(), evacuation_, sender, std::move(answer)),
      memory_(world, streams.table(), idle_, jobs.runner(), admission_, models_, resizer_, spiller_) {}

void ModelPool::submit(Slot& slot) {
    switch (slot.submission.kind) {
    case Submission::Kind::load:
        return models_.load(slot);
    case Submission::Kind::unload:
        return models_.unload(slot);
    case Submission::Kind::plan:
        return models_.plan(slot);
    default:
        return adapters_.add(slot);
    }
}

bool ModelPool::start_closing() {
    for (const auto& entry : registry_.entries()) {
        if (entry->slots.closing.empty() && !AdapterChanges::need_job(*entry)) {
            continue;
        }
        auto job = jobs_.make(*entry);
        job->closing = entry->slots.closing; // copied, so that the entry's list keeps its capacity
        adapters_.add_to(*job, *entry);
        entry->slots.closing.clear();
        jobs_.begin(std::move(job));
        return true;
    }
    return false;
}

bool ModelPool::take(Job& job) noexcept {
    evacuation_.report_loss(job);
    if (auto* load = std::get_if<AdapterJob>(&job.what)) {
        adapters_.loaded(job, *load);
    }
    auto* resize = std::get_if<ResizeJob>(&job.what);
    if (resize != nullptr) {
        resizer_.resized(job, *resize);
    }
    return resize != nullptr;
}

} // namespace sotto
