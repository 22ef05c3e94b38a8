/*
 * A Vulkan layer that counts what is allocated, so that tests need not believe those who allocate.
 *
 * It lies between an application and its driver, as the loader puts it there where VK_INSTANCE_LAYERS names
 * it. A test opens this library too, and asks.
 * It also says what it counted as drivers with VK_EXT_memory_budget do, for those below that lack it; and it
 * loses devices when it is told to.
 *
 * Destroyed buffers are kept until their device is destroyed: the queue thread of lavapipe (Mesa 22.3) was
 * seen to count references in a buffer that ggml had destroyed when all work was done. Most likely it follows
 * every descriptor of a bound set, also those that the shader does not use. The specification allows these to
 * name destroyed buffers, and ggml, which uses its sets again, leaves such descriptors.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <vulkan/vk_layer.h>

#define EXPORT __attribute__((visibility("default")))
#define MOST_DEVICES 16

struct device {
    void* key; /* what the loader's handles of it begin with */
    VkDevice handle;
    PFN_vkGetDeviceProcAddr get;
    PFN_vkAllocateMemory allocate;
    PFN_vkFreeMemory free;
    PFN_vkDestroyDevice destroy;
    PFN_vkDestroyBuffer destroy_buffer;
    PFN_vkQueueSubmit submit;
    PFN_vkDeviceWaitIdle finish;
    PFN_vkWaitForFences wait;
    PFN_vkGetFenceStatus status;
};

struct allocation {
    struct allocation* next;
    VkDeviceMemory memory;
    uint64_t bytes;
};

