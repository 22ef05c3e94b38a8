// Reports that a mapped model file was cut. This part is the same on all platforms.
#include "file/mapped_file.hpp"

#include "runtime/fence.hpp"

namespace sotto::llama {

void MappedFile::check() const {
    if (cut()) {
        throw Error(
            SOTTO_ERROR_MODEL,
            "the model's file was cut or could not be read while its weights were mapped; unload the model, "
            "restore the file and load it again, or load it with option \"mmap\": false"
        );
    }
}

} // namespace sotto::llama
