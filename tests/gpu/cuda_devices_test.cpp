// What the CUDA module says of this machine's cards, or why there are none for it: never a crash.
//
// SOTTO_TEST_WHY is what the reason must begin with. Without it, devices are expected.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <cstdlib>
#include <dlfcn.h>

#include <doctest/doctest.h>

#include "devices/cuda/runtime.hpp"
#include "devices/device.hpp"

using namespace sotto::llama;

int sotto_least_capability() {
    return 75; // no kernels are compiled for this test
}

namespace {

// Whether this machine has what is said to be missing.
bool has(const std::string& missing) {
    const bool driver = missing.rfind("no CUDA driver was found", 0) == 0;
    const bool blas = missing.rfind("cuBLAS is missing", 0) == 0;
    return (driver && dlopen("libcuda.so.1", RTLD_LAZY) != nullptr) ||
           (blas && dlopen(SOTTO_BLAS_NAME, RTLD_LAZY) != nullptr);
}

} // namespace

TEST_CASE("devices, or the reason") {
    const char* expected = std::getenv("SOTTO_TEST_WHY");
    if (expected != nullptr && has(expected)) {
        MESSAGE("not on this machine: ", expected);
        return;
    }
    for (int time = 0; time < 2; ++time) { // what is opened once is told twice
        try {
            const auto devices = find_devices();
            CHECK(expected == nullptr);
            REQUIRE(!devices.empty());
            for (const auto& device : devices) {
                MESSAGE(
                    device.name, ", ", device.type, ", ", device.uuid, ", ", device.memory, " ", device.unfit
                );
                CHECK(device.uuid.size() == 36);
                CHECK(device.memory > 1 << 28);
            }
            CHECK(choose_device(devices, "cuda0") == &devices[0]);
            CHECK(choose_device(devices, "cuda:0") == &devices[0]);
            CHECK(choose_device(devices, "cuda:" + devices[0].uuid) == &devices[0]);
            CHECK_THROWS_AS(choose_device(devices, "cuda99"), Error);
        } catch (const Error& error) {
            const std::string why = error.what();
            MESSAGE(why);
            CHECK(error.status() == SOTTO_ERROR_UNSUPPORTED);
            REQUIRE(expected != nullptr);
            CHECK(why.rfind(expected, 0) == 0);
        }
    }
}
