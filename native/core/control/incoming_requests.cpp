#include "core/control/incoming_requests.hpp"

#include <algorithm>
#include <utility>

#include "base/attempt.hpp"

namespace sotto {

std::unique_ptr<Incoming> IncomingRequests::add(Slot& slot) {
    auto request = std::make_unique<Incoming>(slot);
    if (slot.submission.body.size() <= kLargeBody) {
        request->read(slot.submission.body);
        if (requests_.empty()) {
            return request;
        }
        request->take_names();
        request->reading.done = true;
    } else {
        read_aside(*request);
    }
    requests_.push_back(std::move(request));
    requests_.back()->body = std::move(slot.submission.body);
    return nullptr;
}

void IncomingRequests::read_aside(Incoming& request) {
    request.reading.is_large = true;
    request.reading.body = [&request, &wake = wake_] {
        request.names = names_in(request.body);
        request.named.store(true, std::memory_order_release);
        wake.notify();
        request.read(request.body);
    };
}

bool IncomingRequests::start_reading() noexcept {
    bool any = false;
    for (const auto& request : requests_) {
        auto& reading = request->reading;
        const bool waits = !reading.done.load(std::memory_order_acquire) && !reading.is_begun;
        if (waits && request->slot != nullptr && threads_.has_room(true)) {
            // The preparing thread yields to the game's threads, unless compute is prioritized.
            attempt(
                [&] { threads_.begin(reading, !settings_.prioritizes_compute()); },
                [&](sotto_status, const char*) { read_here(reading); }
            );
            any = true;
        }
    }
    return any;
}

// Reads a request on the control thread, because no other thread could be started.
void IncomingRequests::read_here(PreparingTask& reading) noexcept {
    reading.is_begun = true;
    attempt(reading.body, [&](sotto_status status, const char* why) { reading.failure.set(status, why); });
    reading.done = true;
}

std::unique_ptr<Incoming> IncomingRequests::take_done() noexcept {
    for (auto here = requests_.begin(); here != requests_.end(); ++here) {
        const auto& request = **here;
        const auto holds = [&](const auto& earlier) { return earlier->holds(request); };
        const bool dropped = request.slot == nullptr && !request.reading.is_under_way();
        const bool read = request.reading.done.load(std::memory_order_acquire);
        if (dropped || (read && std::none_of(requests_.begin(), here, holds))) {
            auto done = std::move(*here);
            requests_.erase(here);
            return done;
        }
    }
    return nullptr;
}

bool IncomingRequests::drop(const Slot& slot) noexcept {
    const auto found = std::ranges::find(requests_, &slot, &Incoming::slot);
    if (found == requests_.end()) {
        return false;
    }
    (*found)->slot = nullptr;
    (*found)->reading.cancelled = true;
    return true;
}

Slot* IncomingRequests::drop_oldest() noexcept {
    for (const auto& request : requests_) {
        if (Slot* slot = request->slot; slot != nullptr) {
            drop(*slot);
            return slot;
        }
    }
    return nullptr;
}

} // namespace sotto
