/**
 * @file sotto_unity.h
 * Unity's graphics device for Sotto: the exports of the native plugin `sotto_unity`.
 *
 * Unity hands its Direct3D 12 or Vulkan device to native plugins only. The plugin keeps track of that
 * device and attaches engines to it. It detaches them before Unity destroys or resets the device, so that
 * no engine holds a queue that is gone. C# polls these functions; the plugin never calls into C#.
 *
 * Vulkan shares a queue with CUDA (SOTTO_GPU_SHARING_CIG) only if its device was created for that. If Unity
 * loads the plugin before it creates the device ("Load on startup", `isPreloaded: 1` in the .meta file), the
 * plugin adds what sotto_gpu_query_vulkan() asks for to Unity's vkCreateDevice().
 */
#ifndef SOTTO_UNITY_H
#define SOTTO_UNITY_H

#include <sotto/engine.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Version of these declarations. A plugin with another version has other functions or structs. */
#define SOTTO_UNITY_ABI 1

/** Renderer that Unity draws with. */
typedef int32_t sotto_unity_renderer;
enum {
    SOTTO_UNITY_RENDERER_NONE = 0,   /**< None, as with -nographics, or not created yet. */
    SOTTO_UNITY_RENDERER_D3D12 = 1,  /**< Direct3D 12. */
    SOTTO_UNITY_RENDERER_VULKAN = 2, /**< Vulkan. */
    SOTTO_UNITY_RENDERER_OTHER = 3   /**< A renderer whose device can't be shared, as Direct3D 11. */
};

/** State of Unity's graphics device. */
typedef int32_t sotto_unity_state;
enum {
    SOTTO_UNITY_STATE_NOT_LOADED = 0, /**< Unity did not call UnityPluginLoad(). */
    SOTTO_UNITY_STATE_NO_DEVICE = 1,  /**< Unity has no device yet, or destroyed it. */
    SOTTO_UNITY_STATE_READY = 2,      /**< Engines can be attached. */
    SOTTO_UNITY_STATE_RESETTING = 3,  /**< Unity resets the device, for example after it was lost. */
    SOTTO_UNITY_STATE_UNSUPPORTED = 4 /**< The renderer can't be shared. */
};

/**
 * Unity's graphics device.
 *
 * @since 0.1
 */
typedef struct sotto_unity_graphics_info {
    uint32_t struct_size;          /**< In: sizeof(sotto_unity_graphics_info). */
    sotto_unity_state state;       /**< Whether engines can be attached. */
    sotto_unity_renderer renderer; /**< What Unity draws with. */
    int32_t unity_renderer;        /**< Unity's own number of the renderer. -1: not known. */
    /** Number of devices so far. An increase means that engines must be attached again. 0: none yet. */
    uint32_t generation;
    int32_t cig_prepared; /**< Nonzero: the device was created with all that SOTTO_GPU_SHARING_CIG needs. */
    /** Reason why `state` is not READY or, if it is, why `cig_prepared` is 0. Else empty. */
    sotto_str reason;
} sotto_unity_graphics_info;

/**
 * Returns the version of the plugin's functions and structs. Never waits.
 *
 * @return SOTTO_UNITY_ABI that the plugin was built with.
 *
 * @thread Any.
 * @since  0.1
 */
SOTTO_API uint32_t SOTTO_CALL sotto_unity_abi(void);

/**
 * Describes Unity's graphics device. Never waits.
 *
 * @param info  Out: the device.
 * @return SOTTO_OK or SOTTO_ERROR_ARGUMENT.
 *
 * @owner  `reason`: the calling thread, until its next call of this function.
 * @thread Any.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL sotto_unity_graphics(sotto_unity_graphics_info* info);

/**
 * Attaches an engine to Unity's device. Waits for the driver, as sotto_engine_attach_gpu() does, and for a
 * running attachment or detachment of another thread: call it on a loading screen.
 *
 * The engine is detached again before Unity destroys or resets the device. It is not attached to the next
 * device: compare `generation` of sotto_unity_graphics().
 *
 * @param engine       The engine. It has no GPU yet.
 * @param min_sharing  Minimum sharing level; a lower one is an error. 0: accept any level.
 * @param sharing      Out: the sharing level, SOTTO_GPU_SHARING_NONE on failure. NULL: not reported.
 * @return SOTTO_OK, SOTTO_ERROR_STATE (no device now, or the engine already has one),
 *         SOTTO_ERROR_UNSUPPORTED (a renderer that can't be shared, no Sotto library, one of another
 *         version, or a level below `min_sharing`), or another status of sotto_engine_attach_gpu().
 *
 * @thread Any, except inside a callback.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL
sotto_unity_attach(sotto_engine* engine, sotto_gpu_sharing min_sharing, sotto_gpu_sharing* sharing);

/**
 * Detaches an engine from Unity's device. Waits as sotto_engine_detach_gpu() does.
 *
 * @param engine  The engine.
 * @return SOTTO_OK, SOTTO_ERROR_STATE (not attached, or already detached with the device) or another status
 *         of sotto_engine_detach_gpu().
 *
 * @thread Any, except inside a callback.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL sotto_unity_detach(sotto_engine* engine);

/**
 * Returns the error message of the last call of this plugin that failed on the calling thread. Never waits.
 *
 * @return One line of English, without a newline. Empty if no call failed yet.
 *
 * @owner  The calling thread, until its next failed call.
 * @thread Any.
 * @since  0.1
 */
SOTTO_API sotto_str SOTTO_CALL sotto_unity_last_error(void);

#ifdef __cplusplus
}
#endif
#endif
