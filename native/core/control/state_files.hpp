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

// Control thread only. Files are read and written on a separate thread.
class StateFiles {
public:
    // A request, and the task that reads or writes its file.
    struct Request {
        Slot* slot = nullptr; // null: none
        std::shared_ptr<StateTask> task;
    };

    explicit StateFiles(const Hooks& hooks);

    // `finished`: notified after each file.
    void notify(Signal& finished) noexcept { worker_.tell(&finished); }
    // Start reading the file of a request that restores a state of at most `max_size` bytes, or
    // writing the file of a request that saves a state. If one throws, nothing has changed.
    void read(Slot& slot, const std::string& path, std::uint64_t max_size);
    void write(Slot& slot, const std::string& path, PageBuffer state, std::uint32_t tokens);

    // Takes the oldest request whose file is done; its slot is null if none is done.
    Request take_done() noexcept;
    // Removes a request whose file is not done. A file that is being written is completed. cancel()
    // returns false if the request is not here; cancel_oldest() returns null if no request is left.
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
