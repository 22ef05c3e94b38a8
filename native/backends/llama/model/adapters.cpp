// Loads LoRA adapters and applies them to contexts.
//
// A llama_context has one set of adapters at a time. It computes the
// products with A and B beside each weight and leaves the weights unchanged,
// so changing the set loads nothing and only rebuilds the compute graph.
#include "model/adapters.hpp"

#include "file/source.hpp"
#include "model/weights.hpp"
#include "runtime/guard.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#define XXH_INLINE_ALL
#include <hash/xxhash/xxhash.h>

namespace sotto::llama {
namespace {

AdapterBase base_of(const llama_model* model) {
    AdapterBase base;
    base.architecture = meta(model, "general.architecture");
    for (const auto& [name, tensor] : llama_internal_get_tensor_map(model)) {
        base.tensors.emplace(name, std::vector<std::uint64_t>(tensor->ne, tensor->ne + GGML_MAX_DIMS));
    }
    return base;
}

std::unique_ptr<Source> open_file(const sotto_adapter_source& source) {
    auto theirs = sotto_init<sotto_model_source>();
    theirs.path = source.path;
    theirs.files = source.files;
    return open_source(theirs);
}

// Prefixes the errors of `body` with the path of the adapter.
template <typename Body>
auto about(const sotto_adapter_source& source, Body&& body) {
    try {
        return body();
    } catch (const Error& error) {
        throw Error(error.status(), "adapter '" + std::string(view(source.path)) + "': " + error.what());
    }
}

} // namespace

AdapterSet::AdapterSet(const sotto_stream_desc& desc) {
    constexpr auto kEnd = offsetof(sotto_stream_desc, count) + sizeof desc.count;
    if (desc.struct_size < kEnd || desc.adapters == nullptr || desc.count == 0) {
        return; // no adapters, or an engine built with an earlier header
    }
    std::vector<std::pair<std::uint64_t, float>> parts;
    for (std::uint32_t i = 0; i < desc.count; ++i) {
        const auto& adapter = *static_cast<const Adapter*>(desc.adapters[i]);
        adapters.push_back(adapter.weights.get());
        scales.push_back(desc.scales[i]);
        parts.emplace_back(adapter.hash, desc.scales[i]);
    }
    std::ranges::sort(parts); // by file hash: the same order in all processes
    XXH3_state_t state;
    XXH3_64bits_reset(&state);
    for (const auto& [hash, scale] : parts) {
        XXH3_64bits_update(&state, &hash, sizeof hash);
        XXH3_64bits_update(&state, &scale, sizeof scale);
    }
    key = XXH3_64bits_digest(&state) | 1; // not 0, which means no adapters
}

void AdapterSet::apply(llama_context* context) {
    llama_set_adapters_lora(context, adapters.data(), adapters.size(), scales.data());
}

// Returns the memory of an adapter in bytes: its weights and the growth of the compute buffers, which is at
// most the widest product with B for all tokens of an n_ubatch.
std::uint64_t AdapterLoader::bytes_of(const AdapterFacts& facts) const noexcept {
    return facts.weights + facts.widest * at_once_ * sizeof(float);
}

std::uint64_t AdapterLoader::measure(const sotto_adapter_source& source) const {
    return about(source, [&] {
        const auto file = open_file(source);
        return bytes_of(check_adapter(*file, base_of(model_), AdapterCheck::Header));
    });
}

std::unique_ptr<Adapter> AdapterLoader::load(const sotto_adapter_source& source, std::uint64_t& bytes) const {
    return about(source, [&] {
        const auto file = open_file(source);
        const auto facts = check_adapter(*file, base_of(model_), AdapterCheck::All);
        auto* call = Call::current();
        call->expect_below(SOTTO_LOG_ERROR); // llama.cpp logs the file's metadata at lower levels
        auto adapter = std::make_unique<Adapter>();
        adapter->weights.reset(llama_adapter_lora_init_from_file_ptr(model_, file->file()));
        if (adapter->weights == nullptr) {
            call->refuse("llama.cpp cannot load the adapter");
        }
        adapter->hash = facts.hash;
        bytes = bytes_of(facts);
        return adapter;
    });
}

} // namespace sotto::llama
