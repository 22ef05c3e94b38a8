// The C calls of a vector index: invalid handles, missing pointers, structs of other versions.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>
#include <sotto/sotto.h>

namespace {

std::string last_error() {
    const auto text = sotto_last_error();
    return {text.data, text.size};
}

sotto_index* made(std::uint32_t dim = 2) {
    auto desc = SOTTO_INIT(sotto_index_desc);
    desc.dim = dim;
    sotto_index* index = nullptr;
    REQUIRE(sotto_index_create(&desc, &index) == SOTTO_OK);
    return index;
}

// Calls every function on a handle that is no index.
void check_refused(sotto_index* index, const char* reason) {
    const float vector[] = {1, 2};
    std::uint64_t label = 1;
    float distance = 0;
    std::uint32_t count = 7;
    std::int32_t found = 7;
    auto search = SOTTO_INIT(sotto_search_desc);
    auto info = SOTTO_INIT(sotto_index_info);
    search.k = 1;
    const sotto_status refused[] = {
        sotto_index_insert(index, vector, 2, &label, 1),
        sotto_index_update(index, vector, 2, 1),
        sotto_index_remove(index, 1),
        sotto_index_build(index, nullptr),
        sotto_index_search(index, &search, vector, 2, &label, &distance, &count),
        sotto_index_search_batch(index, &search, vector, 2, 1, &label, &distance, &count),
        sotto_index_get_info(index, &info),
        sotto_index_contains(index, 1, &found),
        sotto_index_save(index, {"x", SOTTO_NUL}),
    };
    for (const auto status : refused) {
        CHECK(status == SOTTO_ERROR_ARGUMENT);
    }
    CHECK(last_error() == reason);
    CHECK(count == 0);
    CHECK(found == 0);
    sotto_index_destroy(index);
}

} // namespace

TEST_CASE("calls on NULL, destroyed and forged indexes are refused") {
    check_refused(nullptr, "missing index: expected a handle, not NULL");
    sotto_index* index = made();
    sotto_index_destroy(index);
    const char* reason = "invalid index handle: never created, or already destroyed";
    check_refused(index, reason);
    check_refused(reinterpret_cast<sotto_index*>(std::uintptr_t{12345}), reason);
    check_refused(reinterpret_cast<sotto_index*>(UINTPTR_MAX), reason);
    auto desc = SOTTO_INIT(sotto_engine_desc);
    sotto_engine* engine = nullptr;
    REQUIRE(sotto_engine_create(&desc, &engine) == SOTTO_OK);
    check_refused(reinterpret_cast<sotto_index*>(engine), reason); // a handle of another kind
    sotto_engine_destroy(engine);
}

TEST_CASE("missing pointers and wrong numbers are refused with their names") {
    sotto_index* index = made();
    const float vector[] = {1, 2};
    std::uint64_t label = 1;
    std::uint32_t count = 0;
    auto search = SOTTO_INIT(sotto_search_desc);
    search.k = 1;
    const auto refused = [](sotto_status status, std::string_view word) {
        CHECK(status == SOTTO_ERROR_ARGUMENT);
        CHECK(last_error().find(word) != std::string::npos);
    };
    sotto_index* none = nullptr;
    refused(sotto_index_create(nullptr, &none), "desc");
    refused(sotto_index_create(nullptr, nullptr), "index");
    refused(sotto_index_insert(index, nullptr, 2, &label, 1), "vectors");
    refused(sotto_index_insert(index, vector, 2, nullptr, 1), "labels");
    refused(sotto_index_insert(index, vector, 3, &label, 1), "dim '3': expected 2");
    refused(sotto_index_insert(index, vector, 2, &label, UINT64_MAX), "count");
    CHECK(sotto_index_insert(index, nullptr, 2, nullptr, 0) == SOTTO_OK);
    CHECK(sotto_index_insert(index, vector, 2, &label, 1) == SOTTO_OK);
    CHECK(sotto_index_search(index, &search, vector, 2, &label, nullptr, &count) == SOTTO_ERROR_STATE);
    CHECK(sotto_index_build(index, nullptr) == SOTTO_OK);
    CHECK(sotto_index_search(index, &search, vector, 2, &label, nullptr, &count) == SOTTO_OK);
    CHECK(count == 1);
    refused(sotto_index_search(index, nullptr, vector, 2, &label, nullptr, &count), "desc");
    refused(sotto_index_search(index, &search, nullptr, 2, &label, nullptr, &count), "query");
    refused(sotto_index_search(index, &search, vector, 2, nullptr, nullptr, &count), "labels");
    refused(sotto_index_search(index, &search, vector, 2, &label, nullptr, nullptr), "count");
    search.allowed_count = 1;
    refused(sotto_index_search(index, &search, vector, 2, &label, nullptr, &count), "desc->allowed");
    search.allowed = &label;
    search.allowed_count = UINT64_MAX;
    refused(sotto_index_search(index, &search, vector, 2, &label, nullptr, &count), "desc->allowed_count");
    CHECK(sotto_index_remove(index, 9) == SOTTO_ERROR_NOT_FOUND);
    sotto_index* loaded = index;
    CHECK(sotto_index_load({"/nowhere/x", SOTTO_NUL}, 8, &loaded) == SOTTO_ERROR_UNSUPPORTED);
    CHECK(loaded == nullptr);
    CHECK(sotto_index_load({"/nowhere/x", SOTTO_NUL}, 0, &loaded) == SOTTO_ERROR_NOT_FOUND);
    sotto_index_destroy(index);
}

TEST_CASE("a struct of an older header takes defaults, one with unknown fields is refused") {
    auto desc = SOTTO_INIT(sotto_index_desc);
    desc.dim = 2;
    desc.struct_size = 8; // dim alone
    desc.m = 1;           // beyond: not read
    sotto_index* index = nullptr;
    CHECK(sotto_index_create(&desc, &index) == SOTTO_OK);
    auto info = SOTTO_INIT(sotto_index_info);
    CHECK(sotto_index_get_info(index, &info) == SOTTO_OK);
    CHECK(info.m == 16);
    CHECK(info.ef_construction == 200);
    sotto_index_destroy(index);
    auto search = SOTTO_INIT(sotto_search_desc);
    search.reserved = 1;
    std::uint32_t count = 0;
    index = made();
    CHECK(
        sotto_index_search(index, &search, nullptr, 2, nullptr, nullptr, &count) == SOTTO_ERROR_UNSUPPORTED
    );
    sotto_index_destroy(index);
}

TEST_CASE("4,096 indexes can exist") {
    std::vector<sotto_index*> all;
    for (int i = 0; i < 4096; ++i) {
        all.push_back(made());
    }
    auto desc = SOTTO_INIT(sotto_index_desc);
    desc.dim = 2;
    sotto_index* one_more = nullptr;
    CHECK(sotto_index_create(&desc, &one_more) == SOTTO_ERROR_BUSY);
    for (auto* index : all) {
        sotto_index_destroy(index);
    }
}
