// What llama-quant.cpp uses instead of std::ofstream, std::thread and ggml_quantize_chunk(), so that the
// caller of llama_model_quantize() receives the new file, and can end the quantization at any time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <ios>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

namespace sotto::llama {

// Receives the new file.
class QuantizeOutput {
public:
    virtual ~QuantizeOutput() = default;
    // Receives `size` bytes for `offset`. Throws to end the quantization.
    virtual void write(std::uint64_t offset, const char* bytes, std::size_t size) = 0;
    // Called on any thread before `elements` numbers are quantized. Returns false to skip them: the next
    // write() must throw.
    virtual bool advance(std::uint64_t elements) noexcept = 0;

    // The output of the quantization that the calling thread takes part in; null: none.
    static QuantizeOutput* current() noexcept;
    // Sets current() while it exists.
    class Scope {
    public:
        explicit Scope(QuantizeOutput* output) noexcept;
        ~Scope();
        Scope(const Scope&) = delete;
        Scope& operator=(const Scope&) = delete;

    private:
        QuantizeOutput* outer_;
    };
};

// Writes to the current output. Has the functions of std::ofstream that llama-quant.cpp calls.
class QuantizedFile {
public:
    static constexpr std::ios::iostate failbit = std::ios::failbit;

    QuantizedFile() = default;
    QuantizedFile(const std::string& name, std::ios::openmode mode);

    void exceptions(std::ios::iostate) noexcept {} // write() throws
    bool is_open() const noexcept { return output_ != nullptr; }
    void write(const char* bytes, std::size_t size);
    void seekp(std::uint64_t offset);
    void close();

private:
    void flush();

    QuantizeOutput* output_ = nullptr;
    std::uint64_t offset_ = 0; // of `pending_`
    std::string pending_;      // bytes that were not passed to the output yet
};

// A thread that runs its function at once, on the calling thread, if no thread can be started: the destructor
// of a std::vector with running threads would end the process.
class QuantizeThread {
public:
    template <typename Function, typename... Args>
    explicit QuantizeThread(Function function, Args... args) {
        const auto run = [output = QuantizeOutput::current(), function, args...] {
            const QuantizeOutput::Scope scope(output);
            function(args...);
        };
        try {
            thread_ = std::thread(run);
        } catch (const std::system_error&) {
            run();
        }
    }
    ~QuantizeThread() { join(); }
    QuantizeThread(QuantizeThread&&) = default;
    QuantizeThread& operator=(QuantizeThread&&) = delete;

    void join() {
        if (thread_.joinable()) {
            thread_.join();
        }
    }
    static unsigned hardware_concurrency() noexcept { return std::thread::hardware_concurrency(); }

private:
    std::thread thread_;
};

} // namespace sotto::llama
