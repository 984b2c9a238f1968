#include "problem/expression.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "problem/expression_lexer.h"
#include "problem/suggestion.h"

namespace solmark::problem {
namespace {

using Code = Expression::Code;
using Instruction = Expression::Instruction;
using Relation = Expression::Relation;

constexpr int kDeepest = 100;

std::optional<Relation> relation_of(std::string_view symbol) {
  static constexpr std::array<std::pair<std::string_view, Relation>, 6> kRelations = {
      {{"==", Relation::kEqual},
       {"!=", Relation::kNotEqual},
       {"<", Relation::kLess},
       {"<=", Relation::kLessEqual},
       {">", Relation::kGreater},
       {">=", Relation::kGreaterEqual}}};
  for (const auto& [text, relation] : kRelations) {
    if (text == symbol) return relation;
  }
  return std::nullopt;
}

// Precedence climbing over Python's grammar, one function a level; emits postfix code.
class Parser {
 public:
  Parser(std::vector<Token> tokens, Expression::Grammar grammar)
      : tokens_(std::move(tokens)), condition_(grammar == Expression::Grammar::kCondition) {}

  Status run() {
    SOLMARK_CHECK_OK(condition_ ? disjunction() : sum());
    if (peek().kind != Token::Kind::kEnd) return unexpected();
    return success();
  }
  std::vector<Instruction> code;
  std::vector<std::string> names;

 private:
  // Counts nesting for as long as it lives: brackets, signs, `not` and the right side of `**` recurse.
  struct Nested {
    explicit Nested(int& depth) : depth_(depth) { ++depth_; }
    ~Nested() { --depth_; }
    Nested(const Nested&) = delete;
    Nested& operator=(const Nested&) = delete;
    int& depth_;
  };

  const Token& peek() const { return tokens_[at_]; }
  bool is(std::string_view text) const { return peek().kind != Token::Kind::kNumber && peek().text == text; }
  bool accept(std::string_view text) {
    if (peek().kind == Token::Kind::kEnd || !is(text)) return false;
    ++at_;
    return true;
  }
  Error error(const std::string& message) const {
    return input_error(fmt::format("{} at column {}", message, peek().column), {});
  }
  Error unexpected() const {
    if (peek().kind == Token::Kind::kEnd) return error("the expression ends too early");
    if (!condition_ && (relation_of(peek().text) || is("and") || is("or") || is("not"))) {
      return error(fmt::format("\"{}\" is not arithmetic", peek().text));
    }
    return error(fmt::format("unexpected \"{}\"", peek().text));
  }
  void emit(Instruction instruction) { code.push_back(instruction); }
  void emit_binary(BinaryOperator op) { emit({.code = Code::kBinary, .binary = op}); }

  // `and` and `or` differ in the word, the jump and the level below.
  template <class Below>
  Status junction(std::string_view word, Code jump, Below below) {
    SOLMARK_CHECK_OK(below());
    std::vector<std::size_t> jumps;
    while (accept(word)) {
      jumps.push_back(code.size());
      emit({.code = jump});
      SOLMARK_CHECK_OK(below());
    }
    for (std::size_t j : jumps) code[j].operand = code.size();
    return success();
  }
  Status disjunction() {
    return junction("or", Code::kJumpIfTrue, [this] { return conjunction(); });
  }
  Status conjunction() {
    return junction("and", Code::kJumpIfFalse, [this] { return negation(); });
  }
  Status negation() {
    std::size_t count = 0;
    while (accept("not")) ++count;
    SOLMARK_CHECK_OK(comparison());
    for (std::size_t i = 0; i < count; ++i) emit({.code = Code::kNot});
    return success();
  }
  Status comparison() {
    SOLMARK_CHECK_OK(sum());
    std::vector<std::size_t> links;
    std::optional<Relation> pending;
    while (auto relation = peek().kind == Token::Kind::kSymbol ? relation_of(peek().text) : std::nullopt) {
      if (pending) {
        links.push_back(code.size());
        emit({.code = Code::kCompareOrLeave, .relation = *pending});
      }
      ++at_;
      SOLMARK_CHECK_OK(sum());
      pending = relation;
    }
    if (pending) emit({.code = Code::kCompare, .relation = *pending});
    for (std::size_t link : links) code[link].operand = code.size();
    return success();
  }
  Status sum() {
    SOLMARK_CHECK_OK(product());
    for (;;) {
      bool plus = is("+");
      if (!plus && !is("-")) return success();
      ++at_;
      SOLMARK_CHECK_OK(product());
      emit_binary(plus ? BinaryOperator::kAdd : BinaryOperator::kSubtract);
    }
  }
  Status product() {
    SOLMARK_CHECK_OK(factor());
    for (;;) {
      BinaryOperator op = BinaryOperator::kMultiply;
      if (is("/")) {
        op = BinaryOperator::kDivide;
      } else if (is("//")) {
        op = BinaryOperator::kFloorDivide;
      } else if (is("%")) {
        op = BinaryOperator::kModulo;
      } else if (!is("*")) {
        return success();
      }
      ++at_;
      SOLMARK_CHECK_OK(factor());
      emit_binary(op);
    }
  }
  // Unary signs bind looser than ** on their right: -2 ** 2 is -4.
  Status factor() {
    std::vector<Code> signs;
    while (is("+") || is("-")) {
      signs.push_back(is("-") ? Code::kNegate : Code::kPlus);
      ++at_;
    }
    SOLMARK_CHECK_OK(power());
    for (auto sign = signs.rbegin(); sign != signs.rend(); ++sign) emit({.code = *sign});
    return success();
  }
  Status power() {
    SOLMARK_CHECK_OK(atom());
    if (!accept("**")) return success();
    Nested nested(depth_);
    if (depth_ > kDeepest) return error("nested too deep");
    SOLMARK_CHECK_OK(factor());
    emit_binary(BinaryOperator::kPower);
    return success();
  }
  Status atom() {
    const Token& token = peek();
    if (token.kind == Token::Kind::kNumber) {
      emit({.code = Code::kConstant, .constant = token.number});
      ++at_;
      return success();
    }
    if (token.kind == Token::Kind::kName) return name(token.text);
    if (!is("(")) return unexpected();
    Nested nested(depth_);
    if (depth_ > kDeepest) return error("nested too deep");
    ++at_;
    SOLMARK_CHECK_OK(condition_ ? disjunction() : sum());
    if (!accept(")")) return error("a bracket is not closed");
    return success();
  }
  Status name(std::string_view text) {
    static constexpr std::array<std::string_view, 9> kWords = {"and", "or",     "not", "in",  "is",
                                                               "if",  "lambda", "for", "else"};
    if (std::find(kWords.begin(), kWords.end(), text) != kWords.end()) return unexpected();
    ++at_;
    if (condition_ && (text == "True" || text == "False")) {
      emit({.code = Code::kConstant, .constant = std::int64_t{text == "True" ? 1 : 0}});
      return success();
    }
    auto it = std::find(names.begin(), names.end(), text);
    emit({.code = Code::kName, .operand = static_cast<std::size_t>(it - names.begin())});
    if (it == names.end()) names.emplace_back(text);
    return success();
  }

