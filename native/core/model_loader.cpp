#include "core/model_loader.hpp"

#include <new>
#include <utility>

#include "base/attempt.hpp"
#include "platform/dynlib.hpp"
#include "platform/thread.hpp"
#include "text/json_reader.hpp"

namespace sotto {
namespace {

constexpr std::string_view kHouseId = "sotto/house";
constexpr std::string_view kHouseFile = "house.gguf";

std::string path_of(const Asked& asked) {
    if (!asked.path.empty()) {
        return asked.path;
    }
    if (asked.id == kHouseId) {
        const auto path = (library_folder() / kHouseFile).u8string();
        return {path.begin(), path.end()};
    }
    return asked.id;
}

std::string megabytes(std::uint64_t bytes) {
    constexpr std::uint64_t kMegabyte = 1 << 20;
    return std::to_string(bytes / kMegabyte + (bytes % kMegabyte != 0 ? 1 : 0)) + " MB";
}

sotto_str str(const std::string& text) noexcept {
    return {text.data(), text.size()};
}

} // namespace

ModelLoader::ModelLoader(
    const Hooks& hooks, const Settings& settings, std::string device, Modules& modules, Signal& told
)
    : hooks_(hooks), device_(std::move(device)), settings_(settings), modules_(modules), told_(told),
      thread_([this] { work(); }) {}

ModelLoader::~ModelLoader() {
    stopping_ = true;
    wake_.notify();
    thread_.join();
    while (take()) {
    }
}

void ModelLoader::take_on(ModelEntry& entry) noexcept {
    tasks_.push(&entry);
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
        if (ModelEntry* entry = tasks_.pop()) {
            run_aside(*entry);
        } else if (stopping_.load()) {
            return;
        } else {
            wake_.wait(seen, -1);
        }
    }
}

// Where the game comes first, on a thread of the idle class: to load is to compute for seconds. A thread of
// its own for each, as there is no way back.
void ModelLoader::run_aside(ModelEntry& entry) noexcept {
    if (entry.model != nullptr || settings_.mode.load() == SOTTO_MODE_PRIORITIZE_COMPUTE) {
        run(entry);
        return;
    }
    std::thread aside;
    const auto start = [&] {
        aside = std::thread([&] {
            hooks_.thread_started("load");
            set_thread_class(ThreadClass::idle);
            run(entry);
        });
    };
    attempt(start, [&](sotto_status, const char*) { run(entry); }); // there is no thread to be had
    if (aside.joinable()) {
        aside.join();
    }
}

void ModelLoader::run(ModelEntry& entry) noexcept {
    auto note = std::move(entry.verdict);
    note->entry = &entry;
    const auto body = [&] {
        if (entry.model != nullptr) {
            ModelInfo info; // without the description, which may find no memory for a copy
            info.weights = entry.model->info().weights;
            info.kv = entry.model->info().kv;
            info.compute = entry.model->info().compute;
            entry.model.reset();
            account(entry, info, -1);
            note->kind = LoaderNote::Kind::freed;
        } else {
            const Zone zone(hooks_, "sotto load model");
            note->model = open(entry);
            note->kind = LoaderNote::Kind::loaded;
        }
    };
    attempt(body, [&](sotto_status status, const char* why) {
        note->kind = LoaderNote::Kind::failed;
        note->failure.set(status, why);
    });
    tell(std::move(note));
}

std::unique_ptr<Model> ModelLoader::open(ModelEntry& entry) {
    const auto& asked = entry.asked;
    if (!asked.options.empty()) {
        parse_object(asked.options, "options");
    }
    const Backend& backend = modules_.find(asked.backend);
    const auto path = path_of(asked);
    Watch watch{this, &entry};
    const sotto_model_source source = {
        .struct_size = sizeof(sotto_model_source),
        .reserved = 0,
        .path = str(path),
        .options = str(asked.options),
        .device = str(device_),
        .files = hooks_.files ? &*hooks_.files : nullptr,
        .progress = on_progress,
        .context = &watch,
    };
    if (settings_.vram_budget.load() != 0) {
        check_budget(entry, measure(backend, source));
    }
    if (gives_up(entry)) {
        throw Error(SOTTO_ERROR_CANCELLED, "loading was cancelled");
    }
    auto model = std::make_unique<Model>(backend, source);
    check_budget(entry, model->info());
    account(entry, model->info(), 1);
    return model;
}

void ModelLoader::check_budget(const ModelEntry& entry, const ModelInfo& info) const {
    const auto budget = settings_.vram_budget.load();
    const auto used = in_use_.load();
    if (budget == 0 || (used <= budget && info.bytes() <= budget - used)) {
        return;
    }
    throw Error(
        SOTTO_ERROR_BUDGET,
        entry.asked.id + " needs " + megabytes(info.bytes()) + "; " + megabytes(used) + " of the budget of " +
            megabytes(budget) + " are taken. Unload a model, raise vram_budget, or ask for less in options"
    );
}

void ModelLoader::account(const ModelEntry& entry, const ModelInfo& info, int sign) {
    in_use_ = sign > 0 ? in_use_ + info.bytes() : in_use_ - info.bytes();
    if (!hooks_.memory) {
        return;
    }
    const std::pair<sotto_memory_kind, std::uint64_t> parts[] = {
        {SOTTO_MEMORY_WEIGHTS, info.weights},
        {SOTTO_MEMORY_KV, info.kv},
        {SOTTO_MEMORY_COMPUTE, info.compute},
    };
    for (const auto& [kind, bytes] : parts) {
        if (bytes != 0) {
            hooks_.memory->changed(
                hooks_.memory->self,
                kind,
                str(device_),
                str(entry.asked.id),
                sign * static_cast<std::int64_t>(bytes)
            );
        }
    }
}

std::int32_t ModelLoader::on_progress(void* context, float progress) {
    constexpr float kStep = 0.01F;
    auto& watch = *static_cast<Watch*>(context);
    if (watch.loader->gives_up(*watch.entry)) {
        return 1;
    }
    if (progress >= watch.told + kStep) {
        watch.told = progress;
        std::unique_ptr<LoaderNote> note(new (std::nothrow) LoaderNote); // no exception may leave a callback
        if (note != nullptr) {
            note->entry = watch.entry;
            note->progress = progress;
            watch.loader->tell(std::move(note));
        }
    }
    return 0;
}

} // namespace sotto
