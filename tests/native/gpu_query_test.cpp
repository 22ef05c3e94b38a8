// Queries about GPUs without a model, and refused renderers.
#include <functional>
#include <string>

#include <doctest/doctest.h>

#include "support/card.hpp"
#include "support/game.hpp"
#include "support/handed.hpp"
#include "text/json_reader.hpp"

using namespace test;

TEST_CASE("a GPU passed at creation is attached, or the creation is refused") {
    const CudaDouble cuda;
    Handed handed;
    auto desc = plain_desc();
    desc.gpu = &handed.gpu;
    {
        const Game game(desc);
        CHECK(shown(game)["rung"] == "cpu");
        sotto_gpu_sharing rung = 7;
        CHECK(sotto_engine_attach_gpu(game.engine(), &handed.gpu, &rung) == SOTTO_ERROR_STATE);
        CHECK(rung == SOTTO_GPU_SHARING_NONE);
        CHECK(last_error() == "the engine already shares a device: call sotto_engine_detach_gpu() first");
    }
    handed.gpu.min_sharing = SOTTO_GPU_SHARING_VULKAN;
    sotto_engine* engine = nullptr;
    CHECK(sotto_engine_create(&desc, &engine) == SOTTO_ERROR_UNSUPPORTED);
    CHECK(engine == nullptr);
    CHECK(
        last_error().find(
            "invalid gpu->min_sharing 'vulkan': expected at most 'cpu' here; cig: no backend"
        ) == 0
    );
    tell_rung("none", last_error());
}

TEST_CASE("anything but exactly one complete renderer is refused with the reason") {
    const CudaDouble cuda;
    const VulkanDouble doubled;
    const Game game;
    const auto refused = [&](const std::function<void(Handed&)>& change, const std::string& why) {
        Handed handed;
        change(handed);
        CHECK(sotto_engine_attach_gpu(game.engine(), &handed.gpu, nullptr) == SOTTO_ERROR_ARGUMENT);
        CHECK(last_error() == why);
    };
    auto vulkan = VulkanDouble::renderer();
    auto cuda_desc = SOTTO_INIT(sotto_gpu_cuda);
    const std::string one = " APIs': expected exactly one of gpu->d3d12, gpu->vulkan and gpu->cuda";
    refused([](Handed& h) { h.gpu.d3d12 = nullptr; }, "invalid gpu '0" + one);
    refused([&](Handed& h) { h.gpu.vulkan = &vulkan; }, "invalid gpu '2" + one);
    refused(
        [](Handed& h) { h.gpu.min_sharing = 5; },
        "invalid gpu->min_sharing '5': expected one of the SOTTO_GPU_SHARING_ values"
    );
    refused(
        [](Handed& h) { h.gpu.struct_size = 0; }, "invalid gpu->struct_size '0': expected sizeof the struct"
    );
    refused(
        [](Handed& h) { h.d3d12.struct_size = 0; },
        "invalid gpu->d3d12->struct_size '0': expected sizeof the struct"
    );
    refused([](Handed& h) { h.d3d12.queue = nullptr; }, "missing d3d12->queue: expected a pointer, not NULL");
    refused(
        [](Handed& h) { h.d3d12.device = nullptr; }, "missing d3d12->device: expected a pointer, not NULL"
    );
    refused(
        [&](Handed& h) {
            h.gpu.d3d12 = nullptr;
            h.gpu.cuda = &cuda_desc;
        },
        "missing cuda->context: expected a pointer, not NULL"
    );
    vulkan.device = nullptr;
    refused(
        [&](Handed& h) {
            h.gpu.d3d12 = nullptr;
            h.gpu.vulkan = &vulkan;
        },
        "missing vulkan->device: expected a pointer, not NULL"
    );
    CHECK(shown(game).is_null());
    cuda.check_clean();
}

