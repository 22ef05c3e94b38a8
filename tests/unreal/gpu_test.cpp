// The renderer's device reaches the library. The suite `vulkan` runs in a process with a Vulkan renderer.
#include <algorithm>

#include "DynamicRHI.h"
#include "SottoSettings.h"
#include "fixture.hpp"

using namespace fixture;

TEST_SUITE("vulkan") {
    TEST_CASE("the renderer's Vulkan device is shared") {
        reset();
        GetMutableDefault<USottoSettings>()->bShareGpu = true;
        REQUIRE(GDynamicRHI->GetInterfaceType() == ERHIInterfaceType::Vulkan);
        const std::vector<std::string>& asked = DoubleRhi::extensions();
        CHECK(std::count(asked.begin(), asked.end(), "VK_NV_external_compute_queue") == 1);
        CHECK_FALSE(DoubleRhi::asked_late());
        for (int i = 0; i < 3; ++i) {
            DoublePlay play;
            FSottoEngineHost& host = subsystem(play).GetHost();
            REQUIRE(
                double_run_until([&] { return host.Describe().Contains(TEXT("\"with\":\"vulkan\"")); }, 60)
            );
            const std::string described = utf8(host.Describe());
            CHECK(described.find("\"rung\":\"cpu\"") != std::string::npos); // no card of NVIDIA's here
            CHECK(described.find("{\"rung\":\"cig\",\"reason\":\"") != std::string::npos);
            Character marta(play.world(), TEXT("Marta"));
            marta.component->Say(TEXT("How much is stew?"));
            REQUIRE(double_run_until([&] { return marta.listener->HasEnded(); }));
            CHECK(marta.listener->Done.Num() == 1);
            if (i == 0) {
                MESSAGE("rung: unreal: cpu: " << described.substr(described.find("\"not_taken\""), 300));
            }
        }
    }
} // TEST_SUITE

TEST_CASE("a renderer without a queue to share is logged, and the game goes on") {
    reset();
    GetMutableDefault<USottoSettings>()->bShareGpu = true;
    DoubleTakeLog(ELogVerbosity::Log);
    DoublePlay play;
    CHECK(DoubleTakeLog(ELogVerbosity::Log)
              .Contains(TEXT(
                  "the graphics card is not shared: the renderer 'Null' has no queue to share: expected "
                  "Direct3D 12 or Vulkan"
              )));
    CHECK(subsystem(play).IsRunning());
    CHECK(DoubleRhi::extensions().empty()); // sharing was off when the renderer started
}
