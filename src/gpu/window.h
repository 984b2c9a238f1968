// The address window: one range of virtual addresses reserved at the same place in every process that touches
// the GPU. Judge regions live in the lower half, a worker's own allocations in the upper half.
#pragma once

#include <cstdint>

namespace solmark::gpu {

inline constexpr std::uint64_t kWindowBase = 0x700000000000ULL;
inline constexpr std::uint64_t kJudgeBytes = std::uint64_t{64} << 30;
inline constexpr std::uint64_t kScratchBytes = std::uint64_t{64} << 30;
inline constexpr std::uint64_t kScratchBase = kWindowBase + kJudgeBytes;
inline constexpr std::uint64_t kWindowBytes = kJudgeBytes + kScratchBytes;

}  // namespace solmark::gpu
