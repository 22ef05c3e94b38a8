// Changes the number of a model's slots.
#pragma once

#include <cstdint>

#include "core/control/active_streams.hpp"
#include "core/control/job_starter.hpp"
#include "core/control/model_manager.hpp"
#include "core/control/request_ender.hpp"
#include "core/control/world.hpp"

namespace sotto {

// All streams of the model are parked for a resize,
// and get slots again in turn. Control thread only.
class ModelResizer {
public:
    ModelResizer(
        const World& world,
        ActiveStreams& streams,
        JobStarter& jobs,
        RequestEnder& ender,
        ModelManager& models
    )
        : registry_(world.registry), ledger_(world.ledger), scheduler_(streams.scheduler()),
          streams_(streams.table()), recorder_(world.recorder), jobs_(jobs), pins_(streams.pins()),
          preparer_(streams.preparer()), ender_(ender), models_(models) {}

    // Starts resizing the model to `slots`. Returns false if the resize cannot start now.
    bool resize(ModelEntry& entry, std::uint32_t slots);
    // Starts resizing the model to as many slots as fit the
    // budget. Returns false if the resize cannot start now.
    bool refill(ModelEntry& entry) { return resize(entry, slots_for(entry)); }
    // Starts giving the model more slots, up to the requested number, if
    // streams wait for slots. Returns true if the resize was started.
    bool grow(ModelEntry& entry);
    // Processes the result of a job that resized a model.
    void resized(Job& job, ResizeJob& resize) noexcept;

private:
    std::uint32_t slots_for(const ModelEntry& entry) const noexcept;

    Registry& registry_;
    const Ledger& ledger_;
    const Scheduler& scheduler_;
    const StreamTable& streams_;
    Recorder& recorder_;
    JobStarter& jobs_;
    SlotPins& pins_;
    StreamPreparer& preparer_;
    RequestEnder& ender_;
    ModelManager& models_;
};

} // namespace sotto
