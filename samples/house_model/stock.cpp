// Answers greedily with nothing but llama.cpp's own library, to compare Sotto's answers with.
// Reads prompts from standard input, each ended by a zero byte, and writes an answer and a zero byte for
// each.
#include <llama.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

namespace {

std::vector<llama_token> tokens_of(const llama_vocab* vocab, const std::string& prompt) {
    std::vector<llama_token> tokens(prompt.size() + 8);
    const int count = llama_tokenize(
        vocab,
        prompt.data(),
        static_cast<int>(prompt.size()),
        tokens.data(),
        static_cast<int>(tokens.size()),
        /*add_special*/ true,
        /*parse_special*/ true
    );
    tokens.resize(count > 0 ? count : 0);
    return tokens;
}

std::string answer(llama_context* context, const llama_vocab* vocab, const std::string& prompt, int most) {
    llama_memory_clear(llama_get_memory(context), true);
    llama_sampler* greedy = llama_sampler_init_greedy();
    std::vector<llama_token> tokens = tokens_of(vocab, prompt);
    std::string said;
    for (int i = 0; i < most; ++i) {
        if (llama_decode(context, llama_batch_get_one(tokens.data(), static_cast<int>(tokens.size()))) != 0) {
            break;
        }
        llama_token next = llama_sampler_sample(greedy, context, -1);
        if (llama_vocab_is_eog(vocab, next)) {
            break;
        }
        char piece[128];
        said.append(piece, llama_token_to_piece(vocab, next, piece, sizeof piece, 0, false));
        tokens.assign(1, next);
    }
    llama_sampler_free(greedy);
    return said;
}

} // namespace

int main(int argc, char** argv) {
    if (argc != 3 && argc != 4) {
        std::fprintf(stderr, "usage: stock MODEL.gguf MOST_TOKENS [ADAPTER.gguf] < prompts\n");
        return 2;
    }
    llama_log_set([](ggml_log_level, const char*, void*) {}, nullptr);
    llama_model* model = llama_model_load_from_file(argv[1], llama_model_default_params());
    if (model == nullptr) {
        std::fprintf(stderr, "llama.cpp does not load %s\n", argv[1]);
        return 1;
    }
    llama_context_params params = llama_context_default_params();
    params.n_ctx = 2048;
    params.n_batch = 2048;
    params.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_DISABLED; // as Sotto has it on the CPU
    params.n_threads = params.n_threads_batch = 1;
    llama_context* context = llama_init_from_model(model, params);
    llama_adapter_lora* adapter = argc == 4 ? llama_adapter_lora_init(model, argv[3]) : nullptr;
    float scale = 1.0F;
    if (argc == 4 && (adapter == nullptr || llama_set_adapters_lora(context, &adapter, 1, &scale) != 0)) {
        std::fprintf(stderr, "llama.cpp does not load %s\n", argv[3]);
        return 1;
    }
    const llama_vocab* vocab = llama_model_get_vocab(model);
    for (std::string prompt; std::getline(std::cin, prompt, '\0');) {
        std::cout << answer(context, vocab, prompt, std::atoi(argv[2])) << '\0' << std::flush;
    }
    llama_free(context);
    llama_model_free(model);
}
