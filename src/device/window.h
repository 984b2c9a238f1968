// The address window's constants under the device module's name; gpu/window.h says what they mean.
#pragma once

#include "gpu/window.h"

namespace solmark::device {

using gpu::kJudgeBytes;
using gpu::kScratchBase;
using gpu::kScratchBytes;
using gpu::kWindowBase;
using gpu::kWindowBytes;

}  // namespace solmark::device
