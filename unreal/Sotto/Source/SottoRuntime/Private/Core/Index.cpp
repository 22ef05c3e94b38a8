#include "Core/Index.h"

#include <algorithm>
#include <utility>

namespace SottoCore
{

FOutcome FIndex::Check(sotto_status Status) const
{
    return FOutcome::Of(Api, Status);
}

FOutcome FIndex::Create(uint32_t Dim, sotto_index_storage Storage)
{
    if (!Api.IsLoaded())
    {
        return {SOTTO_ERROR_STATE, "the library is not loaded"};
    }
    Close();
    sotto_index_desc Desc = SOTTO_INIT(sotto_index_desc);
    Desc.dim = Dim;
    Desc.storage = Storage;
    return Check(Api.sotto_index_create(&Desc, &Index));
}

FOutcome FIndex::Load(std::string_view Path)
{
    if (!Api.IsLoaded())
    {
        return {SOTTO_ERROR_STATE, "the library is not loaded"};
    }
    Close();
    return Check(Api.sotto_index_load(Str(Path), 0, &Index));
}

void FIndex::Close()
{
    if (sotto_index* Closed = std::exchange(Index, nullptr); Closed != nullptr && Api.IsLoaded())
    {
        Api.sotto_index_destroy(Closed);
    }
}

FOutcome FIndex::Insert(const std::vector<uint64_t>& Labels, const std::vector<float>& Vectors)
{
    const size_t Dim = Info().dim;
    if (Dim == 0 || Vectors.size() != Labels.size() * Dim)
    {
        return {
            Dim == 0 ? SOTTO_ERROR_STATE : SOTTO_ERROR_ARGUMENT,
            Dim == 0 ? std::string("the index is closed: create another one")
                     : "invalid Vectors: expected " + std::to_string(Labels.size()) + " x " +
                           std::to_string(Dim) + " numbers, not " + std::to_string(Vectors.size())
        };
    }
    return Labels.empty()
               ? FOutcome()
               : Check(Api.sotto_index_insert(
                     Index, Vectors.data(), static_cast<uint32_t>(Dim), Labels.data(), Labels.size()
                 ));
}

FOutcome FIndex::Remove(uint64_t Label)
{
    return Api.IsLoaded() ? Check(Api.sotto_index_remove(Index, Label))
                          : FOutcome{SOTTO_ERROR_STATE, "the library is not loaded"};
}

FOutcome FIndex::Build()
{
    return Api.IsLoaded() ? Check(Api.sotto_index_build(Index, nullptr))
                          : FOutcome{SOTTO_ERROR_STATE, "the library is not loaded"};
}

FOutcome FIndex::Save(std::string_view Path)
{
    return Api.IsLoaded() ? Check(Api.sotto_index_save(Index, Str(Path)))
                          : FOutcome{SOTTO_ERROR_STATE, "the library is not loaded"};
}

FOutcome FIndex::Search(
    const std::vector<float>& Query,
    uint32_t Most,
    std::vector<uint64_t>& Labels,
    std::vector<float>& Distances
) const
{
    if (!Api.IsLoaded())
    {
        return {SOTTO_ERROR_STATE, "the library is not loaded"};
    }
    const auto Room = static_cast<uint32_t>(std::min<uint64_t>(Most, Info().size));
    Labels.assign(Room, 0);
    Distances.assign(Room, 0);
    sotto_search_desc Desc = SOTTO_INIT(sotto_search_desc);
    Desc.k = Room;
    uint32_t Found = 0;
    const FOutcome Searched = Check(Api.sotto_index_search(
        Index,
        &Desc,
        Query.data(),
        static_cast<uint32_t>(Query.size()),
        Labels.data(),
        Distances.data(),
        &Found
    ));
    Labels.resize(Found);
    Distances.resize(Found);
    return Searched;
}

sotto_index_info FIndex::Info() const
{
    sotto_index_info Filled = SOTTO_INIT(sotto_index_info);
    if (Index == nullptr || !Api.IsLoaded() || Api.sotto_index_get_info(Index, &Filled) < 0)
    {
        return SOTTO_INIT(sotto_index_info);
    }
    return Filled;
}

} // namespace SottoCore