struct buffer {
    struct buffer* next;
    VkDevice device;
    VkBuffer buffer;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* guards all of this */
static struct device devices[MOST_DEVICES];
static struct allocation* allocations;
static struct buffer* destroyed; /* by ggml; kept until the device is destroyed */
static uint64_t live_bytes, peak_bytes, live_count;
static PFN_vkGetInstanceProcAddr next_get; /* one driver, so one */
static VkInstance last_instance;
static uint64_t submitted, lose_at; /* submissions; the one from which on devices are lost, or 0 */
static int lose_in_wait, lost;
static PFN_vkGetPhysicalDeviceMemoryProperties2 next_memory;
static PFN_vkEnumerateDeviceExtensionProperties next_extensions;

static void* key_of(const void* handle) {
    return *(void* const*)handle;
}

static struct device* device_of(void* key) {
    for (int i = 0; i < MOST_DEVICES; ++i) {
        if (devices[i].key == key) {
            return &devices[i];
        }
    }
    return NULL;
}

EXPORT uint64_t sotto_count_bytes(void) {
    pthread_mutex_lock(&mutex);
    const uint64_t bytes = live_bytes;
    pthread_mutex_unlock(&mutex);
    return bytes;
}

/* The most since this was last asked. */
EXPORT uint64_t sotto_count_peak(void) {
    pthread_mutex_lock(&mutex);
    const uint64_t bytes = peak_bytes;
    peak_bytes = live_bytes;
    pthread_mutex_unlock(&mutex);
    return bytes;
}

EXPORT uint64_t sotto_count_allocations(void) {
    pthread_mutex_lock(&mutex);
    const uint64_t count = live_count;
    pthread_mutex_unlock(&mutex);
    return count;
}

/* From the submission after `more` others on, all devices are lost. `in_wait`: who waits is the first to see.
 */
EXPORT void sotto_count_lose(uint64_t more, int in_wait) {
    pthread_mutex_lock(&mutex);
    lose_at = submitted + more + 1;
    lose_in_wait = in_wait;
    pthread_mutex_unlock(&mutex);
}

/* What is lost computes nothing any more. */
static int is_lost(const struct device* device, int submits) {
    pthread_mutex_lock(&mutex);
    submitted += submits;
    const int due = lose_at != 0 && submitted >= lose_at && !(lose_in_wait && submits);
    lost = lost || due;
    const int is = lost;
    pthread_mutex_unlock(&mutex);
    if (is) {
        device->finish(device->handle);
    }
    return is;
}

static VkResult VKAPI_CALL
queue_submit(VkQueue queue, uint32_t count, const VkSubmitInfo* submits, VkFence fence) {
    const struct device* device = device_of(key_of(queue));
    return is_lost(device, 1) ? VK_ERROR_DEVICE_LOST : device->submit(queue, count, submits, fence);
}

static VkResult VKAPI_CALL
wait_for_fences(VkDevice handle, uint32_t count, const VkFence* fences, VkBool32 all, uint64_t timeout) {
    const struct device* device = device_of(key_of(handle));
    return is_lost(device, 0) ? VK_ERROR_DEVICE_LOST : device->wait(handle, count, fences, all, timeout);
}

static VkResult VKAPI_CALL fence_status(VkDevice handle, VkFence fence) {
    const struct device* device = device_of(key_of(handle));
    return is_lost(device, 0) ? VK_ERROR_DEVICE_LOST : device->status(handle, fence);
}

static VkResult VKAPI_CALL allocate_memory(
    VkDevice device,
    const VkMemoryAllocateInfo* info,
    const VkAllocationCallbacks* allocator,
    VkDeviceMemory* memory
) {
    const VkResult result = device_of(key_of(device))->allocate(device, info, allocator, memory);
    if (result == VK_SUCCESS) {
        struct allocation* added = malloc(sizeof *added);
        pthread_mutex_lock(&mutex);
        *added = (struct allocation){allocations, *memory, info->allocationSize};
        allocations = added;
        live_count += 1;
        live_bytes += added->bytes;
        peak_bytes = live_bytes > peak_bytes ? live_bytes : peak_bytes;
        pthread_mutex_unlock(&mutex);
    }
    return result;
}

static void VKAPI_CALL
free_memory(VkDevice device, VkDeviceMemory memory, const VkAllocationCallbacks* allocator) {
    pthread_mutex_lock(&mutex);
    for (struct allocation** at = &allocations; *at != NULL; at = &(*at)->next) {
        if ((*at)->memory == memory) {
            struct allocation* gone = *at;
            *at = gone->next;
            live_bytes -= gone->bytes;
            live_count -= 1;
            free(gone);
            break;
        }
    }
    pthread_mutex_unlock(&mutex);
    device_of(key_of(device))->free(device, memory, allocator);
}

static void VKAPI_CALL
destroy_buffer(VkDevice device, VkBuffer buffer, const VkAllocationCallbacks* allocator) {
    if (buffer == VK_NULL_HANDLE || allocator != NULL) { /* the allocator may be gone by then */
        device_of(key_of(device))->destroy_buffer(device, buffer, allocator);
        return;
    }
    struct buffer* added = malloc(sizeof *added);
    pthread_mutex_lock(&mutex);
    *added = (struct buffer){destroyed, device, buffer};
    destroyed = added;
    pthread_mutex_unlock(&mutex);
}

static void destroy_kept_buffers(const struct device* device) {
    pthread_mutex_lock(&mutex);
    for (struct buffer** at = &destroyed; *at != NULL;) {
        struct buffer* one = *at;
        if (one->device != device->handle) {
            at = &one->next;
            continue;
        }
        *at = one->next;
        device->destroy_buffer(one->device, one->buffer, NULL);
        free(one);
    }
    pthread_mutex_unlock(&mutex);
}

static void VKAPI_CALL destroy_device(VkDevice device, const VkAllocationCallbacks* allocator) {
    struct device* gone = device_of(key_of(device));
    destroy_kept_buffers(gone);
    gone->key = NULL;
    gone->destroy(device, allocator);
}

/* The link of the chain that the loader made for us; each layer takes its own off. */
static VkLayerInstanceCreateInfo* instance_link(const VkInstanceCreateInfo* info) {
    VkLayerInstanceCreateInfo* link = (VkLayerInstanceCreateInfo*)info->pNext;
    while (link->sType != VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO ||
           link->function != VK_LAYER_LINK_INFO) {
        link = (VkLayerInstanceCreateInfo*)link->pNext;
    }
    return link;
}

static VkLayerDeviceCreateInfo* device_link(const VkDeviceCreateInfo* info) {
    VkLayerDeviceCreateInfo* link = (VkLayerDeviceCreateInfo*)info->pNext;
    while (link->sType != VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO ||
           link->function != VK_LAYER_LINK_INFO) {
        link = (VkLayerDeviceCreateInfo*)link->pNext;
    }
    return link;
}

static VkResult VKAPI_CALL create_instance(
    const VkInstanceCreateInfo* info, const VkAllocationCallbacks* allocator, VkInstance* instance
) {
    VkLayerInstanceCreateInfo* link = instance_link(info);
    const PFN_vkGetInstanceProcAddr get = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
    link->u.pLayerInfo = link->u.pLayerInfo->pNext;
    const PFN_vkCreateInstance create = (PFN_vkCreateInstance)get(NULL, "vkCreateInstance");
    const VkResult result = create(info, allocator, instance);
    if (result == VK_SUCCESS) {
        pthread_mutex_lock(&mutex);
        next_get = get;
        last_instance = *instance;
        next_extensions =
            (PFN_vkEnumerateDeviceExtensionProperties)get(*instance, "vkEnumerateDeviceExtensionProperties");
        next_memory =
            (PFN_vkGetPhysicalDeviceMemoryProperties2)get(*instance, "vkGetPhysicalDeviceMemoryProperties2");
        pthread_mutex_unlock(&mutex);
    }
    return result;
}

static VkResult VKAPI_CALL create_device(
    VkPhysicalDevice physical,
    const VkDeviceCreateInfo* info,
    const VkAllocationCallbacks* allocator,
    VkDevice* device
) {
    VkLayerDeviceCreateInfo* link = device_link(info);
    const PFN_vkGetInstanceProcAddr get_instance = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
    const PFN_vkGetDeviceProcAddr get = link->u.pLayerInfo->pfnNextGetDeviceProcAddr;
    link->u.pLayerInfo = link->u.pLayerInfo->pNext;
    const PFN_vkCreateDevice create = (PFN_vkCreateDevice)get_instance(last_instance, "vkCreateDevice");
    const VkResult result = create(physical, info, allocator, device);
    if (result != VK_SUCCESS) {
        return result;
    }
    pthread_mutex_lock(&mutex);
    struct device* made = device_of(NULL);
    if (made == NULL) {
        abort(); /* a test that makes so many has not given any back */
    }
    *made = (struct device){
        key_of(*device),
        *device,
        get,
        (PFN_vkAllocateMemory)get(*device, "vkAllocateMemory"),
        (PFN_vkFreeMemory)get(*device, "vkFreeMemory"),
        (PFN_vkDestroyDevice)get(*device, "vkDestroyDevice"),
        (PFN_vkDestroyBuffer)get(*device, "vkDestroyBuffer"),
        (PFN_vkQueueSubmit)get(*device, "vkQueueSubmit"),
        (PFN_vkDeviceWaitIdle)get(*device, "vkDeviceWaitIdle"),
        (PFN_vkWaitForFences)get(*device, "vkWaitForFences"),
        (PFN_vkGetFenceStatus)get(*device, "vkGetFenceStatus"),
    };
    pthread_mutex_unlock(&mutex);
    return result;
}

static VkResult VKAPI_CALL enumerate_extensions(
    VkPhysicalDevice physical, const char* layer, uint32_t* count, VkExtensionProperties* extensions
) {
    uint32_t below = 0;
    next_extensions(physical, NULL, &below, NULL);
    if (layer != NULL || (extensions != NULL && *count <= below)) {
        return next_extensions(physical, layer, count, extensions);
    }
    if (extensions != NULL) {
        next_extensions(physical, NULL, &below, extensions);
        const VkExtensionProperties ours = {VK_EXT_MEMORY_BUDGET_EXTENSION_NAME, 1};
        extensions[below] = ours;
    }
    *count = below + 1;
    return VK_SUCCESS;
}

static void VKAPI_CALL
memory_properties(VkPhysicalDevice physical, VkPhysicalDeviceMemoryProperties2* properties) {
    next_memory(physical, properties);
    VkPhysicalDeviceMemoryBudgetPropertiesEXT* budget = properties->pNext;
    if (budget != NULL && budget->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT) {
        budget->heapBudget[0] = properties->memoryProperties.memoryHeaps[0].size / 2;
        budget->heapUsage[0] = sotto_count_bytes();
    }
}

static PFN_vkVoidFunction VKAPI_CALL get_device_proc(VkDevice device, const char* name);
static PFN_vkVoidFunction VKAPI_CALL get_instance_proc(VkInstance instance, const char* name);

static PFN_vkVoidFunction ours(const char* name) {
    static const struct {
        const char* name;
        PFN_vkVoidFunction function;
    } functions[] = {
        {"vkGetInstanceProcAddr", (PFN_vkVoidFunction)get_instance_proc},
        {"vkGetDeviceProcAddr", (PFN_vkVoidFunction)get_device_proc},
        {"vkEnumerateDeviceExtensionProperties", (PFN_vkVoidFunction)enumerate_extensions},
        {"vkGetPhysicalDeviceMemoryProperties2", (PFN_vkVoidFunction)memory_properties},
        {"vkCreateInstance", (PFN_vkVoidFunction)create_instance},
        {"vkCreateDevice", (PFN_vkVoidFunction)create_device},
        {"vkDestroyDevice", (PFN_vkVoidFunction)destroy_device},
        {"vkDestroyBuffer", (PFN_vkVoidFunction)destroy_buffer},
        {"vkAllocateMemory", (PFN_vkVoidFunction)allocate_memory},
        {"vkFreeMemory", (PFN_vkVoidFunction)free_memory},
        {"vkQueueSubmit", (PFN_vkVoidFunction)queue_submit},
        {"vkWaitForFences", (PFN_vkVoidFunction)wait_for_fences},
        {"vkGetFenceStatus", (PFN_vkVoidFunction)fence_status},
    };
    for (size_t i = 0; i < sizeof functions / sizeof *functions; ++i) {
        if (strcmp(functions[i].name, name) == 0) {
            return functions[i].function;
        }
    }
    return NULL;
}

static PFN_vkVoidFunction VKAPI_CALL get_device_proc(VkDevice device, const char* name) {
    const PFN_vkVoidFunction function = ours(name);
    return function != NULL ? function : device_of(key_of(device))->get(device, name);
}

static PFN_vkVoidFunction VKAPI_CALL get_instance_proc(VkInstance instance, const char* name) {
    const PFN_vkVoidFunction function = ours(name);
    return function != NULL || next_get == NULL ? function : next_get(instance, name);
}

EXPORT VkResult VKAPI_CALL vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface* wanted) {
    wanted->loaderLayerInterfaceVersion = 2;
    wanted->pfnGetInstanceProcAddr = get_instance_proc;
    wanted->pfnGetDeviceProcAddr = get_device_proc;
    wanted->pfnGetPhysicalDeviceProcAddr = NULL;
    return VK_SUCCESS;
}
