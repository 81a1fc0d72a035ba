// SPDX-License-Identifier: Apache-2.0
#include "lib/cli/flag_set.h"

#include <cassert>
#include <utility>

#include "lib/base/go_duration.h"
#include "lib/base/go_float.h"
#include "lib/base/go_quote.h"
#include "lib/base/strings.h"
#include "lib/cli/go_number.h"

namespace csinative::cli {
namespace {

// Package flag's words for a bad number.
std::string GoNumberError(NumberError error) {
  return error == NumberError::kRange ? "value out of range" : "parse error";
}

std::string FloatText(double value) {
  std::string out;
  AppendGoFloatG(out, value);
  return out;
}

}  // namespace

FlagSet::FlagSet(Grammar grammar, std::string program)
    : grammar_(grammar), program_(std::move(program)) {}

void FlagSet::Add(std::string name, Flag flag, FlagOptions options) {
  flag.options = options;
  const bool added = flags_.emplace(std::move(name), std::move(flag)).second;
  assert(added);
  static_cast<void>(added);
}

void FlagSet::BoolFlag(std::string name, bool* variable, std::string help, FlagOptions options) {
  const auto set = [variable](std::string_view text) -> Refusal {
    const std::optional<bool> value = ParseGoBool(text);
    if (!value) return {"parse error", StrconvError("ParseBool", text, NumberError::kSyntax)};
    *variable = *value;
    return {};
  };
  Add(std::move(name), {set, true, std::move(help), "", *variable ? "true" : "false"}, options);
}

void FlagSet::IntFlag(std::string name, int64_t* variable, std::string help, FlagOptions options) {
  const auto set = [variable](std::string_view text) -> Refusal {
    const Number<int64_t> number = ParseGoInt(text);
    if (number.error != NumberError::kNone) {
      return {GoNumberError(number.error), StrconvError("ParseInt", text, number.error)};
    }
    *variable = number.value;
    return {};
  };
  Add(std::move(name), {set, false, std::move(help), "int", std::to_string(*variable)}, options);
}

void FlagSet::UintFlag(std::string name, uint64_t* variable, std::string help,
                       FlagOptions options) {
  const auto set = [variable](std::string_view text) -> Refusal {
    const Number<uint64_t> number = ParseGoUint(text);
    if (number.error != NumberError::kNone) {
      return {GoNumberError(number.error), StrconvError("ParseUint", text, number.error)};
    }
    *variable = number.value;
    return {};
  };
  Add(std::move(name), {set, false, std::move(help), "uint", std::to_string(*variable)}, options);
}

void FlagSet::DoubleFlag(std::string name, double* variable, std::string help,
                         FlagOptions options) {
  const auto set = [variable](std::string_view text) -> Refusal {
    const Number<double> number = ParseGoDouble(text);
    if (number.error != NumberError::kNone) {
      return {GoNumberError(number.error), StrconvError("ParseFloat", text, number.error)};
    }
    *variable = number.value;
    return {};
  };
  Add(std::move(name), {set, false, std::move(help), "float", FloatText(*variable)}, options);
}

void FlagSet::FloatFlag(std::string name, float* variable, std::string help, FlagOptions options) {
  const auto set = [variable](std::string_view text) -> Refusal {
    const Number<float> number = ParseGoFloat(text);
    if (number.error != NumberError::kNone) {
      return {GoNumberError(number.error), StrconvError("ParseFloat", text, number.error)};
    }
    *variable = number.value;
    return {};
  };
  Add(std::move(name), {set, false, std::move(help), "float", FloatText(*variable)}, options);
}

void FlagSet::StringFlag(std::string name, std::string* variable, std::string help,
                         FlagOptions options) {
  const auto set = [variable](std::string_view text) -> Refusal {
    *variable = text;
    return {};
  };
  Add(std::move(name), {set, false, std::move(help), "string", GoQuote(*variable)}, options);
}

void FlagSet::DurationFlag(std::string name, Duration* variable, std::string help,
                           FlagOptions options) {
  const auto set = [variable](std::string_view text) -> Refusal {
    const Result<Duration> value = ParseGoDuration(text);
    if (!value.ok()) return {"parse error", value.status().message()};
    *variable = *value;
    return {};
  };
  Add(std::move(name), {set, false, std::move(help), "duration", FormatGoDuration(*variable)},
      options);
}

void FlagSet::Custom(std::string name, CustomFlag flag, std::string help, FlagOptions options) {
  const auto set = [set = std::move(flag.set)](std::string_view text) -> Refusal {
    const Status status = set(text);
    if (status.ok()) return {};
    return {status.message(), status.message()};
  };
  Add(std::move(name),
      {set, flag.is_bool_like, std::move(help), flag.is_bool_like ? "" : "value",
       std::move(flag.default_text)},
      options);
}

bool FlagSet::Changed(std::string_view name) const {
  const auto flag = flags_.find(name);
  return flag != flags_.end() && flag->second.changed;
}

std::string FlagSet::Usage() const {
  std::string out = StrCat("Usage of ", program_, ":\n");
  for (const auto& [name, flag] : flags_) {
    out += "  ";
    if (flag.options.shorthand != '\0' && grammar_ == Grammar::kPflag) {
      out += StrCat("-", flag.options.shorthand, ", ");
    }
    out += StrCat("--", name);
    if (!flag.type.empty()) out += StrCat(" ", flag.type);
    if (!flag.default_text.empty()) out += StrCat(" (default ", flag.default_text, ")");
    out += StrCat("\n      ", ReplaceAll(flag.help, "\n", "\n      "), "\n");
  }
  return out;
}

ParseResult FlagSet::Parse(std::span<const char* const> arguments) {
  ParseResult result;
  result.error =
      grammar_ == Grammar::kGo ? ParseGo(arguments, result) : ParsePflag(arguments, result);
  if (!result.error.empty()) {
    result.outcome = ParseResult::Outcome::kError;
    result.exit_code = 2;
    const std::string line = result.error + "\n";
    result.stderr_text = grammar_ == Grammar::kGo ? line + Usage() : Usage() + line;
  } else if (result.outcome == ParseResult::Outcome::kHelp) {
    result.stderr_text = Usage();
  }
  return result;
}

}  // namespace csinative::cli
