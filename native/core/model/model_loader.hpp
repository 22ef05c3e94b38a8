// The threads that load models and free them, so that nothing else waits for files.
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
    // `told` is told after each note.
    ModelLoader(
        const Hooks& hooks, const Settings& settings, DeviceManager& card, Ledger& ledger, Signal& told
    );
    // Gives up what is being loaded; frees what is to be freed.
    ~ModelLoader();

    // Loads an entry that has no model, or frees the model of one that has; of one that is planning, finds
    // out what it would take. Until a note comes that is not of kind progress, the entry's model is the
    // loader's.
    void take_on(ModelEntry& entry) noexcept;

    // What is being loaded is given up from now on, also what comes. Any thread.
    void give_up() noexcept { opener_.give_up(); }

    // The oldest note, or null. The control thread's.
    std::unique_ptr<LoaderNote> take() noexcept { return std::unique_ptr<LoaderNote>(notes_.pop()); }

private:
    void work();
    void begin(ModelEntry& entry) noexcept;
    void run(ModelEntry& entry) noexcept;
    void tell(std::unique_ptr<LoaderNote> note) noexcept;

    const Hooks& hooks_;
    const Settings& settings_;
    Signal& told_;
    MpscQueue<ModelEntry> frees_; // see take_on()
    MpscQueue<ModelEntry> loads_;
    MpscQueue<LoaderNote> notes_;
    ModelOpener opener_;
    Signal wake_;
    std::atomic<bool> over_{false};
    std::atomic<bool> loaded_{false}; // aside_ has done what it was begun for
    std::thread aside_;               // loads; begun and joined by thread_
    std::thread thread_;
};

} // namespace sotto
