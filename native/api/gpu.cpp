// Implements sotto/gpu.h and the calls of sotto/engine.h that attach and detach a GPU.
#include "api/gpu.hpp"
#include "api/boundary.hpp"
#include "api/handle.hpp"
#include "api/lent.hpp"

using namespace sotto::api;
using sotto::Error;

namespace sotto::api {

gpu::Renderer read_gpu(const sotto_gpu_desc& requested) {
    gpu::Renderer renderer;
    renderer.least = requested.min_sharing;
    if (requested.min_sharing < SOTTO_GPU_SHARING_NONE || requested.min_sharing > SOTTO_GPU_SHARING_CIG) {
        throw sotto::invalid_argument(
            "gpu->min_sharing", std::to_string(requested.min_sharing), "one of the SOTTO_GPU_SHARING_ values"
        );
    }
    const int given =
        (requested.d3d12 != nullptr) + (requested.vulkan != nullptr) + (requested.cuda != nullptr);
    if (given != 1) {
        throw sotto::invalid_argument(
            "gpu", std::to_string(given) + " APIs", "exactly one of gpu->d3d12, gpu->vulkan and gpu->cuda"
        );
    }
    if (requested.d3d12 != nullptr) {
        const auto d3d12 = read(requested.d3d12, "gpu->d3d12");
        require(d3d12.device, "d3d12->device");
        require(d3d12.queue, "d3d12->queue");
        renderer.with = d3d12;
    } else if (requested.vulkan != nullptr) {
        const auto vulkan = read(requested.vulkan, "gpu->vulkan");
        require(vulkan.instance, "vulkan->instance");
        require(vulkan.physical_device, "vulkan->physical_device");
        require(vulkan.device, "vulkan->device");
        require(vulkan.queue, "vulkan->queue");
        renderer.with = vulkan;
    } else {
        const auto cuda = read(requested.cuda, "gpu->cuda");
        require(cuda.context, "cuda->context");
        renderer.with = cuda;
    }
    return renderer;
}

} // namespace sotto::api

sotto_status sotto_gpu_query(uint32_t index, sotto_gpu_info* info) {
    return guarded([&] {
        const auto room = caller_size(info, "info");
        auto& kept = lent().card;
        write(info, sotto_gpu_info{}, room);
        kept = sotto::query_card(index);
        if (!kept.why.empty()) {
            throw Error(SOTTO_ERROR_NOT_FOUND, kept.why);
        }
        const auto& card = kept.adapter;
        sotto_gpu_info out{};
        out.cig_d3d12 = card.cig_d3d12_why.empty();
        out.cig_vulkan = card.cig_vulkan_why.empty();
        out.capability = card.capability;
        out.name = str(card.name);
        out.uuid = str(card.uuid);
        out.luid = card.luid;
        out.vram = card.vram;
        out.driver = str(kept.driver);
        out.cig_d3d12_reason = str(card.cig_d3d12_why);
        out.cig_vulkan_reason = str(card.cig_vulkan_why);
        write(info, out, room);
        return SOTTO_OK;
    });
}

sotto_status sotto_gpu_query_vulkan(const sotto_gpu_vulkan* vulkan, sotto_gpu_vulkan_needs* needs) {
    return guarded([&] {
        const auto room = caller_size(needs, "needs");
        auto& kept = lent().needs;
        write(needs, sotto_gpu_vulkan_needs{}, room);
        kept = sotto::query_vulkan(read(vulkan, "vulkan"));
        sotto_gpu_vulkan_needs out{};
        out.extension_count = kept.extension != nullptr ? 1 : 0;
        out.extensions = kept.extension;
        out.next = kept.next;
        out.reason = str(kept.why);
        write(needs, out, room);
        return SOTTO_OK;
    });
}

sotto_status
sotto_engine_attach_gpu(sotto_engine* engine, const sotto_gpu_desc* gpu, sotto_gpu_sharing* rung) {
    return guarded([&] {
        if (rung != nullptr) {
            *rung = SOTTO_GPU_SHARING_NONE;
        }
        const Pin pinned(engine);
        const auto taken = pinned->attach_gpu(read_gpu(read(gpu, "gpu")));
        if (rung != nullptr) {
            *rung = taken;
        }
        return SOTTO_OK;
    });
}

sotto_status sotto_engine_detach_gpu(sotto_engine* engine) {
    return guarded([&] {
        const Pin pinned(engine);
        return pinned->detach_gpu() ? SOTTO_OK
                                    : fail(
                                          SOTTO_ERROR_STATE,
                                          "the engine shares no device: call sotto_engine_attach_gpu() first"
                                      );
    });
}
