// Runs the golden tests; --write records their output.
#define DOCTEST_CONFIG_IMPLEMENT
#include "golden_file.hpp"

#include <doctest/doctest.h>
#include <llama.h>
#include <string_view>

int main(int count, char** words) {
    llama_log_set([](ggml_log_level, const char*, void*) {}, nullptr);
    for (int i = 1; i < count; ++i) {
        golden::File::writes = golden::File::writes || words[i] == std::string_view("--write");
    }
    doctest::Context context(count, words);
    return context.run();
}
