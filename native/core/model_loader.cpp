#include "core/model_loader.hpp"

#include <new>
#include <utility>

#include "base/attempt.hpp"
#include "core/budget/fit.hpp"
#include "core/budget/units.hpp"
#include "platform/dynlib.hpp"
#include "platform/thread.hpp"
#include "text/json_reader.hpp"

namespace sotto {
namespace {

constexpr std::string_view kHouseId = "sotto/house";
constexpr std::string_view kHouseFile = "house.gguf";
constexpr const char* kProcessor = "cpu";

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

sotto_str str(const std::string& text) noexcept {
    return {text.data(), text.size()};
}

} // namespace

ModelLoader::ModelLoader(
    const Hooks& hooks,
    const Settings& settings,
    std::string device,
    Modules& modules,
    Card& card,
    Ledger& ledger,
    Signal& told
)
    : hooks_(hooks), device_(std::move(device)), settings_(settings), modules_(modules), card_(card),
      ledger_(ledger), told_(told), thread_([this] { work(); }) {}

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
    note->fit = {};
    const auto body = [&] {
        if (entry.model != nullptr) {
            free(entry);
            note->kind = LoaderNote::Kind::freed;
        } else {
            const Zone zone(hooks_, "sotto load model");
            open(entry, *note);
        }
    };
    const auto failed = [&](sotto_status status, const char* why) {
        entry.claims = {};
        note->kind = LoaderNote::Kind::failed;
        note->failure.set(status, why);
    };
    const auto shape = entry.shape;
    attempt(body, failed);
    if (note->failure.status == SOTTO_ERROR_DEVICE) {
        const auto on_the_processor = [&] {
            card_.lose(note->failure.why);
            entry.shape = shape;
            body();
        };
        attempt(on_the_processor, failed);
    }
    tell(std::move(note));
}

void ModelLoader::free(ModelEntry& entry) noexcept {
    {
        const gpu::CudaScope scope(entry.on_card.get()); // where that fails, it goes all the same
        entry.model.reset();
    }
    entry.on_card.reset();
    entry.shares = entry.on_device = false;
    entry.claims = {};
}

sotto_model_source
ModelLoader::source_of(const ModelEntry& entry, const std::string& path, Watch& watch) const {
    return {
        .struct_size = sizeof(sotto_model_source),
        .flags = entry.shape.flags,
        .path = str(path),
        .options = str(entry.asked.options),
        .device = str(watch.device),
        .files = hooks_.files ? &*hooks_.files : nullptr,
        .progress = on_progress,
        .context = &watch,
        .streams = entry.shape.streams,
        .tokens = entry.shape.tokens,
        .layers = entry.shape.layers,
        .reserved = 0,
    };
}

void ModelLoader::open(ModelEntry& entry, LoaderNote& note) {
    const auto& asked = entry.asked;
    if (!asked.options.empty()) {
        parse_object(asked.options, "options");
    }
    const auto place = card_.place();
    const bool on_shared = !place.device.empty() && place.context == nullptr;
    const auto device = !place.device.empty() ? place.device : card_.is_lost() ? kProcessor : device_;
    const Backend& backend = modules_.find(asked.backend, device);
    const auto path = path_of(asked);
    const auto context = backend.uses(SOTTO_BACKEND_CUDA) ? place.context : nullptr;
    const gpu::CudaScope scope(context.get());
    scope.check();
    Watch watch{this, &entry, context != nullptr ? "cuda" : device};
    const bool plans = asked.what == Asked::What::plan;
    if (plans || ledger_.ceiling() != 0) {
        entry.shape.flags |= SOTTO_SOURCE_OWN_MEMORY; // mapped files would be in nobody's account
        const auto room = plans && asked.budget != 0 ? asked.budget : ledger_.free();
        note.fit = find_fit(entry, backend, source_of(entry, path, watch), room);
        if (plans || !note.fit.fits) {
            note.kind = plans ? LoaderNote::Kind::planned : LoaderNote::Kind::lacks;
            return;
        }
        const auto shape = std::exchange(entry.shape, note.fit.last().shape);
        try {
            claim(entry, note.fit.last().info);
        } catch (const Error&) { // there is less room than there was a moment ago
            entry.shape = shape;
            note.fit.fits = false;
            note.kind = LoaderNote::Kind::lacks;
            return;
        }
    }
    if (gives_up(entry)) {
        throw Error(SOTTO_ERROR_CANCELLED, "loading was cancelled");
    }
    auto model = std::make_unique<Model>(backend, source_of(entry, path, watch));
    claim(entry, model->info());
    entry.on_card = context;
    entry.shares = context != nullptr || (on_shared && is_for_devices(backend.name()));
    entry.on_device = watch.device != kProcessor && (context != nullptr || is_for_devices(backend.name()));
    note.model = std::move(model);
    note.kind = LoaderNote::Kind::loaded;
}

Fit ModelLoader::find_fit(
    const ModelEntry& entry, const Backend& backend, sotto_model_source source, std::uint64_t room
) const {
    source.progress = [](void* context, float) -> std::int32_t { // how far that got is of no interest
        const auto& watch = *static_cast<Watch*>(context);
        return watch.loader->gives_up(*watch.entry) ? 1 : 0;
    };
    return fit(entry.shape, entry.smaller, room, [&](const Shape& shape) {
        source.flags = shape.flags;
        source.streams = shape.streams;
        source.tokens = shape.tokens;
        source.layers = shape.layers;
        return measure(backend, source);
    });
}

// All of it or nothing, so that others find room meanwhile.
void ModelLoader::claim(ModelEntry& entry, const ModelInfo& info) {
    const auto has = entry.bytes();
    if (info.bytes() > has && info.bytes() - has > ledger_.free()) {
        throw Error(
            SOTTO_ERROR_BUDGET,
            entry.asked.id + " needs " + megabytes(info.bytes()) + "; " + megabytes(ledger_.used() - has) +
                " of the budget of " + megabytes(ledger_.ceiling()) +
                " are taken. Raise vram_budget, unload a model, or ask for less in options"
        );
    }
    Claims claims = std::move(entry.claims);
    const auto take = [&](Ledger::Claim& part, Use use, std::uint64_t bytes) {
        if (part.bytes() == 0) {
            part = ledger_.take(use, entry.asked.id, bytes);
        } else {
            part.settle(bytes);
        }
    };
    take(claims.weights, Use::weights, info.weights);
    take(claims.kv, Use::kv, info.kv);
    take(claims.compute, Use::compute, info.compute);
    entry.claims = std::move(claims);
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
