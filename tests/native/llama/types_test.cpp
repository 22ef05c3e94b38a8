// The accepted weight types are those that ggml computes with.
#include "file/tensor_rules.hpp"

#include <doctest/doctest.h>
#include <ggml-cpu.h>
#include <ggml.h>

TEST_CASE("weight types are those for which ggml's CPU code has a dot product") {
    for (std::uint32_t type = 0; type < GGML_TYPE_COUNT; ++type) {
        const auto known = static_cast<ggml_type>(type);
        if (ggml_blck_size(known) == 0) {
            continue; // an unused number
        }
        CAPTURE(ggml_type_name(known));
        const auto* traits = ggml_get_type_traits_cpu(known);
        CHECK(sotto::llama::reads_as_weights(type) == (traits->vec_dot != nullptr));
    }
    CHECK_FALSE(sotto::llama::reads_as_weights(GGML_TYPE_COUNT));
}
