// Double of Unreal: see tests/unreal/double/README.md.
#pragma once

#include <functional>
#include <memory>
#include <utility>

template <typename FuncType>
using TFunction = std::function<FuncType>;

/** A function that may own what cannot be copied. Shared here, since nothing is copied out of it. */
template <typename FuncType>
class TUniqueFunction;

template <typename Ret, typename... ParamTypes>
class TUniqueFunction<Ret(ParamTypes...)> {
public:
    TUniqueFunction() = default;
    template <typename FunctorType>
    TUniqueFunction(FunctorType&& Functor)
        : Held(
              [Kept = std::make_shared<std::decay_t<FunctorType>>(std::forward<FunctorType>(Functor))](
                  ParamTypes... Params
              ) -> Ret { return (*Kept)(Params...); }
          ) {}

    Ret operator()(ParamTypes... Params) const { return Held(Params...); }
    explicit operator bool() const { return static_cast<bool>(Held); }

private:
    std::function<Ret(ParamTypes...)> Held;
};
