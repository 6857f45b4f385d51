// SPDX-License-Identifier: GPL-2.0
//
// pch-gcc ARGUMENT...: gcc for the sources of the debug kernel. The headers that most of them
// include come from a precompiled one, since reading headers is more than half of what compiling
// such a source takes. PCH_DIR names a folder for these, one for each set of flags.
//
// A source is left to gcc itself if it defines something before its last #include, which a
// precompiled header would not see; if it is not for the kernel proper (its boot code and its vDSO
// have no -mcmodel=kernel); or if it does not compile this way. Kbuild learns no dependencies: the
// tree is compiled once.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace {

using Words = std::vector<std::string>;

constexpr std::string_view common_headers = R"(
#include <linux/compiler-version.h>
#include <linux/kconfig.h>
#include <linux/compiler_types.h>
#include <linux/fs.h>
#include <linux/interrupt.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <net/tcp.h>
)";

// The header is compiled with these names. Those of a source are defined behind it.
const Words header_names = {"-DKBUILD_BASENAME=\"pch\"", "-DKBUILD_MODFILE=\"pch\"",
                            "-DKBUILD_MODNAME=\"pch\"", "-D__KBUILD_MODNAME=kmod_pch"};

// The parts of a command that compiles one source.
struct Command {
  Words flags;              // on which a precompiled header depends
  std::string definitions;  // of KBUILD_MODNAME and its like, which differ by source
  std::string source, object, dependencies;
  bool compiles = false, kernel = false, includes_more = false;

  bool complete() const {
    return compiles && kernel && !includes_more && !source.empty() && !object.empty() &&
           !dependencies.empty() && !definitions.empty();
  }
};

std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

Command parse(const Words& words) {
  constexpr std::string_view list = "-Wp,-MMD,";
  Command command;

  for (size_t i = 0; i < words.size(); i++) {
    const auto& word = words[i];

    if (word == "-include" && i + 1 < words.size()) {
      command.includes_more |= common_headers.find(base_name(words[++i])) == std::string_view::npos;
    } else if (word == "-o" && i + 1 < words.size()) {
      command.object = words[++i];
    } else if (word.starts_with("-DKBUILD_") || word.starts_with("-D__KBUILD_")) {
      const auto equals = word.find('=');
      const auto name = word.substr(2, equals - 2);

      command.definitions.append("#undef ").append(name).append("\n#define ").append(name);
      command.definitions.append(" ").append(word.substr(equals + 1)).append("\n");
    } else if (word.starts_with(list)) {
      command.dependencies = word.substr(list.size());
    } else if (word.ends_with(".c")) {
      command.source = word;
    } else if (word == "-c") {
      command.compiles = true;
    } else {
      command.kernel |= word == "-mcmodel=kernel";
      command.flags.push_back(word);
    }
  }
  return command;
}

// Whether headers see what the source defines. The format of its messages is no harm: it is for
// macros only, which the source expands.
struct Source {
  bool defines_for_headers = false;
  bool defines_format = false;

  explicit Source(const std::string& path) {
    std::ifstream in(path);
    bool included = false, defined = false;

    for (std::string line; std::getline(in, line);) {
      std::erase_if(line, [](char c) { return c == ' ' || c == '\t'; });
      if (line.starts_with("#definepr_fmt(") && !included) {
        defines_format = true;
      } else if (line.starts_with("#include")) {
        included = true;
        defines_for_headers |= defined;
      } else if (line.starts_with("#define") || line.starts_with("#undef")) {
        defined = true;
      }
    }
  }
};

void execute(Words words) {
  std::vector<char*> argv;

  for (auto& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  execvp(argv[0], argv.data());
  _exit(127);
}

// Silent: if it fails, gcc itself says why.
bool run(const Words& words) {
  int status = 1;
  const pid_t child = fork();

  if (child == 0) {
    dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), STDERR_FILENO);
    execute(words);
  }
  return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

Words gcc(const Words& flags, const Words& more) {
  Words words = {"gcc"};

  words.insert(words.end(), flags.begin(), flags.end());
  words.insert(words.end(), header_names.begin(), header_names.end());
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// The header for these flags, or nothing. The tenth source that wants it makes it while others
// wait: making one takes as long as it saves for so many.
std::string precompiled(const Words& flags, const std::string& dir) {
  std::string all;

  for (const auto& flag : flags) all += flag + ' ';

  const auto header = dir + '/' + std::to_string(std::hash<std::string>{}(all)) + ".h";
  const int uses =
      open((header + ".uses").c_str(), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0644);

  flock(uses, LOCK_EX);
  if (write(uses, ".", 1) == 1 && lseek(uses, 0, SEEK_END) == 10) {
    std::ofstream(header) << common_headers;
    run(gcc(flags, {"-x", "c-header", "-o", header + ".gch", header}));
  }
  close(uses);
  return std::filesystem::exists(header + ".gch") ? header : "";
}

bool compile(const Command& command, const std::string& dir) {
  const Source source(command.source);

  if (source.defines_for_headers) return false;

  const auto header = precompiled(command.flags, dir);

  if (header.empty()) return false;

  const auto own =
      dir + '/' + std::to_string(std::hash<std::string>{}(command.object)) + ".names.h";

  std::ofstream(own) << command.definitions << (source.defines_format ? "#undef pr_fmt\n" : "");
  std::ofstream(command.dependencies) << command.object << ": " << command.source << '\n';

  Words words = gcc(command.flags, {"-include", own, "-c", "-o", command.object, command.source});

  words.insert(words.begin() + 1, {"-Winvalid-pch", "-include", header});
  return run(words);
}

}  // namespace

int main(int argc, char** argv) {
  Words words(argv + 1, argv + argc);
  const auto command = parse(words);
  const char* dir = getenv("PCH_DIR");

  if (dir && command.complete() && compile(command, dir)) return 0;
  words.insert(words.begin(), "gcc");
  execute(words);
}
