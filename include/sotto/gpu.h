/**
 * @file sotto/gpu.h
 * Sharing the graphics card with the renderer: what a host hands over, and what it gets.
 *
 * Models that compute on the renderer's card take turns with it as whole programs do, which costs
 * frames, unless both run in one scheduling context. NVIDIA calls that CUDA in Graphics, CiG: the
 * context is made from the renderer's own queue. Where it can't be had, the next best is taken:
 *
 *     SOTTO_GPU_RUNG_CIG     work runs beside the renderer's, in the context of its queue
 *     SOTTO_GPU_RUNG_CUDA    a CUDA context of its own, whose streams have the lowest priority
 *     SOTTO_GPU_RUNG_VULKAN  a Vulkan device of its own, on the same card
 *     SOTTO_GPU_RUNG_CPU     the processor
 *
 * The card is the renderer's, found by its LUID or UUID, never merely the first one. Which rung was
 * taken, and why not the ones above it, is in the object `gpu` of sotto_engine_describe(). Drivers are
 * opened at run time; a machine without them starts, on the processor.
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

/** How closely models and renderer share a card. More is closer. */
typedef int32_t sotto_gpu_rung;
enum {
    SOTTO_GPU_RUNG_NONE   = 0, /**< Nothing was handed over. */
    SOTTO_GPU_RUNG_CPU    = 1, /**< Models run on the processor. */
    SOTTO_GPU_RUNG_VULKAN = 2, /**< On the same card, with a Vulkan device of their own. */
    SOTTO_GPU_RUNG_CUDA   = 3, /**< In a CUDA context of its own, or in the host's, at low priority. */
    SOTTO_GPU_RUNG_CIG    = 4  /**< In the scheduling context of the renderer's queue. */
};

/**
 * A renderer on Direct3D 12. All of it must live until the engine is detached from it.
 *
 * @since 0.1
 */
typedef struct sotto_gpu_d3d12 {
    uint32_t struct_size; /**< sizeof(sotto_gpu_d3d12). */
    uint32_t reserved;    /**< Must be 0. */
    void*    device;      /**< Required. Its ID3D12Device*. */
    void*    queue;       /**< Required. The ID3D12CommandQueue* of type DIRECT that it draws with. */
    /** The adapter's LUID: LowPart, and HighPart in the upper half. 0: the device is asked. */
    uint64_t luid;
} sotto_gpu_d3d12;

/** As vkGetInstanceProcAddr: `instance` may be NULL; NULL where there is no such function. */
typedef void*(SOTTO_CALL* sotto_vulkan_proc_fn)(void* instance, const char* name);

/**
 * A renderer on Vulkan. All of it must live until the engine is detached from it.
 *
 * @since 0.1
 */
typedef struct sotto_gpu_vulkan {
    uint32_t struct_size;     /**< sizeof(sotto_gpu_vulkan). */
    uint32_t queue_family;    /**< Of which `queue` is. */
    void*    instance;        /**< Required. Its VkInstance. */
    void*    physical_device; /**< Required. Its VkPhysicalDevice. */
    void*    device;          /**< Required. Its VkDevice, made as sotto_gpu_query_vulkan() says. */
    void*    queue;           /**< Required. The VkQueue that it draws with. */
    uint32_t queue_index;     /**< Which one of its family `queue` is. */
    uint32_t reserved;        /**< Must be 0. */
    /** Its vkGetInstanceProcAddr. NULL: that of the system's Vulkan loader. */
    sotto_vulkan_proc_fn get_instance_proc_addr;
} sotto_gpu_vulkan;

/**
 * What a host adds to its VkDeviceCreateInfo, so that its device can be shared.
 *
 * @since 0.1
 */
typedef struct sotto_gpu_vulkan_needs {
    uint32_t           struct_size;     /**< In: sizeof(sotto_gpu_vulkan_needs). */
    uint32_t           extension_count; /**< How many extensions. 0: CiG can't be had, see `why`. */
    const char* const* extensions;      /**< Their names, to be enabled. */
    const void*        next;            /**< To be put last in the chain of `pNext`, or NULL. */
    sotto_str          why;             /**< Why the device can't be shared. Empty: it can. */
} sotto_gpu_vulkan_needs;

