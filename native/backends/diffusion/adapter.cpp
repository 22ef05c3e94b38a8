#include "backends/diffusion/adapter.hpp"

#include "backends/diffusion/file/model_check.hpp"
#include "backends/diffusion/file/parts.hpp"
#include "backends/diffusion/model_files.hpp"
#include "runtime/fence.hpp"

namespace sotto::diffusion {

Adapter check_adapter(const sotto_adapter_source& source) {
    constexpr std::uint64_t kTables = std::uint64_t{4} << 20; // of the larger graph
    check_file_access(source.files);
    Adapter adapter{std::string(llama::view(source.path)), 0};
    const auto file = check_weights(system_path(adapter.path));
    if (!parts_of(file).lora) {
        throw llama::Error(
            SOTTO_ERROR_MODEL,
            "the file '" + adapter.path + "' is no LoRA adapter: expected a safetensors or GGUF file of one"
        );
    }
    check_lora(file);
    adapter.bytes = 2 * file.bytes + kTables; // its tensors, and products of them
    return adapter;
}

ScaledAdapters adapters_of(const sotto_stream_desc& desc) {
    ScaledAdapters found;
    for (std::uint32_t i = 0; desc.adapters != nullptr && i < desc.count; ++i) {
        found.push_back({static_cast<const Adapter*>(desc.adapters[i]), desc.scales[i]});
    }
    return found;
}

} // namespace sotto::diffusion
