// A graphics card that is lost in the middle of what a model does on it.
#pragma once

#include <atomic>
#include <exception>
#include <string_view>
#include <system_error>

namespace sotto::llama {

// Whether one was. ggml has its devices for as long as the process lives, so it stays so.
inline std::atomic<bool> device_lost{false};

// Whether not even memory on it can be given back: ggml's CUDA code ends the process over that.
inline std::atomic<bool> keeps_memory{false};

// Whether that is what `error` says, as those of Vulkan's C++ binding do, or it comes after that was said.
inline bool tells_of_loss(const std::exception& error) noexcept {
    constexpr int kErrorDeviceLost = -4;
    const auto* told = dynamic_cast<const std::system_error*>(&error);
    const bool lost = told != nullptr && told->code().value() == kErrorDeviceLost &&
                      std::string_view(told->code().category().name()) == "vk::Result";
    if (lost) {
        device_lost = true;
    }
    return device_lost.load();
}

// The same of what ggml and llama.cpp log of such an error.
inline bool tells_of_loss(std::string_view logged) noexcept {
    const bool lost = logged.find("ErrorDeviceLost") != std::string_view::npos ||
                      logged.find("device lost on ") != std::string_view::npos;
    if (lost) {
        device_lost = true;
    }
    return lost;
}

// The same of the error that ggml's CUDA code would end the process over. False: there was no memory.
inline bool cuda_is_lost(std::string_view why) noexcept {
    const bool lost = why.find("out of memory") == std::string_view::npos;
    if (lost) {
        device_lost = keeps_memory = true; // CUDA computes nothing more in that context
    }
    return lost;
}

} // namespace sotto::llama