  std::vector<Token> tokens_;
  bool condition_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

bool holds(Relation relation, const Number& left, const Number& right) {
  std::partial_ordering order = compare(left, right);
  switch (relation) {
    case Relation::kEqual:
      return order == 0;
    case Relation::kNotEqual:
      return order != 0;
    case Relation::kLess:
      return order < 0;
    case Relation::kLessEqual:
      return order <= 0;
    case Relation::kGreater:
      return order > 0;
    case Relation::kGreaterEqual:
      return order >= 0;
  }
  return false;
}

Number truth(bool value) { return std::int64_t{value ? 1 : 0}; }

}  // namespace

Result<Expression> Expression::parse(std::string_view text, Grammar grammar) {
  SOLMARK_TRY(std::vector<Token> tokens, tokenize(text));
  if (tokens.size() == 1) return input_error("the expression is empty", {});
  Parser parser(std::move(tokens), grammar);
  SOLMARK_CHECK_OK(parser.run());
  Expression out;
  out.code_ = std::move(parser.code);
  out.names_ = std::move(parser.names);
  return out;
}

Result<Number> Expression::evaluate(const std::map<std::string, std::int64_t>& values) const {
  std::vector<Number> stack;
  auto pop = [&stack] {
    Number top = stack.back();
    stack.pop_back();
    return top;
  };
  for (std::size_t pc = 0; pc < code_.size(); ++pc) {
    const Instruction& i = code_[pc];
    switch (i.code) {
      case Code::kConstant:
        stack.push_back(i.constant);
        break;
      case Code::kName: {
        auto it = values.find(names_[i.operand]);
        if (it == values.end()) {
          std::vector<std::string> known;
          for (const auto& [name, value] : values) known.push_back(name);
          return input_error(fmt::format("\"{}\" has no value", names_[i.operand]), {},
                             suggest_name(names_[i.operand], known));
        }
        stack.emplace_back(it->second);
        break;
      }
      case Code::kBinary: {
        Number right = pop();
        SOLMARK_TRY(stack.back(), apply(i.binary, stack.back(), right));
        break;
      }
      case Code::kNegate: {
        SOLMARK_TRY(stack.back(), negate(stack.back()));
        break;
      }
      case Code::kPlus:
        break;
      case Code::kNot:
        stack.back() = truth(!is_truthy(stack.back()));
        break;
      case Code::kCompare: {
        Number right = pop();
        stack.back() = truth(holds(i.relation, stack.back(), right));
        break;
      }
      case Code::kCompareOrLeave: {
        Number right = pop();
        bool ok = holds(i.relation, stack.back(), right);
        stack.back() = ok ? right : truth(false);
        if (!ok) pc = i.operand - 1;
        break;
      }
      case Code::kJumpIfFalse:
      case Code::kJumpIfTrue:
        if (is_truthy(stack.back()) == (i.code == Code::kJumpIfTrue)) {
          pc = i.operand - 1;
        } else {
          stack.pop_back();
        }
        break;
    }
  }
  return stack.back();
}

Result<std::int64_t> evaluate_axis(std::string_view text, const std::map<std::string, std::int64_t>& values) {
  SOLMARK_TRY(Expression expression, Expression::parse(text, Expression::Grammar::kArithmetic));
  SOLMARK_TRY(Number value, expression.evaluate(values));
  return to_integer(value);
}

}  // namespace solmark::problem
