#include "Core/Sha256.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace SottoCore
{

namespace
{

// FIPS 180-4: the first 32 bits of the fractional parts of the cube roots of the first 64 primes.
constexpr std::array<uint32_t, 64> kRounds = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2
};

using FState = std::array<uint32_t, 8>;

uint32_t Rotate(uint32_t Value, int Bits)
{
    return Value >> Bits | Value << (32 - Bits);
}

/** Mixes 64 bytes into the state. */
void Mix(FState& State, const unsigned char* Block)
{
    std::array<uint32_t, 64> Words;
    for (size_t i = 0; i < 16; ++i, Block += 4)
    {
        Words[i] = static_cast<uint32_t>(Block[0]) << 24 | static_cast<uint32_t>(Block[1]) << 16 |
                   static_cast<uint32_t>(Block[2]) << 8 | Block[3];
    }
    for (size_t i = 16; i < 64; ++i)
    {
        const uint32_t Low = Words[i - 15];
        const uint32_t High = Words[i - 2];
        Words[i] = Words[i - 16] + (Rotate(Low, 7) ^ Rotate(Low, 18) ^ Low >> 3) + Words[i - 7] +
                   (Rotate(High, 17) ^ Rotate(High, 19) ^ High >> 10);
    }
    auto [A, B, C, D, E, F, G, H] = State;
    for (size_t i = 0; i < 64; ++i)
    {
        const uint32_t First =
            H + (Rotate(E, 6) ^ Rotate(E, 11) ^ Rotate(E, 25)) + ((E & F) ^ (~E & G)) + kRounds[i] + Words[i];
        const uint32_t Second =
            (Rotate(A, 2) ^ Rotate(A, 13) ^ Rotate(A, 22)) + ((A & B) ^ (A & C) ^ (B & C));
        H = G;
        G = F;
        F = E;
        E = D + First;
        D = C;
        C = B;
        B = A;
        A = First + Second;
    }
    const FState Mixed = {A, B, C, D, E, F, G, H};
    for (size_t i = 0; i < State.size(); ++i)
    {
        State[i] += Mixed[i];
    }
}

} // namespace

std::string Sha256(std::string_view Text)
{
    std::string Padded(Text);
    Padded += '\x80';
    Padded.resize((Padded.size() + 8 + 63) / 64 * 64, '\0');
    const uint64_t Bits = static_cast<uint64_t>(Text.size()) * 8;
    for (size_t i = 0; i < 8; ++i)
    {
        Padded[Padded.size() - 1 - i] = static_cast<char>(Bits >> (8 * i) & 0xFF);
    }
    FState State = {
        0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19
    };
    for (size_t At = 0; At < Padded.size(); At += 64)
    {
        Mix(State, reinterpret_cast<const unsigned char*>(Padded.data()) + At);
    }
    std::string Digits;
    for (const uint32_t Word : State)
    {
        for (int Shift = 28; Shift >= 0; Shift -= 4)
        {
            Digits += "0123456789abcdef"[Word >> Shift & 15];
        }
    }
    return Digits;
}

} // namespace SottoCore
