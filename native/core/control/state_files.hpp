// Requests that save a stream's KV cache state to a file, or restore one from a file.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/request/request_table.hpp"
#include "core/settings.hpp"
#include "core/state/file_worker.hpp"
#include "core/state/state_file.hpp"
#include "platform/signal.hpp"

namespace sotto {

// Control thread only. Files are read and written on a separate thread.
class StateFiles {
public:
    // A request, and the task that reads or writes its file.
    struct Request {
        Slot* slot = nullptr; // null: none
        std::shared_ptr<StateTask> task;
        float told = 0; // progress
    };

    explicit StateFiles(const Hooks& hooks);

    // `finished`: notified each time a file has been read or written.
    void notify(Signal& finished) noexcept { worker_.tell(&finished); }
    // read() starts reading the file of a request that restores a state of at most `max_size` bytes; write()
    // starts writing the file of a request that saves a state. `of_slot`: number of the slot that the state
    // is of; -1: of a stream. If either throws, nothing has changed.
    void read(Slot& slot, const std::string& path, std::uint64_t max_size);
    void write(
        Slot& slot, const std::string& path, PageBuffer state, std::uint32_t tokens, std::int32_t of_slot = -1
    );

    const Hooks& hooks() const noexcept { return hooks_; }
    // Starts another task for a request. If start() throws, nothing has changed.
    void start(Slot& slot, std::shared_ptr<StateTask> task);

    // Calls `found` with each request whose task's progress has changed since the last call, and the
    // progress.
    void each_progress(const std::function<void(Slot& slot, float progress)>& found);
    // Removes and returns the oldest request whose file has been read or written;
    // returns a request with a null slot if no file is done.
    Request take_done() noexcept;
    // Remove the request of `slot`, or the oldest request. A file that is being written is still completed.
    // cancel() returns false if `slot` has no request here; cancel_oldest() returns null if none is left.
    bool cancel(const Slot& slot) noexcept;
    Slot* cancel_oldest() noexcept;

private:
    Request take(std::size_t index) noexcept;

    const Hooks& hooks_;
    std::vector<Request> requests_; // in order of arrival
    FileWorker worker_;
};

} // namespace sotto
