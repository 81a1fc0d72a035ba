// SPDX-License-Identifier: Apache-2.0
#include "lib/log/logger.h"

#include "lib/log/format.h"

namespace csinative::log {

Logger Logger::WithName(std::string_view name) const {
  Logger copy = *this;
  auto context = context_ ? std::make_shared<Context>(*context_) : std::make_shared<Context>();
  if (!context->name.empty()) context->name += '.';
  context->name += name;
  copy.context_ = std::move(context);
  return copy;
}

Logger Logger::WithPairs(std::span<Pair> pairs) const {
  Logger copy = *this;
  auto context = context_ ? std::make_shared<Context>(*context_) : std::make_shared<Context>();
  context->values.insert(context->values.end(), std::make_move_iterator(pairs.begin()),
                         std::make_move_iterator(pairs.end()));
  copy.context_ = std::move(context);
  return copy;
}

void Logger::Write(Severity severity, int level, const Message& message, const Value* error,
                   std::span<const Pair> pairs) const {
  Record record;
  record.severity = severity;
  record.level = level;
  record.location = message.location;
  record.text = message.text;
  record.error = error;
  record.pairs = pairs;
  if (context_) {
    record.name = context_->name;
    record.values = context_->values;
  }
  backend_->Write(record);
}

void Logger::WriteUnstructured(Severity severity, int level, std::string_view format,
                               const std::source_location& location,
                               std::span<const Value> arguments) const {
  std::string text;
  for (const Value& argument : arguments) {
    const size_t at = format.find("{}");
    text += format.substr(0, at);
    AppendPlainValue(text, argument);
    format.remove_prefix(at + 2);
  }
  text += format;
  Record record;
  record.severity = severity;
  record.structured = false;
  record.level = level;
  record.location = location;
  record.text = text;
  backend_->Write(record);
}

Logger NewStderrLogger() { return NewLogger(NewFdOutput(2)); }

Logger NewLogger(std::shared_ptr<Output> output, Backend::Options options) {
  return Logger(std::make_shared<Backend>(std::move(output), options));
}

}  // namespace csinative::log
