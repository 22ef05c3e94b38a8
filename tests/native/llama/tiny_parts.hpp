// The parts of an open model, of a tiny one and without an engine.
#pragma once

#include "kv/kv_cache.hpp"
#include "llama_cpp/take_over.hpp"
#include "model/contexts.hpp"
#include "model/weights.hpp"
#include "runtime/guard.hpp"
#include "support/paths.hpp"

#include <doctest/doctest.h>
#include <string>

namespace tiny_parts {

using namespace sotto::llama;

inline const auto kHost = sotto_init<sotto_backend_host>();

inline Weights open_weights(const char* name) {
    take_over_llama_cpp();
    auto wanted = llama_model_default_params();
    Weights weights(
        llama_model_load_from_file((std::string(test::paths::kTinyModels) + "/" + name).c_str(), wanted)
    );
    REQUIRE(weights != nullptr);
    return weights;
}

inline Options options_of(const llama_model* model) {
    Options options;
    options.context = 256;
    options.batch = 64;
    options.parallel = 3;
    choose_form(model, options);
    return options;
}

// Weights, contexts with `slots` slots, and a KV cache of them.
struct Parts {
    explicit Parts(std::uint32_t slots, const char* name = "tiny.gguf")
        : weights(open_weights(name)), options(options_of(weights.get())),
          contexts(weights.get(), options, nullptr),
          kv(weights.get(), options.parallel, options.context, false) {
        resize(slots);
    }

    void resize(std::uint32_t slots) {
        kv.require_idle();
        kv.detach();
        contexts.resize(call, slots);
        kv.attach(contexts.get(), contexts.slots());
    }

    Call call{kHost, Call::Abort::Throws};
    Weights weights;
    Options options;
    Contexts contexts;
    KvCache kv;
};

} // namespace tiny_parts
