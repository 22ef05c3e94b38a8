// The loader's state of a model, and the loader's messages to the control thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "base/error.hpp"
#include "base/mpsc_queue.hpp"
#include "core/model/device_numbers.hpp"
#include "core/model/load_plan.hpp"
#include "gpu/sharing.hpp"
#include "module/backend.hpp"

namespace sotto {

struct ModelEntry;

// Message from the loader to the control thread.
struct LoaderNote : MpscNode {
    enum class Kind : std::uint8_t { progress, loaded, lacks, failed, planned, freed };

    Kind kind = Kind::progress;
    ModelEntry* entry = nullptr;
    float progress = 0;
    std::unique_ptr<Model> model;
    std::string backend; // name of the backend that loaded `model`
    std::string details; // of `model`: a JSON object
    LoadPlan plan;       // of a note of kind loaded, planned or lacks
    Failure failure;
};

struct LoaderState {
    // Control thread only:
    bool owns = false;       // true while the loader owns the model
    std::uint64_t frees = 0; // bytes that the running eviction frees

    std::atomic<bool> cancelled{false}; // set by the control thread to cancel loading

    // Owned by the loader while `owns` is true, otherwise by the control thread:
    // The loader's final note; allocated in advance, so that sending it cannot fail.
    std::unique_ptr<LoaderNote> final_note = std::make_unique<LoaderNote>();
    Shape shape;                                 // requested or actual shape
    ShrinkScope shrink_scope = ShrinkScope::all; // which parts of `shape` may shrink
    DeviceNumber refused_device = 0;             // last shared GPU unable to hold the model
    // CUDA context of the model; null if none. Constant while `owns` is false.
    std::shared_ptr<const gpu::CudaContext> cuda_context;
};

} // namespace sotto
