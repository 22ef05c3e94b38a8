// The quantization of a scripted model's file: see scripted_backend.cpp.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <thread>

#include "scripted_script.hpp"

namespace scripted {

// Writes `pieces` times the type's name, and "whole" over the first piece at last.
inline sotto_status SOTTO_CALL quantize_file(void*, const sotto_quantize_source* desc, sotto_str* why) {
    sotto_model_source source{};
    source.path = desc->path;
    Script script;
    if (const auto status = read_script(source, script, why); status < 0) {
        return status;
    }
    const std::string type(desc->type.data, desc->type.size);
    if (type == "Q0") {
        return fail(SOTTO_ERROR_ARGUMENT, "invalid type 'Q0': expected Q4_K_M", why);
    }
    if (desc->reserve(desc->context, script.count("working_bytes")) != 0) {
        return SOTTO_ERROR_BUDGET;
    }
    const auto pieces = script.count("pieces", 4);
    for (std::uint32_t i = 0; i < pieces; ++i) {
        std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(script.number("piece_ms")));
        if (desc->progress(desc->context, static_cast<float>(i) / static_cast<float>(pieces)) != 0 ||
            desc->write(desc->context, i * type.size(), type.data(), type.size()) != 0) {
            return SOTTO_ERROR_CANCELLED;
        }
    }
    return desc->write(desc->context, 0, "whole", 5) == 0 ? SOTTO_OK : SOTTO_ERROR_CANCELLED;
}

} // namespace scripted
