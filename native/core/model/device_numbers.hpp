// Which devices an engine's models may be on, by number.
#pragma once

#include <atomic>
#include <cstdint>

namespace sotto {

// A device by number. None is given twice, so that what is known of a device that went is not held against
// the next. 0: the processor.
using DeviceNumber = std::uint64_t;

// The engine's own device, and the card that it shares with a renderer. Changed by one thread at a time, read
// by any.
class DeviceNumbers {
public:
    // The engine's own device; 0: it was lost.
    DeviceNumber own() const noexcept { return own_.load(); }
    // The card, until it has left; 0: there is none.
    DeviceNumber shared() const noexcept { return shared_.load(); }
    // As shared(), but 0 once the card was lost.
    DeviceNumber usable() const noexcept { return usable_.load(); }
    bool is_lost(DeviceNumber number) const noexcept {
        return number != 0 && number != own() && number != usable();
    }

    // A card came. The engine's own device, if it was lost, may be used again.
    void attach() noexcept {
        shared_ = usable_ = ++given_;
        own_ = own_ != 0 ? own_.load() : ++given_;
    }
    // The card has left.
    void detach() noexcept { shared_ = usable_ = 0; }
    // A device was lost. Returns true if it is the card.
    bool lose(DeviceNumber number) noexcept {
        const bool is_own = number == own();
        (is_own ? own_ : usable_) = 0;
        return !is_own;
    }

private:
    DeviceNumber given_ = 1; // so far
    std::atomic<DeviceNumber> own_{1};
    std::atomic<DeviceNumber> shared_{0};
    std::atomic<DeviceNumber> usable_{0}; // as shared_, unless it was lost
};

} // namespace sotto
