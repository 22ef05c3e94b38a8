// What the file thread does with a task that outlives its engine.
#include "core/state/file_worker.hpp"

#include <atomic>
#include <memory>
#include <thread>

#include <doctest/doctest.h>

namespace {

// Writes in two pieces, and waits between them.
class Slow : public sotto::FileTask {
public:
    std::atomic<bool> goes_on{false};
    std::atomic<bool> is_written{false};

private:
    void run() override {
        while (!goes_on) {
            std::this_thread::yield();
        }
        advance(1);
        is_written = true;
    }
};

} // namespace

TEST_CASE("a task that is still running when its engine is destroyed makes no file visible") {
    const sotto::Hooks hooks;
    const auto task = std::make_shared<Slow>();
    {
        sotto::FileWorker worker(hooks);
        worker.start(task);
        while (!task->has_begun()) {
            std::this_thread::yield();
        }
    } // waits 500 ms
    task->goes_on = true;
    REQUIRE(task->wait(10'000'000'000));
    CHECK_FALSE(task->is_written);
    CHECK(task->failure().status == SOTTO_ERROR_CANCELLED);
}

TEST_CASE("a task that ends while its engine is destroyed completes its file") {
    const sotto::Hooks hooks;
    const auto task = std::make_shared<Slow>();
    {
        sotto::FileWorker worker(hooks);
        worker.start(task);
        while (!task->has_begun()) {
            std::this_thread::yield();
        }
        task->goes_on = true;
    }
    CHECK(task->is_written);
    CHECK_FALSE(task->failure());
}
