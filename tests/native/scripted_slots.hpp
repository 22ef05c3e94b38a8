// The numbered slots and the saved states of a scripted model: see scripted_backend.cpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "scripted_model.hpp"

namespace scripted {

inline bool is_in_use(const Model& model, std::int32_t slot) {
    return std::any_of(model.streams.begin(), model.streams.end(), [&](const Stream* stream) {
        return stream->slot == slot;
    });
}

inline sotto_status require_free(const Model& model, std::int32_t slot, sotto_str* why) {
    return is_in_use(model, slot)
               ? fail(SOTTO_ERROR_BUSY, "the script's slot " + std::to_string(slot) + " is in use", why)
               : SOTTO_OK;
}

// Gives a stream the slot `wanted`; negative: the first free one.
inline sotto_status take_slot(Model& model, Stream& stream, std::int32_t wanted, sotto_str* why) {
    if (!model.script.flag("slots", false)) {
        return SOTTO_OK;
    }
    model.held.resize(std::max<std::size_t>(model.held.size(), model.shape.places));
    auto slot = std::max(wanted, 0);
    while (wanted < 0 && is_in_use(model, slot)) {
        ++slot;
    }
    if (const auto status = require_free(model, slot, why); status < 0) {
        return status;
    }
    stream.slot = slot;
    return SOTTO_OK;
}

// Returns the tokens that a stream with id_slot finds in its slot.
inline std::uint32_t cached_in(const Model& model, const Stream& stream, std::int32_t wanted) {
    return wanted < 0 ? 0 : model.held[static_cast<std::size_t>(stream.slot)];
}

inline void leave_slot(Model& model, Stream& stream) {
    if (stream.slot >= 0) {
        model.held[static_cast<std::size_t>(stream.slot)] = stream.prompt;
        stream.slot = -1;
    }
}

inline std::uint32_t& held_in(Model& model, std::uint32_t slot) {
    model.held.resize(std::max<std::size_t>(model.held.size(), model.shape.places));
    return model.held.at(slot);
}

inline sotto_status SOTTO_CALL
read_slot(void*, void* handle, std::uint32_t slot, sotto_slot_info* info, sotto_str*) {
    auto& model = *static_cast<Model*>(handle);
    info->tokens = held_in(model, slot);
    info->in_use = is_in_use(model, static_cast<std::int32_t>(slot)) ? 1 : 0;
    return SOTTO_OK;
}

inline sotto_status SOTTO_CALL save_slot(
    void*,
    void* handle,
    std::uint32_t slot,
    sotto_write_fn write,
    void* context,
    std::uint32_t* tokens,
    sotto_str* why
) {
    auto& model = *static_cast<Model*>(handle);
    if (const auto status = require_free(model, static_cast<std::int32_t>(slot), why); status < 0) {
        return status;
    }
    *tokens = held_in(model, slot);
    const auto state = std::to_string(*tokens);
    return write(context, state.data(), state.size()) == 0 ? SOTTO_OK
                                                           : fail(SOTTO_ERROR_MEMORY, "no room", why);
}

inline sotto_status SOTTO_CALL restore_slot(
    void*, void* handle, std::uint32_t slot, sotto_str state, std::uint32_t* tokens, sotto_str* why
) {
    auto& model = *static_cast<Model*>(handle);
    if (const auto status = require_free(model, static_cast<std::int32_t>(slot), why); status < 0) {
        return status;
    }
    *tokens = static_cast<std::uint32_t>(std::stoul(std::string(state.data, state.size)));
    held_in(model, slot) = *tokens;
    return SOTTO_OK;
}

inline sotto_status SOTTO_CALL
erase_slot(void*, void* handle, std::uint32_t slot, std::uint32_t* tokens, sotto_str* why) {
    auto& model = *static_cast<Model*>(handle);
    if (const auto status = require_free(model, static_cast<std::int32_t>(slot), why); status < 0) {
        return status;
    }
    *tokens = std::exchange(held_in(model, slot), 0);
    return SOTTO_OK;
}

inline sotto_status SOTTO_CALL save_state(
    void*, void* handle, void*, sotto_write_fn write, void* context, std::uint32_t* tokens, sotto_str* why
) {
    const auto& model = *static_cast<Model*>(handle);
    const auto& script = model.script;
    const auto state = script.values.value("state", std::string("remembered"));
    *tokens = script.count("prompt_tokens", 1);
    if (loses(model, "lose_save")) {
        return fail(SOTTO_ERROR_DEVICE, kLost, why);
    }
    return write(context, state.data(), state.size()) == 0 ? SOTTO_OK
                                                           : fail(SOTTO_ERROR_MEMORY, "no room", why);
}

} // namespace scripted
