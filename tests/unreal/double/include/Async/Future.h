// Double of Unreal: see tests/unreal/double/README.md.
#pragma once

#include <chrono>
#include <future>

/** Result of work on another thread. Its destructor does not wait. */
template <typename T>
class TFuture {
public:
    TFuture() = default;
    explicit TFuture(std::future<T>&& Future) : Held(std::move(Future)) {}
    bool IsValid() const { return Held.valid(); }
    bool IsReady() const {
        return Held.valid() && Held.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
    }
    void Wait() const { Held.wait(); }

private:
    std::future<T> Held;
};
