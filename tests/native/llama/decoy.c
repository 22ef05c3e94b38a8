// A library that has other things under llama.cpp's names, as another plugin of a game may.
#include <stdlib.h>

#define DECOY(name)                                                                                          \
    void name(void);                                                                                         \
    void name(void) {                                                                                        \
        abort();                                                                                             \
    }

DECOY(ggml_init)
DECOY(ggml_free)
DECOY(ggml_abort)
DECOY(ggml_log_set)
DECOY(ggml_backend_cpu_reg)
DECOY(ggml_backend_cpu_init)
DECOY(ggml_backend_reg_count)
DECOY(ggml_backend_dev_count)
DECOY(ggml_graph_compute)
DECOY(ggml_threadpool_new)
DECOY(ggml_set_abort_callback)
DECOY(gguf_init_from_file_ptr)
DECOY(llama_backend_init)
DECOY(llama_decode)
DECOY(llama_init_from_model)
DECOY(llama_log_set)
DECOY(llama_model_load_from_file)
DECOY(llama_model_load_from_file_ptr)
DECOY(llama_model_default_params)
DECOY(llama_tokenize)
