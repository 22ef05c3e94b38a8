// A multimodal projector: encodes images and sounds into embeddings, with llama.cpp's mtmd and a projector
// file (mmproj).
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

// A part of a tokenized medium: the model's own tokens, or a stretch.
struct Piece {
    std::vector<llama_token> tokens;
    Stretch stretch; // no stretch if `stretch.chunk` is null
};
using Pieces = std::vector<Piece>;

// Threads for an encoder's graph, and the callback that can abort it.
struct EncoderStep {
    std::int32_t threads = 1;
    ggml_threadpool* pool = nullptr;
    ggml_abort_callback gate = nullptr;
    void* context = nullptr; // argument of `gate`
};

// Bytes as estimated by llama.cpp. Encoding an unusually large image takes more.
struct ProjectorFacts {
    std::uint64_t weights = 0;
    std::uint64_t compute = 0;
    std::string hash; // of the file
};

// Checks that the file of the option "projector" fits `model`, and estimates its memory. Throws Error.
ProjectorFacts
measure_projector(const sotto_model_source& source, const Options& options, const llama_model* model);

class Projector {
public:
    // Opens the file of the option "projector", which measure_projector() has checked. `progress` can abort
    // loading.
    Projector(
        const Options& options,
        const llama_model* model,
        std::string hash,
        mtmd_progress_callback progress,
        void* context
    );

    // Returns true if the file could be opened; otherwise the log holds the reason.
    explicit operator bool() const noexcept { return context_ != nullptr; }
    bool sees() const noexcept { return mtmd_support_vision(context_.get()); }
    bool hears() const noexcept { return mtmd_support_audio(context_.get()); }
    std::uint32_t sample_rate() const noexcept;
    // Hash of the file.
    const std::string& hash() const noexcept { return hash_; }

    // Tokenize an image or a sound. Throw Error(SOTTO_ERROR_ARGUMENT) with a message that names `path`. Any
    // thread, even while another thread encodes.
    Pieces cut(const Picture& picture, const std::string& path) const;
    Pieces cut(const std::vector<float>& sound, const std::string& path) const;

    // Computes a stretch's embeddings. Returns false if the gate aborted it. Throws Error.
    bool encode(Stretch& stretch, const EncoderStep& step) const;

    // Returns the positions of `count` embeddings from `offset` of a stretch that begins at `position`, in
    // the layout of a llama_batch.
    std::vector<llama_pos>
    positions(const Stretch& stretch, llama_pos position, std::size_t offset, std::size_t count) const;
    // Floats per embedding.
    std::size_t width() const noexcept { return width_; }

private:
    Pieces cut(const mtmd_bitmap* bitmap, const std::string& path) const;
    Piece piece_of(const mtmd_input_chunk* chunk) const;

    std::unique_ptr<mtmd_context, FreeProjector> context_;
    std::size_t width_;
    const std::string hash_;
    mutable std::mutex cutting_; // held while a medium is tokenized
};

} // namespace sotto::llama
