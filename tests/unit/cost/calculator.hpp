// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a reader of a report does: types a printed line into a calculator.
#pragma once
#include <cctype>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "catch.hpp"

/// A second reading of a printed line, by recursive descent: numbers, letters that are told, + - * / ^, min, max, ceil,
/// parentheses.
class calculator {
 public:
  explicit calculator(std::string text, std::map<std::string, double> letters = {})
      : text_(std::move(text)), letters_(std::move(letters)) {}
  double value() {
    const double v = sum();
    REQUIRE(at_ == text_.size());
    return v;
  }

 private:
  bool take(const std::string& word) {
    if (text_.compare(at_, word.size(), word) != 0) return false;
    at_ += word.size();
    return true;
  }
  double sum() {
    double v = product();
    while (true) {
      if (take(" + ")) v += product();
      else if (take(" - ")) v -= product();
      else return v;
    }
  }
  double product() {
    double v = power();
    while (true) {
      if (take("*")) v *= power();
      else if (take("/")) v /= power();
      else return v;
    }
  }
  double power() {
    const double v = atom();
    return take("^2") ? v * v : v;
  }
  double atom() {
    if (take("(")) return closed(sum());
    if (take("ceil(")) return closed(std::ceil(sum()));
    const bool least = take("min(");
    if (least || take("max(")) {
      const double a = sum();
      REQUIRE(take(", "));
      const double b = sum();
      return closed(least ? std::fmin(a, b) : std::fmax(a, b));
    }
    std::size_t used = 0;
    while (at_ + used < text_.size() &&
           (std::isalpha(static_cast<unsigned char>(text_[at_ + used])) != 0 || text_[at_ + used] == '_'))
      ++used;
    if (used > 0) {
      const auto known = letters_.find(text_.substr(at_, used));
      REQUIRE(known != letters_.end());
      at_ += used;
      return known->second;
    }
    const double v = std::stod(text_.substr(at_), &used);
    at_ += used;
    return v;
  }
  double closed(double v) {
    REQUIRE(take(")"));
    return v;
  }
  std::string text_;
  std::map<std::string, double> letters_;
  std::size_t at_ = 0;
};
