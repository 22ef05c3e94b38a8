// Opens a model, or measures the memory that it would take.
#pragma once

#include "file/mapped_file.hpp"
#include "media/projector.hpp"
#include "model/backend.hpp"
#include "model/contexts.hpp"
#include "model/options.hpp"
#include "model/weights.hpp"

#include <functional>
#include <memory>
#include <string>

namespace sotto::llama {

struct Opened {
    MappedFile file; // mappings of the model's file and of its draft model's
    Weights weights;
    std::unique_ptr<Contexts> contexts;
    std::unique_ptr<Projector> projector; // null if the model reads text only
    Options options;
    Memory lasting; // memory of the model without slots
    std::string description;
    std::string fingerprint;    // must match for a saved state to be restored
    std::function<void()> poll; // throws if opening is cancelled; empty once the model is open
};
enum class Purpose {
    Run,
    Measure // allocates no large buffers
};
// Checks and loads a model. Throws Error; SOTTO_ERROR_CANCELLED if `source` cancels the open.
Opened open_model(const Backend& backend, const sotto_model_source& source, Purpose purpose);
sotto_model_info info_of(const Opened& opened);

} // namespace sotto::llama
