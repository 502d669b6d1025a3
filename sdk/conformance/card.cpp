#include "card.hpp"

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tenon/tenon.hpp"

namespace tenon::conformance {
namespace {

namespace fs = std::filesystem;
constexpr std::string_view kSuffix = ".tenon.json";

}  // namespace

Card read_card(const std::string& path) {
  try {
    std::ifstream file(path);
    const auto json = nlohmann::json::parse(file);
    const auto& abi = json.at("abi");
    return {path,
            json.at("id"),
            json.at("version"),
            json.at("library"),
            abi.at("major"),
            abi.value("minor", 0u),
            abi.value("min_host_minor", 0u)};
  } catch (const nlohmann::json::exception& problem) {
    throw Error(TN_DATA_LOSS, path + ": " + problem.what());
  }
}

std::string library_of(const std::string& path) {
  if (!path.ends_with(kSuffix)) return path;
  return (fs::path(path).parent_path() / read_card(path).library).string();
}

std::string card_of(const std::string& path) {
  if (path.ends_with(kSuffix)) return path;
  const fs::path beside =
      fs::path(path).parent_path() / (fs::path(path).stem().string() + std::string(kSuffix));
  std::error_code error;
  return fs::is_regular_file(beside, error) ? beside.string() : std::string();
}

}  // namespace tenon::conformance
