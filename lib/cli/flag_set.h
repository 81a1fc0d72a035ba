// SPDX-License-Identifier: Apache-2.0
//
// One declaration of flags, parsed by either of Go's two grammars (common 2): kGo is the standard
// library's package flag, kPflag is spf13/pflag. Flags are bound to variables whose value at
// registration is the default. Nothing here exits or prints: the result says what to write.
//
//   FlagSet flags(Grammar::kGo, argv[0]);
//   flags.DurationFlag("timeout", &config.timeout, "Limit for one call to the driver.");
//   ParseResult result = flags.Parse({argv + 1, argv + argc});
//   if (result.outcome != ParseResult::Outcome::kParsed) { … result.stderr_text, result.exit_code }
//
// Start-up only; one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/clock.h"
#include "lib/base/status.h"

namespace csinative::cli {

enum class Grammar { kGo, kPflag };

// kImported: defined with package flag and added to a pflag set, which shows in error texts only.
enum class Origin { kNative, kImported };

struct FlagOptions {
  Origin origin = Origin::kNative;
  char shorthand = '\0';  // one letter for kPflag; kGo ignores it
};

// A flag with its own grammar.
struct CustomFlag {
  // Called for each occurrence, in order. The message of a failure, which is not empty, is the
  // reason in the error text.
  std::function<Status(std::string_view)> set;
  std::string default_text;   // for the usage text
  bool is_bool_like = false;  // needs no value; "true" is set when it has none
};

struct ParseResult {
  enum class Outcome { kParsed, kHelp, kError };
  Outcome outcome = Outcome::kParsed;
  int exit_code = 0;                     // 0 for help, 2 for an error
  std::string error;                     // the message line of an error
  std::string stderr_text;               // message and usage in the grammar's order
  std::vector<std::string> positionals;  // accepted and without effect
};

class FlagSet {
 public:
  // program is argv[0]: it appears in the usage text.
  FlagSet(Grammar grammar, std::string program);

  // Registers a flag. REQUIRES: name is new; the variable outlives Parse.
  void BoolFlag(std::string name, bool* variable, std::string help, FlagOptions options = {});
  void IntFlag(std::string name, int64_t* variable, std::string help, FlagOptions options = {});
  void UintFlag(std::string name, uint64_t* variable, std::string help, FlagOptions options = {});
  void DoubleFlag(std::string name, double* variable, std::string help, FlagOptions options = {});
  void FloatFlag(std::string name, float* variable, std::string help, FlagOptions options = {});
  void StringFlag(std::string name, std::string* variable, std::string help,
                  FlagOptions options = {});
  void DurationFlag(std::string name, Duration* variable, std::string help,
                    FlagOptions options = {});
  void Custom(std::string name, CustomFlag flag, std::string help, FlagOptions options = {});

  // arguments without argv[0]. Variables set before an error keep their new values.
  [[nodiscard]] ParseResult Parse(std::span<const char* const> arguments);

  Grammar grammar() const { return grammar_; }
  const std::string& program() const { return program_; }
  // Whether the flag occurred in Parse.
  bool Changed(std::string_view name) const;
  // Every flag with default and help, sorted by name.
  std::string Usage() const;

 private:
  // Why a value was refused, in the words of both libraries; empty when it was accepted.
  struct Refusal {
    std::string go;      // package flag, and what a pflag set imported from it
    std::string native;  // pflag
  };
  struct Flag {
    std::function<Refusal(std::string_view)> set;
    bool is_bool_like = false;
    std::string help;
    std::string type;          // shown in the usage text
    std::string default_text;  // shown in the usage text
    FlagOptions options = {};
    bool changed = false;
  };
  using FlagMap = std::map<std::string, Flag, std::less<>>;
  // What is left of the arguments while they are parsed.
  using Cursor = std::span<const char* const>;

  void Add(std::string name, Flag flag, FlagOptions options);
  // Each returns the message line of an error, or "". They set outcome to kHelp where help was
  // asked for.
  std::string ParseGo(Cursor arguments, ParseResult& result);
  std::string ParsePflag(Cursor arguments, ParseResult& result);
  std::string ParsePflagLong(std::string_view argument, Cursor& arguments, ParseResult& result);
  std::string ParsePflagShort(std::string_view argument, Cursor& arguments, ParseResult& result);
  std::string SetValue(FlagMap::iterator flag, std::string_view value);

  const Grammar grammar_;
  const std::string program_;
  FlagMap flags_;
};

}  // namespace csinative::cli
