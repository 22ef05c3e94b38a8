// GPU failures, on a module with a fake GPU.
#include <cstdlib>
#include <dlfcn.h>

#include <doctest/doctest.h>

#include "double_card.hpp"
#include "module_under_test.hpp"

using namespace under_test;

namespace {

constexpr const char* kIllegal = "an illegal memory access was encountered";

// Controls the fake GPU, and repairs it at the end of the scope.
class Card {
public:
    Card() {
        entry(); // opens the module
        void* module = dlopen(std::getenv("SOTTO_TEST_MODULE"), RTLD_NOW | RTLD_NOLOAD);
        REQUIRE(module != nullptr);
        steer_ = reinterpret_cast<decltype(&sotto_double_card)>(dlsym(module, "sotto_double_card"));
        REQUIRE(bool(steer_));
    }
    ~Card() { fail("", "", false); }
    Card(const Card&) = delete;
    Card& operator=(const Card&) = delete;

    void fail(const char* where, const char* what, bool lost) const { steer_(where, what, lost); }

private:
    decltype(&sotto_double_card) steer_ = nullptr;
};

Source on(const char* device) {
    Source source;
    source.device = device;
    source.options = R"({"gpu_layers": 0, "parallel": 2})";
    return source;
}

bool speaks(Model& model) {
    Stream stream(model, completion("hello"), SOTTO_OP_COMPLETION);
    return stream.run(4).status == SOTTO_OK;
}

} // namespace

TEST_CASE(
    "a GPU lost between steps is detected when its model is resized, and does not terminate the process"
) {
    const Card card;
    Model model(on("double0"));
    REQUIRE_MESSAGE(model, model.why);
    CHECK(speaks(model));
    card.fail("synchronize", kIllegal, true);
    CHECK(model.resize(0) == SOTTO_ERROR_DEVICE);
    CHECK(model.why.find("lost") != std::string::npos);
}

TEST_CASE("a model whose GPU was lost between steps can be closed") {
    const Card card;
    const Model model(on("double0"));
    REQUIRE_MESSAGE(model, model.why);
    card.fail("synchronize", kIllegal, true);
}

TEST_CASE("a failure during a load is reported with its cause even if llama.cpp swallows it") {
    const Card card;
    const auto status_of = [&](const char* what, bool lost) {
        card.fail("init", what, lost);
        const Model model(on("double0"));
        CHECK(model.why.find(what) != std::string::npos);
        return model.status;
    };
    CHECK(status_of(kIllegal, true) == SOTTO_ERROR_DEVICE);
    CHECK(status_of("out of memory", false) == SOTTO_ERROR_MEMORY);
    CHECK(status_of("the resource allocation failed", false) == SOTTO_ERROR_MEMORY);
    CHECK(status_of("the library was not initialized", false) == SOTTO_ERROR_MEMORY);
    CHECK(status_of("invalid argument", false) == SOTTO_ERROR_INTERNAL);
}

TEST_CASE("a step during which the GPU is lost reports that; other failures do not") {
    const Card card;
    Model model(on("double0"));
    REQUIRE_MESSAGE(model, model.why);
    {
        Stream stream(model, completion("hello"), SOTTO_OP_COMPLETION);
        card.fail("synchronize", "out of memory", false);
        CHECK(stream.step() == SOTTO_OK); // only the stream failed
        CHECK(stream.work.status == SOTTO_ERROR_INFERENCE);
        card.fail("", "", false);
    }
    CHECK(speaks(model));
    Stream stream(model, completion("hello"), SOTTO_OP_COMPLETION);
    card.fail("synchronize", kIllegal, true);
    CHECK(stream.step() == SOTTO_ERROR_DEVICE);
}

TEST_CASE("a loss affects neither models on the CPU nor the next GPU") {
    const Card card;
    Model here(on("cpu"));
    REQUIRE_MESSAGE(here, here.why);
    {
        Model lost(on("double0"));
        REQUIRE_MESSAGE(lost, lost.why);
        card.fail("synchronize", kIllegal, true);
        CHECK(lost.resize(1) == SOTTO_ERROR_DEVICE);
    }
    CHECK(speaks(here));
    CHECK(here.resize(1) == SOTTO_OK);
    Stream one(here, completion("hello"), SOTTO_OP_COMPLETION);
    const Stream refused(here, "[]", SOTTO_OP_COMPLETION);
    CHECK(refused.answer.status == SOTTO_ERROR_ARGUMENT); // request errors stay request errors
    card.fail("", "", false);
    Model next(on("double0"));
    REQUIRE_MESSAGE(next, next.why);
    CHECK(speaks(next));
    CHECK(next.resize(1) == SOTTO_OK);
}
