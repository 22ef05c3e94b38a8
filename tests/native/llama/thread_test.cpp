// Compute threads: their scheduling class and lifetime.
#include "../support/no_threads.hpp"
#include "module_under_test.hpp"

#include <chrono>
#include <cstdlib>
#include <doctest/doctest.h>
#include <filesystem>
#include <sched.h>
#include <thread>

using namespace under_test;

namespace {

// Number of this process's threads under a scheduling policy.
int threads_under(int policy) {
    int count = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
        count += sched_getscheduler(std::atoi(entry.path().filename().c_str())) == policy;
    }
    return count;
}

// Waits until the number of threads is `count`: a joined thread is still listed for a moment.
bool come_to(int policy, int count) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (threads_under(policy) != count && std::chrono::steady_clock::now() < end) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return threads_under(policy) == count;
}

} // namespace

TEST_CASE("helper threads have the class of the compute thread, and end with the last model") {
    const auto before = threads_under(SCHED_OTHER);
    {
        Model first;
        Model second;
        Stream one(first, chat("who is the king"));
        Stream two(second, chat("who is the king"));
        std::thread([&] {
            const sched_param none{};
            REQUIRE(sched_setscheduler(0, SCHED_IDLE, &none) == 0);
            one.thread_class = two.thread_class = SOTTO_THREAD_IDLE;
            CHECK(one.step(512, {}, 3) == SOTTO_OK);
            CHECK(threads_under(SCHED_IDLE) == 3);
            CHECK(two.step(512, {}, 3) == SOTTO_OK); // shares the pool
            CHECK(threads_under(SCHED_IDLE) == 3);
        }).join();
        CHECK(come_to(SCHED_IDLE, 2));
        one.thread_class = SOTTO_THREAD_NORMAL;
        CHECK(one.step(512, {}, 2) == SOTTO_OK);
        CHECK(threads_under(SCHED_OTHER) == before + 1);
        CHECK(threads_under(SCHED_IDLE) == 2);
    }
    CHECK(come_to(SCHED_IDLE, 0));
    CHECK(come_to(SCHED_OTHER, before));
}

TEST_CASE("a step whose helper threads cannot be started fails with the reason, and a later one succeeds") {
    Model model;
    Stream stream(model, chat("who is the king"));
    const auto before = threads_under(SCHED_OTHER);
    {
        const test::NoThreads none;
        for (int i = 0; i < 3; ++i) {
            CHECK(stream.step(512, {}, 3) == SOTTO_ERROR_MEMORY);
            CHECK_MESSAGE(stream.answer.why.find("no thread could be started: ") == 0, stream.answer.why);
        }
    }
    CHECK(come_to(SCHED_OTHER, before));
    CHECK(stream.step(512, {}, 3) == SOTTO_OK);
    CHECK(threads_under(SCHED_OTHER) == before + 2);
}

TEST_CASE("a model computes with at most the threads of its options") {
    const auto before = threads_under(SCHED_OTHER);
    {
        Model capped({.options = R"({"threads": 1})"});
        Stream stream(capped, chat("who is the king"));
        CHECK(stream.step(512, {}, 3) == SOTTO_OK);
        CHECK(stream.step(512, {}, 3) == SOTTO_OK);
        CHECK(threads_under(SCHED_OTHER) == before);
    }
    Model apart({.options = R"({"threads": 3, "threads_batch": 1})"});
    Stream stream(apart, chat("who is the king"));
    CHECK(stream.step(512, {}, 4) == SOTTO_OK); // prefills
    CHECK(threads_under(SCHED_OTHER) == before);
    CHECK(stream.step(512, {}, 2) == SOTTO_OK); // decodes
    CHECK(threads_under(SCHED_OTHER) == before + 1);
    CHECK(stream.step(512, {}, 4) == SOTTO_OK);
    CHECK(threads_under(SCHED_OTHER) == before + 3); // a pool of two threads, and one of three
}
