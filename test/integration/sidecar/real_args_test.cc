// SPDX-License-Identifier: Apache-2.0
//
// Every argument list that published deployments pass, word by word, at the paths and ports they
// name: the programs start, find their driver and the API server, and begin their work.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "lib/base/strings.h"
#include "test/integration/sidecar/container.h"
#include "test/integration/sidecar/fixture.h"

namespace csinative {
namespace {

namespace fs = std::filesystem;

struct Container {
  std::string driver;
  std::string component;
  std::vector<std::string> arguments;
  std::map<std::string, std::string> env;
};

std::vector<std::string> Words(std::string_view text) {
  std::vector<std::string> words;
  for (const std::string_view word : Split(text, ' ')) {
    if (!word.empty()) words.emplace_back(word);
  }
  return words;
}

std::vector<Container> Containers() {
  std::vector<Container> containers;
  std::ifstream in(TEST_DATA "/real_args.txt");
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("#")) continue;
    const auto fields = Split(line, '|');
    Container& container = containers.emplace_back();
    container.driver = fields[0];
    container.component = fields[1];
    container.arguments = Words(fields[2]);
    for (const std::string& entry : Words(fields[3])) {
      const size_t equals = entry.find('=');
      container.env[entry.substr(0, equals)] = entry.substr(equals + 1);
    }
  }
  return containers;
}

// Components of the file that no test here starts, and why.
const std::map<std::string, std::string>& LeftOut() {
  static const std::map<std::string, std::string> left_out = {
      {"resizer", "csi-resizer is not built yet"},
      {"snapshotter", "csi-snapshotter is not built yet"},
      {"health-monitor", "the health monitor is not part of this project"},
      {"registrar(win)", "there is no build for Windows"},
      {"livenessprobe(win)", "there is no build for Windows"},
  };
  return left_out;
}

class RealArgumentsTest : public SidecarsFixture {
 protected:
  void SetUp() override {
    const Status entered = EnterContainer();
    ASSERT_TRUE(entered.ok()) << entered.message();
    for (const auto& [name, path] : Binaries()) {
      if (!fs::exists("/" + name)) fs::create_symlink(path, "/" + name);
    }
    fs::create_directories("/registration");
    StartApi();
    StartDriver();
    in_cluster_ = InCluster();
  }

  // Makes the driver's socket appear where the arguments look for it.
  void LinkSocket(const std::vector<std::string>& arguments) {
    std::string path = "/run/csi/socket";
    for (const std::string& argument : arguments) {
      const size_t at = argument.find("csi-address=");
      if (at != npos && at <= 2) path = argument.substr(at + 12);
    }
    if (path.starts_with("unix://")) path = path.substr(7);
    fs::create_directories(fs::path(path).parent_path());
    fs::remove(path);
    fs::create_symlink(driver_socket(), path);
  }

  // Starts the program with each list of the component until `works`.
  void StartAll(const std::string& component, const std::string& name,
                const std::function<bool(Program&)>& works) {
    int started = 0;
    for (const Container& container : Containers()) {
      if (container.component != component) continue;
      SCOPED_TRACE(StrCat(container.driver, " ", component, ": ", Join(container.arguments, " ")));
      LinkSocket(container.arguments);
      StartOptions options{.env = container.env, .path = "/" + name};
      options.env.insert(in_cluster_.begin(), in_cluster_.end());
      Program& program = Start(name, container.arguments, std::move(options));
      EXPECT_TRUE(Until([&] { return works(program) || !program.Running(); }));
      EXPECT_TRUE(works(program)) << program.Stderr();
      EXPECT_TRUE(program.Running()) << ExitCode(program) << program.Stderr();
      ++started;
      programs_.clear();
    }
    EXPECT_GT(started, 0) << component;
  }

  std::map<std::string, std::string> in_cluster_;
};

TEST_F(RealArgumentsTest, ProvisionerStarts) {
  StartAll("provisioner", "csi-provisioner",
           [](Program& program) { return program.Logged("Started provisioner controller"); });
}

TEST_F(RealArgumentsTest, AttacherStarts) {
  StartAll("attacher", "csi-attacher",
           [](Program& program) { return program.Logged("Starting CSI attacher"); });
}

TEST_F(RealArgumentsTest, RegistrarStarts) {
  StartAll("registrar", "csi-node-driver-registrar",
           [](Program& program) { return program.Logged("Registration Server started"); });
}

TEST_F(RealArgumentsTest, LivenessprobeStarts) {
  StartAll("livenessprobe", "livenessprobe", [](Program& program) { return program.Port() != 0; });
}

// As an exec probe the registrar ends at once, whatever is around it.
TEST_F(RealArgumentsTest, RegistrarAsAnExecProbeSucceeds) {
  int started = 0;
  for (const Container& container : Containers()) {
    if (container.component != "registrar(exec probe)") continue;
    Program& program = Start("csi-node-driver-registrar", container.arguments,
                             {.env = container.env, .path = "/csi-node-driver-registrar"});
    EXPECT_EQ(ExitCode(program), 0);
    EXPECT_EQ(program.Stderr(), "");
    ++started;
  }
  EXPECT_GT(started, 0);
}

TEST(RealArgumentsFileTest, EveryComponentIsStartedOrLeftOutByName) {
  const std::set<std::string> started = {"provisioner", "attacher", "registrar", "livenessprobe",
                                         "registrar(exec probe)"};
  std::set<std::string> drivers;
  std::set<std::string> components;
  for (const Container& container : Containers()) {
    drivers.insert(container.driver);
    components.insert(container.component);
    EXPECT_EQ(started.contains(container.component) + LeftOut().count(container.component), 1u)
        << container.component;
  }
  EXPECT_EQ(drivers.size(), 29u);
  for (const auto& [component, why] : LeftOut()) {
    EXPECT_TRUE(components.contains(component)) << component << ": " << why;
  }
}

}  // namespace
}  // namespace csinative
