// SPDX-License-Identifier: Apache-2.0
//
// Makes the serialized objects of one kind small. They are short and much alike, the same names of
// fields, finalizers, drivers and namespaces in each, which a compressor finds in a dictionary of a
// few of them and not within one. Loop only.
//
// Small stores stay as they are: the compressor's own tables take about 200 KiB.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace csinative::kube {

class ObjectPacker {
 public:
  // Tables pay off from about 600 objects on, at the 350 bytes that each one saves.
  static constexpr int kExamples = 500;

  ObjectPacker();
  ~ObjectPacker();
  ObjectPacker(const ObjectPacker&) = delete;
  ObjectPacker& operator=(const ObjectPacker&) = delete;

  // Looks at an object that is new to a store. After kExamples of them Pack() works, from then on
  // always in the same way.
  void Learn(std::string_view bytes);

  // The packed form, equal for equal bytes; empty where that would not be smaller. Valid until the
  // next call.
  std::string_view Pack(std::string_view bytes);
  // What was packed; valid until the next call. REQUIRES: Pack() returned it.
  std::string_view Unpack(std::string_view packed);

 private:
  struct Examples;
  struct Tables;

  std::unique_ptr<Examples> examples_;  // until the tables are made of them
  std::unique_ptr<Tables> tables_;
  std::string packed_;
  std::string unpacked_;
};

}  // namespace csinative::kube
