// SPDX-License-Identifier: Apache-2.0
#include "apis/k8s.h"
#include "lib/base/strings.h"
#include "test/integration/kube_faults/fault_fixture.h"

namespace csinative::kube {
namespace {

class BigObjectTest : public FaultFixture {};

// Beyond the largest frame of a watch (16 MiB): a list has to bring it, and to find its deletion.
TEST_F(BigObjectTest, Of64MebibytesComesAndGoes) {
  Listen(Tls::kOn);
  StartProxy();
  Follow(ConfigFor(ProxyUrl()));
  const auto made = api().CreateObject(StrCat(
      R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"default","name":"big"},)",
      R"("data":{"k":")", std::string(size_t{64} << 20, 'x'), R"("}})"));
  ASSERT_TRUE(made.ok());
  MarkRepaired();
  Change();
  ExpectRecovery("an object of 64 MiB comes", 10, std::chrono::seconds(60));
  ASSERT_TRUE(informer_->Contains("default/big"));
  BeginCount();
  MarkRepaired();
  DeleteDirectly("big");
  Change();
  ExpectRecovery("an object of 64 MiB goes", 10, std::chrono::seconds(60));
  EXPECT_FALSE(informer_->Contains("default/big"));
}

}  // namespace
}  // namespace csinative::kube
