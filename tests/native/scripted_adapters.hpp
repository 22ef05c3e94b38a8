// Adapters of scripted models: see scripted_backend.cpp.
#pragma once

#include <cstdint>
#include <sstream>
#include <string>

#include "scripted_model.hpp"

namespace scripted {

struct Adapter {
    std::string path;
};

inline sotto_status
measure(const Script& script, const sotto_adapter_source& source, sotto_adapter_info& info, sotto_str* why) {
    const std::string path(source.path.data, source.path.size);
    if (!script.flag("adapters", false)) {
        return fail(SOTTO_ERROR_UNSUPPORTED, "the script has no adapters", why);
    }
    if (path.find("bad") != std::string::npos) {
        return fail(SOTTO_ERROR_MODEL, "adapter '" + path + "' is bad", why);
    }
    pause(script, script.number("adapter_ms"), nullptr);
    info.bytes = script.count("adapter_bytes", 1000);
    return SOTTO_OK;
}

// Describes a stream's adapters.
inline std::string told(const sotto_stream_desc& desc) {
    std::ostringstream all;
    for (std::uint32_t i = 0; i < desc.count; ++i) {
        all << '<' << static_cast<const Adapter*>(desc.adapters[i])->path << '*' << desc.scales[i] << '>';
    }
    return all.str();
}

inline sotto_status SOTTO_CALL measure_adapter(
    void*, void* model, const sotto_adapter_source* source, sotto_adapter_info* info, sotto_str* why
) {
    return measure(static_cast<Model*>(model)->script, *source, *info, why);
}

inline sotto_status SOTTO_CALL open_adapter(
    void*,
    void* model,
    const sotto_adapter_source* source,
    void** adapter,
    sotto_adapter_info* info,
    sotto_str* why
) {
    const auto status = measure(static_cast<Model*>(model)->script, *source, *info, why);
    *adapter = status < 0 ? nullptr : new Adapter{std::string(source->path.data, source->path.size)};
    return status;
}

inline void SOTTO_CALL close_adapter(void*, void*, void* adapter) {
    auto* owned = static_cast<Adapter*>(adapter);
    owned->path = "freed"; // makes use after free visible
    delete owned;
}

} // namespace scripted
