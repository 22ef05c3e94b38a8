// Numbers of the devices that an engine's models can run on.
#pragma once

#include <atomic>
#include <cstdint>

namespace sotto {

// Number of a device. Numbers are never reused, so that facts about a device that was detached or
// lost do not apply to the next one. 0: the CPU.
using DeviceNumber = std::uint64_t;

// The engine's own device, and the GPU shared with a renderer. One thread at a time may write the numbers;
// any thread may read them.
class DeviceNumbers {
public:
    // The engine's own device; 0 if it was lost.
    DeviceNumber own() const noexcept { return own_.load(); }
    // The shared GPU until detach(); 0 if none.
    DeviceNumber shared() const noexcept { return shared_.load(); }
    // Same as shared(), but 0 once that GPU was lost.
    DeviceNumber usable() const noexcept { return usable_.load(); }
    bool is_lost(DeviceNumber number) const noexcept {
        return number != 0 && number != own() && number != usable();
    }

    // Call when a GPU was attached. Gives the GPU a number. If the engine's own device was lost, gives that
    // device a new number, so that models may use it again.
    void attach() noexcept {
        shared_ = usable_ = ++given_;
        own_ = own_ != 0 ? own_.load() : ++given_;
    }
    void detach() noexcept { shared_ = usable_ = 0; }
    // Marks a device as lost. Returns true if it is the shared GPU.
    bool lose(DeviceNumber number) noexcept {
        const bool is_own = number == own();
        (is_own ? own_ : usable_) = 0;
        return !is_own;
    }

private:
    DeviceNumber given_ = 1; // last number given
    std::atomic<DeviceNumber> own_{1};
    std::atomic<DeviceNumber> shared_{0};
    std::atomic<DeviceNumber> usable_{0}; // same as shared_; 0 once lost
};

} // namespace sotto
