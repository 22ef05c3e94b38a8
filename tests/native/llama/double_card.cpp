// A fake GPU for a module: ggml's device interface and Sotto's. Supports no operation, so that ggml computes
// on the CPU, and fails like CUDA on request of a test.
#include "double_card.hpp"
#include "devices/device.hpp"

#include <cstring>
#include <ggml-backend-impl.h>
#include <mutex>

extern "C" void ggml_log_internal(ggml_log_level level, const char* format, ...);

namespace sotto::llama {
namespace {

std::string fails; // name of the failing call
std::string with;  // error text of CUDA
bool is_lost = false;

// Fails in the way of ggml's CUDA code.
void may_fail(const char* where) {
    if (fails == where) {
        ggml_log_internal(GGML_LOG_LEVEL_ERROR, "CUDA error: %s\n", with.c_str());
        ggml_abort("ggml-cuda.cu", 0, "CUDA error");
    }
}

const char* name_of_backend(ggml_backend_t) {
    return "DOUBLE";
}
void free_backend(ggml_backend_t backend) {
    delete backend;
}
void synchronize(ggml_backend_t) {
    may_fail("synchronize");
}
ggml_status compute(ggml_backend_t, ggml_cgraph*) {
    return GGML_STATUS_SUCCESS;
}

const char* name_of(ggml_backend_dev_t) {
    return "DOUBLE0";
}
void tell_memory(ggml_backend_dev_t, std::size_t* free, std::size_t* total) {
    *free = *total = std::size_t{1} << 30;
}
enum ggml_backend_dev_type type_of(ggml_backend_dev_t) {
    return GGML_BACKEND_DEVICE_TYPE_GPU;
}
void tell_properties(ggml_backend_dev_t device, ggml_backend_dev_props* told) {
    *told = {};
    told->name = told->description = name_of(device);
    told->type = type_of(device);
    tell_memory(device, &told->memory_free, &told->memory_total);
}
ggml_backend_t make_backend(ggml_backend_dev_t device, const char*) {
    may_fail("init");
    ggml_backend_i functions = {};
    functions.get_name = name_of_backend;
    functions.free = free_backend;
    functions.synchronize = synchronize;
    functions.graph_compute = compute;
    static ggml_guid guid = {0xd0};
    return new ggml_backend{&guid, functions, device, nullptr};
}
ggml_backend_buffer_type_t buffers(ggml_backend_dev_t) {
    return ggml_backend_cpu_buffer_type();
}
bool computes(ggml_backend_dev_t, const ggml_tensor*) {
    return false;
}
bool reads(ggml_backend_dev_t, ggml_backend_buffer_type_t type) {
    return ggml_backend_buft_is_host(type);
}

const char* name_of_kind(ggml_backend_reg_t) {
    return "double";
}
std::size_t count(ggml_backend_reg_t) {
    return 1;
}
ggml_backend_dev_t device_of(ggml_backend_reg_t registry, std::size_t) {
    static auto& device = *new ggml_backend_device();
    auto& functions = device.iface;
    functions.get_name = functions.get_description = name_of;
    functions.get_memory = tell_memory;
    functions.get_type = type_of;
    functions.get_props = tell_properties;
    functions.init_backend = make_backend;
    functions.get_buffer_type = buffers;
    functions.supports_op = computes;
    functions.supports_buft = reads;
    device.reg = registry;
    return &device;
}

} // namespace

const char* const kDeviceKind = "double";
const sotto_backend_uses kDeviceUses = 0;

std::vector<Device> find_devices() {
    Device device;
    device.name = "Double";
    device.type = "discrete";
    device.uuid = "00010203-0405-0607-0809-0a0b0c0d0e0f";
    return {device};
}

const Device* current_device(const std::vector<Device>&) {
    return nullptr;
}

Loss loss_of(const Device&) {
    auto fate = std::make_shared<Fate>();
    fate->ask = []() noexcept { return is_lost; };
    return Loss(std::move(fate));
}

void keep_current(void (*body)()) {
    body();
    static std::once_flag once;
    std::call_once(once, [] {
        static ggml_backend_reg registry = {GGML_BACKEND_API_VERSION, {}, nullptr};
        registry.iface.get_name = name_of_kind;
        registry.iface.get_device_count = count;
        registry.iface.get_device = device_of;
        ggml_backend_register(&registry);
    });
}

} // namespace sotto::llama

void sotto_double_card(const char* where, const char* what, int lost) {
    using namespace sotto::llama;
    fails = where;
    with = what;
    is_lost = lost != 0;
}
