// Options of a load beyond those of open_test.cpp: what each one changes.
#include "../support/folder.hpp"
#include "module_under_test.hpp"

#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>
#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

using namespace under_test;

namespace {

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

// Returns the reason why a model with these options does not load.
std::string refusal(
    const std::string& options, sotto_status status = SOTTO_ERROR_ARGUMENT, const std::string& path = tiny()
) {
    Model model({.path = path, .options = options});
    CHECK(model.status == status);
    return model.why;
}

std::string answer(Model& model) {
    REQUIRE_MESSAGE(model, model.why);
    return Stream(model, chat("who is the king")).run(12).text;
}

// Returns the memory that this process has locked, in KiB.
long locked_memory() {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
        if (line.starts_with("VmLck:")) {
            return std::stol(line.substr(6));
        }
    }
    return -1;
}

// Takes the right to lock memory beyond RLIMIT_MEMLOCK from the calling thread.
void drop_lock_right() {
    __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct rights[2] = {};
    REQUIRE(syscall(SYS_capget, &header, rights) == 0);
    rights[CAP_IPC_LOCK / 32].effective &= ~(1U << CAP_IPC_LOCK % 32);
    REQUIRE(syscall(SYS_capset, &header, rights) == 0);
}

} // namespace

TEST_CASE("an option out of its range is refused with its name, its value and the range") {
    CHECK(
        has(refusal(R"({"threads": 0})"), "invalid options.threads '0': expected an integer from 1 to 512")
    );
    CHECK(has(refusal(R"({"threads_batch": 513})"), "options.threads_batch '513'"));
    CHECK(has(refusal(R"({"ubatch": 0})"), "options.ubatch '0': expected an integer from 1 to 4096"));
    CHECK(
        has(refusal(R"({"batch": 64, "ubatch": 65})"), "options.ubatch '65': expected at most \"batch\", 64")
    );
    CHECK(
        has(refusal(R"({"ubatch": 8, "projector": "eyes.gguf"})"), "options.ubatch '8': expected \"batch\"")
    );
    CHECK(has(refusal(R"({"mlock": 1})"), "options.mlock '1': expected true or false"));
    CHECK(has(refusal(R"({"check_tensors": "yes"})"), "options.check_tensors 'yes': expected true or false"));
    CHECK(has(refusal(R"({"offload_kqv": null})"), "options.offload_kqv 'null': expected true or false"));
    CHECK(has(refusal(R"({"draft_max": 16})"), "options.draft_max '16': expected an integer from 1 to 15"));
    CHECK(has(
        refusal(R"({"rope_freq_base": 0})"), "options.rope_freq_base '0': expected a number from 1 to 1e12"
    ));
    CHECK(has(
        refusal(R"({"rope_freq_scale": -1})"), "options.rope_freq_scale '-1': expected a number from 1e-6"
    ));
    CHECK(has(refusal(R"({"rope_freq_scale": "2"})"), "options.rope_freq_scale '2'"));
}

TEST_CASE("each option leaves the answer as it is unless it changes the computation") {
    Model plain;
    const auto usual = answer(plain);
    for (const std::string options :
         {R"({"ubatch": 3})",
          R"({"threads": 1, "threads_batch": 2})",
          R"({"mlock": true})",
          R"({"mlock": true, "mmap": false})",
          R"({"check_tensors": true})",
          R"({"offload_kqv": false})",
          R"({"draft_max": 1, "speculative": "lookup"})",
          R"({"rope_freq_base": 10000})",
          R"({"rope_freq_scale": 1})"}) {
        CAPTURE(options);
        Model model({.options = options});
        CHECK(answer(model) == usual);
    }
}

TEST_CASE("a smaller ubatch takes less memory, and an embedding model refuses one") {
    const Model large({.options = R"({"ubatch": 512})"});
    const Model small({.options = R"({"ubatch": 32})"});
    REQUIRE_MESSAGE(small, small.why);
    CHECK(small.info.compute < large.info.compute / 2);
    CHECK(has(refusal(R"({"ubatch": 32, "pooling": "mean"})", SOTTO_ERROR_UNSUPPORTED), "options.ubatch"));
}

TEST_CASE("RoPE options change answers and saved states, and a scale below 1 raises the context's limit") {
    Model plain;
    const auto usual = answer(plain);
    Model base({.options = R"({"rope_freq_base": 500})"});
    CHECK(answer(base) != usual);
    CHECK(text(base.info.fingerprint) != text(plain.info.fingerprint));
    Model scale({.options = R"({"rope_freq_scale": 0.25, "context": 2048})"});
    CHECK(answer(scale) != usual);
    CHECK(scale.info.context == 2048);
    CHECK(text(scale.info.fingerprint) != text(base.info.fingerprint));
    CHECK(
        has(refusal(R"({"rope_freq_scale": 0.25, "context": 2049})"), "expected an integer from 16 to 2048")
    );
    CHECK(has(refusal(R"({"rope_freq_scale": 4, "context": 513})"), "expected an integer from 16 to 512"));
    const auto recurrent = tiny("tiny-recurrent.gguf");
    const auto why = refusal(R"({"rope_freq_base": 500})", SOTTO_ERROR_UNSUPPORTED, recurrent);
    CHECK(has(why, "options.rope_freq_base: the model has no rotary position embeddings"));
}

TEST_CASE("mlock locks the weights; without the right to lock them, the log has a warning") {
    const auto before = locked_memory();
    for (const std::string options : {R"({"mlock": true})", R"({"mlock": true, "mmap": false})"}) {
        CAPTURE(options);
        Model model({.options = options});
        REQUIRE_MESSAGE(model, model.why);
        const bool refused = !take_log().empty(); // a container without the right, and with a low limit
        CHECK((refused || locked_memory() >= before + 1300)); // KiB: 1.4 MB of weights
    }
    CHECK(locked_memory() == before);
    rlimit limit = {};
    REQUIRE(getrlimit(RLIMIT_MEMLOCK, &limit) == 0);
    const rlimit low = {4096, limit.rlim_max};
    REQUIRE(setrlimit(RLIMIT_MEMLOCK, &low) == 0);
    std::thread([&] {
        drop_lock_right();
        Model model({.options = R"({"mlock": true})"});
        CHECK_MESSAGE(model, model.why);
        const auto log = take_log();
        REQUIRE(log.size() == 1);
        CHECK_MESSAGE(has(log.front(), "failed to mlock"), log.front());
    }).join();
    CHECK(setrlimit(RLIMIT_MEMLOCK, &limit) == 0);
}

TEST_CASE("check_tensors refuses a file with NaN, and names the tensor") {
    const test::Folder folder;
    const auto path = (folder.path() / "nan.gguf").string();
    std::filesystem::copy_file(tiny(), path);
    {
        std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
        file.seekp(-16, std::ios::end); // the end of the last tensor
        file.write("\xff\xff\xff\x7f", 4);
        REQUIRE(file.good());
    }
    CHECK(Model({.path = path}).status == SOTTO_OK);
    const auto why = refusal(R"({"check_tensors": true})", SOTTO_ERROR_MODEL, path);
    CHECK_MESSAGE(has(why, "tensor 'blk.1.ffn_down.weight' holds NaN"), why);
    take_log();
    Source source{.options = R"({"check_tensors": true})"};
    std::vector<float> told;
    source.progress = [&](float done) {
        told.push_back(done);
        return told.size() > 3; // within the check
    };
    CHECK(Model(source).status == SOTTO_ERROR_CANCELLED);
    CHECK(told.back() < 0.5F);
}
