// Threads that load and free models, so that no other thread waits for files.
#pragma once

#include <atomic>
#include <memory>
#include <thread>

#include "core/model/device_manager.hpp"
#include "core/model/model_opener.hpp"
#include "core/model/registry.hpp"
#include "core/settings.hpp"
#include "platform/signal.hpp"

namespace sotto {

class ModelLoader {
public:
    // Notifies `told` after each note.
    ModelLoader(
        const Hooks& hooks, const Settings& settings, DeviceManager& devices, Ledger& ledger, Signal& told
    );
    // Cancels loads; completes pending frees.
    ~ModelLoader();

    // Starts loading an entry without a model, or freeing the model of an entry that has one. For
    // an entry in state planning, measures the memory it would need. The loader owns the entry's
    // model until it sends a note of another kind than progress.
    void take_on(ModelEntry& entry) noexcept;

    // Cancels the current load and all later ones. Any thread.
    void give_up() noexcept { opener_.give_up(); }

    // Returns the oldest note; null if none. Control thread only.
    std::unique_ptr<LoaderNote> take() noexcept { return std::unique_ptr<LoaderNote>(notes_.pop()); }

private:
    void work();
    void begin(ModelEntry& entry) noexcept;
    void run(ModelEntry& entry) noexcept;
    void tell(std::unique_ptr<LoaderNote> note) noexcept;

    const Hooks& hooks_;
    const Settings& settings_;
    Signal& told_;
    MpscQueue<ModelEntry> frees_; // entries whose model is to be freed
    MpscQueue<ModelEntry> loads_;
    MpscQueue<LoaderNote> notes_;
    ModelOpener opener_;
    Signal wake_;
    std::atomic<bool> over_{false};
    std::atomic<bool> loaded_{false}; // the thread aside_ has finished its load
    std::thread aside_;               // runs one load; started and joined by thread_
    std::thread thread_;
};

} // namespace sotto
