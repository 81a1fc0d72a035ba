// SPDX-License-Identifier: Apache-2.0
//
// What the driver does with a call, as its file says:
//
//   {"answers": {"/csi.v1.Identity/GetPluginInfo": {"name": "driver.example.com"}, ...},
//    "rules": [{"method": "/csi.v1.Controller/CreateVolume", "where": {"name": "pvc-1"},
//               "calls": [1, 2], "code": 14, "message": "later", "delay_ms": 100, "hang": true,
//               "answer": {...}}, ...]}
//
// A method without an answer is not implemented. A rule is for the calls whose request has the
// members of `where`; `calls` are the numbers of these calls, from 1 (not given: all). The first
// rule that applies decides: it waits, then fails with the code, or answers with its own answer or
// the method's; with "hang" it never answers. In answers "${path}" stands for the member of the
// request with this path: alone in a string for its value of any type (nothing when it is not
// there), else for its text. Any thread.
#pragma once

#include <rapidjson/document.h>

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace csinative::scripted_driver {

struct Reaction {
  int code = 0;  // of gRPC
  std::string message;
  std::string answer = "{}";  // JSON of the response, when the code is 0
  int delay_ms = 0;
  bool hang = false;
  int call = 0;  // number of this call of the method, from 1
};

class Script {
 public:
  explicit Script(std::string file) : file_(std::move(file)) {}

  // Reads the file, counts the call. A file that makes no sense is answered with INTERNAL, so that
  // the recording shows it.
  Reaction React(const std::string& method, const std::string& request_json);

 private:
  // Fills it from the file unless that has not changed; says what is wrong.
  std::optional<std::string> Load();

  const std::string file_;
  std::mutex mutex_;
  std::string text_;
  rapidjson::Document document_;
  std::map<std::string, int> calls_;  // by method
  std::vector<int> matches_;          // by rule
};

}  // namespace csinative::scripted_driver
