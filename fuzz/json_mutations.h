// Mutations that keep a text valid JSON: they reach what lies behind the parser, where changed bytes seldom
// do.
#pragma once

#include <random>
#include <string>

namespace solmark::fuzz {

// One to three changes of numbers, lists, members and texts; texts are swapped with others of the same key
// anywhere in the document. The text as it is when it is no JSON.
std::string mutate_json(const std::string& text, std::mt19937& random);

}  // namespace solmark::fuzz
