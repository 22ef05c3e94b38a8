#include "graphics_device.hpp"

#include <algorithm>

#include "immortal.hpp"
#include "vulkan_hook.hpp"

namespace sotto::unity {
namespace {

const char* name_of(std::int32_t renderer) {
    switch (renderer) {
    case kD3D11:
        return "Direct3D 11";
    case kOpenGlEs3:
        return "OpenGL ES 3";
    case kOpenGlCore:
        return "OpenGL";
    case kMetal:
        return "Metal";
    default:
        return "unknown";
    }
}

} // namespace

// The device as the library takes it. Points into itself.
struct GraphicsDevice::Handed {
    Handed(const Shown& shown, sotto_gpu_sharing min_sharing) {
        d3d12.device = shown.d3d12_device;
        d3d12.queue = shown.d3d12_queue;
        const auto& made = shown.vulkan;
        vulkan.instance = made.instance;
        vulkan.physical_device = made.physical_device;
        vulkan.device = made.device;
        vulkan.queue = made.queue; // Unity creates it first: index 0 of its family
        vulkan.queue_family = made.queue_family;
        vulkan.get_instance_proc_addr = reinterpret_cast<sotto_vulkan_proc_fn>(made.get_instance_proc_addr);
        gpu.min_sharing = min_sharing;
        gpu.d3d12 = shown.renderer == SOTTO_UNITY_RENDERER_D3D12 ? &d3d12 : nullptr;
        gpu.vulkan = shown.renderer == SOTTO_UNITY_RENDERER_VULKAN ? &vulkan : nullptr;
    }
    Handed(const Handed&) = delete;
    Handed& operator=(const Handed&) = delete;

