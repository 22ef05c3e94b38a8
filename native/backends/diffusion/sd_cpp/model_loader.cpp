// stable-diffusion.cpp's loader, without the end of line that its progress bar prints.
#include <cstdio>
#include <fstream>
#include <regex>
#include <thread>

#include "ggml_extend_backend.hpp"
#include "model.h"
#include "model_io/gguf_io.h"
#include "model_io/safetensors_io.h"
#include "util.h"

#define printf(...) static_cast<void>(0)
#include "model.cpp"
