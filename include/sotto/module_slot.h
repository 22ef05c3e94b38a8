/**
 * @file sotto/module_slot.h
 * API for backend authors: slots of a model by their numbers, from 0 to sotto_model_info.streams - 1.
 *
 * A slot holds the KV cache of one stream. After the stream is closed, the slot may keep the cached tokens
 * for a later stream. The functions below are called on the compute thread, while no step runs.
 *
 * This header is stable within a minor version, like sotto/module.h, which includes it.
 */
#ifndef SOTTO_MODULE_SLOT_H
#define SOTTO_MODULE_SLOT_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * State of a slot.
 *
 * @since 0.1
 */
typedef struct sotto_slot_info {
    uint32_t struct_size; /**< In: sizeof(sotto_slot_info). */
    uint32_t tokens;      /**< Out: number of tokens that the slot holds. */
    int32_t  in_use;      /**< Out: nonzero: a stream has the slot. */
    uint32_t reserved;    /**< Must be 0. */
} sotto_slot_info;

/** Receives bytes of a state. Nonzero: out of memory; the caller stops and returns SOTTO_ERROR_MEMORY. */
typedef int32_t(SOTTO_CALL* sotto_write_fn)(void* context, const void* bytes, size_t count);

/** Returns the state of slot `slot`. */
typedef sotto_status(SOTTO_CALL* sotto_slot_read_fn)(
    void* self, void* model, uint32_t slot, sotto_slot_info* info, sotto_str* reason
);
/**
 * Writes the KV cache state of a free slot, in the format of `state_save`. Out: `tokens`, the number of
 * tokens in the state. Returns SOTTO_ERROR_BUSY if a stream has the slot, SOTTO_ERROR_STATE if the slot holds
 * no token.
 */
typedef sotto_status(SOTTO_CALL* sotto_slot_save_fn)(
    void*          self,
    void*          model,
    uint32_t       slot,
    sotto_write_fn write,
    void*          context,
    uint32_t*      tokens,
    sotto_str*     reason
);
/**
 * Loads a saved state into a free slot, instead of what the slot holds. Out: `tokens`, the number of tokens
 * in the state. Returns SOTTO_ERROR_BUSY if a stream has the slot.
 */
typedef sotto_status(SOTTO_CALL* sotto_slot_restore_fn)(
    void* self, void* model, uint32_t slot, sotto_str state, uint32_t* tokens, sotto_str* reason
);
/**
 * Empties a free slot. Out: `tokens`, the number of tokens that the slot held. Returns SOTTO_ERROR_BUSY if a
 * stream has the slot.
 */
typedef sotto_status(SOTTO_CALL* sotto_slot_erase_fn)(
    void* self, void* model, uint32_t slot, uint32_t* tokens, sotto_str* reason
);

#ifdef __cplusplus
}
#endif

#endif /* SOTTO_MODULE_SLOT_H */
