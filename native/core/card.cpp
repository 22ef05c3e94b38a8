#include "core/card.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "base/path.hpp"
#include "gpu/vulkan_card.hpp"

namespace sotto {
namespace {

using Ordered = nlohmann::ordered_json;

constexpr std::string_view kCuda = "_cuda"; // what the name of a backend ends with that is for CUDA alone
constexpr std::string_view kVulkan = "_vulkan";

// The names of those that compute with CUDA.
std::vector<std::string> users_of_cuda(Modules& modules) {
    std::vector<const Backend*> backends;
    std::vector<Modules::PassedOver> passed_over;
    modules.list(backends, passed_over);
    std::vector<std::string> names;
    for (const Backend* backend : backends) {
        if (backend->uses(SOTTO_BACKEND_CUDA)) {
            names.push_back(backend->name());
        }
    }
    return names;
}

// Why none computes with devices of that kind, as people call it; what there is for it was passed over.
std::string why_none(Modules& modules, std::string_view kind, const char* called) {
    std::vector<const Backend*> backends;
    std::vector<Modules::PassedOver> passed_over;
    modules.list(backends, passed_over);
    std::string why = std::string("no backend here computes with ") + called;
    for (const auto& [path, reason] : passed_over) {
        const auto file = utf8_of(native_path(path).filename());
        why += file.find(kind) == std::string::npos ? "" : "; " + file + " was passed over: " + reason;
    }
    return why;
}

// Whether there is one for devices of that kind alone.
bool has_kind(Modules& modules, std::string_view kind) {
    std::vector<const Backend*> backends;
    std::vector<Modules::PassedOver> passed_over;
    modules.list(backends, passed_over);
    return std::any_of(backends.begin(), backends.end(), [&](const Backend* backend) {
        return backend->name().ends_with(kind);
    });
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

Ordered told(const gpu::Sharing& sharing, const std::vector<std::string>& users) {
    auto not_taken = Ordered::array();
    for (const auto& one : sharing.not_taken()) {
        not_taken.push_back({{"rung", gpu::name_of(one.rung)}, {"why", one.why}});
    }
    const auto* context = sharing.context().get();
    return {
        {"rung", gpu::name_of(sharing.rung())},
        {"with", sharing.with()},
        {"card", sharing.adapter() ? told(*sharing.adapter()) : Ordered()},
        {"device", sharing.uuid().empty() ? Ordered() : Ordered("vulkan:" + sharing.uuid())},
        {"driver", sharing.driver().empty() ? Ordered() : Ordered(sharing.driver())},
        {"shared_memory", context != nullptr ? context->shared_memory() : 0},
        {"priority", context != nullptr ? Ordered(context->priority()) : Ordered()},
        {"not_taken", not_taken},
        {"backends", context != nullptr ? users : std::vector<std::string>()},
    };
}

} // namespace

Card::Card(Modules& modules, std::filesystem::path driver, const Log& log)
    : modules_(modules), driver_(std::move(driver)), log_(log) {}

sotto_gpu_rung Card::attach(const gpu::Renderer& renderer) {
    {
        const std::lock_guard lock(mutex_);
        if (sharing_ != nullptr) {
            throw Error(
                SOTTO_ERROR_STATE, "a card is shared already; call sotto_engine_detach_gpu() before the next"
            );
        }
    }
    gpu::Terms terms;
    terms.driver = driver_;
    const auto users = users_of_cuda(modules_);
    terms.no_cuda = users.empty() ? why_none(modules_, kCuda, "CUDA") : "";
    terms.no_vulkan = has_kind(modules_, kVulkan) ? "" : why_none(modules_, kVulkan, "Vulkan");
    auto sharing = std::make_shared<const gpu::Sharing>(renderer, terms);
    for (const auto& one : sharing->not_taken()) {
        log_.info(std::string("gpu: not ") + gpu::name_of(one.rung) + ": " + one.why);
    }
    log_.info(std::string("gpu: ") + gpu::name_of(sharing->rung()) + " with " + sharing->with());
    auto shown = told(*sharing, users);
    const std::lock_guard lock(mutex_);
    sharing_ = std::move(sharing);
    users_ = users;
    shown_ = std::move(shown);
    leaving_ = false;
    lost_.clear();
    is_lost_ = false;
    return sharing_->rung();
}

bool Card::begin_to_leave() {
    const std::lock_guard lock(mutex_);
    leaving_ = true;
    return sharing_ != nullptr;
}

void Card::leave() {
    std::shared_ptr<const gpu::Sharing> sharing; // goes last, without the lock: it waits for the driver
    const std::lock_guard lock(mutex_);
    sharing = std::exchange(sharing_, nullptr);
    shown_ = nullptr;
}

Card::Place Card::place() const {
    const std::lock_guard lock(mutex_);
    if (sharing_ == nullptr || leaving_ || is_lost()) {
        return {};
    }
    if (sharing_->context() == nullptr) {
        return {nullptr, sharing_->uuid().empty() ? "" : "vulkan:" + sharing_->uuid()};
    }
    const bool own = std::any_of(users_.begin(), users_.end(), [](const std::string& name) {
        return name.ends_with(kCuda);
    });
    return {sharing_->context(), own ? "cuda" : ""};
}

bool Card::draws(const Backend& backend) const {
    const std::lock_guard lock(mutex_);
    const auto is = [&](const std::string& name) { return name == backend.name() + std::string(kCuda); };
    return sharing_ != nullptr && !leaving_ && !is_lost() && sharing_->context() != nullptr &&
           (backend.uses(SOTTO_BACKEND_CUDA) || std::any_of(users_.begin(), users_.end(), is));
}

void Card::lose(std::string why) {
    const std::lock_guard lock(mutex_);
    if (is_lost()) {
        return;
    }
    log_.warn("gpu: a device was lost; models go on on the processor: " + why);
    lost_ = std::move(why);
    is_lost_ = true;
    if (shown_.is_object()) {
        shown_["not_taken"].push_back({{"rung", shown_["rung"]}, {"why", "it was lost: " + lost_}});
        shown_["rung"] = gpu::name_of(SOTTO_GPU_RUNG_CPU);
    }
}

std::string Card::lost() const {
    const std::lock_guard lock(mutex_);
    return lost_;
}

Ordered Card::describe() const {
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
            info.why = "the CUDA driver knows of " + std::to_string(count) + " cards; there is no card " +
                       std::to_string(index);
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
