/**
 * @file sotto/gpu.h
 * GPU sharing with the renderer: handles that the host passes in, and the resulting sharing level.
 *
 * By default, the GPU switches between the renderer and the models as between separate processes, which
 * costs frames. This is avoided if both run in one scheduling context. NVIDIA calls that CUDA in Graphics
 * (CiG): the CUDA context is created from the renderer's own queue. If CiG is unavailable, the engine
 * falls back to the next level:
 *
 *     SOTTO_GPU_SHARING_CIG     models run beside the renderer, in the context of its queue
 *     SOTTO_GPU_SHARING_CUDA    separate CUDA context, whose streams have the lowest priority
 *     SOTTO_GPU_SHARING_VULKAN  separate Vulkan device on the same GPU
 *     SOTTO_GPU_SHARING_CPU     CPU
 *
 * The engine always uses the renderer's GPU, identified by LUID or UUID; it never defaults to the first
 * GPU. The object `gpu` of sotto_engine_describe() holds the selected level and the reason why each
 * closer level was rejected. GPU drivers are loaded at run time; on a machine without drivers, the engine
 * starts and uses the CPU.
 *
 * CiG requires an NVIDIA driver of release 570 or newer, compute capability 8.9 (Ada) or newer, and CUDA
 * 12.8 or newer for Direct3D 12, on Windows only, or 12.9 or newer for Vulkan. A driver may refuse it even
 * then. sotto_gpu_query() reports every requirement that a GPU does not meet.
 *
 *     sotto_gpu_vulkan vulkan = SOTTO_INIT(sotto_gpu_vulkan);
 *     vulkan.instance = ...;
 *     sotto_gpu_desc gpu = SOTTO_INIT(sotto_gpu_desc);
 *     gpu.vulkan = &vulkan;
 *     sotto_engine_desc desc = SOTTO_INIT(sotto_engine_desc);
 *     desc.gpu = &gpu;
 */
#ifndef SOTTO_GPU_H
#define SOTTO_GPU_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Level of GPU sharing between models and renderer. Higher values share more closely. */
typedef int32_t sotto_gpu_sharing;
enum {
    SOTTO_GPU_SHARING_NONE   = 0, /**< No GPU is shared. */
    SOTTO_GPU_SHARING_CPU    = 1, /**< Models run on the CPU. */
    SOTTO_GPU_SHARING_VULKAN = 2, /**< Models use their own Vulkan device on the renderer's GPU. */
    SOTTO_GPU_SHARING_CUDA   = 3, /**< Low-priority streams in the engine's or the host's CUDA context. */
    SOTTO_GPU_SHARING_CIG    = 4  /**< Models run in the scheduling context of the renderer's queue. */
};

/**
 * Direct3D 12 renderer. All objects must live until the engine is detached from the GPU.
 *
 * @since 0.1
 */
typedef struct sotto_gpu_d3d12 {
    uint32_t struct_size; /**< sizeof(sotto_gpu_d3d12). */
    uint32_t reserved;    /**< Must be 0. */
    void*    device;      /**< Required. ID3D12Device* of the renderer. */
    void*    queue;       /**< Required. ID3D12CommandQueue* of type DIRECT that renders. */
    /**
     * LUID of the adapter: LowPart in the lower 32 bits, HighPart in the upper 32. 0: queried from
     * `device`.
     */
    uint64_t luid;
} sotto_gpu_d3d12;

/** Same contract as vkGetInstanceProcAddr: `instance` may be NULL; returns NULL for an unknown function. */
typedef void*(SOTTO_CALL* sotto_vulkan_proc_fn)(void* instance, const char* name);

/**
 * Vulkan renderer. All objects must live until the engine is detached from the GPU.
 *
 * @since 0.1
 */
typedef struct sotto_gpu_vulkan {
    uint32_t struct_size;     /**< sizeof(sotto_gpu_vulkan). */
    uint32_t queue_family;    /**< Queue family index of `queue`. */
    void*    instance;        /**< Required. VkInstance of the renderer. */
    void*    physical_device; /**< Required. VkPhysicalDevice of the renderer. */
    void*    device;          /**< Required. VkDevice, created with the needs of sotto_gpu_query_vulkan(). */
    void*    queue;           /**< Required. VkQueue that renders. */
    uint32_t queue_index;     /**< Index of `queue` within its family. */
    uint32_t reserved;        /**< Must be 0. */
    /** vkGetInstanceProcAddr of the renderer. NULL: the one of the system's Vulkan loader. */
    sotto_vulkan_proc_fn get_instance_proc_addr;
} sotto_gpu_vulkan;

/**
 * Additions to the host's VkDeviceCreateInfo that make its device shareable.
 *
 * @since 0.1
 */
