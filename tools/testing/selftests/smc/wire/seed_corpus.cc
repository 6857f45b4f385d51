// SPDX-License-Identifier: GPL-2.0
// Writes the fuzzers' seeds: every message of the captures, and samples of the shapes that the
// captures lack. Usage: seed-corpus DIRECTORY
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>
#include <stdexcept>

#include "capture.h"
#include "fuzz/cursor_input.h"
#include "fuzz/dmbe_input.h"
#include "samples.h"

namespace wire {
namespace {

void Write(const std::filesystem::path& directory, const std::set<Bytes>& seeds) {
  std::filesystem::remove_all(directory);
  std::filesystem::create_directories(directory);
  int number = 0;
  for (const Bytes& seed : seeds) {
    char name[8];
    std::snprintf(name, sizeof(name), "%03d", number++);
    std::ofstream out(directory / name, std::ios::binary);
    out.write(reinterpret_cast<const char*>(seed.data()),
              static_cast<std::streamsize>(seed.size()));
    if (!out) throw std::runtime_error("cannot write " + (directory / name).string());
  }
}

template <typename T>
std::set<Bytes> Seeds(const std::vector<Bytes>& captured) {
  std::set<Bytes> seeds;
  for (const Bytes& bytes : captured)
    if (Parse<T>(bytes).error == 0) seeds.insert(bytes);
  Random random(1);
  for (const T& sample : Samples<T>(random)) seeds.insert(Build(sample));
  return seeds;
}

std::set<Bytes> Headers(const std::vector<Bytes>& captured) {
  std::set<Bytes> seeds;
  for (const Bytes& bytes : captured)
    seeds.emplace(bytes.begin(), bytes.begin() + SMC_CLC_HEADER_LEN);
  return seeds;
}

std::set<Bytes> Cursors(const std::vector<Bytes>& captured) {
  std::set<Bytes> seeds;
  for (const Bytes& bytes : captured) {
    smc_cursor cursor = Parse<smc_cdc>(bytes).value.prod;
    for (u32 size : {65536u, 65536u - 32}) {
      CursorInput input = {
          .from = 0, .size = size, .range = size, .offset = cursor.offset, .wrap = cursor.wrap};
      auto* raw = reinterpret_cast<const u8*>(&input);
      seeds.emplace(raw, raw + sizeof(input));
    }
  }
  return seeds;
}

std::set<Bytes> ControlAreas(const std::vector<Bytes>& captured) {
  std::set<Bytes> seeds;
  for (const Bytes& bytes : captured) {
    smc_cdc cdc = Parse<smc_cdc>(bytes).value;
    DmbeInput input = {};
    input.control.type = SMC_CDC_TYPE;
    input.control.producer = smc_dmbe_pack(cdc.prod, 0, 0);
    input.control.consumer = smc_dmbe_pack(cdc.cons, cdc.prod_flags, cdc.conn_flags);
    input.size_class = 2;
    auto* raw = reinterpret_cast<const u8*>(&input);
    seeds.emplace(raw, raw + sizeof(input));
  }
  return seeds;
}

int WriteAll(const std::filesystem::path& top) {
  Capture capture = ReadAllCaptures();
  Write(top / "clc_header", Headers(capture.clc));
  Write(top / "clc_proposal", Seeds<smc_clc_proposal>(capture.clc));
  Write(top / "clc_agreement", Seeds<smc_clc_agreement>(capture.clc));
  Write(top / "clc_decline", Seeds<smc_clc_decline>(capture.clc));
  Write(top / "llc", Seeds<Llc>(capture.llc));
  Write(top / "cdc", Seeds<smc_cdc>(capture.cdc));
  Write(top / "cursor", Cursors(capture.cdc));
  Write(top / "dmbe", ControlAreas(capture.cdc));
  return 0;
}

}  // namespace
}  // namespace wire

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s DIRECTORY\n", argv[0]);
    return 2;
  }
  return wire::WriteAll(argv[1]);
}
