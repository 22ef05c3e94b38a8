// The ring of the game's last frames.
#include <doctest/doctest.h>

#include "core/schedule/frame_history.hpp"

using sotto::Frame;
using sotto::FrameHistory;

TEST_CASE("frames are read in their order, and each once") {
    FrameHistory history;
    FrameHistory::Reader reader;
    Frame frame;
    CHECK_FALSE(reader.next(history, frame));
    history.add({.begin = 1, .end = 3, .period = 2, .missed = true});
    history.add({.begin = 3, .end = 4, .period = 2, .missed = false});
    REQUIRE(reader.next(history, frame));
    CHECK(frame.begin == 1);
    CHECK(frame.end == 3);
    CHECK(frame.period == 2);
    CHECK(frame.missed);
    REQUIRE(reader.next(history, frame));
    CHECK(frame.begin == 3);
    CHECK_FALSE(frame.missed);
    CHECK_FALSE(reader.next(history, frame));
    CHECK(history.missed() == 1);
}

TEST_CASE("a frame that ends before it begins is left out") {
    FrameHistory history;
    FrameHistory::Reader reader;
    Frame frame;
    history.add({.begin = 3, .end = 1, .period = 0, .missed = true});
    CHECK_FALSE(reader.next(history, frame));
    CHECK(history.missed() == 0);
}

TEST_CASE("a reader that comes late skips frames, and reads the last 128") {
    FrameHistory history;
    FrameHistory::Reader reader;
    Frame frame;
    for (std::int64_t i = 0; i < 1000; ++i) {
        history.add({.begin = i, .end = i, .period = 0, .missed = false});
    }
    std::int64_t next = 872;
    while (reader.next(history, frame)) {
        CHECK(frame.begin == next++);
    }
    CHECK(next == 1000);
}
