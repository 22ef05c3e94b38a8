#include "core/schedule/cost_model.hpp"

#include <algorithm>
#include <cmath>

namespace sotto {

CostFit::Terms CostFit::terms_of(const StepLoad& load) noexcept {
    constexpr double kReach = 1024; // scales the terms to similar magnitude
    return {1, static_cast<double>(load.tokens()), load.reach / kReach};
}

double CostFit::value(const Terms& weights, const Terms& terms) const noexcept {
    double sum = 0;
    for (std::size_t i = 0; i < kTerms; ++i) {
        sum += weights[i] * terms[i];
    }
    return sum;
}

void CostFit::learn(const StepLoad& load, double ns) noexcept {
    samples_[count_ % kKept] = {terms_of(load), ns};
    ++count_;
    fit();
}

double CostFit::predict(const StepLoad& load) const noexcept {
    return value(weights_, terms_of(load));
}

std::uint32_t CostFit::largest() const noexcept {
    double most = 0;
    for (std::size_t i = 0; i < std::min(count_, kKept); ++i) {
        most = std::max(most, samples_[i].terms[1]);
    }
    return static_cast<std::uint32_t>(most);
}

void CostFit::fit() noexcept {
    constexpr double kOver = 2.0;  // a step above this multiple of the prediction is an outlier
    constexpr double kMostOut = 4; // divisor: outliers are dropped if they are at most 1/4 of the steps
    weights_ = solve(HUGE_VAL);
    const auto kept = std::min(count_, kKept);
    const auto out = std::count_if(samples_.begin(), samples_.begin() + kept, [&](const Sample& sample) {
        return sample.ns > kOver * value(weights_, sample.terms);
    });
    if (out > 0 && static_cast<double>(out) * kMostOut <= static_cast<double>(kept)) {
        weights_ = solve(kOver);
    }
}

// Returns the weights found by ridge regression (normal equations), without steps that took more than
// `most_over` times the current prediction. Drops terms with negative weights one after another: more work
// never makes a step faster.
CostFit::Terms CostFit::solve(double most_over) const noexcept {
    // If the steps cannot separate the terms, the cost goes to tokens rather than to the constant.
    constexpr Terms kRidge = {0.01, 0.001, 0.001};
    double products[kTerms][kTerms + 1] = {};
    for (std::size_t i = 0; i < std::min(count_, kKept); ++i) {
        const auto& [terms, ns] = samples_[i];
        if (ns > most_over * value(weights_, terms)) {
            continue;
        }
        for (std::size_t row = 0; row < kTerms; ++row) {
            for (std::size_t column = 0; column < kTerms; ++column) {
                products[row][column] += terms[row] * terms[column];
            }
            products[row][kTerms] += terms[row] * ns;
        }
    }
    bool used[kTerms] = {true, true, true};
    for (;;) {
        double m[kTerms][kTerms + 1];
        std::copy(&products[0][0], &products[0][0] + kTerms * (kTerms + 1), &m[0][0]);
        for (std::size_t i = 0; i < kTerms; ++i) {
            m[i][i] += kRidge[i] * m[i][i] + 1e-9;
            for (std::size_t j = 0; j <= kTerms && !used[i]; ++j) {
                m[i][j] = i == j ? 1 : 0;
            }
            for (std::size_t j = 0; j < kTerms && !used[i]; ++j) {
                m[j][i] = i == j ? 1 : 0;
            }
        }
        for (std::size_t i = 0; i < kTerms; ++i) { // positive definite: no pivoting
            for (std::size_t row = 0; row < kTerms; ++row) {
                if (row != i) {
                    const double factor = m[row][i] / m[i][i];
                    for (std::size_t column = i; column <= kTerms; ++column) {
                        m[row][column] -= factor * m[i][column];
                    }
                }
            }
        }
        Terms weights{};
        std::size_t worst = kTerms;
        for (std::size_t i = 0; i < kTerms; ++i) {
            weights[i] = m[i][kTerms] / m[i][i];
            if (used[i] && weights[i] < 0 && (worst == kTerms || weights[i] < weights[worst])) {
                worst = i;
            }
        }
        if (worst == kTerms) {
            return weights;
        }
        used[worst] = false;
    }
}

void CostModel::learn(std::uint32_t threads, const StepLoad& load, std::int64_t ns) noexcept {
    if (load.tokens() == 0 || ns <= 0) {
        return;
    }
    const auto found = fits_.find(threads);
    if (found == fits_.end()) {
        return;
    }
    auto& fit = load.prompt > 0 ? found->second.prompt : found->second.answer;
    fit.learn(load, static_cast<double>(ns));
}

// Returns the fit for `threads` threads and the kind of `load`, or else for another number of threads; null
// if none has enough samples.
const CostFit* CostModel::fit_of(std::uint32_t threads, const StepLoad& load) const noexcept {
    const auto fit = [&](const Fits& fits) { return load.prompt > 0 ? &fits.prompt : &fits.answer; };
    const auto found = fits_.find(threads);
    if (found != fits_.end() && fit(found->second)->is_known()) {
        return fit(found->second);
    }
    for (const auto& [count, fits] : fits_) {
        if (fit(fits)->is_known()) {
            return fit(fits);
        }
    }
    return nullptr;
}

std::int64_t CostModel::predict(std::uint32_t threads, const StepLoad& load) const noexcept {
    const auto* fit = fit_of(threads, load);
    constexpr double kLongest = 0x1p61; // ns; 73 years
    const auto ns = fit == nullptr ? 0 : fit->predict(load);
    return static_cast<std::int64_t>(ns > 0 ? std::min(ns, kLongest) : 0); // also 0 for NaN
}

bool CostModel::is_known() const noexcept {
    return std::ranges::any_of(fits_, [](const auto& entry) {
        return entry.second.prompt.is_known() || entry.second.answer.is_known();
    });
}

std::uint32_t CostModel::prompt_tokens(
    std::uint32_t threads, StepLoad base, std::uint32_t held, std::int64_t limit, std::uint32_t most
) const noexcept {
    constexpr std::uint32_t kUnknown = 16;
    constexpr double kMargin = 0.8; // fraction of the limit to use, because step times scatter
    auto load = base;
    load.add_prompt(1, held);
    const auto* fit = fit_of(threads, load);
    if (fit == nullptr) {
        return std::min(most, kUnknown);
    }
    most = std::min(most, std::max(2 * fit->largest(), kUnknown)); // at most twice the largest measured step
    const auto takes = [&](std::uint32_t count) {
        load = base;
        load.add_prompt(count, held);
        return fit->predict(load);
    };
    // Without the margin: a second step for a small remainder would take longer in total.
    if (takes(most) <= static_cast<double>(limit)) {
        return most;
    }
    std::uint32_t fits = 0;
    for (std::uint32_t low = 1, high = most; low <= high;) {
        const auto middle = low + (high - low) / 2;
        if (takes(middle) <= kMargin * static_cast<double>(limit)) {
            fits = middle;
            low = middle + 1;
        } else {
            high = middle - 1;
        }
    }
    return std::min(most, std::max(fits, kFew));
}

} // namespace sotto
