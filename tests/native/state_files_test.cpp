// Requests that wait for the file of a state.
#include "core/control/state_files.hpp"

#include <string>
#include <utility>

#include <doctest/doctest.h>

#include "core/state/state_blob.hpp"
#include "support/folder.hpp"

using sotto::PageBuffer;
using sotto::Slot;
using sotto::StateFiles;

namespace {

class Files {
public:
    Files() { files.notify(finished_); }

    StateFiles::Request wait() {
        for (;;) {
            const auto seen = finished_.value();
            auto done = files.take_done();
            if (done.slot != nullptr) {
                return done;
            }
            finished_.wait(seen, -1);
        }
    }
    std::string path(const char* name) const { return (folder_.path() / name).string(); }

private:
    test::Folder folder_;
    sotto::Hooks hooks_;
    sotto::Signal finished_;

public:
    StateFiles files{hooks_}; // ends first
};

} // namespace

TEST_CASE("a state that was written is read back by the request that asks for it") {
    Files all;
    Slot saves;
    Slot restores;
    all.files.write(saves, all.path("state"), PageBuffer(sotto::state_blob("{}", "the state")), 3);
    const auto written = all.wait();
    CHECK(written.slot == &saves);
    CHECK_FALSE(written.task->failure());
    all.files.read(restores, all.path("state"), 1024);
    const auto read = all.wait();
    CHECK(read.slot == &restores);
    REQUIRE_FALSE(read.task->failure());
    CHECK(static_cast<sotto::StateRead&>(*read.task).take().view() == sotto::state_blob("{}", "the state"));
    CHECK(all.files.take_done().slot == nullptr);
}

TEST_CASE("a file that is missing fails its request") {
    Files all;
    Slot slot;
    all.files.read(slot, all.path("none"), 1024);
    CHECK(all.wait().task->failure());
}

TEST_CASE("a cancelled request is not delivered, and others are") {
    Files all;
    Slot first;
    Slot second;
    all.files.write(first, all.path("first"), PageBuffer("one"), 1);
    all.files.write(second, all.path("second"), PageBuffer("two"), 1);
    CHECK(all.files.cancel(first));
    CHECK_FALSE(all.files.cancel(first));
    CHECK(all.wait().slot == &second);
    CHECK(all.files.cancel_oldest() == nullptr);
    all.files.read(first, all.path("second"), 1024);
    CHECK(all.files.cancel_oldest() == &first);
}
