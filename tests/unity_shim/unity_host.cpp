// A double of Unity as a library, for C#: it loads the plugin and draws with Vulkan.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdlib>
#include <memory>

#include "shim.hpp"
#include "vulkan_renderer.hpp"

using namespace test;

namespace {

// What fails here ends the process.
struct Asserts {
    Asserts() {
        context.setAsDefaultForAssertsOutOfTestCases();
        context.setAssertHandler([](const doctest::AssertData& data) {
            if (data.m_failed) {
                std::fprintf(stderr, "%s:%d: %s\n", data.m_file, data.m_line, data.m_expr);
                std::abort();
            }
        });
    }
    doctest::Context context;
};

Asserts g_asserts;
std::unique_ptr<VulkanUnity> g_unity;

} // namespace

extern "C" {

SOTTO_EXPORT void unity_host_load() {
    Unity::fresh();
    Shim::it().load(Unity::interfaces());
}

SOTTO_EXPORT void unity_host_start() {
    g_unity = std::make_unique<VulkanUnity>();
}

SOTTO_EXPORT void unity_host_restart() {
    g_unity->restart_device();
}

SOTTO_EXPORT void unity_host_stop() {
    g_unity.reset();
}

SOTTO_EXPORT void unity_host_unload() {
    Shim::it().unload();
}

} // extern "C"
