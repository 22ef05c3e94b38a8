// Frame reports of a game, including invalid ones.
#include "core/schedule/frame.hpp"

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

using sotto::Frame;
using sotto::Frames;

namespace {

constexpr std::int64_t kMillisecond = 1'000'000;
constexpr std::int64_t kSecond = 1000 * kMillisecond;
constexpr std::uint64_t kPeriod = 16 * kMillisecond;

std::vector<Frame> read(Frames::Reader& reader, const Frames& frames) {
    std::vector<Frame> all;
    for (Frame frame; reader.next(frames, frame);) {
        all.push_back(frame);
    }
    return all;
}

} // namespace

TEST_CASE("a frame is the time between a begin and an end") {
    Frames frames;
    Frames::Reader reader;
    frames.begin(kSecond, 1, kPeriod);
    CHECK(frames.in_work(kSecond + kMillisecond));
    CHECK(frames.phase(kSecond + 4 * kMillisecond) == doctest::Approx(0.25));
    frames.end(kSecond + 8 * kMillisecond, 0, 0);
    CHECK_FALSE(frames.in_work(kSecond + 9 * kMillisecond));
    const auto all = read(reader, frames);
    REQUIRE(all.size() == 1);
    CHECK(all[0].begin == kSecond);
    CHECK(all[0].end == kSecond + 8 * kMillisecond);
    CHECK(all[0].period == static_cast<std::int64_t>(kPeriod));
    CHECK_FALSE(all[0].missed);
    CHECK(read(reader, frames).empty());
}

TEST_CASE("a frame is missed if its work exceeds its period, or if it starts a period late") {
    Frames frames;
    Frames::Reader reader;
    const auto frame = [&](std::int64_t begin, std::int64_t work) {
        frames.begin(kSecond + begin * kMillisecond, 1, kPeriod);
        frames.end(kSecond + (begin + work) * kMillisecond, 0, 0);
        return read(reader, frames).back().missed;
    };
    CHECK_FALSE(frame(0, 8));
    CHECK(frame(16, 17));
    CHECK_FALSE(frame(48, 8)); // late because of the previous frame
    CHECK(frame(80, 8));       // late without a known cause
    CHECK_FALSE(frame(96, 8));
    CHECK_FALSE(frame(5000, 8)); // after a pause, the schedule restarts
    CHECK(frames.report().missed == 2);
}

TEST_CASE("begins alone give the distance of frames, ends alone the reported work") {
    Frames frames;
    Frames::Reader reader;
    for (int i = 0; i < 3; ++i) {
        frames.begin(kSecond + i * 16 * kMillisecond, 1, kPeriod);
    }
    frames.begin(kSecond + 80 * kMillisecond, 1, kPeriod);
    const auto begun = read(reader, frames);
    REQUIRE(begun.size() == 3);
    CHECK_FALSE(begun[0].missed);
    CHECK(begun[2].missed);

    Frames ends;
    Frames::Reader other;
    ends.end(kSecond, 0, 0);
    CHECK(read(other, ends).empty());
    ends.end(kSecond + 16 * kMillisecond, 9, 0);
    const auto ended = read(other, ends);
    REQUIRE(ended.size() == 1);
    CHECK(ended[0].end - ended[0].begin == 9 * kMillisecond);
    CHECK(ends.report().ended == 2);
}

TEST_CASE("duplicate, reordered, backdated and period-less calls are harmless") {
    Frames frames;
    Frames::Reader reader;
    frames.end(kSecond, 0, 0);
    frames.end(kSecond, 0, 0);
    frames.begin(2 * kSecond, 0, 0);
    frames.begin(2 * kSecond, 0, 0);
    frames.end(kSecond, 0, 0); // before it began
    frames.begin(kSecond / 2, 99, UINT64_MAX);
    frames.end(kSecond / 2 + kMillisecond, 1e30F, 0);
    frames.begin(INT64_MAX, 1, kPeriod);
    CHECK_FALSE(frames.in_work(kSecond));
    CHECK(frames.phase(kSecond) < 0);
    frames.end(INT64_MAX, 0, 0);
    for (const auto& frame : read(reader, frames)) {
        CHECK(frame.end >= frame.begin);
        CHECK_FALSE(frame.missed);
    }
}

TEST_CASE("a frame without an end does not keep the gate closed forever") {
    Frames frames;
    frames.begin(kSecond, 1, kPeriod);
    CHECK(frames.in_work(kSecond + 100 * kMillisecond));
    CHECK(frames.in_work(kSecond - 1000)); // as seen by a thread that read the clock just before
    CHECK_FALSE(frames.in_work(3 * kSecond));
    CHECK(frames.busy_cores(kSecond) == 1);
    CHECK_FALSE(frames.are_told(3 * kSecond));
}

TEST_CASE("tiny periods and periods of ten seconds are accepted") {
    Frames frames;
    Frames::Reader reader;
    frames.begin(kSecond, 1, 100'000); // 10,000 Hz
    frames.end(kSecond + 200'000, 0, 0);
    CHECK(read(reader, frames).back().missed);
    frames.begin(2 * kSecond, 1, 10 * kSecond);
    frames.end(2 * kSecond + 500 * kMillisecond, 0, 0);
    CHECK_FALSE(read(reader, frames).back().missed);
}

TEST_CASE("a slow reader misses the oldest frames and never reads a partial one") {
    Frames frames;
    std::atomic<bool> over{false};
    std::vector<std::thread> games;
    for (int game = 0; game < 2; ++game) {
        games.emplace_back([&] {
            for (std::int64_t i = 0; !over.load(); ++i) {
                frames.begin(kSecond + i * 1000, 1, kPeriod);
                frames.end(kSecond + i * 1000 + 500, 0, 0);
            }
        });
    }
    Frames::Reader reader;
    std::size_t count = 0;
    while (count < 20'000) {
        for (const auto& frame : read(reader, frames)) {
            REQUIRE(frame.end >= frame.begin);
            ++count;
        }
    }
    over = true;
    for (auto& game : games) {
        game.join();
    }
}

TEST_CASE("a reader that keeps up misses no frame, even while frames are written") {
    constexpr std::size_t kAll = 20'000;
    constexpr std::size_t kAhead = 64; // fewer than are stored
    Frames frames;
    std::atomic<std::size_t> seen{0};
    std::thread game([&] {
        for (std::size_t i = 0; i < kAll; ++i) {
            while (i >= seen.load() + kAhead) {
                std::this_thread::yield();
            }
            frames.begin(kSecond + static_cast<std::int64_t>(i) * 1000, 1, kPeriod);
            frames.end(kSecond + static_cast<std::int64_t>(i) * 1000 + 500, 0, 0);
        }
    });
    Frames::Reader reader;
    Frame frame;
    std::int64_t next = kSecond;
    const auto enough = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (seen.load() < kAll && std::chrono::steady_clock::now() < enough) {
        if (reader.next(frames, frame)) {
            CHECK(frame.begin == next);
            next = frame.begin + 1000;
            ++seen;
        }
    }
    CHECK(seen.load() == kAll);
    seen = kAll; // the writer is done, whatever was missed
    game.join();
}
