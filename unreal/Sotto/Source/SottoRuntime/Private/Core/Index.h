#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "Core/Outcome.h"

namespace SottoCore
{

/** Finds the vectors nearest to a query by cosine distance. Any thread may call. */
class FIndex
{
public:
    explicit FIndex(const FApi& InApi) : Api(InApi) {}
    ~FIndex() { Close(); }
    FIndex(const FIndex&) = delete;
    FIndex& operator=(const FIndex&) = delete;

    FOutcome Create(uint32_t Dim, sotto_index_storage Storage);
    /** Reads an index from a file of Save(). Waits for the disk. */
    FOutcome Load(std::string_view Path);
    /** Frees the index, before the library is freed. Later calls fail. */
    void Close();

    /** Inserts vectors in a row, a label for each; none of them if one is refused. */
    FOutcome Insert(const std::vector<uint64_t>& Labels, const std::vector<float>& Vectors);
    FOutcome Remove(uint64_t Label);
    /** Links the vectors that were inserted before. Waits: about a millisecond per vector. */
    FOutcome Build();
    /** Writes the index to a file, atomically. Waits for the disk. */
    FOutcome Save(std::string_view Path);
    /** Finds at most `Most` labels, nearest first, with their cosine distances. Never waits. */
    FOutcome Search(
        const std::vector<float>& Query,
        uint32_t Most,
        std::vector<uint64_t>& Labels,
        std::vector<float>& Distances
    ) const;

    /** Returns what the index is and holds; zeros if it is closed. */
    sotto_index_info Info() const;

private:
    FOutcome Check(sotto_status Status) const;

    const FApi& Api;
    sotto_index* Index = nullptr;
};

} // namespace SottoCore
