#include "api/handle.hpp"

namespace sotto::api {
namespace {

EngineTable g_engines;

} // namespace

sotto_engine* open_handle(std::unique_ptr<Engine> engine) {
    return reinterpret_cast<sotto_engine*>(g_engines.open(std::move(engine)));
}

void close_handle(sotto_engine* handle) noexcept {
    const auto end_calls = [](Engine& engine) noexcept { engine.close(); };
    if (auto engine = g_engines.close(reinterpret_cast<std::uintptr_t>(handle), end_calls)) {
        Engine::end(std::move(engine));
    }
}

Pin::Pin(sotto_engine* handle) : EngineTable::Pin(g_engines, reinterpret_cast<std::uintptr_t>(handle)) {}

} // namespace sotto::api
