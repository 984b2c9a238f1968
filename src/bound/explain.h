// A bound as text for people: the levels, what limits each, where the bytes and multiplies come from, and
// what the number does not cover.
#pragma once

#include <string>

#include "bound/bound.h"

namespace solmark::bound {

std::string bound_table(const Bound& bound);

}  // namespace solmark::bound
