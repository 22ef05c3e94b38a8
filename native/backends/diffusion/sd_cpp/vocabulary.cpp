// Vocabularies of the tokenizers, as vocabularies.py wrote them. Replaces tokenizers/vocab/vocab.cpp.
#include <tokenizers/vocab/vocab.h>

#include <stdexcept>

#if defined(_WIN32)
#  define SOTTO_SECTION ".section .rdata,\"dr\"\n"
#else
#  define SOTTO_SECTION ".section .rodata\n"
#endif
// Defines the symbols sotto_<name> and sotto_<name>_end around the bytes of a file.
#define SOTTO_BYTES(name, file)                                                                              \
    asm(SOTTO_SECTION ".global sotto_" #name "\n.global sotto_" #name "_end\n"                               \
                      "sotto_" #name ":\n.incbin \"" SOTTO_VOCABULARIES "/" file ".bin\"\n"                  \
                      "sotto_" #name "_end:\n.byte 0\n.text\n");                                             \
    extern "C" const char sotto_##name[];                                                                    \
    extern "C" const char sotto_##name##_end[];

SOTTO_BYTES(clip_merges, "clip_merges_utf8_c_str")
SOTTO_BYTES(qwen2_merges, "qwen2_merges_utf8_c_str")
SOTTO_BYTES(mistral_merges, "mistral_merges_utf8_c_str")
SOTTO_BYTES(mistral_vocab, "mistral_vocab_json_utf8_c_str")
SOTTO_BYTES(t5_tokenizer, "t5_tokenizer_json_str")

std::string load_clip_merges() {
    return {sotto_clip_merges, sotto_clip_merges_end};
}

std::string load_qwen2_merges() {
    return {sotto_qwen2_merges, sotto_qwen2_merges_end};
}

std::string load_mistral_merges() {
    return {sotto_mistral_merges, sotto_mistral_merges_end};
}

std::string load_mistral_vocab_json() {
    return {sotto_mistral_vocab, sotto_mistral_vocab_end};
}

std::string load_t5_tokenizer_json() {
    return {sotto_t5_tokenizer, sotto_t5_tokenizer_end};
}

// Of video models, which this module does not open.
std::string load_umt5_tokenizer_json() {
    throw std::runtime_error("the model is a video model: expected a model of images");
}
