// Replaces the readers of PyTorch's pickles in stable-diffusion.cpp: weights_check.hpp refuses such files
// before.
#include <model_io/torch_legacy_io.h>
#include <model_io/torch_zip_io.h>
#include <zip.h>

bool is_torch_zip_file(const std::string&) {
    return false;
}

bool read_torch_zip_file(const std::string&, std::vector<TensorStorage>&, std::string*) {
    return false;
}

bool read_torch_legacy_file(const std::string&, std::vector<TensorStorage>&, std::string*) {
    return false;
}

extern "C" {

zip_t* zip_open(const char*, int, char) {
    return nullptr;
}

void zip_close(zip_t*) {}

int zip_entry_openbyindex(zip_t*, size_t) {
    return -1;
}

int zip_entry_close(zip_t*) {
    return -1;
}

unsigned long long zip_entry_size(zip_t*) {
    return 0;
}

ssize_t zip_entry_noallocread(zip_t*, void*, size_t) {
    return -1;
}
}
