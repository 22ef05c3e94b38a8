// What this processor can do at most: one JSON object on stdout.
//
//     sotto_bench_limits threads= seconds=
//
// int8_gops: multiply-adds of 8-bit integers summed to 32 bits, two operations each, in registers; by VNNI
// where the processor has it, else by AVX2 (maddubs, madd, add), as kernels for quantised weights do.
// read_gbytes: bytes read from a buffer that no cache holds. All threads at once; the upper quartile of
// passes.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <functional>
#include <thread>
#include <vector>

#if defined __x86_64__
#  include <immintrin.h>
#endif

#include "support/bench.hpp"

using namespace bench;

namespace {

constexpr std::size_t kBytes = std::size_t{256} << 20; // of each thread
constexpr std::uint32_t kIterations = 200'000;         // of a pass of multiply-adds
constexpr std::uint32_t kChains = 8;                   // of sums, so that no addition waits for another

std::atomic<std::uint32_t> kept; // so that nothing is optimised away

#if defined __x86_64__

// Operations done.
[[gnu::target("avx2")]] double multiply_avx2() {
    __m256i sums[kChains] = {};
    const auto ones = _mm256_set1_epi16(1);
    auto left = _mm256_set1_epi8(3);
    const auto right = _mm256_set1_epi8(2);
    for (std::uint32_t i = 0; i < kIterations; ++i) {
        for (auto& sum : sums) {
            asm volatile("" : "+x"(left)); // the product is not known beforehand
            sum = _mm256_add_epi32(sum, _mm256_madd_epi16(_mm256_maddubs_epi16(left, right), ones));
        }
    }
    auto all = sums[0];
    for (auto& sum : sums) {
        all = _mm256_xor_si256(all, sum);
    }
    kept += static_cast<std::uint32_t>(_mm256_extract_epi32(all, 0));
    return 2.0 * 32 * kChains * kIterations;
}

[[gnu::target("avx512f,avx512vnni")]] double multiply_vnni() {
    __m512i sums[kChains] = {};
    auto left = _mm512_set1_epi32(0x03030303);
    const auto right = _mm512_set1_epi32(0x02020202);
    for (std::uint32_t i = 0; i < kIterations; ++i) {
        for (auto& sum : sums) {
            asm volatile("" : "+v"(left));
            sum = _mm512_dpbusd_epi32(sum, left, right);
        }
    }
    alignas(64) std::uint32_t last[16];
    for (auto& sum : sums) {
        _mm512_store_si512(last, sum);
        kept += last[0];
    }
    return 2.0 * 64 * kChains * kIterations;
}

double multiply() {
    if (__builtin_cpu_supports("avx512vnni")) {
        return multiply_vnni();
    }
    if (__builtin_cpu_supports("avx2")) {
        return multiply_avx2();
    }
    die("this processor has no AVX2");
}

#else

double multiply() {
    die("multiply-adds are measured on x86-64 only");
}

#endif

// Bytes read.
double read(const std::vector<std::uint64_t>& buffer) {
    std::uint64_t sums[4] = {};
    for (std::size_t i = 0; i < buffer.size(); i += 4) {
        for (std::size_t lane = 0; lane < 4; ++lane) {
            sums[lane] += buffer[i + lane];
        }
    }
    kept += static_cast<std::uint32_t>(sums[0] + sums[1] + sums[2] + sums[3]);
    return static_cast<double>(buffer.size() * sizeof buffer[0]);
}

// Units of a pass per nanosecond, of all threads together: the upper quartile of each one's passes. `start`
// makes a pass, on the thread that takes it.
double rate(std::uint32_t threads, double seconds, const std::function<std::function<double()>()>& start) {
    std::vector<double> rates(threads);
    std::vector<std::thread> running;
    for (auto& mine : rates) {
        running.emplace_back([&mine, seconds, &start] {
            const auto pass = start();
            std::vector<double> seen;
            const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
            do {
                const auto began = std::chrono::steady_clock::now();
                const auto done = pass();
                seen.push_back(
                    done /
                    std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - began).count()
                );
            } while (std::chrono::steady_clock::now() < end);
            std::sort(seen.begin(), seen.end());
            mine = seen[seen.size() * 3 / 4];
        });
    }
    for (auto& thread : running) {
        thread.join();
    }
    double all = 0;
    for (const auto one : rates) {
        all += one;
    }
    return all;
}

} // namespace

int main(int count, char** given) {
    const Arguments arguments(count, given, "sotto_bench_limits threads=... seconds=...");
    const auto threads = arguments.count("threads");
    const auto seconds = arguments.number("seconds");
    const auto gops = rate(threads, seconds, [] { return multiply; });
    const auto gbytes = rate(threads, seconds, [] {
        return
            [buffer = std::vector<std::uint64_t>(kBytes / sizeof(std::uint64_t), 1)] { return read(buffer); };
    });
    std::printf(
        R"({"int8_gops": %.1f, "read_gbytes": %.2f})"
        "\n",
        gops,
        gbytes
    );
}
