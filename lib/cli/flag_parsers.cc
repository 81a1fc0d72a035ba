// SPDX-License-Identifier: Apache-2.0
//
// The two command-line grammars (common 2.1, 2.2) and their error texts (common 2.5).
#include "lib/base/go_quote.h"
#include "lib/base/strings.h"
#include "lib/cli/flag_set.h"

namespace csinative::cli {
namespace {

std::string_view Take(std::span<const char* const>& arguments) {
  const std::string_view argument = arguments.front();
  arguments = arguments.subspan(1);
  return argument;
}

bool IsPositional(std::string_view argument) {
  return argument.size() < 2 || argument.front() != '-';
}

// A flag's name and what follows the first '=' behind it.
struct NameAndValue {
  std::string_view name;
  std::string_view value;
  bool has_value = false;
};

NameAndValue SplitName(std::string_view text) {
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos) return {text, {}, false};
  return {text.substr(0, equals), text.substr(equals + 1), true};
}

bool IsBadName(std::string_view text) {
  return text.empty() || text.front() == '-' || text.front() == '=';
}

}  // namespace

std::string FlagSet::SetValue(FlagMap::iterator flag, std::string_view value) {
  const std::string& name = flag->first;
  Flag& entry = flag->second;
  const Refusal refusal = entry.set(value);
  if (refusal.go.empty()) {
    entry.changed = true;
    return {};
  }
  if (grammar_ == Grammar::kGo) {
    return entry.is_bool_like
               ? StrCat("invalid boolean value ", GoQuote(value), " for -", name, ": ", refusal.go)
               : StrCat("invalid value ", GoQuote(value), " for flag -", name, ": ", refusal.go);
  }
  std::string shown = StrCat("--", name);
  if (entry.options.shorthand != '\0') shown = StrCat("-", entry.options.shorthand, ", ", shown);
  return StrCat("invalid argument ", GoQuote(value), " for ", GoQuote(shown),
                " flag: ", entry.options.origin == Origin::kImported ? refusal.go : refusal.native);
}

std::string FlagSet::ParseGo(Cursor arguments, ParseResult& result) {
  while (!arguments.empty() && !IsPositional(arguments.front())) {
    const std::string_view argument = Take(arguments);
    if (argument == "--") break;
    const std::string_view text = argument.substr(argument.starts_with("--") ? 2 : 1);
    if (IsBadName(text)) return StrCat("bad flag syntax: ", argument);
    const NameAndValue part = SplitName(text);
    const auto flag = flags_.find(part.name);
    if (flag == flags_.end()) {
      if (part.name == "help" || part.name == "h") {
        result.outcome = ParseResult::Outcome::kHelp;
        return {};
      }
      return StrCat("flag provided but not defined: -", part.name);
    }
    std::string_view value = part.value;
    if (!part.has_value) {
      if (flag->second.is_bool_like) {
        value = "true";
      } else if (arguments.empty()) {
        return StrCat("flag needs an argument: -", part.name);
      } else {
        value = Take(arguments);
      }
    }
    if (std::string error = SetValue(flag, value); !error.empty()) return error;
  }
  result.positionals.assign(arguments.begin(), arguments.end());
  return {};
}

std::string FlagSet::ParsePflag(Cursor arguments, ParseResult& result) {
  while (!arguments.empty() && result.outcome == ParseResult::Outcome::kParsed) {
    const std::string_view argument = Take(arguments);
    if (argument == "--") {
      result.positionals.insert(result.positionals.end(), arguments.begin(), arguments.end());
      return {};
    }
    if (IsPositional(argument)) {
      result.positionals.emplace_back(argument);
      continue;
    }
    std::string error = argument.starts_with("--") ? ParsePflagLong(argument, arguments, result)
                                                   : ParsePflagShort(argument, arguments, result);
    if (!error.empty()) return error;
  }
  return {};
}

std::string FlagSet::ParsePflagLong(std::string_view argument, Cursor& arguments,
                                    ParseResult& result) {
  const std::string_view text = argument.substr(2);
  if (IsBadName(text)) return StrCat("bad flag syntax: ", argument);
  const NameAndValue part = SplitName(text);
  const auto flag = flags_.find(part.name);
  if (flag == flags_.end()) {
    if (part.name != "help") return StrCat("unknown flag: --", part.name);
    result.outcome = ParseResult::Outcome::kHelp;
    return {};
  }
  std::string_view value = part.value;
  if (!part.has_value) {
    if (flag->second.is_bool_like) {
      value = "true";
    } else if (arguments.empty()) {
      return StrCat("flag needs an argument: --", part.name);
    } else {
      value = Take(arguments);
    }
  }
  return SetValue(flag, value);
}

// A cluster of one-letter flags, the last of which may carry its value.
std::string FlagSet::ParsePflagShort(std::string_view argument, Cursor& arguments,
                                     ParseResult& result) {
  for (std::string_view rest = argument.substr(1); !rest.empty();) {
    const char letter = rest.front();
    auto flag = flags_.begin();
    while (flag != flags_.end() && flag->second.options.shorthand != letter) ++flag;
    if (flag == flags_.end()) {
      if (letter == 'h') {
        result.outcome = ParseResult::Outcome::kHelp;
        return {};
      }
      // Go prints the byte as the code point of that number.
      return StrCat("unknown shorthand flag: ", GoQuoteRune(static_cast<unsigned char>(letter)),
                    " in -", rest);
    }
    std::string_view value;
    if (rest.size() > 2 && rest[1] == '=') {
      value = rest.substr(2);
      rest = {};
    } else if (flag->second.is_bool_like) {
      value = "true";
      rest.remove_prefix(1);
    } else if (rest.size() > 1) {
      value = rest.substr(1);
      rest = {};
    } else if (!arguments.empty()) {
      value = Take(arguments);
      rest = {};
    } else {
      return StrCat("flag needs an argument: ", GoQuoteRune(static_cast<unsigned char>(letter)),
                    " in -", rest);
    }
    if (std::string error = SetValue(flag, value); !error.empty()) return error;
  }
  return {};
}

}  // namespace csinative::cli
