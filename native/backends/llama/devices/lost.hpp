// A graphics card that is lost in the middle of what a model does on it.
#pragma once

#include <atomic>
#include <exception>
#include <memory>
#include <string_view>
#include <system_error>
#include <utility>

namespace sotto::llama {

// What models on a card share, as far as they are lost together.
struct Fate {
    std::atomic<bool> lost{false};
    bool (*ask)() noexcept = nullptr;   // its driver, whether it is; null: that says so only by errors
    bool (*keeps)() noexcept = nullptr; // whether no context on such a card may be freed; null: each may
};

// Whether what a model is on was lost. Made of nothing: it is on the processor, which never is.
class Loss {
public:
    Loss() = default;
    explicit Loss(std::shared_ptr<Fate> fate) : fate_(std::move(fate)) {}

    bool on_card() const noexcept { return fate_ != nullptr; }
    bool seen() const noexcept { return on_card() && fate_->lost.load(); }
    bool keeps_contexts() const noexcept {
        return seen() || (on_card() && fate_->keeps != nullptr && fate_->keeps());
    }
    // Asks, after something failed.
    bool asked() const noexcept { return note(on_card() && fate_->ask != nullptr && fate_->ask()); }

    // Whether that is what `error` says, as those of Vulkan's C++ binding do, or it comes after that was
    // said.
    bool told_by(const std::exception& error) const noexcept {
        constexpr int kErrorDeviceLost = -4;
        const auto* told = dynamic_cast<const std::system_error*>(&error);
        return note(
            told != nullptr && told->code().value() == kErrorDeviceLost &&
            std::string_view(told->code().category().name()) == "vk::Result"
        );
    }
    // The same of what ggml and llama.cpp log of such an error.
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

// Whether CUDA or cuBLAS say with `why` that there was no memory.
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
