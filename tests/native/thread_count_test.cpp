// How the number of threads is found.
#include "core/schedule/thread_count.hpp"

#include <functional>
#include <map>

#include <doctest/doctest.h>

using sotto::ThreadCount;

namespace {

constexpr std::int64_t kMillisecond = 1'000'000;
constexpr std::int64_t kSecond = 1000 * kMillisecond;

// Takes steps for so many seconds, each of which takes what `cost` says for its threads. Returns how much of
// the time was spent on each number.
std::map<std::uint32_t, double> run(
    ThreadCount& count, std::int64_t& now, double seconds, const std::function<double(std::uint32_t)>& cost_ms
) {
    std::map<std::uint32_t, double> spent;
    const auto end = now + static_cast<std::int64_t>(seconds * kSecond);
    while (now < end) {
        const auto threads = count.now();
        const auto took = static_cast<std::int64_t>(cost_ms(threads) * kMillisecond);
        now += took;
        spent[threads] += static_cast<double>(took) / (seconds * kSecond);
        count.stepped(threads, took, static_cast<std::int64_t>(cost_ms(count.settled()) * kMillisecond), now);
    }
    return spent;
}

} // namespace

TEST_CASE("two threads are found where they are faster, soon") {
    ThreadCount count;
    std::int64_t now = kSecond;
    count.set_range(2, 1, now);
    CHECK(count.now() == 1);
    run(count, now, 1, [](auto threads) { return threads == 2 ? 6.0 : 10.0; });
    CHECK(count.settled() == 2);
}

TEST_CASE("one thread is kept where two are no faster, and little time is spent on trying") {
    ThreadCount count;
    std::int64_t now = kSecond;
    count.set_range(2, 1, now);
    const auto spent = run(count, now, 60, [](auto threads) { return threads == 2 ? 15.0 : 10.0; });
    CHECK(count.settled() == 1);
    CHECK(spent.at(2) > 0);
    CHECK(spent.at(2) < 0.03);
}

TEST_CASE("where the machine changes its mind, so does the engine") {
    ThreadCount count;
    std::int64_t now = kSecond;
    count.set_range(2, 2, now);
    run(count, now, 5, [](auto threads) { return threads == 2 ? 6.0 : 10.0; });
    CHECK(count.settled() == 2);
    run(count, now, 40, [](auto threads) { return threads == 2 ? 1000.0 : 10.0; }); // others took a core
    CHECK(count.settled() == 1);
    run(count, now, 60, [](auto threads) { return threads == 2 ? 6.0 : 10.0; });
    CHECK(count.settled() == 2);
}

TEST_CASE("of four the best is found, step by step") {
    ThreadCount count;
    std::int64_t now = kSecond;
    count.set_range(4, 1, now);
    run(count, now, 20, [](auto threads) { return threads == 3 ? 4.0 : threads == 2 ? 6.0 : 10.0; });
    CHECK(count.settled() == 3);
}

TEST_CASE("a hopeless trial is given up at once") {
    ThreadCount count;
    std::int64_t now = kSecond;
    count.set_range(2, 1, now);
    int tried = 0;
    for (int i = 0; i < 200; ++i) {
        const auto threads = count.now();
        tried += threads == 2 ? 1 : 0;
        now += 10 * kMillisecond;
        count.stepped(threads, threads == 2 ? 500 * kMillisecond : 10 * kMillisecond, 10 * kMillisecond, now);
    }
    CHECK(tried > 0);
    CHECK(tried <= 2 * 4); // two steps of each of the few trials of two seconds
}

TEST_CASE("a step that was given up is taken on fewer threads, for ever longer") {
    ThreadCount count;
    std::int64_t now = kSecond;
    count.set_range(2, 2, now);
    int given_up = 0;
    for (const auto end = now + 60 * kSecond; now < end;) {
        now += 10 * kMillisecond;
        if (count.now() == 2) {
            ++given_up;
            count.gave_up(0, now);
            CHECK(count.now() == 1);
        } else {
            count.stepped(1, 10 * kMillisecond, 10 * kMillisecond, now);
        }
    }
    CHECK(given_up > 1);
    CHECK(given_up < 10);
}

TEST_CASE("what was given up once is tried again soon, however late that is") {
    ThreadCount count;
    std::int64_t now = 1000 * kSecond;
    count.set_range(2, 2, now);
    count.gave_up(0, now);
    CHECK(count.settled() == 1);
    run(count, now, 2, [](auto threads) { return threads == 2 ? 6.0 : 10.0; });
    CHECK(count.settled() == 2);
}

TEST_CASE("where a step stood still for long the same number is not tried for half a minute") {
    ThreadCount count;
    std::int64_t now = 1000 * kSecond;
    count.set_range(2, 2, now);
    count.gave_up(2 * kSecond, now);
    for (const auto end = now + 29 * kSecond; now < end;) {
        now += 10 * kMillisecond;
        REQUIRE(count.now() == 1);
        count.stepped(1, 10 * kMillisecond, 10 * kMillisecond, now);
    }
}

TEST_CASE("a new range begins anew, the same one does not") {
    ThreadCount count;
    std::int64_t now = kSecond;
    count.set_range(2, 1, now);
    run(count, now, 1, [](auto threads) { return threads == 2 ? 6.0 : 10.0; });
    count.set_range(2, 1, now);
    CHECK(count.settled() == 2);
    count.set_range(1, 1, now);
    CHECK(count.now() == 1);
    run(count, now, 5, [](auto) { return 1.0; });
    CHECK(count.now() == 1);
    count.set_range(0, 7, now);
    CHECK(count.now() == 1);
}
