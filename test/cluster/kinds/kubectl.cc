// SPDX-License-Identifier: Apache-2.0
#include "test/cluster/kinds/kubectl.h"

#include <chrono>
#include <fstream>
#include <sstream>
#include <utility>

#include "lib/base/strings.h"

namespace csinative::kinds {
namespace {

std::string ReadAll(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// Blocking pool only. `base` is the beginning of the names of this call's files.
Result<std::string> Call(std::vector<std::string> command, const std::string& base) {
  const std::string what = Join(std::vector(command.begin() + 1, command.end()), " ");
  CSI_ASSIGN_OR_RETURN(test::ChildProcess child,
                       test::ChildProcess::Start({.command = std::move(command),
                                                  .stdout_file = base + ".out",
                                                  .stderr_file = base + ".err"}));
  const std::optional<int> status = child.Wait(std::chrono::minutes(2));
  if (!status) return UnknownError(StrCat("kubectl ", what, ": does not end"));
  if (*status != 0) {
    return UnknownError(StrCat("kubectl ", what, ": ", TrimSpace(ReadAll(base + ".err"))));
  }
  return ReadAll(base + ".out");
}

}  // namespace

async::Task<Result<std::string>> Kubectl::Run(std::vector<std::string> arguments,
                                              std::string document) {
  const std::string base = StrCat(folder_.path(), "/", ++calls_);
  std::vector<std::string> command = {program_, "--kubeconfig", kubeconfig_, "--cache-dir",
                                      folder_.path() + "/cache"};
  for (std::string& argument : arguments) command.push_back(std::move(argument));
  if (!document.empty()) {
    const std::string file = base + ".json";
    std::ofstream(file, std::ios::binary) << document;
    command.push_back("--filename=" + file);
  }
  co_return co_await async::Blocking(
      executor_, [command = std::move(command), base] { return Call(command, base); });
}

std::string ListOf(const std::vector<std::string>& objects) {
  return StrCat(R"({"apiVersion":"v1","kind":"List","items":[)", Join(objects, ","), "]}");
}

}  // namespace csinative::kinds