    sotto_gpu_d3d12 d3d12 = SOTTO_INIT(sotto_gpu_d3d12);
    sotto_gpu_vulkan vulkan = SOTTO_INIT(sotto_gpu_vulkan);
    sotto_gpu_desc gpu = SOTTO_INIT(sotto_gpu_desc);
};

GraphicsDevice& GraphicsDevice::it() {
    return immortal<GraphicsDevice>();
}

template <typename T>
const T* GraphicsDevice::find_interface(Guid guid) const {
    return static_cast<const T*>(interfaces_->get_interface_split(guid.high, guid.low));
}

void GraphicsDevice::load(const Interfaces* interfaces) {
    const Graphics* graphics = nullptr;
    const VulkanV2* vulkan = nullptr;
    {
        const std::lock_guard engines(engines_mutex_);
        if (interfaces == nullptr || interfaces == interfaces_) {
            return;
        }
        interfaces_ = interfaces;
        graphics_ = graphics = find_interface<Graphics>(kGraphicsGuid);
        vulkan = find_interface<VulkanV2>(kVulkanV2Guid);
    }
    VulkanHook::it().install(vulkan);
    if (graphics != nullptr) {
        graphics->register_callback(&on_event);
    }
    handle(kInitialize); // Unity sends no such event for a device that it created before it loaded the plugin
}

void GraphicsDevice::unload() {
    const Graphics* graphics = nullptr;
    {
        const std::lock_guard engines(engines_mutex_);
        detach_all();
        graphics = graphics_;
        graphics_ = nullptr;
        interfaces_ = nullptr;
        show({});
    }
    if (graphics != nullptr) {
        graphics->unregister_callback(&on_event);
    }
    VulkanHook::it().remove();
}

void SOTTO_UNITY_CALL GraphicsDevice::on_event(std::int32_t event) {
    it().handle(event);
}

// Unity destroys or resets the device after this returned.
void GraphicsDevice::handle(std::int32_t event) {
    const std::lock_guard engines(engines_mutex_);
    if (interfaces_ == nullptr) {
        return; // unloaded
    }
    Shown shown;
    switch (event) {
    case kInitialize:
    case kAfterReset:
        detach_all(); // nobody is attached, unless Unity left out an event
        show(read_device());
        return;
    case kShutdown:
        shown.state = SOTTO_UNITY_STATE_NO_DEVICE;
        shown.reason.format("Unity destroyed its graphics device");
        VulkanHook::it().forget_device();
        break;
    case kBeforeReset:
        shown.state = SOTTO_UNITY_STATE_RESETTING;
        shown.reason.format("Unity resets its graphics device; attach again when that is done");
        break;
    default:
        return; // an event of a later Unity
    }
    detach_all();
    show(shown);
}

GraphicsDevice::Shown GraphicsDevice::read_device() const {
    Shown shown;
    if (graphics_ == nullptr) {
        shown.state = SOTTO_UNITY_STATE_UNSUPPORTED;
        shown.reason.format("this Unity has no IUnityGraphics");
        return shown;
    }
    shown.unity_renderer = graphics_->get_renderer();
    switch (shown.unity_renderer) {
    case kD3D12:
        read_d3d12(shown);
        break;
    case kVulkan:
        read_vulkan(shown);
        break;
    case kNull:
        shown.state = SOTTO_UNITY_STATE_NO_DEVICE;
        shown.reason.format("Unity has no graphics device: it runs with -nographics, or is still starting");
        break;
    default:
        shown.renderer = SOTTO_UNITY_RENDERER_OTHER;
        shown.state = SOTTO_UNITY_STATE_UNSUPPORTED;
        shown.reason.format(
            "invalid renderer '%s' (Unity's number %d): expected Direct3D 12 or Vulkan; change the order of "
            "Graphics APIs in Project Settings > Player",
            name_of(shown.unity_renderer),
            static_cast<int>(shown.unity_renderer)
        );
    }
    return shown;
}

void GraphicsDevice::read_d3d12(Shown& shown) const {
    shown.renderer = SOTTO_UNITY_RENDERER_D3D12;
    const auto read = [&](const auto* table) {
        if (table != nullptr) {
            shown.d3d12_device = table->get_device();
            shown.d3d12_queue = table->get_command_queue();
        }
        return table != nullptr;
    };
    const bool found =
        read(find_interface<D3D12v7>(kD3D12v7Guid)) || read(find_interface<D3D12v4>(kD3D12v6Guid)) ||
        read(find_interface<D3D12v4>(kD3D12v5Guid)) || read(find_interface<D3D12v4>(kD3D12v4Guid));
    if (!found) {
        shown.state = SOTTO_UNITY_STATE_UNSUPPORTED;
        shown.reason.format("this Unity has none of IUnityGraphicsD3D12v4 to v7, which hand out the queue");
    } else if (shown.d3d12_device == nullptr || shown.d3d12_queue == nullptr) {
        shown.state = SOTTO_UNITY_STATE_NO_DEVICE;
        shown.reason.format("Unity handed out no Direct3D 12 device or queue");
    } else {
        shown.state = SOTTO_UNITY_STATE_READY;
    }
}

void GraphicsDevice::read_vulkan(Shown& shown) const {
    shown.renderer = SOTTO_UNITY_RENDERER_VULKAN;
    const auto* table = find_interface<Vulkan>(kVulkanV2Guid);
    if (table == nullptr) {
        table = find_interface<Vulkan>(kVulkanGuid);
    }
    if (table == nullptr) {
        shown.state = SOTTO_UNITY_STATE_UNSUPPORTED;
        shown.reason.format("this Unity has neither IUnityGraphicsVulkan nor IUnityGraphicsVulkanV2");
        return;
    }
    const VulkanObjects made = table->instance();
    if (made.instance == nullptr || made.physical_device == nullptr || made.device == nullptr ||
        made.queue == nullptr) {
        shown.state = SOTTO_UNITY_STATE_NO_DEVICE;
        shown.reason.format("Unity handed out no Vulkan device or queue");
        return;
    }
    shown.vulkan = made;
    shown.state = SOTTO_UNITY_STATE_READY;
}

void GraphicsDevice::show(const Shown& shown) {
    const std::lock_guard lock(mutex_);
    shown_ = shown;
    generation_ += shown.state == SOTTO_UNITY_STATE_READY ? 1 : 0;
}

void GraphicsDevice::describe(sotto_unity_graphics_info& info, Text& reason) {
    const std::lock_guard lock(mutex_);
    info.state = shown_.state;
    info.renderer = shown_.renderer;
    info.unity_renderer = shown_.unity_renderer;
    info.generation = generation_;
    info.cig_prepared = 0;
    reason = shown_.reason;
    if (shown_.state == SOTTO_UNITY_STATE_NOT_LOADED) {
        reason.format("Unity has not loaded sotto_unity; its file belongs into the package's Plugins folder");
    } else if (shown_.state == SOTTO_UNITY_STATE_READY) {
        const bool vulkan = shown_.renderer == SOTTO_UNITY_RENDERER_VULKAN;
        info.cig_prepared = !vulkan || VulkanHook::it().has_prepared(shown_.vulkan.device, reason) ? 1 : 0;
    }
}

sotto_status GraphicsDevice::attach(
    sotto_engine* engine, sotto_gpu_sharing min_sharing, sotto_gpu_sharing* sharing, Text& reason
) {
    const std::lock_guard engines(engines_mutex_);
    auto info = SOTTO_INIT(sotto_unity_graphics_info);
    describe(info, reason);
    if (info.state != SOTTO_UNITY_STATE_READY) {
        return info.state == SOTTO_UNITY_STATE_UNSUPPORTED ? SOTTO_ERROR_UNSUPPORTED : SOTTO_ERROR_STATE;
    }
    const SottoLibrary* library = SottoLibrary::find(reason);
    if (library == nullptr) {
        return SOTTO_ERROR_UNSUPPORTED;
    }
    Shown shown; // stays valid: events that change the device wait for the engines' lock
    {
        const std::lock_guard lock(mutex_);
        shown = shown_;
    }
    const Handed handed(shown, min_sharing);
    const sotto_status status = library->attach_gpu(engine, &handed.gpu, sharing);
    if (status < 0) {
        reason.copy(library->last_error());
        return status;
    }
    forget_destroyed(*library);
    forget(engine); // which C# detached without the plugin
    *std::find(engines_.begin(), engines_.end(), nullptr) = engine;
    return status;
}

sotto_status GraphicsDevice::detach(sotto_engine* engine, Text& reason) {
    const std::lock_guard engines(engines_mutex_);
    if (!forget(engine)) {
        reason.format("the engine is not attached to Unity's device; call sotto_unity_attach() first");
        return SOTTO_ERROR_STATE;
    }
    const SottoLibrary* library = SottoLibrary::find(reason); // there, as the engine was attached
    const sotto_status status = library->detach_gpu(engine);
    if (status < 0) {
        reason.copy(library->last_error());
    }
    return status;
}

// Waits until no engine computes on the device. An engine that is gone, or was detached without the plugin,
// is refused by the library: names of engines are never used again.
void GraphicsDevice::detach_all() {
    for (auto& engine : engines_) {
        if (engine != nullptr) {
            Text reason;
            SottoLibrary::find(reason)->detach_gpu(engine);
            engine = nullptr;
        }
    }
}

bool GraphicsDevice::forget(sotto_engine* engine) {
    const auto found = std::find(engines_.begin(), engines_.end(), engine);
    if (engine == nullptr || found == engines_.end()) {
        return false;
    }
    *found = nullptr;
    return true;
}

// Afterwards there is room: a process has at most as many engines as engines_ holds.
void GraphicsDevice::forget_destroyed(const SottoLibrary& library) {
    for (auto& engine : engines_) {
        auto stats = SOTTO_INIT(sotto_stats);
        if (engine != nullptr && library.stats(engine, &stats) == SOTTO_ERROR_ARGUMENT) {
            engine = nullptr;
        }
    }
}

} // namespace sotto::unity
