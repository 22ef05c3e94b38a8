/* Reads models through FileAccess, so that they may be in the .pck. The engine calls from its own threads. */
#include <stdlib.h>

#include "speech.h"

static GDExtensionObjectPtr access_of(const Value* opened) {
    GDExtensionObjectPtr access = NULL;
    gd_read(OBJECT, opened, &access);
    return access;
}

static sotto_status SOTTO_CALL open_file(void* self, sotto_str path, void** file, uint64_t* size) {
    (void)self;
    Value* opened = malloc(sizeof *opened);
    if (opened == NULL) {
        return SOTTO_ERROR_MEMORY;
    }
    *opened = GD_STATIC("FileAccess", "open", gd_text(path.data, path.size), gd_int(1)); /* 1: READ */
    if (access_of(opened) == NULL) {
        gd_drop(*opened);
        free(opened);
        return SOTTO_ERROR_NOT_FOUND;
    }
    *size = (uint64_t)gd_to_int(GD_GET(access_of(opened), "get_length"));
    *file = opened;
    return SOTTO_OK;
}

static sotto_status SOTTO_CALL
read_file(void* self, void* file, uint64_t offset, void* buffer, uint64_t bytes) {
    (void)self;
    GDExtensionObjectPtr access = access_of(file);
    gd_drop(GD_CALL(access, "seek", gd_int((int64_t)offset)));
    return gd.file_access_get_buffer(access, buffer, bytes) == bytes ? SOTTO_OK : SOTTO_ERROR_MODEL;
}

static void SOTTO_CALL close_file(void* self, void* file) {
    (void)self;
    gd_drop(*(Value*)file);
    free(file);
}

const sotto_file_access godot_files = {sizeof(sotto_file_access), 0, open_file, read_file, close_file, NULL};
