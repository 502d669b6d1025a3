// tenon new-plugin: writes a complete project to start from. The texts are those of sdk/template/, which the tests build as they are.
#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>

#include "command.hpp"
#include "tenon/tenon.hpp"

namespace tenon::tool {
namespace {

namespace fs = std::filesystem;

struct TemplateFile {
  std::string_view language, path, text;
};
constexpr TemplateFile kFiles[] = {
#include "templates.inc"
};

struct Language {
  std::string_view name, source, build;
};
constexpr Language kLanguages[] = {{"c", "tenon_template.c", "cmake"},
                                   {"cpp", "tenon_template.cpp", "cmake"},
                                   {"rust", "src/lib.rs", "make"}};

// Names already taken by devices or keywords of Tenon.
constexpr std::string_view kReserved[] = {"auto", "core",     "cpu",  "host",
                                          "none", "template", "tenon"};

bool is_identifier(std::string_view name) {
  return !name.empty() && name.size() <= 40 && name[0] >= 'a' && name[0] <= 'z' &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
         });
}

void check_name(const std::string& name) {
  if (!is_identifier(name))
    throw UsageError(fmt::format(
        "'{}' is not a valid plugin name: it becomes a device and a C identifier, so use a "
        "lower-case letter, then up to 39 of a-z, 0-9 and _, as in: tenon new-plugin acme",
        name));
  if (std::ranges::count(kReserved, std::string_view(name)) != 0)
    throw UsageError(
        fmt::format("the name '{}' is reserved; choose another, as in my{}", name, name));
}

// Reverse DNS: at least two parts, each of which begins with a letter.
void check_id(const std::string& id) {
  size_t parts = 0;
  bool fine = id.size() <= 200;
  for (size_t begin = 0; fine && begin <= id.size(); ++parts) {
    const size_t end = std::min(id.find('.', begin), id.size());
    const std::string_view part = std::string_view(id).substr(begin, end - begin);
    fine = !part.empty() && part[0] >= 'a' && part[0] <= 'z' &&
           std::all_of(part.begin(), part.end(), [](char c) {
             return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
           });
    begin = end + 1;
  }
  if (!fine || parts < 2)
    throw UsageError(fmt::format(
        "'{}' is no plugin id: reverse DNS in lower case is expected, as in --id com.acme.npu",
        id));
}

std::string replace_all(std::string_view text, std::string_view from, std::string_view to) {
  std::string result;
  for (size_t at; (at = text.find(from)) != text.npos; text.remove_prefix(at + from.size())) {
    result += text.substr(0, at);
    result += to;
  }
  return result += text;
}

// "my_npu" as a name of a type: "MyNpu".
std::string camel(const std::string& name) {
  std::string result;
  bool upper = true;
  for (char c : name) {
    if (c != '_')
      result += upper ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    upper = c == '_';
  }
  return result;
}

fs::path own_path() {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  return error ? fs::path("tenon") : self;
}

// Where this command is installed, for lines that users copy; in a build tree, the usual location.
std::string own_prefix() {
  const fs::path prefix = own_path().parent_path().parent_path();
  std::error_code error;
  return fs::is_directory(prefix / "include/tenon", error) ? prefix.string() : "/usr/local";
}

class Project {
 public:
  Project(std::string name, std::string id, const Language& language)
      : name_(std::move(name)), id_(std::move(id)), language_(language) {}

  // Replaces the template's names by this project's, in paths and texts.
  std::string fill(std::string_view text) const {
    std::string filled = replace_all(text, "@SOURCE@", language_.source);
    filled = replace_all(filled, "org.example.template", id_);
    filled = replace_all(filled, "@PREFIX@", own_prefix());
    filled = replace_all(filled, "Template", camel(name_));
    return replace_all(filled, "template", name_);
  }

