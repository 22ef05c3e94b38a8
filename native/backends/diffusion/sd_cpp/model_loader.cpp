// stable-diffusion.cpp's loader, whose threads report failures instead of ending the process, and without the
// end of line that its progress bar prints.
#include <cstdio>
#include <fstream>
#include <regex>
#include <thread>

#include "backends/diffusion/load_run.hpp"

#include "ggml_extend_backend.hpp"
#include "model.h"
#include "model_io/gguf_io.h"
#include "model_io/safetensors_io.h"
#include "util.h"

namespace std {

struct loading_thread : thread {
    template <typename Body>
    explicit loading_thread(Body&& body) : thread(guarded(std::forward<Body>(body))) {}

private:
    template <typename Body>
    static auto guarded(Body&& body) {
        const auto* load = dynamic_cast<const sotto::diffusion::LoadRun*>(sotto::diffusion::Run::current());
        return [body = std::forward<Body>(body), load]() mutable {
            try {
                body();
            } catch (...) {
                if (load != nullptr) {
                    load->fail();
                }
            }
        };
    }
};

} // namespace std

#define thread loading_thread
#define printf(...) static_cast<void>(0)
#include "model.cpp"
