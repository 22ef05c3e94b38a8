// Detects that a GPU was lost while a model uses it.
#pragma once

#include <atomic>
#include <exception>
#include <memory>
#include <string_view>
#include <system_error>
#include <utility>

namespace sotto::llama {

// State shared by all models that are lost together.
struct Fate {
    std::atomic<bool> lost{false};
    // asks the driver whether the GPU is lost; null: losses are detected by errors only
    bool (*ask)() noexcept = nullptr;
    // returns true if no context on a lost GPU may be freed; null: contexts may be freed
    bool (*keeps)() noexcept = nullptr;
};

// Loss state of a model's device. Default-constructed: the model is on the CPU, which is never lost.
class Loss {
public:
    Loss() = default;
    explicit Loss(std::shared_ptr<Fate> fate) : fate_(std::move(fate)) {}

    bool on_card() const noexcept { return fate_ != nullptr; }
    bool seen() const noexcept { return on_card() && fate_->lost.load(); }
    bool keeps_contexts() const noexcept {
        return seen() || (on_card() && fate_->keeps != nullptr && fate_->keeps());
    }
    // Asks the driver whether the GPU is lost. Call it after something has failed.
    bool asked() const noexcept { return note(on_card() && fate_->ask != nullptr && fate_->ask()); }

    // Returns true if `error` is a lost-device error of Vulkan's C++ binding, or the loss was detected
    // before.
    bool told_by(const std::exception& error) const noexcept {
        constexpr int kErrorDeviceLost = -4;
        const auto* told = dynamic_cast<const std::system_error*>(&error);
        return note(
            told != nullptr && told->code().value() == kErrorDeviceLost &&
            std::string_view(told->code().category().name()) == "vk::Result"
        );
    }
    // Returns true if a log line of ggml or llama.cpp reports a lost device, or the loss was detected before.
    bool told_by(std::string_view logged) const noexcept {
        return note(
            logged.find("ErrorDeviceLost") != std::string_view::npos ||
            logged.find("device lost on ") != std::string_view::npos
        );
    }

private:
    bool note(bool lost) const noexcept {
        if (on_card() && lost) {
            fate_->lost = true;
        }
        return seen();
    }

    std::shared_ptr<Fate> fate_;
};

// Returns true if an error text of CUDA or cuBLAS means that memory ran out.
inline bool wants_memory(std::string_view why) noexcept {
    for (const char* says :
         {"out of memory", "the resource allocation failed", "the library was not initialized"}) {
        if (why.find(says) != std::string_view::npos) {
            return true;
        }
    }
    return false;
}

} // namespace sotto::llama