  // All or nothing: if a file cannot be written, the others are removed.
  std::vector<fs::path> write(const fs::path& directory) const {
    std::vector<fs::path> written;
    try {
      for (const TemplateFile& file : kFiles) {
        if (!belongs(file)) continue;
        const fs::path path = directory / fill(file.path);
        fs::create_directories(path.parent_path());
        std::ofstream out(path, std::ios::binary);
        written.push_back(path);
        out << (file.language == "bindings" ? std::string(file.text) : fill(file.text));
        if (!out.flush()) throw Error(TN_IO, fmt::format("cannot write {}", path.string()));
        if (path.extension() == ".sh")
          fs::permissions(path,
                          fs::perms::owner_exec | fs::perms::group_exec | fs::perms::others_exec,
                          fs::perm_options::add);
      }
    } catch (...) {
      std::error_code ignored;
      for (const fs::path& path : written) fs::remove(path, ignored);
      throw;
    }
    return written;
  }

 private:
  bool belongs(const TemplateFile& file) const {
    return file.language == "common" || file.language == language_.name ||
           file.language == language_.build ||
           (file.language == "bindings" && language_.name == "rust");
  }

  std::string name_, id_;
  const Language& language_;
};

const Language& find_language(const std::string& name) {
  std::vector<std::string> names;
  for (const Language& language : kLanguages) {
    if (language.name == name) return language;
    names.emplace_back(language.name);
  }
  throw UsageError(
      fmt::format("unknown language '{}'{} (c, cpp or rust)", name, suggestion(name, names)));
}

// Nothing that exists is overwritten.
void check_directory(const fs::path& directory) {
  if (directory.empty()) throw UsageError("--directory is empty; give a path, or leave it out");
  std::error_code error;
  const fs::file_status status = fs::symlink_status(directory, error);
  if (!fs::exists(status)) return;
  const std::string what = "; choose another with --directory DIR";
  if (!fs::is_directory(fs::status(directory, error)))
    throw UsageError(fmt::format("{} exists and is no directory{}", directory.string(), what));
  if (!fs::is_empty(directory, error) || error)
    throw UsageError(
        fmt::format("{} is not empty, and nothing is overwritten{}", directory.string(), what));
}

int run(const po::variables_map& given) {
  if (!given.contains("name"))
    throw UsageError("new-plugin needs a name, as in: tenon new-plugin acme --language cpp");
  const auto name = given["name"].as<std::string>();
  check_name(name);
  const std::string id =
      given.contains("id") ? given["id"].as<std::string>() : "org.example." + name;
  check_id(id);
  const Language& language = find_language(given["language"].as<std::string>());
  const fs::path directory =
      given.contains("directory") ? given["directory"].as<std::string>() : name;
  check_directory(directory);
  const Project project(name, id, language);
  for (const fs::path& path : project.write(directory)) fmt::print("{}\n", path.string());
  fmt::print(
      "\nnext, with Tenon installed in {1}:\n  cd {0}\n  TENON_PREFIX={1} ./ci.sh\n"
      "  TENON_PLUGIN_PATH=$PWD/build {2} devices\n",
      directory.string(), own_prefix(), own_path().string());
  return kOk;
}

}  // namespace

Command new_plugin_command() {
  Command command{"new-plugin",
                  "write a project for your own backend",
                  "  tenon new-plugin acme\n"
                  "  tenon new-plugin acme --language cpp --id com.acme.npu\n"
                  "  tenon new-plugin acme --language rust --directory ~/src/tenon-acme\n"
                  "  cd acme && ./ci.sh          build it, test it, run the conformance suite\n",
                  {},
                  {},
                  &run};
  command.options.add_options()("help,h", "show this help")(
      "name", po::value<std::string>(), "the name of device, library and files: a-z, 0-9, _")(
      "language", po::value<std::string>()->default_value("c"), "c, cpp or rust")(
      "directory", po::value<std::string>(), "where to write it, new or empty; default: NAME")(
      "id", po::value<std::string>(), "the plugin's id, reverse DNS; default: org.example.NAME");
  command.positional.add("name", 1);
  return command;
}

}  // namespace tenon::tool
