// The two halves of the Seal's encoding, side by side so that they cannot drift apart: each structure has one
// `transfer` that a Writer and a Reader both run. The Reader remembers the first thing that is wrong and
// reads zeros afterwards, so no check can be forgotten between two fields.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace solmark::seal {

class Writer {
 public:
  static constexpr bool kReads = false;
  template <class Integer>
  void integer(const Integer& value) {
    static_assert(std::is_integral_v<Integer>);
    auto rest = static_cast<std::make_unsigned_t<Integer>>(value);
    for (std::size_t i = 0; i < sizeof(Integer); ++i) {
      out_.push_back(static_cast<char>(rest & 0xff));
      rest = static_cast<decltype(rest)>(sizeof(Integer) == 1 ? 0 : rest >> 8);
    }
  }
  void text(const std::string& value, std::uint64_t) {
    integer(static_cast<std::uint64_t>(value.size()));
    out_ += value;
  }
  void raw(const unsigned char* bytes, std::size_t count) {
    out_.append(reinterpret_cast<const char*>(bytes), count);
  }
  template <class Item, class Each>
  void list(const std::vector<Item>& items, std::uint64_t, Each each) {
    integer(static_cast<std::uint64_t>(items.size()));
    for (const Item& item : items) each(item);
  }
  std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

class Reader {
 public:
  static constexpr bool kReads = true;
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}
  template <class Integer>
  void integer(Integer& value) {
    static_assert(std::is_integral_v<Integer>);
    value = 0;
    if (!need(sizeof(Integer), "a number")) return;
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < sizeof(Integer); ++i)
      sum |= std::uint64_t{static_cast<unsigned char>(bytes_[at_ + i])} << (8 * i);
    value = static_cast<Integer>(static_cast<std::make_unsigned_t<Integer>>(sum));
    at_ += sizeof(Integer);
  }
  void text(std::string& value, std::uint64_t limit) {
    const std::uint64_t bytes = length(limit, 1);
    value.assign(bytes_.substr(at_, bytes));
    at_ += bytes;
  }
  void raw(unsigned char* bytes, std::size_t count) {
    std::memset(bytes, 0, count);
    if (!need(count, "bytes")) return;
    std::memcpy(bytes, bytes_.data() + at_, count);
    at_ += count;
  }
  template <class Item, class Each>
  void list(std::vector<Item>& items, std::uint64_t limit, Each each) {
    const std::uint64_t count = length(limit, 1);
    items.clear();
    // Not reserved whole: an item takes more memory here than its smallest form takes in the file.
    for (std::uint64_t i = 0; i < count && error_.empty(); ++i) each(items.emplace_back());
  }
  // Marks the place just read as wrong.
  void refuse(const char* what) {
    if (!error_.empty()) return;
    error_ = what;
    error_at_ = at_;
  }
  [[nodiscard]] bool ok() const { return error_.empty(); }
  [[nodiscard]] const std::string& error() const { return error_; }
  [[nodiscard]] std::size_t error_at() const { return error_at_; }
  [[nodiscard]] std::size_t left() const { return bytes_.size() - at_; }

 private:
  bool need(std::uint64_t count, const char* what) {
    if (!error_.empty()) return false;
    if (count <= left()) return true;
    error_ = std::string("it ends within ") + what;
    error_at_ = at_;
    return false;
  }
  // Every item takes at least `item_bytes`, so a count beyond what is left is refused before anything is
  // allocated.
  std::uint64_t length(std::uint64_t limit, std::uint64_t item_bytes) {
    std::uint64_t count = 0;
    integer(count);
    if (!error_.empty()) return 0;
    if (count > limit || count > left() / item_bytes) {
      error_ = "a length is larger than its limit or than what is left";
      error_at_ = at_ - sizeof count;
      return 0;
    }
    return count;
  }

  std::string_view bytes_;
  std::size_t at_ = 0;
  std::string error_;
  std::size_t error_at_ = 0;
};

}  // namespace solmark::seal
