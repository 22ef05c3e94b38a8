#include "core/budget/tidier.hpp"

#include "base/attempt.hpp"
#include "base/error.hpp"

namespace sotto {

Tidier::~Tidier() {
    parking_.stop_tidying();
    if (thread_.joinable()) {
        thread_.join();
    }
}

void Tidier::begin(ThreadClass thread_class, std::uint64_t room) {
    if (thread_.joinable()) {
        thread_.join(); // it is done
    }
    busy_ = true;
    Failure failure;
    attempt(
        [&] { thread_ = std::thread([this, thread_class, room] { work(thread_class, room); }); },
        [&](sotto_status status, const char* why) { failure.set(status, why); }
    );
    if (failure) {
        busy_ = false;
        throw Error(failure.status, failure.why);
    }
}

void Tidier::work(ThreadClass thread_class, std::uint64_t room) noexcept {
    attempt(
        [&] { hooks_.thread_started("tidy"); }, [](sotto_status, const char*) {}
    ); // it goes without a name
    if (thread_class == ThreadClass::idle) {
        set_thread_class(thread_class);
    }
    const auto body = [&] {
        if (room > 0) {
            parking_.spill(room);
        }
        parking_.tidy();
    };
    attempt(body, [&](sotto_status, const char* why) { hooks_.log.debug(why); }); // another time, then
    busy_.store(false, std::memory_order_release);
    told_.notify();
}

} // namespace sotto
