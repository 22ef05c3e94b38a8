// The thread that loads models and frees them, so that nothing else waits for files.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>

#include "core/registry.hpp"
#include "core/settings.hpp"
#include "module/modules.hpp"
#include "platform/signal.hpp"

namespace sotto {

class ModelLoader {
public:
    // `told` is told after each note.
    ModelLoader(
        const Hooks& hooks, const Settings& settings, std::string device, Modules& modules, Signal& told
    );
    // Gives up what is being loaded; frees what is to be freed.
    ~ModelLoader();

    // Loads an entry that has no model, or frees the model of one that has. Until the note of kind
    // loaded, failed or freed comes, the entry's model is the loader's.
    void take_on(ModelEntry& entry) noexcept;

    // The oldest note, or null. The control thread's.
    std::unique_ptr<LoaderNote> take() noexcept { return std::unique_ptr<LoaderNote>(notes_.pop()); }

    std::uint64_t bytes_in_use() const noexcept { return in_use_.load(std::memory_order_relaxed); }

private:
    // What an open hears back from.
    struct Watch {
        ModelLoader* loader;
        ModelEntry* entry;
        float told = -1;
    };

    static std::int32_t SOTTO_CALL on_progress(void* context, float progress);

    void work();
    void run_aside(ModelEntry& entry) noexcept;
    void run(ModelEntry& entry) noexcept;
    std::unique_ptr<Model> open(ModelEntry& entry);
    void check_budget(const ModelEntry& entry, const ModelInfo& info) const;
    // Puts a model's bytes on the account (sign 1) or takes them off it (-1).
    void account(const ModelEntry& entry, const ModelInfo& info, int sign);
    void tell(std::unique_ptr<LoaderNote> note) noexcept;
    bool gives_up(const ModelEntry& entry) const noexcept { return stopping_.load() || entry.give_up.load(); }

    const Hooks& hooks_;
    const std::string device_;
    const Settings& settings_;
    Modules& modules_;
    Signal& told_;
    MpscQueue<ModelEntry> tasks_; // those with a model are to be freed
    MpscQueue<LoaderNote> notes_;
    Signal wake_;
    std::atomic<bool> stopping_{false};
    std::atomic<std::uint64_t> in_use_{0}; // bytes of all open models
    std::thread thread_;
};

} // namespace sotto
