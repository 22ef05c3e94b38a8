// A card that fails under a model: on the double of one, through the module.
#include <cstdlib>
#include <dlfcn.h>

#include <doctest/doctest.h>

#include "double_card.hpp"
#include "module_under_test.hpp"

using namespace under_test;

namespace {

constexpr const char* kIllegal = "an illegal memory access was encountered";

// The card, which is well again when this goes.
class Card {
public:
    Card() {
        entry(); // opens it
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

TEST_CASE("a card that is lost between steps is told when its model gives up its places, and ends nothing") {
    const Card card;
    Model model(on("double0"));
    REQUIRE_MESSAGE(model, model.why);
    CHECK(speaks(model));
    card.fail("synchronize", kIllegal, true);
    CHECK(model.resize(0) == SOTTO_ERROR_DEVICE);
    CHECK(model.why.find("lost") != std::string::npos);
}

TEST_CASE("a model whose card is lost between steps is closed all the same") {
    const Card card;
    const Model model(on("double0"));
    REQUIRE_MESSAGE(model, model.why);
    card.fail("synchronize", kIllegal, true);
}

TEST_CASE("what fails while a model is opened is told as what it is, though llama.cpp keeps it to itself") {
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

TEST_CASE("a step that a card is lost in says so; one that fails otherwise loses nothing") {
    const Card card;
    Model model(on("double0"));
    REQUIRE_MESSAGE(model, model.why);
    {
        Stream stream(model, completion("hello"), SOTTO_OP_COMPLETION);
        card.fail("synchronize", "out of memory", false);
        CHECK(stream.step() == SOTTO_OK); // the stream failed alone
        CHECK(stream.work.status == SOTTO_ERROR_INFERENCE);
        card.fail("", "", false);
    }
    CHECK(speaks(model));
    Stream stream(model, completion("hello"), SOTTO_OP_COMPLETION);
    card.fail("synchronize", kIllegal, true);
    CHECK(stream.step() == SOTTO_ERROR_DEVICE);
}

TEST_CASE("a loss is that card's: neither a model on the processor nor the next card knows of it") {
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
    CHECK(refused.answer.status == SOTTO_ERROR_ARGUMENT); // its errors are its own
    card.fail("", "", false);
    Model next(on("double0"));
    REQUIRE_MESSAGE(next, next.why);
    CHECK(speaks(next));
    CHECK(next.resize(1) == SOTTO_OK);
}
