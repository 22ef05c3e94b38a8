// A model of this backend.
#pragma once

#include <memory>
#include <string>

#include <sotto/module.h>

#include "backends/onnx/matting.hpp"
#include "backends/onnx/recipe.hpp"
#include "backends/onnx/session.hpp"

namespace sotto::onnx {

class Model {
public:
    // Loads a model and runs it once, which measures its memory. Throws Error, SOTTO_ERROR_CANCELLED if
    // `source`'s progress callback returned nonzero.
    explicit Model(const sotto_model_source& source);

    // Called on any thread, in parallel to anything but the destructor. Throws Error.
    std::unique_ptr<Matting> prepare(std::string_view body);
    void describe(sotto_model_info& info) const;

    std::string why; // the last failure

private:
    void warm_up(const sotto_model_source& source);

    const Options options_;
    std::unique_ptr<Session> session_;
    Recipe recipe_;
    std::string description_;
};

// Fills in what is known of a model without loading it. Throws Error.
void measure(const sotto_model_source& source, sotto_model_info& info);

} // namespace sotto::onnx
