// Opens a model, or measures what it would take.
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
    MappedFile file; // what is mapped of the model's file and of its draft model's
    Weights weights;
    std::unique_ptr<Contexts> contexts;
    std::unique_ptr<Projector> projector; // null: the model reads text only
    Options options;
    Memory lasting; // of the model without slots
    std::string description;
    std::string fingerprint;    // of what a state must match to be restored
    std::function<void()> poll; // throws if opening is cancelled; empty once the model is open
};
enum class Purpose {
    Run,
    Measure // allocates nothing large
};
// Checks and loads. Throws Error, of SOTTO_ERROR_CANCELLED if `source` cancels.
Opened open_model(const Backend& backend, const sotto_model_source& source, Purpose purpose);
sotto_model_info info_of(const Opened& opened);

} // namespace sotto::llama
