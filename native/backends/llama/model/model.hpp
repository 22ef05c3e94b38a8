// A model that is open: weights, a context, its sequences and streams.
#pragma once

#include "chat/prepare.hpp"
#include "file/adapter_check.hpp"
#include "file/gguf_check.hpp"
#include "file/mapped_file.hpp"
#include "kv/state_form.hpp"
#include "media/projector.hpp"
#include "model/backend.hpp"
#include "model/context.hpp"
#include "model/draft.hpp"
#include "model/options.hpp"
#include "step/stream.hpp"

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <span>

namespace sotto::llama {

// Whether a model's memory keeps each token apart, for as long as the sequence lasts: no sliding windows, no
// recurrent states.
bool keeps_all(const llama_model* model);

// How many tokens both begin with.
std::size_t common_prefix(std::span<const llama_token> a, std::span<const llama_token> b);

// What open and measure have in common.
struct Opened {
    MappedFile file; // what is mapped of the model's file and of its draft model's
    Weights weights;
    Context context;                      // none: it has no places
    std::unique_ptr<Projector> projector; // none: the model reads text alone
    std::unique_ptr<Draft> draft;         // none: no other model guesses what it says
    Options options;
    std::uint32_t places = 0; // for streams at once, up to `parallel` of the options
    Memory lasting;           // what it takes without any
    std::string description;
    std::string fingerprint;    // of what a state must be to be restored
    std::function<void()> poll; // throws where opening is cancelled; empty once the model is open
};
enum class Purpose {
    Run,
    Measure // allocates nothing large
};
// Checks and loads. Throws Error; of SOTTO_ERROR_CANCELLED where `source` says so.
Opened open_model(const Backend& backend, const sotto_model_source& source, Purpose purpose);
// Makes its contexts anew. Throws Error where they cannot be had; then it has no places.
void make_places(Call& call, Opened& opened, std::uint32_t places);
Memory memory_of(const Opened& opened);
sotto_model_info info_of(const Opened& opened);

// All but its end within a Call of its loss.
class Model {
public:
    Model(Backend& backend, Opened opened);
    ~Model();
    Model(const Model&) = delete;
    Model& operator=(const Model&) = delete;

    // Makes a request ready, or answers it. Any thread.
    std::unique_ptr<Prepared> prepare(const sotto_stream_desc& desc) const;
    // Prepares the request, if that is not done.
    Stream*
    open_stream(const sotto_stream_desc& desc, std::unique_ptr<Prepared> prepared, sotto_stream_info& info);
    void close_stream(Stream* stream) noexcept;
    // Takes a stream's sequence from it, and gives it one again. Says how many tokens are to be worked
    // through.
    void park(Stream& stream) noexcept;
    std::uint32_t unpark(Stream& stream);
    // Reads what a stream generated so far; the deltas stay until the stream is read again.
    sotto_str parse(Stream& stream, std::string_view text, bool last);
    // Writes what is remembered of a stream, and takes it back. Both return how many tokens that is.
    std::uint32_t save(Stream& stream, sotto_write_fn write, void* context);
    std::uint32_t restore(std::string_view state);
    // Has so many sequences from now on, 0 to as many as its options have. All streams are parked, and what
    // was remembered is forgotten. Where it throws after that, it has none.
    void resize(std::uint32_t places);
    sotto_status step(const sotto_step& step);
    // What an adapter takes, then the adapter; `bytes`: out, what it takes.
    std::uint64_t measure_adapter(const sotto_adapter_source& source) const;
    Adapter* open_adapter(const sotto_adapter_source& source, std::uint64_t& bytes);
    void close_adapter(Adapter* adapter) noexcept;

    const sotto_backend_host& host() const noexcept { return backend_.host; }
    // Throws Error(SOTTO_ERROR_MODEL) where a mapped file was cut: what was computed since is worthless.
    void check_file() const { opened_.file.check(); }
    const Loss& loss() const noexcept { return opened_.options.loss; }
    sotto_model_info info() const { return info_of(opened_); }
    std::string why; // of the last failure on the compute thread

private:
    struct Share;

    // A free sequence, and how many tokens of whoever takes it it holds already.
    struct Place {
        llama_seq_id sequence = kNoSequence;
        std::size_t common = 0;
    };
    Place best_place(
        const std::vector<llama_token>& tokens, std::uint64_t adapters, bool reuse, const Stream* whose
    ) const;
    std::uint64_t distance(std::size_t place, std::uint64_t adapters) const;
    void take_place(Stream& stream);
    void leave(Stream& stream, bool comes_back) noexcept;
    void forget_parked(const Stream& stream) noexcept;
    std::size_t cut_memory(const Stream& stream, std::size_t keep);
    bool make_room(Stream& stream);
    bool keeps_all() const;
    bool holds(std::uint64_t state, std::size_t count) noexcept;
    void watch();

    void seek(Stream& stream, const sotto_step* step);
    void copy_beginning(const Sequence& source, Stream& stream, std::size_t count);
    bool waits(Stream& stream, const sotto_step& step);

    std::uint64_t bytes_of(const AdapterFacts& facts) const;
    void use_adapters(const sotto_step& step);
    void use_threads(const sotto_step& step);
    std::vector<Share> shares_of(const sotto_step& step);
    std::uint32_t wanted_of(sotto_step_item& work, Stream& stream, const sotto_step& step);
    bool speculates() const noexcept { return opened_.options.speculates(); }
    void guess(std::vector<Share>& shares);
    void look_up(Share& share, std::size_t most);
    void draft(Share& share, std::size_t most);
    void learn_cost(const Share& share);
    std::chrono::steady_clock::time_point now() const; // stands still where nothing hangs on it
    void fill_batch(std::vector<Share>& shares);
    void add_to_batch(const Stream& stream, std::size_t at, llama_token token, bool output);
    int decode(const std::vector<Share>& shares);
    sotto_status run(std::vector<Share>& shares);
    sotto_status run_alone(std::vector<Share>& shares);
    void run_media(Share& share, bool alone);
    void work_through(Share& share);
    int decode_media(const Stream& stream, const Stretch& stretch, std::size_t held, std::size_t count);
    void take_back(const std::vector<Share>& shares);
    void take_over(Share& share);
    void choose(const Share& share);
    void forget_damaged_state();
    static bool on_gate(void* self);

    Backend& backend_;
    Opened opened_;
    Preparer preparer_;
    std::string result_; // of the last operation that computed nothing
    std::string stops_;  // of the stream opened last, as JSON
    std::vector<Sequence> sequences_;
    std::uint64_t clock_ = 0;   // of Sequence::last_used
    std::uint64_t decoded_ = 0; // batches that came through
    StateForm form_;            // of states of the context

    const sotto_step* stepping_ = nullptr;
    bool cancelled_ = false;
    bool damaged_ = false;                        // a state that was restored, as this step shows
    std::chrono::steady_clock::time_point begun_; // of this step's work
    std::chrono::nanoseconds waited_{};           // at gates since then
    Speculation lookups_;
    Speculation drafts_;
    ggml_threadpool* pool_ = nullptr;
    std::int32_t threads_ = 0;

    // The batch, with room for the largest step.
    std::vector<llama_token> batch_tokens_;
    std::vector<llama_pos> batch_positions_;
    std::vector<std::int32_t> batch_ones_;
    std::vector<llama_seq_id> sequence_ids_;
    std::vector<llama_seq_id*> batch_sequences_;
    std::vector<std::int8_t> batch_outputs_;
    std::int32_t batch_size_ = 0;
};

} // namespace sotto::llama
