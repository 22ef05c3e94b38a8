// Another ggml in the process, with all symbols exported, does not interpose ours.
#include "module_under_test.hpp"
#include "support/paths.hpp"

#include <dlfcn.h>
#include <doctest/doctest.h>

using namespace under_test;

TEST_CASE("a foreign ggml in the process is never called") {
    REQUIRE(dlopen(test::paths::kOtherGgml, RTLD_NOW | RTLD_GLOBAL) != nullptr);
    REQUIRE(dlsym(RTLD_DEFAULT, "llama_decode") != nullptr);
    Model model;
    REQUIRE_MESSAGE(model, model.why);
    Stream stream(model, chat("who is the king"));
    CHECK(stream.run(8).status == SOTTO_OK);
    CHECK(stream.answer.tokens > 0);
}

TEST_CASE("the module exports one symbol") {
    entry();
    for (const char* name : {"ggml_backend_sched_new", "llama_n_ctx", "ggml_backend_registry"}) {
        CHECK(dlsym(RTLD_DEFAULT, name) == nullptr);
    }
}
