// A projector: what makes images and sounds into what a model reads. llama.cpp's mtmd, with one of its files.
#pragma once

#include "media/media.hpp"
#include "media/media_file.hpp"
#include "model/options.hpp"

#include <ggml-cpu.h>
#include <mutex>
#include <string>
#include <vector>

namespace sotto::llama {

struct FreeProjector {
    void operator()(mtmd_context* context) const noexcept { mtmd_free(context); }
};

// A piece of what a medium becomes: the model's own tokens, or a stretch.
struct Piece {
    std::vector<llama_token> tokens;
    Stretch stretch; // without a chunk: there is none
};
using Pieces = std::vector<Piece>;

// What an encoder's graph is computed on, and what may end it.
struct EncoderStep {
    std::int32_t threads = 1;
    ggml_threadpool* pool = nullptr;
    ggml_abort_callback gate = nullptr;
    void* context = nullptr; // of `gate`
};

// Bytes, as far as llama.cpp can tell: encoding an image that is larger than a common one takes more.
struct ProjectorMemory {
    std::uint64_t weights = 0;
    std::uint64_t compute = 0;
};

// Checks that the file at the option "projector" fits `model`, and says what it would take. Throws Error.
ProjectorMemory
measure_projector(const sotto_model_source& source, const Options& options, const llama_model* model);

class Projector {
public:
    // Of a file that was measured before. `progress` may end the opening.
    Projector(
        const Options& options, const llama_model* model, mtmd_progress_callback progress, void* context
    );

    // Whether it is open; else the log says why not.
    explicit operator bool() const noexcept { return context_ != nullptr; }
    bool sees() const noexcept { return mtmd_support_vision(context_.get()); }
    bool hears() const noexcept { return mtmd_support_audio(context_.get()); }
    std::uint32_t sample_rate() const noexcept;

    // Both throw Error(SOTTO_ERROR_ARGUMENT) that begins with `path`. Any thread, also while another encodes.
    Pieces cut(const Picture& picture, const std::string& path) const;
    Pieces cut(const std::vector<float>& sound, const std::string& path) const;

    // Computes a stretch's embeddings. False where the gate was closed. Throws Error.
    bool encode(Stretch& stretch, const EncoderStep& step) const;

    // Where `count` embeddings of a stretch stand, from `offset`, if the stretch begins at `position`: as a
    // batch of llama.cpp's has it.
    std::vector<llama_pos>
    positions(const Stretch& stretch, llama_pos position, std::size_t offset, std::size_t count) const;
    // Numbers of one embedding.
    std::size_t width() const noexcept { return width_; }

private:
    Pieces cut(const mtmd_bitmap* bitmap, const std::string& path) const;
    Piece piece_of(const mtmd_input_chunk* chunk) const;

    std::unique_ptr<mtmd_context, FreeProjector> context_;
    std::size_t width_;
    mutable std::mutex cutting_; // held while a medium is cut
};

} // namespace sotto::llama
