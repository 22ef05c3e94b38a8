#include "Core/Api.h"

namespace SottoCore
{

bool IsCompatible(std::string_view Found, std::string_view Wanted)
{
    const auto Minor = [](std::string_view Version)
    {
        const size_t First = Version.find('.');
        const size_t Second = First == std::string_view::npos ? First : Version.find('.', First + 1);
        return Second == std::string_view::npos ? std::string_view() : Version.substr(0, Second);
    };
    return !Minor(Found).empty() && Minor(Found) == Minor(Wanted);
}

bool FApi::Load(FResolve Resolve, void* Context, std::string& Reason)
{
    FApi Loaded;
    const char* Missing = nullptr;
#define SOTTO_CORE_LOAD(Name)                                                                                \
    Loaded.Name = reinterpret_cast<decltype(Loaded.Name)>(Resolve(Context, #Name));                          \
    Missing = Missing == nullptr && Loaded.Name == nullptr ? #Name : Missing;
    SOTTO_CORE_FUNCTIONS(SOTTO_CORE_LOAD)
#undef SOTTO_CORE_LOAD
    // The version first: a library of another version may lack functions for that reason.
    const std::string Found(Loaded.sotto_version == nullptr ? "" : View(Loaded.sotto_version()));
    if (Loaded.sotto_version != nullptr && !IsCompatible(Found, SOTTO_VERSION))
    {
        Reason = "invalid library version '" + Found +
                 "': expected " SOTTO_VERSION
                 " or another patch of it; install the plugin and the library from one release, and restart";
        return false;
    }
    if (Missing != nullptr)
    {
        Reason = std::string("invalid library: it does not export '") + Missing +
                 "'; install the plugin and the library " SOTTO_VERSION " from one release, and restart";
        return false;
    }
    *this = Loaded;
    return true;
}

} // namespace SottoCore
