// Implements sotto/engine.h: unpacks arguments, calls the core, packs results. Decisions belong in core/.
#include <algorithm>
#include <cmath>
#include <filesystem>

#include "api/boundary.hpp"
#include "api/gpu.hpp"
#include "api/guard.hpp"
#include "api/handle.hpp"
#include "base/path.hpp"
#include "core/model/auto_device.hpp"
#include "device/device_spec.hpp"

using namespace sotto::api;
using sotto::Error;

namespace {

sotto_mode checked_mode(sotto_mode mode, const char* name) {
    if (mode < SOTTO_MODE_BALANCE || mode > SOTTO_MODE_PRIORITIZE_GRAPHICS) {
        throw sotto::invalid_argument(name, std::to_string(mode), "one of the SOTTO_MODE_ values");
    }
    return mode;
}

// Checks the name's form only. Loading a model checks that the device exists.
std::string checked_device(std::string_view device) {
    if (device.empty()) {
        return "cpu";
    }
    if (device.substr(0, 5) == "metal") {
        throw Error(
            SOTTO_ERROR_UNSUPPORTED,
            sotto::invalid("desc->device", device, "\"auto\", \"cpu\", \"vulkan\" or \"cuda\" in this build")
        );
    }
    constexpr std::string_view kKinds[] = {"auto", "cpu", "vulkan", "cuda"};
    const auto spec = sotto::parse_device(device);
    if (!spec || std::find(std::begin(kKinds), std::end(kKinds), spec->kind) == std::end(kKinds)) {
        throw sotto::invalid_argument(
            "desc->device",
            device,
            "\"auto\", \"cpu\", \"vulkan\", \"vulkan0\" or \"vulkan:\" and a UUID, or the same with \"cuda\""
        );
    }
    return std::string(device);
}

std::uint32_t checked_trace(std::uint32_t slices) {
    constexpr std::uint32_t kMost = 1 << 20; // entries: 48 MiB of memory
    if (slices > kMost) {
        throw sotto::invalid_argument(
            "desc->trace_capacity", std::to_string(slices), "at most " + std::to_string(kMost)
        );
    }
    return slices;
}

sotto_engine_flags checked_flags(sotto_engine_flags flags) {
    constexpr sotto_engine_flags kKnown = SOTTO_ENGINE_DETERMINISTIC | SOTTO_ENGINE_GATES;
    if ((flags & ~kKnown) != 0) {
        throw Error(
            SOTTO_ERROR_UNSUPPORTED,
            sotto::invalid("desc->flags", std::to_string(flags), "only bits of " + std::to_string(kKnown))
        );
    }
    return flags;
}

std::uint32_t checked_most(std::uint32_t requests) {
    constexpr auto kMost = sotto::RequestTable::kMaxRequests;
    if (requests > kMost) {
        throw sotto::invalid_argument(
            "desc->max_requests", std::to_string(requests), "at most " + std::to_string(kMost)
        );
    }
    return requests;
}

std::filesystem::path checked_folder(std::string_view folder, const char* name) {
    auto path = sotto::native_path(folder);
    std::error_code failed;
    if (!folder.empty() && !std::filesystem::is_directory(path, failed)) {
        throw sotto::invalid_argument(name, folder, "an existing folder; create it first");
    }
    return path;
}

sotto::CoreSet read_cores(const sotto_threads& threads) {
    sotto::CoreSet cores;
    if (threads.affinity_words > cores.words.size()) {
        throw Error(
            SOTTO_ERROR_ARGUMENT,
            "invalid desc->threads->affinity_words '" + std::to_string(threads.affinity_words) +
                "': expected at most " + std::to_string(cores.words.size())
        );
    }
    if (threads.affinity_words > 0) {
        require(threads.affinity, "desc->threads->affinity");
        std::copy_n(threads.affinity, threads.affinity_words, cores.words.begin());
    }
    return cores;
}

sotto::Hooks read_hooks(const sotto_engine_desc& desc) {
    sotto::Hooks hooks;
    if (desc.log != nullptr) {
        const auto log = read(desc.log, "desc->log");
        require(log.write, "desc->log->write");
        hooks.log = sotto::Log(log, &hooks.outlives->gate);
    }
    if (desc.files != nullptr) {
        hooks.files = read(desc.files, "desc->files");
        require(hooks.files->open, "desc->files->open");
        require(hooks.files->read, "desc->files->read");
        require(hooks.files->close, "desc->files->close");
    }
    if (desc.memory != nullptr) {
        hooks.memory = read(desc.memory, "desc->memory");
        require(hooks.memory->changed, "desc->memory->changed");
    }
    if (desc.profiler != nullptr) {
        hooks.profiler = read(desc.profiler, "desc->profiler");
        require(hooks.profiler->zone_begin, "desc->profiler->zone_begin");
        require(hooks.profiler->zone_end, "desc->profiler->zone_end");
    }
    if (desc.threads != nullptr) {
        hooks.threads = read(desc.threads, "desc->threads");
        if (const auto name = utf8(hooks.threads.name, "desc->threads->name"); !name.empty()) {
            hooks.thread_name = name;
        }
        hooks.cores = read_cores(hooks.threads);
        hooks.threads.name = {}; // the name points to the caller's memory, and was copied above
        hooks.threads.affinity = nullptr;
    }
    return hooks;
}

} // namespace

