#include "core/control/incoming_requests.hpp"

#include <algorithm>
#include <utility>

#include "base/attempt.hpp"

namespace sotto {

std::unique_ptr<Incoming> IncomingRequests::add(Slot& slot) {
    constexpr std::size_t kLargeToCheck = 4096; // bytes whose check is short enough for the control thread
    // Requests of the engine to itself are its own texts.
    auto request = std::make_unique<Incoming>(slot, slot.listener == nullptr ? settings_.guard : nullptr);
    const auto large = request->guard != nullptr ? kLargeToCheck : kLargeBody;
    // A check may bring guardrails of its own, whose expressions take long to compile.
    if (request->op != SOTTO_OP_CHECK && slot.submission.body.size() <= large) {
        request->read(slot.submission.body);
        if (requests_.empty() && !request->is_unchecked()) {
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
    // A request of the engine to itself names no session, whatever its texts look like.
    const bool own = request.slot->listener != nullptr;
    request.reading.body = [&request, own, &wake = wake_] {
        request.names = own ? SessionNames() : names_in(request.body);
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

bool IncomingRequests::start_checking() noexcept {
    bool any = false;
    for (const auto& request : requests_) {
        const bool read = request->reading.done.load(std::memory_order_acquire);
        if (read && request->slot != nullptr && request->is_unchecked() && !request->is_checking) {
            attempt(
                [&] { check(*request); },
                [&](sotto_status status, const char* why) { request->reading.failure.set(status, why); }
            );
            any = true;
        }
    }
    return any;
}

void IncomingRequests::check(Incoming& request) {
    request.is_checking = true;
    checks_.start(*request.slot, request.unchecked, [&request](CheckResult result) {
        attempt(
            [&] { request.take(std::move(result)); },
            [&](sotto_status status, const char* why) { request.reading.failure.set(status, why); }
        );
    });
}

// Reads a request on the control thread, because no other thread could be started.
void IncomingRequests::read_here(PreparingTask& reading) noexcept {
    reading.is_begun = true;
    reading.run();
    reading.done = true;
}

std::unique_ptr<Incoming> IncomingRequests::take_done() noexcept {
    for (auto here = requests_.begin(); here != requests_.end(); ++here) {
        const auto& request = **here;
        const auto holds = [&](const auto& earlier) { return earlier->holds(request); };
        const bool dropped = request.slot == nullptr && !request.reading.is_under_way();
        const bool read = request.reading.done.load(std::memory_order_acquire);
        if (dropped || (read && !request.is_unchecked() && std::none_of(requests_.begin(), here, holds))) {
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
    checks_.drop(slot);
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
