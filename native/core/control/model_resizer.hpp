// Changes the number of a model's slots.
#pragma once

#include <cstdint>

#include "core/control/idle_models.hpp"
#include "core/control/job_starter.hpp"
#include "core/control/model_manager.hpp"
#include "core/control/request_ender.hpp"
#include "core/control/stream_table.hpp"
#include "core/memory/ledger.hpp"
#include "core/schedule/scheduler.hpp"

namespace sotto {

// All streams of the model are parked for a resize,
// and get slots again in turn. Control thread only.
class ModelResizer {
public:
    struct Parts {
        Registry& registry;
        const Ledger& ledger;
        const Scheduler& scheduler;
        const StreamTable& streams;
        Recorder& recorder;
        JobStarter& jobs;
        SlotPins& pins;
        StreamPreparer& preparer;
        RequestEnder& ender;
        ModelManager& models;
    };
    explicit ModelResizer(const Parts& parts) : parts_(parts) {}

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

    const Parts parts_;
};

} // namespace sotto
