// SHA-256, for identities (build cache, contracts).
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace solmark {

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;
  // Length-prefixed, so that ("ab","c") and ("a","bc") differ.
  Sha256& add(std::string_view field);
  [[nodiscard]] std::string hex();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::string sha256_hex(std::string_view bytes);

}  // namespace solmark
