// The plugin without a Sotto library that it can use: Unity draws on, and a reason is given.
#include <doctest/doctest.h>

#include "nvidia_double.hpp"
#include "shim.hpp"
#include "vulkan_renderer.hpp"

using namespace test;

TEST_CASE("without the library engines are refused, and Unity's device is what it would be") {
    const auto& shim = Shim::it();
    Nvidia::fresh();
    const Loaded loaded;
    const VulkanUnity unity(Nvidia::loader());
    CHECK(Nvidia::it().devices == 1);
    CHECK(Nvidia::it().extensions.empty());
    const auto info = shim.describe();
    CHECK(info.state == SOTTO_UNITY_STATE_READY);
    CHECK(info.cig_prepared == 0);
    CHECK_MESSAGE(holds(text_of(info.reason), SOTTO_EXPECTED), text_of(info.reason));
    sotto_gpu_sharing sharing = SOTTO_GPU_SHARING_CIG;
    auto* const engine = reinterpret_cast<sotto_engine*>(&sharing); // of a library that is not there
    for (int round = 0; round < 2; ++round) {
        CHECK(shim.attach(engine, SOTTO_GPU_SHARING_NONE, &sharing) == SOTTO_ERROR_UNSUPPORTED);
        CHECK(sharing == SOTTO_GPU_SHARING_NONE);
        CHECK_MESSAGE(holds(shim.error(), SOTTO_EXPECTED), shim.error());
    }
    CHECK(shim.detach(engine) == SOTTO_ERROR_STATE);
}
