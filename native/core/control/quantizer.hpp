// Requests that quantize model files.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "core/codec/codec.hpp"
#include "core/control/event_sender.hpp"
#include "core/control/world.hpp"
#include "platform/signal.hpp"

namespace sotto {

// Quantizes one file at a time, on a thread of its own. Control thread only.
class Quantizer {
public:
    // `wake`: notified when advance() is due.
    Quantizer(const World& world, EventSender& sender, Signal& wake);
    // All requests must have ended.
    ~Quantizer();

    // Starts a request, after those that were started before. If start() throws, no reference to the slot is
    // kept.
    void start(Slot& slot, const ParsedRequest& parsed);
    // Cancels a request, which ends once its thread has removed the new file: a file that is complete by then
    // stays, and the request succeeds. Returns false if `slot` has no request here.
    bool cancel(const Slot& slot) noexcept;
    void cancel_all() noexcept;
    bool is_empty() const noexcept { return tasks_.empty(); }

    // Reports progress, ends requests whose file is complete, and starts the next one. Returns true if
    // anything changed.
    bool advance() noexcept;

private:
    struct Task;

    void begin(Task& task) noexcept;
    // Reports progress unless it was reported before. Returns true if it was not.
    bool tell_progress(Task& task, float progress) noexcept;
    void run(Task& task) noexcept;

    const Hooks& hooks_;
    const Settings& settings_;
    DeviceManager& devices_;
    Ledger& ledger_; // of host memory
    EventSender& sender_;
    Signal& wake_;
    std::deque<std::unique_ptr<Task>> tasks_; // in order of arrival; thread_ runs the first
    std::thread thread_;
};

} // namespace sotto
