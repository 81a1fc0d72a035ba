// SPDX-License-Identifier: Apache-2.0
//
// Several of our programs at once, each with a log of its own, beside the sample driver and an
// embedded API server in the test's process. Does not model the kubelet.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lib/base/random.h"
#include "test/support/apiserver/api_server.h"
#include "test/support/sidecar_fixture.h"

namespace csinative {

class SidecarsFixture : public test::SidecarFixture {
 protected:
  // One started program. It is killed when it goes.
  class Program {
   public:
    Program(std::string name, test::ChildProcess child, std::string log, std::string out)
        : name_(std::move(name)),
          child_(std::move(child)),
          log_(std::move(log)),
          out_(std::move(out)) {}

    const std::string& name() const { return name_; }
    test::ChildProcess& child() { return child_; }
    bool Running() { return !child_.Poll().has_value(); }
    std::string Stderr() const { return Read(log_); }
    std::string Stdout() const { return Read(out_); }
    bool Logged(const std::string& text) const { return Stderr().find(text) != npos; }
    // How many lines have the text.
    int Lines(const std::string& text) const;
    // 0 while it does not listen.
    int Port() const;

   private:
    const std::string name_;
    test::ChildProcess child_;
    const std::string log_;
    const std::string out_;
  };
  struct StartOptions {
    std::map<std::string, std::string> env = {};
    std::vector<std::string> wrapper = {};  // in front of the program's path
    std::string path = {};                  // instead of the build's binary
  };

  SidecarsFixture() : SidecarFixture("", SAMPLE_DRIVER_BINARY) {}
  ~SidecarsFixture() override;

  // The programs that there are, by name.
  static const std::map<std::string, std::string>& Binaries();

  // Starts the server and writes its kubeconfig.
  void StartApi();
  std::string kubeconfig() const { return dir_.path() + "/kubeconfig"; }
  std::string WriteFile(const std::string& name, const std::string& text) const;
  // Starts a program with exactly these arguments. The reference stays valid.
  Program& Start(const std::string& name, std::vector<std::string> arguments) {
    return Start(name, std::move(arguments), StartOptions{});
  }
  Program& Start(const std::string& name, std::vector<std::string> arguments, StartOptions options);
  // What a controller needs: driver, API server, -v=5; and more.
  std::vector<std::string> ControllerArguments(std::vector<std::string> more = {}) const;
  // In front of a program: its /dev/termination-log is this file. Needs root.
  std::vector<std::string> WithTerminationLog(const std::string& file) const;

  // Writes the files of a pod's service account and returns the environment of its programs.
  // REQUIRES: EnterContainer has succeeded, and the API server runs.
  std::map<std::string, std::string> InCluster() const;

  void Add(const std::string& json);
  // The stored object as JSON; empty when there is none.
  std::string Find(const std::string& group, const std::string& resource, const std::string& ns,
                   const std::string& name);
  // Requests of an administrator; the HTTP code.
  int Patch(const std::string& path, const std::string& merge_patch);
  int Delete(const std::string& path);

  // The exit code; -1 if the program still runs after the limit, -signal if one ended it.
  int ExitCode(Program& program, Duration limit = std::chrono::seconds(20));

  std::unique_ptr<Random> random_ = NewSystemRandom();
  std::unique_ptr<apiserver::EmbeddedApiServer> api_;
  std::deque<Program> programs_;
  int started_ = 0;

 private:
  int Request(const std::string& method, const std::string& path, const std::string& body);
};

}  // namespace csinative
