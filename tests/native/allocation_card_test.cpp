// Fails (nearly) each allocation in turn while a GPU is shared: it is attached or not, and the engine
// continues.
#include <string>

#include <doctest/doctest.h>

#include "support/card.hpp"
#include "support/short_of_memory.hpp"

using namespace test;

namespace {

sotto_status ask(sotto_engine* engine) {
    const auto body = chat("npc", "a question that is too long to be kept in place");
    auto desc = SOTTO_INIT(sotto_request_desc);
    desc.op = SOTTO_OP_CHAT;
    desc.body = str(body);
    desc.flags = SOTTO_REQUEST_PRIVATE;
    sotto_request request = 0;
    const auto submitted = call([&] { return sotto_engine_submit(engine, &desc, &request); });
    std::string text;
    return outcome(engine, submitted, request, text);
}

// Attaches, uses and detaches a GPU while allocation `fails` fails. Returns false once there are fewer
// allocations.
bool share_with(const CudaDouble& cuda, const sotto_gpu_desc& gpu, long fails) {
    CAPTURE(fails);
    Balance balance;
    auto desc = plain_desc();
    desc.log = &balance.quiet;
    desc.memory = &balance.report;
    auto backend = scripted();
    backend.uses = SOTTO_BACKEND_CUDA;
    sotto_engine* engine = nullptr;
    REQUIRE(sotto_engine_create(&desc, &engine) == SOTTO_OK);
    REQUIRE(sotto_engine_add_backend(engine, &backend) == SOTTO_OK);
    REQUIRE(load(engine, "npc", R"({"weights": 5, "prompt_tokens": 1})") == SOTTO_OK);
    const auto attach = [&](sotto_gpu_sharing& rung) {
        return call([&] { return sotto_engine_attach_gpu(engine, &gpu, &rung); });
    };
    g_left = fails;
    sotto_gpu_sharing rung = SOTTO_GPU_SHARING_NONE;
    const auto attached = attach(rung);
    const auto asked = ask(engine);
    const auto detached = call([&] { return sotto_engine_detach_gpu(engine); });
    const bool reached = g_left.load() < 0;
    g_left = kNever;
    CHECK(allowed(attached));
    CHECK((attached == SOTTO_OK) == (rung != SOTTO_GPU_SHARING_NONE));
    CHECK(detached == (attached == SOTTO_OK ? SOTTO_OK : SOTTO_ERROR_STATE));
    CHECK(allowed(asked));
    cuda.check_clean(); // the queue may be destroyed
    CHECK(ask(engine) == SOTTO_OK);
    CHECK(attach(rung) == SOTTO_OK);
    CHECK(rung == SOTTO_GPU_SHARING_CIG);
    CHECK(ask(engine) == SOTTO_OK);
    CHECK(sotto_engine_detach_gpu(engine) == SOTTO_OK);
    CHECK(unload(engine, "npc") == SOTTO_OK);
    sotto_engine_destroy(engine);
    CHECK(balance.is_even());
    cuda.check_clean();
    return reached;
}

} // namespace

TEST_CASE("wherever an allocation fails, a GPU is either attached or not, and detaches completely") {
    const Exempt exempt;
    const CudaDouble cuda;
    auto d3d12 = SOTTO_INIT(sotto_gpu_d3d12);
    d3d12.device = VulkanDouble::handle(41);
    d3d12.queue = VulkanDouble::handle(40);
    d3d12.luid = luid(1);
    auto gpu = SOTTO_INIT(sotto_gpu_desc);
    gpu.d3d12 = &d3d12;
    for (const long run : {1, 3}) {
        g_run = run;
        long fails = 0;
        while (share_with(cuda, gpu, fails)) {
            fails += stride(run);
        }
        MESSAGE("memory ran out ", run, " times at points of ", fails);
        CHECK(fails > 100);
    }
}