TEST_CASE("GPUs can be listed before an engine exists, with their abilities and reasons") {
    const CudaDouble cuda;
    auto info = SOTTO_INIT(sotto_gpu_info);
    REQUIRE(sotto_gpu_query(0, &info) == SOTTO_OK);
    CHECK(text_of(info.name) == "Double 0");
    CHECK(info.capability == 89);
    CHECK(info.vram == std::uint64_t{8} << 30);
    CHECK(info.luid == luid(0));
    CHECK(info.cig_d3d12 == 0);
    CHECK(
        text_of(info.cig_d3d12_reason).find("the driver does not support CiG here (attribute 135 is 0)") == 0
    );
    CHECK(
        text_of(info.cig_vulkan_reason).find("the driver does not support CiG here (attribute 138 is 0)") == 0
    );
    REQUIRE(sotto_gpu_query(1, &info) == SOTTO_OK);
    CHECK(text_of(info.uuid) == "10111213-1415-1617-1819-1a1b1c1d1e1f");
    CHECK(text_of(info.driver) == "13.0");
    CHECK(info.cig_d3d12 == 1);
    CHECK(info.cig_vulkan == 1);
    CHECK(info.cig_vulkan_reason.size == 0);
    CHECK(sotto_gpu_query(2, &info) == SOTTO_ERROR_NOT_FOUND);
    CHECK(test::last_error() == "device 2 does not exist: the CUDA driver reports 2 devices");
    CHECK(info.name.size == 0);
    cuda.fail("cuInit", 1, 999);
    CHECK(sotto_gpu_query(0, &info) == SOTTO_ERROR_NOT_FOUND);
    CHECK(test::last_error() == "cuInit: CUDA_ERROR_UNKNOWN");
}

TEST_CASE("CiG requires a driver, a version of CUDA, a generation of GPUs, and for Direct3D 12 Windows") {
    const CudaDouble cuda;
    const auto supported = [&](long driver, long version, long capability, bool d3d12) {
        cuda.set("driver", driver);
        cuda.set("version", version);
        cuda.set("capability", capability);
        auto info = SOTTO_INIT(sotto_gpu_info);
        REQUIRE(sotto_gpu_query(1, &info) == SOTTO_OK);
        CHECK((info.cig_d3d12 == 0) == (info.cig_d3d12_reason.size != 0));
        CHECK((info.cig_vulkan == 0) == (info.cig_vulkan_reason.size != 0));
        return (d3d12 ? info.cig_d3d12 : info.cig_vulkan) != 0;
    };
    for (int which = 0; which < 8; ++which) {
        CAPTURE(which);
        const bool all = which == 7;
        const long driver = (which & 1) != 0 ? 570 : 569;
        const long capability = (which & 2) != 0 ? 89 : 87;
        CHECK(supported(driver, (which & 4) != 0 ? 12080 : 12070, capability, true) == all);
        CHECK(supported(driver, (which & 4) != 0 ? 12090 : 12080, capability, false) == all);
    }
    cuda.set("luids", 0);
    CHECK(!supported(570, 12090, 89, true));
    CHECK(supported(570, 12090, 89, false));
    auto info = SOTTO_INIT(sotto_gpu_info);
    cuda.set("driver", 565);
    cuda.set("version", 12070);
    cuda.set("capability", 75);
    REQUIRE(sotto_gpu_query(1, &info) == SOTTO_OK);
    CHECK(
        text_of(info.cig_d3d12_reason) ==
        "the GPU has no LUID: Direct3D 12 exists on Windows only; the NVIDIA driver is 565.88; the driver "
        "supports CUDA 12.7; the GPU has compute capability 7.5; CiG with Direct3D 12 requires driver 570 or "
        "newer, CUDA 12.8 or newer, compute capability 8.9 (Ada, RTX 40) or newer, and hardware-accelerated "
        "GPU scheduling switched on in Windows"
    );
}

TEST_CASE("a Vulkan renderer learns which extensions its device needs") {
    const VulkanDouble doubled;
    auto vulkan = VulkanDouble::renderer();
    vulkan.device = vulkan.queue = nullptr; // not created yet
    auto needs = SOTTO_INIT(sotto_gpu_vulkan_needs);
    REQUIRE(sotto_gpu_query_vulkan(&vulkan, &needs) == SOTTO_OK);
    REQUIRE(needs.extension_count == 1);
    CHECK(std::string(needs.extensions[0]) == "VK_NV_external_compute_queue");
    const auto& device = *static_cast<const sotto::gpu::vk::ExternalDeviceInfo*>(needs.next);
    CHECK(device.type == sotto::gpu::vk::kExternalDeviceInfo);
    CHECK(device.next == nullptr);
    CHECK(device.reserved_queues == 1);
    VulkanDouble::it().extension = false;
    CHECK(sotto_gpu_query_vulkan(&vulkan, &needs) == SOTTO_OK);
    CHECK(needs.extension_count == 0);
    CHECK(needs.next == nullptr);
    CHECK(text_of(needs.reason).find("the Vulkan device has no VK_NV_external_compute_queue") == 0);
    vulkan.physical_device = vulkan.instance;
    CHECK(sotto_gpu_query_vulkan(&vulkan, &needs) == SOTTO_ERROR_ARGUMENT);
    CHECK(last_error() == "invalid vulkan->physical_device: expected a device of vulkan->instance");
}
