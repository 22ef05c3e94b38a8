// Requests that save a state to a file, or restore one from a file.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/request/request_table.hpp"
#include "core/settings.hpp"
#include "core/state/file_worker.hpp"
#include "core/state/state_file.hpp"
#include "platform/signal.hpp"

namespace sotto {

// Control thread only. The files are read and written on a thread of their own.
class StateFiles {
public:
    // A request, and the task that reads or writes its file.
    struct Request {
        Slot* slot = nullptr; // null: no request
        std::shared_ptr<StateTask> task;
    };

    explicit StateFiles(const Hooks& hooks);

    // `finished` is notified after each file.
    void notify(Signal& finished) noexcept { worker_.tell(&finished); }
    // Starts to read the file of a request that restores a state of at most `max_size` bytes, or to write the
    // file of one that saves a state. Both throw before anything is kept, or not at all.
    void read(Slot& slot, const std::string& path, std::uint64_t max_size);
    void write(Slot& slot, const std::string& path, PageBuffer state, std::uint32_t tokens);

    // Takes the oldest request whose file is done.
    Request take_done() noexcept;
    // Takes a request whose file is not done, wherever that is. A file that is being written is written.
    // cancel() returns false if the request is not here; cancel_oldest() returns null if no request is.
    bool cancel(const Slot& slot) noexcept;
    Slot* cancel_oldest() noexcept;

private:
    void start(Slot& slot, std::shared_ptr<StateTask> task);
    Request take(std::size_t index) noexcept;

    const Hooks& hooks_;
    std::vector<Request> requests_; // in order of arrival
    FileWorker worker_;
};

} // namespace sotto
