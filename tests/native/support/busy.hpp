// Keeps the machine's cores busy.
#pragma once

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "platform/thread.hpp"

namespace test {

// Two spinning threads per core during this object's lifetime.
class BusyCores {
public:
    BusyCores() {
        for (unsigned i = 0; i < 2 * sotto::usable_cores(); ++i) {
            threads_.emplace_back([this] {
                while (!over_.load(std::memory_order_relaxed)) {
                }
            });
        }
    }
    ~BusyCores() {
        over_ = true;
        for (auto& thread : threads_) {
            thread.join();
        }
    }
    BusyCores(const BusyCores&) = delete;
    BusyCores& operator=(const BusyCores&) = delete;

private:
    std::atomic<bool> over_{false};
    std::vector<std::thread> threads_;
};

// Returns true if this process may move idle-class threads back to the normal class.
inline bool may_leave_idle_class() {
    bool may = false;
    std::thread([&may] {
        sotto::set_thread_class(sotto::ThreadClass::idle);
        may = sotto::raise_thread_class(sotto::thread_number());
    }).join();
    return may;
}

inline double median(std::vector<double> all) {
    std::sort(all.begin(), all.end());
    return all[all.size() / 2];
}

} // namespace test
