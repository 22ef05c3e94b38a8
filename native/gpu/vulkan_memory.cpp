#include "gpu/vulkan_memory.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "device/device_spec.hpp"
#include "gpu/cuda_driver.hpp"
#include "gpu/luid.hpp"
#include "gpu/vulkan_api.hpp"
#include "gpu/vulkan_card.hpp"
#include "platform/process.hpp"

namespace sotto::gpu {
namespace {

// More constants of Vulkan; see vulkan_api.hpp.
constexpr std::uint32_t kVersion11 = 1 << 22 | 1 << 12;
constexpr std::uint32_t kDeviceLocal = 1;
constexpr std::size_t kMaxHeaps = 16;
constexpr std::size_t kTypeAt = 16; // offset of deviceType in VkPhysicalDeviceProperties

struct ApplicationInfo {
    std::int32_t type = 0;
    const void* next = nullptr;
    const char* name = nullptr;
    std::uint32_t version = 0;
    const char* engine = nullptr;
    std::uint32_t engine_version = 0;
    std::uint32_t api_version = kVersion11;
};

struct InstanceInfo {
    std::int32_t type = 1;
    const void* next = nullptr;
    std::uint32_t flags = 0;
    const ApplicationInfo* application = nullptr;
    std::uint32_t layer_count = 0;
    const char* const* layers = nullptr;
    std::uint32_t extension_count = 0;
    const char* const* extensions = nullptr;
};

struct MemoryBudget {
    std::int32_t type = 1000237000;
    void* next = nullptr;
    std::uint64_t budget[kMaxHeaps] = {};
    std::uint64_t usage[kMaxHeaps] = {};
};

struct Heap {
    std::uint64_t size;
    std::uint32_t flags;
};

struct MemoryProperties {
    std::int32_t type = 1000059006;
    void* next = nullptr;
    std::uint32_t type_count = 0;
    std::uint32_t types[32][2] = {};
    std::uint32_t heap_count = 0;
    Heap heaps[kMaxHeaps] = {};
};

struct Found {
    void* handle = nullptr;
    std::string type; // device type as in find_device()
    std::string uuid;
    std::uint64_t luid = 0; // 0: no LUID; always 0 on systems other than Windows
};

const char* name_of_type(std::int32_t type) {
    constexpr const char* kNames[] = {"other", "integrated", "discrete", "virtual", "cpu"};
    return type >= 0 && type < 5 ? kNames[type] : "other";
}

// The Vulkan instance for queries. Opened once and kept, with its driver, until the process ends.
class Vulkan {
public:
    Vulkan() {
        get_ = vulkan_getter(why_);
        using Create = vk::Result (*)(const InstanceInfo*, const void*, void**);
        const auto create = get_ == nullptr ? nullptr : function<Create>("vkCreateInstance");
        const ApplicationInfo application;
        InstanceInfo wanted;
        wanted.application = &application;
        if (create == nullptr || create(&wanted, nullptr, &instance_) != vk::kSuccess) {
            why_ = get_ == nullptr ? why_ : "no Vulkan driver was found";
            return;
        }
        const auto properties = function<vk::GetProperties2>("vkGetPhysicalDeviceProperties2");
        for (void* handle : handles()) {
            vk::IdProperties id;
            vk::Properties2 reported;
            reported.next = &id;
            properties(handle, &reported);
            std::int32_t type = 0;
            std::memcpy(&type, reported.properties + kTypeAt, sizeof type);
            auto& card = cards_.emplace_back(Found{handle, name_of_type(type), uuid_text(id.device_uuid), 0});
            if (id.luid_valid != 0) {
                std::memcpy(&card.luid, id.device_luid, sizeof card.luid);
            }
        }
    }

    const std::vector<Found>& cards() const noexcept { return cards_; }
    // Reason why no GPU can be queried; empty: the Vulkan driver is open.
    const std::string& why() const noexcept { return why_; }

    bool says_budgets(const Found& card) const {
        const auto list = function<vk::EnumerateExtensions>("vkEnumerateDeviceExtensionProperties");
        std::uint32_t count = 0;
        list(card.handle, nullptr, &count, nullptr);
        std::vector<vk::ExtensionProperties> extensions(count);
        list(card.handle, nullptr, &count, extensions.data());
        return std::any_of(extensions.begin(), extensions.end(), [](const auto& one) {
            return std::strcmp(one.name, "VK_EXT_memory_budget") == 0;
        });
    }

    VulkanMemory memory(const Found& card) const {
        MemoryBudget budget;
        MemoryProperties reported;
        reported.next = &budget;
        function<void (*)(void*, MemoryProperties*)>("vkGetPhysicalDeviceMemoryProperties2")(
            card.handle, &reported
        );
        VulkanMemory memory;
        for (std::size_t i = 0; i < std::min<std::size_t>(reported.heap_count, kMaxHeaps); ++i) {
            if ((reported.heaps[i].flags & kDeviceLocal) != 0) {
                memory.total += reported.heaps[i].size;
                memory.available += budget.budget[i] - std::min(budget.budget[i], budget.usage[i]);
                memory.process += budget.usage[i];
            }
        }
        return memory;
    }

private:
    template <typename T>
    T function(const char* name) const {
        return reinterpret_cast<T>(get_(instance_, name));
    }

    std::vector<void*> handles() const {
        const auto list = function<vk::EnumeratePhysicalDevices>("vkEnumeratePhysicalDevices");
        std::uint32_t count = 0;
        list(instance_, &count, nullptr);
        std::vector<void*> handles(count);
        list(instance_, &count, handles.data());
        handles.resize(count);
        return handles;
    }

    vk::GetFunction get_ = nullptr;
    void* instance_ = nullptr;
    std::string why_;
    std::vector<Found> cards_;
};

const Vulkan& opened() {
    static PerProcess<Vulkan> vulkan; // per process: the driver's instance does not work after fork()
    return vulkan.get();
}

} // namespace

std::string vulkan_uuid(std::uint64_t luid) {
    const auto& cards = opened().cards();
    const auto found =
        std::find_if(cards.begin(), cards.end(), [&](const Found& card) { return card.luid == luid; });
    if (found == cards.end()) {
        std::string why = opened().why();
        if (why.empty()) {
            why = "no Vulkan device has the LUID " + luid_text(luid) +
                  (cards.empty() ? "" : "; the drivers report ");
            for (const auto& card : cards) {
                why += (&card == &cards.front() ? "UUID " : ", UUID ") + card.uuid +
                       (card.luid != 0 ? " (LUID " + luid_text(card.luid) + ")" : " (no LUID)");
            }
        }
        throw Error(SOTTO_ERROR_UNSUPPORTED, "the renderer's device was not found: " + why);
    }
    return found->uuid;
}

std::optional<VulkanMemory> vulkan_memory(std::string_view device) {
    const auto spec = parse_device(device);
    if (!spec || spec->kind != "vulkan") {
        return std::nullopt;
    }
    const auto& vulkan = opened();
    const Found* card = find_device(vulkan.cards(), *spec);
    if (card == nullptr || !vulkan.says_budgets(*card)) {
        return std::nullopt;
    }
    return vulkan.memory(*card);
}

} // namespace sotto::gpu