typedef struct sotto_gpu_vulkan_needs {
    uint32_t           struct_size;     /**< In: sizeof(sotto_gpu_vulkan_needs). */
    uint32_t           extension_count; /**< Number of extensions. 0: CiG is unavailable, see `reason`. */
    const char* const* extensions;      /**< Names of the extensions to enable. */
    const void*        next;            /**< Struct to append to the end of the `pNext` chain, or NULL. */
    sotto_str          reason;          /**< Reason why the device can't be shared. Empty: it can. */
} sotto_gpu_vulkan_needs;

/**
 * Existing CUDA context of the host. The host keeps ownership; the context must live until the engine is
 * detached from it.
 *
 * @since 0.1
 */
typedef struct sotto_gpu_cuda {
    uint32_t struct_size; /**< sizeof(sotto_gpu_cuda). */
    uint32_t reserved;    /**< Must be 0. */
    void*    context;     /**< Required. CUcontext. */
} sotto_gpu_cuda;

/**
 * GPU to share. Exactly one of `d3d12`, `vulkan` and `cuda` must be set.
 *
 * @since 0.1
 */
typedef struct sotto_gpu_desc {
    uint32_t                struct_size; /**< sizeof(sotto_gpu_desc). */
    sotto_gpu_sharing       min_sharing; /**< Minimum level; a lower one is an error. 0: accept any level. */
    const sotto_gpu_d3d12*  d3d12;       /**< Direct3D 12 renderer, or NULL. */
    const sotto_gpu_vulkan* vulkan;      /**< Vulkan renderer, or NULL. */
    const sotto_gpu_cuda*   cuda;        /**< CUDA context, or NULL. */
} sotto_gpu_desc;

/**
 * Properties of a GPU, as reported by its driver.
 *
 * @since 0.1
 */
typedef struct sotto_gpu_info {
    uint32_t  struct_size; /**< In: sizeof(sotto_gpu_info). */
    int32_t   cig_d3d12;   /**< Nonzero: the GPU supports CiG with a Direct3D 12 renderer. */
    int32_t   cig_vulkan;  /**< Nonzero: the GPU supports CiG with a Vulkan renderer. */
    uint32_t  capability;  /**< CUDA compute capability: 89 is 8.9. */
    sotto_str name;        /**< Display name. */
    sotto_str uuid;        /**< Vulkan's deviceUUID, as "00112233-4455-6677-8899-aabbccddeeff". */
    /**
     * LUID: LowPart in the lower 32 bits, HighPart in the upper 32. 0: the GPU has no LUID, as outside
     * Windows.
     */
    uint64_t  luid;
    uint64_t  vram;              /**< Bytes of GPU memory. */
    sotto_str driver;            /**< Newest CUDA version that the driver supports, as "13.0". */
    sotto_str cig_d3d12_reason;  /**< Reason why `cig_d3d12` is 0. Empty: it is not 0. */
    sotto_str cig_vulkan_reason; /**< Reason why `cig_vulkan` is 0. Empty: it is not 0. */
} sotto_gpu_info;

/**
 * Returns the properties of a GPU, including support for sharing with a renderer. Waits for the driver;
 * the first call may take longer than a frame.
 *
 * @param index  Index of the GPU, from 0, in the CUDA driver's order.
 * @param info   Out: properties of the GPU. Zeroed on failure.
 * @return SOTTO_OK, SOTTO_ERROR_NOT_FOUND (no GPU with this index, or no driver), SOTTO_ERROR_ARGUMENT or
 *         SOTTO_ERROR_MEMORY.
 *
 * @owner  Texts: the calling thread, until its next call of this function.
 * @thread Any.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL sotto_gpu_query(uint32_t index, sotto_gpu_info* info);

/**
 * Returns the extensions and structs that a renderer must enable when it creates its VkDevice, so that
 * the GPU can be shared. Never waits for a device.
 *
 * @param vulkan  Reads only `instance`, `physical_device` and `get_instance_proc_addr`.
 * @param needs   Out: additions to VkDeviceCreateInfo. If the device can't be shared, only `reason` is set.
 * @return SOTTO_OK, SOTTO_ERROR_ARGUMENT, SOTTO_ERROR_UNSUPPORTED (Vulkan is unavailable) or
 *         SOTTO_ERROR_MEMORY.
 *
 * @owner  `reason`: the calling thread, until its next call of this function. The rest: the library.
 * @thread Any.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL
sotto_gpu_query_vulkan(const sotto_gpu_vulkan* vulkan, sotto_gpu_vulkan_needs* needs);

#ifdef __cplusplus
}
#endif
#endif
