// The game of sotto_bench_frames with a plain llama.cpp loop in its process: one thread that decodes all
// sequences in one batch, as a binding of libllama does it. One JSON object on stdout.
//
//     sotto_peer_in_process threads= iterations= seconds= [warmup=] model= words= streams= prompt= tokens=
//     compute_threads=
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include <llama.h>

#include "support/game.hpp"

using namespace bench;

namespace {

constexpr const char* kUsage = "sotto_peer_in_process threads=1 iterations=1000000 seconds=20 model=... "
                               "words=... streams=4 prompt=512 tokens=128 compute_threads=2";

class Characters {
public:
    explicit Characters(const Arguments& arguments)
        : words_(arguments.text("words")), prompt_(arguments.count("prompt")),
          tokens_(arguments.count("tokens")), streams_(arguments.count("streams")) {
        llama_log_set([](ggml_log_level, const char*, void*) {}, nullptr);
        llama_backend_init();
        const auto path = arguments.text("model");
        model_ = llama_model_load_from_file(path.c_str(), llama_model_default_params());
        if (model_ == nullptr) {
            die("llama.cpp cannot load " + path);
        }
        constexpr std::uint32_t kSpare = 16;
        auto wanted = llama_context_default_params();
        wanted.n_ctx = arguments.count("streams") * (prompt_ + tokens_ + kSpare);
        wanted.n_seq_max = arguments.count("streams");
        wanted.n_batch = kBatch;
        wanted.n_threads = static_cast<std::int32_t>(arguments.count("compute_threads"));
        wanted.n_threads_batch = wanted.n_threads;
        context_ = llama_init_from_model(model_, wanted);
        if (context_ == nullptr) {
            die("llama.cpp makes no context for " + path);
        }
        batch_ = llama_batch_init(kBatch, 0, 1);
        thread_ = std::thread([this] {
            while (!ends_) {
                step();
            }
        });
    }

    ~Characters() {
        ends_ = true;
        thread_.join();
        llama_batch_free(batch_);
        llama_free(context_);
        llama_model_free(model_);
    }
    Characters(const Characters&) = delete;
    Characters& operator=(const Characters&) = delete;

    std::uint64_t tokens() const { return said_; }
    std::uint64_t answers() const { return answers_; }

private:
    static constexpr std::int32_t kBatch = 512;

    struct Stream {
        std::uint32_t asked = 0;
        std::vector<llama_token> prompt;
        std::size_t read = 0;     // of the prompt
        std::uint32_t wanted = 0; // tokens of its answer
        std::uint32_t said = 0;
        llama_token last = 0;
        std::int32_t logits = -1; // where in the batch
    };

    // A token of each stream that speaks, and as much of the others' prompts as there is room for.
    void step() {
        batch_.n_tokens = 0;
        for (std::uint32_t i = 0; i < streams_.size(); ++i) {
            auto& stream = streams_[i];
            stream.logits = -1;
            if (stream.said > 0) {
                add(stream, i, stream.last, stream.prompt.size() + stream.said - 1, true);
            }
        }
        for (std::uint32_t i = 0; i < streams_.size(); ++i) {
            auto& stream = streams_[i];
            if (stream.prompt.empty()) {
                ask(stream, i);
            }
            while (stream.read < stream.prompt.size() && batch_.n_tokens < kBatch) {
                const auto at = stream.read++;
                add(stream, i, stream.prompt[at], at, stream.read == stream.prompt.size());
            }
        }
        if (llama_decode(context_, batch_) != 0) {
            die("llama_decode did not go on");
        }
        for (std::uint32_t i = 0; i < streams_.size(); ++i) {
            if (streams_[i].logits >= 0) {
                say(streams_[i], i);
            }
        }
    }

    void add(Stream& stream, std::uint32_t index, llama_token token, std::size_t at, bool logits) {
        const auto place = batch_.n_tokens++;
        batch_.token[place] = token;
        batch_.pos[place] = static_cast<llama_pos>(at);
        batch_.n_seq_id[place] = 1;
        batch_.seq_id[place][0] = static_cast<llama_seq_id>(index);
        batch_.logits[place] = logits ? 1 : 0;
        if (logits) {
            stream.logits = place;
        }
    }

    void ask(Stream& stream, std::uint32_t index) {
        // One word less than tokens are wanted: most models put one before a prompt.
        const auto answer = stream.asked++;
        const auto text = words_.sentence(prompt_ - 1, kind_of(index, answer));
        stream.wanted = length_of(index, static_cast<std::uint32_t>(streams_.size()), answer, tokens_);
        std::vector<llama_token> tokens(text.size() + 2);
        const auto count = llama_tokenize(
            llama_model_get_vocab(model_),
            text.data(),
            static_cast<std::int32_t>(text.size()),
            tokens.data(),
            static_cast<std::int32_t>(tokens.size()),
            true,
            false
        );
        tokens.resize(static_cast<std::size_t>(std::max(count, 0)));
        stream.prompt = std::move(tokens);
        stream.read = 0;
    }

    // The likeliest token, whether or not it would end the answer.
    void say(Stream& stream, std::uint32_t index) {
        const auto* logits = llama_get_logits_ith(context_, stream.logits);
        const auto words = llama_vocab_n_tokens(llama_model_get_vocab(model_));
        stream.last = static_cast<llama_token>(std::max_element(logits, logits + words) - logits);
        ++said_;
        if (++stream.said == stream.wanted) {
            llama_memory_seq_rm(llama_get_memory(context_), static_cast<llama_seq_id>(index), -1, -1);
            stream.prompt.clear();
            stream.said = 0;
            ++answers_;
        }
    }

    Words words_;
    std::uint32_t prompt_;
    std::uint32_t tokens_;
    std::vector<Stream> streams_;
    llama_model* model_ = nullptr;
    llama_context* context_ = nullptr;
    llama_batch batch_{};
    std::atomic<std::uint64_t> said_{0};
    std::atomic<std::uint64_t> answers_{0};
    std::atomic<bool> ends_{false};
    std::thread thread_;
};

} // namespace

int main(int count, char** given) {
    const Arguments arguments(count, given, kUsage);
    Work work(arguments.count("threads"), static_cast<std::uint64_t>(arguments.number("iterations")));
    Characters characters(arguments);
    play(work, arguments.number("warmup", 1), {});
    const auto tokens = characters.tokens();
    const auto answers = characters.answers();
    const auto played = play(work, arguments.number("seconds"), {});
    std::printf("%s\n", told(played, characters.tokens() - tokens, characters.answers() - answers).c_str());
}
