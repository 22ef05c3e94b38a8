#pragma once

#include <string>

#include "Core/Api.h"

namespace SottoCore
{

/** Result of a call that blocks: success, or a status and a message. */
struct FOutcome
{
    sotto_status Status = SOTTO_OK;
    std::string Error;

    explicit operator bool() const { return Status >= 0; }

    /** Returns the outcome of a call of the library, with the calling thread's error text. */
    static FOutcome Of(const FApi& Api, sotto_status Status)
    {
        return Status >= 0 ? FOutcome{Status, {}}
                           : FOutcome{Status, std::string(View(Api.sotto_last_error()))};
    }
};

} // namespace SottoCore