namespace sotto::api {

float checked_tps(float tps, const char* name) {
    if (!std::isfinite(tps) || tps < 0) {
        throw sotto::invalid_argument(name, std::to_string(tps), "0 or a positive number");
    }
    return tps;
}

} // namespace sotto::api

sotto_status sotto_engine_create(const sotto_engine_desc* desc, sotto_engine** engine) {
    return guarded([&] {
        auto& out = deref(engine, "engine");
        out = nullptr;
        const auto requested = desc != nullptr ? read(desc, "desc") : sotto_engine_desc{};
        const auto folder = utf8(requested.module_dir, "desc->module_dir");
        sotto::EngineOptions options;
        options.module_dir = sotto::native_path(folder);
        options.device = checked_device(utf8(requested.device, "desc->device"));
        options.mode = checked_mode(requested.mode, "desc->mode");
        options.vram_budget = requested.vram_budget;
        options.target_tps = checked_tps(requested.target_tps, "desc->target_tps");
        options.trace = checked_trace(requested.trace_capacity);
        options.hooks = read_hooks(requested);
        options.flags = checked_flags(requested.flags);
        options.max_requests = checked_most(requested.max_requests);
        options.record = utf8(requested.record_path, "desc->record_path");
        options.kv_spill_dir =
            checked_folder(utf8(requested.kv_spill_dir, "desc->kv_spill_dir"), "desc->kv_spill_dir");
        if (requested.gpu != nullptr) {
            options.renderer = read_gpu(read(requested.gpu, "desc->gpu"));
        }
        if (requested.guard != nullptr) {
            options.guard = guard_of(requested.guard);
        }
        options.kv_spill_memory =
            requested.kv_spill_memory != 0 ? requested.kv_spill_memory : options.kv_spill_memory;
        out = open_handle(std::make_unique<sotto::Engine>(sotto::with_device(std::move(options))));
        return SOTTO_OK;
    });
}

void sotto_engine_destroy(sotto_engine* engine) {
    close_handle(engine);
}

sotto_status sotto_engine_set_mode(sotto_engine* engine, sotto_mode mode) {
    return guarded([&] {
        const Pin pinned(engine);
        pinned->set_mode(checked_mode(mode, "mode"));
        return SOTTO_OK;
    });
}

sotto_status sotto_engine_set_vram_budget(sotto_engine* engine, uint64_t bytes) {
    return guarded([&] {
        const Pin pinned(engine);
        pinned->set_vram_budget(bytes);
        return SOTTO_OK;
    });
}

sotto_status sotto_engine_set_target_tps(sotto_engine* engine, float tps) {
    return guarded([&] {
        const Pin pinned(engine);
        pinned->set_target_tps(checked_tps(tps, "tps"));
        return SOTTO_OK;
    });
}

sotto_status sotto_engine_describe(sotto_engine* engine, sotto_str* json) {
    return guarded([&] {
        auto& out = deref(json, "json");
        out = {};
        out = lend(Pin(engine)->describe());
        return SOTTO_OK;
    });
}

sotto_status sotto_engine_add_backend(sotto_engine* engine, const sotto_backend* backend) {
    return guarded([&] {
        const Pin pinned(engine);
        pinned->add_backend(read(backend, "backend"));
        return SOTTO_OK;
    });
}
