// What each entry of candidate.cu must compute, or why it must not be sealed.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace solmark::seal::check {

struct SealedCase {
  std::string entry;
  // y[i] of a slot whose inputs are x.
  std::function<float(const std::vector<float>& x, std::size_t i)> expected;
  bool saved = false;  // also through a file with the memory's contents
};
const std::vector<SealedCase>& sealed_cases();

struct RefusedCase {
  std::string entry;
  std::string request;  // "seal" or "call": which one fails
  std::string kind;
  std::string words;  // part of the reason
};
const std::vector<RefusedCase>& refused_cases();

}  // namespace solmark::seal::check
