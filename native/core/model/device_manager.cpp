#include "core/model/device_manager.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "base/path.hpp"
#include "gpu/vulkan_card.hpp"
#include "text/ordered_json.hpp"

namespace sotto {
namespace {

constexpr std::string_view kCuda = "_cuda"; // suffix of the names of CUDA-only backends
constexpr std::string_view kVulkan = "_vulkan";
constexpr const char* kProcessor = "cpu";

struct Known {
    std::vector<const Backend*> backends;
    std::vector<Modules::PassedOver> passed_over;

    explicit Known(Modules& modules) { modules.list(backends, passed_over); }
};

// Returns the names of the backends that compute with CUDA.
std::vector<std::string> users_of_cuda(const Known& known) {
    std::vector<std::string> names;
    for (const Backend* backend : known.backends) {
        if (backend->uses(SOTTO_BACKEND_CUDA)) {
            names.push_back(backend->name());
        }
    }
    return names;
}

// Returns the names of the backends that support only devices of `kind`.
std::vector<std::string> those_for(const Known& known, std::string_view kind) {
    std::vector<std::string> names;
    for (const Backend* backend : known.backends) {
        if (backend->name().ends_with(kind)) {
            names.push_back(backend->name());
        }
    }
    return names;
}

// Returns why no backend computes with devices of `kind`: lists the modules for `kind` that were
// skipped. `called`: display name of the kind.
std::string why_none(const Known& known, std::string_view kind, const char* called) {
    std::string why = std::string("no backend here computes with ") + called;
    for (const auto& one : known.passed_over) {
        const auto file = utf8_of(native_path(one.path).filename());
        why += file.find(kind) == std::string::npos ? "" : "; " + file + " was passed over: " + one.why;
    }
    return why;
}

std::string device_of(const gpu::Sharing& sharing) {
    return "vulkan:" + sharing.uuid();
}

Ordered told(const gpu::Adapter& card) {
    return {
        {"name", card.name},
        {"uuid", card.uuid},
        {"luid", card.luid},
        {"vram", card.vram},
        {"capability", card.capability},
    };
}

Ordered told(const gpu::Sharing& sharing, const std::vector<std::string>& backends) {
    auto not_taken = Ordered::array();
    for (const auto& one : sharing.not_taken()) {
        not_taken.push_back({{"rung", gpu::name_of(one.rung)}, {"reason", one.why}});
    }
    const auto* context = sharing.context().get();
    return {
        {"rung", gpu::name_of(sharing.rung())},
        {"with", sharing.with()},
        {"card", sharing.adapter() ? told(*sharing.adapter()) : Ordered()},
        {"device", sharing.uuid().empty() ? Ordered() : Ordered(device_of(sharing))},
        {"driver", sharing.driver().empty() ? Ordered() : Ordered(sharing.driver())},
        {"shared_memory", context != nullptr ? context->shared_memory() : 0},
        {"priority", context != nullptr ? Ordered(context->priority()) : Ordered()},
        {"not_taken", not_taken},
        {"backends", backends},
        {"refused", Ordered::object()},
    };
}

} // namespace

DeviceManager::DeviceManager(
    Modules& modules, std::string device, std::filesystem::path driver, const Log& log
)
    : modules_(modules), device_(std::move(device)), driver_(std::move(driver)), log_(log) {}

sotto_gpu_sharing DeviceManager::attach(const gpu::Renderer& renderer) {
    if (shared() != 0) {
        throw Error(
            SOTTO_ERROR_STATE, "the engine already shares a device: call sotto_engine_detach_gpu() first"
        );
    }
    gpu::Terms terms;
    terms.driver = driver_;
    const Known known(modules_);
    const auto on_cuda = users_of_cuda(known);
    const auto on_vulkan = those_for(known, kVulkan);
    terms.no_cuda = on_cuda.empty() ? why_none(known, kCuda, "CUDA") : "";
    terms.no_vulkan = on_vulkan.empty() ? why_none(known, kVulkan, "Vulkan") : "";
    auto sharing = std::make_shared<const gpu::Sharing>(renderer, terms);
    const auto rung = sharing->rung();
    for (const auto& one : sharing->not_taken()) {
        log_.info(std::string("gpu: not ") + gpu::name_of(one.rung) + ": " + one.why);
    }
    log_.info(std::string("gpu: ") + gpu::name_of(rung) + " with " + sharing->with());
    const bool vulkan = rung == SOTTO_GPU_SHARING_VULKAN;
    const auto none = std::vector<std::string>();
    auto shown = told(*sharing, sharing->context() != nullptr ? on_cuda : vulkan ? on_vulkan : none);
    const std::lock_guard lock(mutex_); // no exceptions from here on
    sharing_ = std::move(sharing);
    shown_ = std::move(shown);
    leaving_ = false;
    lost_.clear();
    numbers_.attach();
    return rung;
}

bool DeviceManager::begin_to_leave() {
    const std::lock_guard lock(mutex_);
    leaving_ = true;
    return sharing_ != nullptr;
}

void DeviceManager::leave() {
    // Destroyed after the lock is released, because destruction waits for the driver.
    std::shared_ptr<const gpu::Sharing> sharing;
    const std::lock_guard lock(mutex_);
    sharing = std::exchange(sharing_, nullptr);
    shown_ = nullptr;
    numbers_.detach();
}

// Returns the placement on the shared GPU; none if that GPU is not usable, or is not supported by the
// requested backend.
std::optional<Placement> DeviceManager::shared_seat(std::string_view backend, DeviceNumber refused) const {
    const auto number = numbers_.usable();
    if (sharing_ == nullptr || leaving_ || number == 0 || number == refused) {
        return std::nullopt;
    }
    if (const auto& context = sharing_->context(); context != nullptr) {
        for (const std::string& device : {std::string("cuda"), device_}) {
            const Backend* found = modules_.look_for(backend, device);
            if (found != nullptr && found->uses(SOTTO_BACKEND_CUDA)) {
                return Placement{found, "cuda", context, number, true};
            }
        }
    } else if (!sharing_->uuid().empty()) {
        const auto device = device_of(*sharing_);
        const Backend* found = modules_.look_for(backend, device);
        if (found != nullptr && found->name().ends_with(kVulkan)) {
            return Placement{found, device, nullptr, number, true};
        }
    }
    return std::nullopt;
}

Placement
DeviceManager::seat(std::string_view backend, DeviceNumber refused, std::atomic<DeviceNumber>& number) {
    std::string device;
    DeviceNumber own = 0;
    {
        const std::lock_guard lock(mutex_);
        if (auto seat = shared_seat(backend, refused)) {
            number = seat->number;
            return *std::move(seat);
        }
        device = lost_.empty() ? device_ : kProcessor;
        own = numbers_.own();
    }
    const Backend& found = modules_.find(backend, device); // may load modules, which is slow
    if (found.uses(SOTTO_BACKEND_BY_NAME) && !is_for_devices(found.name())) {
        device = kProcessor;
    }
    const bool on_device = device != kProcessor && is_for_devices(found.name());
    number = on_device ? own : 0;
    return {&found, device, nullptr, number, false};
}

bool DeviceManager::would_take(std::string_view backend, DeviceNumber refused) const {
    const std::lock_guard lock(mutex_);
    return shared_seat(backend, refused).has_value();
}

void DeviceManager::refused(DeviceNumber number, const std::string& model, const std::string& why) {
    const std::lock_guard lock(mutex_);
    log_.warn("gpu: " + model + " can't be on the card, and is opened beside it: " + why);
    if (number == numbers_.shared() && shown_.is_object()) {
        shown_["refused"][model] = why;
    }
}

void DeviceManager::lose(DeviceNumber number, std::string why) {
    const std::lock_guard lock(mutex_);
    const auto which = number != 0 ? number : numbers_.own();
    if (which == 0 || is_lost(which)) {
        return;
    }
    log_.warn("gpu: a device was lost; models go on on the processor: " + why);
    lost_ = why.empty() ? "the backend did not say why" : std::move(why);
    if (!numbers_.lose(which)) {
        return;
    }
    shown_["not_taken"].push_back({{"rung", shown_["rung"]}, {"reason", "it was lost: " + lost_}});
    shown_["rung"] = gpu::name_of(SOTTO_GPU_SHARING_CPU);
    shown_["backends"] = Ordered::array();
}

std::string DeviceManager::lost() const {
    const std::lock_guard lock(mutex_);
    return lost_;
}

Ordered DeviceManager::describe() const {
    const std::lock_guard lock(mutex_);
    return shown_;
}

CardInfo query_card(std::uint32_t index) {
    CardInfo info;
    try {
        const auto driver = gpu::Driver::open();
        const auto count = driver->count();
        info.driver = driver->version();
        if (index < static_cast<std::uint32_t>(count)) {
            info.adapter = driver->adapter(static_cast<int>(index));
        } else {
            info.why = "device " + std::to_string(index) + " does not exist: the CUDA driver reports " +
                       std::to_string(count) + " devices";
        }
    } catch (const Error& error) {
        info.why = error.what();
    }
    return info;
}

VulkanNeeds query_vulkan(const sotto_gpu_vulkan& vulkan) {
    static constexpr const char* kExtension = gpu::vk::kExternalComputeQueue;
    static constexpr gpu::vk::ExternalDeviceInfo kDevice;
    const auto why = gpu::VulkanCard(vulkan).external_why();
    return why.empty() ? VulkanNeeds{&kExtension, &kDevice, ""} : VulkanNeeds{nullptr, nullptr, why};
}

} // namespace sotto
