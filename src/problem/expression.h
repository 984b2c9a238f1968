// Axis expressions and constraints: a bounded subset of Python's expressions with Python's meaning, parsed to
// postfix code so that neither parsing nor evaluation can run out of stack.
//   arithmetic: + - * / // % ** unary, brackets, int and float constants, names
//   condition:  also == != < <= > >= in chains, and, or, not, True, False
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "problem/number.h"

namespace solmark::problem {

class Expression {
 public:
  enum class Grammar { kArithmetic, kCondition };

  // Errors name the column (from 1) in `text`.
  static Result<Expression> parse(std::string_view text, Grammar grammar);

  // Distinct names, in order of first use.
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }
  [[nodiscard]] Result<Number> evaluate(const std::map<std::string, std::int64_t>& values) const;

  enum class Code {
    kConstant,
    kName,
    kBinary,
    kNegate,
    kPlus,            // unary +: no effect on numbers
    kCompare,         // pops two, pushes 0 or 1
    kCompareOrLeave,  // a link of a chain: pops two; false: pushes 0 and jumps; true: pushes the right one
    kNot,
    kJumpIfFalse,  // `and`: jumps with the value kept, else drops it
    kJumpIfTrue,   // `or`
  };
  enum class Relation { kEqual, kNotEqual, kLess, kLessEqual, kGreater, kGreaterEqual };
  struct Instruction {
    Code code = Code::kConstant;
    Number constant = std::int64_t{0};
    std::size_t operand = 0;  // index of a name, or the jump's target
    BinaryOperator binary = BinaryOperator::kAdd;
    Relation relation = Relation::kEqual;
  };

 private:
  std::vector<Instruction> code_;
  std::vector<std::string> names_;
};

// An axis expression's value: an int or an integral float, as an integer.
Result<std::int64_t> evaluate_axis(std::string_view text, const std::map<std::string, std::int64_t>& values);

}  // namespace solmark::problem