/**
 * A CUDA context that the host has already. It stays the host's, and must live until the engine is
 * detached from it.
 *
 * @since 0.1
 */
typedef struct sotto_gpu_cuda {
    uint32_t struct_size; /**< sizeof(sotto_gpu_cuda). */
    uint32_t reserved;    /**< Must be 0. */
    void*    context;     /**< Required. The CUcontext. */
} sotto_gpu_cuda;

/**
 * What a host hands over: exactly one of the three.
 *
 * @since 0.1
 */
typedef struct sotto_gpu_desc {
    uint32_t                struct_size; /**< sizeof(sotto_gpu_desc). */
    sotto_gpu_rung          least;       /**< Refuse what is less close than this. 0: take what there is. */
    const sotto_gpu_d3d12*  d3d12;       /**< A renderer on Direct3D 12, or NULL. */
    const sotto_gpu_vulkan* vulkan;      /**< A renderer on Vulkan, or NULL. */
    const sotto_gpu_cuda*   cuda;        /**< A CUDA context, or NULL. */
} sotto_gpu_desc;

/**
 * A graphics card, as its driver describes it.
 *
 * @since 0.1
 */
typedef struct sotto_gpu_info {
    uint32_t  struct_size; /**< In: sizeof(sotto_gpu_info). */
    int32_t   cig_d3d12;   /**< Not 0: it can be shared with a renderer on Direct3D 12. */
    int32_t   cig_vulkan;  /**< Not 0: it can be shared with a renderer on Vulkan. */
    uint32_t  capability;  /**< Its CUDA compute capability: 89 is 8.9. */
    sotto_str name;        /**< Its name, for people. */
    sotto_str uuid;        /**< As in "00112233-4455-6677-8899-aabbccddeeff": Vulkan's deviceUUID. */
    uint64_t  luid;   /**< LowPart, and HighPart in the upper half. 0: it has none, as outside Windows. */
    uint64_t  vram;   /**< Bytes of memory on it. */
    sotto_str driver; /**< The newest CUDA that the driver speaks, as "13.0". */
    sotto_str cig_d3d12_why;  /**< Why not, where it can't. Else empty. */
    sotto_str cig_vulkan_why; /**< Why not, where it can't. Else empty. */
    sotto_str why;            /**< Why there is no card of that index. Else empty. */
} sotto_gpu_info;

/**
 * Describes a graphics card, and whether a renderer could share it. Waits for the driver, which may take
 * longer than a frame the first time.
 *
 * @param index  Which card, from 0, in the CUDA driver's order.
 * @param info   Out: the card; with SOTTO_EMPTY all zero, but for `why`.
 * @return SOTTO_OK, SOTTO_EMPTY (there is no such card, or no driver), SOTTO_ERROR_ARGUMENT or
 *         SOTTO_ERROR_MEMORY.
 *
 * @owner  Texts: the calling thread, until its next call of this function.
 * @thread Any.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL sotto_gpu_query(uint32_t index, sotto_gpu_info* info);

/**
 * Says what a renderer must enable when it makes its VkDevice, so that the card can be shared. Never
 * waits for a device.
 *
 * @param vulkan  Of it, `instance`, `physical_device` and `get_instance_proc_addr` are looked at.
 * @param needs   Out: what to add. Nothing, and `why`, where there is no need to.
 * @return SOTTO_OK, SOTTO_EMPTY (it can't be shared), SOTTO_ERROR_ARGUMENT, SOTTO_ERROR_UNSUPPORTED
 *         (there is no Vulkan) or SOTTO_ERROR_MEMORY.
 *
 * @owner  `why`: the calling thread, until its next call of this function. The rest: the library.
 * @thread Any.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL
sotto_gpu_query_vulkan(const sotto_gpu_vulkan* vulkan, sotto_gpu_vulkan_needs* needs);

#ifdef __cplusplus
}
#endif
#endif
