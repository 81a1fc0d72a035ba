// SPDX-License-Identifier: Apache-2.0
#include "test/support/demo/driver_log.h"

#include <rapidjson/document.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <fstream>
#include <utility>

#include "lib/async/sleep.h"

namespace csinative::demo {
namespace {

// Short enough that the table keeps the order of calls and objects.
constexpr Duration kPoll = std::chrono::milliseconds(2);

DriverCall Parse(const std::string& line) {
  DriverCall call;
  rapidjson::Document json;
  json.Parse(line.c_str());
  if (json.HasParseError() || !json.IsObject()) return call;
  const std::string method = json["method"].GetString();
  call.method = method.substr(method.rfind('/') + 1);
  rapidjson::StringBuffer buffer;
  rapidjson::Writer<rapidjson::StringBuffer> writer(buffer);
  json["request"].Accept(writer);
  call.request = buffer.GetString();
  call.code = json["code"].GetString();
  return call;
}

}  // namespace

async::Task<void> FollowDriverLog(std::string path,
                                  std::function<void(const DriverCall&)> on_call) {
  std::ifstream in;
  std::string pending;
  while (true) {
    if (!in.is_open()) in.open(path);
    char buffer[4096];
    while (in.is_open() && (in.read(buffer, sizeof buffer), in.gcount() > 0)) {
      pending.append(buffer, static_cast<size_t>(in.gcount()));
    }
    in.clear();
    for (size_t end = pending.find('\n'); end != std::string::npos; end = pending.find('\n')) {
      const std::string line = pending.substr(0, end);
      pending.erase(0, end + 1);
      on_call(Parse(line));
    }
    if (!(co_await async::Sleep(kPoll)).ok()) co_return;
  }
}

}  // namespace csinative::demo
