// SPDX-License-Identifier: Apache-2.0
#include "cmd/provisioner/document.h"

#include <gtest/gtest.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

namespace csinative::provisioner {
namespace {

// The document after the edit; "unchanged" when there was nothing to do.
std::string Apply(const DocumentEdit& edit, const char* json) {
  rapidjson::Document document;
  document.Parse(json);
  if (!edit(&document)) return "unchanged";
  rapidjson::StringBuffer out;
  rapidjson::Writer<rapidjson::StringBuffer> writer(out);
  document.Accept(writer);
  return out.GetString();
}

TEST(DocumentEditTest, RemovesAnAnnotationAndNothingElse) {
  EXPECT_EQ(Apply(RemoveAnnotation("a"),
                  R"({"metadata":{"annotations":{"a":"1","b":"2"},"x":[1]},"new":{"y":null}})"),
            R"({"metadata":{"annotations":{"b":"2"},"x":[1]},"new":{"y":null}})");
  EXPECT_EQ(Apply(RemoveAnnotation("a"), R"({"metadata":{"annotations":{"b":"2"}}})"), "unchanged");
  EXPECT_EQ(Apply(RemoveAnnotation("a"), R"({"metadata":{}})"), "unchanged");
}

TEST(DocumentEditTest, AppendsAFinalizerOnce) {
  EXPECT_EQ(Apply(AppendFinalizer("f"), R"({"metadata":{"finalizers":["a"]}})"),
            R"({"metadata":{"finalizers":["a","f"]}})");
  EXPECT_EQ(Apply(AppendFinalizer("f"), R"({"metadata":{}})"),
            R"({"metadata":{"finalizers":["f"]}})");
  EXPECT_EQ(Apply(AppendFinalizer("f"), R"({"metadata":{"finalizers":null}})"),
            R"({"metadata":{"finalizers":["f"]}})");
  EXPECT_EQ(Apply(AppendFinalizer("f"), R"({"metadata":{"finalizers":["f"]}})"), "unchanged");
}

TEST(DocumentEditTest, RemovesAFinalizer) {
  EXPECT_EQ(Apply(RemoveFinalizer("f"), R"({"metadata":{"finalizers":["a","f","b"]}})"),
            R"({"metadata":{"finalizers":["a","b"]}})");
  EXPECT_EQ(Apply(RemoveFinalizer("f"), R"({"metadata":{"finalizers":["f"]}})"),
            R"({"metadata":{}})");
  EXPECT_EQ(Apply(RemoveFinalizer("f"), R"({"metadata":{"finalizers":["a"]}})"), "unchanged");
  EXPECT_EQ(Apply(RemoveFinalizer("f"), R"([])"), "unchanged");
}

}  // namespace
}  // namespace csinative::provisioner
