#include "core/model/model_loader.hpp"

#include <utility>

#include "base/attempt.hpp"
#include "platform/thread.hpp"

namespace sotto {
ModelLoader::ModelLoader(
    const Hooks& hooks, const Settings& settings, DeviceManager& devices, Ledger& ledger, Signal& told
)
    : hooks_(hooks), settings_(settings), told_(told),
      opener_(hooks, devices, ledger, [this](std::unique_ptr<LoaderNote> note) { tell(std::move(note)); }),
      thread_(start_thread([this] { work(); })) {}

ModelLoader::~ModelLoader() {
    opener_.give_up();
    over_ = true;
    wake_.notify();
    thread_.join();
    while (take()) {
    }
}

void ModelLoader::take_on(ModelEntry& entry) noexcept {
    (entry.model != nullptr ? frees_ : loads_).push(&entry);
    wake_.notify();
}

void ModelLoader::tell(std::unique_ptr<LoaderNote> note) noexcept {
    notes_.push(note.release());
    told_.notify();
}

void ModelLoader::work() {
    hooks_.thread_started("loader");
    for (;;) {
        const auto seen = wake_.value();
        if (ModelEntry* leaves = frees_.pop()) {
            run(*leaves);
        } else if (aside_.joinable() && loaded_.exchange(false)) {
            aside_.join();
        } else if (ModelEntry* entry = aside_.joinable() ? nullptr : loads_.pop()) {
            begin(*entry);
        } else if (over_.load() && !aside_.joinable()) {
            return;
        } else {
            wake_.wait(seen, -1);
        }
    }
}

// Loads on a separate thread, so that frees do not wait for a load. A load computes for seconds, so
// the thread gets a lower priority unless the mode prioritizes compute. It does not get the idle
// class, in which a load would take minutes while other programs keep every core busy.
void ModelLoader::begin(ModelEntry& entry) noexcept {
    const auto start = [&] {
        aside_ = start_thread([&] {
            hooks_.thread_started("load");
            if (settings_.mode.load() != SOTTO_MODE_PRIORITIZE_COMPUTE) {
                hooks_.outlives->has_yielding_threads = true;
                lower_thread_priority();
            }
            run(entry);
            loaded_ = true;
            wake_.notify();
        });
    };
    attempt(start, [&](sotto_status, const char*) { run(entry); }); // without a thread: loads here
}

void ModelLoader::run(ModelEntry& entry) noexcept {
    auto note = std::move(entry.loader.final_note);
    note->entry = &entry;
    note->plan = {};
    // A load calls the host's file functions until the load ends. Cancelling takes effect between two reads.
    const HookGate::Use use(hooks_.files ? &hooks_.outlives->gate : nullptr);
    const auto body = [&] {
        if (!use) {
            throw Error(SOTTO_ERROR_CANCELLED, "the engine was destroyed");
        }
        if (entry.model != nullptr) {
            ModelOpener::free(entry);
            note->kind = LoaderNote::Kind::freed;
        } else {
            const Zone zone(hooks_, "sotto load model");
            opener_.open(entry, *note);
        }
    };
    attempt(body, [&](sotto_status status, const char* why) {
        entry.claims = {};
        note->kind = LoaderNote::Kind::failed;
        note->failure.set(status, why);
    });
    if (note->kind != LoaderNote::Kind::loaded) {
        entry.device = 0; // the model is on no device
    }
    tell(std::move(note));
}

} // namespace sotto
